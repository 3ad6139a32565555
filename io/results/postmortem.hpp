// PostMortem: the folder <results>/postmortem of a run that did not converge.
//
//   state.cbor      the last valid state, a checkpoint for a restart
//   report.json     time and step of the failure, all attempts with their residuals per iteration, the largest
//                   residuals with the names of the model, hints, the command that repeats the failure
//   report.txt      the same as text
//   residual.pvd    the last valid state with the residual of the failed attempt: residual_force and residual_moment on
//                   bodies, constraint_residual on contacts
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/checkpoint.hpp"

namespace carom {

class PostMortem final : public Observer {
 public:
  /// restart: the run may continue from the files of an earlier failure, so they stay until the run ends.
  PostMortem(const std::filesystem::path& results, RunParts parts, bool restart);

  /// Removes the files of an earlier run.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override {
    if (view.nominal && !trials_.empty()) trials_.clear();
  }
  void rejected(const StepView& view) override;
  /// Writes the files after a failure. Throws FileError.
  void finish(const StepView& view, RunStatus status) override;

  /// One line per hint, after a failed run.
  const std::vector<std::string>& hints() const { return hints_; }

 private:
  struct Residual {
    std::string name, pointer, unit;
    double value = 0, relative = 0;
  };
  std::vector<Residual> largest_residuals() const;
  /// A contact or stop and its gap; row -1: no penetration.
  struct Penetration {
    int row = -1;
    double gap = 0;
  };
  Penetration deepest(const State& state) const;
  bool moves_freely(const StepView& view) const;
  std::string closing_rows(const StepView& view) const;
  std::string contradicting_rows(const StepView& view) const;
  void find_hints(const StepView& view);
  void write_picture(const StepView& view) const;
  bool has_key(const char* pointer) const;
  int iterations_allowed() const;

  std::filesystem::path folder_;
  RunParts parts_;
  bool restart_;
  Penetration at_start_;
  double t_start_ = 0;
  std::vector<StepReport> trials_;  // attempts of the present nominal step
  std::vector<std::string> hints_;
};

}  // namespace carom
