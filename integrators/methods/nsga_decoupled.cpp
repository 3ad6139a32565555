#include "integrators/methods/nsga_decoupled.hpp"

#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

MethodInfo NsgaDecoupled::method_info(bool force_corrections, bool located_impacts) {
  MethodInfo info{.name = force_corrections ? "nsga_decoupled" : "nsga_decoupled (DSn)",
                  .subproblems = {"smooth", "position", "velocity"},
                  .rows = bilateral_rows | RowKind::switching | law_rows,
                  .forces_at_end = force_corrections};
  if (located_impacts) {
    info.name += " (located impacts)";
    info.subproblems.push_back("impact");
    info.events_in_stages = true;
  }
  return info;
}

namespace {

bool locates(const System& system, ImpactInstant impact) {
  if (system.row_kinds().has(RowKind::joint_friction)) return false;
  return impact != ImpactInstant::published && LocatedImpacts::applies(system, impact == ImpactInstant::located);
}

}  // namespace

struct NsgaDecoupled::Correction : MixedProblem {
  Correction(NsgaDecoupled& method, const MeanDirections& directions)
      : m(method), system(method.system()), mean(directions), x(at(system.size()), 0.0), reaction(x) {}

  // Begins with x = 0, or with what impacts in the step have given.
  void begin(const Vector* value) {
    given = value;
    moved = given != nullptr;
    if (moved)
      copy(*given, x);
    else
      set_zero(x);
  }

  // M (x - given) - F^T s, and the norms of both terms; M x is not evaluated while x is zero
  double momentum(In q_M, In s, Out r) {
    set_zero(reaction);
    if (m.mean_directions_) {
      // s = s_ + part_start: the parts at the end and at the start of the step
      part_start.assign(s.size(), 0.0);
      copy(s, m.s_);
      take_mean(m.s_, &part_start);
      system.add_reactions(m.q_, m.t_, m.s_, all_rows, reaction, &m.step_);
      system.add_reactions({m.step_.q, m.q_.size()}, m.step_.t, part_start, contact_rows, reaction, &m.step_);
    } else {
      system.add_reactions(m.q_, m.t_, s, all_rows, reaction, &m.step_);
    }
    scale_into(-1.0, reaction, r);
    double terms = m.force_norm(reaction);
    if (!spent.empty()) {
      axpy(1.0, spent, r);
      terms += m.force_norm(spent);
    }
    if (!moved) return terms;
    if (given != nullptr) combine(1.0, x, -1.0, *given, m.x_);
    system.mass_times(q_M, given != nullptr ? m.x_ : x, m.Mx_);
    axpy(1.0, m.Mx_, r);
    return terms + m.force_norm(m.Mx_);
  }
  // Where x begins with what is given, reactions among s have acted already.
  void spend(In q_M, In s) {
    Vector r(x.size());
    momentum(q_M, s, r);
    scale_into(-1.0, r, r);
    spent = std::move(r);
  }

  // The share of the multipliers whose directions are those of the end of the step; `rest`: what is left.
  void take_mean(Vector& s, Vector* rest = nullptr) const {
    if (!m.mean_directions_) return;
    for (int row = system.bilateral(); row < system.rows(); ++row) {
      if (!mean.of(row - system.bilateral()) || s[at(row)] == 0) continue;
      if (rest != nullptr) {
        const MeanDirections::Pair turn = mean.turn(system, row, m.q_, m.t_);
        (*rest)[at(row)] += (1 - mean.share) * turn.c * s[at(row)];
        if (turn.s != 0) (*rest)[at(turn.partner)] += (1 - mean.share) * turn.s * s[at(row)];
      }
      s[at(row)] *= mean.share;
    }
  }
  // The radii of joints under the integral over the step, with weights of the smooth reactions at its ends, and s.
  void limits(In s, std::span<const int> joints, double start, double end, double duration, double t, Out limits) {
    const std::size_t n_b = at(system.bilateral());
    copy(s.first(n_b), Out(m.s_).first(n_b));
    axpy(start, m.lambda_n_, Out(m.s_).first(n_b));
    axpy(end, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
    for (std::size_t j = 0; j < joints.size(); ++j)
      limits[j] = system.friction_limit(joints[j], m.q_, m.s_, duration, t);
  }
  const MeanDirections* directions() const { return m.mean_directions_ ? &mean : nullptr; }

  NsgaDecoupled& m;
  const System& system;
  const MeanDirections& mean;
  Vector x, reaction, part_start;
  const Vector* given = nullptr;  // of impacts in the step; null: zero
  bool moved = false;             // x is not zero
  bool forces = true;             // f_p, or f_*, acts
  Vector spent;                   // F^T s of these; empty: none
};

struct NsgaDecoupled::Position final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    system.gaps(m.q_, m.t_, all_rows, c, &m.step_);
    if (!m.anchors_.empty()) axpy(-1.0, m.anchors_, c);
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.smooth_.q(), s, r);
    if (!moved || !forces || !m.options_.force_corrections) return terms;
    const Vector& f_p = m.force_correction(velocity(), false);
    const double c = force_weight();
    axpy(-c, f_p, r);
    return terms + c * m.force_norm(f_p);
  }
  // Friction is limited by forces, so that x has to be the displacement of forces: one that is constant over the step
  // gives x = h^2/2 f_p and the velocity 2 x/h. The paper's h^2 f_p, at v~, is for impulses at the start of the step.
  double force_weight() const { return m.has_friction_ ? m.h_ * m.h_ / 2 : m.h_ * m.h_; }
  const Vector& velocity() {
    if (!m.has_friction_ || !system.velocity_dependent()) return m.smooth_.v();
    combine(1.0, x, given != nullptr ? -1.0 : 0.0, given != nullptr ? *given : x, m.v_p_);
    combine(1.0, m.smooth_.v(), 2 / m.h_, m.v_p_, m.v_p_);
    return m.v_p_;
  }
  RowPoint row_point() override { return {m.q_, m.T_ = m.tangent_operators(x), directions(), true}; }
  void friction_limits(In s, std::span<const int> joints, Out radii) override {
    const double h = m.h_, t_n = m.step_.t;
    limits(s, joints, h * h / 3, h * h / 6, h * h / 2, t_n + h / 3, radii);
  }
  // M(q~) - c (D_q f T(U) + 2/h D_v f) - (D(G^T xi) + c D(G_b^T lambda~)) T(U), c = h^2, or h^2/2 with D_v f
  void linearise(In s, Linearisation& S) override {
    const std::size_t n_b = at(system.bilateral());
    S.c_M = S.c_s = 1;
    S.c_K = m.options_.force_corrections ? force_weight() : 0;
    S.c_C = m.options_.force_corrections && m.has_friction_ ? m.h_ : 0;
    copy(s, m.s_);
    take_mean(m.s_);
    axpy(S.c_K, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
    // the smooth reactions of old rows are small beside those of the switch: their bending is left out
    m.switches_.for_switched_rows([&](int row) { m.s_[at(row)] = s[at(row)]; });
    S.s = m.s_.data();
    S.q_M = m.smooth_.q().data();
    S.q = m.q_.data();
    S.v = velocity().data();
    S.rows_through_T = true;
    S.T = m.T_;
  }
  bool move(double share, In dU) override {
    axpy(share, dU, x);
    system.retract(m.smooth_.q(), x, m.q_);
    moved = true;
    m.correction_known_ = false;
    if (!m.options_.force_corrections || m.position_.setup().linear) return true;
    return all_finite(m.force_correction(velocity(), false));
  }
};

struct NsgaDecoupled::Velocity final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    if (system.bilateral() > 0) system.rates(m.q_, m.v_, m.t_, bilateral_rows, c, &m.step_);
    // the three rows of a contact with friction at once
    const bool all = m.position_.friction() != nullptr;
    if (all) system.rates(m.q_, m.v_, m.t_, law_rows, c, &m.step_);
    for (const int row : m.position_.active_rows())
      c[at(row)] = (all ? c[at(row)] : system.row_rate(row, m.q_, m.v_, m.t_, &m.step_)) + m.reflected_[at(row)];
  }
  // f_* vanishes as long as neither q nor, where forces depend on it, v has changed
  bool has_force() const {
    return forces && m.options_.force_corrections && (m.U_->moved || (moved && system.velocity_dependent()));
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.q_, s, r);
    if (!has_force()) return terms;
    const Vector& f = m.force_correction(m.v_, !system.constant_mass());
    axpy(-m.h_, f, r);
    return terms + m.h_ * m.force_norm(f);
  }
  RowPoint row_point() override { return {m.q_, nullptr, directions()}; }
  void friction_limits(In s, std::span<const int> joints, Out radii) override {
    const double h = m.h_;
    if (frictionless) return set_zero(radii);
    if (forces) return limits(s, joints, h / 2, h / 2, h, m.step_.t + h / 2, radii);
    // parts behind the surface of a switch: impulses alone
    if (spent.empty()) return limits(s, joints, 0, 0, 0, m.t_, radii);
    pressing.assign(loads.begin(), loads.end());
    axpy(1.0, s.first(pressing.size()), pressing);
    limits(pressing, joints, 0, 0, 0, m.t_, radii);
  }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.c_C = forces && m.options_.force_corrections ? m.theta_ * m.h_ : 0;
    S.q_M = S.q = m.q_.data();
    S.v = m.v_.data();
  }
  bool move(double share, In dW) override {
    axpy(share, dW, x);
    axpy(share, dW, m.v_);
    moved = true;
    m.correction_known_ = m.correction_known_ && !system.velocity_dependent();
    return true;
  }

  bool frictionless = false;  // joints have no friction
  In loads;                   // impulses of bilateral rows before, by which friction of joints is limited
  Vector pressing;
};

NsgaDecoupled::NsgaDecoupled(const System& system, const NsgaOptions& o)
    : Integrator(system, method_info(o.force_corrections, locates(system, o.impact)), o.scales, o.newton),
      options_(o),
      mean_directions_(o.mean_directions.value_or(info().events_in_stages)),
      has_friction_(system.row_kinds().has(RowKind::tangential) || system.row_kinds().has(RowKind::joint_friction)),
      switches_(system),
      smooth_(system, o.scales, o.newton, GeneralizedAlpha(o.rho_infinity), tangent_properties(system, o.newton.method),
              0, scratch()),
      position_(system, o.newton, position_setup(system, o.newton.method, all_rows), o.scales, 1, scratch()),
      velocity_(system, o.newton, velocity_setup(system, o.newton.method, bilateral_rows | law_rows), o.scales, 2,
                scratch()),
      U_(std::make_unique<Position>(*this, mean_position_)),
      W_(std::make_unique<Velocity>(*this, mean_velocity_)) {
  stayed_.assign(at(system.conditional()), 0);
  for (Vector* x : {&v_, &v_p_, &f_correction_, &Mx_, &scratch_}) x->assign(at(system.size()), 0.0);
  q_.assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&s_, &reflected_}) x->assign(at(system.rows()), 0.0);
  if (info().events_in_stages) {
    located_ =
        std::make_unique<LocatedImpacts>(system, o.newton, o.scales, o.impact == ImpactInstant::located, 3, &matrix_);
    solvers_[3] = &located_->solver();
    for (Vector* x : {&v_free_, &f_smooth_}) x->assign(at(system.size()), 0.0);
    q_free_ = q_;
  }
  if (located_ || switches_.present()) x_.assign(at(system.size()), 0.0);
  if (!system.row_kinds().has(RowKind::tangential)) return;
  anchors_.assign(at(system.rows()), 0.0);
  frictionless_.assign(at(system.conditional()), 0);
}

NsgaDecoupled::~NsgaDecoupled() = default;

std::vector<Integrator::Objection> NsgaDecoupled::objections(const State& start, double) {
  if (system().row_kinds().has(RowKind::joint_friction)) {
    if (options_.impact == ImpactInstant::located)
      return {{"/integrator/impact", -1, "expected \"published\", because joints of the model have friction"}};
    return unclear_friction(start);
  }
  if (located_ && switches_.present())
    return {{"/integrator/impact", -1, "expected \"published\", because constraints of the model switch"}};
  if (options_.impact != ImpactInstant::located || !system().has_massless_equation()) return {};
  return {{"/integrator/impact", -1,
           "expected a mass in every equation: an impact at its instant is solved with the mass matrix alone; "
           "\"published\" takes massless parts"}};
}

bool NsgaDecoupled::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  if (!options_.smooth_switching_rows) switches_.vacate();
  const bool begun = smooth_.initialise(state, h, options_.initial_acceleration, velocity_.saddle(), solvers(), report);
  switches_.set_old();
  if (!begun) return false;
  switches_.initialise(state);
  return true;
}

bool NsgaDecoupled::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (!switches_.begin(start, report)) return false;
  if (switches_.present()) {
    // no matrix is kept: what rows measure, and with it the matrix, follows from the start of the step
    forget_matrices();
    measure_switching_rows(start.q, start.t);
  }
  if (take_step(scales, start, end, report)) return true;
  switches_.undo(start);
  return false;
}

// Rows of the modes may differ in size and unit.
void NsgaDecoupled::measure_switching_rows(In q, double t) {
  switches_.measure(q, t, scales().length, [&](int row, double weight) {
    for (MixedNewton* solver : {&smooth_.solver(), &position_, &velocity_}) solver->measure_row(row, weight);
  });
}

void NsgaDecoupled::forget_matrices() {
  for (MixedNewton* solver : {&smooth_.solver(), &position_, &velocity_}) solver->forget_matrix();
}

bool NsgaDecoupled::take_step(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  step_ = scales.start;
  lambda_n_ = In(start.lambda).first(at(system().bilateral()));
  jumps_.clear();
  nu_before_.clear();
  if (!options_.smooth_switching_rows && switches_.present()) {
    switches_.vacate();
    measure_switching_rows(start.q, start.t);
  }
  if (!smooth_.solve(scales.motion(options_.penalty), start, guard(), report)) return false;
  if (!options_.smooth_switching_rows && switches_.present()) {
    switches_.set_old();
    measure_switching_rows(start.q, start.t);
  }
  if (located_ && !located_->find(scales, start, smooth_, report)) return false;
  theta_ = impacts() ? located_->theta() : 1;
  if (!correct_position(scales, start, report)) return false;
  if (switches_.present() && !switch_position(scales, start, report)) return false;
  smooth_.write(end);
  copy(q_, end.q);
  end.active = position_.flags();
  if (switches_.any()) {
    if (!switch_velocity(scales, start, end, report)) return false;
  } else {
    if (!jump_velocity(scales, start, report)) return false;
    copy(velocity_.multipliers(), end.impulse);
    end.closed = velocity_.flags();
  }
  copy(v_, end.v);
  copy(position_.multipliers(), end.nu);
  if (!nu_before_.empty()) axpy(1.0, nu_before_, Out(end.nu).first(nu_before_.size()));
  if (located_) leave_resting(scales, end);
  if (impacts()) {
    axpy(1.0, located_->impulses(), end.impulse);
    if (!located_->correct_acceleration(scales, q_, smooth_.v(), v_, end)) {
      mark_failed(report, 3, FailureReason::singular_matrix);
      return false;
    }
  }
  switches_.finish(end);
  // the part of the impulses that the ends of the stages do not tell
  for (Jump& jump : jumps_) {
    scale_into(-1.0, jump.impulse, jump.impulse);
    system().add_reactions(q_, t_, jump.multipliers, bilateral_rows, jump.impulse, &step_);
    scale_into(-1.0, jump.impulse, jump.impulse);
  }
  const bool jumps = switches_.any() || W_->moved;
  double gain = 0;  // by the intermediate gradients
  if (switches_.any()) {
    for (const Jump& jump : jumps_)
      if (jump.switches) gain += kinetic(jump.v_1) - kinetic(jump.v_0);
    switches_.note_events();
    if (options_.smooth_switching_rows && !begin_anew(end, report)) return false;
  }
  guard().close(U_->moved || jumps, smooth_.multipliers(), jumps ? In(end.impulse) : In(), smooth_.v(), gain);
  return true;
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
          system().row_gap(row, q_, t_, &step_) < -scales.positions(1).row_tolerance;
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
      resting[i] =
          rested(scales, start, row) && system().row_gap(row, q_, t_, &step_) <= 4 * scales.positions(1).row_tolerance;
    else if (system().row_kind(row) == RowKind::tangential)
      resting[i] = resting[at(normal_row(row) - n_b)];
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
          sliding[at(normal_row(n_b + static_cast<int>(i)) - n_b)] = closed[i] == 0 ? 1 : 0;
      v_ = before;
      W_->frictionless = true;
      const bool solved = solve_jump(
          scales, {.multipliers = impulses, .held = &closed, .candidates = &closed, .frictionless = &sliding}, false,
          report);
      W_->frictionless = false;
      return solved ? In(v_) : In();
    };
    if (!switches_.cross({k, backwards, q_, before, t_, options_.intermediate_gradient, rest}, scales, held, jump,
                         report))
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
         system().row_gap(row, start.q, start.t) <= 4 * scales.positions(1).row_tolerance &&
         std::abs(system().row_rate(row, start.q, start.v, start.t)) <= 4 * scales.momenta(1).row_tolerance;
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
    any = any || (normal && rate < -rest);
    // contacts that were closed do not bounce
    if (!rested(scales, start, normal_row(row))) reflected_[at(row)] = e * (normal ? std::min(0.0, rate) : rate);
  }
  if (!any) return true;
  const Vector before = v_;
  switches_.set_new();
  const bool solved = solve_jump(
      scales, {.held = &start.active, .candidates = &position_.flags(), .first = &position_.flags()}, false, report);
  if (solved) note_jump(false, false, before, false);
  return solved;
}

// What solve_jump() has found. Old rows are not those of the end of the step: all that they give is `impulse`.
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

// Closed for the next step are contacts that the velocity leaves closed.
void NsgaDecoupled::leave_resting(const StepScales& scales, State& end) const {
  const double rest = 4 * scales.momenta(1).row_tolerance;
  const int n_b = system().bilateral();
  for (const int row : position_.active_rows())
    if (system().row_kind(row) == RowKind::unilateral && std::abs(system().row_rate(row, q_, v_, t_, &step_)) > rest)
      end.active[at(row - n_b)] = 0;
  for (const int row : position_.active_rows())
    if (end.active[at(normal_row(row) - n_b)] == 0) end.active[at(row - n_b)] = 0;
}

bool NsgaDecoupled::correct_position(const StepScales& scales, const State& start, StepReport& report) {
  begin_position();
  if (system().rows() == 0) return true;
  if (!anchors_.empty()) find_anchors(start);
  if (mean_directions_) {
    // tangential rows go with their contact
    for (std::size_t i = 0; i < stayed_.size(); ++i) {
      const int n_b = system().bilateral();
      const int row = n_b + static_cast<int>(i);
      const bool contact = system().row_kind(row) != RowKind::joint_friction;
      stayed_[i] = contact && start.active[at(normal_row(row) - n_b)] != 0 ? 1 : 0;
    }
    mean_position_ = {step_, &stayed_, 1.0 / 3};
    mean_velocity_ = {step_, &stayed_, 0.5};
  }
  const double ratio = h_ / start.last_h;
  position_.begin(report, {.held = &start.active,
                           .candidates = candidates_,
                           .first = &start.active,
                           .guess = start.nu,
                           .guess_scale = ratio * ratio,
                           .moved = impacts()});
  if (!position_.solve(*U_, scales.positions(options_.penalty), report) &&
      !solve_without_anchors(scales, start, report))
    return false;
  report_gaps(position_, report);
  return true;
}

void NsgaDecoupled::begin_position() {
  correction_known_ = false;
  U_->begin(impacts() ? &located_->position() : nullptr);
  if (!impacts()) {
    copy(smooth_.q(), q_);
    return;
  }
  system().retract(smooth_.q(), U_->x, q_);
  copy(q_, q_free_);
}

// s*: the smooth slip up to touch-down of contacts that were open at t_n.
void NsgaDecoupled::find_anchors(const State& start) {
  const int n_b = system().bilateral();
  system().gaps(smooth_.q(), t_, contact_rows, anchors_, &step_);
  int normal = -1;
  double share = 0;
  for (int row = n_b; row < system().rows(); ++row) {
    if (system().row_kind(row) == RowKind::unilateral) {
      normal = row;
      share = 0;
      const bool hit = impacts() && located_->hit(row - n_b);
      const bool has_friction = !hit && row + 1 < system().rows() && system().row_kind(row + 1) == RowKind::tangential;
      const double smooth = anchors_[at(row)], before = has_friction && start.active[at(row - n_b)] == 0
                                                            ? system().row_gap(row, start.q, start.t, &step_)
                                                            : 0.0;
      if (before > 0) share = smooth < 0 ? before / (before - smooth) : 1.0;
      anchors_[at(normal)] = 0;
    } else if (system().row_kind(row) == RowKind::tangential) {
      anchors_[at(row)] *= share;
    }
  }
}

namespace {

// friction |s*| <= gap at t_n: with q = q_n every contact then has friction |c_T| <= c_N, the condition under which a
// cone problem has a solution [Acary, Cadoux, Lemarechal, Malick, A formulation of the linear discrete Coulomb friction
// problem via convex optimization, ZAMM 91 (2011) 155]. A contact that slides has the same friction with any anchor.
void shorten_anchors(const System& system, const State& start, const StepStart& step, Out anchors) {
  for (int row = system.bilateral(); row + 1 < system.rows(); ++row) {
    if (system.row_kind(row) != RowKind::unilateral || system.row_kind(row + 1) != RowKind::tangential) continue;
    const double slip = std::hypot(
        anchors[at(row + 1)],
        row + 2 < system.rows() && system.row_kind(row + 2) == RowKind::tangential ? anchors[at(row + 2)] : 0.0);
    const double gap = std::max(0.0, system.row_gap(row, start.q, start.t, &step));
    const double longest = gap / system.contact_parameters(row + 1).friction;
    for (int k = row + 1; slip > longest && k < system.rows() && system.row_kind(k) == RowKind::tangential; ++k)
      anchors[at(k)] *= longest / slip;
  }
}

}  // namespace

// Where the anchors contradict each other: with shorter ones, then without friction of the contacts that close in this
// step, then of all.
bool NsgaDecoupled::solve_without_anchors(const StepScales& scales, const State& start, StepReport& report) {
  if (report.reason != FailureReason::no_friction_solution || frictionless_.empty()) return false;
  enum Way { shorter, closing, all };
  for (const Way way : {shorter, closing, all}) {
    if (way == shorter) {
      shorten_anchors(system(), start, step_, anchors_);
    } else {
      for (std::size_t i = 0; i < frictionless_.size(); ++i)
        frictionless_[i] = way == all || start.active[i] == 0 ? 1 : 0;
    }
    forget_failure(report);
    ++report.friction_fallbacks;
    begin_position();
    position_.begin(report, {.held = &start.active,
                             .candidates = candidates_,
                             .frictionless = way == shorter ? nullptr : &frictionless_,
                             .moved = impacts()});
    if (position_.solve(*U_, scales.positions(options_.penalty), report)) return true;
    if (report.reason != FailureReason::no_friction_solution) return false;
  }
  return false;
}

bool NsgaDecoupled::jump_velocity(const StepScales& scales, const State& start, StepReport& report) {
  correction_known_ =
      correction_known_ && system().constant_mass() && !(has_friction_ && system().velocity_dependent());
  W_->begin(impacts() ? &located_->velocity() : nullptr);
  copy(smooth_.v(), v_);
  if (impacts()) {
    if (system().velocity_dependent() && options_.force_corrections) {
      f_smooth_ = force_correction(smooth_.v(), !system().constant_mass());
      correction_known_ = false;
    }
    axpy(1.0, W_->x, v_);
    copy(v_, v_free_);
  }
  velocity_.begin(report, {.held = &start.active,
                           .candidates = &position_.flags(),
                           .first = &position_.flags(),
                           .guess = start.impulse,
                           .guess_scale = h_ / start.last_h});
  if (system().bilateral() == 0 && position_.active_rows().empty() && !impacts()) return true;
  const int n_b = system().bilateral();
  for (const int row : position_.active_rows()) {
    // contacts that stay closed, or were hit at their instants, have no impact at the end of the step
    const int contact = normal_row(row) - n_b;
    const bool done = located_ && (start.active[at(contact)] != 0 || (impacts() && located_->hit(contact)));
    reflected_[at(row)] = done ? 0 : reflected_rate(row, start.q, start);
  }
  if (!velocity_.solve(*W_, scales.momenta(options_.penalty), report)) return false;
  report.velocity_residual = velocity_.largest_row();
  return true;
}

// f_p, or with the change of the mass matrix f_*, at (q, v)
const Vector& NsgaDecoupled::force_correction(In v, bool mass_changes) {
  if (correction_known_) return f_correction_;
  correction_known_ = true;
  const ConstraintSwitches::OldReactions old(switches_);
  smooth_.force_change(q_, v, f_correction_, scratch_);
  if (mass_changes) {
    system().mass_times(q_, smooth_.acceleration(), Mx_);
    axpy(-1.0, Mx_, f_correction_);
    system().mass_times(smooth_.q(), smooth_.acceleration(), Mx_);
    axpy(1.0, Mx_, f_correction_);
  }
  // the change with the velocity acts after the impacts
  if (theta_ != 1 && v.data() == v_.data()) combine(theta_, f_correction_, 1 - theta_, f_smooth_, f_correction_);
  return f_correction_;
}

std::span<const Stage> NsgaDecoupled::stages() {
  using Kind = Stage::Kind;
  const Vector &q = smooth_.q(), &v = smooth_.v();
  const State& from = start();
  const double t_0 = from.t;
  In q_0 = from.q, v_0 = from.v;  // of the last motion
  double tau = 0;
  stages_.clear();
  if (impacts()) {
    for (const LocatedImpacts::Impact& impact : located_->impacts()) {
      const double t = t_0 + impact.tau * h_;
      add_motion(tau, q_0, v_0, impact.tau, impact.q, impact.v_before);
      Stage jump{Kind::jump, t, t, impact.q, impact.v_before, impact.q, impact.v_after, impact.impulses};
      jump.located = true;
      jump.closed = impact.closed;
      stages_.push_back(jump);
      q_0 = impact.q;
      v_0 = impact.v_after;
      tau = impact.tau;
    }
    add_motion(tau, q_0, v_0, 1, q_free_, v_free_);
    stages_.back().closed = located_->impacts().back().resting;
  } else {
    stages_ = {{Kind::motion, t_0, t_, q_0, v_0, q, v, smooth_.multipliers(), h_}};
    stages_[0].end = guard().motion_end();
  }
  const In q_1 = stages_.back().q_1, v_1 = stages_.back().v_1;
  if (U_->moved) {
    stages_.push_back({Kind::correction, t_, t_, q_1, v_1, q_, v_1, position_.multipliers()});
    stages_.back().switches = switches_.any();
  }
  if (switches_.any()) {
    add_switches();
  } else if (W_->moved) {
    stages_.push_back({Kind::jump, t_, t_, q_, v_1, q_, v_, velocity_.multipliers(), h_});
    if (mean_directions_) stages_.back().mean = &mean_velocity_;
    if (W_->has_force()) stages_.back().force = force_correction(v_, !system().constant_mass());
  }
  if (stages_.size() > 1) stages_.back().end = step_end();
  stages_.back().closed = switches_.any() ? closed_ : velocity_.flags();
  return stages_;
}

void NsgaDecoupled::add_switches() {
  for (std::size_t k = 0; k < jumps_.size(); ++k) {
    const Jump& jump = jumps_[k];
    Stage& stage = stages_.emplace_back();
    stage = {Stage::Kind::jump, t_, t_, q_, jump.v_0, q_, jump.v_1, jump.multipliers, 1};
    stage.force = jump.impulse;
    stage.switches = jump.switches;
    stage.before_switch = jump.before_switch;
    // those that strike behind the switch have opened
    if (k + 1 < jumps_.size() && !jumps_[k + 1].switches) stage.closed = jump.closed;
  }
}

void NsgaDecoupled::add_motion(double s_0, In q_0, In v_0, double s_1, In q_1, In v_1) {
  const double t_n = start().t;
  stages_.push_back({Stage::Kind::motion, t_n + s_0 * h_, s_1 == 1 ? t_ : t_n + s_1 * h_, q_0, v_0, q_1, v_1,
                     smooth_.multipliers(), (s_1 - s_0) * h_});
}

}  // namespace carom
