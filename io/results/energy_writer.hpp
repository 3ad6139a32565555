// EnergyWriter: energy.csv, the energy and where it went (integrators/common/energy_ledger.hpp), as work since the
// start.
#pragma once

#include <filesystem>
#include <optional>

#include "integrators/common/energy_ledger.hpp"
#include "io/model/model.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

class EnergyWriter final : public Observer {
 public:
  /// The ledger must be an observer before this one.
  EnergyWriter(const Model& model, const EnergyLedger& ledger, const std::filesystem::path& file);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;
  std::string record_name() const override { return "energy"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

 private:
  void write(const StepView& view);

  const EnergyLedger& ledger_;
  CsvFile file_;
  long every_;  // steps; by default that of the duration at the first start, also when a restart changes it
  std::size_t regular_size_ = 0;  // without the last row of a run that ended between two regular ones
  bool given_stride_;
  double step_, last_regular_ = 0, last_written_ = 0;
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
