// The Gauss-Seidel method of ConeProblem (cone_problem.hpp, stage 3).
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double shift_share = 1e-13 / 1e-11;  // of the shift of Newton's matrices
constexpr int sweeps_per_test = 10, mixings_per_test = 5;
constexpr int depth = 20, sweeps_per_mixing = 3;  // of accelerated sweeps
constexpr double growth = 2;                      // of what a sweep changes, at which they are forgotten
constexpr double regularising = 1e-10;            // of the normal equations, relative

// The multipliers of a disc and its source over the parameter k = |c_T|/|s_T| of slip: (S + k) s_T = -q~ in the axes
// of S, and s_N = (-q_N - W_NT s_T)/W_NN, or a constant without source.
struct ContactCurve {
  double eigenvalue[3] = {0, 0, 0}, q[3] = {0, 0, 0}, W_NT[2] = {0, 0};  // eigenvalues: descending
  double q_N = 0, W_NN = 1;
  bool with_source = false;
  double radius = 0, friction = 0;

  double s_T(int i, double k) const { return q[i] != 0 ? -q[i] / (eigenvalue[i] + k) : 0.0; }
  double s_N(double k) const { return with_source ? (-q_N - W_NT[0] * s_T(0, k) - W_NT[1] * s_T(1, k)) / W_NN : 0.0; }
  // |s_T| - R
  double excess(double k) const {
    return (q[2] == 0 ? std::hypot(s_T(0, k), s_T(1, k)) : std::hypot(s_T(0, k), s_T(1, k), s_T(2, k))) - radius -
           friction * s_N(k);
  }
};

// The smallest bracket from the right of a root of the excess, then bisection. Returns k; 0 or nearly: stick.
double find_slip(const ContactCurve& curve) {
  const double scale = std::max(curve.eigenvalue[0], std::numeric_limits<double>::min());
  const double k_0 = curve.eigenvalue[2] > 1e-14 * scale ? 0.0 : 1e-14 * scale;
  if (curve.excess(k_0) <= 0) return k_0;
  double high = scale;
  while (curve.excess(high) > 0 && high < 1e300) high *= 4;
  double low = k_0;
  while (low == k_0) {
    const double middle = high / 4;
    if (middle <= k_0 || middle < 1e-18 * scale) break;
    if (curve.excess(middle) > 0)
      low = middle;
    else
      high = middle;
  }
  for (int i = 0; i < 200 && high - low > 4e-16 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (curve.excess(middle) > 0 ? low : high) = middle;
  }
  return high;
}

}  // namespace

// The exact solution of the rows of a unit, the other multipliers given.
void ConeProblem::solve_unit(const Unit& unit, In W, In q, Out s) const {
  const auto rate_of_others = [&](std::size_t row, const Disc* disc) {
    double sum = times(W, row, s, q[row]);
    if (unit.normal >= 0) sum -= W[place(row, at(unit.normal))] * s[at(unit.normal)];
    if (disc != nullptr)
      for (int k = 0; k < disc->rows; ++k) {
        const std::size_t column = at(disc->first + k);
        sum -= W[place(row, column)] * s[column];
      }
    return sum;
  };
  const double shift = shift_share * shift_;
  const Disc* const disc = unit.disc >= 0 ? &discs_[at(unit.disc)] : nullptr;
  ContactCurve curve;
  std::size_t N = 0;
  if (unit.normal >= 0) {
    N = at(unit.normal);
    curve.q_N = rate_of_others(N, disc);
    curve.W_NN = W[place(N, N)] + shift;
    if (curve.q_N >= 0 || disc == nullptr) {
      s[N] = curve.q_N < 0 ? -curve.q_N / curve.W_NN : 0.0;
      if (disc == nullptr) return;
    }
    curve.with_source = curve.q_N < 0;
  }
  const std::size_t f = at(disc->first), m = at(disc->rows);
  curve.radius = disc->radius;
  curve.friction = curve.with_source ? disc->friction : 0;
  if (unit.normal < 0 && disc->source >= 0) curve.radius = radius(*disc, s[at(disc->source)]);
  double q_T[3] = {0, 0, 0}, W_TN[3] = {0, 0, 0}, W_NT[3] = {0, 0, 0}, S[3][3] = {};
  for (std::size_t k = 0; k < m; ++k) {
    q_T[k] = rate_of_others(f + k, disc);
    if (curve.with_source) {
      W_TN[k] = W[place(f + k, N)];
      W_NT[k] = W[place(N, f + k)];
      q_T[k] -= W_TN[k] * curve.q_N / curve.W_NN;
    }
  }
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t l = 0; l < m; ++l)
      S[k][l] = W[place(f + k, f + l)] + (k == l ? shift : 0.0) - W_TN[k] * W_NT[l] / curve.W_NN;
  // axes of S
  double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  curve.eigenvalue[0] = curve.eigenvalue[1] = S[0][0];
  if (m == 3) {
    Mat3 symmetric;
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < 3; ++l) symmetric(k, l) = 0.5 * (S[k][l] + S[l][k]);
    const Eigen::SelfAdjointEigenSolver<Mat3> axes(symmetric);
    for (int i = 0; i < 3; ++i) {
      curve.eigenvalue[i] = axes.eigenvalues()[2 - i];
      for (int l = 0; l < 3; ++l) axis[i][l] = axes.eigenvectors()(l, 2 - i);
    }
  }
  if (m == 2) {
    const double mean = 0.5 * (S[0][0] + S[1][1]), half = 0.5 * (S[0][0] - S[1][1]), off = 0.5 * (S[0][1] + S[1][0]);
    const double spread = std::hypot(half, off), angle = 0.5 * std::atan2(off, half);
    curve.eigenvalue[0] = mean + spread;
    curve.eigenvalue[1] = mean - spread;
    axis[0][0] = axis[1][1] = std::cos(angle);
    axis[0][1] = std::sin(angle);
    axis[1][0] = -axis[0][1];
  }
  if (m < 3) curve.eigenvalue[2] = curve.eigenvalue[1];
  for (int i = 0; i < static_cast<int>(m); ++i) {
    curve.q[i] = axis[i][0] * q_T[0] + axis[i][1] * q_T[1] + axis[i][2] * q_T[2];
    if (i < 2) curve.W_NT[i] = axis[i][0] * W_NT[0] + axis[i][1] * W_NT[1];
  }
  const double k = curve.radius > 0 || curve.friction > 0 ? find_slip(curve) : -1;
  for (std::size_t l = 0; l < m; ++l)
    s[f + l] =
        k >= 0 ? axis[0][l] * curve.s_T(0, k) + axis[1][l] * curve.s_T(1, k) + axis[2][l] * curve.s_T(2, k) : 0.0;
  if (unit.normal >= 0) s[N] = curve.with_source ? (k >= 0 ? curve.s_N(k) : -curve.q_N / curve.W_NN) : 0.0;
}

bool ConeProblem::sweep(In W, In q, double tolerance, int sweeps, Out s) {
  for (int k = 1; k <= sweeps; ++k) {
    for (const Unit& unit : units_) solve_unit(unit, W, q, s);
    if (k % sweeps_per_test != 0) continue;
    rates(W, q, s, u_);
    const double defect = natural_defect(s, u_);
    remember(s, defect);
    if (defect <= tolerance) return true;
  }
  return false;
}

// Anderson's mixing of the last sweeps (fixed_point.hpp), the multipliers of a row in the unit 1/sqrt(p). What is mixed
// may leave the cones; the next sweep brings it back.
bool ConeProblem::accelerated_sweeps(In W, In q, double tolerance, int sweeps, Out s) {
  using Columns = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>>;
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, depth, depth>;
  using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, depth, 1>;
  const std::size_t n = at(n_);
  differences_.resize(n * at(depth));  // of what sweeps change
  changes_.resize(n * at(depth));      // of what they end with
  Vector &before = ds_, &change = rho_, &change_before = trial_rho_, &end_before = trial_;
  int seen = 0, count = 0;
  double size_before = 0;
  for (int k = 1; k <= sweeps / sweeps_per_mixing; ++k) {
    copy(s, before);
    sweep(W, q, tolerance, sweeps_per_mixing, s);
    if (k % mixings_per_test == 0) {
      rates(W, q, s, u_);
      const double defect = natural_defect(s, u_);
      remember(s, defect);
      if (defect <= tolerance) return true;
    }
    double size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      change[i] = (s[i] - before[i]) / std::sqrt(p_[i]);
      size += change[i] * change[i];
    }
    if (!std::isfinite(size)) return false;
    if (k > 1) {
      const std::size_t column = at(seen++ % depth) * n;
      for (std::size_t i = 0; i < n; ++i) {
        differences_[column + i] = change[i] - change_before[i];
        changes_[column + i] = s[i] - end_before[i];
      }
      count = std::min(count + 1, depth);
      if (size > growth * growth * size_before) seen = count = 0;
    }
    size_before = size;
    copy(change, change_before);
    copy(s, end_before);
    if (count == 0) continue;
    const Columns F(differences_.data(), n_, count), G(changes_.data(), n_, count);
    const Eigen::Map<const Eigen::VectorXd> f(change.data(), n_);
    Square A = F.transpose() * F;
    A.diagonal().array() += regularising * A.trace() / count;
    const Column gamma = A.ldlt().solve(F.transpose() * f);
    if (gamma.allFinite()) Eigen::Map<Eigen::VectorXd>(s.data(), n_).noalias() -= G * gamma;
  }
  return false;
}

}  // namespace carom
