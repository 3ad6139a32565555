// Simulation: the time loop. Steps of the nominal size; a step that does not converge is repeated in halves and the
// step grows back on a binary grid, so that the multiples of the nominal step are hit again.
#pragma once

#include <chrono>
#include <csignal>
#include <limits>
#include <vector>

#include "integrators/common/observer.hpp"

namespace carom {

struct SimulationOptions {
  double step = 0;            ///< nominal h, > 0
  double duration = 0;        ///< from the start on; a rest that is no multiple of h becomes a last, shorter step
  int max_subdivisions = 10;  ///< halvings of the nominal step, 0: none
};

/// What a run adds up.
struct RunStatistics {
  struct Iterations {
    long sum = 0;
    int max = 0;
    void add(int n) {
      sum += n;
      if (n > max) max = n;
    }
  };
  long steps = 0;  ///< accepted steps and substeps
  long nominal_steps = 0;
  long subdivided_steps = 0;           ///< nominal steps that had to be halved
  long rejected = 0;                   ///< trials that did not converge
  std::vector<Iterations> iterations;  ///< of the sub-problems
  double position_residual = 0, velocity_residual = 0, smallest_gap = 0;
  long impacts = 0;
  long friction_fallbacks = 0;                     ///< steps with StepFigures::friction_fallbacks
  long frictionless_steps = 0;                     ///< of them without friction of some contacts
  long set_fallbacks = 0;                          ///< steps with StepFigures::set_fallback
  long snaps = 0;                                  ///< of statics, see StepReport::snapped
  long redundant_steps = 0;                        ///< steps in which constraint rows were redundant
  long stalled_steps = 0;                          ///< steps in which residuals stalled at rounding
  double stalled_residual = 0;                     ///< the largest of these over the sum of its terms
  double largest_speed = 0, largest_rotation = 0;  ///< see StepReport
  double step_seconds = 0;                         ///< wall time inside the integrator
  std::vector<double> sampled_seconds;             ///< of the sub-problems, over the timed steps only
  double sampled_total = 0;
  /// Estimated wall time of a sub-problem over the whole run.
  double subproblem_seconds(std::size_t i) const {
    return sampled_total > 0 ? step_seconds * sampled_seconds[i] / sampled_total : 0.0;
  }
  double growth = 0;                 ///< largest growth of the energy without cause, over the energies
  SlipSum contact_slip, joint_slip;  ///< see StepReport
  double observer_seconds = 0;
  double earlier_seconds = 0;  ///< step_seconds + observer_seconds of the runs before a restart
  double mean_iterations(std::size_t subproblem) const {
    return steps > 0 ? static_cast<double>(iterations[subproblem].sum) / static_cast<double>(steps) : 0.0;
  }
};

class Simulation {
 public:
  Simulation(System& system, Integrator& integrator, State& state, SimulationOptions options);

  void add_observer(Observer& observer) { observers_.push_back(&observer); }
  /// The run ends after the step or sub-step during which *flag becomes non-zero. A step is not completed, but given up
  /// between two corrections of Newton's method, if the model is large, if the step before took longer than `patience`
  /// seconds, or if there is none before; state and checkpoint are then those before the step.
  void stop_on(const volatile std::sig_atomic_t* flag, double patience = 0.2) {
    stop_ = flag;
    patience_ = patience;
  }

  /// Runs to the end. The state must have been initialised by the integrator.
  RunStatus run();

  /// The place on the grid of time and the statistics, for a checkpoint; valid in every callback of an observer.
  void save(NamedArrays& record) const;
  /// Before run(), which then goes on from there to `t_end`. With `same_grid` false (another step) a new grid of time
  /// starts at the state's time. Throws std::invalid_argument if the record does not fit.
  void restore(const NamedArrays& record, bool same_grid, double t_end);

  const RunStatistics& statistics() const { return statistics_; }
  /// The report of the step that ended a failed run.
  const StepReport& last_report() const { return *report_; }

 private:
  /// Where the run is: nominal steps since `origin` and, within one, the part done in units of h/2^max_subdivisions.
  struct Grid {
    double origin = 0;
    long steps = 0;
    long part = 0;
    int level = 0;
    long rejected = 0;  // trials since the last nominal step that was not subdivided
  };

  enum class Outcome { done, failed, interrupted };
  Outcome nominal_step(double t_start, double t_end, double h);
  bool stopped() const { return stop_ != nullptr && *stop_ != 0; }
  void record(const StepReport& report);
  double lap();

  System& system_;
  Integrator& integrator_;
  State& state_;
  SimulationOptions options_;
  std::vector<Observer*> observers_;
  RunStatistics statistics_;
  StepReport start_report_;  // of no step
  const StepReport* report_ = &start_report_;
  Grid grid_;
  Vector impulses_;        // of the parts of the present nominal step
  bool in_parts_ = false;  // it has parts
  bool restored_ = false;
  std::chrono::steady_clock::time_point lap_;
  const volatile std::sig_atomic_t* stop_ = nullptr;
  double patience_ = 0;
  double last_seconds_ = std::numeric_limits<double>::infinity();  // of the last step
};

}  // namespace carom
