// Rows that refer to the start of a step: every method hands (q_n, v_n, t_n) to them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "elements/bodies/point_mass.hpp"
#include "integrators/common/simulation.hpp"
#include "integrators/methods/event_driven.hpp"
#include "integrators/methods/moreau_jean.hpp"
#include "integrators/methods/nsga_decoupled.hpp"
#include "integrators/methods/paoli_schatzman.hpp"

using namespace carom;

namespace {

// A ratchet: the point may not fall below the height that it had at the start of the step, g = z - z_n >= 0.
class Ratchet final : public ConstraintBlock {
 public:
  explicit Ratchet(int node)
      : ConstraintBlock("ratchet", {1, {{0, 3}}, {node}}, 1,
                        ConstraintTraits{.kind = RowKind::unilateral, .linear = true}) {}
  void evaluate(Range, const ConstraintInput& in, const ConstraintValues& values) const override {
    const double z = configuration(in, 0, 0)[2];
    const double z_n = in.start != nullptr ? configuration({in.start->q, nullptr, in.start->t}, 0, 0)[2] : z;
    if (values.gap != nullptr) *values.gap = z - z_n;
    if (values.rate != nullptr) *values.rate = in.v[2];
    if (values.bias != nullptr) *values.bias = 0;
    for (int c = 0; c < 3; ++c) {
      if (values.gradient != nullptr) values.gradient[c] = c == 2 ? 1 : 0;
      if (values.rate_gradient != nullptr) values.rate_gradient[c] = 0;
    }
  }
  void add_reaction(Range, const ConstraintInput&, const double* s, double* f) const override { f[2] += *s; }
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {Vec3::Zero(), Vec3::UnitZ()}; }
};

class Tangential final : public ConstraintBlock {
 public:
  explicit Tangential(int node)
      : ConstraintBlock("rough", {1, {{0, 3}}, {node}}, 3, ConstraintTraits{.kind = RowKind::unilateral}) {}
  void evaluate(Range, const ConstraintInput&, const ConstraintValues&) const override {}
  void add_reaction(Range, const ConstraintInput&, const double*, double*) const override {}
  void add_reaction_gradient(Range, const ConstraintInput&, const double*, double, double*) const override {}
  Place place(int, int, const ConstraintInput&) const override { return {}; }
};

int add_ball(System& system, double mass) {
  const double origin[3] = {0, 0, 0};
  const int node = system.add_node(NodeKind::point, origin, "ball");
  system.add(std::make_unique<PointMassBlock>("ball", std::vector<PointMass>{{node, mass}}));
  return node;
}

}  // namespace

TEST_CASE("start of the step: a ratchet holds a ball at its apex with the ball's weight") {
  const double m = 2, g = 9.81, v_0 = 3, h = 1e-3;
  for (const bool impulses : {false, true}) {
    CAPTURE(impulses);
    System system;
    const int node = add_ball(system, m);
    system.set_gravity(Vec3(0, 0, -g));
    system.add(std::make_unique<Ratchet>(node));
    system.finalize();
    std::unique_ptr<Integrator> method;
    if (impulses)
      method = std::make_unique<MoreauJean>(system, MoreauJeanOptions{});
    else
      method = std::make_unique<NsgaDecoupled>(system, NsgaOptions{});
    State state;
    state.q = system.initial_configuration();
    state.v = {0.5, 0, v_0};
    StepReport report;
    REQUIRE(method->initialise(state, h, report));
    double apex = 0, fallen = 0;
    while (state.t < 0.6) {
      const double before = state.q[2];
      REQUIRE(method->step(state, h).converged);
      fallen = std::max(fallen, before - state.q[2]);
      if (state.t > 0.5 && apex == 0) apex = state.q[2];
    }
    // z = v_0^2/(2 g) at t = v_0/g = 0.306, and v_x goes on
    CHECK(apex == doctest::Approx(v_0 * v_0 / (2 * g)).epsilon(1e-5));
    CHECK(std::abs(state.q[2] - apex) < 1e-12);
    CHECK(state.q[0] == doctest::Approx(0.5 * state.t).epsilon(1e-12));
    CHECK(method->row_force(state, 0) == doctest::Approx(m * g).epsilon(1e-9));
    // the impulse method notices the fall by the velocity, half a step ahead
    CHECK(fallen <= (impulses ? g * h * h : 1e-14));
  }
}

TEST_CASE("methods: rows of a kind that a method does not take are refused") {
  System system;
  const int node = add_ball(system, 1);
  system.add(std::make_unique<Tangential>(node));
  system.finalize();
  CHECK(system.row_kinds() == (RowKind::unilateral | RowKind::tangential));
  CHECK_THROWS_AS(EventDriven(system, EventDrivenOptions{}), std::invalid_argument);
  using Variant = PaoliSchatzman::Variant;
  CHECK_THROWS_AS(PaoliSchatzman(system, Variant::paoli_schatzman, LeapfrogOptions{}), std::invalid_argument);
}
