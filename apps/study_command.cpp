#include "apps/study_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "io/results/atomic_file.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/convergence_report.hpp"

namespace carom {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can reach nothing else
volatile std::sig_atomic_t study_interrupted = 0;
extern "C" void on_study_interrupt(int signal) {
  if (study_interrupted != 0) std::_Exit(128 + signal);
  study_interrupted = 1;
}

}  // namespace

const volatile std::sig_atomic_t* StudyCommand::stop_flag() { return &study_interrupted; }

int StudyCommand::run() {
  std::signal(SIGINT, on_study_interrupt);
  std::signal(SIGTERM, on_study_interrupt);
  // a file above the size limit is a write error and must not kill the process
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return study();
  } catch (const StudyError& e) {
    fmt::print(stderr, "carom {}: {}\nSee: carom {} --help\n", name_, e.what(), name_);
    return exit_command_line;
  }
}

void StudyCommand::declare_shared(CLI::App& app, const std::string& column) {
  app.add_option("--probe", probes_, "A probe of the model (may be repeated; default: all)")
      ->option_text("NAME")
      ->allow_extra_args(false);
  app.add_option("--window", window_, "Errors and plots only for this time")->option_text("T0,T1")->check(reject_empty);
  app.add_option("--expect", expected_,
                 "The order that is required of this probe: otherwise the study ends with exit code 6")
      ->option_text(column + "=ORDER+-TOLERANCE")
      ->allow_extra_args(false);
  app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
      ->option_text("/KEY=VALUE")
      ->allow_extra_args(false)
      ->check(reject_malformed_override);
  app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>-" + name_ + ")")
      ->option_text("DIR")
      ->check(reject_empty);
  app.add_option("--threads", threads_, "Threads (default: 1; same results for any number)")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
  app.add_flag("-q,--quiet", quiet_, "Only errors");
}

PreparedRun StudyCommand::prepare(const std::vector<std::string>& more) const {
  std::vector<std::string> overrides = overrides_;
  overrides.insert(overrides.end(), more.begin(), more.end());
  return prepare_run(load_model(model_, overrides), {.threads = threads_});
}

int StudyCommand::refuse(const ModelIssues& issues) const {
  if (stopped()) return exit_interrupted;
  fmt::print(stderr, "{}", issues.report(width_of_stderr()));
  return exit_invalid_model;
}

StudyRun StudyCommand::solve(PreparedRun run, double begin_seconds) const {
  const SimulationOptions& s = run.model->simulation;
  check_window(window(), run.model->state.t, s.duration, s.step);
  StudyRun out = solve_study_run(std::move(run), stop_flag());
  out.seconds += begin_seconds;
  return out;
}

void StudyCommand::say(std::size_t number, std::size_t count, const std::string& what, const StudyRun& r) const {
  if (r.status == RunStatus::failed) {
    fmt::print(stderr, "[{}/{}] {}: FAILED: {}\n", number, count, what, r.failure);
  } else if (!quiet_) {
    fmt::print(stderr, "[{}/{}] {}: {}{} steps in {:.3g} s\n", number, count, what,
               r.status == RunStatus::interrupted ? "interrupted after " : "", r.statistics.nominal_steps, r.seconds);
  }
  std::fflush(stderr);
}

void StudyCommand::say_notes(const std::vector<std::string>& notes) const {
  for (const std::string& note : notes)
    if (!quiet_) fmt::print(stderr, "note: {}\n", note);
}

std::optional<TimeWindow> StudyCommand::window() const {
  return window_.empty() ? std::nullopt : std::optional(time_window(window_));
}

void StudyCommand::add_errors(std::vector<StudyRun>& runs, const Samples& reference,
                              const std::vector<StudyQuantity>& quantities, const std::string& reference_text) const {
  for (StudyRun& r : runs) {
    if (r.status != RunStatus::completed) continue;
    try {
      for (const StudyQuantity& q : quantities) r.errors.push_back(compare(r.samples, reference, q.columns, window()));
    } catch (const std::invalid_argument&) {
      throw StudyError(fmt::format("--reference: {} goes from t = {:.9g} to {:.9g}, the runs from {:.9g} to {:.9g}",
                                   reference_text, reference.t.front(), reference.t.back(), r.samples.t.front(),
                                   r.samples.t.back()));
    }
  }
}

Samples StudyCommand::read_reference(const std::string& file, const std::vector<StudyQuantity>& quantities) {
  Samples reference = read_samples(file);
  for (const StudyQuantity& q : quantities)
    for (const std::string& column : q.columns) {
      const auto found = reference.find(column);
      if (!found)
        throw StudyError(fmt::format("--reference: {} has no column {}{}", file, in_quotes(column),
                                     spec::suggestion(column, reference.names)));
      const std::string& unit = reference.units[*found];
      if (!unit.empty() && !q.unit.empty() && unit != q.unit)
        throw StudyError(
            fmt::format("--reference: {} has {} in {}, the model in {}", file, in_quotes(column), unit, q.unit));
    }
  return reference;
}

std::filesystem::path StudyCommand::open_directory(DirectoryLock& lock, const std::vector<std::string>& written,
                                                   const std::vector<std::string>& read) const {
  const std::filesystem::path directory =
      directory_.empty() ? std::filesystem::path("results") / (model_name() + "-" + name_) : directory_;
  for (const std::string& file : read)
    if (is_one_of(file, directory, written))
      throw StudyError(fmt::format("the results in {} would overwrite {}: expected another directory, with -o",
                                   directory.string(), file));
  prepare_study(directory, written);
  lock.acquire(directory);
  return directory;
}

bool StudyCommand::meets(const ExpectedOrder& expected, const std::optional<double>& found) const {
  if (found && std::abs(*found - expected.order) <= expected.tolerance) return true;
  fmt::print(stderr, "carom {}: expected the order {:.3g} within {:.3g} for {}, found {}\n", name_, expected.order,
             expected.tolerance, expected.name, optional_text(found, "{:.3f}"));
  return false;
}

}  // namespace carom
