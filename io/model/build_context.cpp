#include "io/model/build_context.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/mechanics/body_point.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

Vec3 vec3(const json& v) { return {v[0].get<double>(), v[1].get<double>(), v[2].get<double>()}; }
std::string text(const json& v) { return v.get<std::string>(); }

Quaternion orientation(const json& body) {
  if (!body.contains("orientation")) return {1, 0, 0, 0};
  const json& o = body["orientation"];
  if (o.contains("quaternion")) {
    const json& q = o["quaternion"];
    const Eigen::Vector4d wxyz =
        Eigen::Vector4d(q[0].get<double>(), q[1].get<double>(), q[2].get<double>(), q[3].get<double>())
            .stableNormalized();
    return Quaternion(wxyz[0], wxyz[1], wxyz[2], wxyz[3]);
  }
  if (o.contains("rotation_vector")) return so3::exp_quaternion(vec3(o["rotation_vector"]));
  return so3::exp_quaternion(Vec3(o["angle"].get<double>() * vec3(o["axis"]).stableNormalized()));
}

std::filesystem::path BuildContext::file(const std::string& name, const std::string& pointer) {
  std::filesystem::path path = std::filesystem::path(document.source().file).parent_path() / name;
  model.files[pointer] = std::filesystem::absolute(path).string();
  return path;
}

int BuildContext::add_node(NodeKind kind, std::span<const double> configuration, const std::string& name,
                           const Vec3& velocity, const Vec3& angular_velocity) {
  velocities_.emplace_back(velocity, angular_velocity);
  return model.system.add_node(kind, configuration, name);
}

int BuildContext::add_coordinate(double value, const std::string& name, double rate) {
  return add_node(NodeKind::scalar, {&value, 1}, name, Vec3(rate, 0, 0));
}

TimeFunction BuildContext::time_function(const json& value, const std::string& pointer, Needs needs, Moves moves) {
  const double start = time_settings(root()["integrator"]).start;
  const bool angle = moves == Moves::angle || moves == Moves::turn;
  const bool turns = angle && !method_of(root()["integrator"]).dynamic;
  try {
    if (value.is_number()) return TimeFunction::constant(value.get<double>());
    if (value.is_string()) {
      TimeFunction f = TimeFunction::formula(text(value), document.parameters());
      if (!method_of(root()["integrator"]).dynamic) needs = Needs::value, moves = Moves::nothing;
      const TimeValue x = f.evaluate(start);
      std::string missing;
      if (!std::isfinite(x.value)) {
        missing = "value";
      } else if (needs >= Needs::rate && !std::isfinite(x.rate)) {
        missing = "rate";
      } else if (needs == Needs::acceleration && !std::isfinite(x.acceleration)) {
        missing = "acceleration";
      }
      if (!missing.empty())
        error(pointer, "expected a finite " + missing + " at the start, t = " + brief(start) + ", got none from " +
                           brief(value));
      const FormulaUse use{.rate = needs >= Needs::rate,
                           .moves = moves != Moves::nothing && moves != Moves::surface,
                           .period = angle && moves != Moves::nothing ? 2 * std::numbers::pi : 0};
      if (!f.is_constant()) {
        functions.push_back({pointer + " " + brief(value), f, moves, false});
        model.system.watch(f, use, functions.back().name);
        if (turns) model.system.watch_turn(f, functions.back().name);
      }
      return f;
    }
    const bool cubic = text(value["interpolation"]) == "cubic";
    TimeFunction f =
        TimeFunction::table(value["times"].get<std::vector<double>>(), value["values"].get<std::vector<double>>(),
                            cubic ? Interpolation::cubic_natural : Interpolation::linear);
    const json& integrator = root()["integrator"];
    if (const std::string form = integrator.contains("formulation") ? text(integrator["formulation"]) : "";
        needs == Needs::acceleration && !cubic && f.points().size() > 2 && (form == "index_1" || form == "baumgarte"))
      error(pointer, "expected \"interpolation\": \"cubic\" beside the formulation " + in_quotes(form) +
                         ", which knows drivers by their accelerations: straight lines between points have none");
    functions.push_back({pointer, f, moves, !cubic && f.points().size() > 2});
    if (turns) model.system.watch_turn(f, pointer);
    return f;
  } catch (const std::runtime_error& e) {
    error(pointer, e.what());
    return {};
  }
}

std::array<TimeFunction, 3> BuildContext::time_functions(const json& value, const std::string& pointer, Needs needs,
                                                         Moves moves) {
  return {time_function(value[0], pointer + "/0", needs, moves), time_function(value[1], pointer + "/1", needs, moves),
          time_function(value[2], pointer + "/2", needs, moves)};
}

AttachedPoint BuildContext::point(const json& reference, const std::string& pointer) {
  if (const auto p = model.find_point(text(reference))) return *p;
  error(pointer, unknown_point(text(reference)));
  return {};
}

const PointSet* BuildContext::point_set(const std::string& reference) const {
  const std::size_t dot = reference.find('.');
  const BodyInfo* body = dot == std::string::npos ? nullptr : model.find_body(reference.substr(0, dot));
  if (body == nullptr) return nullptr;
  const auto set = body->sets.find(reference.substr(dot + 1));
  return set == body->sets.end() ? nullptr : &set->second;
}

std::string BuildContext::unknown_point(const std::string& reference) const {
  const std::size_t dot = reference.find('.');
  const BodyInfo* body = dot == std::string::npos ? nullptr : model.find_body(reference.substr(0, dot));
  if (body == nullptr) return "no point named \"" + reference + "\"";
  const std::string part = reference.substr(dot + 1);
  if (body->sets.contains(part)) return "expected one point, got \"" + reference + "\", which is several";
  return body->unknown_point(part);
}

bool BuildContext::is_frame(const AttachedPoint& p) const {
  return p.node >= 0 && model.system.dofs().kind(p.node) == NodeKind::frame;
}

Vec3 BuildContext::initial_place(const AttachedPoint& p) const {
  return model.place(p, model.system.initial_configuration());
}

Quaternion BuildContext::initial_quaternion(const AttachedPoint& p) const {
  if (!is_frame(p)) return {1, 0, 0, 0};
  const double* q = model.system.initial_configuration().data() + model.system.dofs().configuration_offset(p.node);
  return {q[3], q[4], q[5], q[6]};
}

Mat3 BuildContext::initial_rotation(const AttachedPoint& p) const {
  return so3::quaternion_to_matrix(initial_quaternion(p));
}

int BuildContext::first_row(const ConstraintBlock& block) const {
  const auto& blocks = model.system.constraints();
  const auto place = std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.get() == &block; });
  return model.system.first_row(static_cast<int>(place - blocks.begin()));
}

const json& BuildContext::material(const std::string& name) const {
  static const json none;
  for (const json& m : root()["materials"])
    if (m["name"] == name) return m;
  return none;
}

const json& BuildContext::section(const std::string& name) const {
  static const json none;
  for (const json& s : root()["sections"])
    if (s["name"] == name) return s;
  return none;
}

}  // namespace carom
