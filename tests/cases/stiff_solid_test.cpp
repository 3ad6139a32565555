// Stiff solids beside conjugate gradients: contacts with curved gaps, and what the energy account leaves.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "case_runner.hpp"
#include "integrators/common/energy_ledger.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

class Keeper final : public Observer {
 public:
  void start(const StepView& view) override { ledger.start(view); }
  void after_step(const StepView& view) override { ledger.after_step(view); }
  double closure() const { return ledger.balance().largest_closure / ledger.balance().scale; }

  EnergyLedger ledger;
};

// The statistics of a run that completes, and how far its energy account closes.
RunStatistics run(Case& c, double& closure) {
  Simulation simulation(c.model().system, c.integrator(), c.model().state, c.model().simulation);
  Keeper keeper;
  simulation.add_observer(keeper);
  CHECK(simulation.run() == RunStatus::completed);
  closure = keeper.closure();
  return simulation.statistics();
}

}  // namespace

TEST_CASE("stiff solid: a block of steel strikes a sphere, whose gaps are curved, and no step is halved") {
  for (const char* law : {"neo_hookean", "saint_venant_kirchhoff"}) {
    CAPTURE(law);
    Case c = Case::from_text(nlohmann::json{
        {"format", 1},
        {"gravity", {0, 0, -9.81}},
        {"materials",
         {{{"name", "steel"}, {"type", "linear_elastic"}, {"young", 2e11}, {"poisson", 0.3}, {"density", 1200}}}},
        {"bodies",
         {{{"name", "block"},
           {"type", "solid"},
           {"material", "steel"},
           {"law", law},
           {"mesh", {{"type", "box"}, {"size", {0.2, 0.15, 0.1}}, {"divisions", {5, 5, 5}}}},
           {"position", {0.02, 0.01, 0.06}},
           {"velocity", {0, 0, -2}},
           {"angular_velocity", {1, 2, 0}}}}},
        {"contacts",
         {{{"name", "ball"},
           {"on", "block.surface"},
           {"restitution", 0.3},
           {"obstacle", {{"type", "sphere"}, {"center", {0, 0, -0.5}}, {"radius", 0.5}}}}}},
        {"integrator", {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 0.012}}}}
                                 .dump());
    double closure = 1;
    const RunStatistics statistics = run(c, closure);
    CHECK(statistics.impacts > 0);
    CHECK(statistics.subdivided_steps == 0);
    CHECK(closure < 1e-11);
    // factors of the solid make corrections exact; node blocks leave errors in soft motions, which lead astray
    const auto methods = c.integrator().linear_methods();
    const auto position = std::ranges::find(methods, "position", &std::pair<std::string, std::string>::first);
    REQUIRE(position != methods.end());
    CHECK(position->second == "conjugate gradients, factors");
  }
}

TEST_CASE("stiff solid: jumps of the hammer, whose shaft is stiff, leave nothing in the energy account") {
  // The rounding of the shaft's forces is the same in all iterations of a jump, so jumps converge far below it: 1e-13.
  Case c("mixed", {"/integrator/rho_infinity=0", "/integrator/duration=0.3"});
  double closure = 1;
  CHECK(run(c, closure).impacts > 0);
  CHECK(closure < 5e-12);
}

TEST_CASE("stiff solid: an edge that a joint holds meets a sphere with all its nodes, and no step is halved") {
  // The rows of the rigid edge contradict each other: a straight line touches the sphere in one point only.
  Case c = Case::from_text(nlohmann::json{
      {"format", 1},
      {"gravity", {0, 0, -9.81}},
      {"materials",
       {{{"name", "m"}, {"type", "linear_elastic"}, {"young", 2.2e9}, {"poisson", 0.3}, {"density", 7850}}}},
      {"bodies",
       {{{"name", "bar"},
         {"type", "solid"},
         {"material", "m"},
         {"law", "neo_hookean"},
         {"mesh", {{"type", "box"}, {"size", {0.2, 0.04, 0.025}}, {"divisions", {12, 4, 4}}}},
         {"position", {0, 0, 0.0135}},
         {"velocity", {0, 0, -1}}},
        {{"name", "end"},
         {"type", "rigid"},
         {"mass", 0.3},
         {"inertia", {1e-4, 1e-4, 1e-4}},
         {"position", {0.1, 0, 0.0135}},
         {"velocity", {0, 0, -1}}}}},
      {"joints", {{{"name", "face"}, {"type", "fixed"}, {"of", {"bar.right", "end"}}}}},
      {"contacts",
       {{{"name", "ball"},
         {"on", "bar.surface"},
         {"restitution", 0},
         {"obstacle", {{"type", "sphere"}, {"center", {0.1, 0, -0.3}}, {"radius", 0.3}}}}}},
      {"integrator", {{"type", "nsga_decoupled"}, {"step", 5e-4}, {"duration", 0.005}}}}
                               .dump());
  double closure = 1;
  const RunStatistics statistics = run(c, closure);
  CHECK(statistics.impacts > 0);
  CHECK(statistics.subdivided_steps == 0);
  CHECK(closure < 1e-11);
}
