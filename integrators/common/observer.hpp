// Observer: sees a run from outside, read-only, after every step.
#pragma once

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/step_report.hpp"

namespace carom {

/// A read-only view of the run after a step (or at its start, with an empty report).
struct StepView {
  const System& system;
  Integrator& integrator;
  const State& state;
  const StepReport& report;
  double nominal_step;
  bool nominal;      ///< the state lies on the grid of the nominal step (not inside a subdivided one)
  In impulses = {};  ///< of all parts of a nominal step so far that is taken in parts; empty: those of the state
  double impulse(int row) const { return impulses.empty() ? state.impulse[at(row)] : impulses[at(row)]; }
};

/// F v + g_t of a row at the velocity v, with the directions in which the stage has the row.
double stage_rate(const System& system, const Stage& stage, int row, In v);
/// The same of a row of friction at the velocity v with which the step, or the motion, `begin` begins. Bearings and
/// obstacles that move have the place and the directions of the start there: in those of the end what turns with them
/// and sticks would slip.
double begin_rate(const System& system, const Stage& begin, const Stage& stage, int row, In v);
/// The velocity at the end of stage i of a step; of a motion that a jump at the end of the step follows, that behind
/// the jump: friction dissipates with the velocity at the end of the step.
In velocity_behind(std::span<const Stage> stages, std::size_t i);
/// Work of the impulse of a row in a velocity jump, or power of its force in a motion, with the mean of its rates at
/// both ends and in the directions of the stage.
double stage_work(const System& system, const Stage& stage, int row);
/// Work of the impulse of a row in the step, with the mean of its rates at both ends, and by parts where the velocity
/// jumps within the step. Of a row of friction in an increment without velocities: force at its end times slip
/// displacement.
double row_work(const StepView& view, int row);

enum class RunStatus { completed, failed, interrupted };

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void start(const StepView&) {}
  virtual void after_step(const StepView&) {}
  /// A trial that did not converge and will be repeated in halves, or ended the run.
  virtual void rejected(const StepView&) {}
  virtual void finish(const StepView&, RunStatus) {}
  /// Asked after every nominal step: the observer has seen what the run was for, and the run ends as completed.
  virtual bool wants_end() const { return false; }

  /// What the observer must remember to go on after a restart as if there had been none; its name in a checkpoint.
  /// restore() comes before start(), which then sees the state of the checkpoint; `same_files`: the files of the run
  /// that wrote it are there and are continued.
  virtual std::string record_name() const { return ""; }
  virtual void save(NamedArrays&) {}
  virtual void restore(const NamedArrays&, bool same_files) { (void)same_files; }
};

}  // namespace carom
