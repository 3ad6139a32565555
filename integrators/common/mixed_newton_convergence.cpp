// MixedNewton: when an iteration ends. Active set, residuals, and their tests.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

namespace {

constexpr int transient_patience = 4;          // iterations with sigma, times those without
constexpr int most_extra_iterations = 400000;  // for finding a set row by row
constexpr double stalled_gain = 0.9;
// share of the expected rounding that counts as floor: in the first test, so that no start passes which a correction
// would improve; and with conjugate gradients, which stop at the requested tolerance while factors end far below
constexpr double first_floor = 0.05, iterative_floor = 0.01;
constexpr double fixed_floor = 1e-4;  // of that, for the forces of dampers alone
constexpr double first_share = 1e-4;  // of the tolerance, before the first correction
// a residual that stalls: what must remain of it in a correction, after how many corrections, and how far above its
// tolerance it may then stay
constexpr double stalling = 0.5;
constexpr int stalled_early = 2, stalled_late = 3;
constexpr double late_excess = 3;
constexpr double unloaded_share = 1e-10;  // of the model's force: smaller forces are none
// after so many corrections, a residual above this share of its terms shows a start that leads nowhere
constexpr int hopeless_corrections = 3;
constexpr double hopeless_share = 0.8;
constexpr double creeping_share =
    1e-3;  // of the tolerance of rows, for slip displacements that need no more correction
// corrections, in lengths and rad: rounding of places; at most, where they shrink no more
constexpr double settled_correction = 1e-9, stalled_correction = 1e-4;
constexpr double most_inconsistency = 10;  // of contacts that stick, over the tolerance of rows
constexpr int patience_with_set = 8;       // iterations in which the active set of a pile changes; then its whole law

}  // namespace

// rows_: the bilateral rows and behind them, as in c_A_, the active ones
void MixedNewton::gather_active() {
  if (n_b_ + n_c_ == 0) return;
  std::copy_n(c_.begin(), n_b_, rows_.begin());
  const auto measured = [&](std::size_t row) { return weights_.empty() ? c_[row] : c_[row] / weights_[row]; };
  for (std::size_t i = 0; i < n_b_; ++i) rows_[i] = measured(i);
  const auto rows = solved_rows();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    c_A_[k] = c_[at(rows[k])];
    rows_[n_b_ + k] = measured(at(rows[k]));
  }
  if (friction_) {
    const Out defects = Out(rows_).subspan(n_b_, rows.size());
    friction_->defects(In(c_).subspan(n_b_, n_c_), defects);
    for (std::size_t k = 0; k < rows.size() && !weights_.empty(); ++k) defects[k] /= weights_[at(rows[k])];
  }
  largest_row_ = max_abs(In(rows_).first(n_b_ + rows.size()));
}

MixedNewton::Test MixedNewton::test(MixedProblem& problem, const ProblemScales& scales, StepReport& report) {
  SubproblemReport& sub = this->sub(report);
  const int iterations = sub.attempt_iterations();

  // rows and active set
  problem.rows(c_);
  int changes = 0;
  if (n_c_ > 0) {
    const In c = In(c_).subspan(n_b_, n_c_);
    if (iterations >= patience_with_set && may_take_law_ && last_change_ + 1 >= iterations && pile()) take_law({});
    find_limits(problem);
    changes = friction_ ? friction_->update(c, scales.penalty, scales.row_roundoff)
                        : set_.update(c, scales.penalty, scales.row_roundoff, held_);
    copy(friction_ ? friction_->multipliers() : set_.multipliers(), Out(s_).subspan(n_b_, n_c_));
  }
  sub.set_changes += changes;
  if (changes > 0) last_change_ = iterations;
  const bool settled = friction_ || set_.pending() == 0;
  gather_active();
  if (setup_.solved_at_rest && !starts_moved_ && iterations == 0 && n_b_ == 0 && active() == 0) {
    set_zero(r_);  // beside other parts of a monolithic problem it is a right-hand side
    return Test::converged;
  }
  // a linear problem is solved when its set stays
  if (setup_.linear && iterations > 0 && changes == 0 && settled && largest_row_ <= scales.row_tolerance &&
      !(friction_ && friction_->limits_move()))
    return Test::converged;

  // Rows that contradict each other may exceed their tolerance by their inconsistency; those of a FrictionSet only if
  // another linearisation did not help or is the same.
  measure_residual(problem);
  double slack = iterations > 0 ? std::min(1.5 * saddle_.constraint_inconsistency(), scales.slack) : 0;
  const double rows_before = std::exchange(rows_before_, largest_row_);
  if (friction_ && (setup_.linear || largest_row_ > stalling * rows_before))
    slack = std::max(slack, std::min(1.5 * friction_->inconsistency(), most_inconsistency * scales.row_tolerance));
  double floor = scales.floor;
  if (options_.test == ConvergenceTest::scaled)
    floor *= saddle_.iterative() ? iterative_floor : iterations == 0 ? first_floor : 1.0;
  // rounding of forces is constant where nothing moves, but for those of dampers, and corrections end below
  if (saddle_.iterative() && setup_.fixed_places) floor *= setup_.constant_matrix ? 0 : fixed_floor;
  if (setup_.floor_when_settled && !(correction_ <= settled_correction)) floor = 0;
  if (scales.most_floor < 1) floor = std::min(floor, scales.most_floor * terms_);
  floor_ = floor;
  const bool small = control_.test(sub, norm_, terms_, floor, scales.unit, scales.row_scale,
                                   In(rows_).first(n_b_ + active()), scales.row_tolerance + slack);
  if (!std::isfinite(norm_) || !std::isfinite(largest_row_)) {
    fail(report, FailureReason::not_finite);
    return Test::failed;
  }
  const bool begins_path = setup_.follows_path && iterations == 0;
  const bool unsolved = options_.test == ConvergenceTest::scaled && light_.parts() &&
                        light_.unsolved(r_, scales.floor, terms_, iterations == 0),
             neglects = small && options_.test == ConvergenceTest::scaled && (unsolved || neglects_light(sub, scales));
  bool limits_move = false;
  if (small && settled && !begins_path && !neglects) {
    limits_move = friction_ && iterations > 0 && friction_->limits_move();
    // what slip displacements miss adds up over the steps: one correction more makes it rounding
    const bool creeps =
        friction_ && (iterations > 0 ? friction_->creeps(In(rows_).subspan(n_b_), creeping_share * scales.row_tolerance)
                                     : friction_->may_act(In(c_).subspan(n_b_, n_c_), scales.row_roundoff));
    if (!creeps && !limits_move) return Test::converged;
  }
  if (settled && changes == 0 && !limits_move && !unsolved && stalls(sub, scales)) {
    // with factors the expected rounding would have been enough
    const double rounding = std::min(scales.floor, scales.most_floor < 1 ? scales.most_floor * terms_ : scales.floor);
    sub.stalled = norm_ > options_.tolerance * terms_ + rounding || sub.constraint > 1;
    // where nothing is loaded any more, or moves freely, residuals and terms are both rounding
    if (sub.stalled) {
      const double moving = scales.most_floor < 1 ? scales.most_floor * scales.row_scale * scales.row_tolerance /
                                                        options_.constraint_tolerance
                                                  : 0.0;
      sub.attained = norm_ / std::max({terms_, unloaded_share * scales.unit * scales_.force, moving});
    }
    return Test::converged;
  }

  if (stopped()) {
    fail(report, FailureReason::interrupted);
    return Test::failed;
  }
  if (other_start_ && iterations == hopeless_corrections && norm_ > hopeless_share * terms_) {
    fail(report, FailureReason::no_convergence);
    return Test::failed;
  }
  // iterations count from the last change of the active set, which may have to be found row by row; the law of friction
  // finds the set itself
  const int limit = most_ * (transient_ ? transient_patience : 1),
            extra = static_cast<int>(std::min<std::size_t>(4 * n_c_, friction_ ? at(most_) : most_extra_iterations)),
            most = most_ * (setup_.transient ? transient_patience : 1) + extra;
  if (iterations - std::max(last_change_, transient_start_) < limit && iterations < most + transient_start_)
    return Test::open;
  fail(report, wish_ >= 0.5                            ? FailureReason::nothing_holds_the_loads
               : friction_ && friction_->approximate() ? FailureReason::no_friction_solution
                                                       : FailureReason::no_convergence);
  return Test::failed;
}

void MixedNewton::find_limits(MixedProblem& problem) {
  if (!friction_ || !friction_->has_joints()) return;
  problem.friction_limits(s_, friction_->joint_rows(), friction_->limits());
  friction_->find_limits();
}

void MixedNewton::measure_residual(MixedProblem& problem) {
  light_.clear_terms();
  problem.measure_parts(light_.parts() ? &light_ : nullptr);
  terms_ = problem.residual(s_, r_);
  norm_ = system_->force_norm(r_, scales_.length);
}

void MixedNewton::evaluate(MixedProblem& problem) {
  problem.rows(c_);
  gather_active();
  measure_residual(problem);
}

bool MixedNewton::neglects_light(const SubproblemReport& sub, const ProblemScales& scales) const {
  const double unit = scales.row_tolerance / options_.constraint_tolerance,  // a length or a speed of the model
      share = scales_.length / unit, spin = light_.largest_spin(r_) * scales_.mass / scales.row_scale * share;
  if (sub.attempt_iterations() > 0)
    return light_.neglected(share * correction_, share * correction_before_, spin, setup_.in_turn);
  // conjugate gradients would not improve what they leave
  const double least = light_.bodies() ? 0 : first_share * options_.tolerance * terms_ + floor_;
  return (!saddle_.iterative() && norm_ > least) || LightParts::neglected_at_start(spin);
}

// Residuals that corrections no longer reduce are rounding, if they are near their tolerance.
bool MixedNewton::stalls(const SubproblemReport& sub, const ProblemScales& scales) {
  const int iterations = sub.attempt_iterations();
  if (scales.stalled_rows > 0) {
    const double now = largest_row_ + norm_ / scales.row_scale;
    if (std::exchange(before_, now) * stalled_gain < now && largest_row_ <= scales.stalled_rows &&
        norm_ <= scales.stalled_terms * terms_ + scales.floor)
      return true;
  }
  if (iterations < stalled_early || options_.test != ConvergenceTest::scaled) return false;
  if (!(sub.history_at(sub.iterations) > stalling * sub.history_at(sub.iterations - 1))) return false;
  if (setup_.floor_when_settled && !(correction_ <= stalled_correction && correction_ > stalling * correction_before_))
    return false;
  const double residual = norm_ / (options_.tolerance * terms_ + scales.floor);
  return std::max(residual, sub.constraint) <= (iterations >= stalled_late ? late_excess : 1.0);
}

}  // namespace carom
