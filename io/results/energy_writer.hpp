// EnergyWriter: energy.csv, the energy and the work that changes it (integrators/common/energy_ledger.hpp), since the
// start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "io/model/model.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

/// The columns of energy.csv; the first is the time.
std::vector<CsvColumn> energy_columns(const Model& model);

class EnergyWriter final : public Observer {
 public:
  /// The ledger must precede this object in the list of observers.
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
  bool friction_, switches_;  // columns of their own
  CsvFile file_;
  long every_;  // in steps; by default from the duration at the first start, also if a restart changes the duration
  std::size_t regular_size_ = 0;  // size without the last row of a run that ended between two regular rows
  bool given_stride_;
  double step_, last_regular_ = 0, last_written_ = 0;
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
