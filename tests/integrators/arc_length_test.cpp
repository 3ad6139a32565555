// Paths of equilibria beyond limit points (static, "control": "arc_length").
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "integrators/common/failure.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// The truss of von Mises: two springs of stiffness k from (-1, 0, 0) and (1, 0, 0) to an apex at height 1/2. The force
// P presses the apex down: P = 2 k z (l_0/l - 1).
constexpr double stiffness = 1000, height = 0.5, pressure = 10;
double truss_load(double z) { return 2 * stiffness * z * (std::hypot(1, height) / std::hypot(1, z) - 1); }

// Between the force and the apex a spring of stiffness `soft`; 0: none.
ModelRun truss(double soft) {
  const std::string point = R"(, "fixed": ["x", "y"]})";
  const std::string above =
      soft > 0 ? R"(, {"name": "above", "type": "point_mass", "mass": 1, "position": [0, 0, 4.5])" + point : "";
  const std::string spring =
      soft > 0 ? R"(, {"name": "soft", "of": ["apex", "above"], "stiffness": )" + std::to_string(soft) + "}" : "";
  return ModelRun::of_text(R"({"format": 1,
    "bodies": [{"name": "apex", "type": "point_mass", "mass": 1, "position": [0, 0, 0.5])" +
                               point + above + R"(],
    "ground": [{"name": "left", "at": [-1, 0, 0]}, {"name": "right", "at": [1, 0, 0]}],
    "springs": [{"name": "a", "of": ["ground.left", "apex"], "stiffness": 1000},
                {"name": "b", "of": ["ground.right", "apex"], "stiffness": 1000})" +
                               spring + R"(],
    "loads": [{"name": "press", "type": "force", "on": ")" +
                               (soft > 0 ? "above" : "apex") + R"(", "value": [0, 0, -10]}],
    "integrator": {"type": "static", "control": "arc_length"}})",
                           {soft > 0 ? "/integrator/step=0.1" : "/integrator/step=1",
                            soft > 0 ? "/integrator/duration=18" : "/integrator/duration=60", "/integrator/ramp=1"});
}

// A cantilever 0.05 above a floor, for the points `on` of it, with a load of 10 down at `loaded`.
ModelRun cantilever(const std::string& on, const std::string& loaded, double step) {
  return ModelRun::of_text(R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "density": 1}],
    "sections": [{"name": "a", "type": "rectangle", "width": 0.02, "height": 0.02}],
    "bodies": [{"name": "b", "type": "beam", "material": "m", "section": "a", "from": [0, 0, 0.05],
                "to": [1, 0, 0.05], "elements": 8, "fixed": [{"on": "start"}]}],
    "contacts": [{"name": "c", "on": ")" +
                           on +
                           R"(", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "loads": [{"name": "F", "type": "force", "on": ")" +
                           loaded +
                           R"(", "value": [0, 0, -10]}],
    "integrator": {"type": "static", "control": "arc_length", "duration": 3, "ramp": 1, "step": )" +
                           std::to_string(step) + "}}");
}

}  // namespace

TEST_CASE("arc length: a truss is followed through its snap, all along the exact path") {
  ModelRun run = truss(0);
  double highest = 0, lowest = 0, before = height;
  REQUIRE(run.run([&](const StepView& view) {
    const double z = view.state.q[2], factor = view.integrator.load_factor(view.state);
    CHECK(std::abs(factor * pressure - truss_load(z)) < 1e-7 * stiffness);
    CHECK(z < before);  // never back along the path
    before = z;
    if (z > 0) highest = std::max(highest, factor);
    lowest = std::min(lowest, factor);
  }) == RunStatus::completed);
  // the maximum is where l^3 = l_0, on both sides
  const double z_limit = std::sqrt(std::pow(std::hypot(1, height), 2.0 / 3) - 1),
               limit = truss_load(z_limit) / pressure;
  CHECK(highest == doctest::Approx(limit).epsilon(1e-3));
  CHECK(lowest == doctest::Approx(-limit).epsilon(1e-3));
  CHECK(run.position("apex").z() < -1.2 * height);
  CHECK(run.statistics.subdivided_steps == 0);
  CHECK(run.statistics.iterations[0].max <= 5);
}

TEST_CASE("arc length: behind a soft spring the load and its place both turn back") {
  const double soft = 100;
  ModelRun run = truss(soft);
  double previous = 4.5;
  int turns = 0;
  bool falls = true;
  REQUIRE(run.run([&](const StepView& view) {
    const double z = view.state.q[2], above = view.state.q[5], factor = view.integrator.load_factor(view.state);
    CHECK(std::abs(factor * pressure - truss_load(z)) < 1e-7 * stiffness);
    CHECK(std::abs(above - (z + 4 - factor * pressure / soft)) < 1e-9);
    if ((above < previous) != falls) {
      ++turns;
      falls = !falls;
    }
    previous = above;
  }) == RunStatus::completed);
  CHECK(turns == 2);
  CHECK(run.position("apex").z() < -height);
}

TEST_CASE("arc length: the factor of a linear structure is time over the ramp") {
  ModelRun run = ModelRun::of_text(R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e6, "density": 1000}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}],
    "bodies": [{"name": "bar", "type": "bar", "kinematics": "linear", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [4, 0, 0], "elements": 10, "fixed": ["start"]}],
    "loads": [{"name": "pull", "type": "force", "on": "bar.end", "value": [50, 0, 0]}],
    "integrator": {"type": "static", "control": "arc_length", "step": 0.25, "duration": 2, "ramp": 0.5}})");
  REQUIRE(run.run([&](const StepView& view) {
    CHECK(view.integrator.load_factor(view.state) == doctest::Approx(2 * view.state.t).epsilon(1e-12));
  }) == RunStatus::completed);
  CHECK(run.position("bar.end").x() == doctest::Approx(4 + 4 * 200 / 1e4).epsilon(1e-12));
}

TEST_CASE("arc length: a contact that closes on the way is part of the path") {
  // the falling apex meets a floor at z = 0.1, after the limit point; the floor then carries what the truss does not
  ModelRun run = ModelRun::of_text(R"({"format": 1,
    "bodies": [{"name": "apex", "type": "point_mass", "mass": 1, "position": [0, 0, 0.5], "fixed": ["x", "y"]},
               {"name": "above", "type": "point_mass", "mass": 1, "position": [0, 0, 1], "fixed": ["x", "y"]}],
    "ground": [{"name": "left", "at": [-1, 0, 0]}, {"name": "right", "at": [1, 0, 0]}],
    "springs": [{"name": "a", "of": ["ground.left", "apex"], "stiffness": 1000},
                {"name": "b", "of": ["ground.right", "apex"], "stiffness": 1000},
                {"name": "soft", "of": ["apex", "above"], "stiffness": 500}],
    "contacts": [{"name": "floor", "on": "apex", "obstacle": {"type": "plane", "point": [0, 0, 0.1],
                  "normal": [0, 0, 1]}}],
    "loads": [{"name": "press", "type": "force", "on": "above", "value": [0, 0, -10]}],
    "integrator": {"type": "static", "control": "arc_length", "step": 1, "duration": 20, "ramp": 1}})");
  int closed = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const double z = view.state.q[2], floor = view.state.lambda[0], factor = view.integrator.load_factor(view.state);
    CHECK(z >= 0.1 - 1e-12);
    CHECK(std::abs(factor * pressure - truss_load(z) - floor) < 1e-7 * stiffness);
    closed += floor > 0 ? 1 : 0;
  }) == RunStatus::completed);
  CHECK(closed > 5);
  // at t = 20.4 the soft spring has no length, and no direction: the path ends there
}

TEST_CASE("arc length: Lee's frame has the limit loads of the literature, and snaps back") {
  ModelRun run = ModelRun::of_file("lee_frame");
  double highest = 0, lowest = 0, deflection = 0;
  bool back = false;
  REQUIRE(run.run([&](const StepView& view) {
    const double factor = view.integrator.load_factor(view.state), u = 120 - run.position("beam.node.8").z();
    if (view.state.t < 15) highest = std::max(highest, factor);
    lowest = std::min(lowest, factor);
    back = back || u < deflection - 1;
    deflection = std::max(deflection, u);
  }) == RunStatus::completed);
  CHECK(highest == doctest::Approx(1.855).epsilon(2e-3));
  CHECK(lowest == doctest::Approx(-0.94).epsilon(1e-2));
  CHECK(back);
  CHECK(run.statistics.subdivided_steps == 0);
}

TEST_CASE("arc length: no increment, however large, leaves the path of Lee's frame for another branch") {
  using Place = Eigen::Vector3d;
  const auto path = [](double step) {
    ModelRun run = ModelRun::of_file(
        "lee_frame", {"/integrator/step=" + std::to_string(step), "/integrator/duration=18", "/expect=[]"});
    std::vector<Place> places;
    REQUIRE(run.run([&](const StepView& view) {
      // larger increments are longer than the lengths along their directions, by which time counts
      if (step > 1 && view.state.t > 15) return;
      const Vec3 x = run.position("beam.node.8");
      places.emplace_back(x.x(), x.z(), 20 * view.integrator.load_factor(view.state));
    }) == RunStatus::completed);
    return places;
  };
  const std::vector<Place> fine = path(0.05);
  for (const double step : {2.0, 3.0, 4.5, 6.0, 9.0}) {
    CAPTURE(step);
    for (const Place& place : path(step)) {
      double distance = HUGE_VAL;
      for (std::size_t i = 1; i < fine.size(); ++i) {
        const Place along = fine[i] - fine[i - 1];
        const double share = std::clamp((place - fine[i - 1]).dot(along) / along.squaredNorm(), 0.0, 1.0);
        distance = std::min(distance, (place - fine[i - 1] - share * along).norm());
      }
      CHECK(distance < 0.01);
    }
  }
}

TEST_CASE("arc length: where a contact carries the load whole, the path ends with the reason") {
  for (const char* const on : {"b.end", "b.nodes"})
    for (const double step : {0.05, 0.2, 0.3, 1.0}) {
      CAPTURE(on);
      CAPTURE(step);
      ModelRun run = cantilever(on, "b.end", step);
      // the tip comes to the floor at a factor of 0.201
      CHECK(run.run([&](const StepView& view) {
        CHECK(view.integrator.load_factor(view.state) < 0.202);
        CHECK(run.position("b.end").z() > -1e-9);
      }) == RunStatus::failed);
      CHECK(text_of(run.report.reason) == std::string(text_of(FailureReason::path_lost)));
    }
}

TEST_CASE("arc length: a path that turns by more than a right angle where a contact closes goes on") {
  // a cantilever, loaded at its middle, whose tip comes to rest on a floor: N = 5/16 P - 3 EI gap/L^3 for small
  // deflections
  constexpr double load = 10, gap = 0.05, EI = 1e9 * 0.02 * 0.02 * 0.02 * 0.02 / 12;
  for (const double step : {0.05, 0.1, 0.2, 0.4}) {
    CAPTURE(step);
    ModelRun run = cantilever("b.nodes", "b.node.4", step);
    double last = 0;
    int propped = 0;
    const RunStatus status = run.run([&](const StepView& view) {
      const double factor = view.integrator.load_factor(view.state);
      CHECK(factor > last);
      last = factor;
      double normal = 0;
      for (const double force : view.state.lambda) normal += force;
      if (normal == 0 || factor > 3.5) return;
      ++propped;
      CHECK(normal == doctest::Approx(5.0 / 16 * load * factor - 3 * EI * gap).epsilon(0.015));
    });
    CHECK(propped > (step < 0.3 ? 1 : 0));
    // the path ends where the floor meets the load
    CHECK(status == RunStatus::failed);
    CHECK(text_of(run.report.reason) == std::string(text_of(FailureReason::path_lost)));
    CHECK(last > 15);
    CHECK(run.position("b.node.4").z() < 1e-3);
  }
}
