// carom converge: one model over a list of steps, or of another number of it; errors and orders of its probes.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/commands.hpp"
#include "core/errors.hpp"
#include "io/convergence.hpp"
#include "io/files.hpp"
#include "io/json_source.hpp"
#include "io/model.hpp"
#include "io/plot_svg.hpp"
#include "io/spec.hpp"
#include "io/summary.hpp"

namespace carom {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all that a signal handler can reach
volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_converge_interrupt(int signal) {
  if (interrupted != 0) std::_Exit(128 + signal);
  interrupted = 1;
}

/// What the command line asks for that cannot be.
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

/// The number that is changed from run to run: what people call it and where it stands in the model.
struct Varied {
  std::string label, pointer;
  std::vector<std::string> words;  ///< values as they were given
  std::vector<double> values;
};

/// A probe of the study and its columns.
struct Quantity {
  std::string name;
  std::vector<std::string> columns;
};

struct Result {
  std::string word;
  double value = 0;
  RunStatus status = RunStatus::completed;
  std::string failure;
  Samples samples;
  RunStatistics statistics;
  double seconds = 0;
  std::vector<ProbeError> errors;  ///< per quantity; empty without a reference
};

/// Errors and orders of a quantity over the runs that have them.
struct Orders {
  std::vector<std::optional<double>> mean, max, end;  ///< against the run before
  std::optional<double> fitted_mean, fitted_max, fitted_end;
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
                   "(default: a run with a quarter of the smallest step; else that of the last value)");
    app.add_option("--probe", probes_, "A probe of the model (may be repeated; default: all)")->allow_extra_args(false);
    app.add_option("--expect", expected_, "NAME=ORDER+-TOLERANCE: otherwise the study ends with exit code 6")
        ->allow_extra_args(false);
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->allow_extra_args(false);
    app.add_option("-o,--output", directory_, "Directory of the results (default: results/<model>-converge)");
    app.add_option("--threads", threads_, "Threads for the assembly (same results for any number)")
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
  // ---- what is asked for

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
    // steps in any order; other numbers say by their order which way is finer
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

  std::vector<Expected> expected_orders(const std::vector<Quantity>& quantities) const {
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
      for (const Quantity& q : quantities) names.push_back(q.name);
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw CommandLineError("--expect: no probe " + in_quotes(name) + " in this study" +
                               spec::suggestion(name, names));
      out.push_back({name, *order, *tolerance});
    }
    return out;
  }

  /// The probes that are asked for.
  std::vector<Quantity> quantities_of(const Model& model) const {
    std::vector<std::string> names;
    for (const ProbeSettings& p : model.output.probes) names.push_back(p.name);
    if (names.empty()) throw CommandLineError("the model has no probes to compare: name some under /output/probes");
    for (const std::string& name : probes_)
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw CommandLineError("--probe: the model has no probe " + in_quotes(name) + spec::suggestion(name, names));
    ModelDocument unused;
    const std::vector<Probe> probes = make_probes(model, unused);
    std::vector<Quantity> out;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (probes_.empty() || std::find(probes_.begin(), probes_.end(), names[i]) != probes_.end())
        out.push_back({names[i], probes[i].columns});
    return out;
  }

  // ---- runs

  /// Builds the model with the varied number; prints what is wrong with it and returns null.
  std::unique_ptr<Model> build(const Varied& varied, const std::string& word, std::vector<Probe>& probes,
                               std::unique_ptr<Integrator>& integrator) const {
    std::vector<std::string> overrides = overrides_;
    overrides.push_back(varied.pointer + "=" + word);
    ModelDocument document = load_model(model_, overrides);
    std::unique_ptr<Model> model = build_model(document, threads_);
    if (model != nullptr) probes = make_probes(*model, document);
    if (document.ok()) integrator = start_integrator(*model, document);
    if (document.ok()) return model;
    fmt::print(stderr, "{}", document.report(width_of_stderr()));
    return nullptr;
  }

  /// nullopt: the model is wrong, which has been said.
  std::optional<Result> solve(const Varied& varied, const std::string& word, double value) {
    std::vector<Probe> probes;
    std::unique_ptr<Integrator> integrator;
    const auto begin = Clock::now();
    const std::unique_ptr<Model> model = build(varied, word, probes, integrator);
    if (model == nullptr) return std::nullopt;
    names_ = integrator->subproblems();
    Simulation simulation(model->system, *integrator, model->state, model->simulation);
    Recorder recorder(std::move(probes));
    simulation.add_observer(recorder);
    simulation.stop_on(&interrupted);
    Result result;
    result.word = word;
    result.value = value;
    result.status = simulation.run();
    // a run that had ended when the signal came is whole
    result.statistics = simulation.statistics();
    result.samples = std::move(recorder.samples());
    result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (result.status == RunStatus::failed) {
      const StepReport& r = simulation.last_report();
      const std::string worst = worst_row(*model, r);
      result.failure = fmt::format("no convergence at t = {:.9g} with the smallest step {:.3g} ({}{})", r.t, r.h,
                                   r.reason, worst.empty() ? "" : ", worst row: " + worst);
    }
    return result;
  }

  void say(std::size_t number, std::size_t count, const std::string& label, const Result& r) const {
    if (r.status == RunStatus::failed) {
      fmt::print(stderr, "[{}/{}] {} {}: FAILED: {}\n", number, count, label, r.word, r.failure);
    } else if (!quiet_) {
      fmt::print(stderr, "[{}/{}] {} {}: {}{} steps in {:.3g} s\n", number, count, label, r.word,
                 r.status == RunStatus::interrupted ? "interrupted after " : "", r.statistics.nominal_steps, r.seconds);
    }
    std::fflush(stderr);
  }

  int study() {
    const Varied varied = this->varied();
    // the first model, before anything long begins
    std::vector<Quantity> quantities;
    {
      std::vector<Probe> probes;
      std::unique_ptr<Integrator> integrator;
      const auto model = build(varied, varied.words.front(), probes, integrator);
      if (model == nullptr) return exit_invalid_model;
      quantities = quantities_of(*model);
    }
    const std::vector<Expected> expected = expected_orders(quantities);

    // the reference
    std::string reference_word, reference_text;
    std::optional<Samples> reference;
    bool reference_in_list = false;
    if (!reference_.empty() && !number_of(reference_)) {
      reference = read_samples(reference_);
      for (const Quantity& q : quantities)
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

    // runs; the reference last, since it takes longest
    std::vector<Result> results;
    const std::size_t count = varied.values.size() + (reference || reference_in_list ? 0 : 1);
    const std::size_t listed = varied.values.size() - (reference_in_list ? 1 : 0);
    bool failed = false, stopped = false;
    for (std::size_t i = 0; i < listed && !stopped; ++i) {
      auto result = solve(varied, varied.words[i], varied.values[i]);
      if (!result) return exit_invalid_model;
      say(i + 1, count, varied.label, *result);
      failed = failed || result->status == RunStatus::failed;
      stopped = interrupted != 0;
      if (result->status != RunStatus::interrupted) results.push_back(std::move(*result));
    }
    if (!reference && !stopped) {
      auto result = solve(varied, reference_word, number_of(reference_word).value());
      if (!result) return exit_invalid_model;
      say(count, count, varied.label, *result);
      failed = failed || result->status == RunStatus::failed;
      stopped = interrupted != 0;
      if (result->status == RunStatus::completed) reference = std::move(result->samples);
    }

    // errors and orders
    if (reference)
      for (Result& r : results) {
        if (r.status != RunStatus::completed) continue;
        try {
          for (const Quantity& q : quantities) r.errors.push_back(compare(r.samples, *reference, q.columns));
        } catch (const std::invalid_argument&) {
          throw CommandLineError(fmt::format(
              "--reference: {} goes from t = {:.9g} to {:.9g}, the runs from {:.9g} to "
              "{:.9g}",
              reference_text, reference->t.front(), reference->t.back(), r.samples.t.front(), r.samples.t.back()));
        }
      }
    const bool falls = varied.values.back() < varied.values.front();
    std::vector<Orders> orders;
    for (std::size_t q = 0; q < quantities.size(); ++q) orders.push_back(orders_of(results, q, falls ? 1 : -1));

    // what is told and kept
    const std::string name = std::filesystem::path(model_).stem().string();
    const std::filesystem::path directory =
        directory_.empty() ? std::filesystem::path("results") / (name + "-converge") : directory_;
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) throw FileError("cannot create " + directory.string() + ": " + code.message());
    const Study study{varied, quantities, results, orders, reference ? reference_text : "", name, stopped, failed};
    write_csv(study, directory / "convergence.csv");
    write_atomically(directory / "convergence.json", json_text(study));
    write_atomically(directory / "convergence.svg", picture(study));
    if (!quiet_) fmt::print("{}results in {}\n", table(study), directory.string());

    if (stopped) return exit_interrupted;
    if (failed) return exit_not_converged;
    bool met = true;
    for (const Expected& e : expected)
      for (std::size_t q = 0; q < quantities.size(); ++q) {
        if (quantities[q].name != e.name) continue;
        const auto& found = orders[q].fitted_mean;
        if (found && std::abs(*found - e.order) <= e.tolerance) continue;
        met = false;
        fmt::print(stderr, "carom converge: expected the order {:.3g} within {:.3g} for {}, found {}\n", e.order,
                   e.tolerance, e.name, optional_text(found, "{:.3f}"));
      }
    return met ? exit_done : exit_expectation;
  }

  static Orders orders_of(const std::vector<Result>& results, std::size_t q, int sign) {
    Orders out;
    Vector x, mean, max, end;
    const auto turned = [sign](std::optional<double> order) {
      return order ? std::optional(sign * *order) : std::nullopt;
    };
    const Result* before = nullptr;
    for (const Result& r : results) {
      const bool both = before != nullptr && !r.errors.empty();
      const auto order = [&](double ProbeError::*error) {
        return both ? turned(order_between(before->value, before->errors[q].*error, r.value, r.errors[q].*error))
                    : std::nullopt;
      };
      out.mean.push_back(order(&ProbeError::mean));
      out.max.push_back(order(&ProbeError::max));
      out.end.push_back(order(&ProbeError::end));
      if (r.errors.empty()) continue;
      before = &r;
      x.push_back(r.value);
      mean.push_back(r.errors[q].mean);
      max.push_back(r.errors[q].max);
      end.push_back(r.errors[q].end);
    }
    out.fitted_mean = turned(fitted_order(x, mean));
    out.fitted_max = turned(fitted_order(x, max));
    out.fitted_end = turned(fitted_order(x, end));
    return out;
  }

  // ---- what is told and kept

  struct Study {
    const Varied& varied;
    const std::vector<Quantity>& quantities;
    const std::vector<Result>& results;
    const std::vector<Orders>& orders;
    std::string reference;  ///< in words; empty: there is none
    std::string model;
    bool stopped, failed;
  };

  std::string table(const Study& s) const {
    std::string out;
    const std::string& label = s.varied.label;
    const std::size_t first = std::max<std::size_t>(12, label.size() + 2);
    const auto head = [&](const std::string& words) { out += fmt::format("\n{}\n", words); };
    if (s.reference.empty())
      out += "\nno errors: there is no reference\n";
    else
      out += fmt::format("\nerrors against {}\n", s.reference);
    for (std::size_t q = 0; q < s.quantities.size() && !s.reference.empty(); ++q) {
      bool relative = true;
      long interpolated = 0;
      for (const Result& r : s.results)
        if (!r.errors.empty()) {
          relative = relative && r.errors[q].relative;
          interpolated = std::max(interpolated, r.errors[q].interpolated);
        }
      head(fmt::format("{}{}{}", s.quantities[q].name, relative ? "" : "   (absolute: the reference is zero)",
                       interpolated > 0 ? "   (reference interpolated)" : ""));
      out += fmt::format("  {:<{}}{:>12}{:>8}{:>12}{:>8}{:>12}{:>8}\n", label, first, "mean error", "order",
                         "max error", "order", "end error", "order");
      for (std::size_t i = 0; i < s.results.size(); ++i) {
        const Result& r = s.results[i];
        out += fmt::format("  {:<{}}", r.word, first);
        if (r.errors.empty()) {
          out += r.status == RunStatus::failed ? "failed\n" : "\n";
          continue;
        }
        const Orders& o = s.orders[q];
        out += fmt::format("{:>12.4e}{:>8}{:>12.4e}{:>8}{:>12.4e}{:>8}\n", r.errors[q].mean,
                           optional_text(o.mean[i], "{:.2f}"), r.errors[q].max, optional_text(o.max[i], "{:.2f}"),
                           r.errors[q].end, optional_text(o.end[i], "{:.2f}"));
      }
      out +=
          fmt::format("  {:<{}}{:>20}{:>20}{:>20}\n", "fitted", first, optional_text(s.orders[q].fitted_mean, "{:.2f}"),
                      optional_text(s.orders[q].fitted_max, "{:.2f}"), optional_text(s.orders[q].fitted_end, "{:.2f}"));
    }
    head("iterations per step, mean and max");
    out += fmt::format("  {:<{}}{:>10}", label, first, "steps");
    for (const std::string& name : names_) out += fmt::format("{:>16}", name);
    out += fmt::format("{:>12}{:>14}\n", "subdivided", "time");
    for (const Result& r : s.results) {
      out += fmt::format("  {:<{}}{:>10}", r.word, first, r.statistics.nominal_steps);
      for (std::size_t i = 0; i < names_.size(); ++i)
        out += fmt::format(
            "{:>16}", fmt::format("{:.2f}  {:>3}", r.statistics.mean_iterations(i), r.statistics.iterations[i].max));
      out += fmt::format("{:>12}{:>14}\n", r.statistics.subdivided_steps, fmt::format("{:.3g} s", r.seconds));
    }
    return out + "\n";
  }

  void write_csv(const Study& s, const std::filesystem::path& path) const {
    std::string columns = s.varied.label.find(',') == std::string::npos ? s.varied.label : "value";
    for (const Quantity& q : s.quantities)
      for (const char* what : {"mean_error", "mean_order", "max_error", "max_order", "end_error", "end_order"})
        columns += "," + q.name + "." + what;
    columns += ",steps,subdivided_steps,rejected_steps";
    for (const std::string& name : names_) columns += "," + name + ".iterations_mean," + name + ".iterations_max";
    columns += ",seconds,status";
    CsvFile file(path, columns);
    file.open();
    const auto cell = [&](const std::optional<double>& x) { x ? file.cell(*x) : file.empty_cell(); };
    for (std::size_t i = 0; i < s.results.size(); ++i) {
      const Result& r = s.results[i];
      file.cell(r.value);
      for (std::size_t q = 0; q < s.quantities.size(); ++q) {
        const bool known = !r.errors.empty();
        const auto error = [&](double ProbeError::*e) { return known ? std::optional(r.errors[q].*e) : std::nullopt; };
        cell(error(&ProbeError::mean));
        cell(s.orders[q].mean[i]);
        cell(error(&ProbeError::max));
        cell(s.orders[q].max[i]);
        cell(error(&ProbeError::end));
        cell(s.orders[q].end[i]);
      }
      for (const long n : {r.statistics.nominal_steps, r.statistics.subdivided_steps, r.statistics.rejected})
        file.cell(std::to_string(n));
      for (std::size_t k = 0; k < names_.size(); ++k)
        file.cell(r.statistics.mean_iterations(k)).cell(std::to_string(r.statistics.iterations[k].max));
      file.cell(r.seconds).cell(status_word(r.status));
      file.end_row();
    }
    file.flush();
  }

  std::string json_text(const Study& s) const {
    const auto number = [](const std::optional<double>& x) { return x ? json(*x) : json(); };
    json out = {{"model", model_},
                {"status", s.stopped  ? "interrupted"
                           : s.failed ? "failed"
                                      : "completed"},
                {"varied", s.varied.pointer},
                {"versions", {{"carom", CAROM_VERSION}, {"format", 1}}}};
    out["reference"] = s.reference.empty() ? json() : json(s.reference);
    out["runs"] = json::array();
    out["probes"] = json::array();
    for (const Result& r : s.results) {
      json iterations = json::object();
      for (std::size_t k = 0; k < names_.size(); ++k)
        iterations[names_[k]] = {{"mean", r.statistics.mean_iterations(k)}, {"max", r.statistics.iterations[k].max}};
      json run = {{"value", r.value},
                  {"status", status_word(r.status)},
                  {"steps", r.statistics.nominal_steps},
                  {"subdivided_steps", r.statistics.subdivided_steps},
                  {"rejected_steps", r.statistics.rejected},
                  {"iterations", iterations},
                  {"seconds", r.seconds}};
      if (!r.failure.empty()) run["failure"] = r.failure;
      out["runs"].push_back(run);
    }
    for (std::size_t q = 0; q < s.quantities.size(); ++q) {
      const Orders& o = s.orders[q];
      json probe = {{"name", s.quantities[q].name},
                    {"columns", s.quantities[q].columns},
                    {"fitted_order",
                     {{"mean", number(o.fitted_mean)}, {"max", number(o.fitted_max)}, {"end", number(o.fitted_end)}}},
                    {"errors", json::array()}};
      for (std::size_t i = 0; i < s.results.size(); ++i) {
        const Result& r = s.results[i];
        if (r.errors.empty()) continue;
        const ProbeError& e = r.errors[q];
        probe["errors"].push_back(
            {{"value", r.value},
             {"mean", e.mean},
             {"max", e.max},
             {"end", e.end},
             {"relative", e.relative},
             {"interpolated_steps", e.interpolated},
             {"order", {{"mean", number(o.mean[i])}, {"max", number(o.max[i])}, {"end", number(o.end[i])}}}});
      }
      out["probes"].push_back(std::move(probe));
    }
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  }

  static std::string picture(const Study& s) {
    const bool falls = s.varied.values.back() < s.varied.values.front();
    LogPlot plot;
    plot.title = "Convergence of " + s.model;
    plot.subtitle = s.reference.empty() ? "no reference" : "against " + s.reference;
    plot.x_label = s.varied.label;
    plot.y_label = "mean error";
    for (std::size_t q = 0; q < s.quantities.size(); ++q) {
      const auto& order = s.orders[q].fitted_mean;
      LogPlot::Series series{s.quantities[q].name + (order ? fmt::format(", order {:.2f}", *order) : ""), {}, {}};
      for (const Result& r : s.results)
        if (!r.errors.empty()) series.x.push_back(r.value), series.y.push_back(r.errors[q].mean);
      plot.series.push_back(std::move(series));
      // a dashed line for every whole order that is met
      const int whole = order ? static_cast<int>(std::lround(*order)) : 0;
      const int slope = falls ? whole : -whole;
      if (whole >= 1 && whole <= 8 && std::find(plot.slopes.begin(), plot.slopes.end(), slope) == plot.slopes.end())
        plot.slopes.push_back(slope);
    }
    return svg_text(plot);
  }

  std::string model_, steps_, parameter_, vary_, reference_;
  std::vector<std::string> probes_, expected_, overrides_;
  std::filesystem::path directory_;
  int threads_ = 1;
  bool quiet_ = false;
  std::vector<std::string> names_;  // of the sub-problems
};

}  // namespace

Command& converge_command() {
  static Converge command;
  return command;
}

}  // namespace carom
