// Stiff solids beside conjugate gradients: contacts with curved gaps, and what the energy account leaves.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "case_runner.hpp"
#include "integrators/common/energy_ledger.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// The statistics of a run that completes, and how far its energy account closes.
RunStatistics run(Case& c, double& closure) {
  Simulation simulation(c.model().system, c.integrator(), c.model().state, c.model().simulation);
  EnergyLedger ledger;
  simulation.add_observer(ledger);
  CHECK(simulation.run() == RunStatus::completed);
  closure = ledger.balance().largest_closure / ledger.balance().scale;
  return simulation.statistics();
}

using nlohmann::json;

// A solid whose whole surface may touch a sphere below.
json solid_above_sphere(double young, double density, const json& body, const json& ball, double step,
                        double duration) {
  json solid = {{"name", "solid"}, {"type", "solid"}, {"material", "m"}};
  solid.update(body);
  json contact = {{"name", "ball"}, {"on", "solid.surface"}, {"obstacle", {{"type", "sphere"}}}};
  contact["obstacle"].update(ball);
  return {{"format", 1},
          {"gravity", {0, 0, -9.81}},
          {"materials",
           {{{"name", "m"}, {"type", "linear_elastic"}, {"young", young}, {"poisson", 0.3}, {"density", density}}}},
          {"bodies", {solid}},
          {"contacts", {contact}},
          {"integrator", {{"type", "nsga_decoupled"}, {"step", step}, {"duration", duration}}}};
}

json box_mesh(const json& size, const json& divisions) {
  return {{"type", "box"}, {"size", size}, {"divisions", divisions}};
}

}  // namespace

TEST_CASE("stiff solid: a block of steel strikes a sphere, whose gaps are curved, and no step is halved") {
  for (const char* law : {"neo_hookean", "saint_venant_kirchhoff"}) {
    CAPTURE(law);
    json model = solid_above_sphere(2e11, 1200,
                                    {{"law", law},
                                     {"mesh", box_mesh({0.2, 0.15, 0.1}, {5, 5, 5})},
                                     {"position", {0.02, 0.01, 0.06}},
                                     {"velocity", {0, 0, -2}},
                                     {"angular_velocity", {1, 2, 0}}},
                                    {{"center", {0, 0, -0.5}}, {"radius", 0.5}}, 1e-3, 0.012);
    model["contacts"][0]["restitution"] = 0.3;
    model["integrator"]["newton"] = {{"tolerance", 1e-11}};
    Case c = Case::from_text(model.dump());
    double closure = 1;
    const RunStatistics statistics = run(c, closure);
    CHECK(statistics.impacts > 0);
    CHECK(statistics.subdivided_steps == 0);
    CHECK(closure < 1e-11);
    // factors of the solid make corrections exact; sweeps leave errors in soft motions, which lead astray
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
  json model = solid_above_sphere(2.2e9, 7850,
                                  {{"law", "neo_hookean"},
                                   {"mesh", box_mesh({0.2, 0.04, 0.025}, {12, 4, 4})},
                                   {"position", {0, 0, 0.0135}},
                                   {"velocity", {0, 0, -1}}},
                                  {{"center", {0.1, 0, -0.3}}, {"radius", 0.3}}, 5e-4, 0.005);
  model["contacts"][0]["restitution"] = 0;
  model["bodies"].push_back({{"name", "end"},
                             {"type", "rigid"},
                             {"mass", 0.3},
                             {"inertia", {1e-4, 1e-4, 1e-4}},
                             {"position", {0.1, 0, 0.0135}},
                             {"velocity", {0, 0, -1}}});
  model["joints"] = {{{"name", "face"}, {"type", "fixed"}, {"of", {"solid.right", "end"}}}};
  Case c = Case::from_text(model.dump());
  double closure = 1;
  const RunStatistics statistics = run(c, closure);
  CHECK(statistics.impacts > 0);
  CHECK(statistics.subdivided_steps == 0);
  CHECK(closure < 1e-11);
}

TEST_CASE("stiff solid: a beam that nothing connects with the solid changes nothing of the solid's motion") {
  json model = {
      {"format", 1},
      {"gravity", {0, 0, -9.81}},
      {"materials", {{{"name", "m"}, {"type", "linear_elastic"}, {"young", 8e9}, {"poisson", 0.3}, {"density", 1900}}}},
      {"bodies",
       {{{"name", "solid"},
         {"type", "solid"},
         {"material", "m"},
         {"mesh", box_mesh({0.06, 0.24, 0.12}, {4, 4, 2})},
         {"position", {0, 0, 0.061}},
         {"velocity", {0.05, 0, -1.7}}}}},
      {"contacts",
       {{{"name", "floor"},
         {"on", "solid.bottom"},
         {"restitution", 0},
         {"obstacle", {{"type", "plane"}, {"normal", {0, 0, 1}}}}}}},
      {"integrator",
       {{"type", "nsga_decoupled"},
        {"step", 2e-4},
        {"duration", 4e-3},
        {"rho_infinity", 0.8},
        {"reaction_directions", "mean"}}}};
  Case alone = Case::from_text(model.dump());
  model["sections"] = {{{"name", "c"}, {"type", "circle"}, {"radius", 0.009}}};
  model["bodies"].push_back({{"name", "beam"},
                             {"type", "beam"},
                             {"material", "m"},
                             {"section", "c"},
                             {"elements", 5},
                             {"from", {0, 1, 0.5}},
                             {"to", {1, 1, 0.5}},
                             {"orientation", {0, 1, 0}}});
  Case both = Case::from_text(model.dump());
  REQUIRE(alone.run() == RunStatus::completed);
  REQUIRE(both.run() == RunStatus::completed);
  CHECK(alone.statistics().impacts > 0);
  // factors of the solid, beside which the beam is a system of its own
  CHECK(both.integrator().linear_counters().factor_matrices > 0);
  for (const char* node : {"solid.node.0", "solid.node.40", "solid.node.74"}) {
    CHECK((both.position(node) - alone.position(node)).norm() < 1e-11);
    CHECK((both.velocity(node) - alone.velocity(node)).norm() < 1e-8);
  }
}

// What conjugate gradients leave of a correction, times the stiffness, is a residual of the smooth motion.
TEST_CASE("stiff solid: problems that are solved in turn converge as with factors, without stalled residuals") {
  Case c = Case::from_text(R"({"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "materials": [{"name": "m", "type": "neo_hookean", "young": 1e11, "poisson": 0.3, "density": 2000}],
    "bodies": [{"name": "b", "type": "solid", "material": "m", "position": [0.15, 0, 0],
                "mesh": {"type": "box", "size": [0.3, 0.06, 0.06], "divisions": [10, 4, 4]}}],
    "joints": [{"name": "j", "type": "spherical", "of": ["ground", "b.left"]}],
    "scales": {"length": 1, "speed": 1, "mass": 0.01},
    "integrator": {"type": "generalized_alpha", "formulation": "ggl_modified", "step": 1e-3, "duration": 0.012}})");
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.integrator().linear_counters().cg_solves > 0);
  CHECK(c.statistics().subdivided_steps == 0);
  CHECK(c.statistics().stalled_steps == 0);
  CHECK(c.statistics().mean_iterations(0) < 4);
}

// The frames of both faces hold the nodes of the edge, whose rows repeat each other. Their regularisation followed the
// mass, which is far more than what a steel solid leaves of it: four of five steps were halved, 100 times as slow, and
// generalized_alpha told a force of 565 N.
TEST_CASE(
    "stiff solid: joints on two faces that share an edge halve no step, and their forces are those of the loads") {
  for (const char* method : {"nsga_decoupled", "generalized_alpha"})
    for (const json& divisions : {json{6, 3, 2}, json{12, 6, 3}}) {  // direct, and by conjugate gradients
      CAPTURE(method);
      const json model = {
          {"format", 1},
          {"gravity", {0, 0, -9.81}},
          {"materials",
           {{{"name", "m"}, {"type", "linear_elastic"}, {"young", 2.1e11}, {"poisson", 0.3}, {"density", 7850}}}},
          {"ground", {{{"name", "o"}, {"at", {-0.05, 0, 0}}}}},
          {"bodies",
           {{{"name", "plate"}, {"type", "solid"}, {"material", "m"}, {"mesh", box_mesh({0.1, 0.05, 0.01}, divisions)}},
            {{"name", "load"},
             {"type", "rigid"},
             {"mass", 0.5},
             {"inertia", {5e-4, 5e-4, 5e-4}},
             {"position", {0.02, 0.025, 0.02}},
             {"points", {{{"name", "f"}, {"at", {-0.02, 0, -0.02}}}}}}}},
          {"joints",
           {{{"name", "hinge"}, {"type", "revolute"}, {"of", {"ground.o", "plate.left"}}, {"axis", {0, 1, 0}}},
            {{"name", "foot"}, {"type", "fixed"}, {"of", {"plate.back", "load.f"}}}}},
          {"integrator", {{"type", method}, {"step", 1e-3}, {"duration", 0.02}}}};
      Case c = Case::from_text(model.dump());
      double force = 0;
      REQUIRE(c.run([&](const StepView&) {
        for (const int row : c.rows("hinge")) force = std::max(force, std::abs(c.force(row)));
      }) == RunStatus::completed);
      CHECK(c.statistics().subdivided_steps == 0);
      for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max < 15);
      CHECK(force < 10);  // the weight is 8.8 N
    }
}
