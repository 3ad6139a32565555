// Model: the mechanics built from a model document, with the names by which users speak of its parts.
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
#include "elements/joints/joint_coordinate.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/projection.hpp"
#include "integrators/common/simulation.hpp"
#include "io/mesh/surface_mesh.hpp"
#include "io/model/model_document.hpp"

namespace carom {

class Obstacle;
class PrescribedMotion;

/// A point that moves with a node, or with ground (node -1, offset the place itself).
struct AttachedPoint {
  int node = -1;
  Vec3 offset = Vec3::Zero();
};

/// Several points of a body under one name: "nodes", the vertices of a box, a group of a mesh.
struct PointSet {
  std::vector<AttachedPoint> points;
  std::vector<std::string> labels;  ///< names of the points within the body: "node.3"
  /// Parts, which sum to 1, of a force spread evenly over the set; empty where nothing is there to bear it.
  std::vector<double> shares;
};

/// Elements of a body, and the cells of its mesh by which they are drawn: cells_per_element each, in order.
struct BodyElements {
  const ElementBlock* block = nullptr;
  Range range;  ///< which of the block's elements are this body's
  std::size_t first_cell = 0;
  std::size_t cells_per_element = 1;
};

/// What the picture and the probes know of a body.
struct BodyInfo {
  std::string name, type;
  std::vector<int> nodes;                       ///< one, or all of its mesh; those of a line in order
  bool is_line = false;                         ///< a line through its nodes, which has a length
  std::map<std::string, AttachedPoint> points;  ///< by name
  std::map<std::string, PointSet> sets;         ///< by name
  double radius = 0;                            ///< of a sphere or point mass
  SurfaceMesh mesh;                             ///< what is drawn, in the axes of the nodes it moves with
  std::vector<int> mesh_nodes;                  ///< the node of each point of the mesh; empty: the body's only one
  std::vector<BodyElements> elements;           ///< of a flexible body, counted through: "element.K"
  /// Faces of its surface by group: 3 or 4 nodes each (-1 fills up), counter-clockwise seen from outside.
  std::map<std::string, std::vector<std::array<int, 4>>> faces;

  /// A named point or "node.K"; "" is the only node's place. nullopt if there is no such point.
  std::optional<AttachedPoint> find_point(const std::string& point) const;
  /// The message that there is no such point, with the nearest one or all there are.
  std::string unknown_point(const std::string& point) const;
  /// The set of all nodes, "nodes", with their shares.
  void add_node_set(std::vector<double> shares);
};

/// The rows of a contact, joint or stop.
struct RowGroup {
  std::string name;
  std::vector<int> rows;
  bool unilateral = false;
  AttachedPoint point;  ///< of a joint: its second point
};

/// A joint: what it holds, what it leaves free, and what acts along that.
struct JointInfo : RowGroup {
  AttachedPoint a;                                     ///< its first point
  std::vector<int> stops;                              ///< rows of its stops
  std::optional<JointCoordinate> angle, displacement;  ///< free coordinates
  int angle_driver = -1, displacement_driver = -1;     ///< rows
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

/// What the keys of initial_state asked for, and how far that moved the state.
struct InitialProjection {
  bool positions = false, velocities = false;  ///< asked for
  ProjectionReport position, velocity;         ///< without iterations: that part fitted and was left as it was
  bool equilibrium = false;                    ///< asked for with initial_state/equilibrium
  ProjectionReport statics;                    ///< what it took
};

struct OutputSettings {
  bool vtu = true, events = true, energy = true, checkpoint = true;
  std::optional<long> vtu_every;
  std::optional<double> vtu_interval;
  std::optional<long> energy_every, checkpoint_every;
  double checkpoint_wall_interval = 60;
  int checkpoint_keep = 2;
  std::vector<ProbeSettings> probes;
  std::vector<ExpectationSettings> expectations;
};

/// What a run is given beside its model file.
struct RunOptions {
  /// Instead of the model's end, to which its expectations and its ramp of loads still refer.
  std::optional<double> end_time = std::nullopt;
  /// Instead of the model's: a run that goes on keeps those that it began with.
  std::optional<Scales> scales = std::nullopt;
  int threads = 1;  ///< of the assembly; results do not depend on them
};

struct Model {
  System system;
  State state;           ///< q, v and t at the start; the integrator's initialise() completes it
  State state_at_start;  ///< the same, left alone by a run
  InitialProjection projection;
  using MakeIntegrator = std::function<std::unique_ptr<Integrator>(const System&)>;
  MakeIntegrator make_integrator;
  SimulationOptions simulation;
  Scales scales;  ///< of all tolerances
  OutputSettings output;
  std::vector<BodyInfo> bodies;
  std::vector<RowGroup> contacts;
  std::vector<JointInfo> joints;
  std::vector<RowGroup> stops;  ///< of joints: "hinge.upper"
  std::vector<std::pair<AttachedPoint, AttachedPoint>> springs;
  double total_mass = 0;
  std::vector<ObstacleInfo> obstacles;
  double thinnest_obstacle = std::numeric_limits<double>::infinity();  ///< see Obstacle::thickness
  std::vector<std::string> warnings;  ///< true remarks on a valid model: initial penetrations, thin obstacles

  const BodyInfo* find_body(const std::string& name) const;
  /// "body", "body.point" or "ground"; nullopt if there is no such point.
  std::optional<AttachedPoint> find_point(const std::string& reference) const;
  Vec3 place(const AttachedPoint& point, In q) const;
  /// Where the model file speaks of an equation's body or of a row's joint or contact: "/bodies/0".
  std::string pointer_of_equation(int equation) const;
  std::string pointer_of_row(int row) const;

  std::map<std::string, Vec3> ground_points;
  std::map<std::string, std::string> files;  ///< absolute path of every file that the model names, by its pointer
};

/// The resolved model with the end time of a run: what checkpoints hold and restarts compare.
nlohmann::json resolved_model(const ModelDocument& document, const RunOptions& options);
/// The same with the files of the model by their absolute paths: run.json, which may lie elsewhere than the model.
nlohmann::json repeatable_model(nlohmann::json resolved, const Model& model);
/// The text of a file that holds such a model.
std::string model_text(const nlohmann::json& model);

/// Builds the mechanics. Errors that only building shows are added to `issues`; null is returned then, and when there
/// are some already.
std::unique_ptr<Model> build_model(const ModelDocument& document, const RunOptions& options, ModelIssues& issues);

/// The integrator of a model, with the initial accelerations computed if `initialise`; where that cannot be done
/// `issues` gets an error and null is returned.
std::unique_ptr<Integrator> start_integrator(Model& model, bool initialise, ModelIssues& issues);

}  // namespace carom
