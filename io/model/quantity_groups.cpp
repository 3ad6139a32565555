#include "io/model/quantity_groups.hpp"

#include "io/model/model.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

std::array<double, 6> node_velocity(const System& system, int node, const Vector& v) {
  std::array<double, 6> out{};
  for (int c = 0; c < 6; ++c)
    if (const int e = system.dofs().equation(node, c); e >= 0) out[at(c)] = v[at(e)];
  return out;
}

PointState state_of(const System& system, const AttachedPoint& p, const Vector& q) {
  const double* node = p.node < 0 ? nullptr : q.data() + system.dofs().configuration_offset(p.node);
  return point_state(node, p.node < 0 ? NodeKind::point : system.dofs().kind(p.node), p.offset);
}

std::string unknown_node(const Model& model, const std::string& of) {
  const std::size_t dot = of.find('.');
  const BodyInfo* body = dot == std::string::npos ? nullptr : model.find_body(of.substr(0, dot));
  if (body == nullptr || model.find_point(of)) return {};
  const std::string point = of.substr(dot + 1);
  if (point.starts_with("element.")) return {};
  if (body->sets.contains(point)) return "expected one point, got " + in_quotes(of) + ", which is several";
  if (!body->points.empty() || point.starts_with("node.")) return body->unknown_point(point);
  return "body " + in_quotes(body->name) + " has no point " + in_quotes(point) +
         "; a probe takes its nodes, node.0 to node." + std::to_string(body->nodes.size() - 1);
}

Quantity summed(Quantity quantity) {
  quantity.summed = true;
  return quantity;
}

}  // namespace carom
