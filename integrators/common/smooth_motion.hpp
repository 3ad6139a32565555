// SmoothMotion: a step of the generalized-alpha method with one equation for every bilateral constraint.
//
//   M(q~) v~' - f(q~, v~, t) - G_b(q~)^T lambda~ = 0,   A (G_b v~' + h) + V (G_b v~ + g_t) + P g_b = 0
//   q~ = q_n o exp(d), d and v~ by the predictor and corrector of generalized_alpha.hpp
//
// With constraints at velocity level, A = P = 0, the smooth sub-problem of the decoupled nonsmooth method [DS20]; by
// itself the classical methods [PVA18] eq. 71: index 3 (P alone), index 2 (V), index 1 (A), and Baumgarte's
// stabilisation A = 1, V = 2 alpha, P = beta^2.
#pragma once

#include "core/mechanics/state.hpp"
#include "integrators/common/energy_guard.hpp"
#include "integrators/common/generalized_alpha.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

/// a_0 = v'(t_0), or v' at t_0 + (alpha_m - alpha_f) h; `zero`: a_0 = v'(t_0) = 0 without reactions, a disturbed start.
enum class InitialAcceleration { consistent, shifted, zero };

/// A, V (1/time) and P (1/time^2) of the equation of a bilateral constraint.
struct ConstraintForm {
  double acceleration = 0, velocity = 1, position = 0;
  bool velocity_level() const { return acceleration == 0 && position == 0; }
};

/// The start of a run: v' and the multipliers of the joints from the equations of motion, and with them a_0. `mass` is
/// analysed for M and G_b and forgets the matrix; all `solvers` learn of redundant joints. False with a report if the
/// mass matrix with the joints is singular. Without `joints` their multipliers are zero.
bool start_motion(const System& system, const GeneralizedAlpha& alpha, double mass_scale, State& state, double h,
                  InitialAcceleration kind, bool joints, SaddlePoint& mass, std::span<MixedNewton* const> solvers,
                  StepReport& report);

class SmoothMotion final : public MixedProblem {
 public:
  /// `index`, `scratch`: see MixedNewton.
  SmoothMotion(const System& system, const Scales& scales, const NewtonOptions& newton, const GeneralizedAlpha& alpha,
               MatrixProperties matrix, int index, Vector* scratch, ConstraintForm form = {});

  /// start_motion() of this motion.
  bool initialise(State& state, double h, InitialAcceleration kind, SaddlePoint& mass,
                  std::span<MixedNewton* const> solvers, StepReport& report) {
    return start_motion(*system_, alpha_, mass_, state, h, kind, true, mass, solvers, report);
  }
  /// From `start`, whose history begins with a_n. Where Newton's method fails from the acceleration and the matrix of
  /// the step before, or leads to a motion that the guard refuses, it tries again from d = 0, the configuration at the
  /// start, with a new matrix: the first iteration is then the step of a linearly implicit method. Few iterations are
  /// allowed for each attempt, because an iteration that wanders ends at a wrong root, if at all.
  bool solve(const ProblemScales& scales, const State& start, EnergyGuard& guard, StepReport& report);
  /// The next solves add an increment to d (GGL); null: none.
  void displace(const Vector* increment) { increment_ = increment; }
  /// d of the last solve, with this increment.
  const Vector& increment() const { return d_; }
  /// v', a and lambda at the end of a step.
  void write(State& end) const;

  MixedNewton& solver() { return newton_; }
  const Vector& q() const { return q_; }
  const Vector& v() const { return v_; }
  const Vector& acceleration() const { return vd_; }
  In multipliers() const { return newton_.multipliers(); }
  /// What the forces of this motion would change at (q, v):
  /// df = f(q, v, t) - f(q~, v~, t) + (G_b(q) - G_b(q~))^T lambda~.   `scratch` is as long as df.
  void force_change(In q, In v, Vector& df, Vector& scratch);

  /// The velocity at the end of the step that an impulse f at its end gives, as the matrix of the last solve has the
  /// motion respond: dv = c_a S^-1 f with the joints; f and dv: size() entries. prepare() once after a solve; both are
  /// false if the matrix is singular.
  bool prepare(const ProblemScales& scales, const StepReport& report) { return newton_.prepare(*this, scales, report); }
  bool respond(const ProblemScales& scales, In f, Out dv);

  void rows(Out c) override;
  double residual(In s, Out r) override;
  RowPoint row_point() override { return {q_}; }
  void linearise(In s, Linearisation& request) override;
  bool move(double share, In dv) override;

 private:
  enum class First { previous, zero, at_rest };  // v~' of the step before, v~' = 0, d = 0
  bool attempt(First first, const ProblemScales& scales, EnergyGuard& guard, StepReport& report);
  /// dr/dx of a row over G: what the rows are divided by.
  double row_unit() const {
    return form_.acceleration * alpha_.c_a(h_) + form_.velocity + form_.position * alpha_.c_q(h_);
  }
  bool evaluate();  // q~ and the forces there; false if they are not finite
  void evaluate_forces();
  void evaluate_constraint_forces();

  const System* system_;
  double length_, mass_;
  Predictor predictor_;
  int index_, iterations_;  // of an attempt, at most
  GeneralizedAlpha alpha_;
  ConstraintForm form_;
  MixedNewton newton_;
  const State* start_ = nullptr;
  const Vector* increment_ = nullptr;
  StepStart step_;  // for rows that refer to the start
  double h_ = 0, t_ = 0;
  bool forces_known_ = false, constraint_forces_known_ = false;
  TangentOperators T_;
  Vector a_star_, a_n_, vd_, v_, d_, q_, f_, reaction_, Mx_, dv_, row_;
};

/// The matrix of a method on M, C and K: conjugate gradients may take its symmetric part, as a quasi-Newton method.
MatrixProperties tangent_properties(const System& system, NewtonMethod method);
/// Sub-problems "position" and "velocity" on M(q~) + h^2 K and M(q) + h C, with the selected rows.
MixedSetup position_setup(const System& system, NewtonMethod method, RowSelection rows = position_rows);
MixedSetup velocity_setup(const System& system, NewtonMethod method,
                          RowSelection rows = bilateral_rows | unilateral_rows);

}  // namespace carom
