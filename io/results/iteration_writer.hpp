// IterationWriter: iterations.csv, the work of the steps over time. A row stands for the steps since the row before:
//
//   t, steps, rejected, SUB.mean, SUB.max, ...
//
// with the accepted steps (parts of halved steps count one by one), the rejected trials, and for every sub-problem of
// the method the mean and the largest number of iterations per accepted step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

class IterationWriter final : public Observer {
 public:
  /// subproblems: names, in the order of the reports.
  IterationWriter(const Model& model, const std::vector<std::string>& subproblems, const std::filesystem::path& file);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void rejected(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;
  std::string record_name() const override { return "iterations"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

 private:
  void write(double t);

  CsvFile file_;
  long every_;  // in steps, as of energy.csv; by default from the duration at the first start
  bool given_stride_;
  double step_, last_regular_ = 0;
  double steps_ = 0, rejected_ = 0;  // since the last regular row
  Vector sums_, most_;
  std::size_t regular_size_ = 0;  // size without the last row of a run that ended between two regular rows
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
