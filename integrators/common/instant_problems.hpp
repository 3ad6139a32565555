// Problems of one instant, at a fixed configuration q: an impact, and the accelerations with which a motion begins.
//
//   M W = G^T P,        0 <= G (v + W) + g_t + r  perp  P >= 0        joints: G (v + W) + g_t + r = 0
//   M a = f + G^T s,    0 <= G a + h              perp  s >= 0        joints: G a + h = 0
//
// with r = e (G v + g_t) of the contacts that reflect, and of joints r = 0, or -(G v + g_t) so that G W = 0. Both are
// linear complementarity problems in W and a. The conditional rows that may close are the candidates of
// MixedNewton::begin.
#pragma once

#include "core/mechanics/state.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

/// M x - G^T s - f = 0 at a configuration; what both problems share.
class InstantProblem : public MixedProblem {
 public:
  InstantProblem(const System& system, const Scales& scales);
  /// The problem at a state, which must outlive the solve.
  virtual void begin(const State& state);
  /// W or a, size() entries.
  const Vector& solution() const { return x_; }

  double residual(In s, Out r) override;
  RowPoint row_point() override { return {state_->q}; }
  void linearise(In s, Linearisation& request) override;
  bool move(double share, In dx) override;

 protected:
  const System* system_;
  double length_;
  const State* state_ = nullptr;
  StepStart start_;
  Vector x_, f_, Mx_, reaction_;
};

/// The jump W of the velocity.
class ImpactProblem final : public InstantProblem {
 public:
  ImpactProblem(const System& system, const Scales& scales);
  /// `reflected`: r, rows() entries, which must outlive the solve.
  void begin(const State& state, const Vector& reflected);
  /// Joints with friction: their load besides that of the jump is `load`, an impulse per bilateral row, and friction
  /// that does not follow it acts over `duration` as at time t. Without a call since begin() the jump is of one
  /// instant.
  void set_load(In load, double duration, double t);
  const Vector& velocity() const { return v_; }  ///< v + W
  void rows(Out c) override;
  void friction_limits(In s, std::span<const int> joints, Out limits) override;
  bool move(double share, In dW) override;

 private:
  const Vector* reflected_ = nullptr;
  Vector v_, load_, total_;
  double duration_ = 0, middle_ = 0;
};

/// The acceleration a = v'.
class AccelerationProblem final : public InstantProblem {
 public:
  using InstantProblem::InstantProblem;
  /// The first iterate is the acceleration of the state.
  void begin(const State& state) override;
  void rows(Out c) override;
};

/// The velocity jump of one impact: bilateral rows, contacts and friction. The configuration differs between the
/// impacts of a step.
MixedSetup impact_setup(const System& system, NewtonMethod method);
/// Bilateral and unilateral rows, without friction, at a fixed configuration; `name` is for reports.
MixedSetup instant_setup(const System& system, const char* name, NewtonMethod method);
/// Accelerations and multipliers of a state in which its active contacts, which touch at rest, may press. Contacts that
/// press are closed afterwards; those that move apart are no longer active. `scales`: of the first step. False with a
/// report of the solver's sub-problem if the problem has no solution.
bool press(MixedNewton& solver, AccelerationProblem& problem, const StepScales& scales, State& state,
           StepReport& report);

}  // namespace carom
