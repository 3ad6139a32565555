// The section "switching": modes whose constraints are joints between bodies and formulas of what is measured between
// them (elements/joints/switching_joints.hpp).
#pragma once

#include <string>
#include <vector>

#include "elements/joints/switching_joints.hpp"
#include "io/model/build_context.hpp"
#include "io/schema/spec.hpp"

namespace carom {

spec::Node switching_spec();

/// Names of the joints that modes name, which hold only in these.
std::vector<std::string> switching_joint_names(const nlohmann::json& root);

class SwitchingBuilder {
 public:
  explicit SwitchingBuilder(BuildContext& context) : context_(context) {}

  /// A joint of the model: its free coordinates and, where it switches, its rows.
  struct Joint {
    std::string name;
    std::optional<JointCoordinate> angle, displacement;
    std::shared_ptr<System> rows;
  };
  /// Adds a block for every entry of the section.
  void read(const std::vector<Joint>& joints);
  /// The mode of every block that holds at the start. Precondition: the system is finalized.
  void find_start_modes(const State& state);
  /// The rows of a joint that switches; empty if it does not. Precondition: rows are numbered.
  std::vector<int> rows_of(const std::string& joint) const;
  /// Adds the rows of formulas to the model's constraints.
  void collect() const;

 private:
  struct Group {
    SwitchingJointBlock* block;
    std::vector<std::string> joints;
    std::vector<JointFormula> conditions;
    std::string pointer;
    int start_mode;
  };
  void read_group(const nlohmann::json& group, const std::string& pointer, const std::vector<Joint>& joints);
  std::optional<JointCoordinate> read_measure(const nlohmann::json& measure, const std::string& pointer,
                                              const std::vector<Joint>& joints);

  BuildContext& context_;
  std::vector<Group> groups_;
};

}  // namespace carom
