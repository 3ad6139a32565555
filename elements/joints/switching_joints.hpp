// Joints that switch: modes i with z_i(s, t) > 0 whose constraints are joints between bodies and formulas g_i(s, t) =
// 0.
//
// s are measures, coordinates between two bodies (joint_coordinate.hpp): angles, displacements and distances. Every
// joint has rows of its own, which are vacant where the present mode does not name the joint; rows of formulas are
// shared by the modes. A joint that holds in two neighbouring modes stays: its rows belong to both sets of rows, with
// the angle zero between them.
//
//   g = f(s(q), t),   G = sum_i f_i G_i,   D(G^T c) = c (sum_i f_i H_i + sum_ij f_ij G_i^T G_j)
//   D(G v + g_t) = sum_i (f_it + sum_j f_ij s_j') G_i + f_i v^T H_i
//
// The intermediate gradient of a switch (core/mechanics/intermediate_gradient.hpp) is that of the whole system. Where a
// step meets a surface follows from cubic interpolation of the measures between its ends; there, the joints of the next
// mode must fit: their rows, interpolated in the same way, are zero but for 1e-6 of the model's length or of a radian.
//
// Limits: joints are bilateral and have neither stops, springs nor friction. Angles are those of joint_coordinate.hpp,
// between -2 pi and 2 pi. Along the path ahead of the start the conditions of modes are tried up to the first surface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formula/formula.hpp"
#include "core/mechanics/switching_block.hpp"
#include "core/mechanics/system.hpp"
#include "elements/joints/joint_coordinate.hpp"

namespace carom {

/// A joint by its bilateral rows: the constraint blocks of `rows`, a system without nodes that owns them.
struct SwitchingJoint {
  std::string name;
  std::shared_ptr<System> rows;
};

/// A formula of all measures and of t, and its name for messages about values that it does not have.
struct JointFormula {
  Formula formula;
  std::string name;
};

/// z and g of a mode.
struct JointMode {
  std::string name;
  JointFormula condition;
  std::vector<int> joints;
  std::vector<JointFormula> constraints;
  int next = -1;  ///< the mode behind the surface; -1: the one whose z is positive there
};

class SwitchingJointBlock final : public SwitchingBlock {
 public:
  static constexpr int components = 6;  ///< of a slot

  SwitchingJointBlock(std::string name, std::vector<SwitchingJoint> joints, std::vector<JointCoordinate> measures,
                      std::vector<JointMode> modes);

  /// Rows of a joint within the block, and of the formulas behind those of all joints.
  Range rows_of_joint(int joint) const { return joint_rows_[at(joint)]; }
  Range rows_of_formulas() const { return {joint_rows_.empty() ? 0 : joint_rows_.back().last, rows()}; }

  int modes() const override { return static_cast<int>(modes_.size()); }
  std::string mode_name(int mode) const override { return name() + "." + modes_[at(mode)].name; }
  int mode() const override { return mode_; }
  void set_mode(int mode) override;
  bool vacant_row(int row) const override { return mode_ < 0 || !holds(mode_, row); }
  bool needs_metric() const override { return true; }
  void measure(const ConstraintInput& in, double length, double* weights) const override;
  double condition(int mode, const ConstraintInput& in) const override;
  Crossing find_crossing(int from, const ConstraintInput& start, const ConstraintInput& end,
                         double length) const override;
  std::string find_fault(const ConstraintInput& start, double duration, double length) const override;
  bool set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) override;
  void show_old_reactions(bool on) override { show_old_ = on; }
  double crossing_rate(int from, const ConstraintInput& in) const override;
  bool holds_surface() const override { return holds_surface_; }
  double cosine() const override { return cosine_; }
  void direction(const ConstraintInput& in, double* F) const override;

  void bind(const DofMap& dofs) override;
  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int) const override { return name(); }
  std::string row_name(int, int row) const override;
  std::string undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const override;
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  using Matrix = Eigen::MatrixXd;
  using Column = Eigen::VectorXd;

  // An item of a joint's block of rows.
  struct Part {
    int joint, item, first_row;
    const ConstraintBlock* block;
    std::vector<int> local;  // places of its local components among those of the block
  };
  // Measures, their rates and t.
  struct Point {
    Vector x;      // s and t
    Vector rates;  // s'; empty without velocities
  };

  bool holds(int mode, int row) const { return holds_[at(mode)][at(row)] != 0; }
  int next(int mode) const override;
  double rounding(int mode, const ConstraintInput& in, double length) const override;
  int mode_behind(int from, const Vector& x, std::string& fault) const;
  const CoordinateState& state(int measure, const ConstraintInput& in, CoordinateOrder order) const;
  Point measures(const ConstraintInput& in) const;
  double value(const JointFormula& f, const Vector& x) const { return f.formula.value(x); }
  int local(int measure, int component) const;
  void add_row(const JointFormula& f, const ConstraintInput& in, int row, const ConstraintValues& values) const;
  Vector formula_gradient(const JointFormula& f, const ConstraintInput& in) const;
  void fill(int mode, const ConstraintInput& in, const ConstraintValues& values) const;
  Matrix gradients(int mode, const ConstraintInput& in) const;
  void add_reactions(int mode, const ConstraintInput& in, const double* s, double* f) const;
  void add_gradients(int mode, const ConstraintInput& in, const double* s, double c, double* A) const;
  double size(const double* G, double length) const;
  std::string misfit(int mode, const Vector& gaps, const ConstraintInput& in, double length) const;
  bool share_reactions(const double* s) const;

  std::vector<SwitchingJoint> joints_;
  std::vector<JointCoordinate> measures_;
  std::vector<std::array<int, 2>> measure_slots_;
  std::vector<JointMode> modes_;
  std::vector<Part> parts_;
  std::vector<Range> joint_rows_;
  std::vector<std::vector<char>> holds_;  // mode by mode: its rows
  int mode_ = 0;
  // of a switch; old_ < 0: none
  int old_ = -1;
  Matrix A_old_, A_new_;  // rows() x rows()
  double cosine_ = 1;
  bool holds_surface_ = false;
  bool show_old_ = false;
  mutable CoordinateState state_;
  mutable Vector s_old_, s_new_, v_, values_;
};

}  // namespace carom
