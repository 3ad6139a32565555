#include "io/results/prepared_run.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace carom {

std::string PreparedRun::checkpoint_text() const { return model_text(*resolved); }

// The end of --until stands there for the duration, from which other scales might follow.
std::string PreparedRun::run_text() const {
  nlohmann::json text = repeatable_model(*resolved, *model);
  const Scales& scales = model->scales;
  if (options.end_time) text["scales"] = {{"length", scales.length}, {"speed", scales.speed}, {"mass", scales.mass}};
  return model_text(text);
}

PreparedRun prepare_run(ModelDocument document, const RunOptions& options, const Checkpoint* checkpoint) {
  ModelIssues issues = document.issues();
  PreparedRun run{std::move(document), options, {}, std::move(issues), {}, nullptr, {}, nullptr, nullptr, nullptr};
  if (!run.ok()) return run;
  run.resolved = std::make_shared<const nlohmann::json>(resolved_model(run.document, options));
  if (checkpoint != nullptr) {
    run.differences = model_differences(*checkpoint->model, *run.resolved);
    run.options.scales = kept_scales(*checkpoint, run.differences);
  }
  run.model = build_model(run.document, run.options, run.issues);
  if (run.model == nullptr) return run;
  run.probes = make_probes(*run.model, run.issues);
  run.expectations = std::make_unique<Expectations>(*run.model, run.probes, run.issues);
  run.until = std::make_unique<EndCriteria>(*run.model, run.probes, run.issues);
  if (checkpoint != nullptr) check_restart(*checkpoint, *run.model, run.differences, run.options, run.issues);
  if (run.ok()) run.integrator = start_integrator(*run.model, checkpoint == nullptr, run.issues);
  return run;
}

}  // namespace carom
