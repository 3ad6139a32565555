#include "integrators/methods/nsga_decoupled.hpp"

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

MethodInfo NsgaDecoupled::method_info(bool force_corrections) {
  return {.name = force_corrections ? "nsga_decoupled" : "nsga_decoupled (DSn)",
          .subproblems = {"smooth", "position", "velocity"},
          .rows = bilateral_rows | contact_rows,
          .forces_at_end = force_corrections};
}

struct NsgaDecoupled::Correction : MixedProblem {
  Correction(NsgaDecoupled& method, const MeanDirections& directions)
      : m(method), system(method.system()), mean(directions), x(at(system.size()), 0.0), reaction(x) {}

  // M x - F^T s, and the norms of both terms; M x is not evaluated while x is zero
  double momentum(In q_M, In s, Out r) {
    set_zero(reaction);
    if (m.options_.mean_directions) {
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
    if (!moved) return m.force_norm(reaction);
    system.mass_times(q_M, x, m.Mx_);
    axpy(1.0, m.Mx_, r);
    return m.force_norm(reaction) + m.force_norm(m.Mx_);
  }

  // The share of the multipliers whose directions are those of the end of the step; `rest`: what is left.
  void take_mean(Vector& s, Vector* rest = nullptr) const {
    if (!m.options_.mean_directions) return;
    for (int row = system.bilateral(); row < system.rows(); ++row) {
      if (!mean.of(row - system.bilateral())) continue;
      if (rest != nullptr) (*rest)[at(row)] = (1 - mean.share) * s[at(row)];
      s[at(row)] *= mean.share;
    }
  }
  const MeanDirections* directions() const { return m.options_.mean_directions ? &mean : nullptr; }

  NsgaDecoupled& m;
  const System& system;
  const MeanDirections& mean;
  Vector x, reaction, part_start;
  bool moved = false;  // x is not zero
};

struct NsgaDecoupled::Position final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    system.gaps(m.q_, m.t_, all_rows, c, &m.step_);
    if (!m.anchors_.empty()) axpy(-1.0, m.anchors_, c);
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.smooth_.q(), s, r);
    if (!moved || !m.options_.force_corrections) return terms;
    const Vector& f_p = m.force_correction(m.smooth_.v(), false);
    axpy(-m.h_ * m.h_, f_p, r);
    return terms + m.h_ * m.h_ * m.force_norm(f_p);
  }
  RowPoint row_point() override { return {m.q_, m.T_ = m.tangent_operators(x), directions(), true}; }
  // M(q~) - (h^2 Df + D(G^T xi) + h^2 D(G_b^T lambda~)) T(U)
  void linearise(In s, Linearisation& S) override {
    const std::size_t n_b = at(system.bilateral());
    S.c_M = S.c_s = 1;
    S.c_K = m.options_.force_corrections ? m.h_ * m.h_ : 0;
    copy(s, m.s_);
    take_mean(m.s_);
    axpy(S.c_K, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
    S.s = m.s_.data();
    S.q_M = m.smooth_.q().data();
    S.q = m.q_.data();
    S.v = m.smooth_.v().data();
    S.rows_through_T = true;
    S.T = m.T_;
  }
  bool move(double share, In dU) override {
    axpy(share, dU, x);
    system.retract(m.smooth_.q(), x, m.q_);
    moved = true;
    m.correction_known_ = false;
    if (!m.options_.force_corrections || m.position_.setup().linear) return true;
    return all_finite(m.force_correction(m.smooth_.v(), false));
  }
};

struct NsgaDecoupled::Velocity final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    if (system.bilateral() > 0) system.rates(m.q_, m.v_, m.t_, bilateral_rows, c, &m.step_);
    // the three rows of a contact with friction at once
    const bool all = m.position_.friction() != nullptr;
    if (all) system.rates(m.q_, m.v_, m.t_, contact_rows, c, &m.step_);
    for (const int row : m.position_.active_rows())
      c[at(row)] = (all ? c[at(row)] : system.row_rate(row, m.q_, m.v_, m.t_, &m.step_)) + m.reflected_[at(row)];
  }
  // f_* vanishes as long as neither q nor, where forces depend on it, v has changed
  bool has_force() const {
    return m.options_.force_corrections && (m.U_->moved || (moved && system.velocity_dependent()));
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.q_, s, r);
    if (!has_force()) return terms;
    const Vector& f = m.force_correction(m.v_, !system.constant_mass());
    axpy(-m.h_, f, r);
    return terms + m.h_ * m.force_norm(f);
  }
  RowPoint row_point() override { return {m.q_, nullptr, directions()}; }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.c_C = m.options_.force_corrections ? m.h_ : 0;
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
};

NsgaDecoupled::NsgaDecoupled(const System& system, const NsgaOptions& o)
    : Integrator(system, method_info(o.force_corrections), o.scales, o.newton),
      options_(o),
      smooth_(system, o.scales, o.newton, o.rho_infinity, tangent_properties(system, o.newton.method), 0, &matrix_),
      position_(system, o.newton, position_setup(system, o.newton.method, all_rows), o.scales, 1, &matrix_),
      velocity_(system, o.newton, velocity_setup(system, o.newton.method, bilateral_rows | contact_rows), o.scales, 2,
                &matrix_),
      U_(std::make_unique<Position>(*this, mean_position_)),
      W_(std::make_unique<Velocity>(*this, mean_velocity_)) {
  stayed_.assign(at(system.conditional()), 0);
  for (Vector* x : {&v_, &f_correction_, &Mx_, &scratch_}) x->assign(at(system.size()), 0.0);
  q_.assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&s_, &reflected_}) x->assign(at(system.rows()), 0.0);
  if (!system.row_kinds().has(RowKind::tangential)) return;
  anchors_.assign(at(system.rows()), 0.0);
  frictionless_.assign(at(system.conditional()), 0);
}

NsgaDecoupled::~NsgaDecoupled() = default;

bool NsgaDecoupled::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  return smooth_.initialise(state, h, options_.initial_acceleration, velocity_.saddle(), solvers_, report);
}

bool NsgaDecoupled::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  step_ = scales.start;
  if (!smooth_.solve(scales.motion(options_.penalty), start, guard(), report)) return false;
  if (!correct_position(scales, start, report)) return false;
  if (!jump_velocity(scales, start, report)) return false;
  smooth_.write(end);
  copy(q_, end.q);
  copy(v_, end.v);
  copy(position_.multipliers(), end.nu);
  copy(velocity_.multipliers(), end.impulse);
  end.active = position_.flags();
  end.closed = velocity_.flags();
  guard().close(U_->moved || W_->moved, smooth_.multipliers(), W_->moved ? velocity_.multipliers() : In(), smooth_.v());
  return true;
}

bool NsgaDecoupled::correct_position(const StepScales& scales, const State& start, StepReport& report) {
  copy(smooth_.q(), q_);
  U_->moved = correction_known_ = false;
  if (system().rows() == 0) return true;
  set_zero(U_->x);
  if (!anchors_.empty()) find_anchors(start);
  if (options_.mean_directions) {
    // tangential rows go with their contact
    for (std::size_t i = 0; i < stayed_.size(); ++i) {
      const std::size_t in_item = at(system().row_place(system().bilateral() + static_cast<int>(i)).row);
      const bool tangential = system().row_kind(system().bilateral() + static_cast<int>(i)) == RowKind::tangential;
      stayed_[i] = start.active[tangential ? i - in_item : i] != 0 ? 1 : 0;
    }
    mean_position_ = {step_, &stayed_, 1.0 / 3};
    mean_velocity_ = {step_, &stayed_, 0.5};
  }
  const double ratio = h_ / start.last_h;
  position_.begin(report, {.held = &start.active, .guess = start.nu, .guess_scale = ratio * ratio});
  if (!position_.solve(*U_, scales.positions(options_.penalty), report) &&
      !solve_without_anchors(scales, start, report))
    return false;
  report_gaps(position_, report);
  return true;
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
      const bool has_friction = row + 1 < system().rows() && system().row_kind(row + 1) == RowKind::tangential;
      const double smooth = anchors_[at(row)], before = has_friction && start.active[at(row - n_b)] == 0
                                                            ? system().row_gap(row, start.q, start.t, &step_)
                                                            : 0.0;
      if (before > 0) share = smooth < 0 ? before / (before - smooth) : 1.0;
      anchors_[at(normal)] = 0;
    } else {
      anchors_[at(row)] *= share;
    }
  }
}

// Where the anchors contradict each other: without friction of the contacts that close in this step, then of all.
bool NsgaDecoupled::solve_without_anchors(const StepScales& scales, const State& start, StepReport& report) {
  if (report.reason != FailureReason::no_friction_solution) return false;
  for (const bool all : {false, true}) {
    for (std::size_t i = 0; i < frictionless_.size(); ++i) frictionless_[i] = all || start.active[i] == 0 ? 1 : 0;
    forget_failure(report);
    ++report.friction_fallbacks;
    copy(smooth_.q(), q_);
    U_->moved = correction_known_ = false;
    set_zero(U_->x);
    position_.begin(report, {.held = &start.active, .frictionless = &frictionless_});
    if (position_.solve(*U_, scales.positions(options_.penalty), report)) return true;
    if (report.reason != FailureReason::no_friction_solution) return false;
  }
  return false;
}

bool NsgaDecoupled::jump_velocity(const StepScales& scales, const State& start, StepReport& report) {
  copy(smooth_.v(), v_);
  W_->moved = false;
  correction_known_ = correction_known_ && system().constant_mass();
  velocity_.begin(report, {.held = &start.active,
                           .candidates = &position_.flags(),
                           .guess = start.impulse,
                           .guess_scale = h_ / start.last_h});
  if (system().bilateral() == 0 && position_.active_rows().empty()) return true;
  set_zero(W_->x);
  for (const int row : position_.active_rows()) reflected_[at(row)] = reflected_rate(row, start.q, start);
  if (!velocity_.solve(*W_, scales.momenta(options_.penalty), report)) return false;
  report.velocity_residual = velocity_.largest_row();
  return true;
}

// f_p, or with the change of the mass matrix f_*, at (q, v)
const Vector& NsgaDecoupled::force_correction(In v, bool mass_changes) {
  if (correction_known_) return f_correction_;
  correction_known_ = true;
  smooth_.force_change(q_, v, f_correction_, scratch_);
  if (!mass_changes) return f_correction_;
  system().mass_times(q_, smooth_.acceleration(), Mx_);
  axpy(-1.0, Mx_, f_correction_);
  system().mass_times(smooth_.q(), smooth_.acceleration(), Mx_);
  axpy(1.0, Mx_, f_correction_);
  return f_correction_;
}

std::span<const Stage> NsgaDecoupled::stages() {
  using Kind = Stage::Kind;
  const Vector &q = smooth_.q(), &v = smooth_.v();
  stages_ = {{Kind::motion, start().t, t_, start().q, start().v, q, v, smooth_.multipliers(), h_}};
  stages_[0].end = guard().motion_end();
  if (U_->moved) stages_.push_back({Kind::correction, t_, t_, q, v, q_, v, position_.multipliers()});
  if (W_->moved) {
    stages_.push_back({Kind::jump, t_, t_, q_, v, q_, v_, velocity_.multipliers(), h_});
    if (options_.mean_directions) stages_.back().mean = &mean_velocity_;
    if (W_->has_force()) stages_.back().force = force_correction(v_, !system().constant_mass());
  }
  if (stages_.size() > 1) stages_.back().end = step_end();
  stages_.back().closed = velocity_.flags();
  return stages_;
}

}  // namespace carom
