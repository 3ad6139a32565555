// Checkpoints: all that a run needs to go on bit for bit, and going on from one.
//
// A file checkpoint/<step>.cbor holds, as CBOR with all numbers in binary: the resolved model, the state, the place on
// the grid of time, what the integrator keeps (pivots and linearisation points of factorisations included) and where
// every observer stands. Files appear whole; the newest few are kept. Writing one changes nothing in the run.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "integrators/common/simulation.hpp"
#include "io/model/model.hpp"

namespace carom {

/// The parts of a running program that a checkpoint is made of.
struct RunParts {
  const Model& model;
  State& state;
  Integrator& integrator;
  Simulation& simulation;
  std::vector<Observer*> observers;
  std::string model_text;  ///< resolved model
};

/// A checkpoint as read from its file.
struct Checkpoint {
  std::filesystem::path file;
  std::string version;   ///< of the program that wrote it
  nlohmann::json model;  ///< resolved
  std::string structure;
  State state;
  Scales scales;  ///< of the tolerances
  Vector initial_q, initial_v;
  double initial_t = 0;
  NamedArrays integrator, simulation;
  std::vector<std::pair<std::string, NamedArrays>> observers;
};

/// Reads and verifies a file. Throws FileError if it is missing, damaged or of another kind.
Checkpoint read_checkpoint(const std::filesystem::path& file);
/// The newest one of a result directory.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& results);
/// Removes those of an earlier run, but for those up to and including the step `keep`.
void remove_checkpoints(const std::filesystem::path& results, long keep = -1);
/// Throws FileError.
void write_checkpoint(const std::filesystem::path& file, const RunParts& parts);

/// A place where two resolved models differ.
struct ModelDifference {
  std::string pointer, was, now;  ///< values in short; empty: not there
  bool only_outside;  ///< output, expectations, title or duration: the mechanics and the method are the same
};
std::vector<ModelDifference> model_differences(const nlohmann::json& was, const nlohmann::json& now);

/// The scales of the checkpoint if all differences are `only_outside`, otherwise nothing. The scales that a model
/// computes may depend on its duration, and a run that goes on keeps the scales that it began with.
std::optional<Scales> kept_scales(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences);
/// Whether the model can go on from the checkpoint: its nodes, equations, rows, initial state and integrator must be
/// the same, and its end not before the checkpoint. What forbids it is added to `issues`, at the places that differ.
void check_restart(const Checkpoint& checkpoint, const Model& model, const std::vector<ModelDifference>& differences,
                   const RunOptions& options, ModelIssues& issues);
/// Puts the run where the checkpoint was made. With differences that are not only outside, factorisations are made
/// anew; another step begins a new grid of time. Throws FileError if the checkpoint does not fit.
void resume(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences, const RunParts& parts,
            double t_end, bool same_files);

/// Writes checkpoints when they are due, at the end and on request.
class CheckpointWriter final : public Observer {
 public:
  /// `request`: set by a signal; then a checkpoint is written after the step, and `on_request` called.
  CheckpointWriter(std::filesystem::path results, RunParts parts, volatile std::sig_atomic_t* request,
                   std::function<void(const StepView&)> on_request);

  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;

 private:
  void write(const StepView& view);

  std::filesystem::path results_;
  RunParts parts_;
  volatile std::sig_atomic_t* request_;
  std::function<void(const StepView&)> on_request_;
  std::vector<std::filesystem::path> written_;
  double last_t_ = 0;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace carom
