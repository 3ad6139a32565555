// carom run: solves a model and writes its results.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "apps/commands.hpp"
#include "core/base/errors.hpp"
#include "core/linear/blas.hpp"
#include "integrators/common/element_contacts.hpp"
#include "io/model/stability_remark.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/directory_lock.hpp"
#include "io/results/energy_writer.hpp"
#include "io/results/event_log.hpp"
#include "io/results/iteration_writer.hpp"
#include "io/results/postmortem.hpp"
#include "io/results/prepared_run.hpp"
#include "io/results/status_file.hpp"
#include "io/results/summary.hpp"
#include "io/results/vtu_output.hpp"
#include "io/results/vtu_series.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can reach nothing else
volatile std::sig_atomic_t begun = 0;
volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t snapshot_wanted = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
extern "C" void on_interrupt(int signal) {
  // Before the run, for instance while Gmsh meshes a geometry, there is nothing to complete. During the run the first
  // signal lets the step finish, and the second ends the program at once.
  if (begun == 0) std::_Exit(exit_interrupted);
  if (interrupted != 0) std::_Exit(128 + signal);
  interrupted = 1;
}
extern "C" void on_snapshot(int) { snapshot_wanted = 1; }

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Run final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>)")
        ->option_text("DIR")
        ->check(reject_empty);
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->option_text("/KEY=VALUE")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.add_option("--restart", restart_,
                   "Go on from a checkpoint: a file; \"last\" for the newest readable one in the directory of the "
                   "results; \"auto\" for the same, or a new run if there is none")
        ->option_text("FILE|last|auto")
        ->check(reject_empty);
    app.add_option("--until", until_, "Simulate up to this time instead of the model's")
        ->option_text("T")
        ->check([](const std::string& word) {
          const bool finite = std::isfinite(std::strtod(word.c_str(), nullptr));
          return finite ? std::string() : "expected a finite time, got " + in_quotes(word);
        });
    app.add_option("--threads", threads_, "Threads (default: 1; same results for any number)")
        ->option_text("N")
        ->check(CLI::Range(1, 1024));
    auto* quiet = app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.add_flag("-v,--verbose", verbose_, "Also sizes, scales, times and linear systems")->excludes(quiet);
    app.footer(
        "Examples:\n"
        "    carom run brick.json\n"
        "    carom run brick.json -o results/fine --set /integrator/step=1e-4 --until 2\n"
        "    carom run brick.json --restart last");
  }

  int run() override {
    const auto begin = Clock::now();
    const std::string name = std::filesystem::path(model_).stem().string();
    const std::filesystem::path directory = directory_.empty() ? std::filesystem::path("results") / name : directory_;
    handle_signals();
    DirectoryLock lock;
    lock.acquire(directory);
    std::vector<std::string> unreadable;
    std::optional<Checkpoint> checkpoint = checkpoint_of(directory, unreadable);

    PreparedRun run = prepare_run(load_model(model_, overrides_), {.end_time = until_, .threads = threads_},
                                  checkpoint ? &*checkpoint : nullptr);
    if (!run.ok()) {
      fmt::print(stderr, "{}", run.issues.report(width_of_stderr()));
      return exit_invalid_model;
    }

    if (!quiet_) {
      for (const std::string& w : run.model->warnings) fmt::print(stderr, "note: {}\n", w);
      for (const std::string& w : unreadable) fmt::print(stderr, "note: {}\n", w);
      if (checkpoint) {
        fmt::print(stderr, "note: goes on from {} at t = {:.9g}\n", checkpoint->file.string(), checkpoint->state.t);
        if (checkpoint->version != CAROM_VERSION)
          fmt::print(stderr, "note: it was written by carom {}: the last digits may differ\n", checkpoint->version);
        for (const ModelDifference& d : run.differences)
          if (!d.pointer.starts_with("/expect/") ||
              !d.was.empty())  // --until changes the end time of expectations, which the user did not edit
            fmt::print(stderr, "note: {} is now {}, was {}\n", d.pointer, d.now.empty() ? "absent" : d.now,
                       d.was.empty() ? "absent" : d.was);
      }
      if (verbose_) print_sizes(*run.model, run.document.source().file);
    }
    if (would_overwrite_model(directory, name, run.run_text())) {
      fmt::print(stderr,
                 "carom run: the results in {} would overwrite the model {}: expected another directory, with -o, or "
                 "another name of the model\nSee: carom run --help\n",
                 directory.string(), model_);
      return exit_command_line;
    }
    return solve({std::move(run), std::move(checkpoint), std::move(unreadable), directory, name, begin, lock});
  }

 private:
  static void handle_signals() {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    std::signal(SIGUSR1, on_snapshot);
    // a file above the size limit is a write error and must not kill the process
    std::signal(SIGXFSZ, SIG_IGN);
  }

  struct Task {
    PreparedRun run;
    std::optional<Checkpoint> checkpoint;
    std::vector<std::string> unreadable;  ///< reasons for newer checkpoints that were passed over
    std::filesystem::path directory;
    std::string name;
    Clock::time_point begin;
    DirectoryLock& lock;
  };

  /// The checkpoint that --restart asks for; `unreadable` gets the reasons for newer ones that were passed over.
  std::optional<Checkpoint> checkpoint_of(const std::filesystem::path& directory,
                                          std::vector<std::string>& unreadable) const {
    if (restart_.empty()) return std::nullopt;
    if (restart_ != "last" && restart_ != "auto") return read_checkpoint(restart_);
    std::optional<Checkpoint> checkpoint = read_newest_checkpoint(directory, unreadable);
    const std::string folder = (directory / "checkpoint").string();
    if (!checkpoint && restart_ == "last")
      throw FileError(unreadable.empty() ? "there is no checkpoint in " + folder
                                         : "no checkpoint in " + folder + " can be read: " + unreadable.front());
    for (std::string& reason : unreadable)
      reason =
          (checkpoint ? "passed over a newer checkpoint: " : "begins anew, since no checkpoint can be read: ") + reason;
    return checkpoint;
  }

  static void print_sizes(const Model& model, const std::string& file) {
    const System& system = model.system;
    const Scales& s = model.scales;
    fmt::print(stderr, "{}: {} equations, {} bilateral and {} unilateral rows; {}{}\n", file, system.size(),
               system.bilateral(), system.conditional(), system.linear() ? "linear" : "nonlinear",
               system.has_massless_equation() ? ", with massless components" : "");
    fmt::print(stderr, "scales: length {:.4g}, speed {:.4g}, mass {:.4g}\n", s.length, s.speed, s.mass);
    fmt::print(stderr, "BLAS: {}\n", blas_library().name);
  }

  /// True if the run would overwrite the model file. A run may repeat its own run.json if the file stays the same.
  bool would_overwrite_model(const std::filesystem::path& directory, const std::string& name,
                             const std::string& run_text) const {
    if (is_one_of(model_, directory, {"run.json"})) {
      std::ifstream file(model_, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {}) != run_text;
    }
    std::error_code code;
    const std::filesystem::path folder = std::filesystem::absolute(model_, code).parent_path();
    // postmortem/ is removed as a whole
    return is_one_of(folder, directory, {"postmortem"}) ||
           is_one_of(model_, directory,
                     {"summary.json", "status.json", "probes.csv", "events.csv", "energy.csv", "iterations.csv",
                      name + ".pvd"});
  }

  int solve(Task task) const {
    begun = 1;
    Model& model = *task.run.model;
    const std::filesystem::path& directory = task.directory;
    Integrator& integrator = *task.run.integrator;
    RunAccount account;
    account.warnings = model.warnings;
    account.warnings.insert(account.warnings.end(), task.unreadable.begin(), task.unreadable.end());
    account.t_start = model.state.t;
    const double t_end = model.state.t + model.simulation.duration;
    Simulation simulation(model.system, integrator, model.state, model.simulation);

    // observers; an observer that others read comes before them
    std::vector<Observer*> observers;
    std::vector<std::unique_ptr<Observer>> owned;
    const auto own = [&](auto observer) {
      auto* const bare = observer.get();
      observers.push_back(bare);
      owned.push_back(std::move(observer));
      return bare;
    };
    const OutputSettings& output = model.output;
    const EnergyLedger* ledger = nullptr;
    const EnergyWatch* energy = nullptr;
    // a static run has no impacts and no energy balance
    const bool moves = integrator.info().dynamic;
    // Of flexible bodies the energy tells whether the step resolves their motion: it is judged without energy.csv, too,
    // but for explicit methods, whose stable steps are short and cheap.
    const bool judged = !integrator.info().explicit_step && is_flexible(model.system);
    if (moves && (output.energy || judged)) {
      ledger = own(std::make_unique<EnergyLedger>());
      if (output.energy) own(std::make_unique<EnergyWriter>(model, *ledger, directory / "energy.csv"));
    } else {
      energy = own(std::make_unique<EnergyWatch>(model.simulation));
    }
    const auto& subproblems = integrator.info().subproblems;
    own(std::make_unique<IterationWriter>(model, std::vector<std::string>(subproblems.begin(), subproblems.end()),
                                          directory / "iterations.csv"));
    if (output.events && moves) own(std::make_unique<EventLog>(model, directory / "events.csv"));
    if (!task.run.probes.empty())
      own(std::make_unique<ProbeWriter>(model, directory / "probes.csv", std::move(task.run.probes)));
    VtuOutput* const picture = output.vtu ? own(std::make_unique<VtuOutput>(model, directory, task.name)) : nullptr;
    observers.push_back(task.run.expectations.get());
    observers.push_back(task.run.until.get());
    StatusFile* const status = own(std::make_unique<StatusFile>(directory / "status.json", account.t_start, t_end));
    if (!quiet_) own(std::make_unique<Progress>(account.t_start, t_end, isatty(STDERR_FILENO) != 0));
    const RunParts parts{model, model.state, integrator, simulation, observers, task.run.checkpoint_text()};
    PostMortem* const postmortem = own(std::make_unique<PostMortem>(directory, parts, task.checkpoint.has_value()));
    own(std::make_unique<CheckpointWriter>(directory, parts, &snapshot_wanted, [picture](const StepView& view) {
      if (picture != nullptr) picture->write(view);
    }));
    for (Observer* o : observers) simulation.add_observer(*o);

    bool same_files = false;
    if (task.checkpoint) {
      // results are continued only in the directory of the checkpoint
      std::error_code code;
      const std::filesystem::path home = task.checkpoint->file.parent_path() / "..";
      same_files = std::filesystem::equivalent(home, directory, code) && !code;
      resume(*task.checkpoint, task.run.differences, parts, t_end, same_files);
      account.restarted_from = task.checkpoint->file.string();
    }
    // without run.json, files with these names belong to the user
    std::error_code code;
    const bool replaces = !same_files && std::filesystem::exists(directory / "run.json", code);
    prepare(task, same_files);
    if (replaces) remove_unwritten(directory, task.name, observers, picture != nullptr);
    simulation.stop_on(&interrupted);
    account.wall.setup = seconds_since(task.begin);

    try {
      account.status = simulation.run();
      finish(account, simulation, task, integrator, ledger, energy);
    } catch (...) {
      status->stopped(model.state);
      throw;
    }

    if (!quiet_) fmt::print("{}\n{}", closing_line(account, directory), closing_table(model, account, verbose_));
    if (account.status == RunStatus::failed) {
      print_failure(model, account);
      for (const std::string& hint : postmortem->hints()) fmt::print(stderr, "carom: hint: {}\n", hint);
      fmt::print(stderr, "carom: post-mortem: {}\n", (directory / "postmortem" / "report.txt").string());
      return exit_not_converged;
    }
    const bool met = report_expectations(account);
    if (account.status == RunStatus::interrupted) return exit_interrupted;
    return met ? exit_done : exit_expectation;
  }

  /// Prepares the directory of the results: removes the end reports of an earlier run and, if that was another run, its
  /// checkpoints. Called only when the run is known to be possible.
  static void prepare(const Task& task, bool same_files) {
    const std::filesystem::path& directory = task.directory;
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) throw FileError("cannot create " + directory.string() + ": " + code.message());
    task.lock.acquire(directory);
    write_atomically(directory / "run.json", task.run.run_text());
    if (!same_files) remove_checkpoints(directory);
    std::filesystem::remove(directory / "summary.json", code);
  }

  /// Removes tables and pictures of an earlier run that this run does not write.
  static void remove_unwritten(const std::filesystem::path& directory, const std::string& name,
                               const std::vector<Observer*>& observers, bool pictures) {
    std::error_code code;
    for (const char* table : {"probes", "events", "energy", "iterations"}) {
      const bool written =
          std::any_of(observers.begin(), observers.end(), [&](Observer* o) { return o->record_name() == table; });
      if (!written) std::filesystem::remove(directory / (std::string(table) + ".csv"), code);
    }
    // pictures of another model; those of natural modes stay
    std::vector<std::string> others;
    for (const auto& entry : std::filesystem::directory_iterator(directory, code)) {
      const std::string stem = entry.path().stem().string();
      if (entry.path().extension() == ".pvd" && stem != name && stem.find("_mode_") == std::string::npos &&
          std::filesystem::exists(directory / "vtu" / (stem + "_000000.vtu"), code))
        others.push_back(stem);
    }
    for (const std::string& other : others) remove_series(directory, other);
    if (pictures) return;
    remove_series(directory, name);
    std::filesystem::remove(directory / "view.py", code);
  }

  /// Prints the summary of a run and writes summary.json.
  void finish(RunAccount& account, const Simulation& simulation, const Task& task, Integrator& integrator,
              const EnergyLedger* ledger, const EnergyWatch* energy) const {
    const Model& model = *task.run.model;
    account.statistics = simulation.statistics();
    std::vector<std::string> remarks = step_remarks(model, integrator.info(), account.statistics);
    if (ledger != nullptr) {
      for (std::string& remark : balance_remarks(model, integrator.info(), ledger->balance()))
        remarks.push_back(std::move(remark));
      if (std::string remark = bounces_remark(model, ledger->bounces()); !remark.empty())
        remarks.push_back(std::move(remark));
    }
    for (std::string& remark : task.run.until->remarks()) remarks.push_back(std::move(remark));
    if (!integrator.info().dynamic && account.status == RunStatus::completed &&
        integrator.load_factor(model.state) == 1)
      if (std::string remark = stability_remark(model, "end"); !remark.empty()) remarks.push_back(std::move(remark));
    for (const std::string& remark : remarks) {
      account.warnings.push_back(remark);
      if (!quiet_) fmt::print(stderr, "note: {}\n", remark);
    }
    account.subproblems.assign(integrator.info().subproblems.begin(), integrator.info().subproblems.end());
    account.linear = integrator.linear_counters();
    account.linear_methods = integrator.linear_methods();
    account.last_report = simulation.last_report();
    account.t_end = model.state.t;
    if (ledger != nullptr) {
      account.ledger = ledger->balance();
      account.energy_initial = ledger->initial();
      account.energy_final = ledger->balance().total();
      account.energy_max = ledger->largest();
    } else {
      account.energy_initial = energy->initial;
      account.energy_final = energy->final;
      account.energy_max = energy->largest;
    }
    account.expectations = task.run.expectations->all();
    if (const EndCriteria::Met* const met = task.run.until->met(); met != nullptr) {
      account.ended_by = met->words;
      account.ended_by_key = met->pointer;
    }
    account.wall.step = account.statistics.step_seconds;
    account.wall.output = account.statistics.observer_seconds;
    account.wall.total = seconds_since(task.begin) + account.statistics.earlier_seconds;
    write_atomically(task.directory / "summary.json", summary_text(model, account));
  }

  /// Returns false if an expectation was missed.
  bool report_expectations(const RunAccount& account) const {
    bool met = true;
    for (const Expectation& e : account.expectations) {
      if (!e.found) {
        if (!quiet_ && account.status == RunStatus::completed)
          fmt::print(
              stderr, "note: {}: {} is expected at t = {:.9g}, {}\n", e.pointer, e.probe, e.time,
              e.time > account.t_end ? "after the end of the run" : "before the restart, and was not noted then");
      } else if (!e.met()) {
        met = false;
        fmt::print(stderr, "carom: {}: expected {} = {:.9g} within {:.3g} at t = {:.9g}, found {:.9g}\n", e.pointer,
                   e.probe, e.value, e.tolerance, e.time, *e.found);
      }
    }
    return met;
  }

  static std::string closing_line(const RunAccount& account, const std::filesystem::path& directory) {
    const char* word = account.status == RunStatus::completed ? "completed"
                       : account.status == RunStatus::failed  ? "FAILED"
                                                              : "interrupted";
    return fmt::format("{}; results in {}", word, directory.string());
  }

  static void print_failure(const Model& model, const RunAccount& account) {
    const StepReport& r = account.last_report;
    const std::string row = worst_row(model, r), where = row.empty() ? "" : ", worst: " + row;
    fmt::print(stderr, "carom: no convergence at t = {:.9g} with the smallest step {:.3g} ({}{})\n", r.t, r.h,
               failure_words(r), where);
  }

  std::string model_;
  std::filesystem::path directory_;
  std::vector<std::string> overrides_;
  std::string restart_;
  std::optional<double> until_;
  int threads_ = 1;
  bool quiet_ = false, verbose_ = false;
};

}  // namespace

Command& run_command() {
  static Run command;
  return command;
}

}  // namespace carom
