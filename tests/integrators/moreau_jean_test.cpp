// The Moreau-Jean method against closed forms and the figures of an independent implementation.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "integrators/common/energy_ledger.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

std::string ball(double restitution, double theta) {
  return R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "position": [0, 0, 1]}],
    "contacts": [{"name": "floor", "on": "ball", "restitution": )" +
         std::to_string(restitution) + R"(, "obstacle": {"type": "plane", "point": [0, 0, 0], "normal": [0, 0, 1]}}],
    "integrator": {"type": "moreau_jean", "step": 1e-2, "duration": 4, "theta": )" +
         std::to_string(theta) + "}}";
}

// A mass on a spring and a damper, without contact: x'' + 2 d w x' + w^2 x = 0.
std::string oscillator(double theta, double h, double damping) {
  return R"({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "m", "type": "point_mass", "mass": 1, "position": [1.5, 0, 0], "fixed": ["y", "z"]}],
    "ground": [{"name": "o", "at": [0, 0, 0]}],
    "springs": [{"name": "s", "of": ["ground.o", "m"], "stiffness": 40, "natural_length": 1, "damping": )" +
         std::to_string(damping) + R"(}],
    "integrator": {"type": "moreau_jean", "step": )" +
         std::to_string(h) + R"(, "duration": 2, "theta": )" + std::to_string(theta) + "}}";
}

}  // namespace

TEST_CASE("Moreau-Jean: a ball with e = 1 returns to its height to rounding, with e = 0.8 to the reference's") {
  // [BENCH19], an independent implementation at h = 1e-2: first apex 0.638011
  for (const double e : {1.0, 0.8}) {
    ModelRun run = ModelRun::of_text(ball(e, 0.5));
    double apex = 0, deepest = 0, fastest = 0;
    bool bounced = false;
    long impacts = 0;
    REQUIRE(run.run([&](const StepView& view) {
      impacts += view.report.impacts;
      bounced = bounced || impacts > 0;
      fastest = std::max(fastest, std::abs(view.state.v[2]));
      deepest = std::max(deepest, -view.report.smallest_gap);
      if (impacts == 1) apex = std::max(apex, view.state.q[2]);
    }) == RunStatus::completed);
    CHECK(bounced);
    CHECK(apex == doctest::Approx(e == 1 ? 1.0 : 0.638011).epsilon(e == 1 ? 1e-13 : 1e-6));
    // contacts penetrate by up to half the way of a step; with e = 1 a ball is back where the step began
    CHECK((deepest > 0) == (e < 1));
    CHECK(deepest <= 0.5 * run.h() * fastest * (1 + 1e-9));
  }
}

TEST_CASE("Moreau-Jean: theta = 1/2 is the trapezoidal rule of second order, theta = 1 implicit Euler of first") {
  const double w = std::sqrt(40.0), c = 1.5, decay = 0.5 * c, wd = std::sqrt(w * w - decay * decay);
  const double x = 1 + 0.5 * std::exp(-decay * 2) * (std::cos(wd * 2) + decay / wd * std::sin(wd * 2));
  for (const double theta : {0.5, 1.0}) {
    std::vector<double> errors;
    for (const double h : {4e-3, 2e-3, 1e-3}) {
      ModelRun run = ModelRun::of_text(oscillator(theta, h, c));
      REQUIRE(run.run() == RunStatus::completed);
      errors.push_back(std::abs(run.state().q[0] - x));
    }
    const double order = std::log2(errors[1] / errors[2]);
    CHECK(order == doctest::Approx(theta == 0.5 ? 2 : 1).epsilon(0.05));
  }
}

TEST_CASE("Moreau-Jean: a free linear vibration keeps its energy at theta = 1/2 and loses some beyond") {
  for (const double theta : {0.5, 0.51, 1.0}) {
    ModelRun run = ModelRun::of_text(oscillator(theta, 1e-2, 0));
    const double start = run.energy();
    REQUIRE(run.run() == RunStatus::completed);
    if (theta == 0.5)
      CHECK(run.energy() == doctest::Approx(start).epsilon(1e-12));
    else
      CHECK(run.energy() < start * (theta == 1.0 ? 0.6 : 0.999));
  }
}

TEST_CASE("Moreau-Jean: resting contacts carry the weight; joints hold at velocity level and drift by O(h)") {
  ModelRun box =
      ModelRun::of_file("brick_flat", {R"(/integrator={"type": "moreau_jean", "step": 1e-3, "duration": 3})"});
  REQUIRE(box.run() == RunStatus::completed);
  double force = 0;
  for (int row = 0; row < box.system().rows(); ++row) force += box.integrator->row_force(box.state(), row);
  CHECK(force == doctest::Approx(46.8 * 9.81).epsilon(1e-9));

  std::vector<double> drift;
  for (const double h : {2e-3, 1e-3}) {
    ModelRun bar = ModelRun::of_file(
        "four_bar", {R"(/integrator={"type": "moreau_jean", "step": )" + std::to_string(h) + R"(, "duration": 0.5})"});
    REQUIRE(bar.run() == RunStatus::completed);
    CHECK(bar.statistics.velocity_residual < 1e-9);
    drift.push_back(bar.statistics.position_residual);
  }
  CHECK(drift[1] < 1e-2);
  CHECK(drift[0] / drift[1] > 1.7);
}

TEST_CASE("Moreau-Jean: a part without mass that springs alone hold is refused, one that a joint holds is not") {
  const auto model = [](const std::string& more) {
    return R"({"format": 1,
    "bodies": [{"name": "a", "type": "point_mass", "mass": 0, "position": [1, 0, 0], "fixed": ["y", "z"]},
               {"name": "b", "type": "point_mass", "mass": 2, "position": [2.3, 0, 0], "fixed": ["y", "z"]}],
    "ground": [{"name": "o", "at": [0, 0, 0]}],
    "springs": [{"name": "s", "of": ["a", "b"], "stiffness": 50, "natural_length": 1},
                {"name": "r", "of": ["ground.o", "a"], "stiffness": 50, "natural_length": 1}],)" +
           more + R"("integrator": {"type": "moreau_jean", "step": 1e-2, "duration": 0.5}})";
  };
  const std::string message = "is there a component without mass that no joint holds?";
  CHECK_THROWS_WITH_AS(ModelRun::of_text(model("")), doctest::Contains(message.c_str()), std::exception);
  ModelRun run = ModelRun::of_text(model(R"("joints": [{"name": "d", "type": "distance", "of": ["a", "b"]}],)"));
  CHECK(run.run() == RunStatus::completed);
}

TEST_CASE("Moreau-Jean: the ledger closes through impacts, with joints and without") {
  for (const char* name : {"bouncing_ball", "brick", "brick_tied", "bead_chain", "four_bar"}) {
    CAPTURE(name);
    ModelRun run = ModelRun::of_file(name, {R"(/integrator={"type": "moreau_jean", "step": 5e-4, "duration": 0.7})"});
    EnergyLedger ledger;
    Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
    simulation.add_observer(ledger);
    REQUIRE(simulation.run() == RunStatus::completed);
    CHECK(ledger.balance().largest_closure < 1e-9 * ledger.balance().scale);
    CHECK(ledger.balance().impacts <= 1e-12 * ledger.balance().scale);
  }
}

TEST_CASE("Moreau-Jean: isolated impacts have the decoupled method's limit") {
  const auto tip = [](const char* keys) {
    ModelRun run = ModelRun::of_file("brick", {std::string("/integrator=") + keys});
    REQUIRE(run.run() == RunStatus::completed);
    return run.state().v;
  };
  const Vector ds = tip(R"({"type": "nsga_decoupled", "step": 2.5e-5, "duration": 0.7})"),
               fine = tip(R"({"type": "moreau_jean", "step": 2.5e-5, "duration": 0.7})"),
               coarse = tip(R"({"type": "moreau_jean", "step": 1e-4, "duration": 0.7})");
  double size = 0;
  for (const double x : ds) size = std::max(size, std::abs(x));
  // the impact is noticed up to a step late
  CHECK(carom::test::difference(ds, fine) < 1e-2 * size);
  CHECK(carom::test::difference(ds, fine) < 0.5 * carom::test::difference(ds, coarse));
}

TEST_CASE("Moreau-Jean: drivers and moving obstacles give the work of impacts, which is no growth without cause") {
  // a cart driven along a rail carries a rod that hits the stop of its hinge
  const auto cart = [](double speed) {
    return R"({"format": 1,
      "bodies": [{"name": "cart", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.1], "velocity": [)" +
           std::to_string(speed) + R"(, 0, 0]},
                 {"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.01, 0.02, 0.02], "position": [0, -0.5, 0],
                  "velocity": [)" +
           std::to_string(speed + 1.5) + R"(, 0, 0], "angular_velocity": [0, 0, 3],
                  "points": [{"name": "p", "at": [0, 0.5, 0]}]}],
      "joints": [{"name": "rail", "type": "prismatic", "axis": [1, 0, 0], "of": ["ground", "cart"],
                  "driver": {"displacement": ")" +
           std::to_string(speed) + R"(*t"}},
                 {"name": "hinge", "type": "revolute", "axis": [0, 0, 1], "of": ["cart", "rod.p"],
                  "stops": {"upper": 0.3, "restitution": 0.5}}],
      "integrator": {"type": "moreau_jean", "step": 1e-3, "duration": 0.3}})";
  };
  const std::string floor = R"({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.3, 0.1]},
                "position": [0, 0, 0.4]}],
    "contacts": [{"name": "c", "on": "b", "restitution": 0.5,
                  "obstacle": {"type": "plane", "normal": [0, 0, 1], "motion": {"translation": [0, 0, "2*t"]}}}],
    "integrator": {"type": "moreau_jean", "step": 1e-3, "duration": 1}})";
  // the rod leaves its stop with half of its rate, the box the floor of 2 m/s with half of the approach
  for (const double u : {-2.0, 2.0}) {
    ModelRun run = ModelRun::of_text(cart(u));
    double growth = 0;
    REQUIRE(run.run([&](const StepView& view) { growth = view.report.growth; }) == RunStatus::completed);
    CHECK(run.state().v[11] == doctest::Approx(-1.5).epsilon(2e-3));
    CHECK(growth < 1e-3);
  }
  ModelRun run = ModelRun::of_text(floor);
  double growth = 0;
  REQUIRE(run.run([&](const StepView& view) { growth = view.report.growth; }) == RunStatus::completed);
  CHECK(run.state().v[2] == doctest::Approx(3).epsilon(1e-12));
  CHECK(growth < 1e-12);
}

TEST_CASE("Moreau-Jean and CD-Lagrange: beads on obstacles that move have the motion of those at rest") {
  // Galilean invariance: in a bowl, and on a sphere
  const auto bead = [](const std::string& method, const std::string& obstacle, double z, double speed) {
    const std::string V = std::to_string(speed);
    return R"({"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0.02, 0, )" +
           std::to_string(z) + R"(], "velocity": [)" + V + R"(, 0, 0]}],
      "contacts": [{"name": "c", "on": "b", "restitution": 0, "obstacle": {)" +
           obstacle + R"(, "motion": {"translation": [")" + V + R"(*t", 0, 0]}}}],
      "integrator": {"type": ")" +
           method + R"(", "step": 1e-3, "duration": 0.3}})";
  };
  const std::string
      bowl = R"("type": "cylinder", "center": [0, 0, 0], "axis": [0, 1, 0], "radius": 0.4, "side": "inside")",
      ball = R"("type": "sphere", "center": [0, 0, 0], "radius": 0.6)";
  for (const std::string method : {"moreau_jean", "cd_lagrange"})
    for (const bool inside : {true, false}) {
      CAPTURE(method);
      CAPTURE(inside);
      const double z = inside ? -std::sqrt(0.4 * 0.4 - 0.02 * 0.02) : std::sqrt(0.6 * 0.6 - 0.02 * 0.02);
      const auto place = [&](double speed) {
        ModelRun run = ModelRun::of_text(bead(method, inside ? bowl : ball, z, speed));
        REQUIRE(run.run() == RunStatus::completed);
        return Vec3(run.state().q[0] - speed * 0.3, run.state().q[1], run.state().q[2]);
      };
      const Vec3 at_rest = place(0);
      for (const double speed : {5.0, 20.0}) CHECK((place(speed) - at_rest).norm() < 2e-3);
    }
}
