// Registries: the types of materials, bodies, joints, obstacles and integrators a model file may name.
//
// A type declares its keys and reads them; both stand in one file, io/model/types/<name>.cpp. Adding one: that file,
// and a line in registry.cpp. CONTRIBUTING.md shows an example.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "elements/solid/solid.hpp"
#include "integrators/common/smooth_motion.hpp"
#include "io/model/build_context.hpp"
#include "io/model/joint_parts.hpp"
#include "io/model/reference_target.hpp"
#include "io/schema/spec.hpp"

namespace carom {

/// The registered type of a checked value.
template <class Kind>
const Kind& find_type(const std::vector<Kind>& kinds, const nlohmann::json& tagged) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return tagged["type"] == k.type; });
}

// ---- materials

/// A material is a law with its own constants. A law of solids: elements/solid/solid.hpp.
struct MaterialType {
  std::string type, help;
  std::vector<spec::Key> (*keys)();  ///< beside its name
  /// The law of solids of this material.
  SolidLaw (*law)(const nlohmann::json& material);
};
std::vector<MaterialType> elastic_material_types();
/// The one material of bars and beams, which take its "young", "poisson" and "density".
bool is_linear_elastic(const MaterialType& type);
const std::vector<MaterialType>& material_types();
/// Null if there is no such type.
const MaterialType* find_material_type(const std::string& type);

// ---- bodies

struct BodySource {
  const nlohmann::json* json;
  std::string pointer;
  BodyInfo* info;  ///< name and type are set; the type's build() fills the rest
};

/// Allowed meanings of a reference to a body: one point; several points ("arm.nodes"); an element ("arm.element.3").
enum class PointUse { one, several, element };

/// The length of a body that a point bears of a load spread evenly along the body.
struct LineShare {
  AttachedPoint point;
  double length = 0;
  Mat3 axes = Mat3::Identity();  ///< from the axes of the section there to those of the node
};

/// Names within a body that has formulas of coordinates.
struct FormulaNames {
  std::vector<std::string> coordinates, constraints, gaps;
  bool modes = false;  ///< constraints switch
};

struct BodyType {
  std::string type, help;
  bool rotates;  ///< the body's nodes are frames
  spec::Node (*keys)();
  /// Builds all bodies of the type: nodes, fixed components, elements.
  void (*build)(BuildContext& context, const std::vector<BodySource>& bodies);
  /// The error in "body.point"; null means "body" alone. Empty if the reference is correct or only building can tell.
  /// The body's other keys may be missing or wrong.
  std::string (*point_error)(const nlohmann::json& body, const std::string* point, PointUse use);

  // ---- what only some kinds have

  /// All its points move with one node.
  bool one_node = false;
  /// A joint may hold a set of its nodes as one rigid frame.
  bool sets_in_joints = false;
  /// Fields of its elements, which probes record.
  std::vector<OutputField> (*fields)() = nullptr;
  /// Whether it takes materials of a type; null: it has no material.
  bool (*takes_material)(const MaterialType& type) = nullptr;
  /// Whether a body is a sphere that may touch others, and such bodies in words; null: never. The body's keys may be
  /// missing or wrong.
  bool (*is_sphere)(const nlohmann::json& body) = nullptr;
  std::string sphere_words{};
  /// Complaints about keys that depend on what the body refers to, pointers counted from the body. `section` and
  /// `material` are null where the body names none or the one named has errors.
  std::vector<spec::Problem> (*problems)(const nlohmann::json& body, const nlohmann::json* section,
                                         const nlohmann::json* material) = nullptr;
  /// Names of the coordinates, constraints and gaps; null: it has none. The body's keys may be missing or wrong.
  FormulaNames (*formula_names)(const nlohmann::json& body) = nullptr;
  /// What the points of a built body bear of a load along the body, in order; null: it takes no "line_force" or
  /// "line_torque".
  std::vector<LineShare> (*line_load_shares)(const BodyInfo& body) = nullptr;
  /// Keys of the papers of its formulation: io/studies/bibliography.cpp.
  std::vector<std::string> references{};
  /// Those of what only some of its bodies use, by their resolved keys; null: none.
  std::vector<std::string> (*option_references)(const nlohmann::json& body) = nullptr;
};
/// Keys that bodies share.
spec::Key body_name();
/// Key "mass": which mass matrix, with a text for each.
spec::Key mass_matrix(const std::string& consistent, const std::string& lumped);
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
BodyType coordinates_type();
BodyType coordinate_frame_type();
const std::vector<BodyType>& body_types();
/// Null if there is no such type.
const BodyType* find_body_type(const std::string& type);

// ---- joints

/// Two points to be joined, and where they are at the start.
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
  std::vector<spec::Key> (*keys)();  ///< beside its name and points
  /// Adds the rows and springs of the joint to `parts`.
  void (*build)(BuildContext& context, const JointSource& joint, JointParts& parts);
};
// Pieces of joints that several types share. `axis` is a unit vector in the axes of the model, at the start.
spec::Key axis_key();
/// The unit vector under a key.
Vec3 direction(const JointSource& joint, const char* key);
JointCoordinate displacement_along(const JointSource& joint, const Vec3& axis);
/// The run ends where the angle leaves the range in which a state determines the angle.
void watch_angle(System& system, const JointCoordinate& angle, const std::string& name);
JointCoordinate angle_about(const JointSource& joint, const Vec3& axis, double at_start = 0);
/// Adds rows that leave only the translation along and the rotation about the axis free.
void hold_common_axis(const JointSource& joint, const Vec3& axis, JointParts& parts);

std::vector<JointType> rigid_joint_types();
const std::vector<JointType>& joint_types();
/// Adds a type from outside this library, before the first model is read; types of carom stand in registry.cpp.
void add_joint_type(JointType type);

// ---- obstacles

struct ObstacleSurface {
  std::shared_ptr<const Obstacle> obstacle;
  std::string suffix;  ///< suffix of the contacts' names if an obstacle has several surfaces
};

struct ObstacleType {
  std::string type, help;
  std::vector<spec::Key> (*keys)();
  std::vector<ObstacleSurface> (*surfaces)(const nlohmann::json& obstacle);
  /// The mesh by which the obstacle is drawn; an infinite obstacle is drawn with the length `size`.
  SurfaceMesh (*picture)(const nlohmann::json& obstacle, double size);
};
std::vector<ObstacleType> analytic_obstacle_types();  ///< plane, sphere, cylinder
const std::vector<ObstacleType>& obstacle_types();

// ---- integrators

/// The keys that every integrator has; `step` and `duration` differ in what they mean and whether they are required.
std::vector<spec::Key> time_keys(spec::Key step, spec::Key duration, const std::string& subdivided);
/// The same of a dynamic method: the steps of a simulated time.
std::vector<spec::Key> dynamic_time_keys();
/// What these keys say. All other code asks for times here.
struct TimeSettings {
  double step = 0, duration = 0, start = 0;
  int max_subdivisions = 0;
};
TimeSettings time_settings(const nlohmann::json& integrator);

/// The key "newton" with its keys; `iterated`: "a step".
spec::Key newton_key(std::vector<spec::Key> keys, const std::string& iterated);
/// The keys of a Newton iteration that every integrator has: iterations and tolerances.
std::vector<spec::Key> newton_keys(const std::string& max_iterations_help, const std::string& tolerance_help);
/// Reads these keys into options with members of the same names.
template <class Options>
void read_newton_keys(const nlohmann::json& newton, Options& options) {
  options.max_iterations = newton["max_iterations"].get<int>();
  options.tolerance = newton["tolerance"].get<double>();
  options.constraint_tolerance = newton["constraint_tolerance"].get<double>();
}

/// The keys of the generalized-alpha methods with time steps: spectral radius, initial acceleration, iteration.
std::vector<spec::Key> generalized_alpha_keys();
InitialAcceleration initial_acceleration_of(const nlohmann::json& integrator);
NewtonOptions newton_options(const nlohmann::json& newton);
/// Reads these keys into options with members of the same names.
template <class Options>
void read_generalized_alpha_keys(const nlohmann::json& integrator, Options& options) {
  options.rho_infinity = integrator["rho_infinity"].get<double>();
  options.initial_acceleration = initial_acceleration_of(integrator);
  options.newton = newton_options(integrator["newton"]);
}
/// The words of "reaction_directions".
spec::Node directions_choice();
/// E of constraints that switch.
spec::Key intermediate_gradient_key(double preset_value);
/// The key "penalty" of augmented multipliers.
spec::Key penalty_key();

struct IntegratorType {
  std::string type, help;
  MethodInfo info;  ///< of the method with its default options
  spec::Node (*keys)();
  /// Reads the options. Precondition: scales and weight of the model are known.
  Model::MakeIntegrator (*build)(const nlohmann::json& integrator, const Model& model);
  /// Keys of the papers of the method: io/studies/bibliography.cpp.
  std::vector<std::string> references{};
  /// Those of what only some options use, by the resolved section; null: none.
  std::vector<std::string> (*option_references)(const nlohmann::json& integrator) = nullptr;
  /// Complaints about keys that do not fit each other, pointers counted from the section; null: none.
  std::vector<spec::Problem> (*problems)(const nlohmann::json& integrator) = nullptr;
};
IntegratorType nsga_decoupled_type();
std::vector<IntegratorType> coupled_nsga_types();
IntegratorType generalized_alpha_type();
IntegratorType event_driven_type();
IntegratorType moreau_jean_type();
std::vector<IntegratorType> explicit_types();
IntegratorType static_type();
const std::vector<IntegratorType>& integrator_types();
/// What the method of a checked "integrator" section takes and gives.
const MethodInfo& method_of(const nlohmann::json& integrator);

}  // namespace carom
