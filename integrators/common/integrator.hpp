// Integrator: one step of a method; a strategy the time loop calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/step_report.hpp"

namespace carom {

/// Scales of a model by which every tolerance is measured; all > 0.
struct Scales {
  double length = 1, speed = 1, mass = 1;
};

/// The stages of the last accepted step from (q_n, v_n): the smooth motion to (q~, v~), the position correction to
/// (q, v~), the velocity jump to (q, v), which is the state. Valid until the next step.
struct StepStages {
  const Vector &q_n, &v_n, &q_smooth, &v_smooth;
  bool moved;   ///< there was a position correction
  bool jumped;  ///< there was a velocity jump
};

class Integrator {
 public:
  virtual ~Integrator() = default;
  virtual std::string name() const = 0;
  /// Names of the sub-problems, in the order of StepReport::subproblems.
  virtual std::vector<std::string> subproblems() const = 0;
  /// Steps go from equilibrium to equilibrium: no velocities, no impacts, no balance of energy.
  virtual bool is_static() const { return false; }
  /// Completes a state that has q, v and t: accelerations, multipliers, history; step h is the one to come.
  /// False if the initial accelerations cannot be computed.
  virtual bool initialise(const System& system, State& state, double h) = 0;
  /// After a singular matrix: an equation, or size() + a bilateral row, that depends on others; -1 if unknown.
  virtual int suspicious_row() const = 0;
  /// One step of size h. On success the state is at t + h; on failure it is untouched.
  virtual StepReport step(const System& system, State& state, double h) = 0;
  /// Sum over the linear solvers in use.
  virtual LinearCounters linear_counters() const = 0;
  virtual StepStages stages() const = 0;
  /// f_*, the force of the last step's velocity jump beside its reactions (per equation), at the state it led to.
  /// `scratch` is as long as f.
  virtual void jump_force(const System& system, const State& state, Out f, Out scratch) const = 0;
  /// Residuals of the last trial that failed: of the equations of motion, and of the constraint rows that were to hold
  /// (zero elsewhere).
  virtual In equation_residual() const = 0;
  virtual In row_residual() const = 0;

  /// What the next step depends on beside the state. restore() takes the place of initialise(); it throws
  /// std::invalid_argument if the record is that of another method or size.
  virtual void save(NamedArrays& record) const = 0;
  virtual void restore(const NamedArrays& record) = 0;
};

}  // namespace carom
