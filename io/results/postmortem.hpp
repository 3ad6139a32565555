// PostMortem: what a run that did not converge leaves in <results>/postmortem.
//
//   state.cbor      the last good state, a checkpoint to restart from
//   report.json     time and step of the failure, every trial with its residuals per iteration, the largest residuals
//                   by the names of the model, hints, the command that repeats the failure
//   report.txt      the same to read
//   residual.pvd    the last good state with the residual of the failed trial: residual_force and residual_moment on
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
  /// `restart`: what an earlier run left may be what this one goes on from, and stays until it ends.
  PostMortem(const std::filesystem::path& results, RunParts parts, bool restart);

  /// Removes what an earlier run left.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override {
    if (view.nominal && !trials_.empty()) trials_.clear();
  }
  void rejected(const StepView& view) override;
  /// After a failure it writes. Throws FileError.
  void finish(const StepView& view, RunStatus status) override;

  /// A line per hint, after a failed run.
  const std::vector<std::string>& hints() const { return hints_; }

 private:
  struct Residual {
    std::string name, pointer, unit;
    double value = 0, relative = 0;
  };
  std::vector<Residual> largest_residuals() const;
  /// A contact or stop and its gap; no row: none penetrates.
  struct Penetration {
    int row = -1;
    double gap = 0;
  };
  Penetration deepest(const State& state) const;
  std::string closing_rows(const StepView& view) const;
  void find_hints(const StepView& view);
  void write_picture(const StepView& view) const;

  std::filesystem::path folder_;
  RunParts parts_;
  bool restart_;
  Penetration at_start_;
  std::vector<StepReport> trials_;  // of the present nominal step
  std::vector<std::string> hints_;
};

}  // namespace carom
