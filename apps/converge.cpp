// carom converge: solves a model for a list of steps or of another number; errors and orders of its probes.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "apps/commands.hpp"
#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/directory_lock.hpp"
#include "io/results/prepared_run.hpp"
#include "io/results/summary.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/convergence_report.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can reach nothing else
volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_converge_interrupt(int signal) {
  if (interrupted != 0) std::_Exit(128 + signal);
  interrupted = 1;
}

/// The request of the command line is impossible.
struct CommandLineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::optional<double> number_of(const std::string& word) {
  double x = 0;
  const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), x);
  return code == std::errc() && stop == word.data() + word.size() && std::isfinite(x) ? std::optional(x) : std::nullopt;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string optional_text(const std::optional<double>& x, const char* format) {
  return x ? fmt::format(fmt::runtime(format), *x) : "-";
}

/// The number that varies from run to run: its name for users and its pointer.
struct Varied {
  std::string label, pointer;
  std::vector<std::string> words;  ///< values as given by the user
  std::vector<double> values;
};

struct Expected {
  std::string name;
  double order = 0, tolerance = 0;
};

class Converge final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required();
    auto* const steps = app.add_option("--steps", steps_, "Steps, separated by commas: 1e-3,5e-4,2.5e-4");
    auto* const parameter =
        app.add_option("--parameter", parameter_, "Values of a parameter of the model, coarse to fine: n=4,8,16")
            ->excludes(steps);
    app.add_option("--vary", vary_,
                   "Values of any number of the model, coarse to fine: /json/pointer=value,value,value")
        ->excludes(steps)
        ->excludes(parameter);
    app.add_option("--reference", reference_,
                   "What is right: a value for one more run, or a CSV file with a column t and those of the probes "
                   "(default: a run with a quarter of the smallest step; else that of the last value)")
        ->check(reject_empty);
    app.add_option("--probe", probes_, "A probe of the model (may be repeated; default: all)")->allow_extra_args(false);
    app.add_option("--expect", expected_, "NAME=ORDER+-TOLERANCE: otherwise the study ends with exit code 6")
        ->allow_extra_args(false);
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>-converge)")
        ->check(reject_empty);
    app.add_option("--threads", threads_, "Threads for the assembly (default: 1; same results for any number)")
        ->check(CLI::Range(1, 1024));
    app.add_flag("-q,--quiet", quiet_, "Only errors");
  }

  int run() override {
    std::signal(SIGINT, on_converge_interrupt);
    std::signal(SIGTERM, on_converge_interrupt);
    std::signal(SIGXFSZ, SIG_IGN);
    try {
      return study();
    } catch (const CommandLineError& e) {
      fmt::print(stderr, "carom converge: {}\nSee: carom converge --help\n", e.what());
      return exit_command_line;
    }
  }

 private:
  // ---- the request

  Varied varied() const {
    Varied out;
    std::string list;
    const char* option = "--steps";
    if (!steps_.empty()) {
      out.label = "step";
      out.pointer = "/integrator/step";
      list = steps_;
    } else if (parameter_.empty() && vary_.empty()) {
      throw CommandLineError("expected --steps, --parameter or --vary: what changes from run to run");
    } else {
      const bool parameter = !parameter_.empty();
      option = parameter ? "--parameter" : "--vary";
      const std::string& text = parameter ? parameter_ : vary_;
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0 || (!parameter && text[0] != '/'))
        throw CommandLineError(fmt::format("{}: expected {}, got {}", option,
                                           parameter ? "name=value,value, as in n=4,8,16"
                                                     : "/json/pointer=value,value, as in /bodies/0/elements=4,8,16",
                                           in_quotes(text)));
      out.label = text.substr(0, equals);
      out.pointer = parameter ? "/parameters/" + out.label : out.label;
      list = text.substr(equals + 1);
    }
    for (const std::string& word : split(list, ',')) {
      const auto x = number_of(word);
      if (!x) throw CommandLineError(fmt::format("{}: expected a number, got {}", option, in_quotes(word)));
      if (!(*x > 0)) throw CommandLineError(fmt::format("{}: expected numbers > 0, got {}", option, word));
      out.words.push_back(word);
      out.values.push_back(*x);
    }
    if (out.values.size() < 2)
      throw CommandLineError(
          fmt::format("{}: expected two values or more, separated by commas, got {}", option, in_quotes(list)));
    // steps may come in any order; the order of other numbers defines the finer direction
    if (!steps_.empty()) {
      std::vector<std::size_t> order(out.values.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return out.values[a] > out.values[b]; });
      Varied sorted{out.label, out.pointer, {}, {}};
      for (const std::size_t i : order) sorted.words.push_back(out.words[i]), sorted.values.push_back(out.values[i]);
      out = sorted;
    }
    const bool falls = out.values[1] < out.values[0];
    for (std::size_t i = 1; i < out.values.size(); ++i)
      if (out.values[i] == out.values[i - 1])
        throw CommandLineError(fmt::format("{}: expected different values, got {} twice", option, out.words[i]));
      else if ((out.values[i] < out.values[i - 1]) != falls)
        throw CommandLineError(
            fmt::format("{}: expected values from coarse to fine, all growing or all falling, got {} "
                        "after {}",
                        option, out.words[i], out.words[i - 1]));
    return out;
  }

  std::vector<Expected> expected_orders(const std::vector<StudyQuantity>& quantities) const {
    std::vector<Expected> out;
    for (const std::string& text : expected_) {
      const std::size_t equals = text.rfind('='), sign = text.find("+-", equals == std::string::npos ? 0 : equals);
      const auto order = equals == std::string::npos || sign == std::string::npos
                             ? std::nullopt
                             : number_of(text.substr(equals + 1, sign - equals - 1));
      const auto tolerance = sign == std::string::npos ? std::nullopt : number_of(text.substr(sign + 2));
      if (!order || !tolerance || !(*tolerance >= 0))
        throw CommandLineError("--expect: expected NAME=ORDER+-TOLERANCE, as in tip=2+-0.2, got " + in_quotes(text));
      const std::string name = text.substr(0, equals);
      std::vector<std::string> names;
      names.reserve(quantities.size());
      for (const StudyQuantity& q : quantities) names.push_back(q.name);
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw CommandLineError("--expect: no probe " + in_quotes(name) + " in this study" +
                               spec::suggestion(name, names));
      out.push_back({name, *order, *tolerance});
    }
    return out;
  }

  /// The requested probes.
  std::vector<StudyQuantity> quantities_of(const PreparedRun& run) const {
    std::vector<std::string> names;
    for (const ProbeSettings& p : run.model->output.probes) names.push_back(p.name);
    if (names.empty()) throw CommandLineError("the model has no probes to compare: name some under /output/probes");
    for (const std::string& name : probes_)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw CommandLineError("--probe: the model has no probe " + in_quotes(name) + spec::suggestion(name, names));
    std::vector<StudyQuantity> out;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (probes_.empty() || std::find(probes_.begin(), probes_.end(), names[i]) != probes_.end())
        out.push_back({names[i], run.probes[i].columns});
    return out;
  }

  // ---- runs

  /// The model with the varied number; nullopt, after a message, if the model is wrong.
  std::optional<PreparedRun> prepare(const Varied& varied, const std::string& word) const {
    std::vector<std::string> overrides = overrides_;
    overrides.push_back(varied.pointer + "=" + word);
    PreparedRun run = prepare_run(load_model(model_, overrides), {.threads = threads_});
    if (run.ok()) return run;
    // an interrupt also reaches Gmsh
    if (interrupted == 0) fmt::print(stderr, "{}", run.issues.report(width_of_stderr()));
    return std::nullopt;
  }

  /// nullopt: the model is wrong, which has been reported, or the study was interrupted during set-up.
  std::optional<StudyRun> solve(const Varied& varied, const std::string& word, double value) {
    const auto begin = Clock::now();
    std::optional<PreparedRun> run = prepare(varied, word);
    if (!run) return std::nullopt;
    Model& model = *run->model;
    names_.assign(run->integrator->info().subproblems.begin(), run->integrator->info().subproblems.end());
    Simulation simulation(model.system, *run->integrator, model.state, model.simulation);
    Recorder recorder(std::move(run->probes));
    simulation.add_observer(recorder);
    simulation.stop_on(&interrupted);
    StudyRun result;
    result.word = word;
    result.value = value;
    result.status = simulation.run();
    // a run that ended before the signal is complete
    result.statistics = simulation.statistics();
    result.samples = std::move(recorder.samples());
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (result.status == RunStatus::failed) {
      const StepReport& r = simulation.last_report();
      const std::string worst = worst_row(model, r);
      result.failure = fmt::format("no convergence at t = {:.9g} with the smallest step {:.3g} ({}{})", r.t, r.h,
                                   text_of(r.reason), worst.empty() ? "" : ", worst: " + worst);
    }
    return result;
  }

  void say(std::size_t number, std::size_t count, const std::string& label, const StudyRun& r) const {
    if (r.status == RunStatus::failed) {
      fmt::print(stderr, "[{}/{}] {} {}: FAILED: {}\n", number, count, label, r.word, r.failure);
    } else if (!quiet_) {
      fmt::print(stderr, "[{}/{}] {} {}: {}{} steps in {:.3g} s\n", number, count, label, r.word,
                 r.status == RunStatus::interrupted ? "interrupted after " : "", r.statistics.nominal_steps, r.seconds);
    }
    std::fflush(stderr);
  }

  /// Reports an unknown parameter; the reader reports other errors of the model.
  void check_parameter(const Varied& varied) const {
    if (parameter_.empty()) return;
    const ModelDocument document = load_model(model_, overrides_);
    const nlohmann::json root = document.source().is_json ? document.source().text->parse().value : nlohmann::json();
    if (!root.is_object()) return;
    std::vector<std::string> names;
    if (root.contains("parameters") && root["parameters"].is_object())
      for (const auto& entry : root["parameters"].items()) names.push_back(entry.key());
    const bool is_set = std::any_of(overrides_.begin(), overrides_.end(), [&](const std::string& set) {
      return set.starts_with(varied.pointer + "=") || set.starts_with("/parameters=");
    });
    if (!is_set && std::find(names.begin(), names.end(), varied.label) == names.end())
      throw CommandLineError("--parameter: the model has no parameter " + in_quotes(varied.label) +
                             (names.empty() ? "; it has none" : spec::suggestion(varied.label, names)));
  }

  int study() {
    const Varied varied = this->varied();
    check_parameter(varied);
    // build the first model before the long computations begin
    std::vector<StudyQuantity> quantities;
    {
      const std::optional<PreparedRun> run = prepare(varied, varied.words.front());
      if (!run) return interrupted != 0 ? exit_interrupted : exit_invalid_model;
      quantities = quantities_of(*run);
    }
    const std::vector<Expected> expected = expected_orders(quantities);

    // read or choose the reference
    std::string reference_word, reference_text;
    std::optional<Samples> reference;
    bool reference_in_list = false;
    if (!reference_.empty() && !number_of(reference_)) {
      reference = read_samples(reference_);
      for (const StudyQuantity& q : quantities)
        for (const std::string& column : q.columns)
          if (!reference->find(column))
            throw CommandLineError(fmt::format("--reference: {} has no column {}{}", reference_, in_quotes(column),
                                               spec::suggestion(column, reference->names)));
      reference_text = "the file " + reference_;
    } else {
      if (!reference_.empty())
        reference_word = reference_;
      else if (!steps_.empty())
        reference_word = fmt::format("{}", varied.values.back() / 4);
      else
        reference_word = varied.words.back();
      const double value = number_of(reference_word).value();
      if (!(value > 0)) throw CommandLineError("--reference: expected a number > 0 or a file, got " + reference_word);
      reference_in_list = reference_.empty() && steps_.empty();
      if (reference_in_list && varied.values.size() < 3)
        throw CommandLineError(
            "expected three values or more, as the last one is the reference, or --reference with another");
      reference_text = fmt::format("the run with {} {}", varied.label, reference_word);
    }

    const std::string name = std::filesystem::path(model_).stem().string();
    const std::filesystem::path directory =
        directory_.empty() ? std::filesystem::path("results") / (name + "-converge") : directory_;
    for (const std::string& file : {model_, reference_})
      if (is_one_of(file, directory, study_files()))
        throw CommandLineError(fmt::format("the results in {} would overwrite {}: expected another directory, with -o",
                                           directory.string(), file));
    prepare_study(directory);
    DirectoryLock lock;
    lock.acquire(directory);

    // the runs; the reference comes last, because it takes longest
    std::vector<StudyRun> results;
    const std::size_t count = varied.values.size() + (reference || reference_in_list ? 0 : 1);
    const std::size_t listed = varied.values.size() - (reference_in_list ? 1 : 0);
    bool failed = false, stopped = false;
    for (std::size_t i = 0; i < listed && !stopped; ++i) {
      auto result = solve(varied, varied.words[i], varied.values[i]);
      stopped = interrupted != 0;
      if (!result && stopped) break;
      if (!result) return exit_invalid_model;
      say(i + 1, count, varied.label, *result);
      failed = failed || result->status == RunStatus::failed;
      if (result->status != RunStatus::interrupted) results.push_back(std::move(*result));
    }
    if (!reference && !stopped) {
      auto result = solve(varied, reference_word, number_of(reference_word).value());
      stopped = interrupted != 0;
      if (!result && !stopped) return exit_invalid_model;
      if (result) {
        say(count, count, varied.label, *result);
        failed = failed || result->status == RunStatus::failed;
        if (result->status == RunStatus::completed) reference = std::move(result->samples);
      }
    }

    // compute errors and orders
    if (reference)
      for (StudyRun& r : results) {
        if (r.status != RunStatus::completed) continue;
        try {
          for (const StudyQuantity& q : quantities) r.errors.push_back(compare(r.samples, *reference, q.columns));
        } catch (const std::invalid_argument&) {
          throw CommandLineError(fmt::format(
              "--reference: {} goes from t = {:.9g} to {:.9g}, the runs from {:.9g} to "
              "{:.9g}",
              reference_text, reference->t.front(), reference->t.back(), r.samples.t.front(), r.samples.t.back()));
        }
      }
    Study study;
    study.model = name;
    study.file = model_;
    study.label = varied.label;
    study.pointer = varied.pointer;
    study.finer_is_smaller = varied.values.back() < varied.values.front();
    study.subproblems = names_;
    study.quantities = quantities;
    study.runs = std::move(results);
    study.reference = reference ? reference_text : "";
    study.status = stopped ? RunStatus::interrupted : failed ? RunStatus::failed : RunStatus::completed;
    find_orders(study);
    write_study(study, directory);
    if (!quiet_) fmt::print("{}results in {}\n", study_table(study), directory.string());

    if (stopped) return exit_interrupted;
    if (failed) return exit_not_converged;
    bool met = true;
    for (const Expected& e : expected)
      for (std::size_t q = 0; q < quantities.size(); ++q) {
        if (quantities[q].name != e.name) continue;
        const auto& found = study.orders[q].fitted_mean;
        if (found && std::abs(*found - e.order) <= e.tolerance) continue;
        met = false;
        fmt::print(stderr, "carom converge: expected the order {:.3g} within {:.3g} for {}, found {}\n", e.order,
                   e.tolerance, e.name, optional_text(found, "{:.3f}"));
      }
    return met ? exit_done : exit_expectation;
  }

  std::string model_, steps_, parameter_, vary_, reference_;
  std::vector<std::string> probes_, expected_, overrides_;
  std::filesystem::path directory_;
  int threads_ = 1;
  bool quiet_ = false;
  std::vector<std::string> names_;  // names of the sub-problems
};

}  // namespace

Command& converge_command() {
  static Converge command;
  return command;
}

}  // namespace carom
