// Newton's impact law g'_{n+1} = -e g'_n, as every method applies the law to a closing contact.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

TEST_CASE("impact law: every contact has its own restitution") {
  // three balls fall from the same height; Newton's law with the velocity at the beginning of the step
  ModelRun run = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [
      {"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 0.2]},
      {"name": "b", "type": "point_mass", "mass": 2, "position": [1, 0, 0.2]},
      {"name": "c", "type": "point_mass", "mass": 3, "position": [2, 0, 0.2]}
    ],
    "contacts": [
      {"name": "fa", "on": "a", "restitution": 0, "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
      {"name": "fb", "on": "b", "restitution": 0.5, "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
      {"name": "fc", "on": "c", "restitution": 1, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}
    ],
    "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 1e-3, "duration": 0.25}
  })");
  const double e[] = {0, 0.5, 1};
  double law = 0, before[3] = {0, 0, 0};
  int impacts = 0;
  REQUIRE(run.run([&](const StepView& view) {
    for (int row = 0; row < 3; ++row) {
      const double after = view.system.row_rate(row, view.state.q, view.state.v, view.state.t);
      if (view.state.impulse[static_cast<std::size_t>(row)] > 0) {
        law = std::max(law, std::abs(after + e[row] * before[row]));
        ++impacts;
      }
      before[row] = after;
    }
  }) == RunStatus::completed);
  CHECK(impacts >= 3);
  CHECK(law < 1e-11 * 3);
}

TEST_CASE("impact law: two contacts of one body keep their restitutions in a simultaneous impact") {
  // a ball falls into a right-angled groove along its bisector: the rows of the walls are orthogonal, so each wall
  // reflects separately
  ModelRun run = ModelRun::of_text(R"({
    "format": 1,
    "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "position": [1.0005, 1.0005, 0], "velocity": [-1, -1, 0]}],
    "contacts": [
      {"name": "x", "on": "ball", "restitution": 0.25, "obstacle": {"type": "plane", "normal": [1, 0, 0]}},
      {"name": "y", "on": "ball", "restitution": 0.75, "obstacle": {"type": "plane", "normal": [0, 1, 0]}}
    ],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1.5, "rho_infinity": 0.8}
  })");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.state().v[0] == doctest::Approx(0.25).epsilon(1e-13));
  CHECK(run.state().v[1] == doctest::Approx(0.75).epsilon(1e-13));
}

TEST_CASE("impact law: a contact that moves apart and closes within the step is not left approaching") {
  for (const char* e : {"0.5", "1"})
    for (const bool impulses : {false, true}) {
      CAPTURE(e);
      CAPTURE(impulses);
      // Up with 1 mm/s from a gap of 1 um: after 10 ms the ball would be 0.49 mm below the floor. The method of
      // impulses holds contacts that are closed at the start.
      ModelRun ball = ModelRun::of_text(std::string(R"({"format": 1, "gravity": [0, 0, -10],
            "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "velocity": [0, 0, 1e-3],
                        "position": [0, 0, )") +
                                        (impulses ? "-1e-5" : "1e-6") + R"(]}],
            "contacts": [{"name": "floor", "on": "ball", "restitution": )" +
                                        e + R"(, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
            "integrator": {"type": ")" + (impulses ? "moreau_jean" : "nsga_decoupled") +
                                        R"(", "step": 1e-2, "duration": 1}})");
      REQUIRE(ball.step(1e-2).converged);
      CHECK(ball.state().v[2] >= -1e-14);
      CHECK(ball.state().v[2] < 2e-3);
    }
}
