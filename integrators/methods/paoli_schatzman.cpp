#include "integrators/methods/paoli_schatzman.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {
constexpr int most_iterations = 50;
constexpr double most_given = 0.5;  // by impulses in a run, of the energies
constexpr double same_size = 1e-9;  // of steps
constexpr int steps_of_impact = 3;  // from the last one outside to the one that leaves
}  // namespace

MethodInfo PaoliSchatzman::method_info(Variant variant) {
  return {.name = variant == Variant::carpenter ? "carpenter" : "paoli_schatzman",
          .subproblems = {"position"},
          .accelerations = false,
          .explicit_step = true,
          .long_impacts = true,
          .lumped_mass = true,
          .closing_turn = wide_closing_turn};
}

PaoliSchatzman::PaoliSchatzman(const System& system, Variant variant, const LeapfrogOptions& options)
    : Leapfrog(system, method_info(variant), options) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  for (Vector* x : {&q_, &q_row_, &q_star_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&v_start_, &w_free_, &other_}) x->assign(n, 0.0);
  gap_.assign(rows, 0.0);
  closed_.assign(at(system.conditional()), 0);
  restitutions_ = {0.0};
  for (int row = 0; row < system.rows(); ++row)
    if (const double e = restitution(row);
        std::find(restitutions_.begin(), restitutions_.end(), e) == restitutions_.end())
      restitutions_.push_back(e);
}

double PaoliSchatzman::restitution(int row) const {
  return row < system().bilateral() ? 0.0 : system().contact_parameters(row).restitution;
}

std::vector<Integrator::Objection> PaoliSchatzman::objections(const State& start, double h) {
  if (has_frames()) {
    const int e = system().dofs().rotating_frames().front().equation;
    return {{"", e,
             "expected nodes without rotation (points, bars, springs, solids, coordinates), got " +
                 system().equation_name(e) + ": \"" + info().name + "\" adds positions; " +
                 (system().has_massless_equation() ? "moreau_jean takes frames, also without mass"
                                                   : "cd_lagrange and moreau_jean take frames")}};
  }
  std::vector<Objection> found = Leapfrog::objections(start, h);
  if (info().name == "carpenter")
    for (int row = system().bilateral(); row < system().rows(); ++row)
      if (restitution(row) > 0) {
        found.push_back({"", -1,
                         "expected restitution 0, got a contact with more (" + system().row_name(row) +
                             "): \"carpenter\" has no impact law; paoli_schatzman and cd_lagrange have one",
                         row});
        break;
      }
  return found;
}

bool PaoliSchatzman::initialise(State& state, double h, StepReport& report) {
  if (!begin(state, h, report)) return false;
  state.history.push_back({"smooth_acceleration", a_});
  state.history.push_back({"row_work", {0.0, 0.0}});
  state.history.push_back({"reactions", Vector(at(system().rows()), 0.0)});
  state.acceleration = a_;
  combine(1.0, state.v, 0.5 * h, a_, w_);
  if (!hold_first_half_step(state, h, report)) return false;
  combine(1.0, state.v, -0.5 * h, state.acceleration, state.history[half_velocity].values);
  return true;
}

bool PaoliSchatzman::penetrates(const State& start) {
  system().gaps(start.q, start.t, unilateral_rows, gaps_);
  return std::any_of(gaps_.begin() + system().bilateral(), gaps_.end(), [](double gap) { return gap < 0; });
}

// Gaps at q_e for the velocity w = v_{n+1/2}, to gap_; the configuration of e = 0 is that of the end, q_.
void PaoliSchatzman::measure(const State& start, double h, double t, In w) {
  const Vector& w_before = start.history[half_velocity].values;
  for (const double e : restitutions_) {
    combine(h / (1 + e), w, -h * e / (1 + e), w_before, d_);
    Vector& q = e == 0 ? q_ : q_row_;
    system().retract(start.q, d_, q);
    const double t_e = (t + e * (t - 2 * h)) / (1 + e);
    if (restitutions_.size() == 1 || e == 0) {
      system().gaps(q, t_e, bilateral_rows | unilateral_rows, gap_);
      continue;
    }
    system().gaps(q, t_e, unilateral_rows, gaps_);
    for (int row = system().bilateral(); row < system().rows(); ++row)
      if (restitution(row) == e) gap_[at(row)] = gaps_[at(row)];
  }
}

bool PaoliSchatzman::find_impulses(const StepScales& scales, const State& start, StepReport& report) {
  const double h = scales.h, t = scales.t;
  const int n_b = system().bilateral();
  const ProblemScales lengths = scales.positions(1);
  SubproblemReport& sub = report.subproblems[0];
  measure(start, h, t, w_free_);
  list_.clear();
  for (int row = 0; row < system().rows(); ++row)
    if (row < n_b || gap_[at(row)] < 0) list_.push_back(row);
  q_star_ = q_;
  impulses_.set_rows(list_, start.q, q_star_, t, &scales.start);
  r_.assign(list_.size(), 0.0);
  for (std::size_t i = 0; i < list_.size(); ++i) r_[i] = start.impulse[at(list_[i])] > 0 ? 1e-300 : 0;
  w_ = w_free_;
  for (sub.iterations = 0; sub.iterations < most_iterations; ++sub.iterations) {
    // of listed rows: the rate that w would need
    double worst = 0;
    bool more = false;
    c_.resize(list_.size());
    for (int row = n_b; row < system().rows(); ++row)
      more = more || (gap_[at(row)] < -lengths.row_tolerance && !std::binary_search(list_.begin(), list_.end(), row));
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const int row = list_[i];
      const double g = gap_[at(row)];
      if (row < n_b || r_[i] > 0) worst = std::max(worst, std::abs(g));
      if (row >= n_b) worst = std::max(worst, -g);
      // c_0 of the chord through the present w
      c_[i] = g * (1 + restitution(row)) / h - (impulses_.rate(i, w_) - impulses_.rate(i, w_free_));
    }
    if (sub.iterations > 0 && !more && !(worst > lengths.row_tolerance)) {
      report.position_residual = worst;
      return true;
    }
    if (list_.empty()) return true;
    if (!std::isfinite(worst)) return fail(report, FailureReason::not_finite, 0);
    if (more) {
      // others close through the impulses of these
      for (int row = n_b; row < system().rows(); ++row)
        if (gap_[at(row)] < -lengths.row_tolerance && !std::binary_search(list_.begin(), list_.end(), row))
          list_.insert(std::upper_bound(list_.begin(), list_.end(), row), row);
      measure(start, h, t, w_free_);
      impulses_.set_rows(list_, start.q, q_star_, t, &scales.start);
      r_.assign(list_.size(), 0.0);
      w_ = w_free_;
      continue;
    }
    if (!impulses_.solve(c_, 0, r_)) return fail(report, FailureReason::no_convergence, 0);
    report.redundant = impulses_.redundant();
    sub.set_changes += impulses_.set_changes();
    w_ = w_free_;
    impulses_.add_velocity(1.0, r_, w_);
    measure(start, h, t, w_);
  }
  return fail(report, FailureReason::no_convergence, 0);
}

// What moving obstacles and driven joints give beyond the power of the reactions, of which the guard takes the mean of
// both ends of the step: by the impulses at t_n and by the change of the reactions there.
double PaoliSchatzman::driven_work(const State& start, double h) {
  double work = 0;
  for (int row = 0; row < system().rows(); ++row) {
    const double impulse = jumps_[at(row)] + h * (forces_[at(row)] - start.history[reactions].values[at(row)]);
    if (impulse != 0) work -= impulse * rate_at_rest(row, start.q, start.t);
  }
  return work;
}

bool PaoliSchatzman::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const double h = scales.h, t = scales.t;
  const int n_b = system().bilateral();
  const Vector& a_n = start.history[smooth].values;
  // the steps of an impact have one size
  if (h > start.last_h * (1 + same_size) && strikes(start)) return fail(report, FailureReason::no_convergence, 0);
  combine(1.0, start.history[half_velocity].values, 0.5 * (start.last_h + h), a_n, w_free_);
  // the contact direction must not turn during an impact: check the predicted motion over its steps
  if (system().passable()) {
    scale_into(steps_of_impact * h, w_free_, d_);
    system().retract(start.q, d_, q_row_);
    if (misses_contact(system(), start.q, start.t, q_row_, start.t + steps_of_impact * h, report, closing_turn())) {
      if (!penetrates(start)) return false;
      forget_failure(report);
    }
  }
  // masses that depend on the configuration: an earlier step, or one that was refused, has left those of its end
  if (!mass_.update(start.q)) return fail(report, FailureReason::indefinite_mass);
  if (!find_impulses(scales, start, report)) return false;
  set_zero(end.impulse);
  std::fill(closed_.begin(), closed_.end(), 0);
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const int row = list_[i];
    end.impulse[at(row)] = r_[i];
    if (row >= n_b && r_[i] > 0) closed_[at(row - n_b)] = 1;
  }
  scale_into(h, a_n, d_);
  const bool impact = split(d_, q_star_, w_, t, h);
  // v_n after the impulses at t_n
  a_start_ = a_n;
  for (std::size_t i = 0; i < list_.size(); ++i) c_[i] = h * forces_[at(list_[i])];
  impulses_.add_velocity(1 / h, c_, a_start_);
  combine(1.0, w_, -0.5 * h, a_start_, v_start_);

  // the work of the impulses at t_n: an impact takes several steps, and gives or takes energy of order h
  combine(1.0, v_start_, -1.0, start.v, other_);
  mass_.times(other_, d_);
  const double work = 0.5 * (dot(d_, start.v) + dot(d_, v_start_));
  const double driven = driven_work(start, h), given = work - driven;
  end.history[reactions].values = forces_;
  for (std::size_t i = 0; i < list_.size(); ++i) c_[i] = jumps_[at(list_[i])];
  // what remains without the impulses: the change of the reactions that act throughout a step
  impulses_.add_velocity(-1.0, c_, other_);
  mass_.times(other_, other_);
  const double change = max_abs(other_);

  // the end of the step, with the masses of its configuration
  end.history[half_velocity].values = w_;
  scale_into(h, w_, d_);
  system().retract(start.q, d_, end.q);
  if (!evaluate(end.q, w_, t, report)) return false;
  end.history[internal].values = a_int_;
  end.history[smooth].values = a_;
  end.acceleration = a_;
  for (std::size_t i = 0; i < list_.size(); ++i) c_[i] = h * forces_[at(list_[i])];
  impulses_.add_velocity(1 / h, c_, end.acceleration);
  combine(1.0, w_, 0.5 * h, end.acceleration, end.v);
  if (!all_finite(end.v)) return fail(report, FailureReason::not_finite);

  end.active = end.closed = closed_;
  if (system().conditional() > 0) {
    system().gaps(end.q, t, unilateral_rows, gaps_);
    for (std::size_t i = at(n_b); i < gaps_.size(); ++i) note_gap(static_cast<int>(i), gaps_[i], report);
  }
  if (!judge(start, a_start_, end, end.v, w_, h, forces_, given, driven, report)) return false;
  guard().close(false, forces_, {});
  // an impact takes several steps, the first of which takes more than the others give back
  const Vector& before = start.history[row_work].values;
  const double all = before[0] + given, of_impact = impact ? before[1] + given : 0;
  if (impact) guard().count_row_gain(std::max(0.0, of_impact) - std::max(0.0, before[1]));
  end.history[row_work].values = {all, of_impact};
  if (guard().on() && all > most_given * guard().energies()) {
    guard().blame(report, -1, start, end.q, end.v, t);
    return false;
  }

  stages_.clear();
  if (impact || change > 0) {
    for (double& x : other_) x /= h;
    stages_.push_back({Stage::Kind::jump, start.t, start.t, start.q, start.v, start.q, v_start_, jumps_, h});
    stages_.back().force = other_;
    stages_.back().row_q = q_star_;
    stages_.back().located = true;
    stages_.back().closed = end.closed;
  }
  stages_.push_back({Stage::Kind::motion, start.t, t, start.q, v_start_, end.q, end.v, forces_, h});
  if (stages_.size() == 1) stages_.back().closed = end.closed;
  return true;
}

}  // namespace carom
