// Corotational linear elasticity: strains are small in a frame that rotates with the element.
//
//   E(x) = E_lin(x^),   x^_a = R^T x_a,   R from the polar decomposition F_0 = R U at the element's centre
//
// E_lin is the energy of the linear element, with incompatible modes if the element has them. Force and stiffness are
// exact derivatives of E and include the dependence of R on x. With the rotation vector theta of a change R exp(theta):
//   f^_a = E_a + Theta_a^T m                m = dE/dtheta = - sum x^_a x E_a
//   K^ = E_xx + E_xt Theta + Theta^T E_tx + Theta^T E_tt Theta + m . Theta_xx
//   Theta_a = Y^-1 [g_a]x,  Y = tr(U) 1 - U   from  Y dtheta = axial(R^T dF - dF^T R)
//
// and K_ab = R K^_ab R^T. Theta_xx follows from differentiating Y omega = axial(R^T F') once more along a straight
// path.
#pragma once

#include "elements/solid/solid_kernel.hpp"

namespace carom::solid {

namespace {

inline void cross(const Lanes a[3], const Lanes b[3], Lanes c[3]) {
  for (int i = 0; i < 3; ++i) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/// Computes R of F = R U by Newton's iteration R := (R + R^-T)/2. Its singular values converge to 1 quadratically; the
/// result is exact to rounding for stretches from 0.005 to 200. The result is NaN if det F <= 0.
inline void polar_rotation(const Matrix3& F, Matrix3& R) {
  Matrix3 cof;
  const Lanes check = nan_unless(lanes(1), cofactors(F, cof));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) R[i][j] = check * F[i][j];
  for (int iteration = 0; iteration < 13; ++iteration) {
    const Lanes half = 0.5 / cofactors(R, cof);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) R[i][j] = 0.5 * R[i][j] + half * cof[i][j];
  }
}

template <class Shape, int extra>
class CorotationalKernel {
 public:
  using Linear = HyperelasticKernel<Shape, SmallStrain, extra>;
  static constexpr int incompatible_modes = extra;
  static constexpr int nodes = Shape::nodes, pairs = nodes * (nodes + 1) / 2;
  static constexpr int pair(int a, int b) { return a * nodes - a * (a - 1) / 2 + b - a; }

  static constexpr bool defined_inverted = false, mixed_tangent = false;

  using Constants = Lame;
  explicit CorotationalKernel(const Lame& c) : linear_(c) {}
  static Lame small_strain(const Lame& c) { return c; }

  void place(const Lanes (&X)[nodes][3], const Lanes (&x)[nodes][3]) {
    reference_gradients(X, centre_of<Shape>.dN[0], g_);
    Matrix3 F;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F[i][j] = lanes(0);
        for (int a = 1; a < nodes; ++a) F[i][j] += (x[a][i] - x[0][i]) * g_[a][j];
      }
    polar_rotation(F, R_);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) U_[i][j] = R_[0][i] * F[0][j] + R_[1][i] * F[1][j] + R_[2][i] * F[2][j];
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i)
        x_[a][i] = R_[0][i] * (x[a][0] - x[0][0]) + R_[1][i] * (x[a][1] - x[0][1]) + R_[2][i] * (x[a][2] - x[0][2]);
    linear_.place(X, x_);

    // Y^-1
    Matrix3 Y, cof;
    const Lanes trace = U_[0][0] + U_[1][1] + U_[2][2];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) Y[i][j] = (i == j ? trace : lanes(0)) - 0.5 * (U_[i][j] + U_[j][i]);
    const Lanes inverse = 1.0 / cofactors(Y, cof);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) Y_inverse_[i][j] = inverse * cof[i][j];
  }

  template <bool stiffness>
  void evaluate() {
    linear_.template evaluate<stiffness>();
    energy = linear_.energy;
    // n = Y^-1 m, so that Theta_a^T m = -g_a x n
    Lanes m[3] = {}, n[3];
    for (int a = 0; a < nodes; ++a) {
      Lanes moment[3];
      cross(x_[a], linear_.f[a], moment);
      for (int i = 0; i < 3; ++i) m[i] -= moment[i];
    }
    for (int i = 0; i < 3; ++i) n[i] = dot3(Y_inverse_[i], m);
    if constexpr (stiffness) turn_stiffness(n);
    for (int a = 0; a < nodes; ++a) {
      Lanes local[3];
      cross(n, g_[a], local);
      for (int i = 0; i < 3; ++i) local[i] += linear_.f[a][i];
      for (int i = 0; i < 3; ++i) f[a][i] = dot3(R_[i], local);
    }
  }

  /// R sigma R^T
  void stresses(Lanes (*points)[6]) {
    linear_.small_stresses(points);
    for (int p = 0; p < Shape::points; ++p) {
      Lanes* s = points[p];
      const Matrix3 local = {{s[0], s[3], s[5]}, {s[3], s[1], s[4]}, {s[5], s[4], s[2]}};
      Matrix3 half;
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) half[i][j] = dot3(R_[i], local[j]);
      for (int c = 0; c < 6; ++c) s[c] = dot3(half[stress_row[c]], R_[stress_column[c]]);
    }
  }

  Lanes energy{};
  Lanes f[nodes][3];
  Matrix3 K[pairs];

 private:
  void turn_stiffness(const Lanes n[3]) {
    // H_a = E_xt = sum_b K_ab [x_b]x - [f_a]x, and E_tt
    Matrix3 H[nodes], T = {};
    for (int a = 0; a < nodes; ++a) {
      Matrix3 sum = {};
      for (int b = 0; b < nodes; ++b)
        for (int i = 0; i < 3; ++i) {
          // row i of K_ab times [x_b]x
          const Matrix3& block = linear_.K[a <= b ? Linear::pair(a, b) : Linear::pair(b, a)];
          const Lanes row[3] = {a <= b ? block[i][0] : block[0][i], a <= b ? block[i][1] : block[1][i],
                                a <= b ? block[i][2] : block[2][i]};
          Lanes turned[3];
          cross(row, x_[b], turned);
          for (int k = 0; k < 3; ++k) sum[i][k] += turned[k];
        }
      const Lanes(&force)[3] = linear_.f[a];
      const Lanes work = dot3(force, x_[a]);
      for (int k = 0; k < 3; ++k) {
        // columns, with [x]x^T column = -x x column
        const Lanes column[3] = {sum[0][k], sum[1][k], sum[2][k]};
        Lanes turned[3];
        cross(x_[a], column, turned);
        for (int i = 0; i < 3; ++i) T[i][k] += 0.5 * (x_[a][i] * force[k] + force[i] * x_[a][k]) - turned[i];
        T[k][k] -= work;
      }
      subtract_hat(force, sum);
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) H[a][i][k] = sum[i][k];
    }

    // omega and U' of the nine directions A = e_i e_J^T
    Lanes omega[3][3][3], rate[3][3][3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        // axial = e_j x e_i
        for (int k = 0; k < 3; ++k) {
          omega[i][j][k] = lanes(0);
          if (i != j) omega[i][j][k] = (j + 1) % 3 == i ? Y_inverse_[k][3 - i - j] : -Y_inverse_[k][3 - i - j];
        }
        for (int k = 0; k < 3; ++k) {
          const Lanes column[3] = {U_[0][k], U_[1][k], U_[2][k]};
          Lanes turned[3];
          cross(omega[i][j], column, turned);
          for (int l = 0; l < 3; ++l) rate[i][j][l][k] = -turned[l];
        }
        rate[i][j][i][j] += 1.0;
      }
    // Z_pq = omega_p . T omega_q + the symmetric part of n . [-axial([omega_p]x A_q) - tr(U'_q) omega_p + U'_q omega_p]
    Lanes Z[3][3][3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k)
          for (int l = 0; l < 3; ++l) {
            const Lanes first = second_order(n, omega[i][j], k, l, rate[k][l]);
            const Lanes other = second_order(n, omega[k][l], i, j, rate[i][j]);
            Lanes T_omega[3];
            for (int c = 0; c < 3; ++c) T_omega[c] = dot3(T[c], omega[k][l]);
            Z[i][j][k][l] = 0.5 * (first + other) + dot3(omega[i][j], T_omega);
          }

    // sum of all terms, rotated to inertial axes
    Matrix3 Theta[nodes];
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i) cross(Y_inverse_[i], g_[a], Theta[a][i]);  // row of Y^-1 times [g]x
    for (int b = 0; b < nodes; ++b) {
      Lanes D[3][3][3];
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          for (int k = 0; k < 3; ++k) D[i][j][k] = dot3(Z[i][j][k], g_[b]);
      for (int a = 0; a <= b; ++a) {
        Matrix3 local, half;
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k) {
            local[i][k] = linear_.K[Linear::pair(a, b)][i][k] + g_[a][0] * D[i][0][k] + g_[a][1] * D[i][1][k] +
                          g_[a][2] * D[i][2][k];
            for (int c = 0; c < 3; ++c) local[i][k] += H[a][i][c] * Theta[b][c][k] + Theta[a][c][i] * H[b][k][c];
          }
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k)
            half[i][k] = R_[i][0] * local[0][k] + R_[i][1] * local[1][k] + R_[i][2] * local[2][k];
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k) K[pair(a, b)][i][k] = dot3(half[i], R_[k]);
      }
    }
  }

  /// n . [-axial([omega]x e_k e_l^T) - tr(U') omega + U' omega], axial(u v^T) = v x u
  static Lanes second_order(const Lanes n[3], const Lanes omega[3], int k, int l, const Matrix3& rate) {
    // [omega]x e_k e_l^T = (omega x e_k) e_l^T, whose axial vector is e_l x (omega x e_k) = omega (e_l . e_k) - e_k
    // omega_l
    Lanes sum = n[k] * omega[l];
    const Lanes along = dot3(n, omega);
    if (k == l) sum -= along;
    sum -= (rate[0][0] + rate[1][1] + rate[2][2]) * along;
    for (int i = 0; i < 3; ++i) sum += n[i] * dot3(rate[i], omega);
    return sum;
  }

  static void subtract_hat(const Lanes v[3], Matrix3& M) {
    for (int i = 0; i < 3; ++i) {
      M[(i + 2) % 3][(i + 1) % 3] -= v[i];
      M[(i + 1) % 3][(i + 2) % 3] += v[i];
    }
  }

  Linear linear_;
  Lanes g_[nodes][3], x_[nodes][3];
  Matrix3 R_, U_, Y_inverse_;
};

}  // namespace

}  // namespace carom::solid
