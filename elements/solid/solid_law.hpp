// Laws of hyperelastic materials at a Gauss point, a group of elements at once. Isotropic, with Young's modulus and
// Poisson's ratio through Lame's constants lambda = E nu/((1 + nu)(1 - 2 nu)), mu = E/(2 (1 + nu)).
//
//   energy psi(F) per reference volume, first Piola-Kirchhoff stress P = dpsi/dF, and the second derivative for
//   F = sum_a x_a g_a^T with respect to x_a and x_b:
//
//   lambda h_a h_b^T + kappa h_b h_a^T + (g_a . s_b) 1 + (g_a . g_b) B       h = H g, s = S g
//
// set(F, w) prepares everything, multiplied by the weight w of the point, inlined so that forces cost nothing that only
// the stiffness needs; direct(g) gives h and s, find_B(B), of laws with `has_B`, B. Where the law has no meaning for
// det F <= 0 every result is not a number. A law of total strain may also give its second Piola-Kirchhoff stress,
// stress(E, S), with the weight of the last set(): statics of slender solids then converges in few iterations
// (ElementTangent::mixed_q).
//
// A law names its `Constants`, whatever they are (Mooney and Rivlin: c_10, c_01 and a bulk modulus), and gives the Lame
// constants of its small strains, by which damping and roundoff are measured. New laws: a file pair like elastic_laws,
// with its class and a function that returns a SolidLaw, and an entry in io/model/types/materials.cpp. A law whose
// second derivative has another form than the one above brings its own kernel; see solid_block.hpp.
//
// No law here has history variables (plastic strain, damage). A law that has some would keep none in the block, which
// is constant during a run: they would be an array of State, m numbers per Gauss point, of which each block has its
// share as it has of the rows. set(F, h_n, w) would read the values h_n of the start of the step, so that forces and
// tangents stay functions of the configuration while Newton iterates and a rejected step needs no repair; once a step
// is accepted, the block would be asked for the values at its end, which checkpoints then save with the state.
#pragma once

#include <limits>

#include "elements/solid/lanes.hpp"
#include "elements/solid/solid_forces.hpp"

namespace carom::solid {

namespace {

using Matrix3 = Lanes[3][3];

inline Lame lame(double young, double poisson) {
  return {young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))};
}

/// Computes the cofactors, A^-1 = cof^T / det, and returns det.
inline Lanes cofactors(const Matrix3& A, Matrix3& cof) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      cof[i][j] = A[i1][j1] * A[i2][j2] - A[i1][j2] * A[i2][j1];
    }
  return A[0][0] * cof[0][0] + A[0][1] * cof[0][1] + A[0][2] * cof[0][2];
}

inline Lanes dot3(const Lanes* a, const Lanes* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline Lanes nan_unless(const Lanes& value, const Lanes& positive) {
  return positive > 0.0 ? value : lanes(std::numeric_limits<double>::quiet_NaN());
}

/// S = lambda tr(E) 1 + 2 mu E with E = (F^T F - 1)/2: linear in Green-Lagrange strain. The law does not resist
/// inversion. Its force is a polynomial in x, so Newton's method can recover from an inverted element.
class SaintVenantKirchhoff {
 public:
  using Constants = Lame;
  explicit SaintVenantKirchhoff(const Lame& c) : c_(c) {}
  static Lame small_strain(const Lame& c) { return c; }

  [[gnu::always_inline]] void set(const Matrix3& F, const Lanes& weight) {
    lambda = weight * c_.lambda;
    kappa = weight * c_.mu;
    Matrix3 E;
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) {
        E[i][j] = E[j][i] = 0.5 * (F[0][i] * F[0][j] + F[1][i] * F[1][j] + F[2][i] * F[2][j] - (i == j ? 1.0 : 0.0));
      }
    const Lanes trace = E[0][0] + E[1][1] + E[2][2];
    Lanes square = lanes(0);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F_[i][j] = F[i][j];
        square += E[i][j] * E[i][j];
        S_[i][j] = 2.0 * kappa * E[i][j];
        if (i == j) S_[i][j] += lambda * trace;
      }
    energy = 0.5 * lambda * trace * trace + kappa * square;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) P[i][j] = dot3(F[i], S_[j]);
  }

  // H = F, kappa = mu, B = mu F F^T
  void direct(const Lanes g[3], Lanes h[3], Lanes s[3]) const {
    for (int i = 0; i < 3; ++i) {
      h[i] = dot3(F_[i], g);
      s[i] = dot3(S_[i], g);
    }
  }
  void find_B(Matrix3& B) const {
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j) B[i][j] = B[j][i] = kappa * dot3(F_[i], F_[j]);
  }

  void stress(const Matrix3& E, Matrix3& S) const {
    const Lanes pressure = lambda * (E[0][0] + E[1][1] + E[2][2]);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) S[i][j] = 2.0 * kappa * E[i][j] + (i == j ? pressure : lanes(0));
  }

  static constexpr bool has_B = true, defined_inverted = true;
  Matrix3 P;
  Lanes energy{}, lambda{}, kappa{};

 private:
  Lame c_;
  Matrix3 F_, S_;
};

/// psi = mu/2 (tr(F^T F) - 3) - mu ln J + lambda/2 (ln J)^2, infinite as J = det F goes to 0.
class NeoHookean {
 public:
  using Constants = Lame;
  explicit NeoHookean(const Lame& c) : c_(c) {}
  static Lame small_strain(const Lame& c) { return c; }

  [[gnu::always_inline]] void set(const Matrix3& F, const Lanes& weight) {
    Matrix3 cof;
    const Lanes J = cofactors(F, cof), w = nan_unless(weight, J), inverse = 1.0 / J;
    // ln J from E = (F^T F - 1)/2 too: the parts of the energy that are linear in E then cancel with its rounding
    Matrix3 E;
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j)
        E[i][j] = 0.5 * (F[0][i] * F[0][j] + F[1][i] * F[1][j] + F[2][i] * F[2][j] - (i == j ? 1.0 : 0.0));
    const Lanes first = E[0][0] + E[1][1] + E[2][2], log_J = 0.5 * log1p(volume_change(E));
    lambda = w * c_.lambda;
    mu_ = w * c_.mu;
    kappa = mu_ - lambda * log_J;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        F_inverse_T_[i][j] = cof[i][j] * inverse;
        P[i][j] = mu_ * F[i][j] - kappa * F_inverse_T_[i][j];
      }
    energy = mu_ * (first - log_J) + 0.5 * lambda * log_J * log_J;
  }

  // H = F^-T, kappa = mu - lambda ln J, S = mu 1
  void direct(const Lanes g[3], Lanes h[3], Lanes s[3]) const {
    for (int i = 0; i < 3; ++i) {
      h[i] = dot3(F_inverse_T_[i], g);
      s[i] = mu_ * g[i];
    }
  }

  // S = mu (1 - C^-1) + lambda ln J C^-1, C = 1 + 2 E
  void stress(const Matrix3& E, Matrix3& S) const {
    Matrix3 C, cof;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) C[i][j] = 2.0 * E[i][j] + (i == j ? 1.0 : 0.0);
    const Lanes inverse = 1.0 / cofactors(C, cof), change = mu_ - 0.5 * lambda * log1p(volume_change(E));
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) S[i][j] = (i == j ? mu_ : lanes(0)) - change * inverse * cof[i][j];
  }

  static constexpr bool has_B = false, defined_inverted = false;
  Matrix3 P;
  Lanes energy{}, lambda{}, kappa{};

 private:
  // det(1 + 2 E) - 1, from the upper triangle of E
  static Lanes volume_change(const Matrix3& E) {
    const Lanes &xx = E[0][0], &yy = E[1][1], &zz = E[2][2], &yz = E[1][2], &zx = E[0][2], &xy = E[0][1];
    const Lanes first = xx + yy + zz, second = xx * yy + yy * zz + zz * xx - yz * yz - zx * zx - xy * xy;
    const Lanes third = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * zx) + zx * (xy * yz - yy * zx);
    return 2.0 * first + 4.0 * second + 8.0 * third;
  }

  Lame c_;
  Lanes mu_{};
  Matrix3 F_inverse_T_;
};

/// sigma = lambda tr(e) 1 + 2 mu e with e = sym(F) - 1: for elements in axes that rotate with the element.
class SmallStrain {
 public:
  using Constants = Lame;
  explicit SmallStrain(const Lame& c) : c_(c) {}
  static Lame small_strain(const Lame& c) { return c; }

  [[gnu::always_inline]] void set(const Matrix3& F, const Lanes& weight) {
    Matrix3 cof;
    const Lanes w = nan_unless(weight, cofactors(F, cof));
    lambda = w * c_.lambda;
    kappa = w * c_.mu;
    const Lanes trace = F[0][0] + F[1][1] + F[2][2] - 3.0;
    Lanes square = lanes(0);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const Lanes e = 0.5 * (F[i][j] + F[j][i]) - (i == j ? 1.0 : 0.0);
        square += e * e;
        P[i][j] = 2.0 * kappa * e;
        if (i == j) P[i][j] += lambda * trace;
      }
    energy = 0.5 * lambda * trace * trace + kappa * square;
  }

  // H = 1, kappa = mu, S = mu 1
  void direct(const Lanes g[3], Lanes h[3], Lanes s[3]) const {
    for (int i = 0; i < 3; ++i) {
      h[i] = g[i];
      s[i] = kappa * g[i];
    }
  }

  static constexpr bool has_B = false, defined_inverted = false;
  Matrix3 P;
  Lanes energy{}, lambda{}, kappa{};

 private:
  Lame c_;
};

}  // namespace

}  // namespace carom::solid
