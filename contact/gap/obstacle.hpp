// Obstacles: signed distance functions phi(y) > 0 in the free space, with gradient and Hessian, in the obstacle's
// frame.
//
//   plane                 phi = n . (y - p)
//   sphere, outside       phi = |y - c| - R                       inside: R - |y - c|
//   cylinder, outside     phi = rho - R, rho the distance from the axis; with a finite length the distance from the
//                         closed cylinder (mantle, caps and rims)
//   cylinder, inside      phi = R - rho (a finite one is closed by two planes, which are rows of their own)
// The gradient is a unit vector; a sphere of radius r touches where phi = r. At the centre or on the axis, where no
// direction is defined, a fixed one is taken. Adding an obstacle: one class here or in a file of its own, one
// registration in the model specification.
#pragma once

#include <memory>

#include "core/base/types.hpp"

namespace carom {

struct Distance {
  double value = 0;
  Vec3 gradient = Vec3::UnitZ();
  Mat3 hessian = Mat3::Zero();
};

class Obstacle {
 public:
  virtual ~Obstacle() = default;
  virtual double distance(const Vec3& y) const = 0;
  virtual Distance evaluate(const Vec3& y) const = 0;
  /// Smallest thickness of the obstacle along which a body could cross it in one step unseen; infinity for half spaces.
  virtual double thickness() const = 0;
  /// The Hessian vanishes everywhere.
  virtual bool flat() const { return false; }
};

std::shared_ptr<const Obstacle> make_plane(const Vec3& point, const Vec3& normal);
std::shared_ptr<const Obstacle> make_sphere(const Vec3& center, double radius, bool inside);
/// length <= 0 or infinite: unbounded. Inside: the mantle only.
std::shared_ptr<const Obstacle> make_cylinder(const Vec3& center, const Vec3& axis, double radius, double length,
                                              bool inside);

}  // namespace carom
