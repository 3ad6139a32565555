// A point or frame attached to a node: its motion, its Jacobian J and products with J^T.
//
//   x_P = x + R s,   x_P' = x' + R (Omega x s),   J^T n = (n, s x R^T n)            (n inertial)
//
// On a translational node R = 1, and the offset s is inertial and moves with the node. On ground (null configuration) s
// is the position itself. The six local components of a slot are (x', Omega); see topology.hpp.
#pragma once

#include "core/base/types.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/dof_map.hpp"

namespace carom {

struct PointState {
  Mat3 R = Mat3::Identity();  ///< R_IB of the node
  Vec3 x = Vec3::Zero();      ///< position of the point, inertial
  bool rotates = false;
};

inline PointState point_state(const double* node, NodeKind kind, const Vec3& offset) {
  PointState p;
  if (node == nullptr) {
    p.x = offset;
    return p;
  }
  const Vec3 x(node[0], node[1], node[2]);
  if (kind == NodeKind::frame) {
    p.rotates = true;
    p.R = so3::quaternion_to_matrix(Quaternion(node[3], node[4], node[5], node[6]));
    p.x = x + p.R * offset;
  } else {
    p.x = x + offset;
  }
  return p;
}

/// The states of points one after another: points of one node share its rotation matrix.
class PointStates {
 public:
  const PointState& next(const double* node, NodeKind kind, const Vec3& offset) {
    if (node != nullptr && node == node_ && state_.rotates)
      state_.x = Vec3(node[0], node[1], node[2]) + state_.R * offset;
    else
      state_ = point_state(node, kind, offset);
    node_ = node;
    return state_;
  }

 private:
  const double* node_ = nullptr;
  PointState state_;
};

/// Velocity of the point, from the six local velocity components of the node.
inline Vec3 point_velocity(const PointState& p, const Vec3& offset, const double* v) {
  Vec3 xd(v[0], v[1], v[2]);
  if (!p.rotates) return xd;
  return xd + p.R * Vec3(v[3], v[4], v[5]).cross(offset);
}

/// Centripetal part of the point's acceleration: x_P'' = x'' + R (Omega' x s) + R (Omega x (Omega x s)).
inline Vec3 point_centripetal(const PointState& p, const Vec3& offset, const double* v) {
  if (!p.rotates) return Vec3::Zero();
  const Vec3 Omega(v[3], v[4], v[5]);
  return p.R * Omega.cross(Omega.cross(offset));
}

/// f += J^T n
inline void add_point_force(const PointState& p, const Vec3& offset, const Vec3& n, double* f) {
  for (int i = 0; i < 3; ++i) f[i] += n[i];
  if (!p.rotates) return;
  const Vec3 torque = offset.cross(p.R.transpose() * n);
  for (int i = 0; i < 3; ++i) f[3 + i] += torque[i];
}

/// D (R^T n) . w = hat(R^T n) w, so the rotation block of D(J^T n) for constant n is hat(s) hat(R^T n).
inline Mat3 point_force_gradient(const PointState& p, const Vec3& offset, const Vec3& n) {
  return so3::hat(offset) * so3::hat(Vec3(p.R.transpose() * n));
}

/// J = [1, -R hat(s)], 3 x 6
inline Eigen::Matrix<double, 3, 6> point_jacobian(const PointState& p, const Vec3& offset) {
  Eigen::Matrix<double, 3, 6> J = Eigen::Matrix<double, 3, 6>::Zero();
  J.leftCols<3>().setIdentity();
  if (p.rotates) J.rightCols<3>().noalias() = -p.R * so3::hat(offset);
  return J;
}

}  // namespace carom
