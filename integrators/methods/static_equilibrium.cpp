#include "integrators/methods/static_equilibrium.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

// places in State::history with arc-length control: the last increment; load factor, length of the path per time,
// change of the factor per time in the last increment, and whether that was prescribed
constexpr std::size_t path_increment = 0, path_numbers = 1;
// and under load control: the largest displacement over the increment of time in the last increment; negative: none yet
constexpr std::size_t last_rate = 0;

constexpr int mixed_iterations = 20;                   // of an attempt with mixed tangents
constexpr double smallest_shift_of_stiffness = 1e-12;  // sigma times mass over the stiffness
constexpr double unloaded_places = 1e-13;              // of the length: rounding of places
constexpr double place_rounding = 1e-6;                // of the length: places that are alike
constexpr double largest_rise = 1e-3;                  // of the energies that an increment changes
constexpr double largest_plain_rise = 0.1;             // the same without pseudo-transient continuation
// Length of an increment of a path over that to be made along the direction of the path at the start. Where a contact
// closes or opens, the path has a kink, which no smaller increment removes.
constexpr double longest_smooth = 1.25, longest_kink = 2, longest_last_kink = 100;
// Of an increment under load control that may have jumped: displacement over the length, or rotation (rad), and growth
// of its rate from the increment before.
constexpr double snapping_way = 0.03, snapping_turn = 0.15, snapping_growth = 5;
constexpr double blocked = 1e-12;                 // of the first displacement under the loads: rounding
constexpr double smallest_shift_of_loads = 1e-4;  // sigma times mass and length over the loads

NewtonOptions newton_options(const StaticOptions& options) {
  return {.method = NewtonMethod::full,
          .max_iterations = options.max_iterations,
          .tolerance = options.tolerance,
          .constraint_tolerance = options.constraint_tolerance};
}

MixedSetup setup_of(const System& system, bool follows_path) {
  const bool flat = contacts_linear(system), symmetric = system.symmetric() && flat;
  MixedSetup setup{.name = "equilibrium",
                   .rows = all_rows,
                   .matrix = {symmetric, symmetric && system.bilateral() == 0},
                   .constant_matrix = system.linear() && flat,
                   .augmented_tangent = false,
                   .transient = !follows_path,
                   .floor_when_settled = true,
                   .follows_path = follows_path};
  if (setup.constant_matrix) return setup;
  setup.step_length = StepLength::monotone;
  setup.largest_move = setup.largest_turn = 1;
  return setup;
}

bool has_mixed_tangent(const System& system) {
  return std::any_of(system.elements().begin(), system.elements().end(),
                     [](const auto& block) { return block->traits().mixed_tangent; });
}

double stiffness_of(const System& system, const Scales& scales) {
  const double force = system.roundoff_force(scales.length);
  return (force > 0 ? force : std::max(scales.force, std::numeric_limits<double>::min())) / scales.length;
}

}  // namespace

MethodInfo StaticEquilibrium::method_info() {
  return {.name = "static",
          .subproblems = {"equilibrium"},
          .dynamic = false,
          .rows = bilateral_rows | law_rows,
          .accelerations = false};
}

std::vector<Integrator::Objection> StaticEquilibrium::objections(const State& start, double) {
  if (options_.control == PathControl::load || newton_.friction() == nullptr) return unclear_friction(start);
  return {{"/integrator/control", -1,
           "expected \"load\", because the model has friction, which follows no path of given length"}};
}

StaticEquilibrium::StaticEquilibrium(const System& system, const StaticOptions& options)
    : Integrator(system, method_info(), options.scales, newton_options(options)),
      options_(options),
      stiffness_(stiffness_of(system, options.scales)),
      mixed_tangent_(has_mixed_tangent(system)),
      meter_(system),
      newton_(system, newton_options(options), setup_of(system, options.control == PathControl::arc_length),
              options.scales, 0, nullptr) {
  for (Vector* x : {&rest_, &d_, &d_mixed_, &f_, &loads_, &reaction_}) x->assign(at(system.size()), 0.0);
  for (Vector* x : {&q_, &q_base_, &q_mixed_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  if (options.control == PathControl::load) return;
  for (Vector* x : {&path_direction_, &path_load_, &path_}) x->assign(at(system.size()), 0.0);
  path_weights_.assign(at(system.size()), 1.0);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int i = 0; i < 3; ++i) path_weights_[at(f.equation + i)] = options.scales.length * options.scales.length;
}

bool StaticEquilibrium::initialise(State& state, double h, StepReport&) {
  state.v.assign(at(system().size()), 0.0);
  clear(state, h);
  if (newton_.friction() != nullptr) mark_touching(state);
  state.history = {{"displacement_rate", {-1.0}}};
  if (options_.control == PathControl::arc_length)
    state.history = {{"path", Vector(at(system().size()), 0.0)}, {"load_factor", {0, 0, 0, 0}}};
  return true;
}

double StaticEquilibrium::load_factor(const State& state) const {
  if (options_.control == PathControl::arc_length) return state.history[path_numbers].values[0];
  const double ramp = options_.ramp_duration;
  return std::clamp(ramp > 0 ? (state.t - options_.ramp_start) / ramp : 1, 0.0, 1.0);
}

bool StaticEquilibrium::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (options_.control == PathControl::load) {
    end.t = scales.t;
    return solve(start, scales.t, load_factor(end), end, report) && !snaps(start, end, scales.h, report);
  }
  path_before_ = start.history[path_increment].values;
  const Vector& before = start.history[path_numbers].values;
  path_rate_ = before[1];
  path_wanted_ = path_rate_ * scales.h;
  increment_ = scales.h;
  const bool turned = before[3] != 0;
  factor_sense_ = turned ? before[2] : 0;
  factor_wanted_.reset();
  const bool followed = follow_path(scales, start, end, report),
             found = followed || turn_at_contact(scales, start, end, report);
  if (!found) return false;
  end.history[path_increment].values = path_;
  end.history[path_numbers].values = {factor_, path_rate_, (factor_ - before[0]) / scales.h, followed ? 0.0 : 1.0};
  return true;
}

bool StaticEquilibrium::snaps(const State& start, State& end, double increment, StepReport& report) const {
  double way = 0;
  for (const DofMap::Translation& c : system().dofs().translations())
    way = std::max(way, std::abs(end.q[at(c.entry)] - start.q[at(c.entry)]));
  double least = 1;  // cosine of half the angle of a rotation
  for (const DofMap::Frame& f : system().dofs().rotating_frames()) {
    double cosine = 0;
    for (int c = 0; c < 4; ++c) cosine += start.q[at(f.entry + c)] * end.q[at(f.entry + c)];
    least = std::min(least, std::abs(cosine));
  }
  way = std::max(way, snapping_way / snapping_turn * scales().length * 2 * std::acos(least));
  const double before = start.history[last_rate].values[0], rate = way / increment;
  end.history[last_rate].values[0] = rate;
  // In the first increment of a run bodies may hang, unfold or come to rest on obstacles. But where friction is to hold
  // them and does not, they are not where the model says. An equilibrium as a start may be far from the given places.
  const double step = options_.step;
  if (before < 0 && (step == 0 || newton_.friction() == nullptr || !newton_.transient())) return false;
  // what jumps is as far away in a part of an increment
  const double part = step > 0 ? std::sqrt(std::min(1.0, increment / step)) : 1;
  if (way < part * snapping_way * scales().length || rate < snapping_growth * before) return false;
  report.snapped = report.shortest;
  if (!report.snapped) mark_failed(report, -1, FailureReason::path_lost);
  return !report.snapped;
}

double StaticEquilibrium::path_length() const {
  double square = 0;
  for (std::size_t i = 0; i < path_.size(); ++i) square += path_[i] * path_weights_[i] * path_[i];
  return std::sqrt(square);
}

bool StaticEquilibrium::follow_path(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (!solve(start, scales.t, start.history[path_numbers].values[0], end, report)) return false;
  const double longest = end.active == start.active ? longest_smooth
                         : report.shortest          ? longest_last_kink
                                                    : longest_kink;
  if (path_length() <= longest * std::abs(path_wanted_)) return true;
  mark_failed(report, -1, FailureReason::path_lost);
  return false;
}

// The smallest increment, in which a contact closes or opens: the factor goes on as before or, where a contact closes,
// turns. (Where a contact opens the turn would lead back.)
bool StaticEquilibrium::turn_at_contact(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const Vector& before = start.history[path_numbers].values;
  if (!report.shortest || before[2] == 0 || report.reason == FailureReason::interrupted) return false;
  const auto closes = [&] {
    for (std::size_t i = 0; i < end.active.size(); ++i)
      if (end.active[i] != 0 && start.active[i] == 0) return true;
    return false;
  };
  for (const double sense : {1.0, -1.0}) {
    StepReport attempt = report;
    forget_failure(attempt);
    factor_wanted_ = before[0] + sense * before[2] * scales.h;
    if (!solve(start, scales.t, before[0], end, attempt)) continue;
    const bool changes = sense > 0 ? end.active != start.active : closes();
    if (!changes || path_length() > longest_last_kink * std::abs(path_wanted_)) continue;
    report = attempt;
    return true;
  }
  return false;
}

bool StaticEquilibrium::solve(const State& start, double t, double factor, State& end, StepReport& report) {
  t_ = t;
  step_ = {start.q.data(), start.v.data(), start.t};
  const ProblemScales scales = problem_scales(start);
  if (!mixed_tangent_ || !attempt(true, factor, scales, start, report)) {
    forget_failure(report);
    if (!attempt(false, factor, scales, start, report)) return false;
  }
  if (options_.control == PathControl::load && rises(start, factor)) {
    mark_failed(report, -1, FailureReason::unexplained_energy);
    return false;
  }
  report_gaps(newton_, report);
  end.q = q_;
  copy(newton_.multipliers(), end.lambda);
  end.active = end.closed = newton_.flags();
  return true;
}

// Newton's method may lead past the equilibrium at hand to another, the more so where a body that nothing but contacts
// holds gets it from a motion in a pseudo-time; but no equilibrium takes more energy than its loads give and friction
// leaves. Drivers and a start that does not fit its rows give energy of which nothing is known here; what moments and
// loads that follow the body give is known roughly.
bool StaticEquilibrium::rises(const State& start, double factor) {
  const System& s = system();
  if (meter_.driven()) return false;
  const Energies before = s.energies(start.q, rest_, t_), after = s.energies(q_, rest_, t_);
  const auto work_of = [&](unsigned parts) { return meter_.work_of_loads(start.q, rest_, t_, q_, rest_, t_, parts); };
  // the factor is that of weights and loads, not of other potentials
  const LoadWork external = work_of(force_external);
  const double weight = work_of(force_gravity).work, loads = external.work, slip = slip_work(start),
               stored = after.elastic - before.elastic + (after.potential - before.potential + weight),
               size = before.elastic + after.elastic + factor * (std::abs(weight) + std::abs(loads)) + slip;
  // places are known to the tolerance of the rows
  s.forces(q_, rest_, t_, force_external | force_gravity, loads_);
  // where nothing is loaded, energies are rounding
  const double rounding = unloaded_places * scales().length,
               floor = factor * (place_rounding * scales().length * force_norm(loads_) + external.doubt) +
                       s.roundoff_force(rounding) * rounding * s.size();
  const double share = newton_.transient() ? largest_rise : largest_plain_rise;
  return stored + slip - factor * (weight + loads) > share * size + floor &&
         !meter_.misfits(start.q, start.t, scales().length);
}

// What friction takes at least in an increment: its limit with the smaller of both normal forces times the slip. Where
// a contact touches without force, force and slip may grow in proportion, and a half of the limit at the end is taken:
// here a quarter counts.
double StaticEquilibrium::slip_work(const State& start) const {
  const System& s = system();
  double work = 0;
  for (int row = s.bilateral(); row + 1 < s.rows(); ++row) {
    if (s.row_kind(row) != RowKind::unilateral || s.row_kind(row + 1) != RowKind::tangential) continue;
    const double force_0 = start.lambda[at(row)], force_1 = newton_.multipliers()[at(row)];
    const bool touched = s.row_gap(row, start.q, start.t, &step_) <= place_rounding * scales().length;
    const double normal = force_0 > 0 ? std::min(force_0, force_1) : touched ? 0.25 * force_1 : 0;
    if (!(normal > 0)) continue;
    double square = 0;
    for (int k = row + 1; k < std::min(row + 3, s.rows()) && s.row_kind(k) == RowKind::tangential; ++k) {
      const double slip = s.row_gap(k, q_, t_, &step_);
      square += slip * slip;
    }
    work += s.contact_parameters(row + 1).friction * normal * std::sqrt(square);
  }
  return work;
}

bool StaticEquilibrium::attempt(bool mixed, double factor, const ProblemScales& scales, const State& start,
                                StepReport& report) {
  q_ = start.q;
  factor_ = factor;
  path_begun_ = false;
  path_made_ = 0;
  set_zero(path_);
  share_ = 0;
  mixed_ = mixed;
  mixed_known_ = false;
  newton_.begin(report, {.multipliers = start.lambda,
                         .held = &start.active,
                         .max_iterations = mixed ? mixed_iterations : 0,
                         .full_steps = mixed || newton_.setup().follows_path || newton_.friction() != nullptr});
  return newton_.solve(equilibrium_, scales, report);
}

ProblemScales StaticEquilibrium::problem_scales(const State& start) const {
  StepReport unused;
  const StepScales step = measure(start, 1, unused);
  ProblemScales s = step.positions(0);
  s.t = t_;
  s.h = 1;  // the matrix knows no step
  s.floor = 1e-14 * step.root_size * system().roundoff_force(step.place);
  s.unit = 1;
  s.row_scale = stiffness_;
  s.penalty = 1e-3 * stiffness_;
  return s;
}

double StaticEquilibrium::Equilibrium::residual(In s, Out r) {
  m.system().forces(m.q_, m.rest_, m.t_, force_internal | force_damping | force_gyroscopic, m.f_);
  m.system().forces(m.q_, m.rest_, m.t_, force_external | force_gravity, m.loads_);
  set_zero(m.reaction_);
  m.system().add_reactions(m.q_, m.t_, s, all_rows, m.reaction_, &m.step_);
  combine(-1.0, m.f_, -m.factor_, m.loads_, r);
  axpy(-1.0, m.reaction_, r);
  const double L = m.scales().length;
  return size(m.system(), m.f_, L) + size(m.system(), m.loads_, L, std::abs(m.factor_)) +
         size(m.system(), m.reaction_, L);
}

RowPoint StaticEquilibrium::Equilibrium::row_point() {
  if (m.share_ > 0) {
    std::swap(m.q_mixed_, m.q_base_);
    std::swap(m.d_mixed_, m.d_);
    m.mixed_known_ = true;
  }
  m.q_base_ = m.q_;
  m.share_ = 0;
  return {m.q_base_, nullptr, nullptr, true};
}

void StaticEquilibrium::Equilibrium::friction_limits(In s, std::span<const int> joints, Out limits) {
  for (std::size_t j = 0; j < joints.size(); ++j) limits[j] = m.system().friction_limit(joints[j], m.q_, s, 1, m.t_);
}

void StaticEquilibrium::Equilibrium::linearise(In, Linearisation& S) {
  S.c_K = S.c_s = 1;
  S.q_M = S.q = m.q_.data();
  S.v = m.rest_.data();
  S.loads = m.factor_;
  if (!m.mixed_ || !m.mixed_known_) return;
  S.mixed_q = m.q_mixed_.data();
  S.mixed_d = m.d_mixed_.data();
}

bool StaticEquilibrium::Equilibrium::move(double share, In dq) {
  m.share_ += share;
  if (!m.path_.empty()) {
    m.factor_ += share * m.factor_change_;
    m.path_made_ += share * dot(m.path_direction_, dq);
    axpy(share, dq, m.path_);
  }
  scale_into(m.share_, dq, m.d_);
  m.system().retract(m.q_base_, m.d_, m.q_);
  return true;
}

In StaticEquilibrium::Equilibrium::path_load() {
  scale_into(-1.0, m.loads_, m.path_load_);
  return m.path_load_;
}

// The first correction goes along the path, in the sense of the increment before; all others stay in the plane across
// that direction which lies the wanted length ahead.
double StaticEquilibrium::Equilibrium::path_change(In dq_r, In dq_load) {
  if (m.factor_wanted_) return m.factor_change_ = *m.factor_wanted_ - m.factor_;
  if (!m.path_begun_) {
    double square = 0, sense = 0;
    for (std::size_t i = 0; i < dq_load.size(); ++i) {
      m.path_direction_[i] = m.path_weights_[i] * dq_load[i];
      square += m.path_direction_[i] * dq_load[i];
      sense += m.path_direction_[i] * m.path_before_[i];
    }
    if (m.factor_sense_ != 0) sense = m.factor_sense_;
    const double length = std::sqrt(square);
    scale_into(std::copysign(1.0, sense) / length, m.path_direction_, m.path_direction_);
    if (m.path_rate_ == 0) {
      m.path_rate_ = length / m.options_.ramp_duration;
      m.path_wanted_ = m.path_rate_ * m.increment_;
    }
    m.path_begun_ = true;
  }
  // a contact that carries the loads whole leaves rounding
  const double along = dot(m.path_direction_, dq_load);
  if (std::abs(along) < blocked * m.path_rate_ * m.options_.ramp_duration) return std::nan("");
  m.factor_change_ = (m.path_wanted_ - m.path_made_ - dot(m.path_direction_, dq_r)) / along;
  return m.factor_change_;
}

double StaticEquilibrium::Equilibrium::smallest_shift() const {
  return std::max(smallest_shift_of_stiffness * m.stiffness_,
                  smallest_shift_of_loads * m.force_norm(m.loads_) / m.scales().length) /
         m.scales().mass;
}

std::span<const Stage> StaticEquilibrium::stages() {
  const State& n = start();
  stage_ = {Stage::Kind::motion, n.t, t_, n.q, rest_, q_, rest_, newton_.multipliers(), t_ - n.t};
  stage_.closed = newton_.flags();
  return {&stage_, 1};
}

EquilibriumReport find_equilibrium(System& system, const StaticOptions& options, State& state) {
  StaticEquilibrium statics(system, options);
  EquilibriumReport report;
  State trial;
  trial.t = state.t;
  trial.q = state.q;
  statics.initialise(trial, 1.0, report.last);
  State next = trial;
  constexpr int finest = 1 << 10;
  for (int done = 0, size = finest; done < finest;) {
    StepReport step;
    reset(step, statics.info().subproblems);
    step.shortest = size == 1;
    const double factor = static_cast<double>(done + size) / finest;
    system.find_candidates(trial.q, trial.v, state.t, 0);
    bool found = statics.solve(trial, state.t, factor, next, step);
    report.iterations += step.subproblems[0].iterations;
    if (found) found = !statics.snaps(trial, next, size, step);
    if (found) {
      step.failed_item = system.inverted_element(next.q, state.t, statics.info().forces_at_end);
      found = step.failed_item.empty();
      if (!found) mark_failed(step, -1, FailureReason::inverted_element);
    }
    if (found) found = !misses_contact(system, trial.q, state.t, next.q, state.t, step, 0);
    if (found) {
      step.failed_item = system.lost_angle(trial.q, next.q);
      found = step.failed_item.empty();
      if (!found) mark_failed(step, -1, FailureReason::lost_angle);
    }
    if (!found) {
      if (size == 1) {
        report.last = step;
        return report;
      }
      size /= 2;
      continue;
    }
    std::swap(trial, next);
    ++report.increments;
    report.factor = factor;
    done += size;
    while (size < finest && done % (2 * size) == 0 && done + 2 * size <= finest) size *= 2;
  }
  report.converged = true;
  state.q = trial.q;
  return report;
}

}  // namespace carom
