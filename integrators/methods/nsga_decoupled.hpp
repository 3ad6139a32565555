// The decoupled nonsmooth generalized-alpha method (DS) and its simplification without force corrections (DSn).
//
// Cosimo, Galvez, Cavalieri, Cardona, Brüls, "A robust nonsmooth generalized-alpha scheme for flexible systems with
// impacts" (2020), [DS20]. Three sub-problems per step, strictly in sequence, each by semi-smooth Newton:
//
//   1. smooth motion         M(q~) v~' - f(q~, v~) - G_b(q~)^T lambda~ = 0,   G_b v~ + g_t = 0
//   2. position correction   M(q~) U - h^2 f_p - G(q)^T nu = 0,   q = q~ o exp(U),   g_b = 0,   0 <= g_u perp nu_u >= 0
//   3. velocity jump         M(q) W - h f_* - G(q)^T Lam = 0,     v = v~ + W,        g'_b = 0,
//                            0 <= g' + e g'_n  perp  Lam_u >= 0  for the contacts that were active in 2.
//   f_p = f(q, v~) - f(q~, v~) + (G_b(q) - G_b(q~))^T lambda~,   f_* the same at v, less (M(q) - M(q~)) v~'
//
// Constraints hold at position and velocity level at the end of every step.
#pragma once

#include "integrators/common/integrator.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

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
  NsgaDecoupled(const NsgaDecoupled&) = delete;
  NsgaDecoupled& operator=(const NsgaDecoupled&) = delete;
  ~NsgaDecoupled() override;
  static MethodInfo method_info(bool force_corrections = true);
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  struct Correction;
  struct Position;
  struct Velocity;
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool correct_position(const StepScales& scales, const State& start, StepReport& report);
  bool jump_velocity(const StepScales& scales, const State& start, StepReport& report);
  const Vector& force_correction(In v, bool mass_changes);

  NsgaOptions options_;
  Vector matrix_;  // while a solver assembles it
  SmoothMotion smooth_;
  MixedNewton position_, velocity_;
  MixedNewton* solvers_[3] = {&smooth_.solver(), &position_, &velocity_};
  std::unique_ptr<Position> U_;
  std::unique_ptr<Velocity> W_;
  double h_ = 0, t_ = 0;
  StepStart step_;                       // for rows that refer to the start of the step
  bool correction_known_ = false;        // f_correction_ belongs to (q, v)
  const TangentOperators* T_ = nullptr;  // T(U)
  Vector q_, v_, reflected_, s_, f_correction_, Mx_, scratch_;
  std::vector<Stage> stages_;
};

}  // namespace carom
