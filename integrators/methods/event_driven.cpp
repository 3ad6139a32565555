#include "integrators/methods/event_driven.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr int most_trials = 80;  // of a part of the step, in which one event is located
constexpr int most_fast_events = 10;
constexpr int cubic_parts = 16;       // of a cubic in which a fall is looked for
constexpr double least_share = 0.05;  // of a bracket by which a trial stays away from its ends
// a contact that moves apart no faster stays closed: of the speeds of the model, of what rounding of gaps lets arise
constexpr double resting_rate = 1e-10, resting_factor = 10;

// The first point in (0, 1] at which the cubic of the given values and slopes falls below zero; infinity: none.
double fall(double value_0, double slope_0, double value_1, double slope_1) {
  const auto value = [&](double s) {
    const double r = 1 - s;
    return r * r * ((1 + 2 * s) * value_0 + s * slope_0) + s * s * ((1 + 2 * r) * value_1 - r * slope_1);
  };
  double low = 0;
  for (int k = 1; k <= cubic_parts; ++k) {
    double high = static_cast<double>(k) / cubic_parts;
    if (value(high) >= 0) {
      low = high;
      continue;
    }
    for (int i = 0; i < 50; ++i) {
      const double middle = 0.5 * (low + high);
      (value(middle) < 0 ? high : low) = middle;
    }
    return high;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

// W of v+ = v- + W.
struct EventDriven::Impact final : MixedProblem {
  explicit Impact(EventDriven& method) : m(method), W(at(method.system().size()), 0.0), v(W), Mx(W), reaction(W) {}
  void begin(const State& s) {
    state = &s;
    step = {s.q.data(), s.v.data(), s.t};
    set_zero(W);
    v = s.v;
  }
  void rows(Out c) override {
    const System& system = m.system();
    if (system.bilateral() > 0) system.rates(state->q, v, state->t, bilateral_rows, c, &step);
    for (std::size_t i = 0; i < m.striking_.size(); ++i) {
      const int row = system.bilateral() + static_cast<int>(i);
      if (m.striking_[i] != 0) c[at(row)] = system.row_rate(row, state->q, v, state->t, &step) + m.reflected_[at(row)];
    }
  }
  double residual(In s, Out r) override {
    m.system().mass_times(state->q, W, Mx);
    set_zero(reaction);
    m.system().add_reactions(state->q, state->t, s, bilateral_rows | unilateral_rows, reaction, &step);
    combine(1.0, Mx, -1.0, reaction, r);
    return m.force_norm(Mx) + m.force_norm(reaction);
  }
  RowPoint row_point() override { return {state->q}; }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.q_M = S.q = state->q.data();
    S.v = v.data();
  }
  bool move(double share, In dW) override {
    axpy(share, dW, W);
    axpy(share, dW, v);
    return true;
  }
  EventDriven& m;
  const State* state = nullptr;
  StepStart step;
  Vector W, v, Mx, reaction;
};

// v' at the start of a motion.
struct EventDriven::Start final : MixedProblem {
  explicit Start(EventDriven& method) : m(method), a(at(method.system().size()), 0.0), f(a), Mx(a), reaction(a) {}
  void begin(const State& s) {
    state = &s;
    step = {s.q.data(), s.v.data(), s.t};
    a = s.acceleration;
    m.system().forces(s.q, s.v, s.t, force_all, f);
  }
  void rows(Out c) override {
    if (m.system().rows() > 0)
      m.system().accelerations(state->q, state->v, a, state->t, bilateral_rows | unilateral_rows, c, &step);
  }
  double residual(In s, Out r) override {
    m.system().mass_times(state->q, a, Mx);
    set_zero(reaction);
    m.system().add_reactions(state->q, state->t, s, bilateral_rows | unilateral_rows, reaction, &step);
    combine(1.0, Mx, -1.0, reaction, r);
    axpy(-1.0, f, r);
    return m.force_norm(Mx) + m.force_norm(reaction) + m.force_norm(f);
  }
  RowPoint row_point() override { return {state->q}; }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.q_M = S.q = state->q.data();
    S.v = state->v.data();
  }
  bool move(double share, In da) override {
    axpy(share, da, a);
    return true;
  }
  EventDriven& m;
  const State* state = nullptr;
  StepStart step;
  Vector a, f, Mx, reaction;
};

MethodInfo EventDriven::method_info() {
  return {.name = "event_driven",
          .subproblems = {"smooth", "position", "velocity", "impact", "acceleration"},
          .judges_parts = true};
}

EventDriven::EventDriven(const System& system, const EventDrivenOptions& o)
    : Integrator(system, method_info(), o.scales, o.newton),
      options_(o),
      motion_(system, o.scales, o.newton, o.rho_infinity,
              {.acceleration_level = true, .smooth_rows = bilateral_rows | unilateral_rows}),
      impact_(system, o.newton,
              MixedSetup{.name = "impact",
                         .rows = bilateral_rows | unilateral_rows,
                         .matrix = tangent_properties(system, o.newton.method)},
              o.scales, 3, nullptr),
      acceleration_(system, o.newton,
                    MixedSetup{.name = "acceleration",
                               .rows = bilateral_rows | unilateral_rows,
                               .matrix = tangent_properties(system, o.newton.method)},
                    o.scales, 4, nullptr),
      solvers_(motion_.solvers().begin(), motion_.solvers().end()),
      impact_problem_(std::make_unique<Impact>(*this)),
      start_problem_(std::make_unique<Start>(*this)) {
  solvers_.push_back(&impact_);
  solvers_.push_back(&acceleration_);
  for (Vector* x : {&row_, &impulses_, &reflected_}) x->assign(at(system.rows()), 0.0);
  for (auto* x : {&closed_, &striking_}) x->assign(at(system.conditional()), 0);
  floors_.assign(at(system.conditional()), 0.0);
  for (Gaps* g : {&low_, &high_, &now_})
    for (Vector* x : {&g->gap, &g->rate}) x->assign(at(system.conditional()), 0.0);
}

EventDriven::~EventDriven() = default;

bool EventDriven::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  state.closed = state.active;
  return motion_.initialise(state, h, options_.initial_acceleration, report);
}

StepScales EventDriven::scales_from(const StepScales& scales, const State& state, double tau) const {
  StepScales s = scales;
  s.h = tau;
  s.t = state.t + tau;
  s.start = {state.q.data(), state.v.data(), state.t};
  return s;
}

bool EventDriven::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const double t_end = scales.t, smallest = options_.event_tolerance * scales.h;
  // a contact reaches this speed while its gap falls through rounding
  touching_ = 64 * StepScales::epsilon * scales.place;
  rest_ = std::max(resting_rate * scales.speed,
                   resting_factor * std::sqrt(touching_ * scales.model.force / scales.model.mass));
  from_ = start;
  to_ = start;
  closed_ = start.active;
  set_zero(impulses_);
  count_ = 0;
  // the first step of a run may begin with contacts that touch, of which the initial acceleration knows nothing
  const bool rests = std::find(closed_.begin(), closed_.end(), 1) != closed_.end();
  if (start.step == 0 && rests && options_.initial_acceleration != InitialAcceleration::zero &&
      !restart(scales, from_, report))
    return false;

  if (start.step == 0 && penetrates(report)) return false;
  int fast = 0;
  for (int events = 0;; ++events) {
    const double t = from_.t;
    const End reached = move(scales, t_end - t, report);
    if (reached == End::failed) return false;
    motion_.write(to_);
    const bool last = t_end - (t + now_.tau) <= smallest;
    to_.t = last ? t_end : t + now_.tau;
    to_.last_h = now_.tau;
    axpy(1.0, to_.impulse, impulses_);
    for (std::size_t i = 0; i < closed_.size(); ++i) {
      const bool parts = motion_.solver(2).flags()[i] == 0 && (now_.gap[i] > touching_ || now_.rate[i] > rest_);
      if (opened(i) || parts) closed_[i] = 0;
    }
    // contacts of K that nothing presses are not shown as closed
    to_.active = to_.closed = closed_;
    for (std::size_t i = 0; i < closed_.size(); ++i)
      if (motion_.solver(2).flags()[i] == 0) to_.closed[i] = 0;
    add_part(Stage::Kind::motion, from_, to_, motion_.solver(0).multipliers()).closed = to_.closed;
    if (!guard().accept(from_, to_)) {
      guard().blame(report, -1, from_, to_.q, to_.v, to_.t);
      return false;
    }
    if (reached == End::event && (!strike(scales, report) || !restart(scales, to_, report))) return false;
    from_.swap(to_);
    if (last) break;
    // impacts that follow each other faster than their times are located, and more than all contacts one by one
    fast = reached == End::event && now_.tau <= 2 * smallest ? fast + 1 : 0;
    if (events >= options_.most_events || fast >= most_fast_events + system().conditional()) {
      mark_failed(report, -1, FailureReason::accumulation);
      report.retry = false;
      for (std::size_t i = 0; i < striking_.size(); ++i)
        if (striking_[i] != 0) report.failed_item = system().row_name(system().bilateral() + static_cast<int>(i));
      return false;
    }
    if (reached == End::reached) --events;
    guard().begin(from_);
  }
  end = from_;
  // a_n and eta_n for a part of the size of the step
  GeneralizedAlpha::rescale_a(now_.tau, scales.h, end.acceleration, end.history[0].values);
  GeneralizedAlpha::rescale_a(now_.tau, scales.h, end.lambda, end.history[1].values);
  end.impulse = impulses_;
  report.position_residual = motion_.solver(1).largest_row();
  report.velocity_residual = motion_.solver(2).largest_row();
  system().gaps(end.q, t_end, unilateral_rows, row_, &scales.start);
  for (int row = system().bilateral(); row < system().rows(); ++row)
    report.smallest_gap = std::min(report.smallest_gap, row_[at(row)]);
  return true;
}

// Impacts begin where a gap falls through zero: a contact that approaches from below is none.
bool EventDriven::penetrates(StepReport& report) {
  measure(from_, 0, low_);
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    if (!(low_.gap[i] < -1e-9 * this->scales().length && low_.rate[i] < 0)) continue;
    mark_failed(report, -1, FailureReason::penetration_at_start);
    report.retry = false;
    report.failed_item = system().row_name(system().bilateral() + static_cast<int>(i));
    return true;
  }
  return false;
}

void EventDriven::measure(const State& state, double tau, Gaps& gaps) const {
  gaps.tau = tau;
  const StepStart step{from_.q.data(), from_.v.data(), from_.t};
  for (std::size_t i = 0; i < gaps.gap.size(); ++i) {
    const int row = system().bilateral() + static_cast<int>(i);
    gaps.gap[i] = system().row_gap(row, state.q, from_.t + tau, &step);
    gaps.rate[i] = system().row_rate(row, state.q, state.v, from_.t + tau, &step);
  }
}

// The force of a contact that was closed has vanished. Redundant contacts may have none from the start.
bool EventDriven::opened(std::size_t contact) const {
  // without contacts in the smooth motion only the impulse of the whole part tells
  const MixedNewton& solver = motion_.solver(motion_.fell_back() ? 2 : 0);
  return closed_[contact] != 0 && from_.lambda[at(system().bilateral()) + contact] > 0 && solver.flags()[contact] == 0;
}

// A gap that may penetrate has done so, beyond rounding, or a contact that was closed has opened.
bool EventDriven::beyond(const Gaps& now) const {
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (closed_[i] != 0 ? opened(i) : now.gap[i] < floors_[i]) return true;
  return false;
}

// The earliest fall of an open gap between two times, in units of their difference; infinity: none.
double EventDriven::first_fall(const Gaps& low, const Gaps& high) const {
  const double size = high.tau - low.tau;
  double first = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (closed_[i] == 0) {
      const double floor = floors_[i];
      first = std::min(first, fall(low.gap[i] - floor, size * low.rate[i], high.gap[i] - floor, size * high.rate[i]));
    }
  return first;
}

// The motion from from_ to the first event, but no longer than `longest`; now_.tau is what it takes.
EventDriven::End EventDriven::move(const StepScales& scales, double longest, StepReport& report) {
  const double smallest = options_.event_tolerance * scales.h;
  measure(from_, 0, low_);
  for (std::size_t i = 0; i < floors_.size(); ++i) floors_[i] = std::min(0.0, low_.gap[i]) - touching_;
  bool bracketed = false, dipped = false;
  double tau = longest;
  int slow = 0;
  for (int trial = 0; trial < most_trials; ++trial) {
    if (!motion_.solve(scales_from(scales, from_, tau), from_, guard(), report, &closed_)) return End::failed;
    to_.q = motion_.q();
    to_.v = motion_.v();
    measure(to_, tau, now_);
    const double before = bracketed ? high_.tau - low_.tau : longest;
    if (beyond(now_)) {
      high_ = now_;
      bracketed = true;
      if (high_.tau - low_.tau <= smallest) return End::event;
    } else if (!bracketed) {
      // nothing has happened by the end; a gap may have fallen and risen again
      const double dip = dipped ? HUGE_VAL : first_fall(low_, now_);
      if (!(dip < 1)) return End::reached;
      dipped = true;
      tau *= std::max(dip, least_share);
      continue;
    } else {
      low_ = now_;
      if (high_.tau - low_.tau <= smallest) {  // the event itself is just beyond
        tau = high_.tau;
        continue;
      }
    }
    const double size = high_.tau - low_.tau;
    slow = size > 0.5 * before ? slow + 1 : 0;
    const double share = slow > 1 ? 0.5 : first_fall(low_, high_);
    // a trial a little beyond the estimate brackets the event from the other side
    const double margin = std::min(least_share, 0.5 * smallest / size);
    tau = low_.tau +
          size * (share <= 1 ? std::clamp(share + (trial % 2 == 0 ? margin : -margin), margin, 1 - margin) : 0.5);
  }
  mark_failed(report, -1, FailureReason::no_convergence);
  return End::failed;
}

// The impact at the end of a motion of all contacts that touch and approach; then the contacts that stay closed.
bool EventDriven::strike(const StepScales& scales, StepReport& report) {
  const System& s = system();
  bool impact = false;
  for (std::size_t i = 0; i < striking_.size(); ++i) {
    const int row = s.bilateral() + static_cast<int>(i);
    const double rate = now_.rate[i], late = 2 * options_.event_tolerance * scales.h * std::abs(rate);
    const double e = s.contact_parameters(row).restitution;
    const bool touches = closed_[i] == 0 && now_.gap[i] <= touching_ + late && rate<0, bounces = e> 0 &&
                         -rate > options_.rest_speed,
               strikes = touches && (bounces || rate < -rest_);
    if (touches && !strikes) closed_[i] = 1;  // without an impact
    striking_[i] = strikes || closed_[i] != 0 ? 1 : 0;
    impact = impact || strikes;
    reflected_[at(row)] = strikes && bounces ? e * rate : 0.0;
  }
  if (!impact) return true;

  impact_problem_->begin(to_);
  impact_.begin(report, {.held = &closed_, .candidates = &striking_});
  if (!impact_.solve(*impact_problem_, scales_from(scales, to_, scales.h).momenta(1), report)) return false;
  guard().begin(to_);
  from_ = to_;
  to_.v = impact_problem_->v;
  to_.last_h = 0;
  axpy(1.0, impact_.multipliers(), impulses_);
  add_part(Stage::Kind::jump, from_, to_, impact_.multipliers()).closed = impact_.flags();
  guard().close(true, motion_.solver(0).multipliers(), impact_.multipliers(), from_.v);
  if (!guard().accept(from_, to_)) {
    guard().blame(report, 3, from_, to_.q, to_.v, to_.t);
    return false;
  }
  const StepStart step{to_.q.data(), from_.v.data(), to_.t};
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const int row = s.bilateral() + static_cast<int>(i);
    const bool separates = reflected_[at(row)] != 0 || s.row_rate(row, to_.q, to_.v, to_.t, &step) > rest_;
    closed_[i] = striking_[i] != 0 && !separates ? 1 : 0;
  }
  return true;
}

// Accelerations and multipliers at the start of a motion, in which the contacts of K that press stay closed.
bool EventDriven::restart(const StepScales& scales, State& state, StepReport& report) {
  start_problem_->begin(state);
  ProblemScales accelerations = scales_from(scales, state, scales.h).accelerated_motion(1, 1);
  accelerations.row_scale = accelerations.penalty = scales.model.mass;
  accelerations.row_roundoff = accelerations.row_tolerance;
  acceleration_.begin(report, {.held = &closed_, .candidates = &closed_});
  if (!acceleration_.solve(*start_problem_, accelerations, report)) return false;
  state.acceleration = start_problem_->a;
  copy(acceleration_.multipliers(), state.lambda);
  state.history[0].values = state.acceleration;
  state.history[1].values = state.lambda;
  state.last_h = scales.h;  // a_n = v'_n fits every size
  // contacts without force that do not move apart either may still be needed
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (acceleration_.flags()[i] == 0 &&
        acceleration_.row_values()[at(system().bilateral()) + i] > accelerations.row_roundoff)
      closed_[i] = 0;
  state.active = closed_;
  state.closed = acceleration_.flags();
  // the motion to come stops what still moves apart slowly
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const int row = system().bilateral() + static_cast<int>(i);
    if (state.closed[i] != 0 &&
        std::abs(system().row_rate(row, state.q, state.v, state.t)) > resting_rate * scales.speed)
      state.closed[i] = 0;
  }
  return true;
}

EventDriven::Part& EventDriven::add_part(Stage::Kind kind, const State& from, const State& to, In multipliers) {
  if (count_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[count_++];
  part.kind = kind;
  part.t_0 = from.t;
  part.t_1 = to.t;
  part.q_0 = from.q;
  part.v_0 = from.v;
  part.q_1 = to.q;
  part.v_1 = to.v;
  part.multipliers.assign(multipliers.begin(), multipliers.end());
  return part;
}

std::span<const Stage> EventDriven::stages() {
  stages_.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    const Part& p = parts_[i];
    stages_.push_back({p.kind, p.t_0, p.t_1, p.q_0, p.v_0, p.q_1, p.v_1, p.multipliers, p.t_1 - p.t_0});
    stages_.back().located = p.kind == Stage::Kind::jump;
    stages_.back().closed = p.closed;
  }
  return stages_;
}

}  // namespace carom
