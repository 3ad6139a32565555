// The projected Newton method of ConeProblem (cone_problem.hpp): stage 1 of piles without friction.
#include <algorithm>
#include <cmath>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int most_iterations = 50, most_halvings = 40, most_refinements = 3;
// of the tolerance: a worse start is corrected, and refinements go on, since errors add up over the steps
constexpr double start_share = 1e-3;
// of D: at first, which makes the way of redundant rows to share loads, and to find what this leaves
constexpr double first_compliance = 1e-8, last_compliance = 1e-11;
constexpr double gain = 0.5;       // of the defect, by another centre
constexpr double decrease = 1e-4;  // of what the gradient expects
constexpr double symmetric_tolerance = 1e-12;

}  // namespace

// The least value over s >= 0 of 1/2 s.W s + q.s + 1/2 (s - z).a D (s - z), whose gradient is g. Rows with s > 0 or g <
// 0 are free: an iteration solves (W + a D) ds = -g on these and goes along max(0, s + share ds) for as long as the
// value falls. With z = 0 redundant rows get the multipliers of springs that are all alike, whatever the start is;
// refinements take back what these leave in the rates. Where rows are nearly redundant the centre z follows (proximal
// points).
bool ConeProblem::projected_newton(In W, In q, double tolerance, Out s) {
  if (pattern_ == nullptr || !discs_.empty() || !is_symmetric(*pattern_, W, symmetric_tolerance, p_)) return false;
  const std::size_t n = at(n_);
  Vector &g = trial_, &change = trial_u_, &centre = shifted_q_;
  J_.resize(W.size());
  free_.assign(n, 0);
  // on the free rows, to ds_
  const auto solve_free = [&](In residual) {
    for (std::size_t i = 0; i < n; ++i) ds_[i] = free_[i] != 0 ? -residual[i] : 0.0;
    return free_rows_.solve(ds_);
  };
  for (double& x : s) x = std::max(0.0, x);
  double defect = measure(W, q, s);
  if (defect <= start_share * tolerance) return true;
  // from u_; false if that is not finite
  const auto refine_free = [&] {
    for (int k = 0; k < most_refinements && defect > start_share * tolerance; ++k) {
      copy(s, start_);
      if (!solve_free(u_)) return false;
      for (std::size_t i = 0; i < n; ++i) s[i] = std::max(0.0, s[i] + ds_[i]);
      const double refined = measure(W, q, s);
      if (!(refined < defect)) {
        copy(start_, s);
        measure(W, q, s);
        break;
      }
      defect = refined;
    }
    return true;
  };
  set_zero(centre);
  const auto set_compliance = [&](double c) {
    copy(W, J_);
    for (std::size_t i = 0; i < n; ++i) J_[place(i, i)] += c / p_[i];
    free_rows_.set_matrix(*pattern_, J_);
    return c;
  };
  double compliance = set_compliance(first_compliance), left = HUGE_VAL;
  bool full = false;  // the last step went to its end without meeting a bound
  for (int k = 0; k < most_iterations && !stopped(); ++k) {
    bool same = true;
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = u_[i] + compliance / p_[i] * (s[i] - centre[i]);
      const std::uint8_t is_free = s[i] > 0 || g[i] < -start_share * tolerance ? 1 : 0;
      same = same && is_free == free_[i];
      free_[i] = is_free;
    }
    if (full && same) {
      if (!refine_free()) return false;
      if (defect <= tolerance) return true;
      if (!(defect < gain * left)) return false;
      left = defect;
      compliance = set_compliance(last_compliance);
      copy(s, centre);
      full = false;
      continue;
    }
    ++iterations_;
    if (!free_rows_.select(free_) || !solve_free(g)) return false;
    bool bounded = false;
    const double share = projected_share(W, g, ds_, s, compliance, change, bounded);
    if (!(share > 0)) return false;
    axpy(1.0, change, s);
    defect = measure(W, q, s);
    full = share == 1 && !bounded;
  }
  return defect <= tolerance;
}

// How far to go along max(0, s + share ds), at most 1, and the change of s. bounded: a row meets its bound.
double ConeProblem::projected_share(In W, In g, In ds, In s, double compliance, Out change, bool& bounded) const {
  const std::size_t n = s.size();
  const auto go = [&](double share) {
    bounded = false;
    for (std::size_t i = 0; i < n; ++i) {
      const double next = s[i] + share * ds[i];
      bounded = bounded || next < 0;
      change[i] = std::max(0.0, next) - s[i];
    }
  };
  double share = 1;
  for (int k = 0; k < most_halvings; ++k, share *= 0.5) {
    go(share);
    double slope = 0, curvature = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (change[i] == 0) continue;
      slope += g[i] * change[i];
      curvature += change[i] * (times(W, i, change) + compliance / p_[i] * change[i]);
    }
    if (slope + 0.5 * curvature > decrease * slope) continue;
    // the value falls as far as to the first bound
    if (share == 1 || bounded) return share;
    share = 1;
    for (std::size_t i = 0; i < n; ++i)
      if (ds[i] < 0) share = std::min(share, s[i] / -ds[i]);
    go(share);
    return share;
  }
  return 0;
}

}  // namespace carom
