// A run of a study: its probes at every nominal step, what it cost, and how well constraints and energy were kept.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/simulation.hpp"
#include "io/results/prepared_run.hpp"
#include "io/studies/convergence.hpp"

namespace carom {

/// A probe and its columns.
struct StudyQuantity {
  std::string name;
  std::vector<std::string> columns;
  std::string unit;
};
/// The requested probes of a model, all if none is requested. Throws StudyError if the model has no probes or not
/// these.
std::vector<StudyQuantity> study_quantities(const PreparedRun& run, const std::vector<std::string>& requested);

/// Residuals over the scales of the model, and energies.
struct RunMeasures {
  double position = 0;                 ///< largest |g| of joints and active contacts in the run, over the length
  double velocity = 0;                 ///< largest |residual| of velocity constraints and impact law, over the speed
  std::optional<double> acceleration;  ///< largest |G v' + h| of joints at the ends of steps, over speed^2/length; only
                                       ///< of methods that give v' there, and models with joints
  double drift = 0;  ///< |g| of joints and penetration of contacts where the run ended, the largest, over the length
  double penetration = 0;  ///< the largest of the run, a length
  double energy_initial = 0, energy_final = 0;
  /// (final - initial) over the largest sum of kinetic energy, elastic energy and change of the potential energy.
  double energy_change = 0;
};

struct StudyRun {
  std::string word;  ///< the varied value as given by the user
  double value = 0;  ///< the value as a number; 0 for other values
  RunStatus status = RunStatus::completed;
  std::string failure;
  Samples samples;
  std::vector<std::string> subproblems;
  RunStatistics statistics;
  LinearCounters linear;
  RunMeasures measures;
  double seconds = 0;              ///< wall time with set-up
  std::vector<ProbeError> errors;  ///< one per quantity; empty without a reference

  /// Iterations of all sub-problems together.
  double mean_iterations() const;  ///< per step
  int max_iterations() const;      ///< the largest of a sub-problem in a step
};

/// Solves a prepared model without files. `stop`: see Simulation::stop_on(). Precondition: run.ok(). The caller sets
/// word and value.
StudyRun solve_study_run(PreparedRun run, const volatile std::sig_atomic_t* stop);

/// The columns of the errors and orders of a quantity in tables of studies: NAME.mean_error, NAME.mean_order, ... The
/// error at the end has the quantity's unit, and so have the others if they are absolute, because the reference is
/// zero.
std::vector<CsvColumn> error_columns(const StudyQuantity& quantity, bool relative);

}  // namespace carom
