// Static equilibria along a path of loads.
//
//   f(q, 0, t) + G^T lambda = 0,   g_b(q, t) = 0,   0 <= g_u(q, t)  perp  lambda_u >= 0
//
// f = f_int + s(t) (f_ext + f_gravity). Time only orders the path: loads, drivers and obstacles are functions of it,
// and the factor s grows from 0 at `ramp_start` to 1 over `ramp_duration` (s = 1 throughout when that is 0). A step of
// the time loop is an increment of load; one that does not converge is halved there and grows back.
//
// Each equilibrium is found by MixedNewton on the saddle point [[K - D(G^T lambda), -G_A^T], [-G_A, 0]] with the
// augmented Lagrangian of Alart and Curnier for the set A of contacts. The monotonicity test damps the iteration: it
// measures corrections, in which stiff membrane forces have no weight, whereas a test on residuals makes slow progress
// for slender bodies. Pseudo-transient continuation moves as little as possible along motions that nothing holds.
//
// Beams and bars have mixed tangents: the stresses in K are those that the last correction has predicted (Magisano,
// Leonetti, Garcea, How to improve efficiency and robustness of the Newton method in geometrically non-linear
// structural problem discretized via displacement-based finite elements, CMAME 313, 2017). Full steps then converge in
// few iterations, however slender the beams; the damped iteration is the second attempt.
//
// With PathControl::arc_length the factor s is an unknown, and an increment of time h prescribes the length of the
// path,
//
//   e . W (q - q_n) = c h,    |dq|^2 = dq . W dq, W: 1, rotations L^2;    c so that s' = 1/ramp at the start
//
// e: the direction of the path at q_n (Riks, Int. J. Solids Structures 15, 1979), so that limit points are passed and
// snap-through and snap-back are followed. Where a contact closes or opens, the path may turn by more than a right
// angle, and has then no place at the wanted length: the smallest increment prescribes a change of the factor instead.
//
// Contacts with Coulomb friction: at the end of every increment
//
//   -s_T in the normal cone at lambda_T of the disc |lambda_T| <= mu lambda_N        (ConeProblem)
//
// s_T: slip displacement since the start of the increment, also that before touch-down. A contact that sticks stays
// where it was; the equilibrium depends on the path of loads, and contacts that slip do so by an error of first order
// in the increment where the direction of slip or the normal force change. Newton's iteration then takes full steps.
// Joints with friction have the same law, with a limit that follows their reaction.
//
// Limits: whether an equilibrium is stable is not asked, and bifurcations are not looked for. Friction only with
// PathControl::load. Forces that depend on velocities are those at rest.
#pragma once

#include <optional>

#include "integrators/common/energy_meter.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

/// What the time of an increment prescribes: the factor of the loads, or the length of the path.
enum class PathControl { load, arc_length };

struct StaticOptions {
  int max_iterations = 50;              ///< of an increment, counted from the last change of its active set
  double tolerance = 1e-10;             ///< of the equilibrium, relative to the sum of its terms
  double constraint_tolerance = 1e-11;  ///< of constraint rows, times the length scale
  double step = 0;                      ///< increment of time of a run; 0: of the search for an equilibrium as a start
  double ramp_start = 0, ramp_duration = 0;
  PathControl control = PathControl::load;  ///< arc_length needs a ramp
  Scales scales;
};

class StaticEquilibrium final : public Integrator {
 public:
  StaticEquilibrium(const System& system, const StaticOptions& options);

  static MethodInfo method_info();
  std::vector<Objection> objections(const State& start, double h) override;
  /// The equilibrium at time t under the loads times `factor`, searched from `start`: q, multipliers and active set of
  /// `end`, which has the sizes of `start`.
  bool solve(const State& start, double t, double factor, State& end, StepReport& report);
  /// Under load control, after solve(). True, and the report has failed, if the equilibrium lies much farther from the
  /// start than the rate of the increment before suggests: a smaller increment must show whether the model snaps. On
  /// the shortest increment only StepFigures::snapped is set, and the result is false. `increment`: in any unit.
  bool snaps(const State& start, State& end, double increment, StepReport& report) const;

  /// Sets velocities and multipliers to zero; the configuration is left as it is, in equilibrium or not.
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  double load_factor(const State& state) const override;
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  class Equilibrium final : public MixedProblem {
   public:
    explicit Equilibrium(StaticEquilibrium& method) : m(method) {}
    void rows(Out c) override { m.system().gaps(m.q_, m.t_, all_rows, c, &m.step_); }
    double residual(In s, Out r) override;
    RowPoint row_point() override;
    void friction_limits(In s, std::span<const int> joints, Out limits) override;
    void linearise(In s, Linearisation& S) override;
    bool move(double share, In dq) override;
    double smallest_shift() const override;
    In path_load() override;
    double path_change(In dq_r, In dq_load) override;
    StaticEquilibrium& m;
  };

  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool rises(const State& start, double factor);
  double slip_work(const State& start) const;
  bool attempt(bool mixed, double factor, const ProblemScales& scales, const State& start, StepReport& report);
  bool follow_path(const StepScales& scales, const State& start, State& end, StepReport& report);
  bool turn_at_contact(const StepScales& scales, const State& start, State& end, StepReport& report);
  double path_length() const;
  ProblemScales problem_scales(const State& start) const;

  StaticOptions options_;
  double stiffness_;
  bool mixed_tangent_;  // some block has one
  EnergyMeter meter_;
  MixedNewton newton_;
  MixedNewton* solvers_[1] = {&newton_};
  Equilibrium equilibrium_{*this};
  StepStart step_;                         // for rows that refer to the start of an increment
  double t_ = 0, factor_ = 1, share_ = 0;  // share of the correction made from q_base_
  // Arc length: the increment before; its length per time; W times the unit vector along the path at the start; length
  // along that vector made so far and to be made; change of the factor within a correction.
  In path_before_;
  double increment_ = 0, path_rate_ = 0, path_made_ = 0, path_wanted_ = 0, factor_change_ = 0;
  // The sense in which the factor changes, where the direction of the last increment does not tell it; 0: it does. The
  // factor to be reached, where it is prescribed.
  double factor_sense_ = 0;
  std::optional<double> factor_wanted_;
  bool path_begun_ = false;
  Vector path_weights_, path_direction_, path_load_, path_;
  bool mixed_ = false, mixed_known_ = false;  // in this attempt; the correction d_mixed_ was made from q_mixed_
  Vector rest_, q_, q_base_, q_mixed_, d_, d_mixed_, f_, loads_, reaction_;
  Stage stage_;
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
EquilibriumReport find_equilibrium(System& system, const StaticOptions& options, State& state);

}  // namespace carom
