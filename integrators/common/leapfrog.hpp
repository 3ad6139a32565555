// Leapfrog: what the central-difference methods share: lumped mass, forces, rotation of frames, guards, stages.
//
//   q_{n+1} = q_n o exp(h v_{n+1/2}),   v_{n+1/2} = v_{n-1/2} + h M^-1 (f_n + reactions)        M lumped
//
// A state holds q_n and the velocity v_n = v_{n+1/2} - h/2 a_n, which differs from v_{n-1/2} + h/2 a_n by the impacts
// at t_n; a_n contains the reactions of joints and of contacts that stay closed. The history keeps v_{n+1/2} (for
// position methods v_{n-1/2}) and M^-1 f_int,n. Forces depend on v_{n-1/2}.
//
// Frames. The rotation of a free body is the Lie midpoint rule: with the torque tau (body axes) and J Omega_n the
// angular momentum at t_n,
//   J Omega_{n+1/2} = exp(-h/2 Omega_{n+1/2}) (J Omega_n + h/2 tau_n),
//   J Omega_{n+1} = exp(-h Omega_{n+1/2}) (J Omega_n + h/2 tau_n) + h/2 tau_{n+1}
// one equation of three unknowns per frame. It keeps the angular momentum to rounding, is symmetric in time and of
// order 2 (Simo, Wong 1991). What reactions add to Omega_{n+1/2} is J^-1 G^T r.
//
// Guards. Let w = v_{n+1/2}. The quotient -h Delta(M^-1 f_int) . M w/(w . M w) of a step is that of Rayleigh for
// h^2 K along the motion: beyond the square of the largest stable omega h, 4 without dissipation, the motion grows
// whatever the model, and the step is refused. The energy that the step conserves is
// T + V - h^2/8 a . M a = (v_{n-1/2} . M v_{n+1/2})/2 + V; EnergyGuard judges its growth. If damping reverses the
// velocity within a step, the first term is negative; below -1.5 S (EnergyGuard) the step is refused. The conserved
// energy does not grow in an unstable motion. The step is therefore also refused where T + V has grown by more than
// 3 E/(1 - x): E is the larger of the largest energy of the run and the work that loads and rows have exchanged; x is
// the largest quotient so far over its bound. A stable motion lets T + V vary by the factor 1/(1 - x).
//
// Limits: no component without mass; forces are explicit, so the step is bounded (integrators/common/stable_step.hpp).
#pragma once

#include <functional>
#include <optional>

#include "core/base/parallel.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/row_impulses.hpp"
#include "integrators/common/stable_step.hpp"

namespace carom {

struct LeapfrogOptions {
  bool force_step = false;  ///< steps above the stable one are tried
  Scales scales;
  double constraint_tolerance = 1e-11;
};

class Leapfrog : public Integrator {
 public:
  std::vector<Objection> objections(const State& start, double h) override;
  std::optional<StableStep> find_stable_step(const State& state) const override;
  std::span<const Stage> stages() final { return stages_; }
  std::span<MixedNewton* const> solvers() final { return {}; }

 protected:
  Leapfrog(const System& system, MethodInfo info, const LeapfrogOptions& options);

  /// Largest omega h of the method.
  virtual double omega_h_limit() const { return 2; }

  static constexpr std::size_t half_velocity = 0, internal = 1, energy = 2;  ///< places in State::history
  /// A state without reactions, with its history; false if M or the forces are wrong there.
  bool begin(State& state, double h, StepReport& report);
  /// Finds the impulses r_ of joints, and of contacts that touch, that hold the first half step with the velocity w_
  /// without them; to state.impulse (doubled), state.acceleration and state.closed, not to w_.
  bool hold_first_half_step(State& state, double h, StepReport& report);
  /// f_int and the other forces over M at (q, v, t) to a_int_ and a_; without gyroscopic terms of frames; and
  /// the energies at q for judge().
  bool evaluate(In q, In v, double t, StepReport& report);
  /// Omega_{n+1/2} of the frames from p = J Omega_n + h/2 tau, whose entries of frames are momenta; other entries of w
  /// do not change. False if the rotation in the step is too large.
  bool find_half_rotations(In p, double h, Out w);
  /// Entries of frames: y = exp(-h w) x.
  void transport(double h, In w, In x, Out y) const;
  /// a += -J^-1 (Omega x J Omega) of frames.
  void add_gyroscopic(double sign, In v, Out a) const;
  /// Entries of frames: y = J x, v = J^-1 p.
  void frame_momenta(In x, Out y) const;
  void frame_velocities(In p, Out v) const;
  /// Calls work(first, last) for ranges of the equations; true if it is true of all.
  template <class Work>
  bool all_ranges(const Work& work) const {
    return reduce_vector(w_.size(), system().threads(), true, work, std::logical_and<>());
  }
  bool has_frames() const { return !system().dofs().rotating_frames().empty(); }

  /// The rate of a row at rest at a time: g_t.
  double rate_at_rest(int row, In q, double t) const;
  /// The same at (q_at, t_at), of tangential rows in the directions at (q, t).
  double rate_at_rest(int row, In q_at, double t_at, In q, double t) const;
  /// Splits the impulses r_ of the listed rows into reactions that act throughout a step, forces_, and impacts, jumps_
  /// (rows() entries): reactions are those that a smooth motion with the rows closed would need,
  ///   G a + bias + H s/h = 0 for joints,  >= 0 perp s >= 0 for contacts,  s <= r,
  /// `change` = h a without reactions, biases at (q, w, t). A contact with friction gives the same share of all its
  /// rows; c_ holds, at tangential rows, the slip velocities without impulses. True if there are impacts.
  bool split(In change, In q, In w, double t, double h);
  double size_of(In impulses);
  /// Judges the motion of a step to `end`, where evaluate() was, but with the velocity v, with v_{n+1/2} = w and the
  /// accelerations at its ends: Rayleigh's quotient and energy. `forces`: multipliers of the motion; row_work: of
  /// impulses that belong to it, without `driven`, what obstacles and joints that move give by them.
  bool judge(const State& start, In a_start, State& end, In v, In w, double h, In forces, double row_work,
             double driven, StepReport& report);
  /// Flags of contacts from the impulses r_ of the listed rows and their rates: 1 of closed normal rows, SlipState of
  /// tangential ones.
  void mark_closed(In rates, std::vector<std::uint8_t>& closed) const;
  void measure_gaps(In q, double t, const std::vector<std::uint8_t>& closed, StepReport& report);
  bool fail(StepReport& report, FailureReason reason, int subproblem = -1) const;
  /// RowImpulses::solve() has failed: because of friction, or for another reason.
  bool fail_impulses(StepReport& report, FailureReason reason, int subproblem = -1) const;

  LeapfrogOptions options_;
  LumpedMass mass_;
  RowImpulses impulses_;
  std::vector<int> list_;
  Vector w_, d_, a_, a_int_, f_, p_, p_next_, gaps_, zero_, c_, r_, s_, rates_, biases_, dv_;
  bool weights_known_ = false;        // f_ holds the weights, the only forces beside internal ones
  Vector v_before_, forces_, jumps_;  // of stages: velocity before the impacts; multipliers of motion and jump
  std::vector<Stage> stages_;
  Energies energies_;  // of the last evaluate()
};

}  // namespace carom
