// Observer: sees a run from outside, read-only, after every step.
#pragma once

#include "core/state.hpp"
#include "core/system.hpp"
#include "integrators/integrator.hpp"
#include "integrators/step_report.hpp"

namespace carom {

/// A read-only view of the run after a step (or at its start, with an empty report).
struct StepView {
  const System& system;
  const Integrator& integrator;
  const State& state;
  const StepReport& report;
  double nominal_step;
  bool nominal;  ///< the state lies on the grid of the nominal step (not inside a subdivided one)
};

enum class RunStatus { completed, failed, interrupted };

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void start(const StepView&) {}
  virtual void after_step(const StepView&) {}
  /// A trial that did not converge and will be repeated in halves, or ended the run.
  virtual void rejected(const StepView&) {}
  virtual void finish(const StepView&, RunStatus) {}
};

}  // namespace carom
