// Straight bars of equal elements.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "elements/beam/bar.hpp"
#include "io/model/sections.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node bar_spec() {
  return object(
             "bar",
             {
                 body_name(),
                 required("from", vector3("length").like({0, 0, 0}), "place of the first node, \"start\""),
                 required("to", vector3("length").like({1, 0, 0}), "place of the last node, \"end\""),
                 preset("elements", integer().at_least(1).at_most(1000000), 1,
                        "elements of equal length; nodes are counted from 0"),
                 required("material", reference("material", Target::material), "name of its material"),
                 required("section", reference("section", Target::section), "name of its cross section"),
                 preset("kinematics",
                        choice({{"linear",
                                 "small axial displacements along the bar, one degree of freedom per node, so that "
                                 "loads and gravity across the bar have no effect"},
                                {"nonlinear", "large displacements in space, no bending stiffness"}}),
                        "nonlinear", "what its nodes can do"),
                 mass_matrix("from the linear interpolation", "half of each element's mass at its nodes"),
                 preset("velocity", vector3("velocity"), json::array({0, 0, 0}), "initial velocity of all nodes"),
                 preset("fixed", list("points of the bar", reference("point of the bar", Target::own_point)).unique(),
                        json::array(), "nodes that cannot move: \"start\", \"end\", \"node.3\""),
             })
      .with([](const json& bar, std::string& where) -> std::string {
        if (bar["from"] != bar["to"]) return {};
        where = "/to";
        return "expected a place different from \"from\", got " + brief(bar["to"]);
      });
}

// The coordinate axis along which the bar lies; -1 for an inclined bar.
int axis_of(const Vec3& from, const Vec3& to) {
  for (int c = 0; c < 3; ++c)
    if (from[(c + 1) % 3] == to[(c + 1) % 3] && from[(c + 2) % 3] == to[(c + 2) % 3]) return c;
  return -1;
}

bool check_linear(BuildContext& context, const BodySource& source, int axis, const Vec3& velocity) {
  if (axis < 0) {
    context.error(source.pointer + "/to",
                  "expected a bar along x, y or z, since its kinematics are linear (one degree of freedom per node); "
                  "use \"nonlinear\" for other directions");
    return false;
  }
  for (int c = 0; c < 3; ++c)
    if (c != axis && velocity[c] != 0)
      context.error(source.pointer + "/velocity", "expected a velocity along the bar, since its kinematics are linear");
  return true;
}

void build_bar(BuildContext& context, const BodySource& source) {
  const json& body = *source.json;
  BodyInfo& info = *source.info;
  System& system = context.model.system;
  const Vec3 from = vec3(body["from"]), to = vec3(body["to"]), velocity = vec3(body["velocity"]);
  const int elements = body["elements"].get<int>(), axis = axis_of(from, to);
  const bool linear = text(body["kinematics"]) == "linear";
  const double length = (to - from).norm();
  if (!(length > 0) || !std::isfinite(length)) {
    context.error(source.pointer + "/to", "the length of the bar is too large or too small for double precision");
    return;
  }
  if (linear && !check_linear(context, source, axis, velocity)) return;

  // nodes; nodes of a linear bar move only along its axis
  info.is_line = true;
  for (int k = 0; k <= elements; ++k) {
    const Vec3 x = from + (to - from) * (static_cast<double>(k) / elements);
    const int node =
        context.add_node(NodeKind::point, {x.data(), 3}, info.name + ".node." + std::to_string(k), velocity);
    info.nodes.push_back(node);
    for (int c = 0; linear && c < 3; ++c)
      if (c != axis) system.fix(node, c);
  }
  info.add_node_set(line_shares(std::vector<double>(static_cast<std::size_t>(elements), 1.0)));
  info.mesh.points.assign(info.nodes.size(), Vec3::Zero());
  info.mesh_nodes = info.nodes;
  for (int k = 0; k < elements; ++k) info.mesh.add_cell(CellType::line, {k, k + 1});
  info.line.assign(static_cast<std::size_t>(elements), {length / elements});
  for (int k = 0; k <= elements; ++k)
    info.mesh_places.push_back(k < elements ? LinePlace{k, 0} : LinePlace{elements - 1, 1});
  info.points["start"] = {info.nodes.front(), Vec3::Zero()};
  info.points["end"] = {info.nodes.back(), Vec3::Zero()};
  for (const json& fixed : body["fixed"])
    if (const auto p = info.find_point(text(fixed)))
      for (int c = 0; c < 3; ++c) system.fix(p->node, c);

  // elements
  const json& material = context.material(text(body["material"]));
  const double area = section_area(context.section(text(body["section"])));
  if (area == 0) {
    context.error(source.pointer + "/section", "expected a section with an area for a bar, got " +
                                                   in_quotes(text(body["section"])) + ", which is given by matrices");
    return;
  }
  const double density = material["density"].get<double>() * area;
  if (!std::isfinite(material["young"].get<double>() * area / length * elements) || !std::isfinite(density * length))
    context.error(source.pointer,
                  "the stiffness or the mass of this bar is not a finite number: see its length, material and section");
  const MassKind mass = text(body["mass"]) == "lumped" ? MassKind::lumped : MassKind::consistent;
  std::vector<Bar> bars;
  for (std::size_t k = 0; k + 1 < info.nodes.size(); ++k)
    bars.push_back({info.nodes[k], info.nodes[k + 1], (linear ? (to - from)[axis] : length) / elements,
                    material["young"].get<double>() * area, density});
  if (linear)
    info.elements = {{&system.add(std::make_unique<LinearBarBlock>(info.name, bars, axis, mass)), {0, elements}}};
  else
    info.elements = {{&system.add(std::make_unique<BarBlock>(info.name, std::move(bars), mass)), {0, elements}}};
  context.total_mass += density * length;
  context.size = std::max(context.size, length);
}

void build_bars(BuildContext& context, const std::vector<BodySource>& bodies) {
  for (const BodySource& body : bodies) build_bar(context, body);
}

}  // namespace

BodyType bar_type() {
  return {.type = "bar",
          .help = "a straight bar that takes axial forces",
          .rotates = false,
          .keys = bar_spec,
          .build = build_bars,
          .point_error = [](const json& body, const std::string* point,
                            PointUse use) { return line_point_error(body, point, use, "a bar", element_count(body)); },
          .fields = bar_fields,
          .takes_material = is_linear_elastic};
}

}  // namespace carom
