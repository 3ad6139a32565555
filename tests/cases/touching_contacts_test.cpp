// Contacts with friction that touch without load at the start of a step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "integrators/common/touching_contacts.hpp"
#include "tests/cases/case_runner.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// The flags of the normal rows of a contact.
std::vector<int> touching(Case& c, const std::string& contact) {
  const State& state = c.state();
  const StepStart start{state.q.data(), state.v.data(), state.t};
  TouchingContacts found;
  found.find(c.system(), state, start, 1e-9);
  std::vector<int> flags;
  for (const int row : c.rows(contact))
    if (c.system().row_kind(row) == RowKind::unilateral)
      flags.push_back(found.touching[static_cast<std::size_t>(row - c.system().bilateral())]);
  return flags;
}

// Spheres of radius 0.1 in layers of n x n, (n-1) x (n-1), ... on an incline of 20 degrees, all contacts closed.
nlohmann::json pyramid(int n, int layers) {
  const double r = 0.1, width = 2 * r * n, angle = M_PI / 9;
  nlohmann::json bodies = nlohmann::json::array(), names = nlohmann::json::array(), contacts = nlohmann::json::array();
  for (int layer = 0; layer < layers; ++layer)
    for (int i = 0; i < n - layer; ++i)
      for (int j = 0; j < n - layer; ++j) {
        names.push_back("s" + std::to_string(names.size()));
        bodies.push_back(
            {{"name", names.back()},
             {"type", "rigid"},
             {"mass", 1},
             {"shape", {{"type", "sphere"}, {"radius", r}}},
             {"position", {r + layer * r + 2 * r * i, r + layer * r + 2 * r * j, r + layer * r * std::sqrt(2.0)}}});
      }
  const auto wall = [&](const char* name, const nlohmann::json& normal, const nlohmann::json& point) {
    contacts.push_back({{"name", name},
                        {"on", names},
                        {"friction", 0.5},
                        {"obstacle", {{"type", "plane"}, {"normal", normal}, {"point", point}}}});
  };
  wall("floor", {0, 0, 1}, {0, 0, 0});
  wall("left", {1, 0, 0}, {0, 0, 0});
  wall("right", {-1, 0, 0}, {width, 0, 0});
  wall("front", {0, 1, 0}, {0, 0, 0});
  wall("back", {0, -1, 0}, {0, width, 0});
  contacts.push_back({{"name", "spheres"}, {"between", names}, {"friction", 0.5}});
  return {{"format", 1},
          {"gravity", {9.81 * std::sin(angle), 0, -9.81 * std::cos(angle)}},
          {"bodies", bodies},
          {"contacts", contacts},
          {"integrator", {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 0.1}}},
          {"output", {{"vtu", {{"enabled", false}}}}}};
}

}  // namespace

TEST_CASE("touching contacts: points of a body may share its load, in any order, one below its centre, too") {
  using Names = std::vector<std::string>;
  for (const Names& on : {Names{"b.a", "b.m", "b.e", "b.up", "s"}, Names{"b.a", "b.e", "s", "b.m", "b.up"},
                          Names{"b.m", "s", "b.up", "b.e", "b.a"}}) {
    CAPTURE(on);
    nlohmann::json model = nlohmann::json::parse(R"x({"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.2, 0.1]},
                    "position": [0, 0, 0.05],
                    "points": [{"name": "a", "at": [-0.1, 0, -0.05]}, {"name": "m", "at": [0, 0, -0.05]},
                               {"name": "e", "at": [0.1, 0, -0.05]}, {"name": "up", "at": [0.1, 0, -0.0499]}]},
                   {"name": "s", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
                    "position": [1, 0, 0.1]}],
        "contacts": [{"name": "floor", "friction": 0.5, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.1}})x");
    model["contacts"][0]["on"] = on;
    Case c = Case::from_text(model.dump());
    std::ranges::fill(c.state().active, std::uint8_t{0});
    std::vector<int> expected;
    for (const std::string& name : on) expected.push_back(name == "b.up" || name == "s" ? 0 : 1);
    CHECK(touching(c, "floor") == expected);
  }
}

TEST_CASE("touching contacts: spheres whose forces pass through their centres share no load") {
  Case c = Case::from_text(pyramid(2, 2).dump());
  std::ranges::fill(c.state().active, std::uint8_t{0});
  for (const char* contact : {"floor", "left", "spheres"})
    for (const int flag : touching(c, contact)) CHECK(flag == 0);
  // those that carried are at hand
  const int row = c.rows("floor")[0];
  c.state().active[static_cast<std::size_t>(row - c.system().bilateral())] = 1;
  CHECK(touching(c, "floor")[0] == 1);
}

TEST_CASE("touching contacts: a pyramid of spheres on an incline stays, in few iterations") {
  for (const int n : {2, 3}) {
    CAPTURE(n);
    Case c = Case::from_text(pyramid(n, 2).dump());
    const int count = n * n + (n - 1) * (n - 1);
    std::vector<Vec3> start;
    for (int k = 0; k < count; ++k) start.push_back(c.position("s" + std::to_string(k)));
    REQUIRE(c.run() == RunStatus::completed);
    double drift = 0;
    for (int k = 0; k < count; ++k)
      drift = std::max(drift, (c.position("s" + std::to_string(k)) - start[static_cast<std::size_t>(k)]).norm());
    CHECK(drift < 1e-11);
    CHECK(c.statistics().subdivided_steps == 0);
    for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 4);
  }
}
