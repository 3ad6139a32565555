// EndCriteria: the key "until": a run ends, as completed, at the end of the first nominal step at which a criterion
// holds, and has held for as long as it asks.
//
//   kinetic_energy     T < below
//   inertial_impulse   h c sum_i |(M v)_i| < below * sum_j |r_j|     c: rate of a viscous term -c M v of the model,
//                      r: impulses of contacts in the step. Di Stasio, Dureisseix, Gravouil et al. (2019), "Discrete
//                      arch", with sums of sizes in place of their sums of components, which may cancel
//   formula            the formula of probes and t is not zero
//
// A checkpoint holds since when each criterion has held.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formula/formula.hpp"
#include "integrators/common/observer.hpp"
#include "io/model/model.hpp"
#include "io/results/probes.hpp"

namespace carom {

class EndCriteria final : public Observer {
 public:
  /// probes: of the model. A formula that does not fit is added to `issues`.
  EndCriteria(const Model& model, const std::vector<Probe>& probes, ModelIssues& issues);

  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  bool wants_end() const override { return met_ >= 0; }
  std::string record_name() const override { return "until"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

  /// The criterion that ended the run: its pointer in the model file, and what it says.
  struct Met {
    std::string pointer, words;
  };
  /// Null if none did.
  const Met* met() const { return met_ >= 0 ? &criteria_[at(met_)].words : nullptr; }
  /// Formulas that had no value at some step, such as the logarithm of a negative number, for the report of a run.
  std::vector<std::string> remarks() const;

 private:
  struct Criterion {
    UntilSettings settings;
    Met words;
    std::shared_ptr<const Formula> formula;
    struct Column {
      Probe probe;
      std::size_t component = 0;
    };
    std::vector<Column> columns;  // variables of the formula before t
    bool holds = false;
    double since = 0;
    long undefined = 0;          // steps at which the formula had no value
    double first_undefined = 0;  // time
  };
  bool holds(Criterion& criterion, const StepView& view);
  static std::string key(const Criterion& criterion);

  std::vector<Criterion> criteria_;
  Vector momentum_, values_;
  int met_ = -1;
};

}  // namespace carom
