// What contacts with friction and resistance have in common: names, directions and laws of their rows.
//
//   row     0     1, 2         3, 4            5
//           gap   slip t_1,2   rolling t_1,2   pivoting n
//
// Resistance to rolling and pivoting follows the law of friction with the moments M in place of the tangential force:
//   |M_T| <= k_r F_N,  |M_n| <= k_p F_N
// Rows of resistance are multiplied by a length L, the lever: multipliers are M/L, radii over F_N k/L.
#pragma once

#include <string>

#include "contact/gap/tangent_basis.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

/// Name of a row for messages; empty for the gap.
inline std::string contact_row_name(int row) {
  if (row == 0) return "";
  if (row < slip_rows) return "slip " + std::to_string(row);
  return row < slip_rows + 2 ? "rolling " + std::to_string(row - slip_rows + 1) : "pivoting";
}

/// Unit direction of the force or the moment of a row.
inline Vec3 contact_row_direction(int row, const Vec3& n, const TangentBasis& basis) {
  if (row == 0 || row == slip_rows + 2) return n;
  return basis.t[(row - 1) % 2];
}

/// The law of a row of resistance; k_r, k_p and lever: lengths.
inline ContactParameters resistance_law(int row, double rolling, double pivoting, double lever) {
  const bool pivots = row == slip_rows + 2;
  return {.friction = (pivots ? pivoting : rolling) / lever, .disc = pivots ? 2 : 1, .lever = lever};
}

/// Whether a multiplier of resistance is not zero; s: `rows` entries of a contact.
inline bool acts_by_moment(const double* s, int rows) {
  return rows > slip_rows && (s[slip_rows] != 0 || s[slip_rows + 1] != 0 || s[slip_rows + 2] != 0);
}

/// The directions t_1, t_2, n of tangential rows and of rows of resistance, and their derivatives by n.
struct ContactAxes {
  static constexpr double least_sum = 1;  // of n and n_n: turned by less than 120 degrees
  Vec3 a[3];
  Mat3 D[3];

  ContactAxes(const TangentBasis& basis, const Vec3& n)
      : a{basis.t[0], basis.t[1], n}, D{basis.D[0], basis.D[1], Mat3::Identity()} {}
  /// For displacements of a step, whose rates have turned with the normal: the normal m in the middle between n_n at
  /// the start of the step and n, and t_1, t_2 without their parts along m. With n in the place of m the spin of a
  /// rolling body about the normal would count as slip, by O(h^2) a step.
  void go_to_middle(const Vec3& n_n) {
    const Vec3 sum = a[2] + n_n;
    const double length = sum.norm();
    if (!(length > least_sum)) return;
    const Vec3 m = sum / length;
    const Mat3 M = (Mat3::Identity() - m * m.transpose()) / length;  // dm/dn
    for (std::size_t k = 0; k < 2; ++k) {
      const double along = m.dot(a[k]);
      const Vec3 change = M * a[k] + D[k].transpose() * m;
      D[k] -= along * M + m * change.transpose();
      a[k] -= along * m;
    }
    a[2] = m;
    D[2] = M;
  }
  /// s_1 t_1 + s_2 t_2 + s_3 n, and its derivative by n.
  Vec3 moment(const double* s) const { return s[0] * a[0] + s[1] * a[1] + s[2] * a[2]; }
  Mat3 moment_gradient(const double* s) const { return s[0] * D[0] + s[1] * D[1] + s[2] * D[2]; }
};

}  // namespace carom
