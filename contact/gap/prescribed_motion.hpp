// The prescribed motion of an obstacle: a translation c(t) and a rotation by the angle theta(t) about a fixed axis. The
// axis passes through the point `about`, which moves with the translation.
//
//   x = c + b + Q (y - b),   Q = exp(theta a),   omega = theta' a          y: obstacle frame, b: about
//
// Velocities and accelerations use the exact derivatives of the formulas.
#pragma once

#include <algorithm>
#include <array>

#include "core/base/types.hpp"
#include "core/formula/time_function.hpp"

namespace carom {

class PrescribedMotion {
 public:
  std::array<TimeFunction, 3> translation;
  Vec3 axis = Vec3::UnitZ();  ///< unit
  TimeFunction angle;
  Vec3 about = Vec3::Zero();
  /// Velocity of the surface over the obstacle, in axes of the obstacle: a conveyor belt. Of this vector only the
  /// tangential part matters.
  std::array<TimeFunction, 3> surface;

  bool is_fixed() const {
    return translation[0].is_constant() && translation[1].is_constant() && translation[2].is_constant() &&
           angle.is_constant() && !has_surface_velocity();
  }
  bool has_surface_velocity() const {
    return std::any_of(surface.begin(), surface.end(),
                       [](const TimeFunction& f) { return !f.is_constant() || f.evaluate(0).value != 0; });
  }

  struct Pose {
    Mat3 Q = Mat3::Identity();
    Vec3 origin = Vec3::Zero();  ///< c + b, inertial
    Vec3 velocity = Vec3::Zero(), acceleration = Vec3::Zero();
    Vec3 omega = Vec3::Zero(), alpha = Vec3::Zero();
    Vec3 surface = Vec3::Zero(), surface_rate = Vec3::Zero();  ///< in axes of the obstacle
  };
  Pose at(double t) const;
};

}  // namespace carom
