// Frames without mass whose place and rotation are formulas of the coordinates q of a body and of t. Joints, springs,
// loads and contacts that act on such a frame act on the coordinates.
//
//   x = p(q, t),   R = R_F(q, t) = exp(a_1 phi_1(q, t)) exp(a_2 phi_2(q, t)) ...
//
// Every rotation is about an axis of the frame as the earlier rotations leave it: the axes z, x, z make Euler's angles.
// The frame is a node with three rows and, if it rotates, three more (i, j = y, z; z, x; x, y):
//
//   g_x = x - p(q, t) = 0,   g_R = (R_F e_i) . (R e_j) = 0
//
// With the angular velocity of R_F in its own axes, omega_F = sum_k u_k phi_k', u_k = (exp(a_{k+1} phi_{k+1}) ...)^T
// a_k, the gradient of g_R = alpha . S beta, S = R_F^T R, is that of the orthogonality in elements/joints/joint.hpp,
//
//   g_R' = (alpha x S beta) . omega_F + (beta x S^T alpha) . Omega,   u_k' = sum_{l > k} u_k x u_l phi_l'
//
// The rows hold no mass: a joint or contact on the frame meets the inertia that the coordinates and the bodies joined
// to them have. Second derivatives are exact. Limits: most_coordinates coordinates, most_rotations rotations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "elements/bodies/coordinates.hpp"

namespace carom {

inline constexpr int most_rotations = 8;

struct CoordinateFrame {
  struct Rotation {
    Vec3 axis = Vec3::UnitZ();  ///< unit vector
    NamedFormula angle;
  };
  std::string name;
  std::vector<int> nodes;              ///< the n scalar nodes of the coordinates
  int node = -1;                       ///< of the frame
  std::vector<NamedFormula> position;  ///< three formulas of q and t: n + 1 variables
  std::vector<Rotation> rotations;     ///< likewise; empty: three rows, and the node's rotation is fixed
};

/// Place and motion of a frame at given coordinates.
struct FrameMotion {
  Vec3 x, v;   ///< inertial
  Mat3 R;      ///< R_F
  Vec3 Omega;  ///< in axes of the frame
};
/// q: coordinates, then t; v: their rates, then 1. n + 1 entries each.
FrameMotion frame_motion(const CoordinateFrame& frame, std::span<const double> q, std::span<const double> v);

/// The rows of one frame, one item.
class CoordinateFrameBlock final : public ConstraintBlock {
 public:
  explicit CoordinateFrameBlock(CoordinateFrame frame);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int) const override { return frame_.name; }
  std::string row_name(int item, int row) const override;
  std::string undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const override;
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  struct Row;
  class Geometry;

  std::size_t n_;
  CoordinateFrame frame_;
};

}  // namespace carom
