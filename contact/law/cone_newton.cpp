// Newton's method of ConeProblem (cone_problem.hpp, stages 1 and 2), and how its solutions share the load of redundant
// contacts.
#include <cmath>
#include <limits>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

// of the tolerance: a worse start is corrected, since errors add up over the steps
constexpr double start_share = 1e-3;
constexpr int search_halvings = 10;
constexpr double search_decrease = 2e-2;
constexpr double noticed_share = 1e-4;   // of the multipliers: another distribution of them
constexpr double touching_share = 1e-3;  // of that: a gap or its rate, times the penalty
constexpr int spreading_iterations = 4, plain_iterations = 12;
constexpr double spreading_compliance = 1e-7;  // of the mean diagonal of W

}  // namespace

bool ConeProblem::newton(In W, In q, double tolerance, bool search, int iterations, Out s, double gain) {
  double before = std::numeric_limits<double>::infinity();
  J_.resize(W.size());
  rates(W, q, s, u_);
  for (int k = 0;; ++k) {
    const double defect = natural_defect(s, u_);
    if (W.data() == given_) remember(s, defect);
    if (defect <= (k == 0 ? start_share : 1.0) * tolerance) {
      if (k > 0) refine(W, q, spreads_ && W.data() == given_ ? spread(W, q, tolerance, defect, s) : defect, s);
      return true;
    }
    if (k == iterations || stopped() || !(defect < gain * before)) return false;
    before = defect;
    ++iterations_;
    evaluate(s, u_, rho_, W, true);
    if (!lu_.factorise(J_, n_, pattern_)) return false;
    scale_into(-1.0, rho_, ds_);
    lu_.solve(ds_);
    if (!all_finite(ds_)) return false;
    double share = 1;
    if (search) {
      const double square = dot(rho_, rho_);
      for (int halving = 0; halving < search_halvings; ++halving) {
        combine(1.0, s, share, ds_, trial_);
        rates(W, q, trial_, trial_u_);
        evaluate(trial_, trial_u_, trial_rho_, W, false);
        if (dot(trial_rho_, trial_rho_) <= (1 - search_decrease * share) * square) break;
        share *= 0.5;
      }
    }
    axpy(share, ds_, s);
    rates(W, q, s, u_);
  }
}

bool ConeProblem::touches_without_load(In s) const {
  const double load = noticed_share * max_abs(s);
  for (std::size_t i = 0; i < at(n_); ++i)
    if (disc_of_[i] < 0 && s[i] < load && p_[i] * std::abs(u_[i]) < touching_share * load) return true;
  return false;
}

// Redundant contacts share their load in many ways, between which the motion of a body that slides and turns has to
// choose. Takes the way of contacts that are all alike in their compliance, that of the shift of the matrix at hand;
// where contacts touch without load, a larger one finds from zero which of them carry. Either forgets the start.
// Returns the defect.
double ConeProblem::spread(In W, In q, double tolerance, double defect, Out s) {
  combine(1.0, u_, shift_, s, trial_u_);
  evaluate(s, trial_u_, rho_, W, false);
  scale_into(-1.0, rho_, ds_);
  lu_.solve(ds_);
  const bool touches = pattern_ == nullptr && touches_without_load(s);
  if (!touches && !(max_abs(ds_) > noticed_share * max_abs(s))) return defect;
  const auto defect_now = [&] {
    rates(W, q, s, u_);
    return natural_defect(s, u_);
  };
  const int worst = worst_;
  double other = std::numeric_limits<double>::infinity();
  copy(s, one_way_);
  spreads_ = false;
  if (!touches) {
    axpy(1.0, ds_, s);
    refine(W, q, defect_now(), s);
    if (pattern_ == nullptr) newton(W, q, tolerance, false, spreading_iterations, s);
    other = defect_now();
  }
  if (other > tolerance && pattern_ == nullptr) {
    compliant_.resize(W.size());
    copy(W, compliant_);
    for (std::size_t i = 0; i < at(n_); ++i) compliant_[place(i, i)] += spreading_compliance / proximal_share * shift_;
    set_zero(s);
    newton(compliant_, q, tolerance, false, plain_iterations, s);
    newton(W, q, tolerance, false, plain_iterations, s);
    other = defect_now();
  }
  spreads_ = true;
  worst_ = worst;
  if (other <= tolerance) return other;
  copy(one_way_, s);
  rates(W, q, s, u_);
  return defect;
}

// With the matrix at hand: takes back what the shift has left, which would add up over many steps.
void ConeProblem::refine(In W, In q, double defect, Out s) {
  evaluate(s, u_, rho_, W, false);
  scale_into(-1.0, rho_, ds_);
  lu_.solve(ds_);
  combine(1.0, s, 1.0, ds_, trial_);
  rates(W, q, trial_, trial_u_);
  const int worst = worst_;
  if (natural_defect(trial_, trial_u_) < defect) copy(trial_, s);
  worst_ = worst;
}

}  // namespace carom
