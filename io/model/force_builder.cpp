#include "io/model/force_builder.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "elements/joints/spring_damper.hpp"
#include "elements/loads/load.hpp"
#include "elements/solid/pressure.hpp"
#include "io/model/build_context.hpp"
#include "io/model/spread_loads.hpp"
#include "io/schema/spec.hpp"

namespace carom {

using nlohmann::json;

namespace {

SpringDamper read_spring(BuildContext& context, const json& spring, const std::string& pointer) {
  const AttachedPoint a = context.point(spring["of"][0], pointer + "/of/0"),
                      b = context.point(spring["of"][1], pointer + "/of/1");
  SpringDamper s;
  s.name = text(spring["name"]);
  s.node_a = a.node;
  s.node_b = b.node;
  s.offset_a = a.offset;
  s.offset_b = b.offset;
  s.stiffness = spring["stiffness"].get<double>();
  s.damping = spring["damping"].get<double>();
  const double distance = (context.initial_place(b) - context.initial_place(a)).norm();
  s.natural_length = spring.contains("natural_length") ? spring["natural_length"].get<double>() : distance;
  if (a.node < 0 && b.node < 0)
    context.error(pointer + "/of", "expected a point of a body, got two points of the ground, which do not move");
  else if (distance <= 1e-14 * std::max(context.initial_place(a).norm(), context.initial_place(b).norm()) &&
           (s.natural_length > 0 || s.damping > 0))
    context.error(pointer + "/of", "expected two points apart at the start: the direction of the spring is undefined");
  context.model.springs.push_back({s.name, a, b});
  return s;
}

void read_load_at_point(BuildContext& context, const json& load, const std::string& pointer,
                        std::vector<Load>& on_frames, std::vector<Load>& on_points) {
  const AttachedPoint p = context.point(load["on"], pointer + "/on");
  Load l;
  l.kind = text(load["type"]) == "torque" ? Load::Kind::torque : Load::Kind::force;
  l.node = p.node;
  l.offset = p.offset;
  l.body_axes = text(load["frame"]) == "body";
  l.value = context.time_functions(load["value"], pointer + "/value");
  if (l.body_axes && !context.is_frame(p))
    context.error(pointer + "/frame", "expected \"inertial\": a point without rotation has no axes of its own");
  (context.is_frame(p) ? on_frames : on_points).push_back(std::move(l));
}

// The faces of a group with this number of nodes, 4 or 3.
std::vector<PressureFace> pressure_faces(const BuildContext& context, const std::vector<std::array<int, 4>>& group,
                                         int nodes) {
  std::vector<PressureFace> faces;
  for (const std::array<int, 4>& face : group) {
    if ((face[3] >= 0 ? 4 : 3) != nodes) continue;
    PressureFace f;
    f.nodes = face;
    for (std::size_t k = 0; k < static_cast<std::size_t>(nodes); ++k)
      f.reference[k] = context.initial_place({face[k], Vec3::Zero()});
    faces.push_back(f);
  }
  return faces;
}

void read_pressure(BuildContext& context, const json& load, const std::string& pointer) {
  const std::string on = text(load["on"]), name = text(load["name"]);
  const std::size_t dot = on.find('.');
  const BodyInfo* body = context.model.find_body(on.substr(0, dot));
  const std::string group = dot == std::string::npos ? "" : on.substr(dot + 1);
  if (body == nullptr || !body->faces.contains(group)) {
    std::vector<std::string> known;
    if (body != nullptr)
      for (const auto& [word, faces] : body->faces) known.push_back(word);
    context.error(pointer + "/on", "expected a group of faces of a solid, got \"" + on + "\"" +
                                       (known.empty() ? "" : spec::suggestion(group, known)));
    return;
  }
  const TimeFunction value = context.time_function(load["value"], pointer + "/value");
  for (const int nodes : {4, 3}) {
    std::vector<PressureFace> faces = pressure_faces(context, body->faces.at(group), nodes);
    if (!faces.empty())
      context.model.system.add(std::make_unique<PressureBlock>(name, std::move(faces), std::vector<TimeFunction>{value},
                                                               load["follows"].get<bool>()));
  }
}

}  // namespace

void read_springs(BuildContext& context) {
  std::vector<SpringDamper> springs;
  const json& list = context.root()["springs"];
  for (std::size_t i = 0; i < list.size(); ++i)
    springs.push_back(read_spring(context, list[i], "/springs/" + std::to_string(i)));
  if (!springs.empty()) context.model.system.add(std::make_unique<SpringDamperBlock>("springs", std::move(springs)));
}

void read_loads(BuildContext& context) {
  std::vector<Load> on_frames, on_points;
  const json& list = context.root()["loads"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = "/loads/" + std::to_string(i);
    const std::string type = text(list[i]["type"]);
    if (type == "pressure")
      read_pressure(context, list[i], pointer);
    else if (type.starts_with("line_"))
      add_line_load(context, list[i], pointer, on_frames);
    else if (context.point_set(text(list[i]["on"])) != nullptr)
      add_spread_force(context, list[i], pointer, on_frames, on_points);
    else
      read_load_at_point(context, list[i], pointer, on_frames, on_points);
  }
  System& system = context.model.system;
  if (!on_frames.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_frames), true));
  if (!on_points.empty()) system.add(std::make_unique<LoadBlock>("loads", std::move(on_points), false));
}

}  // namespace carom
