// The Gauss-Seidel method of ConeProblem (cone_problem.hpp, stage 3).
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
constexpr int sweeps_per_test = 10;

// The multipliers of a disc and its source over the parameter k = |c_T|/|s_T| of slip: (S + k) s_T = -q~ in the axes
// of S, and s_N = (-q_N - W_NT s_T)/W_NN, or a constant without source.
struct ContactCurve {
  double eigenvalue[3] = {0, 0, 0}, q[3] = {0, 0, 0}, W_NT[3] = {0, 0, 0};  // eigenvalues: descending
  double q_N = 0, W_NN = 1;
  bool with_source = false;
  double radius = 0, friction = 0;

  double s_T(int i, double k) const { return q[i] != 0 ? -q[i] / (eigenvalue[i] + k) : 0.0; }
  double s_N(double k) const {
    if (!with_source) return 0;
    return (-q_N - W_NT[0] * s_T(0, k) - W_NT[1] * s_T(1, k) - W_NT[2] * s_T(2, k)) / W_NN;
  }
  // |s_T| - R, and its derivative
  struct Excess {
    double value, derivative;
  };
  Excess excess(double k) const {
    double square = 0, fall = 0, s = -q_N, rise = 0;
    for (int i = 0; i < 3; ++i) {
      if (q[i] == 0) continue;
      const double x = -q[i] / (eigenvalue[i] + k), change = x / (eigenvalue[i] + k);
      square += x * x;
      fall += x * change;
      s -= W_NT[i] * x;
      rise += W_NT[i] * change;
    }
    const double length = std::sqrt(square);
    const double share = with_source ? friction / W_NN : 0;
    return {length - radius - share * s, (length > 0 ? -fall / length : 0) - share * rise};
  }
};

// The smallest bracket from the right of a root of the excess, then Newton's method within it. Returns k; 0 or nearly:
// stick.
double find_slip(const ContactCurve& curve) {
  const double scale = std::max(curve.eigenvalue[0], std::numeric_limits<double>::min());
  const double k_0 = curve.eigenvalue[2] > 1e-14 * scale ? 0.0 : 1e-14 * scale;
  if (curve.excess(k_0).value <= 0) return k_0;
  double high = scale;
  while (curve.excess(high).value > 0 && high < 1e300) high *= 4;
  double low = k_0;
  while (low == k_0) {
    const double middle = high / 4;
    if (middle <= k_0 || middle < 1e-18 * scale) break;
    if (curve.excess(middle).value > 0)
      low = middle;
    else
      high = middle;
  }
  double k = low;
  for (int i = 0; i < 200 && high - low > 4e-16 * high; ++i) {
    const ContactCurve::Excess at_k = curve.excess(k);
    (at_k.value > 0 ? low : high) = k;
    const double next = k - at_k.value / at_k.derivative;
    if (std::abs(next - k) <= 4e-16 * k) return next;
    k = next > low && next < high ? next : 0.5 * (low + high);
  }
  return high;
}

}  // namespace

// The parts of W that the units own, and the axes of their discs.
void ConeProblem::prepare_units(In W) {
  blocks_.resize(units_.size());
  const double shift = shift_share * shift_;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    UnitBlock& block = blocks_[i];
    block.rows = 0;
    const Unit& unit = units_[i];
    const auto add = [&](int row) { block.row[at(block.rows++)] = at(row); };
    if (unit.normal >= 0) add(unit.normal);
    const int f = block.rows;  // first row of the disc
    for (int k = 0; unit.disc >= 0 && k < discs_[at(unit.disc)].rows; ++k) add(discs_[at(unit.disc)].first + k);
    const int n = block.rows, m = n - f;
    block.same_columns = true;
    for (int k = 1; k < n && pattern_ != nullptr; ++k) {
      const auto columns = [&](int of) {
        return std::span(pattern_->column).subspan(first(block.row[at(of)]), entries(block.row[at(of)]));
      };
      block.same_columns = block.same_columns && std::ranges::equal(columns(0), columns(k));
    }
    for (int k = 0; k < n; ++k)
      for (int l = 0; l < n; ++l)
        block.W[at(k)][at(l)] = W[place(block.row[at(k)], block.row[at(l)])] + (k == l ? shift : 0.0);
    if (m == 0) continue;
    Mat3 S = Mat3::Zero();  // symmetric part
    for (int k = 0; k < m; ++k)
      for (int l = 0; l < m; ++l) S(k, l) = 0.5 * (block.W[at(f + k)][at(f + l)] + block.W[at(f + l)][at(f + k)]);
    block.alone = axes_of(S, m);
    if (f == 0) continue;
    for (int k = 0; k < m; ++k)
      for (int l = 0; l < m; ++l)
        S(k, l) -= 0.5 *
                   (block.W[at(f + k)][0] * block.W[0][at(f + l)] + block.W[at(f + l)][0] * block.W[0][at(f + k)]) /
                   block.W[0][0];
    block.pressed = axes_of(S, m);
  }
}

// Of the first m rows and columns of a symmetric matrix.
ConeProblem::DiscAxes ConeProblem::axes_of(const Mat3& S, int m) {
  DiscAxes a;
  if (m == 1) {
    a.eigenvalue = {S(0, 0), S(0, 0), S(0, 0)};
    a.axis = Mat3::Identity();
  } else if (m == 2) {
    const double mean = 0.5 * (S(0, 0) + S(1, 1)), half = 0.5 * (S(0, 0) - S(1, 1)), off = S(0, 1);
    const double spread = std::hypot(half, off), angle = 0.5 * std::atan2(off, half);
    a.eigenvalue = {mean + spread, mean - spread, mean - spread};
    const double c = std::cos(angle), s = std::sin(angle);
    a.axis << c, s, 0, -s, c, 0, 0, 0, 1;
  } else {
    const Eigen::SelfAdjointEigenSolver<Mat3> solver(S);
    for (int i = 0; i < 3; ++i) {
      a.eigenvalue[at(i)] = solver.eigenvalues()[2 - i];
      a.axis.row(i) = solver.eigenvectors().col(2 - i).transpose();
    }
  }
  return a;
}

// q + W s of the rows of a unit, without what its own multipliers give.
void ConeProblem::rates_of_others(const UnitBlock& block, In W, In q, In s, double* rates) const {
  const int n = block.rows;
  double own[3] = {0, 0, 0};
  for (int k = 0; k < n; ++k) own[k] = s[block.row[at(k)]];
  if (block.same_columns && n == 3) {
    const std::size_t f = first(block.row[0]), count = entries(block.row[0]);
    const double *const w_0 = W.data() + f, *const w_1 = W.data() + first(block.row[1]),
                        *const w_2 = W.data() + first(block.row[2]);
    double sum[3] = {0, 0, 0};
    for (std::size_t j = 0; j < count; ++j) {
      const double x = pattern_ != nullptr ? s[at(pattern_->column[f + j])] : s[j];
      sum[0] += w_0[j] * x;
      sum[1] += w_1[j] * x;
      sum[2] += w_2[j] * x;
    }
    for (int k = 0; k < n; ++k) rates[k] = q[block.row[at(k)]] + sum[k];
  } else {
    for (int k = 0; k < n; ++k) rates[k] = times(W, block.row[at(k)], s, q[block.row[at(k)]]);
  }
  const double shift = shift_share * shift_;
  for (int k = 0; k < n; ++k)
    for (int l = 0; l < n; ++l) rates[k] -= (block.W[at(k)][at(l)] - (k == l ? shift : 0.0)) * own[l];
}

// The exact solution of the rows of a unit, the other multipliers given.
void ConeProblem::solve_unit(const Unit& unit, const UnitBlock& block, In W, In q, Out s) const {
  double rate[3];
  rates_of_others(block, W, q, s, rate);
  const int f = unit.normal >= 0 ? 1 : 0, m = block.rows - f;
  const bool pressed = f == 1 && rate[0] < 0;
  if (f == 1) s[block.row[0]] = pressed ? -rate[0] / block.W[0][0] : 0.0;
  if (unit.disc < 0) return;
  const Disc& disc = discs_[at(unit.disc)];
  ContactCurve curve;
  curve.with_source = pressed;
  curve.radius = f == 0 && disc.source >= 0 ? radius(disc, s[at(disc.source)]) : disc.radius;
  curve.friction = pressed ? disc.friction : 0;
  if (!(curve.radius > 0 || curve.friction > 0)) {
    for (int l = 0; l < m; ++l) s[block.row[at(f + l)]] = 0;
    return;
  }
  const DiscAxes& axes = pressed ? block.pressed : block.alone;
  double q_T[3] = {0, 0, 0}, W_NT[3] = {0, 0, 0};
  for (int k = 0; k < m; ++k) {
    q_T[k] = rate[f + k];
    if (!pressed) continue;
    W_NT[k] = block.W[0][at(f + k)];
    q_T[k] -= block.W[at(f + k)][0] * rate[0] / block.W[0][0];
  }
  if (pressed) {
    curve.q_N = rate[0];
    curve.W_NN = block.W[0][0];
  }
  std::copy_n(axes.eigenvalue.begin(), 3, curve.eigenvalue);
  for (int i = 0; i < m; ++i) {
    for (int l = 0; l < m; ++l) {
      curve.q[i] += axes.axis(i, l) * q_T[l];
      curve.W_NT[i] += axes.axis(i, l) * W_NT[l];
    }
  }
  const double k = find_slip(curve);
  double s_T[3];
  for (int i = 0; i < 3; ++i) s_T[i] = curve.s_T(i, k);
  for (int l = 0; l < m; ++l) {
    double sum = 0;
    for (int i = 0; i < m; ++i) sum += axes.axis(i, l) * s_T[i];
    s[block.row[at(f + l)]] = sum;
  }
  if (pressed) s[block.row[0]] = curve.s_N(k);
}

void ConeProblem::sweep_once(In W, In q, Out s) const {
  for (std::size_t i = 0; i < units_.size(); ++i) solve_unit(units_[i], blocks_[i], W, q, s);
}

bool ConeProblem::sweep(In W, In q, double tolerance, int sweeps, Out s) {
  prepare_units(W);
  for (int k = 1; k <= sweeps && !stopped(); ++k) {
    sweep_once(W, q, s);
    if (k % sweeps_per_test == 0 && measure(W, q, s) <= tolerance) return true;
  }
  return false;
}

}  // namespace carom
