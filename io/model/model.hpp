// Model: the mechanics built from a model document, and the names of its parts.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/projection.hpp"
#include "integrators/common/simulation.hpp"
#include "io/mesh/surface_mesh.hpp"
#include "io/model/model_document.hpp"

namespace carom {

struct JointCoordinate;
class Obstacle;
class PrescribedMotion;

/// A point that moves with a node, or a point of the ground (node -1; the offset is the position).
struct AttachedPoint {
  int node = -1;
  Vec3 offset = Vec3::Zero();
};

/// Several points of a body with one name: "nodes", the vertices of a box, a group of a mesh.
struct PointSet {
  std::vector<AttachedPoint> points;
  std::vector<std::string> labels;  ///< names of the points within the body: "node.3"
  /// Share of each point in a force that is distributed evenly over the set, with the sum 1; empty if no element
  /// carries it.
  std::vector<double> shares;
};

/// Elements of a body, and the cells that draw them: cells_per_element cells for each element, in order.
struct BodyElements {
  const ElementBlock* block = nullptr;
  Range range;  ///< the body's elements within the block
  std::size_t first_cell = 0;
  std::size_t cells_per_element = 1;
};

/// A section between two section frames of a beam: the frame at `share` of the helix that joins them.
struct HelixSection {
  int node_a = -1, node_b = -1;                         ///< frame nodes
  Mat3 R_a = Mat3::Identity(), R_b = Mat3::Identity();  ///< from section axes to node axes
  double share = 0;                                     ///< of the length, from A
};

/// An element of a beam or bar, in the order of the line.
struct LineElement {
  double length = 0;    ///< undeformed
  bool corner = false;  ///< a corner lies at its start
};

/// A place along a line: the share of the length of an element, 0 at its start.
struct LinePlace {
  int element = 0;
  double share = 0;
};

/// Data of a body for pictures and probes.
struct BodyInfo {
  std::string name, type;
  std::vector<int> nodes;                       ///< one node, or all nodes of the mesh; along a line in order
  bool is_line = false;                         ///< the body is a line through its nodes and has a length
  std::map<std::string, AttachedPoint> points;  ///< by name
  std::map<std::string, PointSet> sets;         ///< by name
  std::string shape_points;     ///< the set with which the body touches obstacles; empty: its sphere or centre
  double radius = 0;            ///< for spheres and point masses
  SurfaceMesh mesh;             ///< the drawn mesh, in axes of the nodes to which its points belong
  std::vector<int> mesh_nodes;  ///< the node of each point of the mesh; empty: the body has only one node
  /// For each point of the mesh of a beam: the section in whose axes the point is given, or -1 for axes of its node.
  std::vector<int> mesh_sections;
  std::vector<HelixSection> sections;
  std::vector<LineElement> line;       ///< of a beam or bar
  std::vector<LinePlace> mesh_places;  ///< of each point of its mesh
  std::vector<BodyElements> elements;  ///< of a flexible body, numbered through: "element.K"
  /// Faces of the surface by group: 3 or 4 nodes each (-1: no fourth node), counter-clockwise seen from outside.
  std::map<std::string, std::vector<std::array<int, 4>>> faces;
  /// False for a body of coordinates, whose nodes are scalar and no points in space.
  bool in_space = true;
  /// Of such a body: the nodes of its coordinates x, y and z, which place it as a point in pictures; -1: no such node.
  std::array<int, 3> axes{-1, -1, -1};
  bool has_place() const { return in_space || axes[0] >= 0; }

  /// A named point or "node.K"; "" is the position of a single node. nullopt if there is no such point.
  std::optional<AttachedPoint> find_point(const std::string& point) const;
  /// The message for an unknown point, with the nearest name or all names.
  std::string unknown_point(const std::string& point) const;
  /// Adds the set "nodes" of all nodes with their shares.
  void add_node_set(std::vector<double> shares);
};

/// The rows of a contact, joint, stop, or constraint of coordinates.
struct RowGroup {
  std::string name;
  std::vector<int> rows;
  bool unilateral = false;
  AttachedPoint point;    ///< for joints: the second point
  std::string pointer{};  ///< in the model file
  bool angle = false;     ///< the gaps are angles, their multipliers moments
};

/// A joint: its constraints, its free coordinates, and the drivers, springs and stops along them.
struct JointInfo : RowGroup {
  std::string type;
  AttachedPoint a;                                             ///< the first point
  std::vector<int> stops;                                      ///< rows of the stops
  std::vector<int> friction;                                   ///< rows of friction, which share a disc
  std::shared_ptr<const JointCoordinate> angle, displacement;  ///< free coordinates; null: held
  int angle_driver = -1, displacement_driver = -1;             ///< rows of the drivers
};

struct SpringInfo {
  std::string name;
  AttachedPoint a, b;
};

struct ObstacleInfo {
  std::string contact;
  SurfaceMesh mesh;  ///< in the obstacle's frame
  std::shared_ptr<const PrescribedMotion> motion;
};

struct ProbeSettings {
  std::string name, of, quantity;
  std::string pointer;  ///< of the probe in the model file
  int every = 1;
};

struct ExpectationSettings {
  std::string probe;
  double value = 0, tolerance = 0, time = 0;
  std::string pointer;  ///< of the expectation in the model file
};

/// An entry of "until": see io/results/until.hpp.
struct UntilSettings {
  enum class Type { kinetic_energy, inertial_impulse, formula };
  Type type = Type::kinetic_energy;
  double below = 0;
  double duration = 0;  ///< for which it must hold
  double after = 0;     ///< time before which it does not count
  double damping = 1;   ///< rate of the viscous term
  std::string formula{};
  std::vector<std::string> probes{};  ///< the formula's variables, before t
  std::map<std::string, double, std::less<>> parameters{};
  std::string pointer{};  ///< of the entry in the model file
};

/// The requests of initial_state, and how far they moved the state.
struct InitialProjection {
  bool positions = false, velocities = false;  ///< requested
  ProjectionReport position, velocity;         ///< without iterations: this part fitted and did not change
  bool equilibrium = false;                    ///< requested by initial_state/equilibrium
  ProjectionReport statics;                    ///< iterations and changes of the static equilibrium
};

struct OutputSettings {
  bool vtu = true, events = true, energy = true, checkpoint = true;
  bool units = true;  ///< whether heads of tables name units
  std::optional<long> vtu_every;
  std::optional<double> vtu_interval;
  std::optional<long> energy_every, checkpoint_every;
  double checkpoint_wall_interval = 60;
  int checkpoint_keep = 2;
  std::vector<ProbeSettings> probes;
  std::vector<ExpectationSettings> expectations;

  /// The unit of a column with this SI unit.
  std::string unit(const std::string& si) const { return units ? si : ""; }
};

/// The inputs of a run in addition to its model file.
struct RunOptions {
  /// Replaces the end of the run. The model's expectations and load ramp still refer to the model's own end.
  std::optional<double> end_time = std::nullopt;
  /// Replaces the model's scales: a restarted run keeps the scales of its first start.
  std::optional<Scales> scales = std::nullopt;
  int threads = 1;  ///< of elements and linear solvers of solids; results do not depend on this number
};

struct Model {
  System system;
  State state;           ///< q, v and t at the start; the integrator's initialise() completes the state
  State state_at_start;  ///< a copy that a run does not change
  InitialProjection projection;
  using MakeIntegrator = std::function<std::unique_ptr<Integrator>(const System&)>;
  MakeIntegrator make_integrator;
  SimulationOptions simulation;
  Scales scales;  ///< of all tolerances
  OutputSettings output;
  std::vector<UntilSettings> until;
  std::vector<BodyInfo> bodies;
  std::vector<RowGroup> contacts;
  std::vector<JointInfo> joints;
  std::vector<RowGroup> stops;        ///< stops of joints: "hinge.upper"
  std::vector<RowGroup> constraints;  ///< constraints of coordinates: "pendulum.rod"; their gaps are contacts
  std::vector<SpringInfo> springs;
  double total_mass = 0;
  std::vector<ObstacleInfo> obstacles;
  std::vector<std::string> warnings;  ///< remarks about a valid model: initial penetrations, open joints

  const BodyInfo* find_body(const std::string& name) const;
  /// The node of a coordinate, "pendulum.x"; -1 if there is no such coordinate.
  int find_coordinate(const std::string& reference) const;
  /// The point of "body", "body.point" or "ground"; nullopt if there is no such point.
  std::optional<AttachedPoint> find_point(const std::string& reference) const;
  Vec3 place(const AttachedPoint& point, In q) const;
  /// Pointer of an equation's body or of a row's joint or contact in the model file: "/bodies/0".
  std::string pointer_of_equation(int equation) const;
  std::string pointer_of_row(int row) const;

  std::map<std::string, Vec3> ground_points;
  std::map<std::string, std::string> files;  ///< absolute paths of the model's files, by pointer
};

/// The resolved model with the end time of a run, which checkpoints store and restarts compare.
nlohmann::json resolved_model(const ModelDocument& document, const RunOptions& options);
/// The same model with absolute paths of its files, for run.json, which may lie in another directory than the model.
nlohmann::json repeatable_model(nlohmann::json resolved, const Model& model);
/// The text of a file with such a model.
std::string model_text(const nlohmann::json& model);

/// Builds the mechanics. Adds errors that appear only during building to `issues`. Returns null if `issues` has errors,
/// earlier errors included.
std::unique_ptr<Model> build_model(const ModelDocument& document, const RunOptions& options, ModelIssues& issues);

/// Makes the integrator of a model. initialise: also computes the initial accelerations. If that fails, adds an error
/// to `issues` and returns null.
std::unique_ptr<Integrator> start_integrator(Model& model, bool initialise, ModelIssues& issues);

}  // namespace carom
