// BuildContext: data shared by the readers of bodies, joints, loads and contacts while a model is built.
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/formula/time_function.hpp"
#include "io/model/model.hpp"
#include "io/model/model_document.hpp"

namespace carom {

// JSON values of a checked document.
Vec3 vec3(const nlohmann::json& value);
std::string text(const nlohmann::json& value);
/// Unit quaternion of the optional key "orientation".
Quaternion orientation(const nlohmann::json& body);

class BuildContext {
 public:
  BuildContext(const ModelDocument& model_document, ModelIssues& found, Model& built)
      : document(model_document), issues(found), model(built) {}

  const ModelDocument& document;
  ModelIssues& issues;
  Model& model;
  const nlohmann::json& root() const { return document.resolved(); }
  void error(const std::string& pointer, const std::string& message) { issues.add(pointer, message); }

  /// The path of a file that the model names at `pointer`, relative to the model's folder. run.json needs it, too.
  std::filesystem::path file(const std::string& name, const std::string& pointer);

  /// Adds a node with its initial velocity (x' inertial, Omega in body axes; Omega is ignored unless the node is a
  /// frame).
  int add_node(NodeKind kind, std::span<const double> configuration, const std::string& name, const Vec3& velocity,
               const Vec3& angular_velocity = Vec3::Zero());
  const std::vector<std::pair<Vec3, Vec3>>& velocities() const { return velocities_; }

  /// Derivatives of a function of time that the model uses; an acceleration is used only at the start.
  enum class Needs { value, rate, acceleration };
  /// What moves as the function says. A jump of a place or angle ends a dynamic run; `turn` is the angle of an
  /// obstacle, `surface` the velocity of its surface.
  enum class Moves { nothing, place, angle, turn, surface };
  TimeFunction time_function(const nlohmann::json& value, const std::string& pointer, Needs needs = Needs::value,
                             Moves moves = Moves::nothing);
  std::array<TimeFunction, 3> time_functions(const nlohmann::json& value, const std::string& pointer,
                                             Needs needs = Needs::value, Moves moves = Moves::nothing);

  /// Adds a scalar coordinate with its initial value and rate.
  int add_coordinate(double value, const std::string& name, double rate);
  /// False for a scalar coordinate.
  bool in_space(int node) const { return model.system.dofs().kind(node) != NodeKind::scalar; }

  /// A constraint or gap of coordinates, which becomes a RowGroup of the model once rows are numbered.
  struct FormulaRow {
    std::string name, pointer;
    const ConstraintBlock* block;
    int item;
  };
  std::vector<FormulaRow> formula_rows;

  /// The point of a reference; an unknown point is an error at the pointer.
  AttachedPoint point(const nlohmann::json& reference, const std::string& pointer);
  /// The set of points of a reference such as "block.top"; null if there is no such set.
  const PointSet* point_set(const std::string& reference) const;
  /// The message for an unknown point, or for a set instead of a point.
  std::string unknown_point(const std::string& reference) const;
  bool is_frame(const AttachedPoint& point) const;
  Vec3 initial_place(const AttachedPoint& point) const;
  Quaternion initial_quaternion(const AttachedPoint& point) const;
  Mat3 initial_rotation(const AttachedPoint& point) const;

  /// Precondition: rows are numbered.
  int first_row(const ConstraintBlock& block) const;

  const nlohmann::json& material(const std::string& name) const;
  const nlohmann::json& section(const std::string& name) const;

  /// The functions of time that are not constant, for remarks.
  struct NamedFunction {
    std::string name;
    TimeFunction function;
    Moves moves;
    bool kinks;  ///< a table with straight lines between its points
  };
  std::vector<NamedFunction> functions;

  /// Formulas of coordinates, and t behind them, that depend on t.
  struct TimedFormula {
    std::string name;
    Formula formula;
    std::vector<double> at_start;  ///< values of the variables
    bool place;                    ///< it prescribes places; else a force
  };
  std::vector<TimedFormula> timed_formulas;
  /// Adds one, unless it does not depend on t.
  void add_timed(std::string name, const Formula& formula, const std::vector<double>& at_start, bool place) {
    if (formula.depends_on(at_start.size() - 1)) timed_formulas.push_back({std::move(name), formula, at_start, place});
  }

  double total_mass = 0;
  double size = 0;          ///< size of the largest body; of coordinates the largest value
  double acceleration = 0;  ///< the largest acceleration that forces of coordinates give at the start

 private:
  std::vector<std::pair<Vec3, Vec3>> velocities_;  // one entry per node
};

}  // namespace carom
