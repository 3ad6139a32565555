// The elastic energy of a group of solid elements with its gradient and Hessian with respect to the positions of the
// nodes.
//
//   E = sum over Gauss points of w psi(F),   F = sum_a x_a g_a^T,   f_a = dE/dx_a = sum w P g_a,
//   K_ab = d f_a/d x_b,   g_a = dN_a/dX
//
// Total Lagrangian: integrals over the reference configuration. With `extra` = 3 every element has three incompatible
// modes 1 - xi_k^2 in addition (Wilson). Their gradients are (j_0/j) J_0^-T grad (Taylor, Beresford and Wilson 1976),
// so the patch test holds for distorted elements. The modes remove locking in bending and for nearly incompressible
// materials. The amplitudes of the modes, stored as the last "positions", make the energy of the element stationary.
// Newton's method finds them inside the element; condensing them makes force and stiffness functions of x alone,
//   f = E_x,   K = E_xx - E_xm E_mm^-1 E_mx       at E_m = 0.
#pragma once

#include "elements/solid/solid_shape.hpp"

namespace carom::solid {

namespace {

/// Factorises one symmetric matrix per lane as L D L^T, without pivoting.
template <int n>
struct SmallFactor {
  static constexpr int room = n == 0 ? 1 : n;
  Lanes L[room][room], pivot[room], inverse_pivot[room];

  /// entry(i, j) is called for i <= j only.
  template <class Entry>
  void compute(const Entry& entry) {
    for (int j = 0; j < n; ++j) {
      Lanes scaled[room] = {};
      pivot[j] = entry(j, j);
      for (int k = 0; k < j; ++k) {
        scaled[k] = L[j][k] * pivot[k];
        pivot[j] -= L[j][k] * scaled[k];
      }
      inverse_pivot[j] = 1.0 / pivot[j];
      for (int i = j + 1; i < n; ++i) {
        Lanes sum = entry(j, i);
        for (int k = 0; k < j; ++k) sum -= L[i][k] * scaled[k];
        L[i][j] = sum * inverse_pivot[j];
      }
    }
  }
  void forward(Lanes* y) const {
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < i; ++k) y[i] -= L[i][k] * y[k];
  }
  void solve(Lanes* y) const {
    forward(y);
    for (int i = 0; i < n; ++i) y[i] *= inverse_pivot[i];
    for (int i = n - 1; i >= 0; --i)
      for (int j = i + 1; j < n; ++j) y[i] -= L[j][i] * y[j];
  }
};

/// Gradients of the shape functions, followed by those of the incompatible modes, at a Gauss point. Returns its weight.
template <class Shape, int extra>
inline Lanes mode_gradients(const Lanes (&X)[Shape::nodes][3], int p, const Matrix3& centre_inverse,
                            const Lanes& centre_det, Lanes (*g)[3]) {
  const Lanes det = reference_gradients(X, table_of<Shape>.dN[p], g);
  if constexpr (extra > 0) {
    const Lanes ratio = centre_det / det;
    for (int k = 0; k < extra; ++k) {
      const Lanes factor = -2.0 * table_of<Shape>.place[p][k] * ratio;
      for (int i = 0; i < 3; ++i) g[Shape::nodes + k][i] = factor * centre_inverse[k][i];
    }
  }
  return table_of<Shape>.weight * det;
}

/// components of a stress in the order of VTK: xx, yy, zz, xy, yz, xz
constexpr int stress_row[6] = {0, 1, 2, 0, 1, 0}, stress_column[6] = {0, 1, 2, 1, 2, 2};

template <class Shape, class Law, int extra>
class HyperelasticKernel {
 public:
  static constexpr int incompatible_modes = extra;
  static constexpr bool defined_inverted = Law::defined_inverted;
  static constexpr int nodes = Shape::nodes, modes = nodes + extra, pairs = modes * (modes + 1) / 2;
  static_assert(extra == 0 || extra == 3);

  /// Index of the 3 x 3 block (a, b), a <= b, in K; a block below the diagonal is the transpose of the block above.
  static constexpr int pair(int a, int b) { return a * modes - a * (a - 1) / 2 + b - a; }

  using Constants = typename Law::Constants;
  explicit HyperelasticKernel(const Constants& c) : law_(c) {}
  static Lame small_strain(const Constants& c) { return Law::small_strain(c); }

  /// Sets the reference positions X and the deformed positions x of the nodes and solves for the modes. X and x are
  /// unchanged.
  void place(const Lanes (&X)[nodes][3], const Lanes (&x)[nodes][3]) {
    from_first(X, X_);
    from_first(x, x_);
    if constexpr (extra > 0) {
      centre_det_ = inverse_jacobian(X_, centre_of<Shape>.dN[0], centre_inverse_);
      solve_modes();
    }
  }

  /// Of parallelepipeds, before evaluate<false>(): with the Jacobian J[i][axis] = dX_i/dxi, the same at all points.
  void place_parallel(const Matrix3& J, const Lanes (&x)[nodes][3]) requires(nodes == 8 && extra == 0) {
    for (int i = 0; i < 3; ++i)
      for (int axis = 0; axis < 3; ++axis) J_[i][axis] = J[i][axis];
    from_first(x, x_);
    parallel_ = true;
  }

  static constexpr bool mixed_tangent = requires(const Law& law, Matrix3& S) { law.stress(S, S); };
  /// The geometric part of the stiffness gets the stresses that the correction d of the nodes, which led to x, has
  /// predicted: those of the strain E - (H^T H)/2, H = sum d_a g_a^T, which lacks the part of second order in d.
  void set_correction(const Lanes (&d)[nodes][3]) {
    from_first(d, d_);
    predicts_ = true;
  }

  /// Energy and gradient; the stiffness too if the template argument is true.
  template <bool stiffness>
  void evaluate() {
    if constexpr (by_axes && !stiffness)
      sum_by_axes();
    else
      sum<stiffness>(0);
    if constexpr (stiffness && extra > 0) condense();
  }

  /// The smallest det F at the Gauss points.
  Lanes smallest_volume_ratio() {
    Lanes smallest = lanes(HUGE_VAL);
    Matrix3 F, cof;
    if constexpr (by_axes) {
      AxisValues D_X, D_x;
      axis_derivatives(X_, D_X);
      axis_derivatives(x_, D_x);
      for (int p = 0; p < Shape::points; ++p) {
        Matrix3 J;
        at_point(D_X, p, J);
        at_point(D_x, p, F);
        smallest = -max(-smallest, -(cofactors(F, cof) / cofactors(J, cof)));
      }
      return smallest;
    }
    Lanes g[modes][3];
    for (int p = 0; p < Shape::points; ++p) {
      gradients(p, g);
      deformation(g, F);
      smallest = -max(-smallest, -cofactors(F, cof));
    }
    return smallest;
  }

  /// Cauchy stress P F^T/J at the Gauss points.
  void stresses(Lanes (*points)[6]) {
    Lanes g[modes][3];
    Matrix3 F, cof;
    for (int p = 0; p < Shape::points; ++p) {
      gradients(p, g);
      deformation(g, F);
      law_.set(F, lanes(1));
      const Lanes inverse = 1.0 / cofactors(F, cof);
      for (int c = 0; c < 6; ++c) points[p][c] = inverse * dot3(law_.P[stress_row[c]], F[stress_column[c]]);
    }
  }
  /// P itself at the Gauss points, for a law of small strains.
  void small_stresses(Lanes (*points)[6]) {
    Lanes g[modes][3];
    Matrix3 F;
    for (int p = 0; p < Shape::points; ++p) {
      gradients(p, g);
      deformation(g, F);
      law_.set(F, lanes(1));
      for (int c = 0; c < 6; ++c) points[p][c] = law_.P[stress_row[c]][stress_column[c]];
    }
  }

  Lanes energy{};
  Lanes f[modes][3];
  Matrix3 K[pairs];

 private:
  static constexpr bool by_axes = nodes == 8 && extra == 0;
  static constexpr int unknowns = 3 * extra, room = SmallFactor<unknowns>::room;

  /// Gradients of all modes at a point; returns the point's weight.
  Lanes gradients(int p, Lanes (*g)[3]) const {
    return mode_gradients<Shape, extra>(X_, p, centre_inverse_, centre_det_, g);
  }

  void deformation(const Lanes (*g)[3], Matrix3& F) const {
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F[i][j] = x_[1][i] * g[1][j];  // x_0 = 0
        for (int a = 2; a < modes; ++a) F[i][j] += x_[a][i] * g[a][j];
      }
  }

  /// Energy and gradient by sum factorisation: less than half of the operations of sum().
  void sum_by_axes() {
    energy = lanes(0);
    for (auto& force : f)
      for (Lanes& component : force) component = lanes(0);
    AxisValues D_X, D_x, forces = {};
    Matrix3 inverse;
    Lanes det{};
    const auto invert = [&](const Matrix3& J) {
      Matrix3 cof;
      det = cofactors(J, cof);
      const Lanes factor = 1.0 / det;
      for (int axis = 0; axis < 3; ++axis)
        for (int i = 0; i < 3; ++i) inverse[axis][i] = cof[i][axis] * factor;
    };
    if (parallel_)
      invert(J_);
    else
      axis_derivatives(X_, D_X);
    axis_derivatives(x_, D_x);
    for (int p = 0; p < Shape::points; ++p) {
      Matrix3 D, F;
      if (!parallel_) {
        Matrix3 J;
        at_point(D_X, p, J);
        invert(J);
      }
      at_point(D_x, p, D);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          F[i][j] = D[i][0] * inverse[0][j] + D[i][1] * inverse[1][j] + D[i][2] * inverse[2][j];
      law_.set(F, table_of<Shape>.weight * det);
      energy += law_.energy;
      for (int axis = 0; axis < 3; ++axis)
        for (int i = 0; i < 3; ++i)
          forces[axis][hexahedron_edges.of_point[p][axis]][i] += dot3(law_.P[i], inverse[axis]);
    }
    add_axis_forces(forces, f);
  }

  /// Adds energy, gradient and stiffness of the modes from `first` on.
  template <bool stiffness>
  void sum(int first) {
    energy = lanes(0);
    for (int a = first; a < modes; ++a)
      for (Lanes& component : f[a]) component = lanes(0);

    constexpr int points = Shape::points, kept = stiffness ? points : 1;
    Lanes g[kept][modes][3], h[kept][modes][3], s[kept][modes][3];
    Lanes lambda[kept], kappa[kept];
    Matrix3 F, B[kept];
    for (int p = 0; p < points; ++p) {
      const int k = stiffness ? p : 0;
      const Lanes weight = gradients(p, g[k]);
      deformation(g[k], F);
      law_.set(F, weight);
      energy += law_.energy;
      for (int a = first; a < modes; ++a)
        for (int i = 0; i < 3; ++i) f[a][i] += dot3(law_.P[i], g[k][a]);
      if constexpr (stiffness) {
        for (int a = first; a < modes; ++a) law_.direct(g[p][a], h[p][a], s[p][a]);
        if constexpr (mixed_tangent)
          if (first == 0 && predicts_) add_predicted(F, g[p], s[p]);
        lambda[p] = law_.lambda;
        kappa[p] = law_.kappa;
        if constexpr (Law::has_B) law_.find_B(B[p]);
      }
    }

    // one block at a time: its entries stay in registers during the loop over points
    if constexpr (stiffness)
      for (int b = first; b < modes; ++b) {
        Lanes lambda_h[points][3], kappa_h[points][3];
        for (int p = 0; p < points; ++p)
          for (int i = 0; i < 3; ++i) {
            lambda_h[p][i] = lambda[p] * h[p][b][i];
            kappa_h[p][i] = kappa[p] * h[p][b][i];
          }
        for (int a = first; a <= b; ++a) {
          Matrix3 block = {};
          Lanes isotropic = lanes(0);
          for (int p = 0; p < points; ++p) {
#pragma GCC unroll 3
            for (int i = 0; i < 3; ++i)
#pragma GCC unroll 3
              for (int k = 0; k < 3; ++k) {
                block[i][k] += h[p][a][i] * lambda_h[p][k];
                block[i][k] += kappa_h[p][i] * h[p][a][k];
              }
            for (int i = 0; i < 3; ++i) isotropic += g[p][a][i] * s[p][b][i];
            if constexpr (Law::has_B) {
              const Lanes along = dot3(g[p][a], g[p][b]);
#pragma GCC unroll 3
              for (int i = 0; i < 3; ++i)
#pragma GCC unroll 3
                for (int k = 0; k < 3; ++k) block[i][k] += along * B[p][i][k];
            }
          }
          Matrix3& entry = K[pair(a, b)];
          for (int i = 0; i < 3; ++i)
            for (int k = 0; k < 3; ++k) entry[i][k] = i == k ? block[i][k] + isotropic : block[i][k];
        }
      }
  }

  // s_a += (S^ - S) g_a with the predicted stress S^, where both are numbers
  void add_predicted(const Matrix3& F, const Lanes (*g)[3], Lanes (*s)[3]) const {
    Matrix3 H, E, predicted, S, S_predicted;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        H[i][j] = d_[1][i] * g[1][j];  // d_0 = 0
        for (int a = 2; a < nodes; ++a) H[i][j] += d_[a][i] * g[a][j];
      }
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        E[i][j] = 0.5 * (F[0][i] * F[0][j] + F[1][i] * F[1][j] + F[2][i] * F[2][j] - (i == j ? 1.0 : 0.0));
        predicted[i][j] = E[i][j] - 0.5 * (H[0][i] * H[0][j] + H[1][i] * H[1][j] + H[2][i] * H[2][j]);
      }
    law_.stress(E, S);
    law_.stress(predicted, S_predicted);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const Lanes change = S_predicted[i][j] - S[i][j];
        S[i][j] = change == change ? change : lanes(0);
      }
    for (int a = 0; a < modes; ++a)
      for (int i = 0; i < 3; ++i) s[a][i] += dot3(S[i], g[a]);
  }

  /// Solves E_m = 0 by Newton's method from zero. A converged lane is not changed any more, so its bits do not depend
  /// on the other lanes.
  void solve_modes() {
    for (int k = nodes; k < modes; ++k)
      for (Lanes& component : x_[k]) component = lanes(0);
    Lanes size = lanes(0);
    for (int a = 1; a < nodes; ++a)
      for (int i = 0; i < 3; ++i) size = max(size, abs(X_[a][i]));
    Lanes open = lanes(1);
    constexpr int most = 25;
    for (int iteration = 0; iteration < most; ++iteration) {
      sum<true>(nodes);
      factorise();
      Lanes step[unknowns];
      for (int i = 0; i < unknowns; ++i) step[i] = -f[nodes + i / 3][i % 3];
      factor_.solve(step);
      Lanes largest = lanes(0);
      for (int i = 0; i < unknowns; ++i) {
        x_[nodes + i / 3][i % 3] += open > 0.0 ? step[i] : lanes(0);
        // a step that is NaN ends the iteration and makes the force NaN
        largest = step[i] == step[i] ? max(largest, abs(step[i])) : lanes(0);
      }
      // convergence is quadratic: after a step below 1e-8 only rounding errors are left
      open = largest > 1e-8 * size ? open : lanes(0);
      double any = 0;
      for (int l = 0; l < lane_count; ++l) any += open[l];
      if (any == 0) return;
    }
    for (int i = 0; i < unknowns; ++i) x_[nodes + i / 3][i % 3] += nan_unless(lanes(0), 0.5 - open);
  }

  void factorise() {
    factor_.compute([&](int i, int j) { return K[pair(nodes + i / 3, nodes + j / 3)][i % 3][j % 3]; });
  }

  /// K_xx - K_xm K_mm^-1 K_mx
  void condense() {
    factorise();
    Lanes W[nodes][3][room];
    for (int a = 0; a < nodes; ++a)
      for (int i = 0; i < 3; ++i) {
        for (int m = 0; m < unknowns; ++m) W[a][i][m] = K[pair(a, nodes + m / 3)][i][m % 3];
        factor_.forward(W[a][i]);
      }
    for (int b = 0; b < nodes; ++b)
      for (int k = 0; k < 3; ++k) {
        Lanes scaled[room];
        for (int m = 0; m < unknowns; ++m) scaled[m] = W[b][k][m] * factor_.inverse_pivot[m];
        for (int a = 0; a <= b; ++a)
          for (int i = 0; i < 3; ++i)
            for (int m = 0; m < unknowns; ++m) K[pair(a, b)][i][k] -= W[a][i][m] * scaled[m];
      }
  }

  Law law_;
  bool predicts_ = false, parallel_ = false;
  Lanes d_[nodes][3];
  Lanes X_[nodes][3], x_[modes][3];
  Matrix3 J_;  // of parallelepipeds
  Matrix3 centre_inverse_;
  Lanes centre_det_{};
  SmallFactor<unknowns> factor_;
};

}  // namespace

}  // namespace carom::solid
