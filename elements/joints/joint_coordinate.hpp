// The free coordinates of joints, and the constraint rows, drivers, stops, springs and dampers along them.
//
// A coordinate s(q) depends on two nodes, each with a point or a joint frame attached. Either node may be ground.
//   displacement   s = (R_A alpha) . (x_B - x_A)        alpha is fixed in A
//   distance       s = |x_B - x_A|                      the points must not coincide
//   angle          s = 2 atan2(r_z, r_w),  r = f_A* q_A* q_B f_B    q: unit quaternions of the nodes, f: joint
//                  frames in the bodies; the third axis of a joint frame is the joint's axis
// For r = exp(s e_z) the angle is the rotation of B relative to A about the axis; for any other r the angle is the
// twist of r about e_z. The quaternions of a state turn continuously and may pass from q to -q. The angle is a function
// of the state alone and has values in (-2 pi, 2 pi]; beyond this interval it jumps by 4 pi. The angle is undefined if
// B is rotated by pi about an axis perpendicular to the joint's axis.
//
// Rows, drivers and springs need s, its gradient G along q o exp(e w), and H = D(G^T), which is not symmetric:
//   s' = G v,   D(G v) = v^T H,   s'' = G v' + v^T H v,   D(G^T c) = c H
// The twelve local components are six of a frame at A and six of a frame at B; see topology.hpp.
//
// Reference: E. J. Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), ch. 9; the twist of a
// quaternion: P. Dobrowolski, Swing-twist decomposition in Clifford algebra, arXiv:1506.05481.
#pragma once

#include <string>
#include <vector>

#include "core/formula/time_function.hpp"
#include "core/mechanics/body_point.hpp"
#include "core/mechanics/constraint_block.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

struct JointCoordinate {
  enum class Kind { displacement, distance, angle };
  Kind kind = Kind::displacement;
  int node_a = -1, node_b = -1;                           ///< -1: ground; an angle needs frames or ground
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< in body axes; for ground: the position itself
  Vec3 axis = Vec3::UnitZ();                              ///< for displacements: unit vector in axes of A
  Quaternion frame_a{1, 0, 0, 0}, frame_b{1, 0, 0, 0};    ///< for angles: orientation of the joint frame in the body
};

/// Sets the joint frames so that their third axis is `axis` (unit vector, inertial) and the angle is zero when the
/// bodies have the unit quaternions q_A and q_B.
void set_angle_frames(JointCoordinate& coordinate, const Vec3& axis, const Quaternion& q_A, const Quaternion& q_B);

struct CoordinateState {
  double value = 0;                                  ///< s
  Eigen::Matrix<double, 12, 1> G;                    ///< gradient of s
  Eigen::Matrix<double, 12, 12, Eigen::RowMajor> H;  ///< filled only if second derivatives are requested
};
enum class CoordinateOrder { value, gradient, second };

/// Evaluates s and its derivatives. A node is given by its configuration entries; null means ground.
void evaluate_coordinate(const JointCoordinate& coordinate, const double* node_a, NodeKind kind_a, const double* node_b,
                         NodeKind kind_b, CoordinateOrder order, CoordinateState& state);

/// The same at a configuration of a system.
CoordinateState coordinate_at(const JointCoordinate& coordinate, const DofMap& dofs, In q, CoordinateOrder order);

/// A row sign (s(q) - u(t)) of a joint that holds s at u, of a driver that prescribes s = u(t), or of a stop that keeps
/// s above u (sign 1) or below u (sign -1).
struct CoordinateRow {
  std::string name = "joint";
  JointCoordinate coordinate;
  TimeFunction value;      ///< u
  double sign = 1;         ///< 1 or -1
  double restitution = 0;  ///< for stops
  std::string holds{};  ///< the motion that the row prevents, such as "y" or "rotation z", for messages; may be empty
};

class CoordinateBlock final : public ConstraintBlock {
 public:
  /// All rows of a block have the same `traits`: unilateral, linear (displacements of nodes that do not rotate), moving
  /// (some u depends on time). Joints and drivers hold angles modulo 4 pi.
  CoordinateBlock(std::string name, std::vector<CoordinateRow> items, ConstraintTraits traits);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  ContactParameters law(int item, int row) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }
  std::string row_name(int item, int) const override { return items_[static_cast<std::size_t>(item)].holds; }
  /// The force on B's point; for angles the moment on B.
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  void state(const ConstraintInput& in, int item, CoordinateOrder order, CoordinateState& state) const;

  std::vector<CoordinateRow> items_;
};

/// A spring and a damper along a coordinate: N = k (s - s_0) + c s'. The generalised force (or moment) is -N G^T.
struct CoordinateSpring {
  std::string name = "spring";
  JointCoordinate coordinate;
  double stiffness = 0;  ///< k, force per length or moment per angle
  double damping = 0;    ///< c
  double rest = 0;       ///< s_0
};

class CoordinateSpringBlock final : public ElementBlock {
 public:
  CoordinateSpringBlock(std::string name, std::vector<CoordinateSpring> items);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }

 private:
  void state(const ElementInput& in, int item, CoordinateOrder order, CoordinateState& state) const;

  std::vector<CoordinateSpring> items_;
};

}  // namespace carom
