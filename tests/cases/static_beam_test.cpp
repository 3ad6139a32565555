// Beams in static equilibrium: a strip on a floor, a prop, the 45-degree bend.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

double reaction(const ModelRun& run) {
  double sum = 0;
  for (const int row : run.model->contacts.at(0).rows) sum += run.model->state.lambda[static_cast<std::size_t>(row)];
  return sum;
}

}  // namespace

TEST_CASE("strip on a floor: reaction and place of touchdown are those of the closed form, to second order") {
  // derivation: data/models/cantilever_on_obstacle.json
  const double g = 9.81, w = 7800 * 4e-6 * g, a = 0.5;
  double before = 0;
  for (const int n : {20, 40, 80}) {
    CAPTURE(n);
    ModelRun run = ModelRun::of_file("cantilever_on_obstacle", {"/parameters/n=" + std::to_string(n)});
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.statistics.subdivided_steps == 0);
    const double error = std::abs(reaction(run) / (w * (1 - 2 * a / 3)) - 1);
    CHECK(error < 0.3 / n);
    if (before > 0) CHECK(error < before);
    before = error;
    // nodes beyond the touchdown lie on the floor, no node before it does
    const RowGroup& floor = run.model->contacts[0];
    for (int k = 1; k <= n; ++k) {
      const double gap = run.system().row_gap(floor.rows[static_cast<std::size_t>(k)], run.state().q, run.state().t);
      if (k < a * n - 1.5) CHECK(gap > 0);
      if (k > a * n + 1.5) CHECK(std::abs(gap) < 1e-10);
      CHECK(gap > -1e-10);
    }
  }
}

TEST_CASE("propped cantilever: the prop carries 5/2 P less what its gap saves") {
  // tip load P, prop in the middle at the distance d below: P a^2 (3 L - a)/6 - R a^3/3 = E I d with a = L/2, so
  // R = 5/2 P - 24 E I d/L^3; the shear of a beam that is a thousand times as long as thick is negligible
  const double EI = 2.1e11 * std::pow(1e-3, 4) / 12, d = 1e-4, P = 4e-4;
  const auto of = [&](double load, int n) {
    return ModelRun::of_text(R"({
      "format": 1, "parameters": {"P": 1, "n": 2},
      "materials": [{"name": "m", "type": "linear_elastic", "young": 2.1e11, "density": 7800}],
      "sections": [{"name": "s", "type": "rectangle", "width": 1e-3, "height": 1e-3}],
      "bodies": [{"name": "arm", "type": "beam", "material": "m", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0],
                  "elements": "=n", "fixed": [{"on": "start"}]}],
      "loads": [{"name": "P", "type": "force", "on": "arm.end", "value": [0, 0, "=-P"]}],
      "contacts": [{"name": "prop", "on": "arm.node.)" +
                                 std::to_string(n / 2) + R"(", "obstacle": {"type": "plane", "point": [0, 0, -1e-4],
                    "normal": [0, 0, 1]}}],
      "integrator": {"type": "static", "step": 0.2}})",
                             {"/parameters/P=" + std::to_string(load), "/parameters/n=" + std::to_string(n)});
  };
  ModelRun run = of(P, 64);
  REQUIRE(run.run([&](const StepView& view) {
    const double expected = std::max(0.0, 2.5 * P * view.state.t - 24 * EI * d);
    CHECK(std::abs(view.state.lambda[0] - expected) < 1e-3 * P);
  }) == RunStatus::completed);
  CHECK(reaction(run) > 0);
}

namespace {

ModelRun bend(int n, double step) {
  return ModelRun::of_text(R"({
    "format": 1, "parameters": {"n": 8},
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e7, "poisson": 0, "density": 1}],
    "sections": [{"name": "s", "type": "rectangle", "width": 1, "height": 1}],
    "bodies": [{"name": "bend", "type": "beam", "material": "m", "section": "s", "elements": "=n",
                "shape": {"type": "arc", "from": [0, 0, 0], "center": [0, 100, 0], "axis": [0, 0, 1], "angle": "=pi/4"},
                "fixed": [{"on": "start"}]}],
    "loads": [{"name": "P", "type": "force", "on": "bend.end", "value": [0, 0, 600]}],
    "integrator": {"type": "static", "max_subdivisions": 12}})",
                           {"/integrator/step=" + std::to_string(step), "/parameters/n=" + std::to_string(n)});
}

}  // namespace

TEST_CASE("45-degree bend: the end does not depend on the increments, one or sixty, also on a fine mesh") {
  // Bathe, Bolourchi 1979: 29.3 to 15.9 along, 70.7 to 47.2 across, 53.4 up; other elements give the same within 1 %
  for (const int n : {8, 64}) {
    CAPTURE(n);
    ModelRun whole = bend(n, 1), six = bend(n, 1.0 / 6), sixty = bend(n, 1.0 / 60);
    REQUIRE(whole.run() == RunStatus::completed);
    REQUIRE(six.run() == RunStatus::completed);
    REQUIRE(sixty.run() == RunStatus::completed);
    CHECK(sixty.statistics.subdivided_steps == 0);
    const Vec3 end = sixty.position("bend.end");
    CHECK((whole.position("bend.end") - end).norm() < 1e-6);
    CHECK((six.position("bend.end") - end).norm() < 1e-6);
    CHECK(end.z() == doctest::Approx(53.4).epsilon(0.01));
    MESSAGE(n << " elements, iterations " << whole.statistics.iterations[0].sum << " in one increment ("
              << whole.statistics.rejected << " rejected), " << six.statistics.iterations[0].sum << " in six, "
              << sixty.statistics.iterations[0].sum << " in sixty; end " << end.transpose());
  }
}

TEST_CASE("statics: a wire knows all turns of a driver, however large the increments") {
  for (const double step : {1.0, 0.1, 0.02}) {
    CAPTURE(step);
    ModelRun c = ModelRun::of_text(fmt::format(R"x({{"format": 1,
      "materials": [{{"name": "m", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 7800}}],
      "sections": [{{"name": "s", "type": "circle", "radius": 0.001}}],
      "bodies": [{{"name": "a", "type": "beam", "material": "m", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0],
                  "elements": 40, "fixed": [{{"on": "start"}}]}}],
      "joints": [{{"name": "d", "type": "revolute", "of": ["ground", "a.end"], "axis": [1, 0, 0],
                  "driver": {{"angle": "6*pi*t"}}}}],
      "integrator": {{"type": "static", "step": {}}}}})x",
                                               step));
    REQUIRE(c.run() == RunStatus::completed);
    // G J phi^2/(2 L)
    const double GJ = 2e11 / 2.6 * std::numbers::pi / 2 * 1e-12;
    CHECK(c.model->system.energies(c.state().q, c.state().v, c.state().t).elastic ==
          doctest::Approx(0.5 * GJ * 36 * std::numbers::pi * std::numbers::pi).epsilon(1e-9));
  }
}

TEST_CASE("statics: what is not loaded stays where it is, whatever rounding its elements have") {
  for (const int elements : {1, 3, 5, 6, 8, 12}) {
    CAPTURE(elements);
    for (const char* load : {"", R"({"name": "f", "type": "force", "on": "s.end",
                                     "value": [0, 0, {"times": [0, 0.5, 1], "values": [0, 0, 100]}]})"}) {
      ModelRun c = ModelRun::of_text(fmt::format(R"x({{"format": 1,
        "materials": [{{"name": "m", "type": "linear_elastic", "young": 2e9, "poisson": 0.3, "density": 1000}}],
        "sections": [{{"name": "q", "type": "rectangle", "width": 0.1, "height": 0.1}}],
        "bodies": [{{"name": "s", "type": "beam", "material": "m", "section": "q", "from": [0.1, 0.2, 0.3],
                    "to": [1.1, 0.7, 0.9], "elements": {}, "fixed": [{{"on": "start"}}]}}],
        "loads": [{}], "integrator": {{"type": "static"}}}})x",
                                                 elements, load));
      CHECK(c.run() == RunStatus::completed);
    }
  }
}

TEST_CASE("an element of a beam whose ends turn by half a turn against each other ends the run, more elements do not") {
  for (const int elements : {1, 2, 4}) {
    CAPTURE(elements);
    ModelRun c = ModelRun::of_text(fmt::format(R"x({{"format": 1,
      "materials": [{{"name": "m", "type": "linear_elastic", "young": 2e9, "poisson": 0.3, "density": 1}}],
      "sections": [{{"name": "s", "type": "circle", "radius": 0.005}}],
      "bodies": [{{"name": "a", "type": "beam", "material": "m", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0],
                  "elements": {}, "fixed": [{{"on": "start"}}]}},
                 {{"name": "disc", "type": "rigid", "mass": 1, "inertia": [0.01, 0.01, 0.01], "position": [1, 0, 0],
                  "angular_velocity": [34.76068, 0, 0]}}],
      "joints": [{{"name": "weld", "type": "fixed", "of": ["a.end", "disc"]}}],
      "initial_state": {{"project": "velocities"}},
      "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5}}}})x",
                                               elements));
    CHECK(c.run() == (elements == 1 ? RunStatus::failed : RunStatus::completed));
    if (elements == 1) CHECK(c.report.reason == FailureReason::inverted_element);
  }
}
