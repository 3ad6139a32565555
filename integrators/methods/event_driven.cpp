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
constexpr double lowest_rebound = 4;  // over the rounding of gaps
constexpr int cubic_parts = 16;       // of a cubic in which a fall is looked for
constexpr double least_share = 0.05;  // of a bracket by which a trial stays away from its ends
// a contact that moves apart no faster stays closed: of the speeds of the model, of what rounding of gaps lets arise
constexpr double resting_rate = 1e-10, resting_factor = 10;
constexpr double most_turn = 0.3;  // of the speed of the model, in the direction that a closed contact has at the end
constexpr double small_force = 1e-6;  // of the force scale, which may be that of other bodies
constexpr double jumping = 2;         // impulses beyond those of forces, times these
constexpr double pulling = 1e-9;      // of the force scale: a contact whose force is below minus that has opened

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

// A closed contact along whose direction at the end the velocity of the start is larger than `most`: the direction has
// turned, as at a sharp rim, where the equations of the closed contact would stop what slides over. -1: none.
int turned_row(const System& system, const std::vector<std::uint8_t>& closed, const State& from, const State& to,
               double most) {
  const StepStart step{from.q.data(), from.v.data(), from.t};
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const int row = system.bilateral() + static_cast<int>(i);  // passable: gaps are lengths
    if (closed[i] != 0 && system.row_kind(row) == RowKind::unilateral && system.row_block(row).traits().passable &&
        std::abs(system.row_rate(row, to.q, from.v, to.t, &step)) > most)
      return row;
  }
  return -1;
}

}  // namespace

MethodInfo EventDriven::method_info() {
  return {.name = "event_driven",
          .subproblems = {"smooth", "position", "velocity", "impact", "acceleration"},
          .rows = bilateral_rows | unilateral_rows | RowKind::switching,
          .judges_parts = true,
          .parts_contacts = false,
          .events_in_stages = true,
          .closing_turn = wide_closing_turn};
}

EventDriven::EventDriven(const System& system, const EventDrivenOptions& o)
    : Integrator(system, method_info(), o.scales, o.newton),
      options_(o),
      switches_(system),
      motion_(system, o.scales, o.newton, o.rho_infinity,
              {.acceleration_level = true, .smooth_rows = bilateral_rows | unilateral_rows}),
      impact_(system, o.newton, instant_setup(system, "impact", o.newton.method), o.scales, 3, nullptr),
      acceleration_(system, o.newton, instant_setup(system, "acceleration", o.newton.method), o.scales, 4, nullptr),
      solvers_(motion_.solvers().begin(), motion_.solvers().end()),
      impact_problem_(system, o.scales),
      start_problem_(system, o.scales) {
  solvers_.push_back(&impact_);
  solvers_.push_back(&acceleration_);
  for (Vector* x : {&row_, &impulses_, &reflected_}) x->assign(at(system.rows()), 0.0);
  for (auto* x : {&closed_, &pressing_, &pressed_, &striking_}) x->assign(at(system.conditional()), 0);
  floors_.assign(at(system.conditional()), 0.0);
  zone_floors_.assign(switches_.count(), 0.0);
  for (Gaps* g : {&low_, &high_, &now_})
    for (Vector* x : {&g->gap, &g->rate, &g->force}) x->assign(at(system.conditional()), 0.0);
  for (Gaps* g : {&low_, &high_, &now_})
    for (Vector* x : {&g->zone, &g->zone_rate}) x->assign(switches_.count(), 0.0);
}

bool EventDriven::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  state.closed = state.active;
  if (!motion_.initialise(measure(state, h, report), state, options_.initial_acceleration, report)) return false;
  switches_.initialise(state);
  return true;
}

StepScales EventDriven::scales_from(const StepScales& scales, const State& state, double tau) const {
  StepScales s = scales;
  s.h = tau;
  s.t = state.t + tau;
  s.start = {state.q.data(), state.v.data(), state.t};
  return s;
}

bool EventDriven::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (!switches_.begin(start, report)) return false;
  if (switches_.present()) measure_switching_rows(start.q, start.t);
  if (take_step(scales, start, end, report)) return true;
  switches_.undo(start);
  return false;
}

// Rows of the modes may differ in size and unit: no matrix is kept.
void EventDriven::measure_switching_rows(In q, double t) {
  for (MixedNewton* solver : solvers_) solver->forget_matrix();
  switches_.measure(q, t, scales().length, [&](int row, double weight) {
    for (MixedNewton* solver : solvers_) solver->measure_row(row, weight);
  });
}

bool EventDriven::take_step(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const double t_end = scales.t, smallest = options_.event_tolerance * scales.h;
  // a contact reaches this speed while its gap falls through rounding
  touching_ = 64 * StepScales::epsilon * scales.place;
  rest_ = std::max(resting_rate * scales.speed,
                   resting_factor * std::sqrt(touching_ * scales.model.force / scales.model.mass));
  from_ = start;
  to_ = start;
  closed_ = start.active;
  pressing_ = start.closed;
  set_zero(impulses_);
  count_ = 0;
  if (start.step == 0 && penetrates(report)) return false;
  int fast = 0;
  for (int events = 0;; ++events) {
    const double t = from_.t;
    const End reached = move(scales, t_end - t, report);
    if (reached == End::failed) return false;
    motion_.write(to_);
    if (lets_go(scales)) continue;
    switches_.finish(to_);
    const bool last = t_end - (t + now_.tau) <= smallest;
    to_.t = last ? t_end : t + now_.tau;
    to_.last_h = now_.tau;
    axpy(1.0, to_.impulse, impulses_);
    if (const int row = turned_row(system(), closed_, from_, to_, most_turn * scales.speed); row >= 0) {
      mark_failed(report, -1, FailureReason::missed_contact);
      report.failed_item = system().row_name(row);
      return false;
    }
    for (std::size_t i = 0; i < closed_.size(); ++i)
      if (pressing_[i] == 0 && (now_.gap[i] > touching_ || now_.rate[i] > rest_)) closed_[i] = 0;
    to_.active = closed_;
    to_.closed = pressing_;
    add_part(Stage::Kind::motion, from_, to_, motion_.solver(0).multipliers()).closed = to_.closed;
    if (!guard().accept(from_, to_)) {
      guard().blame(report, -1, from_, to_.q, to_.v, to_.t);
      return false;
    }
    // what happens at the very end of a step belongs to it
    if (reached == End::event) {
      pressed_ = pressing_;
      if (!switch_modes(scales, report) || !strike(scales, report) || !restart(scales, to_, report)) return false;
      note_releases();
    }
    from_.swap(to_);
    if (last) break;
    // impacts that follow each other faster than their times are located, and more than all contacts one by one
    fast = reached == End::event && now_.tau <= 2 * smallest ? fast + 1 : 0;
    if (events >= options_.most_events || fast >= most_fast_events + system().conditional()) {
      int row = -1;
      for (std::size_t i = 0; i < striking_.size(); ++i)
        if (striking_[i] != 0) row = system().bilateral() + static_cast<int>(i);
      report.retry = false;
      return fail_accumulation(system(), row, report);
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
  for (int row = system().bilateral(); row < system().rows(); ++row) note_gap(row, row_[at(row)], report);
  return true;
}

// An impact begins where a gap falls through zero. A contact that penetrates and approaches at the start of the run
// never does so: the start is refused.
bool EventDriven::penetrates(StepReport& report) {
  measure_gaps(from_, 0, from_.lambda, low_);
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    if (!(low_.gap[i] < -1e-9 * this->scales().length && low_.rate[i] < 0)) continue;
    mark_failed(report, -1, FailureReason::penetration_at_start);
    report.retry = false;
    report.failed_item = system().row_name(system().bilateral() + static_cast<int>(i));
    return true;
  }
  return false;
}

void EventDriven::measure_gaps(const State& state, double tau, In forces, Gaps& gaps) const {
  gaps.tau = tau;
  const StepStart step{from_.q.data(), from_.v.data(), from_.t};
  for (std::size_t i = 0; i < gaps.gap.size(); ++i) {
    const int row = system().bilateral() + static_cast<int>(i);
    const double lever = 1 / weight(row);
    gaps.gap[i] = lever * system().row_gap(row, state.q, from_.t + tau, &step);
    gaps.rate[i] = lever * system().row_rate(row, state.q, state.v, from_.t + tau, &step);
    gaps.force[i] = pressing_[i] != 0 ? forces[at(row)] / lever : 0.0;
  }
  switches_.measure_zones(state.q, state.v, from_.t + tau, scales().length, gaps.zone, gaps.zone_rate);
}

// A contact that presses would have to pull at the end of the motion. Forces of redundant contacts are not unique: the
// complementarity problem of the accelerations tells whether others can press instead.
bool EventDriven::pulls(const StepScales& scales, StepReport& report) {
  const double limit = -pulling * scales.model.force;
  const auto negative = [&](std::size_t i) { return now_.force[i] < limit; };
  bool any = false;
  for (std::size_t i = 0; i < closed_.size(); ++i) any = any || negative(i);
  if (!any) return false;
  to_.t = from_.t + now_.tau;
  to_.active = closed_;
  if (!press(acceleration_, start_problem_, scales_from(scales, to_, scales.h), to_, report)) {
    forget_failure(report);
    return true;
  }
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (negative(i) && to_.closed[i] == 0) return true;
  return false;
}

// An obstacle or a driver has lost its velocity at once: rows of contacts that press, which are equations, would have
// to pull with an impulse. Such contacts press no more, and the motion is repeated.
bool EventDriven::lets_go(const StepScales& scales) {
  bool any = false;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const int row = system().bilateral() + static_cast<int>(i);
    const double impulse = to_.impulse[at(row)] * weight(row),
                 force = std::max({small_force * scales.model.force, std::abs(now_.force[i]), std::abs(low_.force[i])});
    if (pressing_[i] == 0 || !(impulse < -jumping * (force * now_.tau + scales.model.mass * rest_))) continue;
    pressing_[i] = 0;
    any = true;
  }
  return any;
}

// An event has happened: a gap that may penetrate has done so, beyond rounding, a contact of K without force
// approaches, or a contact that presses has opened.
bool EventDriven::beyond(const StepScales& scales, StepReport& report) {
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (closed_[i] == 0 ? now_.gap[i] < floors_[i] : pressing_[i] == 0 && now_.rate[i] < -rest_) return true;
  for (std::size_t i = 0; i < zone_floors_.size(); ++i)
    if (now_.zone[i] < zone_floors_[i]) return true;
  return pulls(scales, report);
}

// The earliest fall of an open gap, or of a force, between two times, in units of their difference; infinity: none.
double EventDriven::first_event(const Gaps& low, const Gaps& high) const {
  const double size = high.tau - low.tau;
  double first = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (closed_[i] == 0) {
      const double floor = floors_[i];
      first = std::min(first, fall(low.gap[i] - floor, size * low.rate[i], high.gap[i] - floor, size * high.rate[i]));
    } else if (low.force[i] > 0 && high.force[i] < 0) {
      first = std::min(first, low.force[i] / (low.force[i] - high.force[i]));
    }
  for (std::size_t i = 0; i < zone_floors_.size(); ++i) {
    const double floor = zone_floors_[i];
    first = std::min(
        first, fall(low.zone[i] - floor, size * low.zone_rate[i], high.zone[i] - floor, size * high.zone_rate[i]));
  }
  return first;
}

// The motion from from_ to the first event, but no longer than `longest`; now_.tau is what it takes.
EventDriven::End EventDriven::move(const StepScales& scales, double longest, StepReport& report) {
  const double smallest = options_.event_tolerance * scales.h;
  measure_gaps(from_, 0, from_.lambda, low_);
  for (std::size_t i = 0; i < floors_.size(); ++i) floors_[i] = std::min(0.0, low_.gap[i]) - touching_;
  for (std::size_t i = 0; i < zone_floors_.size(); ++i) zone_floors_[i] = std::min(0.0, low_.zone[i]);
  bool bracketed = false, dipped = false;
  double tau = longest;
  int slow = 0;
  for (int trial = 0; trial < most_trials; ++trial) {
    if (!motion_.solve(scales_from(scales, from_, tau), from_, guard(), report, {&closed_, &pressing_}))
      return End::failed;
    to_.q = motion_.q();
    to_.v = motion_.v();
    measure_gaps(to_, tau, motion_.solver(0).multipliers(), now_);
    const double before = bracketed ? high_.tau - low_.tau : longest;
    if (beyond(scales, report)) {
      high_ = now_;
      bracketed = true;
      if (high_.tau - low_.tau <= smallest) return End::event;
    } else if (!bracketed) {
      // nothing has happened by the end; a gap may have fallen and risen again
      const double dip = dipped ? HUGE_VAL : first_event(low_, now_);
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
    const double share = slow > 1 ? 0.5 : first_event(low_, high_);
    // a trial a little beyond the estimate brackets the event from the other side
    const double margin = std::min(least_share, 0.5 * smallest / size);
    tau = low_.tau +
          size * (share <= 1 ? std::clamp(share + (trial % 2 == 0 ? margin : -margin), margin, 1 - margin) : 0.5);
  }
  mark_failed(report, -1, FailureReason::no_convergence);
  return End::failed;
}

// The jump of the velocity at the end of a motion that has met the surface of its mode, and the mode behind.
bool EventDriven::switch_modes(const StepScales& scales, StepReport& report) {
  rested_.assign(closed_.size(), 0);
  bool leaves = false;
  for (std::size_t i = 0; i < zone_floors_.size(); ++i) leaves = leaves || now_.zone[i] < zone_floors_[i];
  if (!leaves) return true;
  const StepScales part = scales_from(scales, from_, now_.tau);
  if (!switches_.find(part, to_.q, to_.v, report)) return false;
  if (!switches_.any()) return true;  // z is zero but for rounding
  switches_.locate(to_.t);
  set_zero(reflected_);
  for (std::size_t i = 0; i < closed_.size(); ++i)
    rested_[i] = closed_[i] != 0 && std::abs(now_.rate[i]) <= rest_ ? 1 : 0;
  // one after the other; another order must have the same result
  const Vector v_0 = to_.v;
  Vector other;
  const int n = switches_.crossings();
  if (n > 1) {
    for (int k = 0; k < n; ++k) {
      if (!cross(scales, part, k, true, report)) return false;
      to_.v = impact_problem_.velocity();
    }
    other = to_.v;
    to_.v = v_0;
  }
  const auto kinetic = [&](const Vector& v) { return system().energies(to_.q, v, to_.t).kinetic; };
  const std::size_t first = count_;
  for (int k = 0; k < n; ++k) {
    if (!cross(scales, part, k, false, report)) return false;
    for (std::size_t i = 0; i < pressing_.size(); ++i)
      if (const int row = system().bilateral() + static_cast<int>(i);
          std::abs(system().row_rate(row, to_.q, impact_problem_.velocity(), to_.t)) > rest_ * weight(row))
        pressing_[i] = 0;
    const double before = kinetic(to_.v);
    if (!take_jump(report)) return false;
    switches_.set_energy(k, kinetic(to_.v) - before);
    // beside what the new rows give along their gradients
    Part& last = parts_[count_ - 1];
    last.switches = true;
    last.force.assign(at(system().size()), 0.0);
    system().add_reactions(to_.q, to_.t, last.multipliers, bilateral_rows, last.force, nullptr);
    switches_.for_switched_rows([&](int row) { last.multipliers[at(row)] = 0; }, true);
  }
  if (!other.empty()) {
    axpy(-1.0, to_.v, other);
    if (kinetic(other) > ConstraintSwitches::same_motion * kinetic(to_.v)) return switches_.refuse_order(report);
  }
  if (!switches_.holds(part, to_.q, report)) return false;
  switches_.finish(to_);
  for (std::size_t i = first; i < count_; ++i) {
    Vector& force = parts_[i].force;
    scale_into(-1.0, force, force);
    system().add_reactions(to_.q, to_.t, parts_[i].multipliers, bilateral_rows, force, nullptr);
    scale_into(-1.0, force, force);
  }
  switches_.note_events();
  if (!switches_.resume(to_, report)) return false;
  measure_switching_rows(to_.q, to_.t);
  // strike() judges the contacts by the velocity behind the switch
  const double tau = now_.tau;
  measure_gaps(to_, 0, motion_.solver(0).multipliers(), now_);
  now_.tau = tau;
  // contacts that the switch has opened
  for (std::size_t i = 0; i < closed_.size(); ++i)
    if (now_.rate[i] > rest_) closed_[i] = 0;
  return true;
}

// A switch with those contacts of K in the metric that press in it: the velocity of impact_problem_ from that of to_.
bool EventDriven::cross(const StepScales& scales, const StepScales& part, int k, bool backwards, StepReport& report) {
  striking_ = closed_;
  const auto jump = [&](const ConstraintSwitches::Flags&, In impulses) {
    measure_switching_rows(to_.q, to_.t);
    return solve_jump(scales, nullptr, report, impulses) ? In(impact_problem_.velocity()) : In();
  };
  return switches_.cross({k, backwards, to_.q, to_.v, to_.t, options_.intermediate_gradient, rest_, weights()}, part,
                         striking_, jump, report);
}

// Whether a rebound does not leave the rounding of the gap: bounces then go on as rounding makes them, in steps that
// have too few of them to be counted.
bool EventDriven::rebound_is_rounding(std::size_t contact, double rebound) const {
  const int row = system().bilateral() + static_cast<int>(contact);
  const StepStart step{from_.q.data(), from_.v.data(), from_.t};
  const double before = system().row_rate(row, from_.q, from_.v, from_.t, &step) / weight(row),
               fall = before - now_.rate[contact];
  return now_.tau > 0 && fall > 0 && rebound * rebound * now_.tau < 2 * fall * lowest_rebound * touching_;
}

// The impact at the end of a motion of all contacts that touch and approach; then K is what stays closed.
bool EventDriven::strike(const StepScales& scales, StepReport& report) {
  const System& s = system();
  bool impact = false;
  for (std::size_t i = 0; i < striking_.size(); ++i) {
    const int row = s.bilateral() + static_cast<int>(i);
    const double rate = now_.rate[i], late = 2 * options_.event_tolerance * scales.h * std::abs(rate);
    const double e = s.contact_parameters(row).restitution;
    // only contacts that have not parted from K may be slow by rounding: others would accumulate unseen
    const double slow = closed_[i] != 0 ? std::max(options_.rest_speed, rest_) : options_.rest_speed;
    const bool strikes = pressing_[i] == 0 && now_.gap[i] <= touching_ + late && rate < 0;
    const bool bounces = e > 0 && -rate > slow && rested_[i] == 0;
    striking_[i] = strikes || closed_[i] != 0 ? 1 : 0;
    impact = impact || strikes;
    if (strikes && bounces && rebound_is_rounding(i, -e * rate)) {
      report.retry = false;
      return fail_accumulation(s, row, report);
    }
    reflected_[at(row)] = strikes && bounces ? e * rate * weight(row) : 0.0;
  }
  if (!impact) return true;

  if (!jump(scales, nullptr, report)) return false;
  const StepStart step{to_.q.data(), from_.v.data(), to_.t};
  bool moves = false;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    const int row = s.bilateral() + static_cast<int>(i);
    const double rate = s.row_rate(row, to_.q, to_.v, to_.t, &step) / weight(row);
    closed_[i] = striking_[i] != 0 && reflected_[at(row)] == 0 && rate <= rest_ ? 1 : 0;
    moves = moves || (closed_[i] != 0 && std::abs(rate) > resting_rate * scales.speed);
  }
  set_zero(reflected_);
  return !moves || jump(scales, &closed_, report);  // what stays closed moves apart no longer
}

// One jump of the velocity, by the laws of the striking contacts or with `fixed` ones as equations.
bool EventDriven::jump(const StepScales& scales, const std::vector<std::uint8_t>* fixed, StepReport& report) {
  return solve_jump(scales, fixed, report) && take_jump(report);
}

bool EventDriven::solve_jump(const StepScales& scales, const std::vector<std::uint8_t>* fixed, StepReport& report,
                             In impulses) {
  impact_problem_.begin(to_, reflected_);
  impact_.begin(
      report,
      {.multipliers = impulses, .held = &closed_, .candidates = fixed != nullptr ? fixed : &striking_, .fixed = fixed});
  return impact_.solve(impact_problem_, scales_from(scales, to_, scales.h).momenta(1), report);
}

// The velocity that solve_jump() has found.
bool EventDriven::take_jump(StepReport& report) {
  guard().begin(to_);
  from_ = to_;
  to_.v = impact_problem_.velocity();
  to_.last_h = 0;
  const double law = switches_.any() ? system().energies(to_.q, to_.v, to_.t).kinetic -
                                           system().energies(from_.q, from_.v, from_.t).kinetic
                                     : 0;
  axpy(1.0, impact_.multipliers(), impulses_);
  Part& part = add_part(Stage::Kind::jump, from_, to_, impact_.multipliers());
  part.closed = impact_.flags();
  // contacts that the impact does not reach
  for (std::size_t i = 0; i < pressing_.size(); ++i)
    if (pressing_[i] != 0) part.closed[i] = 1;
  guard().close(true, motion_.solver(0).multipliers(), impact_.multipliers(), from_.v, law);
  if (guard().accept(from_, to_)) return true;
  guard().blame(report, 3, from_, to_.q, to_.v, to_.t);
  return false;
}

// Accelerations and multipliers at the start of a motion, and which contacts of K press.
bool EventDriven::restart(const StepScales& scales, State& state, StepReport& report) {
  state.active = closed_;
  if (!press(acceleration_, start_problem_, scales_from(scales, state, scales.h), state, report)) return false;
  closed_ = state.active;
  pressing_ = state.closed;
  state.history[0].values = state.acceleration;
  state.history[1].values = state.lambda;
  state.last_h = scales.h;  // a_n = v'_n fits every size
  return true;
}

// Contacts that press no longer after an event have opened at its time.
void EventDriven::note_releases() {
  Part& part = parts_[count_ - 1];
  part.located = true;
  for (std::size_t i = 0; i < pressed_.size(); ++i) {
    const bool struck = part.kind == Stage::Kind::jump && part.multipliers[at(system().bilateral()) + i] != 0;
    if (pressed_[i] != 0 && pressing_[i] == 0 && !struck) part.closed[i] = 0;
  }
}

EventDriven::Part& EventDriven::add_part(Stage::Kind kind, const State& from, const State& to, In multipliers) {
  if (count_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[count_++];
  part.kind = kind;
  part.located = kind == Stage::Kind::jump;
  part.switches = false;
  part.force.clear();
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
    stages_.back().located = p.located;
    stages_.back().closed = p.closed;
    stages_.back().switches = p.switches;
    if (p.force.empty()) continue;
    stages_.back().force = p.force;
    stages_.back().duration = 1;
  }
  return stages_;
}

}  // namespace carom
