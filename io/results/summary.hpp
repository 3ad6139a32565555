// The account of a run: summary.json, the closing table, and the progress shown meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "integrators/common/observer.hpp"
#include "integrators/common/simulation.hpp"
#include "io/model/model.hpp"
#include "io/results/expectations.hpp"

namespace carom {

/// "completed", "failed" or "interrupted".
const char* status_word(RunStatus status);

/// Samples the energy about a thousand times in a run, where no ledger is kept.
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

/// Progress on stderr: one line rewritten on a terminal, a line per tenth of the run otherwise.
class Progress final : public Observer {
 public:
  /// The simulated time of the whole run; a restart begins inside.
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
  double t_0_ = 0;  // where this part began
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
  std::vector<std::string> subproblems;  ///< their names
  LinearCounters linear;
  StepReport last_report;
  double t_start = 0, t_end = 0;
  double energy_initial = 0, energy_final = 0, energy_max = 0;
  std::optional<EnergyBalance> ledger;
  std::vector<Expectation> expectations;
  std::string restarted_from;  ///< a checkpoint; empty for a run from the start
  WallSeconds wall;
  std::vector<std::string> warnings;
};

/// The text of summary.json as documented in docs/; residuals are scaled by the model's length and speed.
std::string summary_text(const Model& model, const RunAccount& account);
/// "position sub-problem: no convergence".
std::string failure_words(const StepReport& report);
/// The name of the row, the equation or the element that kept a step from converging; empty if unknown.
std::string worst_row(const Model& model, const StepReport& report);
/// True remarks on a finished run that ask for a smaller step: large rotations, obstacles that could be crossed unseen.
std::vector<std::string> step_remarks(const Model& model, const RunStatistics& statistics);
/// The table a run ends with.
std::string closing_table(const Model& model, const RunAccount& account);

}  // namespace carom
