#include "integrators/methods/static_equilibrium.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/newton.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double rounding = std::numeric_limits<double>::epsilon();
constexpr double largest_rotation = 1.0;      // of a frame in one iteration, rad
constexpr double largest_move = 1.0;          // of a node in one iteration, times the length scale
constexpr double smallest_step = 1.0 / 512;   // of the damping
constexpr double transient_move = 0.2;        // with sigma: times the length scale
constexpr double transient_rotation = 0.5;    // rad
constexpr double shift = 10;                  // of the first sigma: times mass and length over the residual
constexpr double smallest_shift = 1e-12;      // sigma times mass over the stiffness
constexpr double smallest_load_shift = 1e-4;  // and times length over the loads
constexpr double no_direction = 100;          // a correction so large is one of a singular matrix: lengths, rad
constexpr int transient_patience = 4;         // iterations with sigma, times those of Newton

}  // namespace

StaticEquilibrium::StaticEquilibrium(const System& system, const StaticOptions& options) : options_(options) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  for (Vector* x : {&rest_, &r_, &f_, &loads_, &reaction_, &dx_, &dx_next_}) x->assign(n, 0.0);
  for (Vector* x : {&q_n_, &q_, &q_trial_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&lambda_, &lambda_trial_, &dl_A_, &dl_A_next_, &g_, &c_A_, &s_, &row_residual_})
    x->assign(rows, 0.0);
  for (Vector* x : {&dl_b_, &dl_b_next_}) x->assign(at(system.bilateral()), 0.0);
  contacts_.resize(system.bilateral(), system.unilateral());

  const bool flat = contacts_linear(system), symmetric = system.symmetric() && flat;
  constant_ = system.linear() && flat;
  saddle_.analyse(system, {symmetric, symmetric && system.bilateral() == 0});
  const double length = options_.scales.length, noise = system.roundoff_force(length);
  stiffness_ = (noise > 0 ? noise : std::max(options_.weight, std::numeric_limits<double>::min())) / length;
  root_size_ = std::sqrt(static_cast<double>(std::max<std::size_t>(n, 1)));
}

bool StaticEquilibrium::initialise(const System& system, State& state, double h) {
  state.v.assign(at(system.size()), 0.0);
  state.acceleration.assign(at(system.size()), 0.0);
  for (Vector* x : {&state.lambda, &state.nu, &state.impulse}) x->assign(at(system.rows()), 0.0);
  state.active.assign(at(system.unilateral()), 0);
  state.closed.assign(at(system.unilateral()), 0);
  state.history.clear();
  state.last_h = h;
  q_n_ = q_ = state.q;
  return true;
}

double StaticEquilibrium::load_factor(double t) const {
  if (!(options_.ramp_duration > 0)) return 1;
  return std::clamp((t - options_.ramp_start) / options_.ramp_duration, 0.0, 1.0);
}

StepReport StaticEquilibrium::step(const System& system, State& state, double h) {
  StepReport report;
  report.t = state.t;
  report.h = h;
  report.timed = system.size() > 2000 || steps_++ % 16 == 0;
  const auto begin = report.timed ? Clock::now() : Clock::time_point{};
  q_n_ = state.q;
  report.failed_item = system.undefined_formula(state.t + h);
  if (!report.failed_item.empty()) {
    report.subproblems[0].name = "equilibrium";
    set_zero(r_);
    fail(system, report, undefined_formula);
    return report;
  }
  if (!solve(system, state, state.t + h, load_factor(state.t + h), report)) return report;
  state.closed = state.active;
  state.last_h = h;
  state.t += h;
  if (report.timed) report.seconds[0] = std::chrono::duration<double>(Clock::now() - begin).count();
  return report;
}

// r = -f - G^T lambda, its norm and that of its terms
void StaticEquilibrium::residual(const System& system, In q, In lambda, double t, double factor) {
  const double length = options_.scales.length;
  system.forces(q, rest_, t, force_internal | force_damping | force_gyroscopic, f_);
  system.forces(q, rest_, t, force_external | force_gravity, loads_);
  set_zero(reaction_);
  system.add_reactions(q, t, lambda, RowSet::all, reaction_);
  combine(-1.0, f_, -factor, loads_, r_);
  axpy(-1.0, reaction_, r_);
  residual_norm_ = system.force_norm(r_, length);
  terms_ =
      system.force_norm(f_, length) + factor * system.force_norm(loads_, length) + system.force_norm(reaction_, length);
}

double StaticEquilibrium::correction_size(const System& system, In dx) const {
  return system.force_norm(dx, 1 / options_.scales.length);  // rotations times the length
}

bool StaticEquilibrium::factorise(const System& system, double t, double factor, double sigma) {
  SaddlePoint& saddle = sigma > 0 ? shifted_ : saddle_;
  if (sigma == 0 && constant_ && saddle.factorised()) return true;
  if (sigma > 0 && !shifted_known_) {
    shifted_.analyse(system, {system.symmetric() && contacts_linear(system), false});
    shifted_known_ = true;
  }
  Linearisation request;
  request.c_K = request.c_s = 1;
  request.c_M = sigma;
  request.q_M = request.q = q_.data();
  request.v = rest_.data();
  request.t = t;
  request.loads = factor;
  // the multipliers of rows that are active
  copy(lambda_, s_);
  for (std::size_t i = 0; i < contacts_.flags().size(); ++i)
    if (contacts_.flags()[i] == 0) s_[at(system.bilateral()) + i] = 0;
  request.s = s_.data();
  request.row_scale = stiffness_;
  if (saddle.factorise(system, request)) return true;
  suspicious_row_ = saddle.suspicious_row();
  return false;
}

bool StaticEquilibrium::solve(const System& system, State& state, double t, double factor, StepReport& report) {
  SubproblemReport& sub = report.subproblems[0];
  sub.name = "equilibrium";
  report.smallest_gap = std::numeric_limits<double>::infinity();
  const double length = options_.scales.length, mass = options_.scales.mass;
  const double largest_position = std::max(length, system.largest_position(state.q));
  const std::size_t n_b = at(system.bilateral()), n_u = at(system.unilateral());
  const double floor = 1e-14 * root_size_ * system.roundoff_force(largest_position);
  const double gap_tolerance = options_.constraint_tolerance * length + 8 * rounding * largest_position;
  const double penalty = 1e-3 * stiffness_;

  q_ = state.q;
  copy(state.lambda, lambda_);
  contacts_.reset();
  std::copy_n(lambda_.begin() + static_cast<std::ptrdiff_t>(n_b), n_u, contacts_.multipliers().begin());
  bool transient = false;
  double sigma = 0, share = 0;  // of the shift, and of the largest motion that it should allow
  int last_change = 0, beginning = 0;
  for (;;) {
    // gaps, active set and residual
    system.gaps(q_, t, RowSet::all, g_);
    const In g_b = In(g_).first(n_b), g_u = In(g_).subspan(n_b, n_u);
    const int changes = contacts_.update(g_u, penalty, 64 * rounding * largest_position, &state.active);
    sub.set_changes += changes;
    if (changes > 0) last_change = sub.iterations;
    std::copy(contacts_.multipliers().begin(), contacts_.multipliers().end(),
              lambda_.begin() + static_cast<std::ptrdiff_t>(n_b));
    const auto active = contacts_.active_rows();
    double largest_gap = max_abs(g_b);
    for (std::size_t k = 0; k < active.size(); ++k) {
      c_A_[k] = g_[at(active[k])];
      largest_gap = std::max(largest_gap, std::abs(c_A_[k]));
    }
    residual(system, q_, lambda_, t, factor);
    sub.residual = residual_norm_ == 0 ? 0 : residual_norm_ / (options_.tolerance * terms_ + floor);
    sub.constraint = largest_gap / gap_tolerance;
    sub.history_at(sub.iterations) = std::max(sub.residual, sub.constraint);
    report.position_residual = largest_gap;
    if (!std::isfinite(residual_norm_) || !std::isfinite(largest_gap)) return fail(system, report, "not finite");
    if (sub.residual <= 1 && sub.constraint <= 1 && contacts_.pending() == 0) break;
    const int limit = options_.max_iterations * (transient ? transient_patience : 1);
    if (sub.iterations - std::max(last_change, beginning) >= limit ||
        sub.iterations >= transient_patience * options_.max_iterations +
                              4 * static_cast<int>(std::min<std::size_t>(n_u, 100000)) + beginning)
      return fail(system, report, share >= 0.5 ? "nothing holds the loads" : "no convergence");

    // the correction, of the shifted matrix once the plain one was singular, if only but for rounding
    const double smallest_sigma =
        std::max(smallest_shift * stiffness_, smallest_load_shift * system.force_norm(loads_, length) / length) / mass;
    const std::size_t n_A = active.size();
    double moved = 0, turned = 0;
    for (bool known = false; !known;) {
      SaddlePoint& saddle = transient ? shifted_ : saddle_;
      known = factorise(system, t, factor, sigma);
      if (known) {
        saddle.set_active(system, active, q_, t, nullptr);
        known = saddle.solve(r_, g_b, In(c_A_).first(n_A), dx_, dl_b_, Out(dl_A_).first(n_A));
        moved = system.speed(dx_, length) / length;
        turned = system.largest_angular_velocity(dx_);
        if (!transient && !constant_) known = known && moved < no_direction && turned < no_direction;
      }
      if (known && saddle.regularised()) report.redundant = true;
      if (known) break;
      if (transient) return fail(system, report, "singular matrix");
      transient = true;
      beginning = sub.iterations;
      sigma = std::max(shift * residual_norm_ / (mass * length), smallest_sigma);
    }
    ++sub.iterations;

    // the step
    double step = 1;
    if (!constant_ && !transient) {
      step = 1 / std::max({1.0, moved / largest_move, turned / largest_rotation});
      if (!damp(system, t, factor, step)) return fail(system, report, "line search");
    } else {
      if (transient) {
        // sigma falls as the motion dies, and grows where it would be too large; the multipliers follow whole: they are
        // what the constraints need at this place
        share = std::max(moved / transient_move, turned / transient_rotation);
        step = 1 / std::max(1.0, share);
        sigma = std::max(smallest_sigma, sigma * std::clamp(share, 0.1, 10.0));
      }
      scale_into(step, dx_, dx_next_);
      system.retract(q_, dx_next_, q_);
      axpy(1.0, dl_b_, Out(lambda_).first(n_b));
      contacts_.add_increment(dl_A_);
    }
  }

  report.failed_item = system.inverted_element(q_, t, true);
  if (!report.failed_item.empty()) return fail(system, report, inverted_element);

  // commit
  for (std::size_t i = 0; i < n_u; ++i) report.smallest_gap = std::min(report.smallest_gap, g_[n_b + i]);
  std::swap(state.q, q_);
  copy(lambda_, state.lambda);
  state.active = contacts_.flags();
  report.closed = static_cast<int>(contacts_.active_rows().size());
  return true;
}

// The longest of step, step/2, ... after which the simplified correction, of the same matrix at the new place, has
// shrunk; a step that has reduced the residual ten times needs no such test.
bool StaticEquilibrium::damp(const System& system, double t, double factor, double step) {
  const std::size_t n_b = at(system.bilateral());
  const auto active = contacts_.active_rows();
  const std::size_t n_A = active.size();
  const double size = correction_size(system, dx_), before = residual_norm_;
  double gaps_before = max_abs(In(g_).first(n_b));
  for (std::size_t k = 0; k < n_A; ++k) gaps_before = std::max(gaps_before, std::abs(c_A_[k]));
  for (; step >= smallest_step; step /= 2) {
    scale_into(step, dx_, dx_next_);
    system.retract(q_, dx_next_, q_trial_);
    copy(lambda_, lambda_trial_);
    axpy(step, dl_b_, Out(lambda_trial_).first(n_b));
    for (std::size_t k = 0; k < n_A; ++k) lambda_trial_[at(active[k])] += step * dl_A_[k];
    residual(system, q_trial_, lambda_trial_, t, factor);
    if (!std::isfinite(residual_norm_)) continue;
    double gaps = 0;
    if (system.rows() > 0) {
      system.gaps(q_trial_, t, RowSet::bilateral, g_);
      gaps = max_abs(In(g_).first(n_b));
      for (std::size_t k = 0; k < n_A; ++k) {
        c_A_[k] = system.row_gap(active[k], q_trial_, t);
        gaps = std::max(gaps, std::abs(c_A_[k]));
      }
    }
    bool shrinks = step == 1 && residual_norm_ <= 0.1 * before && gaps <= 0.1 * gaps_before;
    if (!shrinks) {
      if (!saddle_.solve(r_, In(g_).first(n_b), In(c_A_).first(n_A), dx_next_, dl_b_next_, Out(dl_A_next_).first(n_A)))
        continue;
      // near the solution the corrections are rounding
      const double next = correction_size(system, dx_next_);
      shrinks = next <= (1 - 0.25 * step) * size || next <= 64 * rounding * options_.scales.length * root_size_;
    }
    if (!shrinks) continue;
    std::swap(q_, q_trial_);
    axpy(step, dl_b_, Out(lambda_).first(n_b));
    for (std::size_t k = 0; k < n_A; ++k) dl_A_[k] *= step;
    contacts_.add_increment(dl_A_);
    return true;
  }
  // the residual of the place where the search began
  system.gaps(q_, t, RowSet::all, g_);
  residual(system, q_, lambda_, t, factor);
  return false;
}

bool StaticEquilibrium::fail(const System& system, StepReport& report, const char* reason) {
  mark_failed(report, 0, reason);
  set_zero(row_residual_);
  copy(In(g_).first(at(system.bilateral())), Out(row_residual_).first(at(system.bilateral())));
  for (const int row : contacts_.active_rows()) row_residual_[at(row)] = g_[at(row)];
  if (std::string_view(reason) == "singular matrix")
    name_suspicious(report, suspicious_row_, system.size());
  else
    name_worst(report, r_, row_residual_);
  return false;
}

void StaticEquilibrium::jump_force(const System&, const State&, Out f, Out) const { set_zero(f); }

LinearCounters StaticEquilibrium::linear_counters() const {
  LinearCounters sum = saddle_.counters();
  return shifted_known_ ? sum += shifted_.counters() : sum;
}

void StaticEquilibrium::save(NamedArrays& record) const {
  record.set("static", {static_cast<double>(steps_), shifted_known_ ? 1.0 : 0.0});
  saddle_.save(record, "equilibrium ", constant_);
  if (shifted_known_) shifted_.save(record, "shifted ", false);
}

void StaticEquilibrium::restore(const NamedArrays& record) {
  const Vector* const state = record.find("static");
  if (state == nullptr || state->size() != 2) throw std::invalid_argument("StaticEquilibrium: the record does not fit");
  steps_ = static_cast<long>(state->front());
  saddle_.restore(record, "equilibrium ");
  // the symbolic work of the shifted matrix is done when it is needed again
}

EquilibriumReport find_equilibrium(const System& system, const StaticOptions& options, State& state) {
  StaticEquilibrium statics(system, options);
  EquilibriumReport report;
  State trial;
  trial.t = state.t;
  trial.q = state.q;
  statics.initialise(system, trial, 1.0);
  constexpr int finest = 1 << 10;
  for (int done = 0, size = finest; done < finest;) {
    StepReport step;
    const double factor = static_cast<double>(done + size) / finest;
    if (!statics.solve(system, trial, state.t, factor, step)) {
      report.iterations += step.subproblems[0].iterations;
      if (size == 1) {
        report.last = step;
        return report;
      }
      size /= 2;
      continue;
    }
    ++report.increments;
    report.iterations += step.subproblems[0].iterations;
    report.factor = factor;
    done += size;
    while (size < finest && done % (2 * size) == 0 && done + 2 * size <= finest) size *= 2;
  }
  report.converged = true;
  state.q = trial.q;
  return report;
}

}  // namespace carom
