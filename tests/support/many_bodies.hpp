// Texts of models with many bodies, for tests and benchmarks.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace carom::test {

/// Spheres of radius 0.05 m in layers of a box, a little out of line, fall on the floor while the wall at x = 0 moves
/// to and fro. pairs_apart: a contact for every pair, instead of one between all.
inline nlohmann::json spheres_in_box(int count, double step, double duration, bool pairs_apart = false) {
  using nlohmann::json;
  const double r = 0.05, spacing = 2.2 * r;
  const int side = std::max(2, static_cast<int>(std::lround(std::cbrt(count))));
  const double width = spacing * side;
  json bodies = json::array(), names = json::array();
  for (int k = 0; k < count; ++k) {
    const int layer = k / (side * side), i = k % side, j = k / side % side;
    const double shift = 0.004 * std::sin(7.0 * k + layer), other = 0.004 * std::cos(11.0 * k);
    names.push_back("s" + std::to_string(k));
    bodies.push_back(
        {{"name", names.back()},
         {"type", "rigid"},
         {"mass", 1},
         {"shape", {{"type", "sphere"}, {"radius", r}}},
         {"position", {(i + 0.5) * spacing + shift, (j + 0.5) * spacing + other, (layer + 0.5) * spacing}}});
  }
  json contacts = json::array();
  const auto wall = [&](const char* name, const json& normal, const json& point) -> json& {
    contacts.push_back({{"name", name},
                        {"on", names},
                        {"restitution", 0},
                        {"obstacle", {{"type", "plane"}, {"normal", normal}, {"point", point}}}});
    return contacts.back();
  };
  wall("floor", {0, 0, 1}, {0, 0, 0});
  wall("moving_wall", {1, 0, 0}, {0, 0, 0})["obstacle"]["motion"] = {{"translation", {"0.02*(1 - cos(20*t))", 0, 0}}};
  wall("right", {-1, 0, 0}, {width, 0, 0});
  wall("front", {0, 1, 0}, {0, 0, 0});
  wall("back", {0, -1, 0}, {0, width, 0});
  if (pairs_apart) {
    for (int a = 0; a < count; ++a)
      for (int b = a + 1; b < count; ++b)
        contacts.push_back({{"name", names[a].get<std::string>() + "-" + names[b].get<std::string>()},
                            {"between", {names[a], names[b]}},
                            {"restitution", 0}});
  } else {
    contacts.push_back({{"name", "spheres"}, {"between", names}, {"restitution", 0}});
  }
  return {{"format", 1},
          {"gravity", {0, 0, -9.81}},
          {"bodies", bodies},
          {"contacts", contacts},
          {"integrator", {{"type", "nsga_decoupled"}, {"step", step}, {"duration", duration}}},
          {"output", {{"vtu", {{"enabled", false}}}}}};
}

/// Cubes of 0.1 m lie flat beside each other, 0.5 mm above the floor.
inline nlohmann::json boxes_on_floor(int count, double step, double duration) {
  using nlohmann::json;
  json bodies = json::array(), on = json::array();
  for (int k = 0; k < count; ++k) {
    const std::string name = "b" + std::to_string(k);
    on.push_back(name);
    bodies.push_back({{"name", name},
                      {"type", "rigid"},
                      {"mass", 1},
                      {"shape", {{"type", "box"}, {"size", {0.1, 0.1, 0.1}}}},
                      {"position", {0.2 * k, 0, 0.0505}}});
  }
  return {
      {"format", 1},
      {"gravity", {0, 0, -9.81}},
      {"bodies", bodies},
      {"contacts",
       {{{"name", "floor"}, {"on", on}, {"restitution", 0}, {"obstacle", {{"type", "plane"}, {"normal", {0, 0, 1}}}}}}},
      {"integrator", {{"type", "nsga_decoupled"}, {"step", step}, {"duration", duration}}},
      {"output", {{"vtu", {{"enabled", false}}}}}};
}

}  // namespace carom::test
