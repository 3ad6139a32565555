// Friction of joints: rows along the free directions of a joint, with a limit that follows the joint's reactions.
//
//   one row      a displacement s or an angle phi: prismatic, revolute joints
//   two rows     (s, lever phi): the slip of a cylindrical bearing of radius `lever`
//   three rows   the relative angular velocity of a spherical joint, R_A^T R_B omega_B - omega_A in axes of A
//
// The multipliers s_f of an item lie in the disc (ball)
//
//   |s_f| <= duration c(t) + mu (r N + r_t |F_a|)
//
// with the constant part c (a brake, a preload), the coefficient mu, the radius r (1 for forces), and the reaction of
// the joint's bilateral rows on the second body: F_a along the axis, F across, M the moment across about the second
// point. A short bearing has N = |F|. A bearing of length l consists of two short ones at its ends,
//
//   N = |F/2 + n x M/l| + |F/2 - n x M/l|
//
// A spherical joint has N = |F| of the whole force. Moments about the axis, which a prismatic joint also holds, do not
// count. The slip displacement is that since the start of the step: differences of s and phi, and the rotation vector
// psi of R R_n^T with R = R_A^T R_B for a spherical joint, whose gradient is T(psi)^-T G.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elements/joints/joint_coordinate.hpp"

namespace carom {

/// The rows of a joint that press its bearing: an item of a block of bilateral rows, and its first global row.
struct JointSupport {
  const ConstraintBlock* block = nullptr;
  int item = 0, first_row = 0;
};

struct JointFriction {
  std::string name = "joint";
  JointCoordinate coordinate;  ///< of the first row; of three rows the nodes and points count only
  JointCoordinate angle;       ///< of the second of two rows
  double lever = 1;            ///< by which that row is multiplied
  Vec3 axis = Vec3::UnitZ();   ///< in axes of A
  double coefficient = 0;      ///< mu
  double radius = 1;           ///< r
  double thrust_radius = 0;    ///< r_t
  double length = 0;           ///< l; 0: moments do not count
  TimeFunction constant;       ///< c; negative values count as zero
  bool constant_alone() const { return coefficient == 0; }
  /// Filled when the rows of the joint have their numbers.
  std::shared_ptr<const std::vector<JointSupport>> supports;
};

class JointFrictionBlock final : public ConstraintBlock {
 public:
  /// rows: 1, 2 or 3, of all items. linear: displacements of nodes that do not rotate.
  JointFrictionBlock(std::string name, std::vector<JointFriction> items, int rows, bool linear = false);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  ContactParameters law(int item, int row) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }
  std::string row_name(int, int) const override { return "friction"; }
  /// The force on B's point; of angles the moment on B.
  Place place(int item, int row, const ConstraintInput& in) const override;

  BearingLoad bearing_load(int item, const ConstraintInput& in, const double* multipliers) const override;
  double friction_limit(int item, const BearingLoad& load, double duration, double t) const override;

 private:
  void state(const ConstraintInput& in, int item, int row, CoordinateOrder order, CoordinateState& s) const;
  Quaternion relative_rotation(const ConstraintInput& in, int item) const;

  std::vector<JointFriction> items_;
};

}  // namespace carom
