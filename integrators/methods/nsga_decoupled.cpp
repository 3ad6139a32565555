#include "integrators/methods/nsga_decoupled.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

MixedSetup smooth_setup(const System& system, MatrixProperties matrix) {
  return {.name = "smooth", .matrix = matrix, .linear = system.linear(), .keep_old_matrix = true};
}

MixedSetup position_setup(const System& system, MatrixProperties matrix) {
  const bool flat = contacts_linear(system);
  return {.name = "position",
          .rows = position_rows,
          .matrix = {matrix.symmetric && flat, matrix.positive_definite && flat},
          .linear = system.linear() && flat,
          .solved_at_rest = true};
}

MixedSetup velocity_setup(const System& system, MatrixProperties matrix) {
  const bool mass_alone = system.constant_mass() && !system.velocity_dependent() && system.bilateral() == 0;
  return {.name = "velocity",
          .rows = bilateral_rows | unilateral_rows,
          .matrix = matrix,
          .linear = system.linear(),
          .constant_matrix = mass_alone};
}

// Conjugate gradients may take the symmetric part of a matrix, as a quasi-Newton method.
MatrixProperties matrix_of(const System& system, const NsgaOptions& options) {
  const bool quasi = system.symmetrisable() && options.newton.method == NewtonMethod::automatic;
  return {system.symmetric(),
          (system.symmetric() || quasi) && system.bilateral() == 0 && !system.has_massless_equation()};
}

}  // namespace

MethodInfo NsgaDecoupled::method_info(bool force_corrections) {
  return {.name = force_corrections ? "nsga_decoupled" : "nsga_decoupled (DSn)",
          .subproblems = {"smooth", "position", "velocity"},
          .forces_at_end = force_corrections};
}

NsgaDecoupled::NsgaDecoupled(const System& system, const NsgaOptions& o)
    : Integrator(system, method_info(o.force_corrections), o.scales, o.newton),
      options_(o),
      alpha_(o.rho_infinity),
      smooth_(system, o.newton, smooth_setup(system, matrix_of(system, o)), o.scales, 0, &matrix_),
      position_(system, o.newton, position_setup(system, matrix_of(system, o)), o.scales, 1, &matrix_),
      velocity_(system, o.newton, velocity_setup(system, matrix_of(system, o)), o.scales, 2, &matrix_),
      solvers_{&smooth_, &position_, &velocity_} {
  const std::size_t n = at(system.size());
  for (Vector* x : {&a_star_, &a_n_, &vd_, &v_smooth_, &d_, &U_, &W_, &v_, &f_smooth_, &reaction_smooth_, &f_,
                    &reaction_, &Mx_, &f_correction_, &mass_change_, &dv_})
    x->assign(n, 0.0);
  for (Vector* x : {&q_smooth_, &q_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&s_, &reflected_}) x->assign(at(system.rows()), 0.0);
  stages_.reserve(3);
}

bool NsgaDecoupled::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  Vector vd(v_.size()), lambda(at(system().bilateral()));
  const auto acceleration = [&](In q, In v, double t, Vector& a) {
    return consistent_acceleration(system(), velocity_.saddle(), scales().mass, q, v, t, a, lambda, report);
  };
  if (!acceleration(state.q, state.v, state.t, vd)) return false;
  // Rows redundant at a consistent configuration stay redundant; small errors of the joints can hide it later.
  if (velocity_.saddle().redundant())
    for (MixedNewton* solver : solvers_) solver->saddle().expect_redundant();
  state.acceleration = vd;
  copy(lambda, Out(state.lambda).first(lambda.size()));
  state.history = {{"a", vd}};
  if (options_.initial_acceleration == InitialAcceleration::consistent) return true;
  // v' at t_0 + (alpha_m - alpha_f) h, from the state there to second order
  const double tau = (alpha_.alpha_m - alpha_.alpha_f) * h;
  Vector q = state.q, v = state.v, d(v.size());
  combine(tau, state.v, 0.5 * tau * tau, vd, d);
  system().retract(state.q, d, q);
  axpy(tau, vd, v);
  return acceleration(q, v, state.t + tau, state.history[0].values);
}

bool NsgaDecoupled::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  start_ = &start;
  h_ = scales.h;
  t_ = scales.t;
  if (!solve_smooth_motion(scales, start, options_.newton.predictor, report)) {
    // try again from zero acceleration with a new matrix
    const bool from_zero = options_.newton.predictor == Predictor::zero;
    if (smooth_.setup().linear || (from_zero && !smooth_.began_with_old_matrix())) return false;
    forget_failure(report);
    smooth_.forget_matrix();
    if (!solve_smooth_motion(scales, start, Predictor::zero, report)) return false;
  }
  if (!correct_position(scales, start, report) || !jump_velocity(scales, start, report)) return false;
  commit(end);
  return true;
}

// ---- 1. smooth motion

bool NsgaDecoupled::solve_smooth_motion(const StepScales& scales, const State& start, Predictor predictor,
                                        StepReport& report) {
  const bool previous = predictor == Predictor::previous;
  a_n_ = start.history[0].values;
  if (start.last_h != h_) GeneralizedAlpha::rescale_a(start.last_h, h_, start.acceleration, a_n_);
  alpha_.predict_a(start.acceleration, a_n_, a_star_);
  if (previous)
    vd_ = start.acceleration;
  else
    set_zero(vd_);
  alpha_.advance(h_, start.v, a_n_, a_star_, vd_, d_, v_smooth_);
  // a predicted motion to where forces are not finite is halved
  bool finite = smooth_motion_.evaluate();
  if (!finite) scale_into(1 / alpha_.c_q(h_), d_, dv_);
  for (double share = 0.5; !finite && share >= 1.0 / 256; share *= 0.5) finite = smooth_motion_.move(-share, dv_);
  smooth_.begin(report, {.multipliers = previous ? In(start.lambda) : In()});
  return smooth_.solve(smooth_motion_, scales.motion(options_.penalty), report);
}

void NsgaDecoupled::SmoothMotion::rows(Out c) {
  if (m.system().bilateral() > 0) m.system().rates(m.q_smooth_, m.v_smooth_, m.t_, bilateral_rows, c);
}

double NsgaDecoupled::SmoothMotion::residual(In s, Out r) {
  if (!m.forces_known_) evaluate();
  m.system().mass_times(m.q_smooth_, m.vd_, m.Mx_);
  combine(1.0, m.Mx_, -1.0, m.f_smooth_, r);
  const double terms = m.force_norm(m.Mx_) + m.force_norm(m.f_smooth_);
  if (m.system().bilateral() == 0) return terms;
  set_zero(m.reaction_smooth_);
  m.system().add_reactions(m.q_smooth_, m.t_, s, bilateral_rows, m.reaction_smooth_);
  axpy(-1.0, m.reaction_smooth_, r);
  return terms + m.force_norm(m.reaction_smooth_);
}

void NsgaDecoupled::SmoothMotion::linearise(In, Linearisation& S) {
  S.c_M = m.alpha_.c_a(m.h_);
  S.c_C = 1;
  S.c_K = S.c_s = S.c_rate = m.alpha_.c_q(m.h_);
  S.q_M = S.q = m.q_smooth_.data();
  S.v = m.v_smooth_.data();
  S.a = m.vd_.data();
  S.T = m.tangent_operators(m.d_);
}

bool NsgaDecoupled::SmoothMotion::move(double share, In dv) {
  axpy(share * m.alpha_.c_a(m.h_), dv, m.vd_);
  axpy(share, dv, m.v_smooth_);
  axpy(share * m.alpha_.c_q(m.h_), dv, m.d_);
  // one correction solves a linear model, which needs the forces afterwards only for their corrections
  if (!m.smooth_.setup().linear) return evaluate();
  m.system().retract(m.start_->q, m.d_, m.q_smooth_);
  m.forces_known_ = false;
  return true;
}

bool NsgaDecoupled::SmoothMotion::evaluate() {
  m.system().retract(m.start_->q, m.d_, m.q_smooth_);
  m.system().forces(m.q_smooth_, m.v_smooth_, m.t_, force_all, m.f_smooth_);
  m.forces_known_ = true;
  return all_finite(m.f_smooth_);
}

// ---- 2. position correction

bool NsgaDecoupled::correct_position(const StepScales& scales, const State& start, StepReport& report) {
  q_ = q_smooth_;
  moved_ = correction_known_ = false;
  if (system().rows() == 0) return true;
  set_zero(U_);
  position_.begin(report, {.held = &start.active});
  if (!position_.solve(position_correction_, scales.positions(options_.penalty), report)) return false;
  report.position_residual = position_.largest_row();
  for (int row = system().bilateral(); row < system().rows(); ++row)
    report.smallest_gap = std::min(report.smallest_gap, position_.row_values()[at(row)]);
  return true;
}

double NsgaDecoupled::PositionCorrection::residual(In s, Out r) {
  set_zero(m.reaction_);
  m.system().add_reactions(m.q_, m.t_, s, position_rows, m.reaction_);
  scale_into(-1.0, m.reaction_, r);
  double terms = m.force_norm(m.reaction_);
  if (!m.moved_) return terms;
  m.system().mass_times(m.q_smooth_, m.U_, m.Mx_);
  combine(1.0, m.Mx_, -1.0, m.reaction_, r);
  terms += m.force_norm(m.Mx_);
  if (!m.options_.force_corrections) return terms;
  if (!m.correction_known_) m.correct_forces(m.v_smooth_);
  axpy(-m.h_ * m.h_, m.f_correction_, r);
  return terms + m.h_ * m.h_ * m.force_norm(m.f_correction_);
}

RowPoint NsgaDecoupled::PositionCorrection::row_point() {
  m.T_ = m.tangent_operators(m.U_);
  return {m.q_, m.T_};
}

// M(q~) - (h^2 Df + D(G^T xi) + h^2 D(G_b^T lambda~)) T(U)
void NsgaDecoupled::PositionCorrection::linearise(In s, Linearisation& S) {
  copy(s, m.s_);
  S.c_M = S.c_s = 1;
  if (m.options_.force_corrections) {
    S.c_K = m.h_ * m.h_;
    const std::size_t n_b = at(m.system().bilateral());
    axpy(S.c_K, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
  }
  S.q_M = m.q_smooth_.data();
  S.q = m.q_.data();
  S.v = m.v_smooth_.data();
  S.s = m.s_.data();
  S.rows_through_T = true;
  S.T = m.T_;
}

bool NsgaDecoupled::PositionCorrection::move(double share, In dU) {
  axpy(share, dU, m.U_);
  m.system().retract(m.q_smooth_, m.U_, m.q_);
  m.moved_ = true;
  m.correction_known_ = false;
  if (!m.options_.force_corrections || m.position_.setup().linear) return true;
  m.correct_forces(m.v_smooth_);
  return all_finite(m.f_correction_);
}

// f_p or f_*: f(q, v) - f(q~, v~) + (G_b(q)^T - G_b(q~)^T) lambda~
void NsgaDecoupled::correct_forces(In v) {
  evaluate_smooth_forces();
  system().forces(q_, v, t_, force_all, f_);
  combine(1.0, f_, -1.0, f_smooth_, f_correction_);
  correction_known_ = true;
  if (system().bilateral() == 0) return;
  system().add_reactions(q_, t_, smooth_.multipliers(), bilateral_rows, f_correction_);
  axpy(-1.0, reaction_smooth_, f_correction_);
}

void NsgaDecoupled::evaluate_smooth_forces() {
  if (forces_known_) return;
  forces_known_ = true;
  system().forces(q_smooth_, v_smooth_, t_, force_all, f_smooth_);
  set_zero(reaction_smooth_);
  if (system().bilateral() > 0)
    system().add_reactions(q_smooth_, t_, smooth_.multipliers(), bilateral_rows, reaction_smooth_);
}

// ---- 3. velocity jump: q is final, candidates are the active rows of the position correction

bool NsgaDecoupled::jump_velocity(const StepScales& scales, const State& start, StepReport& report) {
  v_ = v_smooth_;
  jumped_ = false;
  velocity_.begin(report, {.held = &start.active, .candidates = &position_.flags()});
  if (system().bilateral() == 0 && position_.active_rows().empty()) return true;
  set_zero(W_);
  for (const int row : position_.active_rows()) {
    const double e = system().contact_parameters(row).restitution;
    reflected_[at(row)] = e == 0 ? 0.0 : e * system().row_rate(row, start.q, start.v, start.t);
  }
  // the change of the mass matrix takes part in f_*: -(M(q) - M(q~)) v~'
  mass_changes_ = options_.force_corrections && moved_ && !system().constant_mass();
  if (mass_changes_) {
    system().mass_times(q_, vd_, mass_change_);
    system().mass_times(q_smooth_, vd_, Mx_);
    axpy(-1.0, Mx_, mass_change_);
    correction_known_ = false;
  }
  if (!velocity_.solve(velocity_jump_, scales.momenta(options_.penalty), report)) return false;
  report.velocity_residual = velocity_.largest_row();
  return true;
}

void NsgaDecoupled::VelocityJump::rows(Out c) {
  if (m.system().bilateral() > 0) m.system().rates(m.q_, m.v_, m.t_, bilateral_rows, c);
  for (const int row : m.position_.active_rows())
    c[at(row)] = m.system().row_rate(row, m.q_, m.v_, m.t_) + m.reflected_[at(row)];
}

double NsgaDecoupled::VelocityJump::residual(In s, Out r) {
  set_zero(m.reaction_);
  m.system().add_reactions(m.q_, m.t_, s, bilateral_rows | unilateral_rows, m.reaction_);
  scale_into(-1.0, m.reaction_, r);
  double terms = m.force_norm(m.reaction_);
  if (m.jumped_) {
    m.system().mass_times(m.q_, m.W_, m.Mx_);
    axpy(1.0, m.Mx_, r);
    terms += m.force_norm(m.Mx_);
  }
  // f_* vanishes as long as neither q nor, where forces depend on it, v has changed
  if (!m.options_.force_corrections || !(m.moved_ || (m.jumped_ && m.system().velocity_dependent()))) return terms;
  if (!m.correction_known_) {
    m.correct_forces(m.v_);
    if (m.mass_changes_) axpy(-1.0, m.mass_change_, m.f_correction_);
  }
  axpy(-m.h_, m.f_correction_, r);
  return terms + m.h_ * m.force_norm(m.f_correction_);
}

void NsgaDecoupled::VelocityJump::linearise(In, Linearisation& S) {
  S.c_M = 1;
  S.c_C = m.options_.force_corrections ? m.h_ : 0;
  S.q_M = S.q = m.q_.data();
  S.v = m.v_.data();
}

bool NsgaDecoupled::VelocityJump::move(double share, In dW) {
  axpy(share, dW, m.W_);
  axpy(share, dW, m.v_);
  m.jumped_ = true;
  if (m.system().velocity_dependent()) m.correction_known_ = false;
  return true;
}

// ---- the end of a step

void NsgaDecoupled::commit(State& end) const {
  Vector& a = end.history[0].values;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a_star_[i] + alpha_.c_v() * vd_[i];
  end.acceleration = vd_;
  end.q = q_;
  end.v = v_;
  const std::size_t n_b = at(system().bilateral());
  copy(smooth_.multipliers().first(n_b), Out(end.lambda).first(n_b));
  copy(position_.multipliers(), end.nu);
  copy(velocity_.multipliers(), end.impulse);
  end.active = position_.flags();
  end.closed = velocity_.flags();
}

double NsgaDecoupled::row_force(const State& state, int row) const {
  return state.lambda[at(row)] + state.impulse[at(row)] / state.last_h;
}

std::span<const Stage> NsgaDecoupled::stages() {
  using Kind = Stage::Kind;
  const State& n = start();
  stages_.clear();
  stages_.push_back({Kind::motion, n.t, t_, n.q, n.v, q_smooth_, v_smooth_, smooth_.multipliers(), h_});
  if (moved_)
    stages_.push_back({Kind::correction, t_, t_, q_smooth_, v_smooth_, q_, v_smooth_, position_.multipliers()});
  if (jumped_) {
    stages_.push_back({Kind::jump, t_, t_, q_, v_smooth_, q_, v_, velocity_.multipliers(), h_});
    if (options_.force_corrections && (moved_ || system().velocity_dependent())) {
      if (!correction_known_) {
        correct_forces(v_);
        if (mass_changes_) axpy(-1.0, mass_change_, f_correction_);
      }
      stages_.back().force = f_correction_;
    }
  }
  stages_.back().closed = velocity_.flags();
  return stages_;
}

}  // namespace carom
