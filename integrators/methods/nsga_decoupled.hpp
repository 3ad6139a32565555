// The decoupled nonsmooth generalized-alpha method (DS) and its simplification without force corrections (DSn).
//
// THEORY section 4; Cosimo, Galvez, Cavalieri, Cardona, Brüls, "A robust nonsmooth generalized-alpha scheme for
// flexible systems with impacts" (2020). Three sub-problems per step, strictly in sequence, each by semi-smooth Newton:
// smooth motion (v~, lambda~), position correction (U, nu), velocity jump (W, Lam). Bilateral and unilateral
// constraints hold at position and velocity level at the end of every step.
#pragma once

#include "contact/law/contact_set.hpp"
#include "integrators/common/generalized_alpha.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/newton.hpp"

namespace carom {

enum class InitialAcceleration { consistent, shifted };  ///< a_0 = v'(t_0), or v' at t_0 + (alpha_m - alpha_f) h

struct NsgaOptions {
  double rho_infinity = 0.8;
  bool force_corrections = true;  ///< false: DSn, f_p = f_* = 0
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  double penalty = 1;  ///< p_p = p_v = penalty * m, p_s = penalty * m/h
  NewtonOptions newton;
  Scales scales;
  double weight = 1;  ///< a force by which the paper's tol_f is measured
};

class NsgaDecoupled final : public Integrator {
 public:
  NsgaDecoupled(const System& system, const NsgaOptions& options);

  std::string name() const override { return options_.force_corrections ? "nsga_decoupled" : "nsga_decoupled (DSn)"; }
  std::vector<std::string> subproblems() const override { return {"smooth", "position", "velocity"}; }
  bool initialise(const System& system, State& state, double h) override;
  int suspicious_row() const override { return suspicious_row_; }
  StepReport step(const System& system, State& state, double h) override;
  LinearCounters linear_counters() const override;
  StepStages stages() const override { return {q_, v_, q_smooth_, v_smooth_, moved_, jumped_}; }
  void jump_force(const System& system, const State& state, Out f, Out scratch) const override;
  In equation_residual() const override { return r_; }
  In row_residual() const override { return row_residual_; }
  void save(NamedArrays& record) const override;
  void restore(const NamedArrays& record) override;

 private:
  enum Subproblem { smooth = 0, position = 1, velocity = 2 };

  bool solve_smooth_motion(const System& system, const State& state, double h, StepReport& report);
  bool find_smooth_motion(const System& system, const State& state, double h, Predictor predictor, StepReport& report);
  void correct_forces(const System& system, In v, double t);
  bool correct_position(const System& system, const State& state, double h, StepReport& report);
  bool jump_velocity(const System& system, const State& state, double h, StepReport& report);
  void commit(const System& system, State& state, double h, StepReport& report);

  bool initial_acceleration(const System& system, In q, In v, double t, Vector& vd, Vector& lambda);
  bool needs_factorisation(Subproblem which, double h, const SubproblemReport& report, bool set_changed);
  void factorised(Subproblem which, double h, const SubproblemReport& report);
  void note_redundancy(StepReport& report) const;
  bool fail(StepReport& report, Subproblem which, const char* reason);
  bool fail_at(StepReport& report, Subproblem which, const char* reason, In bilateral, std::span<const int> active,
               In values);
  bool too_many(const SubproblemReport& sub, int last_change, std::size_t rows) const;
  void mark_touching(const System& system, State& state);
  bool upright(const System& system, double t, StepReport& report, Subproblem which);
  bool fail_singular(const System& system, StepReport& report, Subproblem which);

  NsgaOptions options_;
  GeneralizedAlpha alpha_;
  SaddlePoint saddle_[3];
  NewtonControl newton_[3];
  double factor_h_[3] = {0, 0, 0};
  bool constant_[3] = {false, false, false};
  bool mass_alone_ = false;  // the velocity jump's matrix is a constant M
  Vector matrix_;            // while a saddle point assembles it
  int suspicious_row_ = -1;
  long steps_ = 0;
  bool forces_known_ = false, correction_known_ = false;
  bool moved_ = false, jumped_ = false;
  double noise_stiffness_ = 0, noise_force_ = 0, root_size_ = 1, speed_ = 1, largest_position_ = 0;
  ContactSet contacts_position_, contacts_velocity_;
  TangentOperators T_;

  // smooth state and multipliers of the step under way (tilde in the paper); after it q_ and v_ are those it began with
  Vector a_star_, a_n_, vd_, v_smooth_, d_, q_smooth_, lambda_;
  // corrected state
  Vector U_, q_, W_, v_, nu_b_, impulse_b_;
  // forces and residuals
  Vector f_smooth_, reaction_smooth_, f_, reaction_, Mx_, f_correction_, r_, dx_, dl_b_, dl_A_;
  Vector mass_difference_;
  Vector g_, c_, c_A_, s_, rate_n_;
  Vector row_residual_;  // of a failed trial
};

}  // namespace carom
