// carom run: solves a model and writes its results.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "apps/commands.hpp"
#include "core/errors.hpp"
#include "io/model.hpp"
#include "io/picture.hpp"
#include "io/probes.hpp"
#include "io/summary.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all that a signal handler can reach
volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int signal) {
  // the first one lets the step finish, a second one ends the program at once
  if (interrupted != 0) std::_Exit(128 + signal);
  interrupted = 1;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Run final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required();
    app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>)");
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->allow_extra_args(false);
    app.add_option("--until", until_, "Simulate up to this time instead of the model's");
    app.add_option("--threads", threads_, "Threads for the assembly (same results for any number)")
        ->check(CLI::Range(1, 1024));
    auto* quiet = app.add_flag("-q,--quiet", quiet_, "Only errors");
    app.add_flag("-v,--verbose", verbose_, "Also sizes, solvers and settings")->excludes(quiet);
  }

  int run() override {
    const auto begin = Clock::now();
    if (until_ && !std::isfinite(*until_)) {
      fmt::print(stderr, "carom: --until takes a finite time\n");
      return exit_command_line;
    }
    ModelDocument document = load_model(model_, overrides_);
    if (until_) set_end_time(document, *until_);
    std::unique_ptr<Model> model = build_model(document, threads_);
    std::vector<Probe> probes;
    if (model != nullptr) probes = make_probes(*model, document);
    if (!document.ok()) {
      fmt::print(stderr, "{}", document.report(width_of_stderr()));
      return exit_invalid_model;
    }

    // where the results go
    const std::string name = std::filesystem::path(model_).stem().string();
    const std::filesystem::path directory = directory_.empty() ? std::filesystem::path("results") / name : directory_;
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) throw FileError("cannot create " + directory.string() + ": " + code.message());
    write_atomically(directory / "run.json", resolved_text(document));

    if (!quiet_) {
      for (const std::string& w : model->warnings) fmt::print(stderr, "note: {}\n", w);
      if (verbose_) print_sizes(*model, document);
    }
    return solve(*model, std::move(probes), directory, name, begin);
  }

 private:
  static void print_sizes(const Model& model, const ModelDocument& document) {
    const System& system = model.system;
    const Scales& s = model.scales;
    fmt::print(stderr, "{}: {} equations, {} bilateral and {} unilateral rows; {}{}\n", document.file, system.size(),
               system.bilateral(), system.unilateral(), system.linear() ? "linear" : "nonlinear",
               system.massless() ? ", with massless components" : "");
    fmt::print(stderr, "scales: length {:.4g}, speed {:.4g}, mass {:.4g}\n", s.length, s.speed, s.mass);
  }

  int solve(Model& model, std::vector<Probe> probes, const std::filesystem::path& directory, const std::string& name,
            Clock::time_point begin) const {
    const std::unique_ptr<Integrator> integrator = model.make_integrator(model.system);
    RunAccount account;
    account.warnings = model.warnings;
    account.t_start = model.state.t;
    if (!integrator->initialise(model.system, model.state, model.simulation.step)) {
      const int row = integrator->suspicious_row(), n = model.system.size();
      const std::string where = row < 0    ? ""
                                : row >= n ? ", near joint " + model.system.row_name(row - n)
                                           : ", near " + model.system.equation_name(row);
      fmt::print(
          stderr,
          "carom: the initial accelerations cannot be computed: the mass matrix with the joints is singular{} (a "
          "component without mass that no joint holds?)\n",
          where);
      return exit_invalid_model;
    }
    Simulation simulation(model.system, *integrator, model.state, model.simulation);
    EnergyWatch energy(model.simulation);
    simulation.add_observer(energy);
    std::unique_ptr<ProbeWriter> probe_writer;
    if (!probes.empty()) {
      probe_writer = std::make_unique<ProbeWriter>(directory / "probes.csv", std::move(probes));
      simulation.add_observer(*probe_writer);
    }
    std::unique_ptr<Picture> picture;
    if (model.output.vtu) {
      picture = std::make_unique<Picture>(model, directory, name);
      simulation.add_observer(*picture);
    }
    Progress progress(model.simulation, isatty(STDERR_FILENO) != 0);
    if (!quiet_) simulation.add_observer(progress);
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    simulation.stop_on(&interrupted);
    account.wall.setup = seconds_since(begin);

    account.status = simulation.run();
    account.statistics = simulation.statistics();
    for (const std::string& remark : step_remarks(model, account.statistics)) {
      account.warnings.push_back(remark);
      if (!quiet_) fmt::print(stderr, "note: {}\n", remark);
    }
    account.subproblems = integrator->subproblems();
    account.linear = integrator->linear_counters();
    account.last_report = simulation.last_report();
    account.t_end = model.state.t;
    account.energy_initial = energy.initial;
    account.energy_final = energy.final;
    account.energy_max = energy.largest;
    account.wall.step = account.statistics.step_seconds;
    account.wall.output = account.statistics.observer_seconds;
    account.wall.total = seconds_since(begin);
    write_atomically(directory / "summary.json", summary_text(model, account));

    if (!quiet_) fmt::print("{}\n{}", closing_line(account, directory), closing_table(model, account));
    if (account.status == RunStatus::failed) print_failure(model, account);
    return account.status == RunStatus::completed ? exit_done
           : account.status == RunStatus::failed  ? exit_not_converged
                                                  : exit_interrupted;
  }

  static std::string closing_line(const RunAccount& account, const std::filesystem::path& directory) {
    const char* word = account.status == RunStatus::completed ? "completed"
                       : account.status == RunStatus::failed  ? "FAILED"
                                                              : "interrupted";
    return fmt::format("{}; results in {}", word, directory.string());
  }

  static void print_failure(const Model& model, const RunAccount& account) {
    const StepReport& r = account.last_report;
    const std::string where = r.worst_row >= 0        ? ", worst row: " + model.system.row_name(r.worst_row)
                              : r.worst_equation >= 0 ? ", worst row: " + model.system.equation_name(r.worst_equation)
                                                      : "";
    fmt::print(stderr, "carom: no convergence at t = {:.9g} with the smallest step {:.3g} ({} sub-problem: {}{})\n",
               r.t, r.h, r.failed >= 0 ? r.subproblems[static_cast<std::size_t>(r.failed)].name : "", r.reason, where);
  }

  std::string model_;
  std::filesystem::path directory_;
  std::vector<std::string> overrides_;
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
