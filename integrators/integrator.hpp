// Integrator: one step of a method; a strategy the time loop calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/linear_solver.hpp"
#include "core/state.hpp"
#include "core/system.hpp"
#include "integrators/step_report.hpp"

namespace carom {

/// Scales of a model by which every tolerance is measured; all > 0.
struct Scales {
  double length = 1, speed = 1, mass = 1;
};

class Integrator {
 public:
  virtual ~Integrator() = default;
  virtual std::string name() const = 0;
  /// Names of the sub-problems, in the order of StepReport::subproblems.
  virtual std::vector<std::string> subproblems() const = 0;
  /// Completes a state that has q, v and t: accelerations, multipliers, history; step h is the one to come.
  /// False if the initial accelerations cannot be computed.
  virtual bool initialise(const System& system, State& state, double h) = 0;
  /// After a singular matrix: an equation, or size() + a bilateral row, that depends on others; -1 if unknown.
  virtual int suspicious_row() const = 0;
  /// One step of size h. On success the state is at t + h; on failure it is untouched.
  virtual StepReport step(const System& system, State& state, double h) = 0;
  /// Sum over the linear solvers in use.
  virtual LinearCounters linear_counters() const = 0;
  /// Smooth velocity at the end of the last step, before its velocity jump (per equation).
  virtual const Vector& smooth_velocity() const = 0;
};

}  // namespace carom
