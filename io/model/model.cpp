#include "io/model/model.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/mechanics/body_point.hpp"
#include "io/model/build_context.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;

const BodyInfo* Model::find_body(const std::string& name) const {
  for (const BodyInfo& b : bodies)
    if (b.name == name) return &b;
  return nullptr;
}

int Model::find_coordinate(const std::string& reference) const {
  const BodyInfo* body = find_body(reference.substr(0, reference.find('.')));
  if (body == nullptr || body->in_space) return -1;
  for (const int node : body->nodes)
    if (system.node_name(node) == reference) return node;
  return -1;
}

std::optional<AttachedPoint> BodyInfo::find_point(const std::string& point) const {
  if (!in_space) return std::nullopt;
  if (point.empty() && nodes.size() == 1) return AttachedPoint{nodes[0]};
  if (const auto it = points.find(point); it != points.end()) return it->second;
  if (!point.starts_with("node.")) return std::nullopt;
  const std::size_t k = std::strtoul(point.c_str() + 5, nullptr, 10);
  return k < nodes.size() ? std::optional(AttachedPoint{nodes[k]}) : std::nullopt;
}

std::string BodyInfo::unknown_point(const std::string& point) const {
  const std::string message = "body \"" + name + "\" has no point \"" + point + "\"";
  if (is_numbered(point, "node")) return number_error(point, "node", static_cast<std::int64_t>(nodes.size()), message);
  std::vector<std::string> words;
  for (const auto& [word, p] : points) words.push_back(word);
  for (const auto& [word, set] : sets) words.push_back(word);
  return message + spec::suggestion(point, words);
}

void BodyInfo::add_node_set(std::vector<double> shares) {
  PointSet& set = sets["nodes"];
  set.shares = std::move(shares);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    set.points.push_back({nodes[k], Vec3::Zero()});
    set.labels.push_back("node." + std::to_string(k));
  }
}

std::optional<AttachedPoint> Model::find_point(const std::string& reference) const {
  const std::size_t dot = reference.find('.');
  const std::string name = reference.substr(0, dot), part = dot == std::string::npos ? "" : reference.substr(dot + 1);
  if (name == "ground") {
    if (part.empty()) return AttachedPoint{};
    const auto it = ground_points.find(part);
    return it == ground_points.end() ? std::nullopt : std::optional(AttachedPoint{-1, it->second});
  }
  const BodyInfo* body = find_body(name);
  return body == nullptr ? std::nullopt : body->find_point(part);
}

Vec3 Model::place(const AttachedPoint& point, In q) const {
  if (point.node < 0) return point.offset;
  const DofMap& dofs = system.dofs();
  return point_state(q.data() + dofs.configuration_offset(point.node), dofs.kind(point.node), point.offset).x;
}

std::string Model::pointer_of_equation(int equation) const {
  const int node = system.equation_node(equation);
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if (std::find(bodies[b].nodes.begin(), bodies[b].nodes.end(), node) != bodies[b].nodes.end())
      return "/bodies/" + std::to_string(b);
  return "/bodies";
}

std::string Model::pointer_of_row(int row) const {
  const auto has = [row](const std::vector<int>& rows) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  for (const JointInfo& joint : joints)
    if (has(joint.rows) || has(joint.stops)) return joint.pointer;
  for (const JointInfo& joint : joints)
    if (has(joint.friction)) return joint.pointer + "/friction";
  for (const auto* groups : {&contacts, &constraints})
    for (const RowGroup& group : *groups)
      if (has(group.rows)) return group.pointer;
  return "";
}

json resolved_model(const ModelDocument& document, const RunOptions& options) {
  json model = document.resolved();
  if (!options.end_time) return model;
  json& integrator = model["integrator"];
  const TimeSettings time = time_settings(integrator);
  // what is expected at the model's own end stays there
  for (json& e : model["expect"])
    if (!e.contains("time")) e["time"] = time.start + time.duration;
  // so do the loads of a static run
  if (!method_of(integrator).dynamic && !integrator.contains("ramp")) integrator["ramp"] = integrator["duration"];
  integrator["duration"] = *options.end_time - time.start;
  return model;
}

json repeatable_model(json resolved, const Model& model) {
  for (const auto& [pointer, path] : model.files) resolved[json::json_pointer(pointer)] = path;
  return resolved;
}

std::string model_text(const json& model) { return model.dump(2) + "\n"; }

std::unique_ptr<Integrator> start_integrator(Model& model, bool initialise, ModelIssues& issues) {
  std::unique_ptr<Integrator> integrator = model.make_integrator(model.system);
  bool suits = true;
  for (const Integrator::Objection& o : integrator->objections(model.state, model.simulation.step)) {
    issues.add(!o.pointer.empty() ? o.pointer
               : o.row >= 0       ? model.pointer_of_row(o.row)
               : o.equation >= 0  ? model.pointer_of_equation(o.equation)
                                  : "/integrator/type",
               o.message);
    suits = false;
  }
  if (!suits) return nullptr;
  StepReport report;
  if (!initialise || integrator->initialise(model.state, model.simulation.step, report)) return integrator;
  const int row = report.worst_row, equation = report.worst_equation;
  const std::string where = row >= 0        ? " at " + model.system.row_name(row)
                            : equation >= 0 ? " at " + model.system.equation_name(equation)
                                            : "";
  const std::string pointer = row >= 0        ? model.pointer_of_row(row)
                              : equation >= 0 ? model.pointer_of_equation(equation)
                                              : "";
  if (where.empty() && report.reason == FailureReason::no_convergence) {
    issues.add("/integrator/step",
               "expected a step in which no body turns by more than about a radian: the rotation of the first one has "
               "no solution");
    return nullptr;
  }
  SparseRow gradient;
  if (row >= 0) model.system.row_gradient(row, model.state.q, model.state.t, nullptr, gradient);
  if (row >= 0 && gradient.equation.empty()) {
    issues.add(pointer, "nothing that moves is held by " + model.system.row_name(row) +
                            ": all that it connects is fixed or ground");
    return nullptr;
  }
  issues.add(pointer, "the initial accelerations cannot be computed: the mass matrix with the joints is singular" +
                          where + "; is there a component without mass that no joint holds?");
  return nullptr;
}

}  // namespace carom
