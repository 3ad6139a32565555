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
//
// Coulomb friction acts in 2. and in 3. by the same law (ConeProblem): in 3. on the slip velocities, in 2. on the slip
// displacements of the step less those before touch-down,
//
//   s_T - s*,   s* = 0 where the contact was closed at t_n, else g_n/(g_n - g~) s~_T
//
// so that a body at rest does not creep; stick and slip are decided in both anew. Anchors of several contacts that
// close in a step may contradict each other (wedges): those contacts then have no friction in 2. of this step
// (fall-back).
//
// Option mean_directions: rows that turn (a bead in a bowl, a body that turns about a sticking point) cost O(h) above,
// because reactions of a whole step act in the directions of its end. For contacts that were closed at t_n the
// reactions then are F^T nu, F^T Lam with means of the smooth multiplier's weights in the step,
//   position  F = (G(q) + 2 G(q_n))/3,      velocity  F = (G(q) + G(q_n))/2
// while gaps and rates stay those of the end. The gap is then still exact and such motions are of second order.
#pragma once

#include "integrators/common/integrator.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

struct NsgaOptions {
  double rho_infinity = 0.8;
  bool force_corrections = true;  ///< false: DSn, f_p = f_* = 0
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  /// Reactions of contacts that stay closed act in mean directions of the step; false: in those of its end [DS20].
  bool mean_directions = false;
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
  void find_anchors(const State& start);
  bool solve_without_anchors(const StepScales& scales, const State& start, StepReport& report);
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
  Vector anchors_;                          // s* per row; empty without friction
  std::vector<std::uint8_t> frictionless_;  // contacts in the fall-back
  std::vector<std::uint8_t> stayed_;        // rows of contacts that were closed at t_n
  MeanDirections mean_position_, mean_velocity_;
  std::vector<Stage> stages_;
};

}  // namespace carom
