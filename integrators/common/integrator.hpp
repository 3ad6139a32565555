// Integrator: one step of a method; a strategy that the time loop calls.
//
// step() makes the checks that all methods share: it measures the state, refuses what is not finite or has formulas
// without a value, hands the step to the method, refuses inverted elements, counts impacts and releases, and only then
// makes the new state the state. A method writes advance(), which reads the state at t_n and fills the state at
// t_n + h, and says by stages() what happened in between.
#pragma once

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/energy_guard.hpp"
#include "integrators/common/mixed_problem.hpp"
#include "integrators/common/newton.hpp"
#include "integrators/common/stable_step.hpp"
#include "integrators/common/step_report.hpp"
#include "integrators/common/step_scales.hpp"
#include "integrators/common/step_way.hpp"
#include "integrators/common/tangent_pair.hpp"

namespace carom {

struct MeanDirections;
class MixedNewton;
class MonolithicNewton;
class SaddlePoint;

/// MethodInfo::closing_turn where impacts act at their instants, and of the schemes of [BENCH19], whose steps are short
/// and those of the paper.
constexpr double wide_closing_turn = 0.17;

/// What a method takes and gives: validation, ledger, tables and reports read this instead of the method's name.
struct MethodInfo {
  std::string name;
  std::vector<const char*> subproblems;  ///< their names, in the order of StepReport::subproblems
  bool dynamic = true;                   ///< false: from equilibrium to equilibrium; no velocities, impacts or energies
  RowSelection rows = bilateral_rows | unilateral_rows;  ///< kinds of rows that the method takes
  bool exact_positions = true;    ///< bilateral and active rows hold at position level at the end of a step
  bool judges_parts = false;      ///< a step has parts, each of which the method has the energy guard judge
  bool parts_contacts = true;     ///< with exact_positions: contacts that penetrate at the start are moved apart
  bool events_in_stages = false;  ///< contacts may close and open several times in a step, as the stages say
  bool forces_at_end = true;   ///< forces at the end of a step are evaluated, so that inversion shows in most elements
  bool in_turn = false;        ///< the sub-problems depend on each other and are corrected in turn, without coupling
  bool accelerations = true;   ///< State::acceleration is v' at the end of a step, not a mean over the step
  bool explicit_step = false;  ///< forces are explicit: the step is bounded
  bool long_impacts = false;   ///< an impact takes several steps; behind the first its contact counts as closed
  bool guards_linear = false;  ///< the energy guard judges linear systems too
  bool lumped_mass = false;    ///< the model's mass matrix is the lumped one
  /// Angle, rad, by which the direction of a contact may turn in the step that closes it (System::missed_contact):
  /// impacts have the direction of the end of the step.
  double closing_turn = 0.0175;
};

/// A part of an accepted step. Ledger and events are sums over the stages, whatever the method: a step may have any
/// number of them, several of each kind.
struct Stage {
  enum class Kind {
    motion,      ///< (q_0, v_0) at t_0 to (q_1, v_1) at t_1 under forces; multipliers are forces
    correction,  ///< q_0 to q_1 at the same velocity
    jump         ///< v_0 to v_1 at q_1; multipliers are impulses
  };
  Kind kind = Kind::motion;
  double t_0 = 0, t_1 = 0;
  In q_0, v_0, q_1, v_1;
  In multipliers;       ///< rows() entries
  double duration = 0;  ///< of a motion: t_1 - t_0 without rounding
  /// Of a jump: an impulse beside that of the rows, force * duration (the force correction f_* of DS). Empty: none.
  In force = {};
  In row_q = {};                         ///< of a jump: where its conditional rows are taken; empty: at q_1
  const MeanDirections* mean = nullptr;  ///< of a jump: directions of its impulses; null: those of row_q
  const EnergyPoint* end = nullptr;      ///< energies and powers at (q_1, v_1), where the guard has measured them
  bool located = false;   ///< t_1 is the time of the event itself; otherwise the event lies in the motion before
  bool switches = false;  ///< constraints switch in this stage (ConstraintSwitches)
  /// A jump before a switch, which makes the velocity obey the rows of the old modes at the corrected configuration;
  /// its work counts with the position correction.
  bool before_switch = false;
  /// Which conditional rows are closed after the stage; empty: as before.
  std::span<const std::uint8_t> closed = {};
};

/// A switch of the constraints of a body (SwitchingBlock).
struct SwitchEvent {
  std::string body, from, to;  ///< names of the body and its modes
  double t = 0;                ///< where the surface is met, interpolated within the step
  double cosine = 1;           ///< SwitchingBlock::cosine
  double energy = 0;           ///< change of the kinetic energy in the velocity jump, which switches of a step share
};

/// e g'_n of the impact law of a row: g'_n is the rate at q with the velocity at the start of the step, 0 if the
/// contact separates. Of a tangential row: e_T times the slip velocity, in the directions at (q_1, t_1).
inline double reflected_rate(const System& system, int row, In q, const State& start, In q_1, double t_1) {
  const double e = system.contact_parameters(row).restitution;
  const StepStart from{start.q.data(), start.v.data(), start.t};
  if (e == 0) return 0.0;
  const auto rate = [&](int r) { return system.row_rate(r, q, start.v, start.t, &from); };
  if (system.row_kind(row) != RowKind::tangential) return e * std::min(0.0, rate(row));
  return e * value_at_end(system, row, q_1, t_1, {q.data(), start.v.data(), start.t}, rate);
}

class Integrator {
 public:
  virtual ~Integrator() = default;
  Integrator(const Integrator&) = delete;
  Integrator& operator=(const Integrator&) = delete;

  const MethodInfo& info() const { return info_; }
  const System& system() const { return *system_; }
  /// Why the method cannot take the model or a first step h, for the user.
  struct Objection {
    std::string pointer;  ///< of a key of the model file; empty: of the body of the equation or the row
    int equation = -1;
    std::string message;
    int row = -1;
  };
  virtual std::vector<Objection> objections(const State& start, double h) {
    (void)start, (void)h;
    return {};
  }
  /// Of a method with explicit forces: the largest stable step at a state.
  virtual std::optional<StableStep> find_stable_step(const State&) const { return std::nullopt; }
  /// Completes a state that has q, v and t: accelerations, multipliers, history; step h is the first to come. False if
  /// that cannot be done, with the place in the report.
  virtual bool initialise(State& state, double h, StepReport& report) = 0;
  /// One step of size h. On success the state is at t + h; on failure the state is untouched, to the bit. The report
  /// lives until the next step. `shortest`: a failure is final, since no shorter step will be tried.
  const StepReport& step(State& state, double h, bool shortest = true);

  /// The next steps fail between two corrections of Newton's method when *flag is not zero; null: they do not. After
  /// such a step interrupted() is true, and save() writes what save() would have written before the step.
  void stop_on(const volatile std::sig_atomic_t* flag);
  bool interrupted() const { return interrupted_; }

  /// The time loop ends the run after a step that was rejected: the report of that step gets the reason.
  void give_up(FailureReason reason) { report_.reason = reason; }

  /// Of the last accepted step; valid until the next one.
  virtual std::span<const Stage> stages() = 0;
  /// Of the last accepted step; valid until the next one.
  virtual std::span<const SwitchEvent> switches() const { return {}; }
  /// The force that users are shown for a row: of a nonsmooth method the smooth multiplier and the impulse over h.
  virtual double row_force(const State& state, int row) const {
    return state.lambda[at(row)] + state.impulse[at(row)] / state.last_h;
  }
  /// The factor of gravity and loads in a state: other than 1 only where a method makes them grow along a path.
  virtual double load_factor(const State&) const { return 1; }
  /// Energies and powers at the end of the last accepted step, where the guard has measured them; null: not measured.
  const EnergyPoint* step_end() const { return guard_.step_end(); }
  /// All solvers, in the order of the sub-problems; none if the method has no Newton iteration.
  virtual std::span<MixedNewton* const> solvers() = 0;

  // From all solvers.
  LinearCounters linear_counters();
  /// Sub-problems with their methods for linear systems (SaddlePoint::method_name).
  std::vector<std::pair<std::string, std::string>> linear_methods();
  /// Residuals of the last step that failed: of the equations of its sub-problem, and of the constraint rows that were
  /// to hold (zero elsewhere).
  In equation_residual();
  In row_residual();
  /// What the next step depends on beside the state. restore() takes the place of initialise(); it throws
  /// std::invalid_argument if the record is that of another method or size.
  void save(NamedArrays& record);
  void restore(const NamedArrays& record);

 protected:
  /// Throws std::invalid_argument if the system has rows of a kind that the method does not take.
  Integrator(const System& system, MethodInfo info, const Scales& scales, const NewtonOptions& newton);

  /// The solver of a method whose sub-problems are one system; null: each sub-problem is solved on its own.
  virtual MonolithicNewton* monolithic_solver() { return nullptr; }
  /// From `start` to `end`, both complete states: every array of `end` that the method keeps is written, and `end` has
  /// the sizes of `start`. On failure `end` may be anything.
  virtual bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) = 0;

  /// A dynamic method lets the guard judge its motion and close the step.
  EnergyGuard& guard() { return guard_; }
  const Scales& scales() const { return scales_; }
  const NewtonOptions& newton() const { return newton_; }
  /// After a step: the state that it began with.
  const State& start() const { return other_; }
  double force_norm(In f) const { return system_->force_norm(f, scales_.length); }
  /// T(d) where it enters some matrix, null otherwise; valid until the next call.
  const TangentOperators* tangent_operators(In d);
  /// e g'_n, which the impact law of a row reflects. A contact that moves apart at the start and closes within the step
  /// stays closed: reflecting its rate would leave it approaching.
  double reflected_rate(int row, In q, const State& start, In q_1, double t_1) const {
    return carom::reflected_rate(*system_, row, q, start, q_1, t_1);
  }
  StepScales measure(const State& state, double h, StepReport& report) const;
  /// Position residual and smallest gap of the end of a step, from the last test of a problem in gaps.
  void report_gaps(const MixedNewton& position, StepReport& report) const;
  /// Of a unilateral row.
  void note_gap(int row, double gap, StepReport& report) const;
  /// MethodInfo::closing_turn; the shortest steps may turn a tiny obstacle's contact by the wide one.
  double closing_turn() const { return report_.shortest ? wide_closing_turn : info_.closing_turn; }
  /// Over it, gaps and slips of a row are lengths (row_weights).
  double weight(int row) const { return row_weights_[static_cast<std::size_t>(row)]; }
  In weights() const { return row_weights_; }
  /// Zero accelerations and multipliers; no row active or closed. A run begins.
  void clear(State& state, double h);
  /// Joints whose friction follows reactions that are not unique in this state. A method with friction of joints asks
  /// at the start of a run; during the run every accepted step is asked where that may have changed.
  std::vector<Objection> unclear_friction(const State& start) const;
  /// Marks contacts that touch at rest as active: they are known to the first step. Marks joints with friction, which
  /// are always closed.
  void mark_touching(State& state) const;

 private:
  bool guarded(State& state, double h);
  bool refuse(FailureReason reason, std::string item = {});
  void blame_formula(const State& state, double h);
  void blame_friction();
  void count_events(const State& before, const State& after);
  void measure_slip(const State& before, const State& after);
  bool friction_has_become_unclear();
  std::string slip_without_angle(const State& before, const State& after) const;
  std::string lost_joint(const State& after) const;
  std::size_t failed_solver() const { return report_.failed >= 0 ? at(report_.failed) : 0; }

  const System* system_;
  MethodInfo info_;
  Scales scales_;
  NewtonOptions newton_;
  TangentOperators T_;
  Vector no_residual_;  // zeros, of a method without solvers
  Vector row_weights_;
  double roundoff_;  // System::roundoff_force per length
  EnergyGuard guard_;
  std::optional<EnergyGuard> kept_guard_;  // of the start of a step whose parts are judged
  bool guard_kept_ = false;                // in this step
  StepReport report_;
  StepWay way_;
  State other_;  // the state to come; after a step the one before
  long steps_ = 0;
  bool redundant_ = false;  // rows were when the friction of joints was last found clear
  const volatile std::sig_atomic_t* stop_ = nullptr;
  bool interrupted_ = false;
  NamedArrays before_;  // what save() wrote before the step, if the step may be interrupted
};

/// v' and the multipliers of bilateral rows (bilateral() entries) from M v' - G_b^T lambda = f, G_b v' + h_b = 0 at
/// (q, v, t). c_C and c_K filter what a step does not resolve: M + c_C C + c_K K in place of M. False with a report if
/// the matrix is singular. `saddle` is analysed for M and forgets the matrix.
/// Without `joints` the multipliers are zero.
bool consistent_acceleration(const System& system, SaddlePoint& saddle, double mass_scale, bool joints, In q, In v,
                             double t, Vector& acceleration, Vector& multipliers, StepReport& report, double c_C = 0,
                             double c_K = 0);

/// The rows of contacts do not bend: their part of a tangent is constant.
bool contacts_linear(const System& system);

}  // namespace carom
