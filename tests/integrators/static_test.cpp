// Static equilibria against closed forms.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/methods/static_equilibrium.hpp"
#include "tests/support/bisect.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::bisect;
using carom::test::ModelRun;

namespace {

double reaction(const ModelRun& run, const std::string& contact) {
  for (const RowGroup& c : run.model->contacts)
    if (c.name == contact) {
      double sum = 0;
      for (const int row : c.rows) sum += run.model->state.lambda[static_cast<std::size_t>(row)];
      return sum;
    }
  throw std::runtime_error("no contact " + contact);
}

}  // namespace

TEST_CASE("statics: a mass hangs from its spring by m g/k, though nothing holds it sideways at the start") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "mass", "type": "point_mass", "mass": 2, "position": [0, 0, -1]}],
    "springs": [{"name": "spring", "of": ["ground.origin", "mass"], "stiffness": 50, "damping": 3,
                 "natural_length": 1}],
    "ground": [{"name": "origin", "at": [0, 0, 0]}], "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.nominal_steps == 10);
  CHECK(run.statistics.subdivided_steps == 0);
  CHECK(run.position("mass").z() == doctest::Approx(-1 - 2 * 9.81 / 50).epsilon(1e-12));
  CHECK(run.position("mass").head<2>().norm() == 0);
}

TEST_CASE("statics: loads grow linearly over the ramp, or act as they are without one") {
  const std::string text = R"({
    "format": 1,
    "bodies": [{"name": "mass", "type": "point_mass", "mass": 2, "position": [1, 0, 0], "fixed": ["y", "z"]}],
    "springs": [{"name": "spring", "of": ["ground.origin", "mass"], "stiffness": 50}],
    "ground": [{"name": "origin", "at": [0, 0, 0]}],
    "loads": [{"name": "pull", "type": "force", "on": "mass", "value": ["10 + 10*t", 0, 0]}],
    "integrator": {"type": "static", "step": 0.25, "duration": 2, "start_time": 1}})";
  for (const double ramp : {2.0, 0.5, 0.0}) {
    ModelRun run = ModelRun::of_text(text, {"/integrator/ramp=" + std::to_string(ramp)});
    int steps = 0;
    REQUIRE(run.run([&](const StepView& view) {
      const double t = view.state.t, factor = ramp > 0 ? std::min(1.0, (t - 1) / ramp) : 1.0;
      CHECK(view.state.q[0] == doctest::Approx(1 + factor * 10 * (1 + t) / 50).epsilon(1e-12));
      ++steps;
    }) == RunStatus::completed);
    CHECK(steps == 8);
  }
  // the ramp is the duration by default
  ModelRun first = ModelRun::of_text(text);
  first.step(0.25);
  CHECK(first.state().q[0] == doctest::Approx(1 + 0.125 * 10 * 2.25 / 50).epsilon(1e-12));
}

TEST_CASE("statics: a linear model takes one iteration per step and one factorisation") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [9.81, 0, 0],
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e6, "density": 1000}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}],
    "bodies": [{"name": "bar", "type": "bar", "kinematics": "linear", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [4, 0, 0], "elements": 40, "fixed": ["start"]}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.iterations[0].max == 1);
  CHECK(run.integrator->linear_counters().factorisations == 1);
  // u(x) = rho g (L x - x^2/2)/E, which linear elements reproduce exactly at the nodes
  for (const int node : {7, 40}) {
    const double x = 0.1 * node, u = 1000 * 9.81 * (4 * x - 0.5 * x * x) / 1e6;
    CHECK(run.position("bar.node." + std::to_string(node)).x() == doctest::Approx(x + u).epsilon(1e-9));
  }
}

TEST_CASE("statics: an elastic cable hangs as the sum of its elements says, from a straight start without stiffness") {
  const int n = 20;
  const double E = 1e5, A = 1e-2, rho = 1000, span = 10, g = 9.81;
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e5, "density": 1000}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}],
    "bodies": [{"name": "cable", "type": "bar", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [10, 0, 0], "elements": 20, "fixed": ["start", "end"]}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.subdivided_steps == 0);

  // the length of an element under the tension T = EA (l - l_0)/l_0
  const double l_0 = span / n, weight = rho * A * l_0 * g;
  const auto length = [&](double T) { return l_0 * (1 + T / (E * A)); };
  // vertical forces are multiples of the weight of an element; the horizontal one closes the span
  const auto vertical = [&](int i) { return weight * (i - 0.5 * (n - 1)); };
  const double H = bisect(1e-6, 1e4, [&](double h) {
    double x = 0;
    for (int i = 0; i < n; ++i) x += length(std::hypot(h, vertical(i))) * h / std::hypot(h, vertical(i));
    return x - span;
  });
  double x = 0, z = 0;
  for (int i = 0; i < n; ++i) {
    const double T = std::hypot(H, vertical(i)), l = length(T);
    x += l * H / T;
    z += l * vertical(i) / T;
    const Vec3 place = run.position("cable.node." + std::to_string(i + 1));
    CHECK(place.x() == doctest::Approx(x).epsilon(1e-8));
    CHECK(std::abs(place.z() - z) < 1e-8 * span);
    CHECK(std::abs(place.y()) < 1e-10 * span);
  }
}

namespace {

// Two springs from (-b, 0, 0) and (b, 0, 0) to an apex at (0, 0, h), which the force P presses down:
//   P = 2 k z (l_0/l - 1), l^2 = b^2 + z^2, with a maximum where l^3 = l_0 b^2  (von Mises)
constexpr double k = 1000, b = 1, h = 0.5;
const double l_0 = std::hypot(b, h);
double load(double z) { return 2 * k * z * (l_0 / std::hypot(b, z) - 1); }
const double z_limit = std::sqrt(std::pow(l_0 * b * b, 2.0 / 3) - b * b), P_limit = load(z_limit);

std::string truss(double P) {
  return R"({
    "format": 1,
    "bodies": [{"name": "apex", "type": "point_mass", "mass": 1, "position": [0, 0, 0.5], "fixed": ["x", "y"]}],
    "ground": [{"name": "left", "at": [-1, 0, 0]}, {"name": "right", "at": [1, 0, 0]}],
    "springs": [{"name": "a", "of": ["ground.left", "apex"], "stiffness": 1000},
                {"name": "b", "of": ["ground.right", "apex"], "stiffness": 1000}],
    "loads": [{"name": "press", "type": "force", "on": "apex", "value": [0, 0, )" +
         std::to_string(-P) + R"(]}],
    "integrator": {"type": "static", "step": 0.05}})";
}

}  // namespace

TEST_CASE("statics: a von Mises truss follows its path up to the limit load") {
  const double P = 0.999 * P_limit;
  ModelRun run = ModelRun::of_text(truss(P));
  REQUIRE(run.run([&](const StepView& view) {
    const double z = view.state.q[2];
    CHECK(load(z) == doctest::Approx(view.state.t * P).epsilon(1e-6));
    CHECK(z > z_limit);
  }) == RunStatus::completed);
}

TEST_CASE("statics: beyond the limit load a truss fails there, or has snapped to the other side: never in between") {
  ModelRun run = ModelRun::of_text(truss(1.3 * P_limit));
  const RunStatus status = run.run([&](const StepView& view) {
    const double z = view.state.q[2], P = view.state.t * 1.3 * P_limit;
    CHECK(load(z) == doctest::Approx(P).epsilon(1e-6));
    CHECK((z > z_limit || z < -h));
  });
  if (status == RunStatus::failed) {
    CHECK(run.state().t * 1.3 == doctest::Approx(1).epsilon(1e-3));
    CHECK(run.report.failed == 0);
    CHECK(run.report.reason != FailureReason::none);
  } else {
    CHECK(run.statistics.snaps == 1);
  }
}

TEST_CASE("statics: a shallow truss that snaps by less than an increment's limit of one way is told at every step") {
  for (const double step : {0.1, 0.05, 0.02, 0.005}) {
    CAPTURE(step);
    ModelRun run = ModelRun::of_text(R"({"format": 1,
      "bodies": [{"name": "apex", "type": "point_mass", "mass": 1, "position": [0, 0, 0.1], "fixed": ["x", "y"]}],
      "ground": [{"name": "left", "at": [-1, 0, 0]}, {"name": "right", "at": [1, 0, 0]}],
      "springs": [{"name": "a", "of": ["ground.left", "apex"], "stiffness": 1e5},
                  {"name": "b", "of": ["ground.right", "apex"], "stiffness": 1e5}],
      "loads": [{"name": "press", "type": "force", "on": "apex", "value": [0, 0, -200]}],
      "integrator": {"type": "static"}})",
                                     {"/integrator/step=" + std::to_string(step)});
    if (run.run() == RunStatus::failed)
      CHECK(run.state().t < 0.25);
    else
      CHECK(run.statistics.snaps == 1);
  }
}

TEST_CASE("statics: a ladder that nothing holds jumps in its first increment, which is told") {
  const auto ladder = [](double angle, double step) {
    return ModelRun::of_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "l", "type": "rigid", "mass": 10, "inertia": [4, 4, 0.1], "position": [{:.17g}, 0, {:.17g}],
                  "orientation": {{"axis": [0, 1, 0], "angle": {}}}, "fixed": ["y"],
                  "points": [{{"name": "b", "at": [2, 0, 0]}}, {{"name": "t", "at": [-2, 0, 0]}}]}}],
      "contacts": [{{"name": "floor", "on": "l.b", "friction": 0.4,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}},
                   {{"name": "wall", "on": "l.t", "friction": 0.4,
                    "obstacle": {{"type": "plane", "normal": [1, 0, 0]}}}}],
      "integrator": {{"type": "static", "step": {}}}}})",
                                         2 * std::cos(angle), 2 * std::sin(angle), angle, step));
  };
  // tan of the steepest angle at which it slides: (1 - mu^2)/(2 mu), 0.8098
  for (const double step : {0.5, 0.1, 0.01}) {
    CAPTURE(step);
    ModelRun slides = ladder(0.79, step), holds = ladder(0.83, step);
    if (slides.run() == RunStatus::completed) CHECK(slides.statistics.snaps > 0);
    REQUIRE(holds.run() == RunStatus::completed);
    CHECK(holds.statistics.snaps == 0);
    CHECK(holds.position("l").z() == doctest::Approx(2 * std::sin(0.83)).epsilon(1e-5));
  }
}

TEST_CASE("statics: a ball that floats above a floor comes to rest on it, with its weight as the reaction") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "ball", "type": "rigid", "shape": {"type": "sphere", "radius": 0.1}, "mass": 3,
                "position": [0.3, 0.2, 0.4]}],
    "contacts": [{"name": "floor", "on": "ball", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("ball") - Vec3(0.3, 0.2, 0.1)).norm() < 1e-10);
  CHECK(reaction(run, "floor") == doctest::Approx(3 * 9.81).epsilon(1e-9));
}

TEST_CASE("statics: a ball in a round bowl finds the lowest place") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "ball", "type": "point_mass", "radius": 0.1, "mass": 3, "position": [0.5, 0.2, -0.3]}],
    "contacts": [{"name": "bowl", "on": "ball",
                  "obstacle": {"type": "sphere", "center": [0, 0, 0], "radius": 1, "side": "inside"}}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("ball") - Vec3(0, 0, -0.9)).norm() < 1e-8);
  CHECK(reaction(run, "bowl") == doctest::Approx(3 * 9.81).epsilon(1e-8));
}

TEST_CASE("statics: a box on four vertices carries its weight evenly, though three would do") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "box", "type": "rigid", "shape": {"type": "box", "size": [0.4, 0.3, 0.2]}, "mass": 5,
                "position": [0, 0, 0.1]}],
    "contacts": [{"name": "floor", "on": "box.vertices", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("box") - Vec3(0, 0, 0.1)).norm() < 1e-10);
  CHECK(run.statistics.redundant_steps > 0);
  const RowGroup& floor = run.model->contacts[0];
  int closed = 0;
  for (const int row : floor.rows) {
    const double force = run.state().lambda[static_cast<std::size_t>(row)];
    if (force == 0) continue;
    ++closed;
    CHECK(force == doctest::Approx(5 * 9.81 / 4).epsilon(1e-8));
  }
  CHECK(closed == 4);
}

TEST_CASE("statics: a pendulum that starts sideways is found hanging, and its joint carries the weight") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "arm", "type": "rigid", "shape": {"type": "box", "size": [1, 0.1, 0.1]}, "mass": 2,
                "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]}]}],
    "joints": [{"name": "pivot", "type": "spherical", "of": ["ground", "arm.pin"]}],
    "integrator": {"type": "static"}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("arm") - Vec3(0, 0, -0.5)).norm() < 1e-8);
  double force = 0;
  for (const int row : run.joint("pivot").rows)
    force = std::hypot(force, run.state().lambda[static_cast<std::size_t>(row)]);
  CHECK(force == doctest::Approx(2 * 9.81).epsilon(1e-8));
}

TEST_CASE("statics: an obstacle that moves presses a mass against its spring") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1,
    "bodies": [{"name": "mass", "type": "point_mass", "mass": 1, "position": [1, 0, 0], "fixed": ["y", "z"]}],
    "springs": [{"name": "spring", "of": ["ground.origin", "mass"], "stiffness": 40}],
    "ground": [{"name": "origin", "at": [0, 0, 0]}],
    "contacts": [{"name": "wall", "on": "mass", "obstacle": {"type": "plane", "point": [1.1, 0, 0],
                  "normal": [-1, 0, 0], "motion": {"translation": ["-0.3*sin(pi*t) + 0", 0, 0]}}}],
    "integrator": {"type": "static", "step": 0.05}})");
  int closed = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const double wall = 1.1 - 0.3 * std::sin(M_PI * view.state.t), x = std::min(1.0, wall);
    CHECK(view.state.q[0] == doctest::Approx(x).epsilon(1e-10));
    CHECK(std::abs(view.state.lambda[0] - 40 * (1 - x)) < 1e-8);
    closed += view.report.closed;
  }) == RunStatus::completed);
  CHECK(closed > 5);
  CHECK(run.position("mass").x() == doctest::Approx(1));  // the mass has returned
}

TEST_CASE("statics: a body that nothing holds against its load is an error that names it") {
  ModelRun run = ModelRun::of_text(R"({
    "format": 1,
    "bodies": [{"name": "held", "type": "point_mass", "mass": 1},
               {"name": "loose", "type": "point_mass", "mass": 1, "position": [1, 0, 0]}],
    "springs": [{"name": "s", "of": ["ground.a", "held"], "stiffness": 10}],
    "ground": [{"name": "a", "at": [0, 0, 1]}],
    "loads": [{"name": "push", "type": "force", "on": "loose", "value": [0, 3, 0]}],
    "integrator": {"type": "static", "max_subdivisions": 2}})");
  CHECK(run.run() == RunStatus::failed);
  CHECK(run.report.failed == 0);
  CHECK(run.report.reason == FailureReason::nothing_holds_the_loads);
  CHECK(run.system().equation_name(run.report.worst_equation).find("loose") != std::string::npos);
  CHECK(run.state().q == run.model->state_at_start.q);  // unchanged
}

TEST_CASE("statics: a follower load under a ramp has the right tangent") {
  // two springs hold a rigid arm on a pivot; a follower force pushes the arm; Newton's method stays quadratic
  ModelRun run = ModelRun::of_text(R"({
    "format": 1,
    "bodies": [{"name": "arm", "type": "rigid", "shape": {"type": "box", "size": [1, 0.1, 0.1]}, "mass": 2,
                "position": [0.5, 0, 0],
                "points": [{"name": "pin", "at": [-0.5, 0, 0]}, {"name": "tip", "at": [0.5, 0, 0]},
                           {"name": "side", "at": [0.2, 0.3, 0]}]}],
    "ground": [{"name": "up", "at": [1, 1, 0.2]}, {"name": "down", "at": [1, -1, -0.3]}],
    "springs": [{"name": "u", "of": ["ground.up", "arm.tip"], "stiffness": 100},
                {"name": "d", "of": ["ground.down", "arm.tip"], "stiffness": 100},
                {"name": "e", "of": ["ground.up", "arm.side"], "stiffness": 80}],
    "joints": [{"name": "pivot", "type": "spherical", "of": ["ground", "arm.pin"]}],
    "loads": [{"name": "push", "type": "force", "on": "arm.tip", "value": [0, 40, 5], "frame": "body"}],
    "integrator": {"type": "static", "step": 0.5, "newton": {"tolerance": 1e-12}}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.subdivided_steps == 0);
  CHECK(run.statistics.iterations[0].max <= 8);
}

TEST_CASE("statics: same bits for any number of threads") {
  const std::string text = R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e5, "density": 1000}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}],
    "bodies": [{"name": "cable", "type": "bar", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [10, 0, 0], "elements": 500, "fixed": ["start", "end"]}],
    "integrator": {"type": "static", "step": 0.5}})";
  ModelRun one = ModelRun::of_text(text), two = ModelRun::of_text(text, {}, 2);
  REQUIRE(one.run() == RunStatus::completed);
  REQUIRE(two.run() == RunStatus::completed);
  CHECK(one.state().q == two.state().q);
}

TEST_CASE("initial_state: a dynamic run that starts from equilibrium stays there") {
  const std::string text = R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "arm", "type": "rigid", "shape": {"type": "box", "size": [1, 0.1, 0.1]}, "mass": 2,
                "position": [0.5, 0, 0],
                "points": [{"name": "pin", "at": [-0.5, 0, 0]}, {"name": "tip", "at": [0.5, 0, 0]}]},
               {"name": "mass", "type": "point_mass", "mass": 1, "position": [1, 0, -0.5]}],
    "ground": [{"name": "up", "at": [1, 0, 1]}],
    "springs": [{"name": "u", "of": ["ground.up", "arm.tip"], "stiffness": 100},
                {"name": "d", "of": ["arm.tip", "mass"], "stiffness": 50}],
    "joints": [{"name": "pivot", "type": "spherical", "of": ["ground", "arm.pin"]}],
    "initial_state": {"equilibrium": true},
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.2}})";
  ModelRun run = ModelRun::of_text(text);
  CHECK(run.model->projection.statics.iterations > 0);
  const Vec3 start = run.position("mass"), tip = run.position("arm.tip");
  CHECK((start - Vec3(1, 0, -0.5)).norm() > 0.05);
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("mass") - start).norm() < 1e-9);
  CHECK((run.position("arm.tip") - tip).norm() < 1e-9);
  CHECK(max_abs(run.state().v) < 1e-7);
}
