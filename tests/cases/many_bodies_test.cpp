// Many rigid bodies in contact: islands, near pairs, weight and distances.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/cases/case_runner.hpp"
#include "tests/support/many_bodies.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// The deepest overlap of any two of the spheres s0, s1, ... of radius 0.05.
double deepest_overlap(Case& c, int count) {
  double deepest = 0;
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b) {
      const Vec3 span = c.position("s" + std::to_string(b)) - c.position("s" + std::to_string(a));
      deepest = std::max(deepest, 0.1 - span.norm());
    }
  return deepest;
}

// Spheres with friction in a can that stands still.
nlohmann::json rough_spheres(int count, double step, double duration) {
  nlohmann::json model = test::spheres_in_box(count, step, duration);
  for (nlohmann::json& contact : model["contacts"]) {
    contact["friction"] = 0.5;
    if (contact.contains("obstacle")) contact["obstacle"].erase("motion");
  }
  return model;
}

// How far the least and the outermost impulses of contacts with friction 0.5 are outside the cone.
struct ConeCheck {
  double least = 0, outside = 0;
  void see(const Case& c) {
    const System& system = c.system();
    for (int row = system.bilateral(); row < system.rows(); ++row) {
      if (system.row_kind(row) != RowKind::unilateral) continue;
      least = std::min(least, c.impulse(row));
      outside = std::max(outside, std::hypot(c.impulse(row + 1), c.impulse(row + 2)) - 0.5 * c.impulse(row));
    }
  }
};

}  // namespace

TEST_CASE("many bodies: spheres with rows for near pairs move as spheres with a row for every pair") {
  const int count = 48;
  Case near = Case::from_text(test::spheres_in_box(count, 1e-3, 0.12).dump());
  Case all = Case::from_text(test::spheres_in_box(count, 1e-3, 0.12, true).dump());
  REQUIRE(near.rows("spheres").size() == 480);  // ten per sphere, of 1128 pairs
  long impacts = 0;
  REQUIRE(near.run([&](const StepView& view) { impacts += view.report.impacts; }) == RunStatus::completed);
  REQUIRE(all.run() == RunStatus::completed);
  CHECK(impacts > 50);
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const std::string name = "s" + std::to_string(k);
    // rounding grows from impact to impact
    CHECK((near.position(name) - all.position(name)).norm() < 1e-9);
  }
}

// Contacts at rest that lift each other again and again within a step would have thousands of impacts in it.
TEST_CASE("many bodies: located impacts of a heap come to an end in each step") {
  const int count = 27;
  nlohmann::json model = rough_spheres(count, 2e-3, 0.24);
  model["integrator"]["impact"] = "located";
  Case c = Case::from_text(model.dump());
  const double before = c.energy();
  long most = 0;
  REQUIRE(c.run([&](const StepView& view) {
    most = std::max(most, static_cast<long>(std::ranges::count_if(view.integrator.stages(),
                                                                  [](const Stage& stage) { return stage.located; })));
  }) == RunStatus::completed);
  CHECK(most > 20);
  CHECK(most < 1000);
  CHECK(c.energy() < before);
  CHECK(deepest_overlap(c, count) < 1e-11);
}

// Spheres may roll on, but little.
TEST_CASE("many bodies: spheres with friction fall into a can, and each step only dissipates") {
  const int count = 12;
  Case c = Case::from_text(rough_spheres(count, 2e-3, 1.2).dump());
  const System& system = c.system();
  const double first = c.energy();
  double before = first, growth = 0, deepest = 0;
  ConeCheck cone;
  REQUIRE(c.run([&](const StepView&) {
    growth = std::max(growth, c.energy() - before);
    before = c.energy();
    cone.see(c);
    deepest = std::max(deepest, deepest_overlap(c, count));
  }) == RunStatus::completed);
  CHECK(cone.least >= 0);
  CHECK(cone.outside < 1e-12);
  CHECK(deepest < 1e-11);
  // reactions act in the directions of the end of a step: O(h^2)
  CHECK(growth < 1e-5 * first);
  CHECK(c.statistics().friction_fallbacks == 0);
  double speed = 0;
  for (int k = 0; k < count; ++k) speed = std::max(speed, c.velocity("s" + std::to_string(k)).norm());
  CHECK(speed < 0.1);
  // floor and walls carry the spheres; forces between spheres cancel
  double weight = 0;
  SparseRow row;
  for (int i = system.bilateral(); i < system.rows(); ++i) {
    system.row_gradient(i, c.state().q, c.t(), nullptr, row);
    for (std::size_t k = 0; k < row.value.size(); ++k)
      if (row.equation[k] % 6 == 2) weight += c.force(i) * row.value[k];
  }
  CHECK(weight == doctest::Approx(count * 9.81).epsilon(0.02));
}

// Solutions of the law within a coarse tolerance must not follow each other without end.
TEST_CASE("many bodies: spheres with friction come to rest in few iterations with a coarse tolerance, too") {
  const int count = 27;
  for (const double tolerance : {1e-4, 1e-6}) {
    CAPTURE(tolerance);
    nlohmann::json model = rough_spheres(count, 2e-3, 0.8);
    model["integrator"]["newton"] = {{"constraint_tolerance", tolerance}};
    Case c = Case::from_text(model.dump());
    const double first = c.energy();
    double most_energy = 0, deepest = 0;
    ConeCheck cone;
    REQUIRE(c.run([&](const StepView&) {
      most_energy = std::max(most_energy, c.energy());
      cone.see(c);
      deepest = std::max(deepest, deepest_overlap(c, count));
    }) == RunStatus::completed);
    CHECK(cone.least >= 0);
    CHECK(cone.outside < 1e-12);
    CHECK(deepest < tolerance);  // times the length scale, below 1
    CHECK(most_energy < first * (1 + 1e-9));
    CHECK(c.energy() < 0.95 * first);
    CHECK(c.statistics().subdivided_steps <= 1);
    for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 20);
  }
}

// Where few digits are wanted, the splitting method solves the velocities of a pile, and once more gives nothing
// better.
TEST_CASE("many bodies: the velocities of a rough pile are solved once a step with a coarse tolerance") {
  nlohmann::json model = rough_spheres(64, 2e-3, 0.9);
  model["integrator"]["newton"] = {{"constraint_tolerance", 1e-4}};
  Case c = Case::from_text(model.dump());
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.statistics().mean_iterations(2) < 1.2);
}

// At t = 0.774 contacts that depend on each other enter and leave the active set in turn; in a pile of 1 000 spheres a
// step took 5 000 iterations so.
TEST_CASE("many bodies: the law of a smooth pile whose active set is not found in a few iterations is solved whole") {
  const int count = 125;
  nlohmann::json model = test::spheres_in_box(count, 1e-3, 0.78);
  for (nlohmann::json& contact : model["contacts"])
    if (contact.contains("obstacle")) contact["obstacle"].erase("motion");
  model["integrator"]["newton"] = {{"constraint_tolerance", 1e-6}};
  Case c = Case::from_text(model.dump());
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(deepest_overlap(c, count) < 1e-6);
  CHECK(c.statistics().subdivided_steps == 0);
  for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 20);
}

TEST_CASE("many bodies: a sphere that an impact pushes far within a step passes no sphere that was not near") {
  // a chain with gaps of a diameter; the first sphere would travel six diameters in a step
  const int count = 24;
  const double v = 300, h = 2e-3;
  nlohmann::json model = {{"format", 1}, {"integrator", {{"type", "nsga_decoupled"}, {"step", h}, {"duration", 0.04}}}};
  nlohmann::json& contact = model["contacts"][0] = {{"name", "chain"}, {"restitution", 1}};
  for (int i = 0; i < count; ++i) {
    const std::string name = "s" + std::to_string(i);
    model["bodies"].push_back({{"name", name},
                               {"type", "point_mass"},
                               {"mass", 1},
                               {"radius", 0.05},
                               {"position", {0.2 * i, 0, 0}},
                               {"velocity", {i == 0 ? v : 0, 0, 0}}});
    contact["between"].push_back(name);
  }
  Case c = Case::from_text(model.dump());
  REQUIRE(c.rows("chain").size() == 240);
  REQUIRE(c.run([&](const StepView&) {
    for (int i = 1; i < count; ++i)
      CHECK(c.position("s" + std::to_string(i)).x() - c.position("s" + std::to_string(i - 1)).x() > 0.1 - 1e-10);
  }) == RunStatus::completed);
  CHECK(c.statistics().subdivided_steps > 0);
  // the velocity goes through the chain
  for (int i = 0; i < count; ++i)
    CHECK(c.velocity("s" + std::to_string(i)).x() == doctest::Approx(i + 1 < count ? 0 : v));
}

namespace {

// Two balls on a line, the first of which is pulled towards x = 1 where the second stands, and others that are far away
// and fixed: with more than twenty balls rows are bound to near pairs.
nlohmann::json pulled_ball(int count) {
  nlohmann::json model = {{"format", 1}};
  nlohmann::json& contact = model["contacts"][0] = {{"name", "balls"}};
  for (int i = 0; i < count; ++i) {
    const std::string name = "s" + std::to_string(i);
    nlohmann::json ball = {{"name", name},
                           {"type", "point_mass"},
                           {"mass", 1},
                           {"radius", 0.1},
                           {"position",
                            {i == 0   ? 0
                             : i == 1 ? 1
                                      : 10 + i,
                             0, 0}}};
    ball["fixed"] = i == 0 ? nlohmann::json{"y", "z"} : nlohmann::json{"x", "y", "z"};
    model["bodies"].push_back(ball);
    contact["between"].push_back(name);
  }
  return model;
}

}  // namespace

TEST_CASE("many bodies: in statics balls that come near within an increment touch too") {
  for (const double increment : {0.1, 0.5, 1.0}) {
    nlohmann::json model = pulled_ball(22);
    model["ground"] = {{{"name", "g"}, {"at", {-1, 0, 0}}}};
    model["springs"] = {{{"name", "s"}, {"of", {"ground.g", "s0"}}, {"stiffness", 100}}};
    model["loads"] = {{{"name", "pull"}, {"type", "force"}, {"on", "s0"}, {"value", {100, 0, 0}}}};
    model["integrator"] = {{"type", "static"}, {"step", increment}, {"duration", 1}};
    CAPTURE(increment);
    Case c = Case::from_text(model.dump());
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.position("s0").x() == doctest::Approx(0.8));
    double force = 0;
    for (const int row : c.rows("balls")) force += c.force(row);
    CHECK(force == doctest::Approx(20));
  }
}

TEST_CASE("many bodies: a ball that a load brings near within a step hits the other one") {
  nlohmann::json model = pulled_ball(22);
  model["bodies"][1]["position"][0] = 0.3;
  model["bodies"][1]["fixed"] = {"y", "z"};
  model["contacts"][0]["restitution"] = 1;
  model["loads"] = {{{"name", "push"}, {"type", "force"}, {"on", "s0"}, {"value", {40, 0, 0}}}};
  model["integrator"] = {{"type", "nsga_decoupled"}, {"step", 0.1}, {"duration", 0.5}};
  Case c = Case::from_text(model.dump());
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.position("s1").x() - c.position("s0").x() > 0.2 - 1e-10);
  CHECK(c.velocity("s1").x() > 1);
}

TEST_CASE("many bodies: a pile stands while many other balls fly together") {
  const double r = 5e-4;
  nlohmann::json model = {{"format", 1}, {"gravity", {0, 0, -9.81}}};
  nlohmann::json names;
  const auto ball = [&](const Vec3& x, double speed) {
    const std::string name = "s" + std::to_string(names.size());
    names.push_back(name);
    model["bodies"].push_back({{"name", name},
                               {"type", "point_mass"},
                               {"mass", 1e-3},
                               {"radius", r},
                               {"position", {x.x(), x.y(), x.z()}},
                               {"velocity", {speed, 0, 0}}});
  };
  for (int pile = 0; pile < 10; ++pile)
    for (int k = 0; k < 3; ++k) ball({0, 0.01 * pile, r * (1 + 2 * k)}, 0);
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 5; ++x) ball({0.1 + 2.1 * r * x, 2.1 * r * y, 0.1 + 2.1 * r * z}, 100);
  model["contacts"] = {{{"name", "balls"}, {"between", names}},
                       {{"name", "floor"}, {"on", names}, {"obstacle", {{"type", "plane"}, {"normal", {0, 0, 1}}}}}};
  model["integrator"] = {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 0.02}};
  Case c = Case::from_text(model.dump());
  REQUIRE(c.run() == RunStatus::completed);
  for (int i = 0; i < 30; ++i)
    CHECK(c.position("s" + std::to_string(i)).z() == doctest::Approx(r * (1 + 2 * (i % 3))).epsilon(1e-9));
}

TEST_CASE("many bodies: spheres in a box with a moving wall never overlap") {
  const int count = 64;
  Case c = Case::from_text(test::spheres_in_box(count, 1e-3, 0.4).dump());
  double deepest = 0;
  REQUIRE(c.run([&](const StepView&) { deepest = std::max(deepest, deepest_overlap(c, count)); }) ==
          RunStatus::completed);
  CHECK(deepest < 1e-10);
  CHECK(c.statistics().smallest_gap > -1e-10);
}

TEST_CASE("many bodies: a pile moves the same whether sweeps and kept matrices find its contacts or full Newton") {
  const int count = 125;
  nlohmann::json model = test::spheres_in_box(count, 1e-3, 0.35);
  Case automatic = Case::from_text(model.dump());
  int most = 0;
  REQUIRE(automatic.run([&](const StepView& view) {
    most = std::max(most, static_cast<int>(std::count(view.state.active.begin(), view.state.active.end(), 1)));
  }) == RunStatus::completed);
  CHECK(most > 64);
  model["integrator"]["newton"] = {{"method", "full"}};
  Case full = Case::from_text(model.dump());
  REQUIRE(full.run() == RunStatus::completed);
  CHECK(deepest_overlap(automatic, count) < 1e-10);
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const std::string name = "s" + std::to_string(k);
    // rounding grows from impact to impact
    CHECK((automatic.position(name) - full.position(name)).norm() < 1e-6);
  }
}

TEST_CASE("many bodies: the floor carries the weight of boxes that lie flat, whatever their number") {
  for (const int count : {1, 60}) {
    Case c = Case::from_text(test::boxes_on_floor(count, 1e-3, 0.02).dump());
    REQUIRE(c.run() == RunStatus::completed);
    double force = 0;
    for (const int row : c.rows("floor")) {
      force += c.force(row);
      // the four lower corners alike, which is the least norm; nothing at the upper ones
      CHECK(c.force(row) == doctest::Approx(c.gap(row) < 0.05 ? 9.81 / 4 : 0.0).epsilon(1e-6));
    }
    CHECK(force == doctest::Approx(9.81 * count).epsilon(1e-9));
  }
}

// Contacts between more than 20 spheres search their partners, who cannot be counted one by one.
TEST_CASE("many bodies: contacts that search their partners are left to the published law") {
  for (const int count : {3, 25}) {
    std::string bodies, names;
    for (int i = 0; i < count; ++i) {
      bodies += fmt::format(R"({}{{"name": "s{}", "type": "rigid", "mass": 1, "position": [{}, 0, 0],
                                "shape": {{"type": "sphere", "radius": 0.1}}}})",
                            i > 0 ? ", " : "", i, 0.3 * i);
      names += fmt::format(R"({}"s{}")", i > 0 ? ", " : "", i);
    }
    Case c = Case::from_text(fmt::format(
        R"({{"format": 1, "bodies": [{}], "contacts": [{{"name": "c", "between": [{}], "restitution": 1}}],
            "integrator": {{"type": "nsga_decoupled", "step": 1e-2, "duration": 1}}}})",
        bodies, names));
    CHECK((c.integrator().info().name.find("located") != std::string::npos) == (count == 3));
  }
}
