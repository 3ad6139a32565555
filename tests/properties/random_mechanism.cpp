#include "tests/properties/random_mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/contract/differences.hpp"

namespace carom::properties {

using nlohmann::json;

namespace {

json array_of(const Vec3& x) { return json::array({x[0], x[1], x[2]}); }

// Rotation vector that turns the x axis to a direction.
Vec3 turn_of_x_to(const Vec3& direction) {
  const Vec3 axis = Vec3::UnitX().cross(direction);
  const double sine = axis.norm();
  return sine < 1e-9 ? Vec3(Vec3::Zero()) : Vec3(axis / sine * std::atan2(sine, direction[0]));
}

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

json random_rubbing_mechanism(unsigned seed) {
  json model = random_mechanism(seed);
  test::Random random(seed + 1000);
  for (json& joint : model["joints"]) {
    const std::string type = joint["type"];
    if (type == "universal") continue;
    json& friction = joint["friction"] = {{"coefficient", random.between(0.02, 0.2)}};
    const bool moment = type == "spherical" || type == "revolute";
    if (type != "prismatic") friction["radius"] = random.between(0.01, 0.05);
    if (type == "revolute") friction["thrust_radius"] = random.between(0.01, 0.05);
    if (type != "spherical") friction["length"] = random.between(0.3, 0.8);
    if (random.between(0, 1) < 0.5) friction[moment ? "torque" : "force"] = random.between(0, moment ? 0.2 : 2);
  }
  return model;
}

json random_flexible_mechanism(unsigned seed) {
  test::Random random(seed);
  const auto one_of = [&](int n) { return static_cast<int>(random.between(0, n)); };
  const auto chance = [&](double share) { return random.between(0, 1) < share; };
  const auto of_any_size = [&](double least, double most) {
    return least * std::pow(most / least, random.between(0, 1));
  };
  const double size = of_any_size(0.02, 2);
  json model = {
      {"format", 1},
      {"materials",
       {{{"name", "material"},
         {"type", "linear_elastic"},
         {"young", of_any_size(1e6, 2e11)},
         {"poisson", random.between(0, 0.4)},
         {"density", of_any_size(300, 9000)}}}},
      {"sections",
       {{{"name", "section"},
         {"type", "rectangle"},
         {"width", size * of_any_size(0.01, 0.15)},
         {"height", size * of_any_size(0.01, 0.15)}}}},
      {"ground", {{{"name", "hook"}, {"at", {0, 0, 0}}}}},
  };
  const bool falls = chance(0.7);
  if (falls) model["gravity"] = array_of(9.81 * random.direction());

  json bodies = json::array(), joints = json::array(), contacts = json::array();
  std::string last = chance(0.8) ? "ground.hook" : "";  // where the next part hangs
  bool last_turns = true;
  Vec3 x = Vec3::Zero();
  const int count = 1 + one_of(4);
  for (int i = 0; i < count; ++i) {
    const std::string name = "part_" + std::to_string(i);
    const double length = size * random.between(0.3, 1);
    const Vec3 along = random.direction(), end = x + length * along, middle = 0.5 * (x + end);
    const int kind = one_of(4);
    json body = {{"name", name}};
    std::string from = name + ".start", to = name + ".end", touching = to;
    bool turns = true;
    if (kind == 0) {
      body["type"] = "rigid";
      body["density"] = of_any_size(300, 9000);
      body["shape"] = {{"type", "box"}, {"size", {length, 0.2 * length, 0.3 * length}}};
      body["position"] = array_of(middle);
      body["orientation"] = {{"rotation_vector", array_of(turn_of_x_to(along))}};
      body["points"] = {{{"name", "start"}, {"at", {-length / 2, 0, 0}}},
                        {{"name", "end"}, {"at", {length / 2, 0, 0}}}};
      if (!falls || chance(0.3)) body["angular_velocity"] = array_of(Vec3(20 * random.direction()));
      touching = name;
    } else if (kind == 3) {
      body["type"] = "solid";
      body["material"] = "material";
      constexpr std::array laws = {"saint_venant_kirchhoff", "neo_hookean", "corotational"};
      body["law"] = laws[static_cast<std::size_t>(one_of(3))];
      body["mesh"] = {{"type", "box"},
                      {"size", {length, 0.3 * length, 0.3 * length}},
                      {"divisions", {1 + one_of(3), 1, 1 + one_of(2)}}};
      body["position"] = array_of(middle);
      body["orientation"] = {{"rotation_vector", array_of(turn_of_x_to(along))}};
      from = name + ".left";
      touching = to = name + ".right";
    } else {
      const bool beam = kind == 1;
      body["type"] = beam ? "beam" : "bar";
      body["material"] = "material";
      body["section"] = "section";
      body["from"] = array_of(x);
      body["to"] = array_of(end);
      body["elements"] = 1 + one_of(beam ? 8 : 4);
      if (beam && chance(0.3)) body["damping"] = of_any_size(1e-6, 1e-2);
      turns = beam;
    }
    bodies.push_back(body);

    if (!last.empty()) {
      json joint = {{"name", "joint_" + std::to_string(i)}, {"of", {last, from}}};
      const int type = turns && last_turns && kind != 3 ? one_of(4) : 0;
      if (type <= 1) {
        joint["type"] = "spherical";
      } else {
        joint["type"] = type == 2 ? "revolute" : "fixed";
        if (type == 2) {
          joint["axis"] = array_of(random.direction());
          const double w = of_any_size(1, 30);
          if (chance(0.2))
            joint["driver"] = {{"angle", fmt::format("{}*(cos({}*t) - 1)", random.between(0.1, 1), w)}};
          else if (chance(0.4))
            joint["spring"] = {{"stiffness", of_any_size(0.1, 1e4) * size * size * size},
                               {"damping", chance(0.5) ? of_any_size(1e-4, 1) * size * size * size : 0.0},
                               {"rest", random.between(-1, 1)}};
          if (!joint.contains("driver") && chance(0.3))
            joint["stops"] = {{"lower", -random.between(0.1, 0.5)}, {"upper", random.between(0.1, 0.5)}};
        }
      }
      joints.push_back(joint);
    }
    if (chance(0.6)) {
      const Vec3 up = random.direction();
      // under the whole part
      const double low = std::min({0.0, up.dot(x - middle), up.dot(end - middle)}) - 0.36 * length;
      contacts.push_back({{"name", "floor_" + std::to_string(i)},
                          {"on", touching},
                          {"restitution", 0.5 * one_of(3)},
                          {"obstacle",
                           {{"type", "plane"},
                            {"point", array_of(Vec3(middle + (low - random.between(0, 0.1) * size) * up))},
                            {"normal", array_of(up)}}}});
    }
    last = to;
    last_turns = turns && kind != 3;
    x = end;
  }
  if (!falls)
    model["loads"] = {{{"name", "pull"},
                       {"type", "force"},
                       {"on", last},
                       {"value", array_of(of_any_size(0.01, 10) * size * size * size * random.direction())}}};
  // what no body uses is an error
  const auto used = [&](const char* key) {
    return std::any_of(bodies.begin(), bodies.end(), [&](const json& body) { return body.contains(key); });
  };
  if (!used("material")) model.erase("materials");
  if (!used("section")) model.erase("sections");
  if (joints.empty()) model.erase("ground");
  model["bodies"] = bodies;
  model["joints"] = joints;
  model["contacts"] = contacts;
  constexpr std::array radii = {0.0, 0.5, 0.8, 1.0};
  const double step = of_any_size(1e-4, 2e-2);
  model["integrator"] = {{"type", "nsga_decoupled"},
                         {"step", step},
                         {"duration", 120 * step},
                         {"rho_infinity", radii[static_cast<std::size_t>(one_of(4))]}};
  if (chance(0.1)) model["integrator"]["initial_acceleration"] = "shifted";
  if (chance(0.1)) model["integrator"]["force_corrections"] = false;
  if (chance(0.1)) model["integrator"]["newton"] = {{"method", "modified"}};
  return model;
}

}  // namespace carom::properties
