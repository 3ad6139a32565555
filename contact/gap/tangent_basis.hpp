// Two unit vectors that span the tangent plane of a contact, as smooth functions of the unit normal n:
//
//   t_i(n) = R(n) e_i,  R the smallest rotation that takes m to n:  t_i = e_i - (e_i . n)/(1 + m . n) (m + n)
//
// m, e_1, e_2 is an orthonormal basis, the reference. No basis is smooth on the whole sphere: this one has no
// derivative at n = -m, where it is replaced by a constant one.
#pragma once

#include <cmath>

#include "core/base/types.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

struct TangentReference {
  Vec3 m = Vec3::UnitZ(), e[2] = {Vec3::UnitX(), Vec3::UnitY()};
};

/// With m = n, and e_1 near a coordinate axis: motions in a plane of coordinates keep to it to the bit.
inline TangentReference tangent_reference(const Vec3& n) {
  TangentReference r;
  r.m = n.normalized();
  int least = 0;
  for (int i = 1; i < 3; ++i)
    if (std::abs(r.m[i]) < std::abs(r.m[least])) least = i;
  const Vec3 axis = Vec3::Unit(least);
  r.e[0] = (axis - r.m[least] * r.m).normalized();
  r.e[1] = r.m.cross(r.e[0]);
  return r;
}

/// For contacts that turn: m is at least 20 degrees away from all axes and diagonals of coordinates, so that normals of
/// models hardly lie opposite to m, where the basis turns fast.
inline const TangentReference& generic_tangent_reference() {
  static const TangentReference reference = tangent_reference(Vec3(3, 1.7, 1));
  return reference;
}

struct TangentBasis {
  Vec3 t[2];
  Mat3 D[2];  ///< dt_i/dn

  TangentBasis(const TangentReference& reference, const Vec3& n) {
    const double k = 1 + reference.m.dot(n);
    const Vec3 sum = reference.m + n;
    for (int i = 0; i < 2; ++i) {
      const Vec3& e = reference.e[i];
      if (!(k > 1e-9)) {
        t[i] = i == 0 ? e : Vec3(-e);
        D[i].setZero();
        continue;
      }
      const double c = e.dot(n) / k;
      t[i] = e - c * sum;
      D[i] = -sum * (e - c * reference.m).transpose() / k - c * Mat3::Identity();
    }
  }
  /// How the basis at n has turned against the one at n_n, taken along the shortest way from n to n_n.
  ConstraintBlock::Turn turn_from(const TangentBasis& start, const Vec3& n, const Vec3& n_n) const {
    const double k = 1 + n.dot(n_n);
    if (!(k > 1e-9)) return {};
    const Vec3 carried = t[0] - t[0].dot(n_n) / k * (n + n_n);
    const double c = carried.dot(start.t[0]), s = carried.dot(start.t[1]), size = std::hypot(c, s);
    return {c / size, s / size};
  }
  /// In other axes: t and n turned by Q.
  void turn(const Mat3& Q) {
    for (int i = 0; i < 2; ++i) {
      t[i] = Q * t[i];
      D[i] = Q * D[i] * Q.transpose();
    }
  }
  /// s_1 t_1 + s_2 t_2, and its derivative by n.
  Vec3 force(const double* s) const { return s[0] * t[0] + s[1] * t[1]; }
  Mat3 force_gradient(const double* s) const { return s[0] * D[0] + s[1] * D[1]; }
};

}  // namespace carom
