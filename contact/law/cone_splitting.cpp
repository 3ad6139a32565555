// The splitting method of ConeProblem (cone_problem.hpp, stage 3).
#include <algorithm>
#include <cmath>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double metric_per_root = 4e-3, least_metric = 0.05;  // of D, added to W: measured on piles
constexpr double relaxation = 1.8;                             // of the steps
constexpr int iterations_per_test = 5, iterations_per_trial = 250;
constexpr int patient_iterations = 400;  // before what is nearly a solution is enough
constexpr int stalled_tests = 100;       // without a gain
constexpr double gain = 0.5;             // of the least defect
constexpr double try_newton = 1e-3;      // of the defect at the last trial
constexpr double nearly_solved = 1e2;    // tolerances: left to the splitting
constexpr int polishing_iterations = 4;

double norm_of(const double* x, int rows) {
  double sum = 0;
  for (int k = 0; k < rows; ++k) sum += x[k] * x[k];
  return std::sqrt(sum);
}

}  // namespace

// The nearest point of the cones in the metric D.
void ConeProblem::project(In v, Out s) const {
  copy(v, s);
  const auto excess = [&](std::size_t d, double source) {  // of a disc's multipliers over its radius
    const Disc& disc = discs_[d];
    return norm_of(v.data() + disc.first, disc.rows) - disc.radius - disc.friction * source;
  };
  const auto clamp = [&](std::size_t d, double source) {
    const Disc& disc = discs_[d];
    const double a = norm_of(v.data() + disc.first, disc.rows), R = radius(disc, source);
    if (a > R)
      for (int k = 0; k < disc.rows; ++k) s[at(disc.first + k)] *= R / a;
  };
  for (std::size_t d = 0; d < discs_.size(); ++d)
    if (discs_[d].source < 0) clamp(d, 0);
  for (std::size_t i = 0; i < at(n_); ++i) {
    if (disc_of_[i] >= 0) continue;
    // Newton's method from below on an increasing, concave, piecewise linear function
    double x = std::max(0.0, v[i]);
    for (;;) {
      double sum = v[i] / p_[i], weight = 1 / p_[i];
      for (int d = first_disc_[i]; d >= 0; d = next_disc_[at(d)]) {
        const double over = excess(at(d), x);
        if (over <= 0) continue;
        const Disc& disc = discs_[at(d)];
        const double w = disc.friction / p_[at(disc.first)];
        sum += w * (over + disc.friction * x);
        weight += w * disc.friction;
      }
      const double next = std::max(0.0, sum / weight);
      if (!(next > x)) break;
      x = next;
    }
    s[i] = x;
    for (int d = first_disc_[i]; d >= 0; d = next_disc_[at(d)]) clamp(at(d), x);
  }
}

// The alternating direction method of multipliers, as the iteration of Douglas and Rachford on one vector:
//
//   s = projection of v on the cones,   z = a D (s - v),   x = (W + a D)^-1 (-q - e + a D s + z),   v := v + b (x - s)
//
// in the metric D = diag(1/p). At its end x = s, and z = c + e is in the dual cones: e, friction |z_T| at normal rows,
// is de Saxce's shift.
bool ConeProblem::split(In W, In q, double tolerance, int iterations, Out s) {
  const std::size_t n = at(n_);
  const double metric = std::max(least_metric, metric_per_root * std::sqrt(static_cast<double>(n)));
  const auto factorise_metric = [&] {
    J_.resize(W.size());
    copy(W, J_);
    for (std::size_t i = 0; i < n; ++i) J_[place(i, i)] += metric / p_[i];
    return metric_.factorise(J_, n_, pattern_);
  };
  bool factorised = false;
  const auto shift_of = [&](const Disc& disc, In v) {
    double z[3] = {0, 0, 0};
    for (int k = 0; k < disc.rows; ++k) {
      const std::size_t r = at(disc.first + k);
      z[k] = metric / p_[r] * (s[r] - v[r]);
    }
    return disc.friction * norm_of(z, disc.rows);
  };
  Vector &v = start_, &x = ds_;
  // from the rates of the start
  copy(s, v);
  project(v, s);
  rates(W, q, s, u_);
  for (std::size_t i = 0; i < n; ++i) v[i] = s[i] - p_[i] / metric * u_[i];
  for (const Disc& disc : discs_)
    if (disc.source >= 0)
      v[at(disc.source)] -= p_[at(disc.source)] / metric * disc.friction * length(u_.data() + disc.first, disc.rows);
  double least = measure(W, q, s), tried = least;
  int since = 0;
  for (int k = 1; k <= iterations; ++k) {
    project(v, s);
    if (k % iterations_per_test == 0) {
      const double defect = measure(W, q, s);
      if (defect <= tolerance) return true;
      if (stopped() || (k >= patient_iterations && is_enough())) return false;
      if (defect > nearly_solved * tolerance && (k % iterations_per_trial == 0 || defect <= try_newton * tried)) {
        tried = std::min(tried, defect);
        if (newton(W, q, tolerance, false, polishing_iterations, s)) return true;
        project(v, s);
      }
      since = defect < gain * least ? 0 : since + 1;
      if (since == 0) least = defect;
      if (since > stalled_tests) return false;
    }
    if (!factorised && !factorise_metric()) return false;
    factorised = true;
    for (std::size_t i = 0; i < n; ++i) x[i] = metric / p_[i] * (2 * s[i] - v[i]) - q[i];
    for (const Disc& disc : discs_)
      if (disc.source >= 0) x[at(disc.source)] -= shift_of(disc, v);
    metric_.solve(x);
    if (!all_finite(x)) return false;
    for (std::size_t i = 0; i < n; ++i) v[i] += relaxation * (x[i] - s[i]);
  }
  return false;
}

}  // namespace carom
