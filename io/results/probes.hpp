// Probes: quantities of points, contacts, joints and the whole model over time, as columns of probes.csv.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/atomic_file.hpp"

namespace carom {

/// One probe: its columns and the function that reads their values off a step.
struct Probe {
  std::vector<std::string> columns;  ///< names
  std::string unit;                  ///< of all columns; empty without one
  std::string meaning;               ///< quantity and observed object
  int every = 1;
  std::function<void(const StepView&, double*)> evaluate;  ///< as many values as columns
  /// What the probe remembers from one step to the next; null for most. Such a probe must be evaluated at every
  /// accepted step, in the order of time; copies of a probe share the memory.
  std::shared_ptr<Vector> memory;
};

/// Builds the probes of a model, whose names are checked, from the table of quantities; what only the mechanics can
/// tell, as the number of a node of a mesh, is added to `issues` as an error.
std::vector<Probe> make_probes(const Model& model, ModelIssues& issues);

/// Writes probes.csv: first column t, then one column per probe and component, with all digits of the values.
class ProbeWriter final : public Observer {
 public:
  ProbeWriter(const Model& model, const std::filesystem::path& file, std::vector<Probe> probes);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView&, RunStatus) override { file_.flush(); }
  std::string record_name() const override { return "probes"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

 private:
  void write(const StepView& view);

  CsvFile file_;
  std::vector<Probe> probes_;
  std::optional<CsvFile::Place> resume_;
};

}  // namespace carom
