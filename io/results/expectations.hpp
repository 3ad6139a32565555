// Expectations: the expected results of a model, key "expect".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/probes.hpp"

namespace carom {

struct Expectation {
  std::string probe, pointer;
  double value = 0, tolerance = 0;
  double time = 0;
  std::optional<double> found;  ///< empty: the run ended earlier, or continues from a checkpoint after this time

  bool met() const;
};

class Expectations final : public Observer {
 public:
  /// probes: the probes of the model. Times before the run are added to `issues` as errors.
  Expectations(const Model& model, const std::vector<Probe>& probes, ModelIssues& issues);

  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  std::string record_name() const override { return "expectations"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

  const std::vector<Expectation>& all() const { return expectations_; }

 private:
  struct Column {
    Probe probe;
    std::size_t component = 0;
    std::optional<double> before_t;  // the last value before the time
    double before = 0;
  };
  /// Identifies an expectation after a restart, whatever its position in the list.
  static std::string key(const Expectation& e);
  void look(const StepView& view);

  std::vector<Expectation> expectations_;
  std::vector<Column> columns_;  // one per expectation
};

}  // namespace carom
