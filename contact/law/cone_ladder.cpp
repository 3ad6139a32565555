// The ladder of ConeProblem (cone_problem.hpp): which methods solve() tries, in which order, and what it accepts
// without a solution.
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int plain_iterations = 12, searched_iterations = 30, restarted_iterations = 20;
constexpr int square_iterations = 40;
constexpr int first_sweeps = 10, more_sweeps = 40;
constexpr int compliant_iterations = 12, polishing_iterations = 4, final_iterations = 8;
constexpr int most_splittings = 2000, most_linearised_splittings = 500;
constexpr int most_proximal_iterations = 1500;  // in all steps
constexpr int few_proximal_iterations = 60;     // for linearised rows of a pile
constexpr int few_iterations = 4;
constexpr int few_rows = 48;                // beyond, iterations are costly
constexpr int few_linearised_rows = 12;     // beyond, rows contradict each other
constexpr double approximate_share = 0.03;  // of the defect at the start, with which another linearisation helps more
constexpr double compliant_excess[] = {5, 50};  // defects that compliance makes, over the tolerance
constexpr double inconsistent_excess = 2;       // over these: of rows that contradict each other
constexpr double large_excess[] = {6, 50};      // the same in problems of many rows
constexpr double large_defect[] = {10, 100};    // and what is then enough
constexpr double pile_defect = 3;               // of velocities, over the tolerance
constexpr double interior_excess = 0.5;         // of these defects: what the interior-point method may add
constexpr double gaining_share = 0.1;           // of the defect at the start, as long as the outer iteration gains
constexpr double pile_gain = 0.1;               // of the defect, in an iteration that is worth a factorisation
constexpr double coarse_share = 1e-6;  // of the largest entry of q: a tolerance without need of Newton's method

}  // namespace

// W with a compliance that makes defects of `excess` at most.
void ConeProblem::set_compliant(In W, In q, double excess) {
  double largest = max_abs(q);
  for (std::size_t i = 0; i < at(n_); ++i) largest = std::max(largest, std::abs(begin_[i]) / p_[i]);
  compliant_.resize(W.size());
  copy(W, compliant_);
  const double share = excess / largest;
  for (std::size_t i = 0; i < at(n_); ++i) compliant_[place(i, i)] += share / p_[i];
}

bool ConeProblem::climb(In W, In q, double tolerance, Out s, In present, int& stage) {
  const auto from = [&](In start) {
    copy(start, s);
    return s;
  };
  stage = 1;
  if (newton(W, q, tolerance, false, plain_iterations, s)) return true;
  if (!present.empty()) {
    rates(W, q, present, u_);
    enough_ = std::max(tolerance, approximate_share * natural_defect(present, u_));
  }
  stage = 2;
  if (newton(W, q, tolerance, true, searched_iterations, from(begin_))) return true;
  if (is_enough()) return false;
  stage = 3;
  copy(begin_, swept_);
  for (const int sweeps : {first_sweeps, more_sweeps}) {
    if (sweep(W, q, tolerance, sweeps, from(swept_))) return true;
    copy(s, swept_);
    if (newton(W, q, tolerance, false, restarted_iterations, s)) return true;
    if (newton(W, q, tolerance, true, restarted_iterations, from(swept_))) return true;
    if (is_enough()) return false;
  }
  stage = 4;
  for (const double excess : compliant_excess) {
    set_compliant(W, q, excess * tolerance);
    if (least_squares(compliant_, q, tolerance, square_iterations, from(best_))) {
      measure(W, q, s);
      if (newton(W, q, tolerance, false, final_iterations, s)) return true;
    }
    if (!present.empty()) enough_ = std::max(enough_, inconsistent_excess * excess * tolerance);
    if (is_enough()) return false;
  }
  stage = 5;
  return proximal_point(W, q, tolerance, most_proximal_iterations, from(swept_));
}

// W with a compliance: Newton's method from the start or from where the interior-point method ends. Whether W itself is
// solved well enough then.
bool ConeProblem::solve_compliant(In W, In q, double tolerance, int level, bool from_start, Out s) {
  set_compliant(W, q, large_excess[level] * tolerance);
  const auto enough = [&] {
    measure(W, q, s);
    enough_ = std::max(enough_, large_defect[level] * tolerance);
    return is_enough();
  };
  if (from_start) {
    copy(begin_, s);
    newton(compliant_, q, tolerance, true, compliant_iterations, s);
    if (enough()) return true;
  }
  if (!has_interior()) return false;
  interior_point(compliant_, q, interior_excess * large_excess[level] * tolerance, s);
  if (enough()) return true;
  newton(compliant_, q, tolerance, true, final_iterations, s);
  return enough();
}

// Of many rows, which are those of a linear problem.
bool ConeProblem::climb_large(In W, In q, double tolerance, Out s, int& stage) {
  const bool pile = pattern_ != nullptr, coarse = pile && tolerance > coarse_share * max_abs(q);
  stage = 1;
  if (pile && measure(W, q, s) <= tolerance) return true;
  if (projected_newton(W, q, tolerance, s)) return true;
  copy(begin_, s);
  if (!coarse && newton(W, q, tolerance, false, few_iterations, s, pile ? pile_gain : any_gain)) return true;
  stage = 3;
  copy(begin_, s);
  if (coarse) enough_ = pile_defect * tolerance;
  if (split(W, q, tolerance, most_splittings, s)) {
    if (pile) return true;
    // shares the load of redundant contacts, too
    copy(s, swept_);
    if (!newton(W, q, tolerance, false, few_iterations, s)) copy(swept_, s);
    return true;
  }
  if (is_enough()) return false;
  stage = 5;
  copy(best_, s);
  return proximal_point(W, q, tolerance, most_proximal_iterations, s);
}

// Of many rows, which an outer iteration linearises. Those of a pile, and of a flat body on many points, nearly always
// contradict each other, and Newton's method then goes astray without a compliance.
bool ConeProblem::climb_linearised(In W, In q, double tolerance, Out s, In present, bool keep, int& stage) {
  const bool pile = pattern_ != nullptr, coarse = pile && tolerance > coarse_share * max_abs(q);
  rates(W, q, present, u_);
  const double defect = natural_defect(present, u_);
  if (keep && defect <= large_excess[0] * tolerance) {
    copy(present, s);
    remember(s, defect);
    stage = 1;
    return true;
  }
  stage = 1;
  if (projected_newton(W, q, tolerance, s)) return true;
  if (pile && discs_.empty()) {  // rows that contradict each other
    enough_ = std::max(large_excess[0] * tolerance, approximate_share * defect);
    if (is_enough()) return false;
  }
  copy(begin_, s);
  if ((pile && !coarse) || n_ <= few_rows) {
    if (newton(W, q, tolerance, false, pile ? few_iterations : plain_iterations, s, pile ? pile_gain : any_gain))
      return true;
    copy(begin_, s);
  }
  if (pile) {
    stage = 3;
    if (split(W, q, tolerance, most_linearised_splittings, s)) return true;
    copy(begin_, s);
  }
  stage = 4;
  set_compliant(W, q, large_excess[0] * tolerance);
  const bool solved = newton(compliant_, q, tolerance, true, compliant_iterations, s);
  measure(W, q, s);
  if (solved) {
    copy(s, swept_);
    stage = 1;
    if (newton(W, q, tolerance, false, polishing_iterations, s)) return true;
    stage = 4;
    enough_ = large_defect[0] * tolerance;
  } else if (!pile) {
    stage = 1;
    copy(begin_, s);
    if (newton(W, q, tolerance, false, final_iterations, s)) return true;
    stage = 4;
  }
  enough_ = std::max({enough_, tolerance, approximate_share * defect});
  if (is_enough()) return false;
  for (const int level : {0, 1})
    if (solve_compliant(W, q, tolerance, level, level > 0, s)) return false;
  enough_ = std::max(enough_, gaining_share * defect);
  if (is_enough()) return false;
  stage = 5;
  copy(best_, s);
  return proximal_point(W, q, tolerance, pattern_ != nullptr ? few_proximal_iterations : most_proximal_iterations, s);
}

ConeProblem::Result ConeProblem::solve(In W, In q, double tolerance, Out s, In present, bool keep) {
  Result result;
  iterations_ = 0;
  least_defect_ = std::numeric_limits<double>::infinity();
  enough_ = 0;
  given_ = W.data();
  prepare(W);
  copy(s, begin_);
  if (n_ <= (present.empty() ? few_rows : few_linearised_rows))
    result.solved = climb(W, q, tolerance, s, present, result.stage);
  else if (present.empty())
    result.solved = climb_large(W, q, tolerance, s, result.stage);
  else
    result.solved = climb_linearised(W, q, tolerance, s, present, keep, result.stage);
  result.iterations = iterations_;
  if (result.solved) {
    clean(W, q, s);
  } else {
    result.solved = least_defect_ <= tolerance;  // of a start that nothing betters
    result.approximate =
        !result.solved && least_defect_ <= std::max(enough_, inconsistent_excess * compliant_excess[1] * tolerance);
    copy(best_, s);
    clean(W, q, s);
    rates(W, q, s, u_);
    result.defect = natural_defect(s, u_);
    result.worst = worst_;
  }
  return result;
}

}  // namespace carom
