// Checkpoints: all data that a run needs to continue bit for bit, and the restart from a checkpoint.
//
// A file checkpoint/<step>.cbor contains, as CBOR with binary numbers: the resolved model, the state, the position on
// the grid of time, the inner state of the integrator (including pivots and linearisation points of factorisations) and
// the positions of all observers in their files. A file appears only when complete; the newest few files are kept.
// Writing a checkpoint does not change the run.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "integrators/common/simulation.hpp"
#include "io/model/model.hpp"

namespace carom {

/// The parts of a running program that a checkpoint contains.
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
  std::string version;                          ///< version of the program that wrote the file
  std::shared_ptr<const nlohmann::json> model;  ///< resolved model
  std::string structure;
  State state;
  Scales scales;  ///< scales of the tolerances
  Vector initial_q, initial_v;
  double initial_t = 0;
  NamedArrays integrator, simulation;
  std::vector<std::pair<std::string, NamedArrays>> observers;
};

/// Reads and verifies a file. Throws FileError if the file is missing, damaged or of another kind.
Checkpoint read_checkpoint(const std::filesystem::path& file);
/// The newest checkpoint of a result directory that can be read; `unreadable` gets the reason for each newer file that
/// cannot be read, newest first.
std::optional<Checkpoint> read_newest_checkpoint(const std::filesystem::path& results,
                                                 std::vector<std::string>& unreadable);
/// Removes checkpoints of an earlier run, except for those up to and including step `keep`.
void remove_checkpoints(const std::filesystem::path& results, long keep = -1);
/// Throws FileError.
void write_checkpoint(const std::filesystem::path& file, const RunParts& parts);

/// A place at which two resolved models differ.
struct ModelDifference {
  std::string pointer, was, now;  ///< values in short form; empty if absent
  bool only_outside;              ///< output, expectations, title or duration: mechanics and method are the same
};
std::vector<ModelDifference> model_differences(const nlohmann::json& was, const nlohmann::json& now);

/// The scales of the checkpoint if all differences are `only_outside`, otherwise nullopt. The computed scales of a
/// model may depend on its duration, but a restarted run keeps the scales of its first start.
std::optional<Scales> kept_scales(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences);
/// Checks that the model can continue from the checkpoint: nodes, equations, rows, initial state and integrator must be
/// the same, and the end time must not lie before the checkpoint. Adds errors to `issues` at the places that differ.
void check_restart(const Checkpoint& checkpoint, const Model& model, const std::vector<ModelDifference>& differences,
                   const RunOptions& options, ModelIssues& issues);
/// Sets the run to the state of the checkpoint. If the mechanics differ, factorisations are computed anew; another step
/// begins a new grid of time. Throws FileError if the checkpoint does not fit.
void resume(const Checkpoint& checkpoint, const std::vector<ModelDifference>& differences, const RunParts& parts,
            double t_end, bool same_files);

/// Writes checkpoints at regular intervals, at the end and on request.
class CheckpointWriter final : public Observer {
 public:
  /// request: set by a signal; after the step a checkpoint is written and `on_request` is called.
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
