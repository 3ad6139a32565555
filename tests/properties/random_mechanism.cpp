#include "tests/properties/random_mechanism.hpp"

#include <array>
#include <string>
#include <vector>

#include "tests/contract/differences.hpp"

namespace carom::properties {

using nlohmann::json;

namespace {

json array_of(const Vec3& x) { return json::array({x[0], x[1], x[2]}); }

struct Box {
  std::string name;
  Vec3 x = Vec3::Zero();
  Mat3 R = Mat3::Identity();
  json points = json::array();

  std::string point_at(const std::string& point, const Vec3& place) {
    points.push_back({{"name", point}, {"at", array_of(R.transpose() * (place - x))}});
    return name + "." + point;
  }
};

}  // namespace

json random_mechanism(unsigned seed) {
  test::Random random(seed);
  const auto one_of = [&](int n) { return static_cast<int>(random.between(0, n)); };
  const Vec3 down = random.direction();
  json model = {{"format", 1},
                {"gravity", array_of(9.81 * down)},
                {"bodies", json::array()},
                {"ground", json::array({{{"name", "hook"}, {"at", {0, 0, 0}}}})},
                {"joints", json::array()},
                {"springs", json::array()},
                {"loads", json::array()},
                {"contacts", json::array()}};

  // boxes, each joined to the one before or to an earlier one
  const int count = 2 + one_of(4);
  std::vector<Box> boxes(static_cast<std::size_t>(count));
  json bodies = json::array();
  for (int i = 0; i < count; ++i) {
    Box& box = boxes[static_cast<std::size_t>(i)];
    Box* parent = i == 0 ? nullptr : &boxes[static_cast<std::size_t>(one_of(i))];
    box.name = "box_" + std::to_string(i);
    const Vec3 from = parent == nullptr ? Vec3(Vec3::Zero()) : parent->x;
    box.x = from + 0.6 * random.direction();
    const Vec3 turn = 1.5 * random.direction();
    box.R = so3::exp(turn);
    const Vec3 size(random.between(0.1, 0.3), random.between(0.1, 0.3), random.between(0.2, 0.4));
    bodies.push_back({{"name", box.name},
                      {"type", "rigid"},
                      {"mass", random.between(0.5, 2)},
                      {"shape", {{"type", "box"}, {"size", array_of(size)}}},
                      {"position", array_of(box.x)},
                      {"orientation", {{"rotation_vector", array_of(turn)}}}});

    const Vec3 place = parent == nullptr ? Vec3(Vec3::Zero()) : Vec3(0.5 * (from + box.x) + random.in_box(0.1));
    const std::string mine = box.point_at("root", place),
                      theirs = parent == nullptr ? "ground.hook" : parent->point_at("to_" + box.name, place);
    const Vec3 axis = random.direction();
    constexpr std::array types = {"spherical", "revolute", "universal", "cylindrical", "prismatic", "revolute"};
    const std::string type = types[static_cast<std::size_t>(one_of(6))];
    json joint = {{"name", "joint_" + std::to_string(i)}, {"type", type}, {"of", {theirs, mine}}};
    if (type != "spherical") joint["axis"] = array_of(axis);
    if (type == "universal") joint["second_axis"] = array_of(axis.cross(random.direction()).normalized());
    if (type == "revolute")
      joint["stops"] = {
          {"lower", -random.between(0.1, 0.5)}, {"upper", random.between(0.1, 0.5)}, {"restitution", 0.4}};
    if (type == "cylindrical" || type == "prismatic") {
      joint["spring"] = {{"stiffness", random.between(50, 200)}, {"damping", random.between(0, 5)}};
      joint["stops"] = {{"lower", -0.1}, {"upper", 0.1}};
    }
    model["joints"].push_back(joint);
  }
  // a second tie that is a spring, and a point mass on a spring
  Box &first = boxes.front(), &last = boxes.back();
  model["springs"].push_back({{"name", "tie"},
                              {"of", {"ground.hook", last.point_at("tie", last.x + random.in_box(0.1))}},
                              {"stiffness", random.between(20, 100)},
                              {"damping", random.between(0, 3)}});
  const Vec3 bob = first.x + 0.4 * random.direction();
  bodies.push_back({{"name", "bob"}, {"type", "point_mass"}, {"mass", 0.3}, {"position", array_of(bob)}});
  model["springs"].push_back({{"name", "bungee"}, {"of", {first.name, "bob"}}, {"stiffness", random.between(30, 60)}});
  model["loads"].push_back({{"name", "push"},
                            {"type", "force"},
                            {"on", last.name},
                            {"value", {"3*sin(5*t)", random.between(-2, 2), "2*t"}}});

  // the floor is a little below everything
  double lowest = down.dot(bob);
  for (const Box& box : boxes) lowest = std::max(lowest, down.dot(box.x));
  const json floor = {{"type", "plane"}, {"point", array_of((lowest + 0.26) * down)}, {"normal", array_of(-down)}};
  model["contacts"].push_back(
      {{"name", "floor_last"}, {"on", {last.name + ".vertices"}}, {"restitution", 0.3}, {"obstacle", floor}});
  model["contacts"].push_back({{"name", "floor_bob"}, {"on", {"bob"}}, {"restitution", 0.6}, {"obstacle", floor}});

  for (int i = 0; i < count; ++i)
    bodies[static_cast<std::size_t>(i)]["points"] = boxes[static_cast<std::size_t>(i)].points;
  model["bodies"] = bodies;
  model["integrator"] = {{"type", "nsga_decoupled"}, {"step", 2e-3}, {"duration", 0.6}};
  return model;
}

}  // namespace carom::properties
