// The summary of a run: summary.json, the final table, and the progress during the run.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "integrators/common/observer.hpp"
#include "integrators/common/simulation.hpp"
#include "io/model/model.hpp"
#include "io/results/expectations.hpp"

namespace carom {

/// "completed", "failed" or "interrupted".
const char* status_word(RunStatus status);

/// Samples the energy about a thousand times during a run without energy ledger.
class EnergyWatch final : public Observer {
 public:
  explicit EnergyWatch(const SimulationOptions& options);
  void start(const StepView& view) override;
  void after_step(const StepView& view) override {
    if (view.nominal && view.state.step % every_ == 0) sample(view);
  }
  void finish(const StepView& view, RunStatus) override { sample(view); }
  std::string record_name() const override { return "energy watch"; }
  void save(NamedArrays& record) override {
    record.set("bounds", {initial, largest});
    record.set_number("stride", static_cast<double>(every_));
  }
  void restore(const NamedArrays& record, bool same_files) override;

  double initial = 0, final = 0, largest = 0;

 private:
  void sample(const StepView& view);
  long every_;
  bool restored_ = false;
};

/// Progress on stderr: one rewritten line on a terminal, otherwise one line per tenth of the run.
class Progress final : public Observer {
 public:
  /// The simulated time of the whole run; a restart begins inside this interval.
  Progress(double t_start, double t_end, bool terminal);
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void rejected(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;

 private:
  void show(const StepView& view, std::chrono::steady_clock::time_point now);

  double share(double t) const { return t_end_ > t_start_ ? (t - t_start_) / (t_end_ - t_start_) : 1.0; }

  double t_start_, t_end_;
  bool terminal_;
  double t_0_ = 0;  // start time of this part
  long step_0_ = 0;
  int tenth_ = 0;
  std::chrono::steady_clock::time_point begin_, last_;
};

struct WallSeconds {
  double total = 0, setup = 0, step = 0, output = 0;
};

struct RunAccount {
  RunStatus status = RunStatus::completed;
  RunStatistics statistics;
  std::vector<std::string> subproblems;  ///< names of the sub-problems
  LinearCounters linear;
  std::vector<std::pair<std::string, std::string>> linear_methods;  // of sub-problems, at the end
  StepReport last_report;
  double t_start = 0, t_end = 0;
  double energy_initial = 0, energy_final = 0, energy_max = 0;
  std::optional<EnergyBalance> ledger;
  std::vector<Expectation> expectations;
  std::string ended_by;        ///< the end criterion that ended the run, in words; empty: none
  std::string ended_by_key;    ///< its pointer in the model file
  std::string restarted_from;  ///< path of a checkpoint; empty for a run from the start
  WallSeconds wall;
  std::vector<std::string> warnings;
};

/// The text of summary.json as documented in docs/user_guide.md; residuals are divided by the model's length and speed.
std::string summary_text(const Model& model, const RunAccount& account);
/// "position sub-problem: no convergence".
std::string failure_words(const StepReport& report);
/// Name of the row, equation or element that prevented convergence; empty if unknown.
std::string worst_row(const Model& model, const StepReport& report);
/// Remarks about a finished run that needs a smaller step: large rotations, obstacles that bodies may cross undetected.
std::vector<std::string> step_remarks(const Model& model, const MethodInfo& method, const RunStatistics& statistics);
/// The same of the energy balance (docs/user_guide.md, "Notes on energy"), and impacts that gave energy, or took energy
/// although restitution is 1 and nothing rubs, and the energy of Kane's paradox.
std::vector<std::string> balance_remarks(const Model& model, const MethodInfo& method, const EnergyBalance& balance);
/// Of a contact between whose impacts are too few steps; empty without one.
std::string bounces_remark(const Model& model, const BouncingContacts::Returns& returns);

/// The table at the end of a run, for a terminal of 80 columns; `verbose`: with times, linear systems and parts of
/// errors.
std::string closing_table(const Model& model, const RunAccount& account, bool verbose);

}  // namespace carom
