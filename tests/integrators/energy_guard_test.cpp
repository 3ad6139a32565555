// EnergyGuard by itself: which gains of energy it takes and which it refuses.
#include "integrators/common/energy_guard.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "elements/bodies/point_mass.hpp"
#include "tests/support/model_run.hpp"
#include "tests/support/polar_mass.hpp"

using namespace carom;
using carom::test::PolarMass;
using carom::test::PolarMassBlock;

namespace {

constexpr double h = 1e-3;

// A particle on a spring, in polar coordinates: a nonlinear system.
struct Particle {
  Particle() {
    const double start[3] = {0.5, 0.3, 0.1};
    const int node = system.add_node(NodeKind::point, start, "particle");
    system.add(std::make_unique<PolarMassBlock>("particle",
                                                std::vector<PolarMass>{{.node = node, .mass = 1.7, .stiffness = 12}}));
    system.finalize();
    state.q = system.initial_configuration();
    state.v = {1.2, 2.0, -0.4};
    state.last_h = h;
  }
  double energy(const Vector& v) const { return sum(system.energies(state.q, v, 0)); }
  // The velocity with which the energy is (1 + gain) times the present one.
  Vector faster(double gain) const {
    const double kinetic = system.energies(state.q, state.v, 0).kinetic;
    Vector v = state.v;
    for (double& x : v) x *= std::sqrt(1 + gain * energy(state.v) / kinetic);
    return v;
  }
  // A step with that gain; false if the guard refuses it.
  bool step(EnergyGuard& guard, double gain) {
    guard.begin(state);
    State end = state;
    end.v = faster(gain);
    if (!guard.explains(state, end.q, end.v, h, {}, 0, 1)) return false;
    guard.close(false, {}, {});
    end.t = state.t + h;
    if (!guard.accept(state, end)) return false;
    state = end;
    return true;
  }
  System system;
  State state;
};

}  // namespace

TEST_CASE("energy guard: a motion may gain less than a tenth of the energies, and lose any") {
  for (const double gain : {-0.3, 0.0, 0.05, 0.09, 0.11, 0.3, 1e6}) {
    CAPTURE(gain);
    Particle particle;
    EnergyGuard guard(particle.system, {}, true);
    CHECK(particle.step(guard, gain) == (gain < 0.1));
    CHECK(guard.share() == doctest::Approx(gain).epsilon(1e-6));
    // off: statics
    EnergyGuard off(particle.system, {}, false);
    CHECK(particle.step(off, gain));
  }
}

TEST_CASE("energy guard: small gains that add up to half of the energies are refused, until energy is lost") {
  Particle particle;
  EnergyGuard guard(particle.system, {}, true);
  const double start = particle.energy(particle.state.v);
  REQUIRE(particle.step(guard, 0));
  int steps = 0;
  while (steps < 100 && particle.step(guard, 0.04)) ++steps;
  // what was gained is no part of the energies with which it is compared
  CHECK(particle.energy(particle.state.v) <= 1.501 * start);
  CHECK(particle.energy(particle.state.v) > 1.44 * start);
  CHECK(guard.growth() == doctest::Approx(particle.energy(particle.state.v) / start - 1).epsilon(1e-6));
  CHECK_FALSE(particle.step(guard, 1e-3 + 0.04));
  CHECK(particle.step(guard, -0.1));
  CHECK(particle.step(guard, 0.04));
}

TEST_CASE("energy guard: corrections and jumps may gain as much as the energies, in the first step too") {
  for (const double gain : {0.9, 1.2, 20.0}) {
    CAPTURE(gain);
    Particle particle;
    EnergyGuard guard(particle.system, {}, true);
    guard.begin(particle.state);
    REQUIRE(guard.explains(particle.state, particle.state.q, particle.state.v, h, {}, 0, 1));
    State end = particle.state;
    end.v = particle.faster(gain);
    end.t += h;
    guard.close(true, {}, {});
    CHECK(guard.accept(particle.state, end) == (gain < 1));
  }
}

TEST_CASE("energy guard: a restored guard judges as the first one, and loads explain what they give") {
  Particle particle;
  EnergyGuard guard(particle.system, {}, true);
  REQUIRE(particle.step(guard, 0));
  for (int k = 0; k < 10; ++k) REQUIRE(particle.step(guard, 0.04));
  NamedArrays record;
  guard.save(record);
  EnergyGuard second(particle.system, {}, true);
  second.restore(record);
  Particle copy;
  copy.state = particle.state;
  for (int k = 0; k < 20; ++k) {
    CHECK(particle.step(guard, 0.04) == copy.step(second, 0.04));
    CHECK(guard.growth() == second.growth());
  }
  // work of rows that gives as much as the motion gains
  Particle pushed;
  EnergyGuard third(pushed.system, {}, true);
  third.begin(pushed.state);
  const double given = 0.5 * pushed.energy(pushed.state.v);
  CHECK(third.explains(pushed.state, pushed.state.q, pushed.faster(0.5), h, {}, given, 1));
  CHECK_FALSE(third.explains(pushed.state, pushed.state.q, pushed.faster(0.5), h, {}, 0.5 * given, 1));
}

// A stone at rest on a plane. Weights do work over the tolerance of the constraints; stiff forces would hide a blow-up.
TEST_CASE("energy guard: with a coarse tolerance weights count over it, but not stiff forces") {
  constexpr double mass = 2, g = 9.81, tolerance = 1e-3, stiff = 1e5;
  System system;
  const double place[3] = {0, 0, 0};
  const int node = system.add_node(NodeKind::point, place, "stone");
  system.add(std::make_unique<PointMassBlock>("stone", std::vector<PointMass>{{node, mass}}));
  system.add(std::make_unique<PointContactBlock>("plane", std::vector<ContactPoint>{{.name = "stone", .node = node}},
                                                 make_plane(Vec3::Zero(), Vec3::UnitZ()), nullptr, false));
  system.set_gravity({0, 0, -g});
  system.finalize();
  State state;
  state.q = system.initial_configuration();
  state.v = {0, 0, 0};
  state.last_h = h;
  const auto accepts = [&](double constraint_tolerance, double height, double speed) {
    EnergyGuard guard(system, {.speed = 1e-3}, true, constraint_tolerance);
    guard.begin(state);
    return guard.explains(state, Vector{0, 0, height}, Vector{speed, 0, 0}, h, {}, 0, stiff);
  };
  const double floor = 10 * tolerance * mass * g;  // over a length of 1
  CHECK(accepts(tolerance, 0.5 * tolerance, 0));
  CHECK_FALSE(accepts(1e-11, 0.5 * tolerance, 0));
  CHECK(accepts(tolerance, 0, std::sqrt(2 * 0.09 * floor / mass)));
  CHECK_FALSE(accepts(tolerance, 0, std::sqrt(2 * 0.11 * floor / mass)));
}

// Three balls of a row touch; the impacts of the fourth give energy by Newton's law. The system is linear.
TEST_CASE("energy guard: what impacts of several contacts with different restitution gain in a linear system is told") {
  for (const char* method : {"nsga_coupled", "nsga_monolithic", "nsga_pva"}) {
    CAPTURE(method);
    carom::test::ModelRun run = carom::test::ModelRun::of_text(std::string(R"({"format": 1, "bodies": [
          {"name": "a", "type": "point_mass", "mass": 0.759, "radius": 0.05, "position": [0, 0, 0],
           "velocity": [0.2205, 0, 0]},
          {"name": "b", "type": "point_mass", "mass": 0.224, "radius": 0.05, "position": [0.1, 0, 0],
           "velocity": [-0.9962, 0, 0]},
          {"name": "c", "type": "point_mass", "mass": 0.852, "radius": 0.05, "position": [0.2, 0, 0],
           "velocity": [0.8184, 0, 0]},
          {"name": "d", "type": "point_mass", "mass": 87.296, "radius": 0.05, "position": [0.3, 0, 0],
           "velocity": [-0.312, 0, 0]}],
        "contacts": [{"name": "ab", "between": ["a", "b"], "restitution": 0},
                     {"name": "bc", "between": ["b", "c"], "restitution": 0},
                     {"name": "cd", "between": ["c", "d"], "restitution": 1}],
        "integrator": {"step": 2e-4, "duration": 0.1, "type": ")") +
                                                               method + "\"}}");
    CHECK(run.system().linear());
    const auto kinetic = [&] { return run.system().energies(run.state().q, run.state().v, 0).kinetic; };
    double growth = 0, lowest = kinetic(), risen = 0, largest = 0;
    for (int k = 0; k < 500; ++k) {
      const StepReport& report = run.step(run.h());
      REQUIRE(report.converged);
      growth = std::max(growth, report.growth);
      const double energy = kinetic();
      lowest = std::min(lowest, energy);
      risen = std::max(risen, energy - lowest);
      largest = std::max(largest, energy);
    }
    CHECK(risen > 0.4);
    CHECK(growth == doctest::Approx(risen / largest).epsilon(1e-9));
  }
}

// The velocity jumps within the step of an impact: powers at both ends tell nothing of the work of a load.
TEST_CASE("energy guard: a ball that a load drives on an obstacle gains nothing, whatever the step") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "moreau_jean"})
    for (const char* step : {"2e-2", "5e-3"}) {
      CAPTURE(method);
      CAPTURE(step);
      carom::test::ModelRun run = carom::test::ModelRun::of_text(std::string(R"({"format": 1,
        "bodies": [{"name": "b", "type": "point_mass", "mass": 2, "position": [0, 0, 0.3]}],
        "loads": [{"name": "l", "type": "force", "on": "b", "value": [0, 0, -20]}],
        "contacts": [{"name": "c", "on": "b", "restitution": 1, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
        "integrator": {"duration": 10, "type": ")") + method +
                                                                 "\", \"step\": " + step + "}}");
      double growth = 0;
      int impacts = 0;
      for (double t = 0; t < 10; t += run.h()) {
        const StepReport& report = run.step(run.h());
        REQUIRE(report.converged);
        growth = std::max(growth, report.growth);
        impacts += report.impacts;
      }
      CHECK(impacts > 10);
      CHECK(growth < 1e-9);
    }
}

// The first steps have small energies, beside which the error of the method is large.
TEST_CASE("energy guard: errors of the first steps are measured by the energies to come") {
  carom::test::ModelRun run = carom::test::ModelRun::of_text(R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "poisson": 0.3, "density": 1000}],
    "sections": [{"name": "s", "type": "rectangle", "width": 0.02, "height": 0.02, "shear_factor": 1000}],
    "bodies": [{"name": "arm", "type": "beam", "material": "m", "section": "s", "elements": 10, "damping": 0.002,
                "from": [0, 0, 0], "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "q", "type": "line_force", "on": "arm", "value": [0, 0, -60]}],
    "integrator": {"type": "nsga_decoupled", "step": 0.002, "duration": 0.1}})");
  double largest = 0;
  REQUIRE(run.run([&](const StepView& view) { largest = std::max(largest, view.report.growth); }) ==
          RunStatus::completed);
  CHECK(largest > 0.01);
  CHECK(run.statistics.growth < 1e-3);
}

TEST_CASE("energy guard: the first step lifts a body out of an obstacle, and gains nothing else") {
  System system;
  const double place[3] = {0, 0, -0.1};
  const int node = system.add_node(NodeKind::point, place, "stone");
  system.add(std::make_unique<PointMassBlock>("mass", std::vector<PointMass>{{node, 2.0}}));
  system.add(std::make_unique<PointContactBlock>("floor", std::vector<ContactPoint>{{.name = "stone", .node = node}},
                                                 make_plane(Vec3::Zero(), Vec3::UnitZ()), nullptr, false));
  system.set_gravity(Vec3(0, 0, -9.81));
  system.finalize();
  State state;
  state.q = system.initial_configuration();
  state.v = {0.1, 0, 0};
  state.last_h = h;
  EnergyGuard guard(system, {}, true);
  guard.begin(state);
  const Vector on_the_floor = {0, 0, 0};
  // with the weight times 0.1 alone, or with twenty times as much
  CHECK_FALSE(guard.explains(state, on_the_floor, state.v, h, {}, 0, 1));
  CHECK(guard.lifts(state, on_the_floor, state.v));
  CHECK_FALSE(guard.explains(state, on_the_floor, Vector{0.1, 0, 6}, h, {}, 0, 1));
  CHECK_FALSE(guard.lifts(state, on_the_floor, state.v));
  // nor is another start lifted
  State above = state;
  above.q[2] = 0;
  EnergyGuard other(system, {}, true);
  other.begin(above);
  CHECK_FALSE(other.explains(above, Vector{0, 0, 0.1}, above.v, h, {}, 0, 1));
  CHECK_FALSE(other.lifts(above, Vector{0, 0, 0.1}, above.v));
}
