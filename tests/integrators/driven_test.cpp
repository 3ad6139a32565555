// A bilateral constraint that moves: the work of its drive in the ledger.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "elements/bodies/point_mass.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "integrators/common/simulation.hpp"
#include "integrators/methods/nsga_decoupled.hpp"

using namespace carom;

namespace {

// x of a node follows u(t) = a (1 - cos(w t)).
class Drive final : public ConstraintBlock {
 public:
  static constexpr double a = 0.3, w = 5;
  static double u(double t) { return a * (1 - std::cos(w * t)); }
  static double rate(double t) { return a * w * std::sin(w * t); }

  explicit Drive(int node) : ConstraintBlock("drive", {1, {{0, 3}}, {node}}, 1, {.linear = true, .moving = true}) {}

  void evaluate(Range, const ConstraintInput& in, const ConstraintValues& values) const override {
    const double* x = configuration(in, 0, 0);
    if (values.gap != nullptr) *values.gap = x[0] - u(in.t);
    if (values.rate != nullptr) *values.rate = in.v[0] - rate(in.t);
    if (values.bias != nullptr) *values.bias = -a * w * w * std::cos(w * in.t);
    for (int i = 0; i < 3; ++i) {
      if (values.gradient != nullptr) values.gradient[i] = i == 0 ? 1 : 0;
      if (values.rate_gradient != nullptr) values.rate_gradient[i] = 0;
    }
  }
  void add_reaction(Range, const ConstraintInput&, const double* s, double* f) const override { f[0] += s[0]; }
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {Vec3::Zero(), Vec3::UnitX()}; }
};

}  // namespace

TEST_CASE("ledger: a drive gives the kinetic energy of the motion it prescribes, to second order") {
  const double m = 2, end = 0.5, work = 0.5 * m * std::pow(Drive::rate(end), 2);
  std::vector<double> errors;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    System system;
    const double origin[3] = {0, 0, 0};
    const int node = system.add_node(NodeKind::point, origin, "mass");
    system.add(std::make_unique<PointMassBlock>("mass", std::vector<PointMass>{{node, m}}));
    system.add(std::make_unique<Drive>(node));
    system.finalize();
    REQUIRE(system.driven());

    State state;
    state.q = system.initial_configuration();
    state.v.assign(3, 0.0);
    NsgaDecoupled integrator(system, {});
    StepReport report;
    REQUIRE(integrator.initialise(state, h, report));
    SimulationOptions options;
    options.step = h;
    options.duration = end;
    Simulation simulation(system, integrator, state, options);
    EnergyLedger ledger;
    simulation.add_observer(ledger);
    REQUIRE(simulation.run() == RunStatus::completed);

    const EnergyBalance& b = ledger.balance();
    CHECK(b.energy.kinetic == doctest::Approx(work).epsilon(1e-9));
    CHECK(b.largest_closure < 1e-12 * b.scale);
    CHECK(std::abs(b.constraints) < 1e-3 * work);  // the reaction itself does none but through the drive
    errors.push_back(std::abs(b.drivers - work));
  }
  CHECK(errors.back() < 1e-3 * work);
  CHECK(errors[0] / errors[1] > 3.5);
  CHECK(errors[1] / errors[2] > 3.5);
}
