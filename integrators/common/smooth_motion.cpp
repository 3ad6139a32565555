#include "integrators/common/smooth_motion.hpp"

#include <numeric>
#include <vector>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_rank.hpp"
#include "core/mechanics/switching_block.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

namespace {

constexpr int few_iterations = 10;       // of an attempt
constexpr int patient_iterations = 25;   // of an attempt with kept matrices or conjugate gradients
constexpr double unresolved_turn = 0.1;  // rad

}  // namespace

MatrixProperties tangent_properties(const System& system, NewtonMethod method) {
  const bool automatic = method == NewtonMethod::automatic, quasi = system.symmetrisable() && automatic;
  return {
      .symmetric = system.symmetric(),
      .positive_definite = (system.symmetric() || quasi) && system.bilateral() == 0 && !system.has_massless_equation(),
      .solids_definite = system.solids_symmetric() || automatic};
}

MixedSetup position_setup(const System& system, NewtonMethod method, RowSelection rows) {
  const MatrixProperties matrix = tangent_properties(system, method);
  const bool flat = contacts_linear(system);
  return {.name = "position",
          .rows = rows,
          .matrix = {matrix.symmetric && flat, matrix.positive_definite && flat, matrix.solids_definite},
          .linear = system.linear() && flat,
          .curved_rows = !flat,
          .solved_at_rest = true};
}

MixedSetup velocity_setup(const System& system, NewtonMethod method, RowSelection rows) {
  return {.name = "velocity",
          .rows = rows,
          .matrix = tangent_properties(system, method),
          .linear = system.linear(),
          .constant_matrix = system.constant_mass() && !system.velocity_dependent() && system.bilateral() == 0,
          .free_of_step = true,
          .fixed_places = true};
}

SmoothMotion::SmoothMotion(const System& system, const Scales& scales, const NewtonOptions& newton,
                           const GeneralizedAlpha& alpha, MatrixProperties matrix, int index, Vector* scratch,
                           ConstraintForm form)
    : system_(&system),
      length_(scales.length),
      mass_(scales.mass),
      predictor_(newton.predictor),
      index_(index),
      iterations_(newton.method == NewtonMethod::modified ? patient_iterations : few_iterations),
      alpha_(alpha),
      form_(form),
      newton_(system, newton, {.name = "smooth", .matrix = matrix, .linear = system.linear(), .keep_old_matrix = true},
              scales, index, scratch) {
  if (newton_.saddle().iterative()) iterations_ = patient_iterations;
  for (Vector* x : {&a_star_, &a_n_, &vd_, &v_, &d_, &f_, &reaction_, &Mx_, &dv_}) x->assign(at(system.size()), 0.0);
  q_.assign(at(system.dofs().configuration_size()), 0.0);
  row_.assign(at(system.rows()), 0.0);
}

bool start_motion(const System& system, const GeneralizedAlpha& alpha, double mass_scale, State& state, double h,
                  InitialAcceleration kind, bool joints, SaddlePoint& mass, std::span<MixedNewton* const> solvers,
                  StepReport& report) {
  Vector vd(at(system.size())), lambda(at(system.bilateral()));
  // Whether joints are redundant is a matter of the rank of their rows. Pivots may hide it, by rounding.
  std::vector<int> rows(lambda.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::erase_if(rows, [&](int row) { return vacant_row(system.row_block(row), system.row_place(row).row); });
  if (!rows.empty() && !row_rank(system, state.q, state.t, rows).redundant.empty()) mass.expect_redundant();
  const auto acceleration = [&](In q, In v, double t, Vector& a, double c_C, double c_K) {
    return consistent_acceleration(system, mass, mass_scale, joints, q, v, t, a, lambda, report, c_C, c_K);
  };
  if (!acceleration(state.q, state.v, state.t, vd, 0, 0)) return false;
  if (kind == InitialAcceleration::zero) {
    set_zero(vd);
    set_zero(lambda);
  }
  // Rows redundant at a consistent configuration stay redundant; small errors of the joints can hide it later.
  if (mass.redundant())
    for (MixedNewton* solver : solvers) solver->saddle().expect_redundant();
  // Where the acceleration turns a node by a large angle within a step, as a moment on a tiny rotary inertia does, the
  // step does not resolve that motion: take the acceleration of the first iteration of the smooth motion.
  if (h * h * system.largest_angular_velocity(vd) > unresolved_turn &&
      !acceleration(state.q, state.v, state.t, vd, 1 / alpha.c_a(h), alpha.c_q(h) / alpha.c_a(h)))
    return false;
  state.acceleration = vd;
  copy(lambda, Out(state.lambda).first(lambda.size()));
  state.history = {{"a", vd}};
  if (kind != InitialAcceleration::shifted) return true;
  // v' at t_0 + (alpha_m - alpha_f) h, from the state there to second order
  const double tau = (alpha.alpha_m - alpha.alpha_f) * h;
  Vector q = state.q, v = state.v, d(v.size());
  combine(tau, state.v, 0.5 * tau * tau, vd, d);
  system.retract(state.q, d, q);
  axpy(tau, vd, v);
  if (!acceleration(q, v, state.t + tau, state.history[0].values, 0, 0)) return false;
  if (h * h * system.largest_angular_velocity(state.history[0].values) <= unresolved_turn) return true;
  return acceleration(q, v, state.t + tau, state.history[0].values, 1 / alpha.c_a(h), alpha.c_q(h) / alpha.c_a(h));
}

bool SmoothMotion::solve(const ProblemScales& scales, const State& start, EnergyGuard& guard, StepReport& report) {
  start_ = &start;
  step_ = scales.start;
  h_ = scales.h;
  t_ = scales.t;
  if (attempt(predictor_ == Predictor::previous ? First::previous : First::zero, scales, guard, report)) return true;
  if (newton_.setup().linear) return false;
  forget_failure(report);
  newton_.forget_matrix();
  return attempt(First::at_rest, scales, guard, report);
}

bool SmoothMotion::attempt(First first, const ProblemScales& scales, EnergyGuard& guard, StepReport& report) {
  copy(start_->history[0].values, a_n_);
  if (start_->last_h != h_) GeneralizedAlpha::rescale_a(start_->last_h, h_, start_->acceleration, a_n_);
  alpha_.predict_a(start_->acceleration, a_n_, a_star_);
  if (first == First::previous)
    copy(start_->acceleration, vd_);
  else if (first == First::zero)
    set_zero(vd_);
  else
    alpha_.accelerate(h_, start_->v, a_n_, a_star_, vd_);
  alpha_.advance(h_, start_->v, a_n_, a_star_, vd_, d_, v_);
  if (increment_ != nullptr) axpy(1.0, *increment_, d_);
  // a predicted motion to where forces are not finite is halved
  bool finite = evaluate();
  if (!finite) scale_into(1 / alpha_.c_q(h_), d_, dv_);
  for (double share = 0.5; !finite && share >= 1.0 / 256; share *= 0.5) finite = move(-share, dv_);
  newton_.begin(report, {.multipliers = first == First::zero ? In() : In(start_->lambda),
                         .max_iterations = newton_.setup().linear ? 0 : iterations_,
                         .other_start = first != First::at_rest && newton_.saddle().iterative()});
  if (!newton_.solve(*this, scales, report)) return false;
  if (guard.explains(*start_, q_, v_, h_, multipliers(), 0, newton_.terms())) return true;
  guard.blame(report, index_, *start_, q_, v_, t_);
  return false;
}

bool SmoothMotion::respond(const ProblemScales& scales, In f, Out dv) {
  if (!newton_.respond(*this, scales, f, dv)) return false;
  scale_into(alpha_.c_a(h_), dv, dv);
  return true;
}

void SmoothMotion::rows(Out c) {
  if (system_->bilateral() == 0) return;
  if (form_.velocity_level()) {
    system_->rates(q_, v_, t_, bilateral_rows, c, &step_);
    return;
  }
  const double unit = row_unit();
  const std::size_t n_b = at(system_->bilateral());
  const Out sum = c.first(n_b);
  set_zero(sum);
  const auto add = [&](double weight) { axpy(weight / unit, In(row_).first(n_b), sum); };
  if (form_.acceleration != 0) {
    system_->accelerations(q_, v_, vd_, t_, bilateral_rows, row_, &step_);
    add(form_.acceleration);
  }
  if (form_.velocity != 0) {
    system_->rates(q_, v_, t_, bilateral_rows, row_, &step_);
    add(form_.velocity);
  }
  if (form_.position != 0) {
    system_->gaps(q_, t_, bilateral_rows, row_, &step_);
    add(form_.position);
  }
}

double SmoothMotion::residual(In s, Out r) {
  if (!forces_known_) evaluate_forces();
  system_->mass_times(q_, vd_, Mx_);
  combine(1.0, Mx_, -1.0, f_, r);
  const double terms = size(*system_, Mx_, length_) + size(*system_, f_, length_);
  if (system_->bilateral() == 0) return terms;
  set_zero(reaction_);
  system_->add_reactions(q_, t_, s, bilateral_rows, reaction_, &step_);
  constraint_forces_known_ = true;
  axpy(-1.0, reaction_, r);
  return terms + size(*system_, reaction_, length_);
}

void SmoothMotion::linearise(In, Linearisation& request) {
  request.c_M = alpha_.c_a(h_);
  request.c_C = 1;
  request.c_K = request.c_s = alpha_.c_q(h_);
  // h is quadratic in v, so that dh/dv is 2 D(G v); D(G v' + h) is left out, of the order h^2
  request.c_rate = (2 * form_.acceleration + form_.velocity * request.c_K) / row_unit();
  request.rows_through_T = form_.position != 0 && form_.velocity == 0;
  request.q_M = request.q = q_.data();
  request.v = v_.data();
  request.a = vd_.data();
  if (!system_->uses_tangent_operators()) return;
  system_->tangent_operators(d_, T_);
  request.T = &T_;
}

bool SmoothMotion::move(double share, In dv) {
  axpy(share * alpha_.c_a(h_), dv, vd_);
  axpy(share, dv, v_);
  axpy(share * alpha_.c_q(h_), dv, d_);
  if (!newton_.setup().linear) return evaluate();
  // one correction solves a linear model; its forces are evaluated where something asks for them
  system_->retract(start_->q, d_, q_);
  forces_known_ = constraint_forces_known_ = false;
  return true;
}

bool SmoothMotion::evaluate() {
  system_->retract(start_->q, d_, q_);
  evaluate_forces();
  return newton_.setup().linear || all_finite(f_);
}

void SmoothMotion::evaluate_forces() {
  system_->forces(q_, v_, t_, force_all, f_);
  forces_known_ = true;
  constraint_forces_known_ = false;
}

void SmoothMotion::evaluate_constraint_forces() {
  set_zero(reaction_);
  if (system_->bilateral() > 0) system_->add_reactions(q_, t_, multipliers(), bilateral_rows, reaction_, &step_);
  constraint_forces_known_ = true;
}

void SmoothMotion::force_change(In q, In v, Vector& df, Vector& scratch) {
  if (!forces_known_) evaluate_forces();
  system_->forces(q, v, t_, force_all, scratch);
  combine(1.0, scratch, -1.0, f_, df);
  if (system_->bilateral() == 0) return;
  if (!constraint_forces_known_) evaluate_constraint_forces();
  system_->add_reactions(q, t_, multipliers(), bilateral_rows, df, &step_);
  axpy(-1.0, reaction_, df);
}

void SmoothMotion::write(State& end) const {
  Vector& a = end.history[0].values;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a_star_[i] + alpha_.c_v() * vd_[i];
  copy(vd_, end.acceleration);
  copy(multipliers().first(at(system_->bilateral())), Out(end.lambda).first(at(system_->bilateral())));
}

}  // namespace carom
