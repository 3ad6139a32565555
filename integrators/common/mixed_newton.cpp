#include "integrators/common/mixed_newton.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr double smallest_share = 1.0 / 256;   // of a correction, where forces are not finite beyond
constexpr double smallest_search = 1.0 / 512;  // of the monotonicity test
constexpr double no_direction = 100;           // lengths, rad: a larger correction is that of a singular matrix
constexpr double no_free_direction = 1e4;      // lengths: rows of contacts without their forces
constexpr double transient_move = 0.2, transient_turn = 0.5;  // of an iteration with sigma: lengths, rad
constexpr double first_shift = 10;                            // sigma times mass and length over the residual
constexpr double larger_shift = 10;                           // sigma over the one before, where friction needs more
constexpr int most_larger_shifts = 8;
constexpr double friction_share = 0.1;     // of the tolerance of rows, for the law of contacts on the linearised rows
constexpr std::size_t many_contacts = 64;  // make a pile
constexpr int many_columns = 24;           // of conjugate gradients
constexpr int patience_with_pile = 16;     // iterations; then new matrices
// iterations with friction of joints, whose radii are found by repetition, over those without
constexpr int patience_with_joints = 4;

FailureReason reason_of(SaddlePoint::Failure failure) {
  switch (failure) {
    case SaddlePoint::Failure::indefinite:
      return FailureReason::indefinite_matrix;
    case SaddlePoint::Failure::singular:
      return FailureReason::singular_matrix;
    case SaddlePoint::Failure::slow:
      return FailureReason::slow_conjugate_gradients;
    case SaddlePoint::Failure::law:
      return FailureReason::no_friction_solution;
    case SaddlePoint::Failure::not_finite:
      break;
  }
  return FailureReason::not_finite;
}

}  // namespace

MixedNewton::MixedNewton(const System& system, const NewtonOptions& options, const MixedSetup& setup,
                         const Scales& scales, int index, Vector* scratch)
    : system_(&system), options_(options), setup_(setup), scales_(scales), index_(index) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  n_b_ = at(system.bilateral());
  n_c_ = setup.rows.has(RowKind::unilateral) ? at(system.conditional()) : 0;
  for (Vector* x : {&r_, &dx_}) x->assign(n, 0.0);
  for (Vector* x : {&s_, &s_linearised_, &c_, &c_A_, &rows_, &ds_A_, &row_residual_}) x->assign(rows, 0.0);
  ds_b_.assign(n_b_, 0.0);
  if (setup.step_length == StepLength::monotone || setup.follows_path) {
    no_rows_.assign(rows, 0.0);
    dx_next_.assign(n, 0.0);
    s_base_.assign(rows, 0.0);
    ds_b_next_.assign(n_b_, 0.0);
    ds_A_next_.assign(rows, 0.0);
  }
  set_.resize(system, setup.rows);
  // where one solve is the solution, the solve has to be exact
  saddle_.analyse(system, setup.matrix, setup.linear ? nullptr : scratch, scales.length, true, setup.curved_rows);
  light_ = LightParts(system, scales.length, !saddle_.iterative() && !setup.linear, !setup.transient, true);
  if (light_.soft() && saddle_.iterative() && options_.method == NewtonMethod::automatic)
    options_.method = NewtonMethod::full;
  weights_ = row_weights(system, scales.length);
  if (std::all_of(weights_.begin(), weights_.end(), [](double w) { return w == 1; })) weights_.clear();
  if (!weights_.empty() && n_c_ > 0) set_.measure(In(weights_).subspan(n_b_));
  if (n_c_ > 0 && setup.rows.meets(friction_rows) && system.row_kinds().meets(friction_rows)) {
    has_friction_ = true;
    make_law();
  }
  control_ = {options_, scales.force, setup.linear || setup.constant_matrix || setup.fixed_places};
}

// Columns of many contacts with friction are dearer than the iterations that an old matrix costs.
bool MixedNewton::keeps_matrix() const {
  return setup_.keep_old_matrix ||
         (in_use_ && !setup_.curved_rows && saddle_.columns_last() && saddle_.costly_columns() >= many_columns);
}

void MixedNewton::measure_row(int row, double weight) {
  if (weights_.empty()) weights_.assign(at(system_->rows()), 1.0);
  weights_[at(row)] = weight;
  saddle_.measure_row(row, weight);
}

void MixedNewton::begin(StepReport& report, const Start& start) {
  if (!saddle_.columns_last()) saddle_.drop_columns();
  control_.begin(sub(report), keeps_matrix());
  in_use_ = false;
  sub(report).stalled = false;
  sub(report).attained = 0;
  if (n_c_ > 0) set_.reset();
  if (!has_friction_) friction_ = nullptr;
  if (friction_) friction_->begin(start.candidates, start.held, start.frictionless, start.first);
  if (friction_ && !start.guess.empty()) friction_->guess(start.guess.subspan(n_b_), start.guess_scale);
  if (start.candidates != nullptr) set_.restrict_to(*start.candidates);
  set_.fix(start.fixed);
  // a pile drops rows that were only near
  set_.begin_with(start.first,
                  !setup_.fixed_places && !saddle_.iterative() && options_.method == NewtonMethod::automatic);
  guess_ = start.guess;
  guess_scale_ = start.guess_scale;
  if (start.offsets != nullptr) set_.offset_by(*start.offsets);
  held_ = start.held;
  candidates_ = start.candidates;
  may_take_law_ = start.fixed == nullptr && start.offsets == nullptr;
  most_ = options_.max_iterations * (friction_ && friction_->has_joints() ? patience_with_joints : 1);
  if (start.max_iterations > 0) most_ = std::min(start.max_iterations, most_);
  if (start.multipliers.empty()) {
    set_zero(s_);
  } else {
    copy(start.multipliers, s_);
    if (n_c_ > 0) copy(start.multipliers.subspan(n_b_), friction_ ? friction_->multipliers() : set_.multipliers());
  }
  last_change_ = transient_start_ = 0;
  transient_ = path_lost_ = false;
  sigma_ = wish_ = 0;
  before_ = rows_before_ = correction_ = correction_before_ = std::numeric_limits<double>::infinity();
  full_steps_ = start.full_steps;
  other_start_ = start.other_start;
  starts_moved_ = start.moved;
}

bool MixedNewton::solve(MixedProblem& problem, const ProblemScales& scales, StepReport& report) {
  const PartTimer timer(report, sub(report));
  Test state = test(problem, scales, report);
  while (state == Test::open) state = correct(problem, scales, report) ? test(problem, scales, report) : Test::failed;
  return state == Test::converged;
}

bool MixedNewton::correct(MixedProblem& problem, const ProblemScales& scales, StepReport& report) {
  SubproblemReport& sub = this->sub(report);
  const bool set_changed = n_c_ > 0 && last_change_ == sub.attempt_iterations();
  if (!find_direction(problem, scales, report, set_changed)) return report.converged;
  ++sub.iterations;
  in_use_ = true;

  if (transient_) {
    // sigma falls as the motion dies and grows where the motion would be too large; the multipliers follow whole, since
    // they are what the constraints need at this place
    wish_ = excess();
    sigma_ = std::max(problem.smallest_shift(), sigma_ * std::clamp(wish_, 0.1, 10.0));
    problem.move(1 / std::max(1.0, wish_), dx_);
    apply(1);
    return true;
  }
  double share = longest_step();
  if (setup_.step_length == StepLength::monotone && !full_steps_)
    return search(problem, share) || fail(report, FailureReason::no_step_length);
  const double least = smallest_share * share;
  for (bool finite = problem.move(share, dx_); !finite && share > least;) {
    share *= 0.5;
    finite = problem.move(-share, dx_);
  }
  apply(share);
  return true;
}

// dx and ds; false without them: the report has failed, or another test is due because another linear solver takes
// over.
bool MixedNewton::find_direction(MixedProblem& problem, const ProblemScales& scales, StepReport& report,
                                 bool set_changed) {
  SubproblemReport& sub = this->sub(report);
  const bool constant = setup_.linear || setup_.constant_matrix;
  const RowPoint point = problem.row_point();
  int larger_shifts = 0;
  for (;;) {
    const SaddlePoint& saddle = current();
    const bool stale = transient_ || !saddle.factorised() || other_step(scales) || saddle.gave_up();
    FailureReason reason = FailureReason::singular_matrix;
    bool found = true;
    const bool many = (pile() || law_of_pile()) && sub.attempt_iterations() < patience_with_pile;
    const bool keep = sub.attempt_iterations() > 0 && (setup_.fixed_places || many);
    if (stale || (!constant && (many ? control_.needs_matrix_of_pile(sub, set_changed)
                                     : control_.needs_matrix(sub, saddle.iterative() && !setup_.curved_rows,
                                                             set_changed, saddle.costly_columns())))) {
      found = factorise(problem, scales, sigma_);
      if (found) control_.took_matrix(sub);
    }
    if (found) {
      set_rows(point, scales, keep);
      if (many && sub.attempt_iterations() == 0) begin_pile(point, scales);
      // Sub-problems solved in turn move each other through their stiffness: the rounding of one sub-problem must not
      // end its conjugate gradients.
      const double floor = setup_.in_turn && index_ > 0 ? 0.0 : floor_;
      Accuracy accuracy = control_.accuracy(sub, set_changed, terms_, floor);
      if (light_.parts()) accuracy.enough = std::min(accuracy.enough, light_.wanted());
      found = current().solve(r_, In(c_).first(n_b_), In(c_A_).first(active()), dx_, ds_b_, Out(ds_A_).first(active()),
                              accuracy, friction_) &&
              (!setup_.follows_path || follow(problem, accuracy));
      if (!found && saddle.gave_up()) return false;
      if (!found) reason = path_lost_ ? FailureReason::path_lost : reason_of(saddle.failure());
      // Bodies held by contacts alone would move so far without contact forces that the law cannot be solved to
      // rounding: use S + sigma M.
      if (found && setup_.transient && !transient_ && friction_)
        found = friction_->free_value() < no_free_direction * scales_.length;
    }
    if (found && (setup_.floor_when_settled || setup_.transient || setup_.largest_turn < HUGE_VAL || light_.any())) {
      measure_correction(dx_);
      if (setup_.transient && !transient_ && !constant) found = moved_ < no_direction && turned_ < no_direction;
    }
    // The law of contacts that hold a body against falling may have further solutions far away. With a large enough
    // sigma M the solution is near.
    if (found && setup_.transient && friction_ && !constant && excess() > 1) {
      found = transient_ && larger_shifts++ >= most_larger_shifts;
      if (!found && transient_) {
        sigma_ *= std::min(excess(), larger_shift);
        continue;
      }
    }
    if (found) return true;
    if (stopped()) return fail(report, FailureReason::interrupted);
    // A body under load that nothing but contacts holds has an indefinite tangent, and so has then the matrix of the
    // contacts, for which the law may have no solution. With enough of sigma M it is definite.
    if (transient_ && reason == FailureReason::no_friction_solution && larger_shifts++ < most_larger_shifts) {
      sigma_ *= larger_shift;
      continue;
    }
    if (!setup_.transient || transient_) {
      const bool law = reason == FailureReason::no_friction_solution;
      fail(report, setup_.transient && !law ? FailureReason::singular_matrix : reason);
      return false;
    }
    go_transient(problem, sub);
  }
}

// Many contacts of bodies, which factors of their own solve: finding the active set takes most of the iterations.
bool MixedNewton::pile() const {
  return set_.begins_with_many() && !friction_ && !transient_ && !saddle_.iterative() && active() >= many_contacts &&
         options_.method == NewtonMethod::automatic;
}

void MixedNewton::measure_correction(In dx) {
  moved_ = system_->speed(dx, scales_.length) / scales_.length;
  turned_ = system_->largest_angular_velocity(dx);
  correction_before_ = std::exchange(correction_, std::max(moved_, turned_));
}

void MixedNewton::make_law() {
  law_ = std::make_unique<FrictionSet>(*system_);
  if (!weights_.empty()) law_->measure(In(weights_).subspan(n_b_));
  if (setup_.linear) law_->solve_exactly();
  law_->stop_on(stop_);
  friction_ = law_.get();
}

// The active set of a pile without friction is not found by evaluating the augmented multipliers: contacts that depend
// on each other enter and leave in turn. From now on their law is solved to its end in every iteration. guess: of the
// multipliers, one per conditional row; empty: none.
void MixedNewton::take_law(In guess) {
  if (law_ == nullptr) make_law();
  friction_ = law_.get();
  friction_->begin(candidates_, held_, nullptr, &set_.flags());
  copy(set_.multipliers(), friction_->multipliers());
  if (!guess.empty()) friction_->guess(guess, 1);
}

// The first set contains whatever may be closed: sweeps tell which contacts carry. Where these depend on each other by
// the hundred, all conditions are about lengths, and reactions have the directions of the gaps, their law is solved
// from then on.
void MixedNewton::begin_pile(const RowPoint& point, const ProblemScales& scales) {
  const auto rows = set_.active_rows();
  for (std::size_t k = 0; k < rows.size(); ++k) ds_A_[k] = guess_.empty() ? 0.0 : guess_scale_ * guess_[at(rows[k])];
  if (!current().sweep(r_, In(c_).first(n_b_), In(c_A_).first(active()), Out(ds_A_).first(active()))) return;
  const bool lengths =
      weights_.empty() || std::ranges::all_of(In(weights_).subspan(n_b_, n_c_), [](double w) { return w == 1; });
  const bool takes_law = may_take_law_ && current().swept_sparse() && lengths && point.mean == nullptr;
  if (takes_law) {
    swept_.assign(n_c_, 0.0);
    for (std::size_t k = 0; k < rows.size(); ++k) swept_[at(rows[k]) - n_b_] = std::max(0.0, ds_A_[k]);
  }
  set_.drop_idle(ds_A_);
  if (takes_law) {
    take_law(swept_);
    friction_->update(In(c_).subspan(n_b_, n_c_), scales.penalty, scales.row_roundoff);
  }
  gather_active();
  set_rows(point, scales, true);
}

void MixedNewton::set_rows(const RowPoint& point, const ProblemScales& scales, bool keep) {
  if (friction_) friction_->begin_linear(friction_share * scales.row_tolerance);
  const auto rows = solved_rows();
  if (!has_friction_ && point.mean == nullptr) {
    current().set_active(rows, point.q, scales.t, point.T, &scales.start, keep);
    return;
  }
  if (row_G_.size() < rows.size()) {
    row_G_.resize(rows.size());
    row_F_.resize(rows.size());
  }
  system_->row_gradients(rows, point.q, scales.t, point.T, point.displacements, row_F_, row_G_, &scales.start);
  for (std::size_t k = 0; k < rows.size() && point.mean != nullptr; ++k)
    if (point.mean->has_mean(rows[k] - system_->bilateral()))
      point.mean->take_mean(*system_, rows[k], point.q, scales.t, row_F_[k]);
  current().set_active(rows, std::span<const SparseRow>(row_G_).first(rows.size()),
                       std::span<const SparseRow>(row_F_).first(rows.size()), true);
}

bool MixedNewton::other_step(const ProblemScales& scales) const {
  return factor_h_ != scales.h && !(setup_.constant_matrix && setup_.free_of_step);
}

bool MixedNewton::prepare(MixedProblem& problem, const ProblemScales& scales, const StepReport& report) {
  const bool constant = setup_.linear || setup_.constant_matrix;
  if (saddle_.factorised() && !other_step(scales) && !saddle_.gave_up() &&
      (constant || report.subproblems[at(index_)].iterations > 0))
    return true;
  return factorise(problem, scales, 0);
}

bool MixedNewton::respond(MixedProblem& problem, const ProblemScales& scales, In f, Out dx) {
  saddle_.set_active({}, problem.row_point().q, scales.t, nullptr, &scales.start);
  scale_into(-1.0, f, r_);
  set_zero(row_residual_);
  return saddle_.solve(r_, In(row_residual_).first(n_b_), {}, dx, ds_b_, {}, {1e-6, 0});
}

// Bordering: the correction of the residuals plus the change of the load's factor times that of a unit of the load.
bool MixedNewton::follow(MixedProblem& problem, const Accuracy& accuracy) {
  const Out ds_A = Out(ds_A_next_).first(active());
  if (!current().solve(problem.path_load(), In(no_rows_).first(n_b_), In(no_rows_).first(active()), dx_next_,
                       ds_b_next_, ds_A, accuracy))
    return false;
  const double change = problem.path_change(dx_, dx_next_);
  path_lost_ = !std::isfinite(change);
  axpy(change, dx_next_, dx_);
  axpy(change, ds_b_next_, ds_b_);
  axpy(change, ds_A, Out(ds_A_).first(active()));
  return !path_lost_;
}

// The matrix was singular, if only but for rounding: goes on with S + sigma M.
void MixedNewton::go_transient(const MixedProblem& problem, const SubproblemReport& sub) {
  transient_ = true;
  transient_start_ = sub.attempt_iterations();
  sigma_ = std::max(first_shift * norm_ / (scales_.mass * scales_.length), problem.smallest_shift());
  if (shifted_) return;
  shifted_ = std::make_unique<SaddlePoint>();
  shifted_->stop_on(stop_);
  shifted_->analyse(*system_, {setup_.matrix.symmetric, false}, nullptr, scales_.length, true);
}

bool MixedNewton::factorise(MixedProblem& problem, const ProblemScales& scales, double sigma) {
  Linearisation request;
  linearise(problem, scales, request);
  request.c_M += sigma;
  factor_h_ = scales.h;
  return current().factorise(request);
}

void MixedNewton::linearise(MixedProblem& problem, const ProblemScales& scales, Linearisation& request) {
  request.t = scales.t;
  request.row_scale = scales.row_scale;
  request.start = &scales.start;
  copy(s_, s_linearised_);
  if (setup_.augmented_tangent) {
    // if active sets repeat, the term -p c may overestimate the multipliers: take the reduced penalty
    const double p = n_c_ > 0 ? set_.effective(scales.penalty) : 0;
    // the penalty is that of lengths
    for (std::size_t i = 0; i < n_b_; ++i) {
      const double w = weights_.empty() ? 1 : weights_[i];
      s_linearised_[i] = s_[i] - scales.penalty / (w * w) * c_[i];
    }
    if (friction_)
      friction_->augmented(In(c_).subspan(n_b_, n_c_), Out(s_linearised_).subspan(n_b_, n_c_));
    else
      for (std::size_t i = 0; i < n_c_; ++i)
        s_linearised_[n_b_ + i] = set_.flags()[i] != 0 ? set_.augmented(i, c_[n_b_ + i], p) : 0.0;
  }
  if (n_b_ + n_c_ > 0) request.s = s_linearised_.data();
  problem.linearise(s_linearised_, request);
}

// The last correction over the motion of an iteration with sigma.
double MixedNewton::excess() const { return std::max(moved_ / transient_move, turned_ / transient_turn); }

double MixedNewton::longest_step() const {
  return 1 / std::max({1.0, moved_ / setup_.largest_move, turned_ / setup_.largest_turn});
}

// The longest of share, share/2, ... after which the simplified correction has shrunk; a step that has reduced the
// residuals ten times needs no such test.
bool MixedNewton::search(MixedProblem& problem, double share) {
  const auto rows = set_.active_rows();
  const double size = system_->force_norm(dx_, 1 / scales_.length), norm_before = norm_, row_before = largest_row_;
  copy(s_, s_base_);
  const auto evaluate = [&](double step) {
    for (std::size_t i = 0; i < n_b_; ++i) s_[i] = s_base_[i] + step * ds_b_[i];
    for (std::size_t k = 0; k < rows.size(); ++k) s_[at(rows[k])] = s_base_[at(rows[k])] + step * ds_A_[k];
    problem.rows(c_);
    gather_active();
    measure_residual(problem);
  };
  double made = 0;
  for (; share >= smallest_search; share /= 2) {
    problem.move(share - made, dx_);
    made = share;
    evaluate(share);
    if (!std::isfinite(norm_)) continue;
    bool shrinks = share == 1 && norm_ <= 0.1 * norm_before && largest_row_ <= 0.1 * row_before;
    if (!shrinks) {
      if (!saddle_.solve(r_, In(c_).first(n_b_), In(c_A_).first(rows.size()), dx_next_, ds_b_next_,
                         Out(ds_A_next_).first(rows.size())))
        continue;
      // near the solution the corrections are rounding
      const double next = system_->force_norm(dx_next_, 1 / scales_.length);
      shrinks = next <= (1 - 0.25 * share) * size ||
                next <= 64 * StepScales::epsilon * scales_.length * std::sqrt(static_cast<double>(r_.size()));
    }
    if (!shrinks) continue;
    copy(s_base_, s_);
    apply(share);
    return true;
  }
  // the residuals of the place where the search began
  problem.move(-made, dx_);
  evaluate(0);
  return false;
}

void MixedNewton::apply(double share) {
  axpy(share, ds_b_, Out(s_).first(n_b_));
  if (share != 1)
    for (std::size_t k = 0; k < active(); ++k) ds_A_[k] *= share;
  if (friction_)
    friction_->add_increment(ds_A_);
  else if (n_c_ > 0)
    set_.add_increment(ds_A_);
}

bool MixedNewton::fail(StepReport& report, FailureReason reason) {
  mark_failed(report, index_, reason);
  set_zero(row_residual_);
  std::copy_n(c_.begin(), n_b_, row_residual_.begin());
  const auto rows = solved_rows();
  for (std::size_t k = 0; k < rows.size(); ++k)
    row_residual_[at(rows[k])] = friction_ ? rows_[n_b_ + k] : c_[at(rows[k])];
  if (reason == FailureReason::no_friction_solution)
    report.worst_row = friction_->failed_row();
  else if (reason == FailureReason::singular_matrix)
    name_suspicious(report, current().suspicious_row(), system_->size());
  else
    name_worst(report, r_, row_residual_);
  return false;
}

void MixedNewton::clear_residual() {
  set_zero(r_);
  set_zero(row_residual_);
}

LinearCounters MixedNewton::counters() const {
  LinearCounters sum = saddle_.counters();
  return shifted_ ? sum += shifted_->counters() : sum;
}

void MixedNewton::save(NamedArrays& record) const {
  const std::string name = setup_.name;
  record.set(name + " factorised for", {factor_h_, shifted_ ? 1.0 : 0.0, in_use_ ? 1.0 : 0.0});
  // a matrix that the next step computes anew in any case is not kept
  const bool kept = setup_.linear || setup_.constant_matrix || options_.method == NewtonMethod::modified ||
                    may_begin_with_old_matrix();
  saddle_.save(record, name + " ", kept);
  if (shifted_) shifted_->save(record, name + " shifted ", false);
}

void MixedNewton::restore(const NamedArrays& record) {
  const std::string name = setup_.name;
  const Vector* const x = record.find(name + " factorised for");
  if (x == nullptr || x->size() != 3) throw std::invalid_argument("MixedNewton: the record does not fit");
  factor_h_ = (*x)[0];
  in_use_ = (*x)[2] != 0;
  saddle_.restore(record, name + " ");
  if ((*x)[1] == 0) return;
  shifted_ = std::make_unique<SaddlePoint>();
  shifted_->stop_on(stop_);
  shifted_->analyse(*system_, {setup_.matrix.symmetric, false}, nullptr, scales_.length, true);
  shifted_->restore(record, name + " shifted ");
}

}  // namespace carom
