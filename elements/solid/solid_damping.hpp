// Viscous stress of a group of solid elements: S = beta C : E', with E' = sym(F^T F') the rate of Green-Lagrange strain
// and C the elasticity tensor of the law. At the undeformed configuration the force is beta K v; in a rigid motion it
// vanishes.
//
// The force follows from the dissipation D(x, v) = sum w beta/2 E' : C : E' as f = -dD/dv. Incompatible modes enter F'
// but not F: the rates of the modes minimise D, which is a linear problem, and are condensed as in solid_kernel.hpp.
// -df/dv is symmetric, -df/dx is not.
#pragma once

#include "elements/solid/solid_kernel.hpp"

namespace carom::solid {

namespace {

template <class Shape, int extra>
class ViscousKernel {
 public:
  static constexpr int nodes = Shape::nodes, modes = nodes + extra;

  ViscousKernel(Lame c, double beta) : c_{beta * c.lambda, beta * c.mu} {}

  void set_velocity(const Lanes (&v)[nodes][3]) {
    from_first(v, v_);
    for (int a = nodes; a < modes; ++a)
      for (Lanes& component : v_[a]) component = lanes(0);
  }
  void place(const Lanes (&X)[nodes][3], const Lanes (&x)[nodes][3]) {
    from_first(X, X_);
    from_first(x, x_);
    if constexpr (extra > 0) {
      centre_det_ = inverse_jacobian(X_, centre_of<Shape>.dN[0], centre_inverse_);
      // rates of the modes: for zero rates the forces on the modes are E_mv v
      sum<true, false>(nodes, nodes, 1, 0);
      factor_.compute([&](int i, int j) { return matrix_[nodes + i / 3][nodes + j / 3][i % 3][j % 3]; });
      Lanes rate[unknowns];
      for (int i = 0; i < unknowns; ++i) rate[i] = -f[nodes + i / 3][i % 3];
      factor_.solve(rate);
      for (int i = 0; i < unknowns; ++i) v_[nodes + i / 3][i % 3] = rate[i];
    }
  }

  /// Adds the Cauchy stresses F S F^T/J at the Gauss points.
  void add_stresses(Lanes (*points)[6]) {
    Lanes g[modes][3];
    for (int p = 0; p < Shape::points; ++p) {
      mode_gradients<Shape, extra>(X_, p, centre_inverse_, centre_det_, g);
      Matrix3 F, V, S, FS, cof;
      deformation(g, F, V);
      stress(F, V, lanes(c_.lambda), lanes(c_.mu), S);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) FS[i][j] = dot3(F[i], S[j]);
      const Lanes inverse = 1.0 / cofactors(F, cof);
      for (int c = 0; c < 6; ++c) points[p][c] += inverse * dot3(FS[stress_row[c]], F[stress_column[c]]);
    }
  }

  /// f = dD/dv
  void evaluate() { sum<false, false>(0, 0, 0, 0); }
  /// K = c_v d f/dv + c_x d f/dx
  void evaluate_tangent(double c_v, double c_x) {
    if constexpr (extra == 0) {
      sum<true, true>(0, 0, c_v, c_x);
      take(matrix_);
    } else {
      // derivatives with respect to velocities, then positions: D_vx - D_vm D_mm^-1 D_mx
      sum<true, false>(0, 0, 1, 0);
      Lanes mixed[nodes][3][unknowns];  // D_vm
      for (int a = 0; a < nodes; ++a)
        for (int i = 0; i < 3; ++i)
          for (int m = 0; m < unknowns; ++m) mixed[a][i][m] = matrix_[a][nodes + m / 3][i][m % 3];
      condense(mixed);
      take(matrix_);
      scale(c_v);
      if (c_x == 0) return;
      sum<true, true>(0, 0, 0, c_x);
      condense(mixed);
      for (int a = 0; a < nodes; ++a)
        for (int b = 0; b < nodes; ++b)
          for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) K[a][b][i][k] += matrix_[a][b][i][k];
    }
  }

  Lanes f[modes][3];
  Matrix3 K[nodes][nodes];

 private:
  static constexpr int unknowns = 3 * extra;

  void take(const Matrix3 (&matrix)[modes][modes]) {
    for (int a = 0; a < nodes; ++a)
      for (int b = 0; b < nodes; ++b)
        for (int i = 0; i < 3; ++i)
          for (int k = 0; k < 3; ++k) K[a][b][i][k] = matrix[a][b][i][k];
  }
  void scale(double c) {
    for (auto& row : K)
      for (Matrix3& block : row)
        for (auto& line : block)
          for (Lanes& entry : line) entry *= c;
  }

  /// Condensation: matrix_ -= mixed D_mm^-1 matrix_m
  void condense(const Lanes (&mixed)[nodes][3][unknowns == 0 ? 1 : unknowns]) {
    for (int b = 0; b < nodes; ++b)
      for (int k = 0; k < 3; ++k) {
        Lanes column[unknowns];
        for (int m = 0; m < unknowns; ++m) column[m] = matrix_[nodes + m / 3][b][m % 3][k];
        factor_.solve(column);
        for (int a = 0; a < nodes; ++a)
          for (int i = 0; i < 3; ++i)
            for (int m = 0; m < unknowns; ++m) matrix_[a][b][i][k] -= mixed[a][i][m] * column[m];
      }
  }

  /// F and its rate.
  void deformation(const Lanes (&g)[modes][3], Matrix3& F, Matrix3& V) const {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F[i][j] = V[i][j] = lanes(0);
        for (int a = 1; a < nodes; ++a) F[i][j] += x_[a][i] * g[a][j];
        for (int a = 1; a < modes; ++a) V[i][j] += v_[a][i] * g[a][j];
      }
  }
  static void stress(const Matrix3& F, const Matrix3& V, Lanes lambda, Lanes mu, Matrix3& S) {
    Lanes trace = lanes(0);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        // 2 E' = F^T V + V^T F
        Lanes twice = lanes(0);
        for (int c = 0; c < 3; ++c) twice += F[c][i] * V[c][j] + V[c][i] * F[c][j];
        S[i][j] = mu * twice;
        if (i == j) trace += 0.5 * twice;
      }
    for (int i = 0; i < 3; ++i) S[i][i] += lambda * trace;
  }

  /// Computes the forces and, if requested, c_v d f/dv + c_x d f/dx. first_row, first_column: the
  /// first modes whose rows and columns are computed.
  template <bool tangent, bool positions>
  void sum(int first_row, int first_column, double c_v, double c_x) {
    for (int a = first_row; a < modes; ++a) {
      for (Lanes& component : f[a]) component = lanes(0);
      if constexpr (tangent)
        for (int b = first_column; b < modes; ++b)
          for (auto& line : matrix_[a][b])
            for (Lanes& entry : line) entry = lanes(0);
    }
    Lanes g[modes][3];
    for (int p = 0; p < Shape::points; ++p) {
      const Lanes w = mode_gradients<Shape, extra>(X_, p, centre_inverse_, centre_det_, g);
      const Lanes lambda = w * c_.lambda, mu = w * c_.mu;
      Matrix3 F, V, S, B, W;
      deformation(g, F, V);
      stress(F, V, lambda, mu, S);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          B[i][j] = mu * dot3(F[i], F[j]);
          W[i][j] = mu * dot3(F[i], V[j]);
        }
      for (int a = first_row; a < modes; ++a) {
        const Lanes Sg[3] = {dot3(S[0], g[a]), dot3(S[1], g[a]), dot3(S[2], g[a])};
        for (int i = 0; i < 3; ++i) f[a][i] += dot3(F[i], Sg);
      }
      if constexpr (tangent)
        for (int b = first_column; b < modes; ++b) {
          // derivatives of F S for a change e_k g^T of F' and of F
          Lanes Fg[3], Vg[3], Sg[3], D[3][3][3];
          for (int i = 0; i < 3; ++i) {
            Fg[i] = dot3(F[i], g[b]);
            Vg[i] = dot3(V[i], g[b]);
            Sg[i] = dot3(S[i], g[b]);
          }
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j)
              for (int k = 0; k < 3; ++k) {
                D[i][j][k] = c_v * (lambda * F[i][j] * Fg[k] + B[i][k] * g[b][j] + mu * Fg[i] * F[k][j]);
                if constexpr (positions) {
                  D[i][j][k] += c_x * (lambda * F[i][j] * Vg[k] + W[i][k] * g[b][j] + mu * Fg[i] * V[k][j]);
                  if (i == k) D[i][j][k] += c_x * Sg[j];
                }
              }
          for (int a = first_row; a < modes; ++a)
            for (int i = 0; i < 3; ++i)
              for (int k = 0; k < 3; ++k)
                matrix_[a][b][i][k] += g[a][0] * D[i][0][k] + g[a][1] * D[i][1][k] + g[a][2] * D[i][2][k];
        }
    }
  }

  Lame c_;
  Lanes X_[nodes][3], x_[nodes][3], v_[modes][3];
  Matrix3 matrix_[modes][modes];
  Matrix3 centre_inverse_;
  Lanes centre_det_{};
  SmallFactor<unknowns> factor_;
};

}  // namespace

}  // namespace carom::solid
