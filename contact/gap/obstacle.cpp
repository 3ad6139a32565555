#include "contact/gap/obstacle.hpp"

#include <cmath>
#include <limits>

#include "core/lie/so3.hpp"

namespace carom {

namespace {

// Distance from a point or axis, after projection of the offset r: |r| and the direction of r.
struct Radial {
  double length;
  Vec3 direction;
};

// Shorter parts of a radius are rounding of the place, and have no direction.
constexpr double rounding = 1e-12;

Radial radial(const Vec3& r, const Vec3& fallback) {
  const double length = r.norm();
  return {length, length > 0 ? Vec3(r / length) : fallback};
}

class Plane final : public Obstacle {
 public:
  Plane(const Vec3& point, const Vec3& normal) : normal_(normal.normalized()), level_(normal_.dot(point)) {}
  double distance(const Vec3& y) const override { return normal_.dot(y) - level_; }
  Distance evaluate(const Vec3& y) const override { return {distance(y), normal_, Mat3::Zero()}; }
  double radius() const override { return std::numeric_limits<double>::infinity(); }
  bool flat() const override { return true; }

 private:
  Vec3 normal_;
  double level_;
};

class Sphere final : public Obstacle {
 public:
  Sphere(const Vec3& center, double radius, bool inside)
      : center_(center), radius_(radius), sign_(inside ? -1.0 : 1.0) {}
  double distance(const Vec3& y) const override { return sign_ * ((y - center_).norm() - radius_); }
  Distance evaluate(const Vec3& y) const override {
    const Radial r = radial(y - center_, Vec3::UnitZ());
    Distance d;
    d.value = sign_ * (r.length - radius_);
    d.gradient = sign_ * r.direction;
    d.directed = r.length > rounding * radius_;
    if (r.length > 0) d.hessian = sign_ / r.length * (Mat3::Identity() - r.direction * r.direction.transpose());
    return d;
  }
  double radius() const override { return radius_; }
  Vec3 turned(const Vec3& y, const Mat3& Q) const override { return center_ + Q * (y - center_); }
  bool contains() const override { return sign_ < 0; }

 private:
  Vec3 center_;
  double radius_, sign_;
};

class Cylinder final : public Obstacle {
 public:
  Cylinder(const Vec3& center, const Vec3& axis, double radius, double length, bool inside)
      : center_(center),
        axis_(axis.normalized()),
        // direction for points on the axis: any unit vector normal to the axis
        across_(axis_.unitOrthogonal()),
        radius_(radius),
        half_length_(length > 0 ? 0.5 * length : std::numeric_limits<double>::infinity()),
        inside_(inside) {}

  double distance(const Vec3& y) const override {
    const Vec3 r = y - center_;
    const double z = axis_.dot(r);
    const double mantle = (r - z * axis_).norm() - radius_;
    if (inside_) return -mantle;
    const double cap = std::abs(z) - half_length_;
    if (mantle > 0 && cap > 0) return std::hypot(mantle, cap);
    return std::max(mantle, cap);
  }

  Distance evaluate(const Vec3& y) const override {
    const Vec3 r = y - center_;
    const double z = axis_.dot(r);
    const Radial rho = radial(r - z * axis_, across_);
    const double mantle = rho.length - radius_, cap = std::abs(z) - half_length_;
    // Hessian of rho: curvature along the circumference
    const Vec3 around = axis_.cross(rho.direction);
    Mat3 H_rho = Mat3::Zero();
    if (rho.length > 0) H_rho = around * around.transpose() / rho.length;

    Distance d;
    d.directed = rho.length > rounding * radius_;
    if (inside_) {
      d.value = -mantle;
      d.gradient = -rho.direction;
      d.hessian = -H_rho;
      return d;
    }
    const Vec3 outward = z < 0 ? Vec3(-axis_) : axis_;
    if (mantle > 0 && cap > 0) {
      // distance from the rim, which is a circle
      d.value = std::hypot(mantle, cap);
      d.gradient = (mantle * rho.direction + cap * outward) / d.value;
      d.hessian = (rho.direction * rho.direction.transpose() + outward * outward.transpose() -
                   d.gradient * d.gradient.transpose() + mantle * H_rho) /
                  d.value;
    } else if (cap > mantle) {
      d.value = cap;
      d.gradient = outward;
      d.directed = std::abs(z) > rounding * half_length_;
    } else {
      d.value = mantle;
      d.gradient = rho.direction;
      d.hessian = H_rho;
    }
    return d;
  }
  double radius() const override { return inside_ ? radius_ : std::min(radius_, half_length_); }
  Vec3 turned(const Vec3& y, const Mat3& Q) const override {
    const Quaternion q = so3::matrix_to_quaternion(Q);
    const double angle = 2 * std::atan2(q.tail<3>().dot(axis_), q[0]);
    return center_ + so3::exp(Vec3(angle * axis_)) * (y - center_);
  }
  bool contains() const override { return inside_; }
  bool edged() const override { return !inside_ && std::isfinite(half_length_); }

 private:
  Vec3 center_, axis_, across_;
  double radius_, half_length_;
  bool inside_;
};

}  // namespace

std::shared_ptr<const Obstacle> make_plane(const Vec3& point, const Vec3& normal) {
  return std::make_shared<Plane>(point, normal);
}

std::shared_ptr<const Obstacle> make_sphere(const Vec3& center, double radius, bool inside) {
  return std::make_shared<Sphere>(center, radius, inside);
}

std::shared_ptr<const Obstacle> make_cylinder(const Vec3& center, const Vec3& axis, double radius, double length,
                                              bool inside) {
  return std::make_shared<Cylinder>(center, axis, radius, length, inside);
}

}  // namespace carom
