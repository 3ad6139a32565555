#include "integrators/common/integrator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "contact/law/cone_problem.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_rank.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/monolithic_newton.hpp"

namespace carom {

namespace {

// Sub-problems of a large model are timed in every step, those of a small one in every 16th: reading the clock would
// cost as much as the step.
constexpr int large_model = 2000, timed_step = 16;
constexpr int checked_step = 16;  // of explicit methods in large models: steps between two checks for inverted elements
// largest change of a bearing's load by a dependent combination of rows, over the largest load
constexpr double unclear_share = 1e-6;
constexpr long clear_steps = 64;        // nominal steps between two tests of unclear friction
constexpr double half_turn = 3;         // nearly
constexpr double time_rounding = 1e-9;  // of a step
constexpr double lost_share = 1;        // of the length scale, by which a joint held at velocity level is off

// Where the bodies would be after the time h if they kept their velocities.
Vector places_ahead(const System& system, const State& state, double h) {
  Vector d(state.v.size()), q(state.q.size());
  scale_into(h, state.v, d);
  system.retract(state.q, d, q);
  return q;
}

FailureReason reason_of(const FormulaFault& fault) {
  return fault.mass ? FailureReason::indefinite_mass : FailureReason::undefined_formula;
}

// The motion of a linear system is the solution of a linear equation, unless the step is explicit.
bool needs_guard(const System& system, const MethodInfo& info) {
  return info.dynamic && (info.explicit_step || info.guards_linear || !system.linear());
}

bool same_sizes(const State& a, const State& b) {
  return a.q.size() == b.q.size() && a.v.size() == b.v.size() && a.lambda.size() == b.lambda.size() &&
         a.active.size() == b.active.size() && a.history.size() == b.history.size();
}

}  // namespace

Integrator::Integrator(const System& system, MethodInfo info, const Scales& scales, const NewtonOptions& newton)
    : system_(&system),
      info_(std::move(info)),
      scales_(scales),
      newton_(newton),
      row_weights_(row_weights(system, scales.length)),
      roundoff_(system.roundoff_force(1.0)),
      guard_(system, scales, needs_guard(system, info_), newton_.constraint_tolerance),
      way_(system) {
  if (!info_.rows.covers(system.row_kinds()))
    throw std::invalid_argument(info_.name +
                                ": the system has constraint rows of a kind that this method does not take");
  if (!info_.rows.has(RowKind::switching) && ConstraintSwitches(system).present())
    throw std::invalid_argument(info_.name + ": the system has switching constraints, which this method does not take");
}

const StepReport& Integrator::step(State& state, double h, bool shortest) {
  reset(report_, info_.subproblems);
  report_.shortest = shortest;
  report_.t = state.t;
  report_.h = h;
  const auto all = solvers();
  interrupted_ = false;
  guard_kept_ = false;
  if (stop_ != nullptr) {
    before_ = {};
    save(before_);
  }
  bool accepted = guarded(state, h);
  if (!accepted && stop_ != nullptr && *stop_ != 0) {
    interrupted_ = true;
    return report_;
  }
  // a sub-problem that solved nothing in this step met no redundant rows
  for (std::size_t i = 0; i < all.size(); ++i)
    if (report_.subproblems[i].iterations > 0 && all[i]->redundant()) report_.redundant = true;
  if (accepted && friction_has_become_unclear()) accepted = false;
  if (!accepted && guard_kept_) guard_ = *kept_guard_;
  if (accepted && !info_.judges_parts && !guard_.accept(state, other_)) {
    guard_.blame(report_, -1, state, other_.q, other_.v, other_.t);
    if (!all.empty()) all.front()->clear_residual();
    accepted = false;
  }
  if (accepted) {
    count_events(state, other_);
    if (report_.impacts > 0 && !guard_.on() && info_.dynamic && !info_.explicit_step)
      guard_.note_impacts(state, other_);
    measure_slip(state, other_);
    report_.growth = guard_.growth();
    state.swap(other_);
  }
  return report_;
}

bool Integrator::guarded(State& state, double h) {
  if (!same_sizes(state, other_)) other_ = state;
  const StepScales scales = measure(state, h, report_);
  if (!std::isfinite(scales.speed) || !std::isfinite(scales.place)) return refuse(FailureReason::state_not_finite);
  if (std::string formula = system_->undefined_formula(state.t, state.t + h); !formula.empty())
    return refuse(FailureReason::undefined_formula, std::move(formula));
  // the next step may begin at a time that rounds otherwise
  if (std::string formula = system_->jumping_formula(state.t, state.t + (1 + time_rounding) * h); !formula.empty())
    return refuse(FailureReason::jumping_formula, std::move(formula));
  if (!info_.dynamic)
    if (std::string formula = system_->turning_formula(state.t, state.t + h); !formula.empty())
      return refuse(FailureReason::large_rotation, std::move(formula));
  report_.timed = system_->size() > large_model || steps_++ % timed_step == 0;

  guard_.begin(state);
  if (info_.judges_parts) {
    kept_guard_ = guard_;
    guard_kept_ = true;
  }
  if (!advance(scales, state, other_, report_)) {
    blame_formula(state, h);
    blame_friction();
    // where a spring or a condition loses its angle, forces and modes jump, and the iteration may not come that far
    if (report_.reason == FailureReason::unexplained_energy || report_.reason == FailureReason::no_convergence)
      if (std::string angle = system_->lost_angle(state.q, places_ahead(*system_, state, 2 * h)); !angle.empty())
        return refuse(FailureReason::lost_angle, std::move(angle));
    return false;
  }
  other_.t = state.t + h;
  other_.last_h = h;
  other_.step = state.step;
  if (FormulaFault fault = system_->formula_fault(state.q, state.v, state.t, other_.q, other_.v, other_.t);
      !fault.where.empty())
    return refuse(reason_of(fault), std::move(fault.where));
  if (std::string angle = system_->lost_angle(state.q, other_.q); !angle.empty())
    return refuse(FailureReason::lost_angle, std::move(angle));
  // in an explicit step of a large model the check of all elements is costly: only in some steps
  const bool look = !info_.explicit_step || system_->size() <= large_model || state.step % checked_step == 0;
  if (look && !(all_finite(other_.q) && all_finite(other_.v))) return refuse(FailureReason::state_not_finite);
  if (std::string element = look ? system_->inverted_element(other_.q, other_.t, info_.forces_at_end) : std::string();
      !element.empty())
    return refuse(FailureReason::inverted_element, std::move(element));
  if (std::string item = way_.missed_contact(state, other_, info_.dynamic ? closing_turn() : 0.0); !item.empty())
    return refuse(FailureReason::missed_contact, std::move(item));
  if (std::string item = slip_without_angle(state, other_); !item.empty())
    return refuse(FailureReason::large_rotation, std::move(item));
  if (std::string item = lost_joint(other_); !item.empty()) return refuse(FailureReason::lost_joint, std::move(item));
  return true;
}

// The joint that is off by far, beyond what it was at the start of the run: a nonsmooth method that holds constraints
// at velocity level meets a rate in each step, also where no place of the bodies is allowed.
std::string Integrator::lost_joint(const State& after) const {
  const double most = lost_share * scales_.length;
  // the residual contains that of closed contacts
  if (info_.exact_positions || !info_.rows.has(RowKind::unilateral) || !(report_.position_residual > most)) return {};
  Vector gap(at(system_->rows())), first(gap), driven(gap);
  const In q_0 = system_->initial_configuration();
  system_->gaps(after.q, after.t, bilateral_rows, gap);
  system_->gaps(q_0, after.t, bilateral_rows, first);
  system_->rates(q_0, Vector(after.v.size(), 0.0), after.t, bilateral_rows, driven);
  int worst = -1;
  double largest = most;
  for (int row = 0; row < system_->bilateral(); ++row) {
    if (driven[at(row)] != 0) continue;  // its start is not that of this time
    const double off = (std::abs(gap[at(row)]) - std::abs(first[at(row)])) / row_weights_[at(row)];
    if (!(off > largest)) continue;
    largest = off;
    worst = row;
  }
  return worst < 0 ? std::string() : system_->row_name(worst);
}

// The slip displacement of a step takes rotations on the shorter way.
std::string Integrator::slip_without_angle(const State& before, const State& after) const {
  if (!info_.dynamic || info_.explicit_step || !system_->row_kinds().has(RowKind::tangential)) return {};
  const double h = after.t - before.t;
  const auto turns = [&](In v) { return h * system_->largest_angular_velocity(v) > half_turn; };
  if (!turns(before.v) && !turns(after.v)) return {};
  const auto row_turns = [&](int row, const State& s) {
    return h * system_->largest_angular_velocity(row, s.v) > half_turn;
  };
  bool closed = false;
  for (int row = system_->bilateral(); row < system_->rows(); ++row) {
    const RowKind kind = system_->row_kind(row);
    const std::size_t i = at(row - system_->bilateral());
    if (kind == RowKind::unilateral) closed = before.closed[i] != 0 || after.closed[i] != 0;
    if (kind == RowKind::tangential && closed && (row_turns(row, before) || row_turns(row, after)))
      return system_->row_name(row);
  }
  return {};
}

// Where numbers became infinite, a formula of coordinates may be the cause: one without a value where the iteration
// ended, or where the bodies would be if they kept their velocities.
void Integrator::blame_formula(const State& state, double h) {
  if (!system_->has_formulas() || report_.reason != FailureReason::not_finite) return;
  const auto finite = [](const Vector& x) { return std::isfinite(norm(x)); };
  FormulaFault fault;
  if (finite(other_.q) && finite(other_.v))
    fault = system_->formula_fault(state.q, state.v, state.t, other_.q, other_.v, state.t + h);
  if (fault.where.empty())
    fault = system_->formula_fault(state.q, state.v, state.t, places_ahead(*system_, state, h), state.v, state.t + h);
  if (fault.where.empty()) return;
  report_.reason = reason_of(fault);
  report_.failed_item = std::move(fault.where);
}

// The contact around which the law has no solution, with its coefficient of friction.
void Integrator::blame_friction() {
  if (report_.reason != FailureReason::no_friction_solution || report_.worst_row < 0) return;
  report_.failed_item = system_->row_name(report_.worst_row);
  if (system_->row_kind(report_.worst_row) == RowKind::joint_friction) return;
  const double friction = system_->contact_parameters(report_.worst_row).friction;
  if (friction == 0) return;
  char coefficient[32];
  std::snprintf(coefficient, sizeof coefficient, "%g", friction);
  report_.failed_item += std::string(" (friction coefficient ") + coefficient + ")";
}

bool Integrator::refuse(FailureReason reason, std::string item) {
  mark_failed(report_, -1, reason);
  report_.failed_item = std::move(item);
  if (!solvers().empty()) solvers().front()->clear_residual();
  return false;
}

const TangentOperators* Integrator::tangent_operators(In d) {
  if (!system_->uses_tangent_operators()) return nullptr;
  system_->tangent_operators(d, T_);
  return &T_;
}

StepScales Integrator::measure(const State& state, double h, StepReport& report) const {
  StepScales s;
  s.model = scales_;
  s.t = state.t + h;
  s.h = h;
  s.start = {state.q.data(), state.v.data(), state.t};
  report.speed = system_->speed(state.v, scales_.length);
  report.rotation = h * system_->largest_angular_velocity(state.v);
  const double place = system_->largest_position(state.q);
  // values that are not finite are kept: std::max would drop NaN
  s.speed = std::isfinite(report.speed) ? std::max(scales_.speed, report.speed) : report.speed;
  s.place = std::isfinite(place) ? std::max(scales_.length, place) : place;
  s.roundoff = roundoff_ * s.place;
  s.root_size = std::sqrt(static_cast<double>(std::max(1, system_->size())));
  s.constraint_tolerance = newton_.constraint_tolerance;
  return s;
}

In Integrator::equation_residual() {
  if (!solvers().empty()) return solvers()[failed_solver()]->residual();
  no_residual_.resize(std::max(no_residual_.size(), at(system_->size())), 0.0);
  return In(no_residual_).first(at(system_->size()));
}

In Integrator::row_residual() {
  if (!solvers().empty()) return solvers()[failed_solver()]->row_residual();
  no_residual_.resize(std::max(no_residual_.size(), at(system_->rows())), 0.0);
  return In(no_residual_).first(at(system_->rows()));
}

void Integrator::count_events(const State& before, const State& after) {
  // tangential rows tell how a contact slips, not whether it is closed
  const auto is_friction = [&](std::size_t i) {
    return friction_rows.has(system_->row_kind(system_->bilateral() + static_cast<int>(i)));
  };
  const bool friction = system_->row_kinds().meets(friction_rows);
  for (std::size_t i = 0; i < after.closed.size(); ++i) {
    if (friction && is_friction(i)) continue;
    const bool was = before.closed[i] != 0, is = after.closed[i] != 0;
    report_.closed += is ? 1 : 0;
    if (!info_.dynamic || info_.events_in_stages) continue;
    report_.impacts += is && !was ? 1 : 0;
    report_.releases += was && !is ? 1 : 0;
  }
  if (!info_.events_in_stages) return;
  // a contact may close and open several times in a step
  std::span<const std::uint8_t> then = before.closed;
  for (const Stage& stage : stages()) {
    for (std::size_t i = 0; i < stage.closed.size(); ++i) {
      if (friction && is_friction(i)) continue;
      report_.impacts += stage.closed[i] != 0 && then[i] == 0 ? 1 : 0;
      report_.releases += then[i] != 0 && stage.closed[i] == 0 ? 1 : 0;
    }
    if (!stage.closed.empty()) then = stage.closed;
  }
}

// If position and velocity level agree on which contacts slip, the slip displacement and the integral of the slip
// velocity differ only by the error of the method. Explicit methods have velocities of other instants.
void Integrator::measure_slip(const State& before, const State& after) {
  if (!info_.dynamic || info_.explicit_step || !system_->row_kinds().meets(friction_rows)) return;
  const StepStart start{before.q.data(), before.v.data(), before.t};
  const int n_b = system_->bilateral();
  bool stays_closed = false;
  int measured = -1;  // first row of the item whose values these are
  double gap[most_contact_rows], rate_0[most_contact_rows], rate_1[most_contact_rows];
  for (int row = n_b; row < system_->rows(); ++row) {
    const RowKind kind = system_->row_kind(row);
    if (kind == RowKind::unilateral)
      stays_closed = before.closed[at(row - n_b)] != 0 && after.closed[at(row - n_b)] != 0;
    if (kind != RowKind::joint_friction && (kind != RowKind::tangential || !stays_closed)) continue;
    const int in_item = system_->row_place(row).row;
    if (row - in_item != measured) {
      measured = row - in_item;
      system_->item_values(row, before.q, before.v, before.t, {.rate = rate_0}, nullptr);
      system_->item_values(row, after.q, after.v, after.t, {.gap = gap, .rate = rate_1}, &start);
    }
    const double lever = kind == RowKind::joint_friction ? 1 / row_weights_[at(row)] : 1;
    const double displacement = lever * gap[in_item];
    const double way = 0.5 * lever * (after.t - before.t) * (rate_0[in_item] + rate_1[in_item]);
    const bool joint = kind == RowKind::joint_friction;
    const auto sticks = [&](const State& state) {
      return state.closed[at(measured - n_b)] == static_cast<std::uint8_t>(SlipState::stick);
    };
    SlipSum& slip = joint ? report_.joint_slip : report_.contact_slip;
    const double larger = std::max(std::abs(displacement), std::abs(way));
    slip.way += larger;
    slip.mismatch += joint && sticks(before) && sticks(after) ? larger : std::abs(displacement - way);
  }
}

void Integrator::report_gaps(const MixedNewton& position, StepReport& report) const {
  report.position_residual = position.largest_row();
  const bool friction = system_->row_kinds().meets(friction_rows);
  for (int row = system_->bilateral(); row < system_->rows(); ++row)
    if (!friction || !friction_rows.has(system_->row_kind(row))) note_gap(row, position.row_values()[at(row)], report);
}

void Integrator::note_gap(int row, double gap, StepReport& report) const {
  report.smallest_gap = std::min(report.smallest_gap, gap / row_weights_[at(row)]);
}

void Integrator::clear(State& state, double h) {
  guard_.forget();
  state.acceleration.assign(at(system_->size()), 0.0);
  for (Vector* x : {&state.lambda, &state.nu, &state.impulse}) x->assign(at(system_->rows()), 0.0);
  state.active.assign(at(system_->conditional()), 0);
  state.closed.assign(at(system_->conditional()), 0);
  state.history.clear();
  state.last_h = h;
}

// A combination w of bilateral rows without any force, w^T G = 0, that changes the load of a bearing.
std::vector<Integrator::Objection> Integrator::unclear_friction(const State& start) const {
  std::vector<Objection> objections;
  const int n = system_->size(), n_b = system_->bilateral();
  std::vector<int> joints;
  for (int row = n_b; row < system_->rows(); ++row)
    if (system_->row_kind(row) == RowKind::joint_friction && system_->row_place(row).row == 0) joints.push_back(row);
  if (joints.empty() || n_b == 0) return objections;
  // behind the columns of G the loads of the bearings, for rows of unit length
  constexpr std::size_t parts = std::tuple_size_v<BearingLoad>;
  std::vector<SparseRow> rows(at(n_b));
  Vector unit(at(n_b), 0.0), largest(joints.size(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    system_->row_gradient(static_cast<int>(i), start.q, start.t, nullptr, rows[i]);
    const double length = norm(rows[i].value);
    unit[i] = 1;
    for (std::size_t j = 0; j < joints.size() && length > 0; ++j) {
      const BearingLoad load = system_->bearing_load(joints[j], start.q, unit);
      for (std::size_t k = 0; k < parts; ++k) {
        if (load[k] == 0) continue;
        largest[j] = std::max(largest[j], std::abs(load[k]) / length);
        rows[i].equation.push_back(n + static_cast<int>(j * parts + k));
        rows[i].value.push_back(load[k]);
      }
    }
    unit[i] = 0;
  }
  if (max_abs(largest) == 0) return objections;
  std::vector<char> unclear(joints.size(), 0);
  for (const SparseRow& left : row_rank(rows, n).left)
    for (std::size_t k = 0; k < left.equation.size(); ++k) {
      const std::size_t j = at(left.equation[k] - n) / parts;
      if (std::abs(left.value[k]) > unclear_share * largest[j]) unclear[j] = 1;
    }
  for (std::size_t j = 0; j < joints.size(); ++j)
    if (unclear[j] != 0)
      objections.push_back(
          {"", -1,
           "expected a joint with unique reactions: rows of the model are redundant, so that the force "
           "which friction would follow is not known; friction without \"coefficient\" needs no force",
           joints[j]});
  return objections;
}

// The linear solvers report redundant rows, and each change of this report triggers the test. Redundancy that is always
// reported, or hidden by rounding, is found by a test every `clear_steps` steps.
bool Integrator::friction_has_become_unclear() {
  if (!system_->row_kinds().has(RowKind::joint_friction)) return false;
  if (report_.redundant == redundant_ && other_.step % clear_steps != clear_steps - 1) return false;
  const std::vector<Objection> objections = unclear_friction(other_);
  if (!objections.empty()) {
    refuse(FailureReason::unclear_friction, system_->row_name(objections.front().row));
    return true;
  }
  redundant_ = report_.redundant;
  return false;
}

void Integrator::mark_touching(State& state) const {
  if (system_->conditional() == 0) return;
  const double gap = 1e-9 * scales_.length, rate = 1e-9 * scales_.speed;
  for (std::size_t i = 0; i < state.active.size(); ++i) {
    const int row = system_->bilateral() + static_cast<int>(i);
    if (system_->row_kind(row) == RowKind::joint_friction) {
      // always closed; the rows of a joint share their state
      const int first = row - system_->row_place(row).row, rows = system_->row_block(row).rows();
      bool slips = false;
      for (int k = first; k < first + rows; ++k)
        slips = slips || std::abs(system_->row_rate(k, state.q, state.v, state.t)) > 0;
      state.active[i] = state.closed[i] = static_cast<std::uint8_t>(slips ? SlipState::slip : SlipState::stick);
    }
    if (system_->row_kind(row) != RowKind::unilateral) continue;
    const double weight = row_weights_[at(row)];
    state.active[i] = std::abs(system_->row_gap(row, state.q, state.t)) <= gap * weight &&
                              std::abs(system_->row_rate(row, state.q, state.v, state.t)) <= rate * weight
                          ? 1
                          : 0;
  }
}

std::vector<std::pair<std::string, std::string>> Integrator::linear_methods() {
  std::vector<std::pair<std::string, std::string>> methods;
  const auto all = solvers();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::string method = all[i]->saddle().method_name(); !method.empty())
      methods.emplace_back(info_.subproblems[i], std::move(method));
  if (MonolithicNewton* const all_in_one = monolithic_solver())
    methods.emplace_back("monolithic", all_in_one->saddle().method_name());
  return methods;
}

LinearCounters Integrator::linear_counters() {
  LinearCounters sum;
  for (const MixedNewton* solver : solvers()) sum += solver->counters();
  if (const MonolithicNewton* const all_in_one = monolithic_solver()) sum += all_in_one->counters();
  return sum;
}

void Integrator::stop_on(const volatile std::sig_atomic_t* flag) {
  stop_ = flag;
  for (MixedNewton* solver : solvers()) solver->stop_on(flag);
}

void Integrator::save(NamedArrays& record) {
  if (interrupted_) {
    for (const NamedArrays::Entry& e : before_.entries) record.set(e.name, e.values);
    return;
  }
  record.set_number("steps", static_cast<double>(steps_));
  record.set_number("redundant", redundant_ ? 1 : 0);
  guard_.save(record);
  for (const MixedNewton* solver : solvers()) solver->save(record);
  if (const MonolithicNewton* const all_in_one = monolithic_solver()) all_in_one->save(record);
}

void Integrator::restore(const NamedArrays& record) {
  steps_ = static_cast<long>(record.number("steps"));
  redundant_ = record.number("redundant") != 0;
  guard_.restore(record);
  for (MixedNewton* solver : solvers()) solver->restore(record);
  if (MonolithicNewton* const all_in_one = monolithic_solver()) all_in_one->restore(record);
}

bool consistent_acceleration(const System& system, SaddlePoint& saddle, double mass_scale, bool joints, In q, In v,
                             double t, Vector& acceleration, Vector& multipliers, StepReport& report, double c_C,
                             double c_K) {
  const std::size_t n = at(system.size());
  Linearisation request;
  request.c_M = 1;
  request.c_C = c_C;
  request.c_K = c_K;
  request.q_M = request.q = q.data();
  request.v = v.data();
  request.t = t;
  request.row_scale = mass_scale;
  request.rows_apart = !joints;
  if (!saddle.factorise(request)) {
    mark_failed(report, -1, FailureReason::singular_matrix);
    name_suspicious(report, saddle.suspicious_row(), system.size());
    return false;
  }
  saddle.forget();
  Vector f(n), r(n), bias(at(system.rows()));
  system.forces(q, v, t, force_all, f);
  scale_into(-1.0, f, r);
  if (joints) system.biases(q, v, t, bilateral_rows, bias);
  saddle.set_active({}, q, t, nullptr);
  const In c_b = In(bias).first(multipliers.size());
  if (!saddle.iterative() || c_K != 0) {
    if (saddle.solve(r, c_b, {}, acceleration, multipliers, {}, {1e-9, 0})) return true;
    mark_failed(report, -1, FailureReason::not_finite);
    return false;
  }
  // conjugate gradients are refined until rounding is left
  Vector correction(n), change(multipliers.size()), forces(n), rows(multipliers.size());
  set_zero(acceleration);
  set_zero(multipliers);
  copy(c_b, rows);
  const double floor = 1e-15 * std::sqrt(static_cast<double>(n)) * max_abs(r);
  for (int k = 0; k < 10 && (norm(r) > floor || max_abs(rows) > 0); ++k) {
    if (!saddle.solve(r, rows, {}, correction, change, {}, {1e-8, 0.1 * floor})) {
      mark_failed(report, -1, FailureReason::not_finite);
      return false;
    }
    axpy(1.0, correction, acceleration);
    axpy(1.0, change, multipliers);
    set_zero(rows);
    system.mass_times(q, acceleration, forces);
    combine(1.0, forces, -1.0, f, r);
    if (multipliers.empty()) continue;
    set_zero(forces);
    system.add_reactions(q, t, multipliers, bilateral_rows, forces);
    axpy(-1.0, forces, r);
  }
  return true;
}

bool contacts_linear(const System& system) {
  return std::all_of(system.constraints().begin(), system.constraints().end(), [](const auto& block) {
    return block->traits().kind == RowKind::bilateral || block->traits().linear;
  });
}

}  // namespace carom
