// Obstacles: signed distance functions phi(y), positive in free space, with gradient and Hessian in the obstacle's
// frame.
//
//   plane                 phi = n . (y - p)
//   sphere, outside       phi = |y - c| - R                       inside: R - |y - c|
//   cylinder, outside     phi = rho - R, rho the distance from the axis; for finite length the distance from the closed
//                         cylinder (mantle, caps and rims)
//   cylinder, inside      phi = R - rho (two planes close a cylinder of finite length; they are separate rows)
// The gradient is a unit vector. A sphere of radius r touches the obstacle where phi = r. At the centre of a sphere or
// on the axis of a cylinder the gradient is undefined: a fixed direction is given, and `directed` is false. A new
// obstacle needs one class, here or in a separate file, and one registration in the model specification.
#pragma once

#include <memory>

#include "core/base/types.hpp"

namespace carom {

struct Distance {
  double value = 0;
  Vec3 gradient = Vec3::UnitZ();
  Mat3 hessian = Mat3::Zero();
  bool directed = true;  ///< the gradient is defined
};

class Obstacle {
 public:
  virtual ~Obstacle() = default;
  virtual double distance(const Vec3& y) const = 0;
  virtual Distance evaluate(const Vec3& y) const = 0;
  /// Length over which the direction turns: half of the smallest thickness of a convex obstacle, which a body may pass,
  /// the radius of a container; infinity for half spaces.
  virtual double radius() const = 0;
  /// True for containers: a convex free space.
  virtual bool contains() const { return false; }
  /// True if the surface has edges, where the gradient turns at once.
  virtual bool edged() const { return false; }
  /// y turned about the centre or the axis of the obstacle by that part of a rotation Q which moves nothing but the
  /// material of the obstacle: its surface stays.
  virtual Vec3 turned(const Vec3& y, const Mat3& Q) const {
    (void)Q;
    return y;
  }
  /// True if the Hessian vanishes everywhere.
  virtual bool flat() const { return false; }
};

std::shared_ptr<const Obstacle> make_plane(const Vec3& point, const Vec3& normal);
std::shared_ptr<const Obstacle> make_sphere(const Vec3& center, double radius, bool inside);
/// length <= 0 or infinite: unbounded cylinder. inside: only the mantle is an obstacle.
std::shared_ptr<const Obstacle> make_cylinder(const Vec3& center, const Vec3& axis, double radius, double length,
                                              bool inside);

}  // namespace carom
