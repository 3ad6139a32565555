// Registries: the types of bodies, joints, obstacles and integrators in model files.
// A type declares its keys and reads them in one file, io/model/types/<name>.cpp. A new type needs this file and one
// line in registry.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "elements/joints/joint.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "io/model/build_context.hpp"
#include "io/model/reference_target.hpp"
#include "io/schema/spec.hpp"

namespace carom {

/// The registered type of a checked value.
template <class Kind>
const Kind& find_type(const std::vector<Kind>& kinds, const nlohmann::json& tagged) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return tagged["type"] == k.type; });
}

// ---- bodies

struct BodySource {
  const nlohmann::json* json;
  std::string pointer;
  BodyInfo* info;  ///< name and type are set; the type's build() fills the rest
};

/// Allowed meanings of a reference to a body: one point; several points ("arm.nodes"); an element ("arm.element.3").
enum class PointUse { one, several, element };

struct BodyType {
  std::string type, help;
  bool rotates;  ///< the body's nodes are frames
  spec::Node (*keys)();
  /// Builds all bodies of the type: nodes, fixed components, elements.
  void (*build)(BuildContext& context, const std::vector<BodySource>& bodies);
  /// The error in "body.point"; null means "body" alone. Empty if the reference is correct or only building can tell.
  /// The body's other keys may be missing or wrong.
  std::string (*point_error)(const nlohmann::json& body, const std::string* point, PointUse use);
};
/// Keys that bodies share.
spec::Key body_name();
const std::vector<spec::Word>& translation_words();
spec::Node orientation_spec();
/// Checks a path: the operating system must accept it.
std::string check_path(const nlohmann::json& path, std::string& where);
/// point_error of lines with points "start", "end" and "node.K", the set "nodes" and elements "element.K". noun: such
/// as "a bar". elements: number of elements, if known.
std::string line_point_error(const nlohmann::json& body, const std::string* point, PointUse use,
                             const std::string& noun, std::optional<std::int64_t> elements);
/// Share of each node in a force that is distributed evenly along a line with elements of the given lengths.
std::vector<double> line_shares(const std::vector<double>& lengths);
/// The number under "elements" if it is readable.
std::optional<std::int64_t> element_count(const nlohmann::json& body);

BodyType rigid_type();
BodyType point_mass_type();
BodyType bar_type();
BodyType beam_type();
BodyType solid_type();
const std::vector<BodyType>& body_types();
/// Null if there is no such type.
const BodyType* find_body_type(const std::string& type);

// ---- joints

/// The rows and springs of all joints; equal kinds are collected to form one block.
struct JointRows {
  std::vector<Coincidence> points, linear_points;
  std::vector<Orthogonality> axes;
  std::vector<CoordinateRow> coordinates, linear_coordinates, drivers, stops;
  std::vector<CoordinateSpring> springs;
  std::optional<JointCoordinate> angle, displacement;  ///< free coordinates of the present joint, for probes
};

/// Two joined points and their initial positions.
struct JointSource {
  const nlohmann::json* json = nullptr;
  std::string pointer, name;
  AttachedPoint a, b;
  bool a_is_frame = false, b_is_frame = false;
  Vec3 x_a = Vec3::Zero(), x_b = Vec3::Zero();
  Quaternion q_a{1, 0, 0, 0}, q_b{1, 0, 0, 0};
  Mat3 R_a = Mat3::Identity(), R_b = Mat3::Identity();

  /// True if the side has rotations that can be held: a frame or the ground.
  bool a_is_oriented() const { return a_is_frame || a.node < 0; }
  bool b_is_oriented() const { return b_is_frame || b.node < 0; }
  bool both_oriented() const { return a_is_oriented() && b_is_oriented(); }
};

struct JointType {
  enum class Needs { nothing, first_frame, two_frames };  ///< sides that must be frames or ground
  std::string type, help;
  Needs needs;
  std::vector<spec::Key> (*keys)();  ///< keys other than name and points
  void (*build)(BuildContext& context, const JointSource& joint, JointRows& rows);
};
std::vector<JointType> rigid_joint_types();
const std::vector<JointType>& joint_types();

// ---- obstacles

struct ObstacleSurface {
  std::shared_ptr<const Obstacle> obstacle;
  std::string suffix;  ///< suffix of the contacts' names if an obstacle has several surfaces
};

struct ObstacleType {
  std::string type, help;
  std::vector<spec::Key> (*keys)();
  /// The surfaces, and the drawn mesh of the obstacle; `size` is the drawn size of infinite obstacles.
  std::vector<ObstacleSurface> (*build)(const nlohmann::json& obstacle, double size, SurfaceMesh& mesh);
};
std::vector<ObstacleType> analytic_obstacle_types();  ///< plane, sphere, cylinder
const std::vector<ObstacleType>& obstacle_types();

// ---- integrators

struct IntegratorType {
  std::string type, help;
  MethodInfo info;  ///< of the method with its default options
  spec::Node (*keys)();
  /// Reads the options. Precondition: scales and weight of the model are known.
  Model::MakeIntegrator (*build)(const nlohmann::json& integrator, const Model& model);
};
IntegratorType nsga_decoupled_type();
IntegratorType static_type();
const std::vector<IntegratorType>& integrator_types();
/// What the method of a checked "integrator" section takes and gives.
const MethodInfo& method_of(const nlohmann::json& integrator);

}  // namespace carom
