// CoupledMotion: smooth motion, position correction and velocity jump that depend on each other.
//
//   M v~' - G_S^T lambda~ = f(q, v, t)     [G v~ + g_t]_S = 0  (PVV, eq. 5a)   or  [G v~' + h]_S = 0  (PVA, eq. 65b)
//   M U - G_A^T nu = 0                     g_A = 0
//   M W - G_B^T Lam = 0                    [G v + g_t + E (G_n v_n + g_t,n)]_B = 0
//   q = q_n o exp(d) o exp(U),  v = v~ + W
//
// with M, G, f, g, h at the total (q, v, t): the nonsmooth generalized-alpha methods before their decoupling
// ([MONO] eqs. 5, 6; [PVA18] eq. 65). Sets:
//
//   A = { j: nu*_j - p_p g_j > 0 },   B = { j in A: Lam*_j - p_v [..]_j > 0 }  or  { j: g_j(q~) <= 0, ... },
//   S = { j in B: lambda~_j - p_s (G v~' + h)_j > 0 }  or bilateral rows only
//
// where nu* = nu, Lam* = Lam without conditional rows in S, and otherwise include the time integrals of lambda~
// ([PVA18] eqs. 65m-o) where these are positive: a negative one, which the memory of eta leaves for some steps, would
// let an open contact penetrate.
//
// Contacts with Coulomb friction have slip rows in the second and third problem, with the law of FrictionSet: slip
// velocities in the third, and in the second slip displacements s_T - s* of the step. s* = 0 where the contact was
// closed at t_n, else g_n/(g_n - g~) s~_T, of q~ as the iteration has it. The smooth motion has no friction, and the
// contacts are not in S. Anchors of contacts that close in a step may contradict each other: those contacts, and if
// need be all, then have no friction in the second problem of this step.
//
// Joints with friction have their rows there, too, with the discs of the decoupled method: in PVA the reactions of the
// smooth motion are those that move it, eta.
//
// With mean directions, F of MeanDirections takes the place of G in G_A^T nu and G_B^T Lam for contacts that were
// closed at t_n.
//
// An iteration evaluates all sets and residuals once and corrects the three problems in turn with the coupling terms
// left out ([PVA18] algorithm 1), mixed with former sweeps or plain, or all together with these terms
// (MonolithicNewton).
#pragma once

#include <optional>

#include "core/mechanics/state.hpp"
#include "integrators/common/coupled_friction.hpp"
#include "integrators/common/energy_guard.hpp"
#include "integrators/common/generalized_alpha.hpp"
#include "integrators/common/monolithic_newton.hpp"
#include "integrators/common/smooth_motion.hpp"
#include "integrators/common/sweep_mixing.hpp"
#include "integrators/common/touching_contacts.hpp"

namespace carom {

struct CoupledSetup {
  bool acceleration_level = false;            ///< PVA; else PVV
  RowSelection smooth_rows = bilateral_rows;  ///< with unilateral ones in PVA only: strategy 3
  bool free_motion = false;                   ///< S is empty: strategy 1
  bool smooth_gap = false;                    ///< B from the gaps of the smooth motion in place of A
  bool monolithic = false;                    ///< PVV with bilateral rows in S
  bool mixes_sweeps = false;                  ///< SweepMixing; else plain sweeps, as published
  bool mean_directions = false;               ///< F in place of G as the directions of nu and Lam
  double penalty = 1;
};

/// Conditional rows of a motion, flags per row. Null: no restriction, and all sets by their laws.
struct ContactRoles {
  const std::vector<std::uint8_t>* candidates = nullptr;  ///< take part in A; the others do not exist
  const std::vector<std::uint8_t>* fixed = nullptr;       ///< are equations at all levels; other candidates only in A
};

class CoupledMotion final : public CoupledProblem {
 public:
  CoupledMotion(const System& system, const Scales& scales, const NewtonOptions& newton, double rho_infinity,
                const CoupledSetup& setup);
  CoupledMotion(const CoupledMotion&) = delete;
  CoupledMotion& operator=(const CoupledMotion&) = delete;
  ~CoupledMotion() override;

  /// The start of a run (start_motion), with eta_0 = lambda~_0. The active contacts of the state, which touch at rest,
  /// press where they belong to S. `scales`: of the first step.
  bool initialise(const StepScales& scales, State& state, InitialAcceleration kind, StepReport& report);
  /// From `start`, whose history is a_n and, of PVA, eta_n. Where the sets of strategy 3 cycle, or impacts accumulate,
  /// contacts take no part in S in a second attempt (StepFigures::set_fallback).
  bool solve(const StepScales& scales, const State& start, EnergyGuard& guard, StepReport& report,
             const ContactRoles& roles = {});
  /// All arrays of the end of the step; `impulse` holds Lam*.
  void write(State& end) const;

  const Vector& q() const { return q_; }
  const Vector& v() const { return v_; }
  const Vector& smooth_q() const { return q_smooth_; }
  const Vector& smooth_v() const { return v_smooth_; }
  bool corrected() const { return moved_[1]; }  ///< U is not zero
  bool jumped() const { return moved_[2]; }     ///< W is not zero
  /// Of Lam; null: those of the end of the step.
  const MeanDirections* mean_directions() const { return directions(mean_velocity_); }
  const MixedNewton& solver(int i) const { return *solvers_[at(i)]; }
  std::span<MixedNewton* const> solvers() const { return solvers_; }
  MonolithicNewton* monolithic() { return monolithic_ ? &*monolithic_ : nullptr; }

  MixedProblem& part(int i) override;
  bool couple(int i, int j, In s, Linearisation& S) override;
  bool update() override;
  CoupledFriction* friction_law() override { return friction_.get(); }

 private:
  struct Smooth;
  struct Position;
  struct Velocity;
  bool begin_with_contacts(const StepScales& scales, State& state, StepReport& report);
  bool attempt(const StepScales& scales, const State& start, bool contacts, StepReport& report);
  bool iterate(std::span<const ProblemScales> scales, StepReport& report);
  const MeanDirections* directions(const MeanDirections& mean) const {
    return setup_.mean_directions ? &mean : nullptr;
  }
  bool idle(int i) const;
  const Vector& forces();
  void momentum(In x, In s, RowSelection rows, const MeanDirections& mean, Out r);
  const double* end_multipliers(In s, const MeanDirections& mean, Vector& end);
  const TangentOperators* correction_tangent();
  const TangentOperators* motion_tangent();
  struct ImpulseWork {
    double all = 0, driven = 0;  // driven: given by obstacles, surfaces and joints that move
  };
  ImpulseWork impulse_work();
  void find_totals();
  void find_smooth_gaps(double roundoff);
  void find_anchors();
  struct Weights {
    double start, end, eta_start, eta_end;  // of lambda~ in PVV, of eta in PVA
  };
  void find_limits(In s, std::span<const int> joints, const Weights& weights, double duration, double t, Out limits);
  bool settles(const State& start) const;

  const System* system_;
  NewtonOptions options_;
  Scales scales_;
  CoupledSetup setup_;
  GeneralizedAlpha alpha_;
  Vector matrix_;  // while a solver assembles it
  MixedNewton smooth_, position_, velocity_;
  MixedNewton* solvers_[3] = {&smooth_, &position_, &velocity_};
  std::optional<MonolithicNewton> monolithic_;
  std::unique_ptr<CoupledFriction> friction_;  // of the monolithic system; null: none
  SweepMixing mixing_;
  std::unique_ptr<Smooth> motion_;
  std::unique_ptr<Position> correction_;
  std::unique_ptr<Velocity> jump_;

  const State* start_ = nullptr;
  ContactRoles roles_;
  StepStart step_;
  double h_ = 0, t_ = 0, gap_roundoff_ = 0;
  bool moved_[3] = {};  // x of the part is not zero
  bool forces_known_ = false;
  TangentOperators T_d_, T_u_;
  Vector a_star_, a_n_, vd_, v_smooth_, d_, U_, W_, v_, f_, Mx_, reaction_, q_smooth_, q_;
  Vector row_, row_at_start_, eta_, eta_n_, nu_total_, impulse_total_;  // totals: of conditional rows
  std::vector<std::uint8_t> near_;                                      // gaps of the smooth motion are closed
  std::vector<std::uint8_t> no_contact_;                                // zeros
  Vector anchors_;      // s* per row, in the directions at the start of the step; empty without friction
  Vector smooth_rows_;  // what rows measure in the smooth motion
  std::vector<std::uint8_t> frictionless_;  // contacts whose anchors contradict each other
  TouchingContacts touching_;               // those with friction
  StayedRows stayed_;
  bool stays_ = false;  // there are such contacts
  MeanDirections mean_position_, mean_velocity_;
  JointTurn turn_position_, turn_velocity_;
  Vector end_nu_, end_impulse_, at_start_;  // multipliers of directions at the end and at the start of the step
};

}  // namespace carom
