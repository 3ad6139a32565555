// Newton's method of ConeProblem (cone_problem.hpp, stages 1 and 2), and how its solutions share the load of redundant
// contacts.
#include <algorithm>
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
constexpr int plain_iterations = 12;
constexpr int taking_back = 6;           // refinements, of what springs under contacts have left
constexpr double spreading_share = 0.1;  // of the tolerance: what they yield under the largest load
// least and largest compliance of the springs, over the smallest diagonal entry of a normal row
constexpr double least_yield = 1e-5, largest_yield = 1e-4;
constexpr double finding_compliance = 1e-7;  // of the mean diagonal of W

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
// choose. Takes the way of springs under the points that are all alike, which is found from zero and forgets the start.
// They yield by a share of the tolerance, since rounding, by which redundant rows contradict each other, divided by the
// compliance is to be small beside the loads, also those of small steps. What they yield is taken back, else contacts
// that stick would creep. Rows of joints do not yield. Where what they yield cannot be taken back, a compliance of all
// rows finds the contacts that carry. In sparse problems, all of whose contacts carry, the compliance is the shift of
// the matrix at hand. Returns the defect.
double ConeProblem::spread(In W, In q, double tolerance, double defect, Out s) {
  const bool sparse = pattern_ != nullptr;
  int normals = 0;
  double smallest = std::numeric_limits<double>::infinity();  // of the diagonal, over normal rows
  for (std::size_t i = 0; i < at(n_); ++i)
    if (disc_of_[i] < 0) smallest = std::min(smallest, 1 / p_[i]), ++normals;
  if (normals < 2) return defect;

  // how far the way at hand is from it
  if (sparse) {
    combine(1.0, u_, shift_, s, trial_u_);
    evaluate(s, trial_u_, rho_, W, false);
  } else {
    const double yield =
        std::clamp(spreading_share * tolerance / max_abs(s), least_yield * smallest, largest_yield * smallest);
    compliant_.assign(W.begin(), W.end());
    for (std::size_t i = 0; i < at(n_); ++i) {
      double& diagonal = compliant_[place(i, i)];
      if (disc_of_[i] < 0)
        diagonal += yield;
      else if (discs_[at(disc_of_[i])].source >= 0)
        diagonal += yield / smallest * std::abs(diagonal);
    }
    rates(compliant_, q, s, trial_u_);
    evaluate(s, trial_u_, rho_, compliant_, true);
    if (!lu_.factorise(J_, n_, pattern_)) return defect;
  }
  scale_into(-1.0, rho_, ds_);
  lu_.solve(ds_);
  const auto defect_now = [&] {
    rates(W, q, s, u_);
    return natural_defect(s, u_);
  };
  const auto take_back = [&](double left) {
    for (int k = 0; k < taking_back && left > start_share * tolerance; ++k) {
      refine(W, q, left, s);
      left = defect_now();
    }
    return left;
  };
  const bool far = max_abs(ds_) > noticed_share * max_abs(s);
  if (!far && (sparse || !touches_without_load(s))) return sparse ? defect : take_back(defect);

  const int worst = worst_;
  copy(s, one_way_);
  spreads_ = false;
  double other = 0;
  if (sparse) {
    axpy(1.0, ds_, s);
    refine(W, q, defect_now(), s);
    other = defect_now();
  } else {
    set_zero(s);
    newton(compliant_, q, tolerance, false, plain_iterations, s);
    other = take_back(defect_now());
    if (other > tolerance) {
      compliant_.assign(W.begin(), W.end());
      for (std::size_t i = 0; i < at(n_); ++i) compliant_[place(i, i)] += finding_compliance / proximal_share * shift_;
      set_zero(s);
      newton(compliant_, q, tolerance, false, plain_iterations, s);
      newton(W, q, tolerance, false, plain_iterations, s);
      other = defect_now();
    }
  }
  spreads_ = true;
  worst_ = worst;
  // only the yield had made them far apart
  combine(1.0, s, -1.0, one_way_, ds_);
  const bool another = max_abs(ds_) > noticed_share * max_abs(s);
  if (other <= tolerance && another) return other;
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
