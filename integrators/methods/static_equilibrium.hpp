// Static equilibria along a path of loads.
//
//   f(q, 0, t) + G^T lambda = 0,   g_b(q, t) = 0,   0 <= g_u(q, t)  perp  lambda_u >= 0
//
// f = f_int + s(t) (f_ext + f_gravity). Time only orders the path: loads, drivers and obstacles are functions of it,
// and the factor s grows from 0 at `ramp_start` to 1 over `ramp_duration` (s = 1 throughout when that is 0). A step of
// the time loop is an increment of load; one that does not converge is halved there and grows back.
//
// Each equilibrium is found by semi-smooth Newton on the saddle point [[K - D(G^T lambda), -G_A^T], [-G_A, 0]] with the
// augmented Lagrangian of Alart and Curnier for the set A of contacts (THEORY sections 2 and 4), damped by Deuflhard's
// natural monotonicity test ("Newton Methods for Nonlinear Problems", 2004, section 3.3): a step is shortened until the
// simplified correction shrinks. It does not see the stiff membrane forces that make a test on residuals so slow for
// slender bodies. Where that matrix is singular (rigid motions that only contacts hold, slack bars, a pendulum that has
// no multipliers yet) the iteration goes on with K + sigma M, sigma falling with the residual: pseudo-transient
// continuation (Kelley, Keyes 1998), which moves as little as possible along what nothing holds.
//
// Limits: equilibria are followed by load, so that the path ends where the load has a maximum (limit point); whether an
// equilibrium is stable is not asked. No friction. Forces that depend on velocities are those at rest.
#pragma once

#include "contact/law/contact_set.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

struct StaticOptions {
  int max_iterations = 50;              ///< of an increment, counted from the last change of its active set
  double tolerance = 1e-10;             ///< of the equilibrium, relative to the sum of its terms
  double constraint_tolerance = 1e-11;  ///< of constraint rows, times the length scale
  double ramp_start = 0, ramp_duration = 0;
  Scales scales;
  double weight = 1;  ///< a typical force
};

class StaticEquilibrium final : public Integrator {
 public:
  StaticEquilibrium(const System& system, const StaticOptions& options);

  /// Moves state.q to the equilibrium at time t under the loads times `factor`, and sets its multipliers and active
  /// set, from which the search starts. On failure the state is untouched.
  bool solve(const System& system, State& state, double t, double factor, StepReport& report);
  /// s(t)
  double load_factor(double t) const;

  std::string name() const override { return "static"; }
  std::vector<std::string> subproblems() const override { return {"equilibrium"}; }
  bool is_static() const override { return true; }
  /// Sets velocities and multipliers to zero; the configuration is left as it is, in equilibrium or not.
  bool initialise(const System& system, State& state, double h) override;
  int suspicious_row() const override { return suspicious_row_; }
  StepReport step(const System& system, State& state, double h) override;
  LinearCounters linear_counters() const override;
  StepStages stages() const override { return {q_n_, rest_, q_, rest_, false, false}; }
  void jump_force(const System& system, const State& state, Out f, Out scratch) const override;
  In equation_residual() const override { return r_; }
  In row_residual() const override { return row_residual_; }
  void save(NamedArrays& record) const override;
  void restore(const NamedArrays& record) override;

 private:
  void residual(const System& system, In q, In lambda, double t, double factor);
  double correction_size(const System& system, In dx) const;
  bool factorise(const System& system, double t, double factor, double sigma);
  bool damp(const System& system, double t, double factor, double step);
  bool fail(const System& system, StepReport& report, const char* reason);

  StaticOptions options_;
  SaddlePoint saddle_, shifted_;  // shifted: with sigma M
  bool shifted_known_ = false, constant_ = false;
  ContactSet contacts_;
  int suspicious_row_ = -1;
  long steps_ = 0;
  double stiffness_ = 1, root_size_ = 1;

  Vector rest_, q_n_, q_, q_trial_;
  Vector r_, f_, loads_, reaction_, dx_, dx_next_;
  Vector lambda_, lambda_trial_, dl_b_, dl_b_next_, dl_A_, dl_A_next_;
  Vector g_, c_A_, s_, row_residual_;
  double residual_norm_ = 0, terms_ = 0;
};

/// How the equilibrium at the start was reached.
struct EquilibriumReport {
  bool converged = false;
  int increments = 0, iterations = 0;
  double factor = 0;  ///< of the loads, the last one reached
  StepReport last;    ///< of the increment that failed
};

/// Moves state.q to the equilibrium at state.t, with gravity and loads growing from nothing in as few increments as
/// converge (2^10 at most). Everything else in the state, and q on failure, stays.
EquilibriumReport find_equilibrium(const System& system, const StaticOptions& options, State& state);

}  // namespace carom
