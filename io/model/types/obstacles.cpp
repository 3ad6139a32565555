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

Vec3 plane_normal(const json& obstacle) { return vec3(obstacle["normal"]).stableNormalized(); }

std::vector<ObstacleSurface> plane_surfaces(const json& obstacle) {
  return {{make_plane(vec3(obstacle["point"]), plane_normal(obstacle)), ""}};
}

SurfaceMesh plane_picture(const json& obstacle, double size) {
  return make_plane_patch(vec3(obstacle["point"]), plane_normal(obstacle), size);
}

std::vector<Key> sphere_keys() {
  return {required("center", vector3("length"), "centre"), required("radius", length(), "radius"), side_key()};
}

std::vector<ObstacleSurface> sphere_surfaces(const json& obstacle) {
  return {{make_sphere(vec3(obstacle["center"]), obstacle["radius"].get<double>(), is_inside(obstacle)), ""}};
}

SurfaceMesh sphere_picture(const json& obstacle, double) {
  const Vec3 center = vec3(obstacle["center"]);
  SurfaceMesh mesh = make_sphere(obstacle["radius"].get<double>(), 36);
  for (Vec3& p : mesh.points) p += center;
  return mesh;
}

std::vector<Key> cylinder_keys() {
  return {required("center", vector3("length"), "a point of the axis: the middle of its length"),
          required("axis", nonzero_vector3("number"), "direction of the axis, of any length"),
          required("radius", length(), "radius"),
          optional("length", length(), "length, between two lids (default: infinite)"),
          side_key(),
          draw_size_key()};
}

Vec3 cylinder_axis(const json& obstacle) { return vec3(obstacle["axis"]).stableNormalized(); }
/// 0 of an infinite cylinder.
double cylinder_length(const json& obstacle) {
  return obstacle.contains("length") ? obstacle["length"].get<double>() : 0;
}

std::vector<ObstacleSurface> cylinder_surfaces(const json& obstacle) {
  const Vec3 center = vec3(obstacle["center"]), axis = cylinder_axis(obstacle);
  const double length = cylinder_length(obstacle);
  const bool inside = is_inside(obstacle);
  std::vector<ObstacleSurface> surfaces = {
      {make_cylinder(center, axis, obstacle["radius"].get<double>(), length, inside), ""}};
  // a closed container is a mantle and two lids, which may be touched together
  if (inside && length > 0) {
    surfaces[0].suffix = ".mantle";
    surfaces.push_back({make_plane(center - 0.5 * length * axis, axis), ".bottom"});
    surfaces.push_back({make_plane(center + 0.5 * length * axis, -axis), ".top"});
  }
  return surfaces;
}

SurfaceMesh cylinder_picture(const json& obstacle, double size) {
  const Vec3 center = vec3(obstacle["center"]);
  const double length = cylinder_length(obstacle);
  const bool finite = length > 0;
  SurfaceMesh mesh = make_cylinder(obstacle["radius"].get<double>(), finite ? length : size, Axis::z, 36,
                                   finite && !is_inside(obstacle));
  const Mat3 R = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), cylinder_axis(obstacle)).toRotationMatrix();
  for (Vec3& p : mesh.points) p = center + R * p;
  return mesh;
}

}  // namespace

std::vector<ObstacleType> analytic_obstacle_types() {
  return {
      {"plane", "a half space", plane_keys, plane_surfaces, plane_picture},
      {"sphere", "a ball, or the inside of one", sphere_keys, sphere_surfaces, sphere_picture},
      {"cylinder", "a cylinder, or the inside of one", cylinder_keys, cylinder_surfaces, cylinder_picture},
  };
}

}  // namespace carom
