// Point masses.

#include <algorithm>

#include "elements/bodies/point_mass.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node point_mass_spec() {
  return object("point mass", {
                                  body_name(),
                                  required("mass", number("mass").at_least(0), "mass"),
                                  preset("position", vector3("length"), json::array({0, 0, 0}), "initial place"),
                                  preset("velocity", vector3("velocity"), json::array({0, 0, 0}), "initial velocity"),
                                  preset("radius", number("length").at_least(0), 0, "radius for contact and drawing"),
                                  preset("fixed", list("directions", choice(translation_words())).unique(),
                                         json::array(), "what cannot move"),
                              });
}

void build_point_masses(BuildContext& context, const std::vector<BodySource>& bodies) {
  std::vector<PointMass> masses;
  for (const BodySource& source : bodies) {
    const json& body = *source.json;
    BodyInfo& info = *source.info;
    const Vec3 x = vec3(body["position"]);
    PointMass mass;
    mass.mass = body["mass"].get<double>();
    mass.node = context.add_node(NodeKind::point, {x.data(), 3}, info.name, vec3(body["velocity"]));
    info.nodes = {mass.node};
    info.radius = body["radius"].get<double>();
    if (info.radius > 0) {
      info.mesh = make_sphere(info.radius);
    } else {
      info.mesh.points = {Vec3::Zero()};
      info.mesh.add_cell(CellType::vertex, {0});
    }
    for (const json& fixed : body["fixed"]) context.model.system.fix(mass.node, text(fixed)[0] - 'x');
    context.total_mass += mass.mass;
    context.size = std::max(context.size, info.radius);
    masses.push_back(mass);
  }
  context.model.system.add(std::make_unique<PointMassBlock>("point masses", masses));
}

std::string point_mass_point_error(const json& body, const std::string* point, PointUse use) {
  const std::string name = text_of(body, "name");
  if (use == PointUse::element) return "a point mass has no elements";
  if (point == nullptr) return {};
  return "a point mass has no points: expected " + in_quotes(name) + ", got " + in_quotes(name + "." + *point);
}

}  // namespace

BodyType point_mass_type() {
  return {.type = "point_mass",
          .help = "a mass without rotation",
          .rotates = false,
          .keys = point_mass_spec,
          .build = build_point_masses,
          .point_error = point_mass_point_error,
          .one_node = true,
          .is_sphere = [](const json& body) { return !body.contains("radius") || body["radius"] != 0; },
          .sphere_words = "a point mass with a radius > 0"};
}

}  // namespace carom
