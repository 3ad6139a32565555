// An independent motion of one rigid body for comparison with the solver: the classical Runge-Kutta method on
//
//   m x'' = f,   p' = p (0, Omega)/2,   J Omega' = M(R) - Omega x J Omega       (p: unit quaternion, body to inertial)
//
// with steps so small that its error, O(dt^4), is below 1e-10, and event-exact impacts of vertices on a floor z = 0 by
// Newton's law. The reference shares only the vector types with the solver.
#pragma once

#include <functional>

#include "core/base/types.hpp"

namespace carom::cases {

struct RigidReference {
  double m = 1;
  Vec3 J = Vec3::Ones();  ///< principal moments of inertia, in body axes
  Vec3 gravity = Vec3::Zero();
  /// Moment about the centre of mass in body axes; empty: no moment.
  std::function<Vec3(const Mat3& R)> moment;

  double t = 0;
  Vec3 x = Vec3::Zero(), v = Vec3::Zero(), Omega = Vec3::Zero();
  Eigen::Quaterniond p = Eigen::Quaterniond::Identity();

  Mat3 R() const { return p.toRotationMatrix(); }
  double energy() const;  ///< kinetic energy plus potential of gravity, which is zero at the origin
  /// Integrates to the time t_end in equal steps of at most dt.
  void advance_to(double t_end, double dt = 2e-5);

  struct Impact {
    double t = 0;
    int vertex = -1;  ///< bit 0: +x, bit 1: +y, bit 2: +z
    double rate_before = 0, impulse = 0;
  };
  /// Integrates through the first impact of a vertex of the box with these edges before t_end. vertex is -1 if no
  /// impact occurs.
  Impact advance_to_impact(const Vec3& edges, double restitution, double t_end, double dt = 2e-5);
};

/// Position of a vertex in body axes.
Vec3 box_vertex(const Vec3& edges, int vertex);
/// Angle of the rotation from A to B.
double angle_between(const Mat3& A, const Mat3& B);

/// The body of data/models/brick.json at its start.
RigidReference brick_reference();
inline const Vec3 brick_edges(0.1, 0.2, 0.3);

}  // namespace carom::cases
