// PreparedRun: a model that is ready to run, for every program and test that runs models.
//
//   PreparedRun run = prepare_run(load_model("pendulum.json", {"/integrator/step=1e-4"}), {.end_time = 2.0});
//   if (!run.ok()) std::cerr << run.issues.report();
//   Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
//
// The document stays as it was read. What the run changes of it is in `options` and in the model; `resolved` and
// run_text() put them together.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/model/model.hpp"
#include "io/results/checkpoint.hpp"
#include "io/results/expectations.hpp"
#include "io/results/probes.hpp"

namespace carom {

struct PreparedRun {
  ModelDocument document;
  RunOptions options;
  nlohmann::json resolved;                   ///< with the end time of the options: see resolved_model()
  ModelIssues issues;                        ///< of the document and of what follows
  std::vector<ModelDifference> differences;  ///< from the model of the checkpoint

  // Complete if ok(); otherwise what could be made, or null.
  std::unique_ptr<Model> model;
  std::vector<Probe> probes;
  std::unique_ptr<Expectations> expectations;
  std::unique_ptr<Integrator> integrator;

  bool ok() const { return issues.empty(); }
  /// What checkpoints hold.
  std::string checkpoint_text() const { return model_text(resolved); }
  /// What run.json holds; for a run that is ok().
  std::string run_text() const { return model_text(repeatable_model(resolved, *model)); }
};

/// Builds the model, its probes and expectations, and starts the integrator. With a checkpoint: checks that the model
/// can go on from it, keeps its scales where kept_scales() gives them, and leaves state and integrator to resume().
PreparedRun prepare_run(ModelDocument document, const RunOptions& options = {}, const Checkpoint* checkpoint = nullptr);

}  // namespace carom
