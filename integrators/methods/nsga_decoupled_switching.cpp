// NsgaDecoupled where constraints switch: the position correction and the velocity jump in parts (nsga_decoupled.hpp).

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/methods/nsga_decoupled_problems.hpp"

namespace carom {

// Rows of the modes may differ in size and unit.
void NsgaDecoupled::measure_switching_rows(In q, double t) {
  switches_.measure(q, t, scales().length, [&](int row, double weight) {
    for (MixedNewton* solver : {&smooth_.solver(), &position_, &velocity_}) solver->measure_row(row, weight);
  });
}

void NsgaDecoupled::forget_matrices() {
  for (MixedNewton* solver : {&smooth_.solver(), &position_, &velocity_}) solver->forget_matrix();
}

// The position problem has been solved in the modes at t_n: again, in the modes behind the surfaces that it crosses.
bool NsgaDecoupled::switch_position(const StepScales& scales, const State& start, StepReport& report) {
  In v = smooth_.v();
  if (!options_.smooth_switching_rows && switches_.leave(q_, t_)) {
    // the smooth velocity is not that of the modes
    copy(smooth_.v(), v_);
    set_zero(reflected_);
    const ConstraintSwitches::Flags none(at(system().conditional()), 0);
    if (!solve_jump(scales, {.held = &start.active, .candidates = &none}, true, report)) return false;
    v = v_;
  }
  if (!switches_.find(scales, q_, v, report)) return false;
  if (!switches_.any()) return true;
  const ConstraintSwitches::Flags resting = resting_contacts(scales, start);
  if (!find_pressing(scales, start, resting, report)) return false;
  // for the position: those that press in all switches
  ConstraintSwitches::Flags held = held_[0];
  for (int k = 1; k < switches_.crossings(); ++k)
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = std::min(held[i], held_[at(k)][i]);
  const bool on_surface = switches_.on_surface(scales, q_);
  if (!switches_.set(scales, smooth_.q(), v, t_, options_.intermediate_gradient, held, report)) return false;
  measure_switching_rows(smooth_.q(), t_);
  forget_matrices();  // they contain the rows of the old modes
  candidates_ = &held;
  const bool corrected = correct_position(scales, start, report);
  candidates_ = nullptr;
  if (!corrected || !strike_position(scales, start, v, report)) return false;
  if (switches_.holds(scales, q_, report)) return true;
  if (!on_surface) return false;
  // the step ends on the surface but for rounding: the next one switches
  forget_failure(report);
  switches_.stay();
  measure_switching_rows(start.q, start.t);
  forget_matrices();
  return correct_position(scales, start, report);
}

// Contacts that the switch has led beyond their obstacles: from there along the rows of the new modes, as the velocity.
bool NsgaDecoupled::strike_position(const StepScales& scales, const State& start, In v, StepReport& report) {
  const int n_b = system().bilateral();
  bool any = false;
  for (int row = n_b; row < system().rows() && !any; ++row)
    any = system().row_kind(row) == RowKind::unilateral &&
          system().row_gap(row, q_, t_, &step_) < -scales.positions(1).row_tolerance * weight(row);
  if (!any) return true;
  if (!switches_.set(scales, smooth_.q(), v, t_, 1, {}, report)) return false;
  measure_switching_rows(smooth_.q(), t_);
  forget_matrices();
  const Vector U = U_->x;
  Vector pressing(at(system().rows()), 0.0);
  copy(position_.multipliers().subspan(at(n_b)), Out(pressing).subspan(at(n_b)));
  nu_before_.assign(position_.multipliers().begin(), position_.multipliers().begin() + n_b);
  correction_known_ = false;
  U_->begin(&U);
  U_->spend(smooth_.q(), pressing);
  U_->forces = false;
  position_.begin(report, {.multipliers = pressing, .held = &start.active, .moved = true});
  const bool solved = position_.solve(*U_, scales.positions(options_.penalty), report);
  U_->forces = true;
  U_->given = nullptr;
  U_->spent.clear();
  if (!solved) return false;
  report_gaps(position_, report);
  return true;
}

// The contacts that are rows of the metric of the switches of this step: those that press in them where the old modes
// lead the position.
bool NsgaDecoupled::find_pressing(const StepScales& scales, const State& start,
                                  const ConstraintSwitches::Flags& resting, StepReport& report) {
  const int n = switches_.crossings();
  held_.assign(at(n > 1 ? 2 * n : n), resting);
  if (std::ranges::find(resting, 1) == resting.end()) return true;
  const bool found = approach(scales, start, resting, report) && cross_all(scales, report);
  jumps_.clear();
  return found;
}

// Contacts that were closed at t_n and touch at q, with their tangential rows.
ConstraintSwitches::Flags NsgaDecoupled::resting_contacts(const StepScales& scales, const State& start) const {
  const int n_b = system().bilateral();
  ConstraintSwitches::Flags resting(at(system().conditional()), 0);
  for (std::size_t i = 0; i < resting.size(); ++i) {
    const int row = n_b + static_cast<int>(i);
    if (system().row_kind(row) == RowKind::unilateral)
      resting[i] = rested(scales, start, row) &&
                   system().row_gap(row, q_, t_, &step_) <= 4 * scales.positions(1).row_tolerance * weight(row);
    else if (system().row_kind(row) == RowKind::tangential)
      resting[i] = resting[at(system().normal_row(row) - n_b)];
  }
  return resting;
}

// From the smooth velocity to one that the old modes allow at q, with those contacts closed.
bool NsgaDecoupled::approach(const StepScales& scales, const State& start, const ConstraintSwitches::Flags& resting,
                             StepReport& report) {
  set_zero(reflected_);
  copy(smooth_.v(), v_);
  switches_.set_old();
  if (!solve_jump(scales, {.held = &start.active, .candidates = &resting, .first = &resting}, true, report))
    return false;
  note_jump(true, false, smooth_.v(), W_->has_force());
  return true;
}

// One after the other; another order must have the same result.
bool NsgaDecoupled::cross_all(const StepScales& scales, StepReport& report) {
  Vector other;
  if (switches_.crossings() > 1) {
    const Vector before = v_;
    const std::size_t jumps = jumps_.size();
    if (!cross(scales, true, report)) return false;
    other = v_;
    v_ = before;
    jumps_.resize(jumps);
  }
  if (!cross(scales, false, report)) return false;
  if (other.empty()) return true;
  axpy(-1.0, v_, other);
  return kinetic(other) <= ConstraintSwitches::same_motion * kinetic(v_) || switches_.refuse_order(report);
}

// From the smooth velocity to that behind all switches and impacts of the step.
bool NsgaDecoupled::switch_velocity(const StepScales& scales, const State& start, State& end, StepReport& report) {
  set_zero(end.impulse);
  const ConstraintSwitches::Flags resting = resting_contacts(scales, start);
  for (ConstraintSwitches::Flags& held : held_)
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = std::min(held[i], resting[i]);
  if (!approach(scales, start, resting, report) || !cross_all(scales, report) || !strike(scales, start, report))
    return false;
  report.velocity_residual = velocity_.largest_row();
  end.closed.assign(at(system().conditional()), 0);
  for (const Jump& jump : jumps_) {
    axpy(1.0, jump.multipliers, end.impulse);
    for (std::size_t i = 0; i < end.closed.size(); ++i)
      if (jump.closed[i] != 0) end.closed[i] = jump.closed[i];
  }
  closed_ = end.closed;
  return true;
}

// One part of the velocity jump, from v_; contacts of the candidates have their law with reflected_.
bool NsgaDecoupled::solve_jump(const StepScales& scales, const MixedNewton::Start& contacts, bool forces,
                               StepReport& report) {
  measure_switching_rows(q_, t_);
  velocity_.forget_matrix();
  correction_known_ = false;
  W_->forces = forces;
  W_->begin(nullptr);
  velocity_.begin(report, contacts);
  const bool solved = velocity_.solve(*W_, scales.momenta(options_.penalty), report);
  W_->forces = true;
  return solved;
}

// All switches, each with those contacts in the metric that press in it.
bool NsgaDecoupled::cross(const StepScales& scales, bool backwards, StepReport& report) {
  const double rest = 4 * scales.momenta(1).row_tolerance;
  const int n = switches_.crossings(), n_b = system().bilateral();
  for (int k = 0; k < n; ++k) {
    const Vector before = v_;
    ConstraintSwitches::Flags& held = held_[at(backwards ? n + k : k)];
    ConstraintSwitches::Flags sliding(held.size(), 0);
    const auto jump = [&](const ConstraintSwitches::Flags& closed, In impulses) {
      for (std::size_t i = 0; i < sliding.size(); ++i)
        if (system().row_kind(n_b + static_cast<int>(i)) == RowKind::tangential)
          sliding[at(system().normal_row(n_b + static_cast<int>(i)) - n_b)] = closed[i] == 0 ? 1 : 0;
      v_ = before;
      W_->frictionless = true;
      const bool solved = solve_jump(
          scales, {.multipliers = impulses, .held = &closed, .candidates = &closed, .frictionless = &sliding}, false,
          report);
      W_->frictionless = false;
      return solved ? In(v_) : In();
    };
    if (!switches_.cross({k, backwards, q_, before, t_, options_.intermediate_gradient, rest, weights()}, scales, held,
                         jump, report))
      return false;
    note_jump(false, true, before, false);
    if (!backwards) switches_.set_energy(k, kinetic(v_) - kinetic(before));
    bool slides = system().row_kinds().has(RowKind::joint_friction);
    for (std::size_t i = 0; i < held.size(); ++i)
      slides = slides || (held[i] != 0 && sliding[i] != 0 && jumps_.back().multipliers[at(n_b) + i] > 0);
    if (slides && !rub(scales, k, backwards, held, report)) return false;
  }
  return true;
}

// The friction of joints, and of contacts that slide, with the impulses with which they have pressed in the switch, in
// its new mode.
bool NsgaDecoupled::rub(const StepScales& scales, int k, bool backwards, const ConstraintSwitches::Flags& held,
                        StepReport& report) {
  const Vector before = v_;
  Vector impulses = jumps_.back().multipliers;
  const Vector loads(impulses.begin(), impulses.begin() + system().bilateral());
  set_zero(Out(impulses).first(loads.size()));
  switches_.settle(k, backwards);
  W_->begin(nullptr);
  W_->spend(q_, impulses);
  W_->loads = loads;
  const bool solved =
      solve_jump(scales, {.multipliers = impulses, .held = &held, .candidates = &held}, false, report) &&
      switches_.crosses(q_, v_, t_, report);
  W_->spent.clear();
  if (!solved) return false;
  note_jump(false, false, before, false);
  axpy(-1.0, impulses, jumps_.back().multipliers);
  return true;
}

// A contact that was closed at t_n. Without a force that presses, rounding opens and closes contacts that stay closed.
bool NsgaDecoupled::rested(const StepScales& scales, const State& start, int row) const {
  if (start.active[at(row - system().bilateral())] != 0) return true;
  return system().row_kind(row) == RowKind::unilateral &&
         system().row_gap(row, start.q, start.t) <= 4 * scales.positions(1).row_tolerance * weight(row) &&
         std::abs(system().row_rate(row, start.q, start.v, start.t)) <=
             4 * scales.momenta(1).row_tolerance * weight(row);
}

// The impacts of contacts that touch and approach behind the switches.
bool NsgaDecoupled::strike(const StepScales& scales, const State& start, StepReport& report) {
  const int n_b = system().bilateral();
  const double rest = 4 * scales.momenta(1).row_tolerance;
  bool any = false;
  set_zero(reflected_);
  for (std::size_t i = 0; i < position_.flags().size(); ++i) {
    const int row = n_b + static_cast<int>(i);
    if (position_.flags()[i] == 0) continue;
    const double rate = system().row_rate(row, q_, v_, t_, &step_), e = system().contact_parameters(row).restitution;
    const bool normal = system().row_kind(row) == RowKind::unilateral;
    any = any || (normal && rate < -rest * weight(row));
    // contacts that were closed do not bounce
    if (!rested(scales, start, system().normal_row(row)))
      reflected_[at(row)] = e * (normal ? std::min(0.0, rate) : rate);
  }
  if (!any) return true;
  const Vector before = v_;
  switches_.set_new();
  const bool solved = solve_jump(
      scales, {.held = &start.active, .candidates = &position_.flags(), .first = &position_.flags()}, false, report);
  if (solved) note_jump(false, false, before, false);
  return solved;
}

// Records the jump of solve_jump(). Rows of old modes do not exist at the end of the step: their multipliers become
// zero and their impulse stays in `impulse`.
void NsgaDecoupled::note_jump(bool before_switch, bool switches, const Vector& v_before, bool forces) {
  Jump& jump = jumps_.emplace_back();
  jump.before_switch = before_switch;
  jump.switches = switches;
  jump.v_0 = v_before;
  jump.v_1 = v_;
  jump.closed = velocity_.flags();
  jump.multipliers.assign(velocity_.multipliers().begin(), velocity_.multipliers().end());
  jump.impulse.assign(at(system().size()), 0.0);
  system().add_reactions(q_, t_, jump.multipliers, bilateral_rows, jump.impulse, &step_);
  if (forces) axpy(h_, force_correction(v_, !system().constant_mass()), jump.impulse);
  switches_.for_switched_rows([&](int row) { jump.multipliers[at(row)] = 0; }, true);
}

// The motion behind a switch begins from the equations of motion in the new modes.
bool NsgaDecoupled::begin_anew(State& end, StepReport& report) {
  const std::size_t n_b = at(system().bilateral());
  Vector lambda(n_b);
  if (!consistent_acceleration(system(), velocity_.saddle(), scales().mass, true, q_, v_, t_, end.acceleration, lambda,
                               report))
    return false;
  end.history[0].values = end.acceleration;
  copy(lambda, Out(end.lambda).first(n_b));
  return true;
}

double NsgaDecoupled::kinetic(In v) {
  system().mass_times(q_, v, Mx_);
  return 0.5 * dot(v, Mx_);
}

void NsgaDecoupled::add_switches() {
  for (std::size_t k = 0; k < jumps_.size(); ++k) {
    const Jump& jump = jumps_[k];
    Stage& stage = stages_.emplace_back();
    stage = {Stage::Kind::jump, t_, t_, q_, jump.v_0, q_, jump.v_1, jump.multipliers, 1};
    stage.force = jump.impulse;
    stage.switches = jump.switches;
    stage.before_switch = jump.before_switch;
    // a contact that strikes in the next part is open here
    if (k + 1 < jumps_.size() && !jumps_[k + 1].switches) stage.closed = jump.closed;
  }
}

}  // namespace carom
