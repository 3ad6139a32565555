// Rigid bodies: keys, shapes, mass properties.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>

#include "elements/bodies/rigid_body.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/tolerant_json.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

// Checks a path: the operating system must accept it.
std::string check_path(const json& path, std::string&) {
  const auto& text = path.get_ref<const std::string&>();
  return text.empty() || text.find('\0') != std::string::npos ? "expected the path of a file, got " + in_quotes(text)
                                                              : "";
}

// The key "orientation" of rigid bodies and solids.
Node orientation_spec() {
  return object(
             "orientation",
             {
                 optional("axis", nonzero_vector3("number"), "axis of a rotation, of any length"),
                 optional("angle", number("angle"), "its angle"),
                 optional("quaternion",
                          list("numbers", number()).of_length({4}).with([](const json& q, std::string&) -> std::string {
                            double largest = 0.0;
                            for (const json& x : q) largest = std::max(largest, std::abs(x.get<double>()));
                            if (largest == 0.0) return "expected a quaternion that is not zero, got " + brief(q);
                            if (largest >= 1e-150 && largest <= 1e150) return {};
                            return "expected a quaternion whose largest component is between 1e-150 and 1e150, got " +
                                   brief(q);
                          }),
                          "[w, x, y, z]; it is normalised"),
                 optional("rotation_vector", vector3("angle"), "axis times angle"),
             })
      .exactly_one({{"axis", "angle"}, {"quaternion"}, {"rotation_vector"}});
}

namespace {

// ---- keys

Node rigid_shape_spec() {
  const Node length = number("length").above(0);
  return tagged(
      "shape",
      {
          {"box",
           "a box along the body's axes",
           {required("size", list("lengths", length).of_length({3}), "edge lengths")}},
          {"sphere", "a ball", {required("radius", length, "radius")}},
          {"cylinder",
           "a cylinder about one of the body's axes",
           {required("radius", length, "radius"), required("length", length, "length along its axis"),
            preset("axis", choice({{"x", "the body's first axis"}, {"y", "the second"}, {"z", "the third"}}), "z",
                   "its axis")}},
          {"mesh",
           "a closed surface from an STL file",
           {required("file", string("path").with(check_path).like("part.stl"), "the file, relative to the model"),
            preset("scale", number().above(0), 1, "factor of its coordinates")}},
      });
}

/// Checks that a homogeneous body can have this inertia: moments >= 0 that satisfy the triangle inequality.
std::string check_inertia(const json& inertia, std::string&) {
  const auto at = [&](std::size_t i) { return inertia[i].get<double>(); };
  double scale = 0.0;
  for (const json& x : inertia) scale = std::max(scale, std::abs(x.get<double>()));
  const double small = 1e-9 * scale;

  if (inertia.size() == 6) {
    // sum(r r^T dm) = trace(J)/2 I - J must be positive semidefinite: all its principal minors are >= 0.
    const double half = 0.5 * (at(0) + at(1) + at(2));
    const double a = half - at(0), b = half - at(1), c = half - at(2), d = -at(3), e = -at(4), f = -at(5);
    const double determinant = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e);
    const double least = std::min({a, b, c});
    const double minor = std::min({a * b - d * d, a * c - e * e, b * c - f * f});
    if (least >= -small && minor >= -small * scale && determinant >= -small * scale * scale) return {};
    return "expected an inertia that a body can have (sum of r r^T dm not negative), got " + brief(inertia);
  }
  if (std::min({at(0), at(1), at(2)}) < 0.0) return "expected moments of inertia >= 0, got " + brief(inertia);
  for (std::size_t i = 0; i < 3; ++i) {
    if (at(i) > at((i + 1) % 3) + at((i + 2) % 3) + small)
      return "expected moments of inertia none of which is larger than the sum of the others, got " + brief(inertia);
  }
  return {};
}

std::string check_rigid(const json& body, std::string& where) {
  const json& fixed = body["fixed"];
  const bool rotates = std::find(fixed.begin(), fixed.end(), "rotation") == fixed.end();
  if (rotates && !body.contains("shape") && !body.contains("inertia"))
    return "expected the key \"inertia\" or \"shape\": a body that rotates needs an inertia";
  const json& points = body["points"];
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i]["name"] != "center" && points[i]["name"] != "vertices" && points[i]["name"] != "rims") continue;
    where = "/points/" + std::to_string(i) + "/name";
    return "the name " + brief(points[i]["name"]) + " has a meaning of its own; choose another";
  }
  return {};
}

Node rigid_spec() {
  std::vector<Word> fixed = translation_words();
  fixed.push_back({"translation", "all three translations"});
  fixed.push_back({"rotation", "all three rotations"});
  const Node point =
      object("point", {required("name", name().like("tip"), "name of the point: referred to as \"body.point\""),
                       required("at", vector3("length"), "place from the centre of mass, body axes")});
  return object(
             "rigid body",
             {
                 body_name(),
                 optional("mass", number("mass").at_least(0), "mass"),
                 optional("density", number("density").above(0), "mass per volume of the shape"),
                 optional("inertia",
                          list("moments of inertia", number("moment of inertia"))
                              .of_length({3, 6})
                              .with(check_inertia)
                              .like({0.01, 0.02, 0.025}),
                          "about the centre of mass, body axes: 3 principal moments, or xx, yy, zz, xy, xz, yz of "
                          "the tensor (default: that of the homogeneous shape)"),
                 optional("shape", rigid_shape_spec(), "shape, centred at the centre of mass"),
                 preset("position", vector3("length"), json::array({0, 0, 0}), "initial place of the centre of mass"),
                 optional("orientation", orientation_spec(),
                          "initial rotation from inertial to body axes (default: none)"),
                 preset("velocity", vector3("velocity"), json::array({0, 0, 0}),
                        "initial velocity of the centre of mass"),
                 preset("angular_velocity", vector3("angular velocity"), json::array({0, 0, 0}),
                        "initial angular velocity, body axes"),
                 preset("points", list("points", point), json::array(), "named points of the body"),
                 preset("fixed", list("directions", choice(fixed)).unique(), json::array(), "what cannot move"),
             })
      .exactly_one({{"mass"}, {"density"}})
      .needs("density", "shape")
      .with(check_rigid)
      .like({{"name", "brick"},
             {"density", 1200},
             {"shape", {{"type", "box"}, {"size", {0.2, 0.1, 0.05}}}},
             {"position", {0, 0, 1}}});
}

// ---- building

Mat3 inertia_from(const json& v) {
  Mat3 J = vec3(v).asDiagonal();
  if (v.size() == 6) {
    J(0, 1) = J(1, 0) = v[3].get<double>();
    J(0, 2) = J(2, 0) = v[4].get<double>();
    J(1, 2) = J(2, 1) = v[5].get<double>();
  }
  return J;
}

// Surface, volume, and inertia and centre of a homogeneous shape of unit mass.
struct ShapeData {
  SurfaceMesh mesh;
  double volume = 0;
  Mat3 inertia = Mat3::Zero();
  Vec3 center = Vec3::Zero();
};

ShapeData box_shape(const json& shape, BodyInfo& info) {
  const Vec3 a = vec3(shape["size"]), s = a.cwiseProduct(a) / 12;
  info.shape_points = "vertices";
  for (int v = 0; v < 8; ++v) {
    const Vec3 sign((v & 1) != 0 ? 0.5 : -0.5, (v & 2) != 0 ? 0.5 : -0.5, (v & 4) != 0 ? 0.5 : -0.5);
    info.sets["vertices"].points.push_back({-1, sign.cwiseProduct(a)});
    info.sets["vertices"].labels.push_back("vertex." + std::to_string(v));
    info.sets["vertices"].shares.push_back(0.125);
  }
  return {make_box(a), a.prod(), Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1]).asDiagonal()};
}

ShapeData sphere_shape(const json& shape, BodyInfo& info) {
  const double r = shape["radius"].get<double>();
  info.radius = r;
  return {make_sphere(r), 4.0 / 3.0 * M_PI * r * r * r, 0.4 * r * r * Mat3::Identity()};
}

// Points of the rims in body axes, evenly spaced.
constexpr int points_of_rim = 24;

ShapeData cylinder_shape(const json& shape, BodyInfo& info) {
  const double r = shape["radius"].get<double>(), l = shape["length"].get<double>();
  const int axis = text(shape["axis"])[0] - 'x';
  Vec3 J = Vec3::Constant(r * r / 4 + l * l / 12);
  J[axis] = r * r / 2;
  info.shape_points = "rims";
  PointSet& rims = info.sets["rims"];
  for (const double end : {-0.5, 0.5})
    for (int k = 0; k < points_of_rim; ++k) {
      const double phi = 2 * M_PI * k / points_of_rim;
      Vec3 x;
      x[axis] = end * l;
      x[(axis + 1) % 3] = r * std::cos(phi);
      x[(axis + 2) % 3] = r * std::sin(phi);
      rims.points.push_back({-1, x});
      rims.labels.push_back("rim." + std::to_string(rims.labels.size()));
      rims.shares.push_back(0.5 / points_of_rim);
    }
  return {make_cylinder(r, l, static_cast<Axis>(axis)), M_PI * r * r * l, J.asDiagonal()};
}

ShapeData mesh_shape(BuildContext& context, const json& shape, const std::string& pointer, bool mass_wanted) {
  ShapeData data;
  const std::filesystem::path file = context.file(text(shape["file"]), pointer + "/file");
  try {
    data.mesh = read_stl(file, shape["scale"].get<double>());
    if (!mass_wanted) return data;
    const MassProperties p = mass_properties(data.mesh, 1.0);
    data.volume = p.volume;
    data.inertia = p.inertia / p.mass;
    data.center = p.center;
  } catch (const std::runtime_error& e) {
    context.error(pointer + "/file", e.what());
  }
  return data;
}

ShapeData read_shape(BuildContext& context, const json& body, const std::string& pointer, BodyInfo& info) {
  if (!body.contains("shape")) return {};
  const json& shape = body["shape"];
  const std::string type = text(shape["type"]);
  if (type == "box") return box_shape(shape, info);
  if (type == "sphere") return sphere_shape(shape, info);
  if (type == "cylinder") return cylinder_shape(shape, info);
  return mesh_shape(context, shape, pointer + "/shape", body.contains("density") || !body.contains("inertia"));
}

// All places where triangles of the surface meet, each once.
void add_vertices(BodyInfo& info) {
  info.shape_points = "vertices";
  PointSet& vertices = info.sets["vertices"];
  std::set<std::array<double, 3>> known;
  for (const Vec3& x : info.mesh.points) {
    if (!known.insert({x[0], x[1], x[2]}).second) continue;
    vertices.points.push_back({-1, x});
    vertices.labels.push_back("vertex." + std::to_string(vertices.labels.size()));
  }
  vertices.shares.assign(vertices.points.size(),
                         1.0 / static_cast<double>(std::max<std::size_t>(1, vertices.points.size())));
}

void fix_components(System& system, int node, const json& fixed) {
  for (const json& item : fixed) {
    const std::string word = text(item);
    const int first = word == "rotation" ? 3 : word == "translation" ? 0 : word[0] - 'x';
    const int count = word == "rotation" || word == "translation" ? 3 : 1;
    for (int c = first; c < first + count; ++c) system.fix(node, c);
  }
}

RigidBody build_rigid_body(BuildContext& context, const BodySource& source) {
  const json& body = *source.json;
  BodyInfo& info = *source.info;
  ShapeData shape = read_shape(context, body, source.pointer, info);

  RigidBody rigid;
  rigid.mass = body.contains("mass") ? body["mass"].get<double>() : body["density"].get<double>() * shape.volume;
  rigid.inertia = body.contains("inertia") ? inertia_from(body["inertia"]) : Mat3(rigid.mass * shape.inertia);
  // products of values in range may overflow
  if (!std::isfinite(rigid.mass) || !rigid.inertia.allFinite())
    context.error(source.pointer,
                  "the mass or the inertia of this body is not a finite number: too large a shape or density");
  // the frame is at the centre of mass: move the mesh there
  for (Vec3& p : shape.mesh.points) p -= shape.center;
  info.mesh = std::move(shape.mesh);
  if (body.contains("shape") && text(body["shape"]["type"]) == "mesh") add_vertices(info);

  const Vec3 x = vec3(body["position"]);
  const Quaternion p = orientation(body);
  const double q[7] = {x[0], x[1], x[2], p[0], p[1], p[2], p[3]};
  rigid.node = context.add_node(NodeKind::frame, q, info.name, vec3(body["velocity"]), vec3(body["angular_velocity"]));
  info.nodes = {rigid.node};
  for (auto& [name, set] : info.sets)
    for (AttachedPoint& point : set.points) point.node = rigid.node;
  info.points["center"] = {rigid.node, Vec3::Zero()};
  for (const json& point : body["points"]) info.points[text(point["name"])] = {rigid.node, vec3(point["at"])};
  fix_components(context.model.system, rigid.node, body["fixed"]);

  context.total_mass += rigid.mass;
  context.size = std::max(context.size, info.radius);
  for (const Vec3& point : info.mesh.points) context.size = std::max(context.size, point.norm());
  for (const auto& [name, point] : info.points) context.size = std::max(context.size, point.offset.norm());
  return rigid;
}

void build_rigid_bodies(BuildContext& context, const std::vector<BodySource>& bodies) {
  std::vector<RigidBody> rigid;
  rigid.reserve(bodies.size());
  for (const BodySource& body : bodies) rigid.push_back(build_rigid_body(context, body));
  context.model.system.add(std::make_unique<RigidBodyBlock>("rigid bodies", std::move(rigid)));
}

std::string rigid_point_error(const json& body, const std::string* point, PointUse use) {
  const std::string name = text_of(body, "name");
  if (use == PointUse::element) return "a rigid body has no elements";
  if (point == nullptr) return {};
  const bool several = use == PointUse::several;
  std::vector<std::string> points = names_of(list_of(body, "points"));
  if (std::find(points.begin(), points.end(), "center") == points.end()) points.emplace_back("center");
  // an unknown shape may be a box
  const std::string shape = body.contains("shape") ? text_of(body["shape"], "type") : "none";
  const std::string set = shape == "cylinder" ? "rims" : shape != "none" && shape != "sphere" ? "vertices" : "";
  const bool has_set = !set.empty();
  if (has_set && *point == set) {
    if (several) return {};
    return "expected one point, got " + in_quotes(name + "." + set) + ", which is several";
  }
  if (several && has_set) points.push_back(set);
  if (std::find(points.begin(), points.end(), *point) != points.end()) return {};
  return "body " + in_quotes(name) + " has no point " + in_quotes(*point) + suggestion(*point, points);
}

}  // namespace

BodyType rigid_type() {
  return {.type = "rigid",
          .help = "a rigid body",
          .rotates = true,
          .keys = rigid_spec,
          .build = build_rigid_bodies,
          .point_error = rigid_point_error,
          .one_node = true,
          .is_sphere =
              [](const json& body) { return body.contains("shape") && text_of(body["shape"], "type") == "sphere"; },
          .sphere_words = "a rigid body with the shape of a sphere",
          .references = {"bruels_cardona_arnold_2012"}};
}

}  // namespace carom
