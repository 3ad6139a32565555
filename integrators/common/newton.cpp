#include "integrators/common/newton.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr double matrix_cost = 3;       // of a new matrix, in iterations with the old matrix
constexpr double poor_gain = 0.5;       // asks for a new matrix
constexpr double modified_gain = 0.25;  // of the modified method, the least
constexpr double pile_gain = 0.1;       // of one matrix for the contacts of a pile, the least
constexpr int most_iterations_of_pile = 8;
constexpr double full_reduction = 1e-5;  // of conjugate gradients; the matrix is single precision
constexpr double least_reduction = 1e-9, largest_reduction = 1e-2;
constexpr double reduction_share = 0.5, below_tolerance = 0.5;

double last_gain(const SubproblemReport& report) {
  const double before = report.history_at(report.iterations - 1);
  return before > 0 ? report.history_at(report.iterations) / before : 1;
}

}  // namespace

double NewtonControl::expected_gain(const SubproblemReport& report, bool new_matrix) const {
  const double gain = last_gain(report);
  if (new_matrix || linear_) return gain * gain;
  return matrix_of_ == report.iterations - 1 ? 2 * gain : gain;
}

bool NewtonControl::test(SubproblemReport& report, double residual, double terms, double floor, double unit,
                         double row_scale, In constraints, double constraint_tolerance) const {
  const double tolerance = options_.tolerance;
  if (options_.test == ConvergenceTest::paper) {
    // one norm over all rows; tol_f is given in forces
    const double allowed = tolerance * (terms + tolerance * weight_ * unit) + floor;
    report.residual = std::hypot(residual, row_scale * norm(constraints)) / allowed;
    report.constraint = 0;
  } else {
    report.residual = residual / (tolerance * terms + floor);
    report.constraint = max_abs(constraints) / constraint_tolerance;
  }
  // 0/0 is converged: no terms, no floor
  if (residual == 0) report.residual = std::isnan(report.residual) ? 0 : report.residual;
  report.history_at(report.iterations) = std::max(report.residual, report.constraint);
  return report.residual <= 1 && report.constraint <= 1;
}

bool NewtonControl::needs_matrix(const SubproblemReport& report, bool iterative, bool set_changed, int columns) const {
  if (report.attempt_iterations() == 0)
    return options_.method != NewtonMethod::modified && !(old_ && may_begin_with_old(iterative));
  if (options_.method == NewtonMethod::modified) return !(last_gain(report) < modified_gain);
  if (options_.method == NewtonMethod::full || !iterative) return true;
  // contact rows are condensed: after a change of the active set the fall of the residual does not tell how good the
  // matrix is
  if (set_changed) return false;

  const double kept = expected_gain(report, false);
  if (!(kept < poor_gain)) return true;
  const double now = report.history_at(report.iterations);
  double left = now, iterations_with_new = 0;
  for (double gain = expected_gain(report, true); left > 1; gain *= gain, ++iterations_with_new) left *= gain;
  return std::log(now) / -std::log(kept) > iterations_with_new + matrix_cost + columns;
}

bool NewtonControl::needs_matrix_of_pile(const SubproblemReport& report, bool set_changed) const {
  if (report.attempt_iterations() == 0 || matrix_of_ < 0) return true;
  if (report.iterations - matrix_of_ >= most_iterations_of_pile) return true;
  return !set_changed && !(last_gain(report) < pile_gain);
}

Accuracy NewtonControl::accuracy(const SubproblemReport& report, bool set_changed, double terms, double floor) const {
  // first iteration or new active set: for a matrix that stays, or for full Newton, as far as single precision allows
  double reduction = linear_ || options_.method == NewtonMethod::full ? full_reduction : largest_reduction;
  if (report.attempt_iterations() > 0 && !set_changed)
    reduction = std::clamp(reduction_share * expected_gain(report, matrix_of_ == report.iterations), least_reduction,
                           largest_reduction);
  return {reduction, below_tolerance * (options_.tolerance * terms + floor)};
}

}  // namespace carom
