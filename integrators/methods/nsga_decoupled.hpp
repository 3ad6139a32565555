// The decoupled nonsmooth generalized-alpha method (DS) and its simplification without force corrections (DSn).
//
// THEORY section 4; Cosimo, Galvez, Cavalieri, Cardona, Brüls, "A robust nonsmooth generalized-alpha scheme for
// flexible systems with impacts" (2020). Three sub-problems per step, strictly in sequence, each by semi-smooth Newton:
// smooth motion (v~, lambda~), position correction (U, nu), velocity jump (W, Lam). Bilateral and unilateral
// constraints hold at position and velocity level at the end of every step.
#pragma once

#include "integrators/common/generalized_alpha.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

enum class InitialAcceleration { consistent, shifted };  ///< a_0 = v'(t_0), or v' at t_0 + (alpha_m - alpha_f) h

struct NsgaOptions {
  double rho_infinity = 0.8;
  bool force_corrections = true;  ///< false: DSn, f_p = f_* = 0
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  double penalty = 1;  ///< p_p = p_v = penalty * m, p_s = penalty * m/h
  NewtonOptions newton;
  Scales scales;
};

class NsgaDecoupled final : public Integrator {
 public:
  NsgaDecoupled(const System& system, const NsgaOptions& options);

  static MethodInfo method_info(bool force_corrections = true);
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  double row_force(const State& state, int row) const override;
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  // Each sub-problem with the equation that it solves; all share the vectors of the method.
  class SmoothMotion final : public MixedProblem {  // M(q~) v~' - f(q~, v~) - G_b^T lambda~ = 0,  G_b v~ + g_t = 0
   public:
    explicit SmoothMotion(NsgaDecoupled& method) : m(method) {}
    void rows(Out c) override;
    double residual(In s, Out r) override;
    RowPoint row_point() override { return {m.q_smooth_}; }
    void linearise(In s, Linearisation& S) override;
    bool move(double share, In dv) override;
    bool evaluate();  // q~ and its forces; false if they are not finite
    NsgaDecoupled& m;
  };
  class PositionCorrection final : public MixedProblem {  // M(q~) U - h^2 f_p - G^T nu = 0,  g_A(q) = 0
   public:
    explicit PositionCorrection(NsgaDecoupled& method) : m(method) {}
    void rows(Out c) override { m.system().gaps(m.q_, m.t_, all_rows, c); }
    double residual(In s, Out r) override;
    RowPoint row_point() override;
    void linearise(In s, Linearisation& S) override;
    bool move(double share, In dU) override;
    NsgaDecoupled& m;
  };
  class VelocityJump final
      : public MixedProblem {  // M(q) W - h f_* - G^T Lam = 0,  G v + g_t + e (G_n v_n + g_t,n) = 0
   public:
    explicit VelocityJump(NsgaDecoupled& method) : m(method) {}
    void rows(Out c) override;
    double residual(In s, Out r) override;
    RowPoint row_point() override { return {m.q_}; }
    void linearise(In s, Linearisation& S) override;
    bool move(double share, In dW) override;
    NsgaDecoupled& m;
  };

  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool solve_smooth_motion(const StepScales& scales, const State& start, Predictor predictor, StepReport& report);
  bool correct_position(const StepScales& scales, const State& start, StepReport& report);
  bool jump_velocity(const StepScales& scales, const State& start, StepReport& report);
  void commit(State& end) const;
  void evaluate_smooth_forces();
  void correct_forces(In v);

  NsgaOptions options_;
  GeneralizedAlpha alpha_;
  Vector matrix_;  // while a solver assembles it
  MixedNewton smooth_, position_, velocity_;
  MixedNewton* solvers_[3];
  SmoothMotion smooth_motion_{*this};
  PositionCorrection position_correction_{*this};
  VelocityJump velocity_jump_{*this};

  const State* start_ = nullptr;  // q_n, v_n, ... of the step under way
  double h_ = 0, t_ = 0;
  bool moved_ = false, jumped_ = false;  // the position correction, the velocity jump did something
  bool forces_known_ = false;            // f_smooth_ belongs to (q~, v~)
  bool correction_known_ = false;        // f_correction_ belongs to (q, v)
  bool mass_changes_ = false;
  const TangentOperators* T_ = nullptr;                 // T(U) at the present iterate
  Vector a_star_, a_n_, vd_, v_smooth_, d_, q_smooth_;  // smooth state (tilde in the paper)
  Vector U_, q_, W_, v_, reflected_, s_;                // corrected state; e (G_n v_n + g_t,n) per row
  Vector f_smooth_, reaction_smooth_, f_, f_correction_, reaction_, Mx_, mass_change_, dv_;
  std::vector<Stage> stages_;
};

}  // namespace carom
