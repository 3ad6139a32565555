// The analytic obstacles: plane, sphere, cylinder.

#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

Node length() { return number("length").above(0); }
Key side_key() {
  return preset("side", choice({{"outside", "bodies are outside"}, {"inside", "bodies are inside"}}), "outside",
                "where the free space is");
}
Key draw_size_key() {
  return optional("draw_size", length(), "length of its picture where it is infinite (default: from the model)");
}
bool is_inside(const json& obstacle) { return text(obstacle["side"]) == "inside"; }

std::vector<Key> plane_keys() {
  return {preset("point", vector3("length"), json::array({0, 0, 0}), "a point of the plane"),
          required("normal", nonzero_vector3("number"), "normal into the free space, of any length"), draw_size_key()};
}

std::vector<ObstacleSurface> build_plane(const json& obstacle, double size, SurfaceMesh& mesh) {
  const Vec3 point = vec3(obstacle["point"]), normal = vec3(obstacle["normal"]).stableNormalized();
  mesh = make_plane_patch(point, normal, size);
  return {{make_plane(point, normal), ""}};
}

std::vector<Key> sphere_keys() {
  return {required("center", vector3("length"), "centre"), required("radius", length(), "radius"), side_key()};
}

std::vector<ObstacleSurface> build_sphere(const json& obstacle, double, SurfaceMesh& mesh) {
  const Vec3 center = vec3(obstacle["center"]);
  const double radius = obstacle["radius"].get<double>();
  mesh = make_sphere(radius, 36);
  for (Vec3& p : mesh.points) p += center;
  return {{make_sphere(center, radius, is_inside(obstacle)), ""}};
}

std::vector<Key> cylinder_keys() {
  return {required("center", vector3("length"), "a point of the axis: the middle of its length"),
          required("axis", nonzero_vector3("number"), "direction of the axis, of any length"),
          required("radius", length(), "radius"),
          optional("length", length(), "length, between two lids (default: infinite)"),
          side_key(),
          draw_size_key()};
}

std::vector<ObstacleSurface> build_cylinder(const json& obstacle, double size, SurfaceMesh& mesh) {
  const Vec3 center = vec3(obstacle["center"]), axis = vec3(obstacle["axis"]).stableNormalized();
  const double radius = obstacle["radius"].get<double>();
  const double given = obstacle.contains("length") ? obstacle["length"].get<double>() : 0;
  const bool inside = is_inside(obstacle), finite = given > 0;
  mesh = make_cylinder(radius, finite ? given : size, Axis::z, 36, finite && !inside);
  const Mat3 R = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), axis).toRotationMatrix();
  for (Vec3& p : mesh.points) p = center + R * p;

  // a closed container consists of a mantle and two lids, which may be touched at the same time
  std::vector<ObstacleSurface> surfaces = {{make_cylinder(center, axis, radius, given, inside), ""}};
  if (inside && finite) {
    surfaces[0].suffix = ".mantle";
    surfaces.push_back({make_plane(center - 0.5 * given * axis, axis), ".bottom"});
    surfaces.push_back({make_plane(center + 0.5 * given * axis, -axis), ".top"});
  }
  return surfaces;
}

}  // namespace

std::vector<ObstacleType> analytic_obstacle_types() {
  return {
      {"plane", "a half space", plane_keys, build_plane},
      {"sphere", "a ball, or the inside of one", sphere_keys, build_sphere},
      {"cylinder", "a cylinder, or the inside of one", cylinder_keys, build_cylinder},
  };
}

}  // namespace carom
