// PreparedRun: a model that is ready to run. All programs and tests that run models use this type.
//
//   PreparedRun run = prepare_run(load_model("pendulum.json", {"/integrator/step=1e-4"}), {.end_time = 2.0});
//   if (!run.ok()) std::cerr << run.issues.report();
//   Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
//
// The document does not change. Changes by the run are in `options` and in the model; `resolved` and run_text() combine
// them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/model/model.hpp"
#include "io/results/checkpoint.hpp"
#include "io/results/expectations.hpp"
#include "io/results/probes.hpp"
#include "io/results/until.hpp"

namespace carom {

struct PreparedRun {
  ModelDocument document;
  RunOptions options;
  /// The document with the end time of the options (resolved_model()); null if the document has errors.
  std::shared_ptr<const nlohmann::json> resolved;
  ModelIssues issues;                        ///< errors of the document and of later steps
  std::vector<ModelDifference> differences;  ///< differences from the model of the checkpoint

  // complete if ok(); otherwise incomplete or null
  std::unique_ptr<Model> model;
  std::vector<Probe> probes;
  std::unique_ptr<Expectations> expectations;
  std::unique_ptr<EndCriteria> until;
  std::unique_ptr<Integrator> integrator;

  bool ok() const { return issues.empty(); }
  /// The text that checkpoints store.
  std::string checkpoint_text() const;
  /// The text of run.json. Precondition: ok().
  std::string run_text() const;
};

/// Builds the model, its probes and expectations, and initialises the integrator. With a checkpoint: checks that the
/// model can continue from it, uses the scales from kept_scales(), and leaves state and integrator to resume().
PreparedRun prepare_run(ModelDocument document, const RunOptions& options = {}, const Checkpoint* checkpoint = nullptr);

}  // namespace carom
