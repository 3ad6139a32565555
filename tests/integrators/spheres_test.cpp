// Many spheres that may all touch each other.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// `count` balls on a loose grid, thrown at each other without gravity; 435 pairs for 30 balls.
std::string cluster(int count, double restitution) {
  std::string bodies, names;
  for (int i = 0; i < count; ++i) {
    const int column = i % 3, row = i / 3 % 3, layer = i / 9;
    const double x = 0.25 * column - 0.25 + 0.011 * std::sin(7.0 * i);
    const double y = 0.25 * row - 0.25 + 0.013 * std::cos(5.0 * i);
    const double z = 0.25 * layer - 0.375;
    const std::string name = "b" + std::to_string(i), comma = i == 0 ? "" : ", ";
    bodies += comma + R"({"name": ")" + name + R"(", "type": "rigid", "mass": )" + std::to_string(1 + 0.1 * (i % 7)) +
              R"(, "shape": {"type": "sphere", "radius": 0.1}, "position": [)" + std::to_string(x) + ", " +
              std::to_string(y) + ", " + std::to_string(z) + R"(], "velocity": [)" + std::to_string(-2 * x) + ", " +
              std::to_string(-2 * y) + ", " + std::to_string(-2 * z) + "]}";
    names += comma + "\"" + name + "\"";
  }
  return R"({"format": 1, "bodies": [)" + bodies + R"(], "contacts": [{"name": "pairs", "between": [)" + names +
         R"(], "restitution": )" + std::to_string(restitution) +
         R"(}], "integrator": {"type": "nsga_decoupled", "step": 2e-3, "duration": 0.4, "rho_infinity": 0.8}})";
}

}  // namespace

TEST_CASE("spheres: a cluster thrown together keeps its momenta, never penetrates and needs no smaller step") {
  // up to 18 balls (153 pairs) the matrix contains all geometric terms, beyond only the terms within a node
  for (const int count : {18, 30}) {
    CAPTURE(count);
    ModelRun run = ModelRun::of_text(cluster(count, 0.3));
    const Momenta before = run.system().momenta(run.state().q, run.state().v);
    const double energy = run.energy();
    REQUIRE(run.run() == RunStatus::completed);
    const Momenta after = run.system().momenta(run.state().q, run.state().v);
    CHECK(run.statistics.subdivided_steps == 0);
    CHECK(run.statistics.impacts > 20);
    CHECK(run.statistics.smallest_gap > -1e-11);
    CHECK(run.statistics.position_residual < 1e-10);
    CHECK(run.statistics.velocity_residual < 1e-10);
    // impulses act along the lines through both centres
    CHECK((after.linear - before.linear).norm() < 1e-11);
    // the position correction moves centres by O(h) at every impact, which changes angular momentum by the same order
    CHECK((after.angular - before.angular).norm() < run.h() * energy);
    CHECK(run.energy() < energy);
  }
}

namespace {

std::string stack(int count) {
  std::string bodies, pairs;
  for (int i = 0; i < count; ++i) {
    const std::string comma = i == 0 ? "" : ", ", name = "b" + std::to_string(i);
    bodies += comma + R"({"name": ")" + name +
              R"(", "type": "point_mass", "mass": 1, "radius": 0.125, "position": [0, 0, )" +
              std::to_string(0.125 + 0.25 * i) + "]}";
    if (i > 0)
      pairs += R"(, {"name": "p)" + std::to_string(i) + R"(", "between": ["b)" + std::to_string(i - 1) + R"(", ")" +
               name + "\"]}";
  }
  return R"({"format": 1, "gravity": [0, 0, -10], "bodies": [)" + bodies +
         R"(], "contacts": [{"name": "floor", "on": "b0", "obstacle": {"type": "plane", "normal": [0, 0, 1]}})" +
         pairs +
         R"(], "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.05, "max_subdivisions": 0}})";
}

}  // namespace

TEST_CASE("spheres: a resting stack of sixty carries its weight and takes one iteration per step") {
  // the iteration finds stacked contacts at once; adding one contact at a time would exceed the allowed iterations
  const int count = 60;
  ModelRun run = ModelRun::of_text(stack(count));
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.iterations[1].max == 1);
  CHECK(run.statistics.iterations[2].max == 1);
  CHECK(run.statistics.smallest_gap > -1e-12);
  for (const RowGroup& contact : run.model->contacts) {
    const std::size_t row = static_cast<std::size_t>(contact.rows.front());
    const int below = contact.name == "floor" ? 0 : std::stoi(contact.name.substr(1));
    CHECK(run.state().impulse[row] / 1e-3 == doctest::Approx(10.0 * (count - below)).epsilon(1e-9));
  }
}

TEST_CASE("spheres: a pushed row holds its wall with the push, however many contacts must be found") {
  // 10 N on the last of a row of touching balls; the first ball touches a wall
  for (const int count : {5, 22, 43}) {
    CAPTURE(count);
    std::string text = stack(count);
    text.replace(text.find("[0, 0, -10]"), 11, "[0, 0, 0]");
    text.insert(text.find(R"("integrator")"), R"("loads": [{"name": "push", "type": "force", "on": "b)" +
                                                  std::to_string(count - 1) + R"(", "value": [0, 0, -10]}], )");
    ModelRun run = ModelRun::of_text(text);
    REQUIRE(run.run([&](const StepView& view) {
      for (const RowGroup& contact : run.model->contacts) {
        const std::size_t row = static_cast<std::size_t>(contact.rows.front());
        CHECK(view.state.impulse[row] / 1e-3 == doctest::Approx(10.0).epsilon(1e-9));
      }
    }) == RunStatus::completed);
    CHECK(run.statistics.smallest_gap > -1e-12);
  }
}

TEST_CASE("spheres: contacts of bodies of very different mass are not redundant") {
  for (const double ratio : {1e6, 1e12}) {
    CAPTURE(ratio);
    ModelRun run = ModelRun::of_text(R"({
      "format": 1, "gravity": [0, 0, -10], "parameters": {"ratio": 1},
      "bodies": [{"name": "light", "type": "point_mass", "mass": 1, "position": [0, 0, 0]},
                 {"name": "heavy", "type": "point_mass", "mass": "=ratio", "position": [1, 0, 0]}],
      "contacts": [{"name": "floor", "on": ["light", "heavy"], "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.1}
    })",
                                     {"/parameters/ratio=" + std::to_string(ratio)});
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.statistics.redundant_steps == 0);
    const std::vector<int>& rows = run.model->contacts.front().rows;
    CHECK(run.state().impulse[static_cast<std::size_t>(rows[0])] / 1e-3 == doctest::Approx(10.0).epsilon(1e-9));
    CHECK(run.state().impulse[static_cast<std::size_t>(rows[1])] / 1e-3 == doctest::Approx(10.0 * ratio).epsilon(1e-9));
  }
}

TEST_CASE("contacts: a point that a step would take to the centre of a sphere bounces back where it came from") {
  // 10 m/s for 0.1 s from x = 1 to the centre of the sphere, where any direction is as good as another
  for (const char* obstacle : {R"({"type": "sphere", "center": [0, 0, 0], "radius": 0.5})",
                               R"({"type": "cylinder", "center": [0, 0, 0], "axis": [0, 0, 1], "radius": 0.5})"}) {
    CAPTURE(obstacle);
    ModelRun run = ModelRun::of_text(std::string(R"({"format": 1,
      "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [1, 0, 0], "velocity": [-10, 0, 0]}],
      "contacts": [{"name": "c", "on": "a", "restitution": 1, "obstacle": )") +
                                     obstacle + R"(}],
      "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 0.4}})");
    CHECK(run.run() == RunStatus::completed);
    CHECK(run.statistics.rejected > 0);
    CHECK(run.state().q[0] > 0.5);
    CHECK(run.state().v[0] == doctest::Approx(10));
    for (const int c : {1, 2}) {
      CHECK(std::abs(run.state().q[at(c)]) < 1e-9);
      CHECK(std::abs(run.state().v[at(c)]) < 1e-9);
    }
  }
}

TEST_CASE("contacts: balls that a step would take to one place part along the line on which they met") {
  ModelRun run = ModelRun::of_text(R"({"format": 1,
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [1, 0, 0], "velocity": [-10, 0, 0]},
               {"name": "b", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0]}],
    "contacts": [{"name": "c", "between": ["a", "b"], "restitution": 1}],
    "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 0.4}})");
  CHECK(run.run() == RunStatus::completed);
  CHECK(run.statistics.rejected > 0);
  CHECK(run.state().v[0] == doctest::Approx(0).scale(1).epsilon(1e-9));
  CHECK(run.state().v[3] == doctest::Approx(-10));
}
