#include "elements/joints/switching_joints.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace carom {

namespace {

// The nodes of all joints and measures, each once.
std::vector<int> nodes_of(const std::vector<SwitchingJoint>& joints, const std::vector<JointCoordinate>& measures) {
  std::vector<int> nodes;
  const auto take = [&](int node) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  };
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints())
      for (const int node : block->topology().nodes) take(node);
  for (const JointCoordinate& c : measures) {
    take(c.node_a);
    take(c.node_b);
  }
  return nodes;
}

Topology topology_of(const std::vector<SwitchingJoint>& joints, const std::vector<JointCoordinate>& measures) {
  std::vector<int> nodes = nodes_of(joints, measures);
  return {1, std::vector<Slot>(nodes.size(), Slot{0, SwitchingJointBlock::components}), std::move(nodes)};
}

int row_count(const std::vector<SwitchingJoint>& joints, const std::vector<JointMode>& modes) {
  std::size_t rows = 0, formulas = 0;
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints()) rows += at(block->topology().items * block->rows());
  for (const JointMode& mode : modes) formulas = std::max(formulas, mode.constraints.size());
  return static_cast<int>(rows + formulas);
}

ConstraintTraits traits_of(const std::vector<SwitchingJoint>& joints, std::size_t measures,
                           const std::vector<JointMode>& modes) {
  ConstraintTraits t;
  t.has_formulas = true;
  for (const SwitchingJoint& joint : joints)
    for (const auto& block : joint.rows->constraints()) t.moving = t.moving || block->traits().moving;
  for (const JointMode& mode : modes)
    for (const JointFormula& g : mode.constraints) t.moving = t.moving || g.formula.depends_on(measures);
  return t;
}

}  // namespace

SwitchingJointBlock::SwitchingJointBlock(std::string name, std::vector<SwitchingJoint> joints,
                                         std::vector<JointCoordinate> measures, std::vector<JointMode> modes)
    : SwitchingBlock(std::move(name), topology_of(joints, measures), row_count(joints, modes),
                     traits_of(joints, measures.size(), modes)),
      joints_(std::move(joints)),
      measures_(std::move(measures)),
      modes_(std::move(modes)) {
  const std::vector<int>& nodes = topology().nodes;
  const auto slot = [&](int node) { return static_cast<int>(std::ranges::find(nodes, node) - nodes.begin()); };
  int row = 0;
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const int first = row;
    for (const auto& block : joints_[j].rows->constraints())
      for (int item = 0; item < block->topology().items; ++item, row += block->rows()) {
        Part part{static_cast<int>(j), item, row, block.get(), {}};
        for (std::size_t k = 0; k < block->topology().slots.size(); ++k) {
          const Slot& of = block->topology().slots[k];
          const int place = components * slot(block->topology().node(item, static_cast<int>(k)));
          for (int c = 0; c < of.components; ++c) part.local.push_back(place + of.first_component + c);
        }
        parts_.push_back(std::move(part));
      }
    joint_rows_.push_back({first, row});
  }
  for (const JointMode& mode : modes_) {
    std::vector<char> held(at(rows()), 0);
    for (const int joint : mode.joints)
      std::fill(held.begin() + joint_rows_[at(joint)].first, held.begin() + joint_rows_[at(joint)].last, 1);
    std::fill_n(held.begin() + row, mode.constraints.size(), 1);
    holds_.push_back(std::move(held));
  }
  for (const JointCoordinate& c : measures_) measure_slots_.push_back({slot(c.node_a), slot(c.node_b)});
  A_old_ = A_new_ = Matrix::Zero(rows(), rows());
  s_old_.assign(at(rows()), 0.0);
  s_new_ = s_old_;
}

void SwitchingJointBlock::bind(const DofMap& dofs) {
  SwitchingBlock::bind(dofs);
  for (const SwitchingJoint& joint : joints_)
    for (const auto& block : joint.rows->constraints()) block->bind(dofs);
}

void SwitchingJointBlock::set_mode(int mode) {
  mode_ = mode;
  old_ = -1;
  show_old_ = false;
}

std::string SwitchingJointBlock::row_name(int, int row) const {
  for (const Part& part : parts_)
    if (row >= part.first_row && row < part.first_row + part.block->rows()) {
      const std::string motion = part.block->row_name(part.item, row - part.first_row);
      return joints_[at(part.joint)].name + (motion.empty() ? "" : " " + motion);
    }
  return "constraint " + std::to_string(row - rows_of_formulas().first + 1);
}

ConstraintBlock::Place SwitchingJointBlock::place(int, int row, const ConstraintInput& in) const {
  ConstraintInput still = in;
  still.v = nullptr;
  for (const Part& part : parts_)
    if (row >= part.first_row && row < part.first_row + part.block->rows())
      return part.block->place(part.item, row - part.first_row, still);
  return {};
}

std::string SwitchingJointBlock::undefined_formula(const ConstraintInput&, const ConstraintInput& end) const {
  ConstraintInput place = end;
  place.v = nullptr;
  const Vector x = measures(place).x;
  Vector slope(x.size());
  for (const JointMode& mode : modes_)
    if (!std::isfinite(value(mode.condition, x))) return mode.condition.name;
  if (mode_ < 0) return {};
  for (const JointFormula& f : modes_[at(mode_)].constraints)
    if (!std::isfinite(f.formula.gradient(x, slope)) ||
        !std::ranges::all_of(slope, [](double y) { return std::isfinite(y); }))
      return f.name;
  return {};
}

}  // namespace carom
