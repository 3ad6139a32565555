// carom converge: solves a model for a list of steps or of other values; errors and orders of its probes.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "apps/study_command.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/convergence_report.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

/// What varies from run to run: its name for users and its pointer.
struct Varied {
  std::string label, pointer;
  std::vector<std::string> words;  ///< values as given by the user
  std::vector<double> values;      ///< the same as numbers; empty if a word is no number
  bool numbers() const { return !values.empty(); }
  double value(std::size_t i) const { return numbers() ? values[i] : 0; }
};

/// The reference: a file, or a run with these overrides.
struct PlannedReference {
  std::string text;   ///< description
  std::string label;  ///< of the run, for progress
  std::optional<Samples> samples;
  std::vector<std::string> overrides;
  bool in_list = false;  ///< it is the last of the varied values
};

class Converge final : public StudyCommand {
 public:
  Converge() : StudyCommand("converge") {}

  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    auto* const steps =
        app.add_option("--steps", steps_, "Steps, separated by commas: 1e-3,5e-4,2.5e-4")->option_text("H,H,...");
    auto* const parameter =
        app.add_option("--parameter", parameter_, "Values of a parameter of the model, coarse to fine: n=4,8,16")
            ->option_text("NAME=V,V,...")
            ->excludes(steps);
    app.add_option("--vary", vary_,
                   "Values of any key of the model, words too: /json/pointer=value,value; in the integrator section "
                   "also force_corrections=true,false. Numbers: coarse to fine")
        ->option_text("KEY=V,V,...")
        ->excludes(steps)
        ->excludes(parameter);
    app.add_option("--reference", reference_,
                   "What is right: a value for one more run, another key for one more run (step=1e-5), or a CSV file "
                   "with a column t and those of the probes (default: a run with a quarter of the smallest step; else "
                   "that of the last value)")
        ->option_text("V|KEY=V|FILE.csv")
        ->check(reject_empty);
    declare_shared(app, "NAME");
    app.footer(
        "Examples:\n"
        "    carom converge heavy_top.json --steps 1e-3,5e-4,2.5e-4 --expect x=2+-0.1\n"
        "    carom converge pendulum_beam.json --vary /bodies/0/elements=4,8,16 \\\n"
        "        --probe tip --window 0,0.2");
  }

 private:
  // ---- the request

  Varied varied(const ModelDocument& document) const {
    Varied out;
    std::string list;
    const char* option = "--steps";
    if (!steps_.empty()) {
      out.label = "step";
      out.pointer = "/integrator/step";
      list = steps_;
    } else if (parameter_.empty() && vary_.empty()) {
      throw StudyError("expected --steps, --parameter or --vary: what changes from run to run");
    } else {
      const bool parameter = !parameter_.empty();
      option = parameter ? "--parameter" : "--vary";
      const std::string& text = parameter ? parameter_ : vary_;
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        throw StudyError(fmt::format("{}: expected {}, got {}", option,
                                     parameter ? "name=value,value, as in n=4,8,16"
                                               : "key=value,value, as in /bodies/0/elements=4,8,16 or "
                                                 "force_corrections=true,false",
                                     in_quotes(text)));
      out.label = text.substr(0, equals);
      out.pointer = parameter ? "/parameters/" + out.label : pointer_of_key(out.label, option, document);
      list = text.substr(equals + 1);
    }
    out.words = split_words(list, ',');
    const bool numbers = vary_.empty() || std::all_of(out.words.begin(), out.words.end(),
                                                      [](const std::string& w) { return number_of(w).has_value(); });
    if (!numbers) {
      out.words = varied_words(list);
      return out;
    }
    out.values = positive_numbers(out.words, option, 2);
    // steps may come in any order; the order of other numbers defines the finer direction
    if (!steps_.empty()) {
      std::stable_sort(out.words.begin(), out.words.end(), [](const std::string& a, const std::string& b) {
        return number_of(a).value() > number_of(b).value();
      });
      std::sort(out.values.rbegin(), out.values.rend());
    }
    const bool falls = out.values[1] < out.values[0];
    for (std::size_t i = 1; i < out.values.size(); ++i)
      if ((out.values[i] < out.values[i - 1]) != falls)
        throw StudyError(
            fmt::format("{}: expected values from coarse to fine, all growing or all falling, got {} "
                        "after {}",
                        option, out.words[i], out.words[i - 1]));
    return out;
  }

  std::vector<ExpectedOrder> expected_orders(const Varied& varied, const std::vector<StudyQuantity>& quantities) const {
    std::vector<ExpectedOrder> out;
    std::vector<std::string> names;
    names.reserve(quantities.size());
    for (const StudyQuantity& q : quantities) names.push_back(q.name);
    for (const std::string& text : expected_) {
      out.push_back(expected_order(text));
      const std::string& name = out.back().name;
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw StudyError("--expect: no probe " + in_quotes(name) + " in this study" + spec::suggestion(name, names));
      if (!varied.numbers())
        throw StudyError(fmt::format("--expect: the values of {} are no numbers: there are no orders", varied.label));
    }
    return out;
  }

  PlannedReference reference(const Varied& varied, const ModelDocument& document,
                             const std::vector<StudyQuantity>& quantities) const {
    PlannedReference out;
    const auto run_of = [&](const std::string& word) {
      out.text = fmt::format("the run with {} {}", varied.label, word);
      out.label = varied.label + " " + word;
      out.overrides = {varied.pointer + "=" + word};
    };
    if (reference_.empty()) {
      run_of(!steps_.empty() ? fmt::format("{}", varied.values.back() / 4) : varied.words.back());
      out.in_list = steps_.empty();
      if (out.in_list && varied.numbers() && varied.words.size() < 3)
        throw StudyError(
            "expected three values or more, as the last one is the reference, or --reference with another");
      return out;
    }
    std::error_code code;
    const bool is_file = std::filesystem::exists(reference_, code);
    if (const auto value = number_of(reference_); value && varied.numbers()) {
      if (!(*value > 0)) throw StudyError("--reference: expected a number > 0 or a file, got " + reference_);
      const double last = varied.values.back();
      const bool falls = varied.values.size() > 1 ? varied.values.back() < varied.values.front() : !steps_.empty();
      if (falls ? *value >= last : *value <= last)
        throw StudyError(fmt::format("--reference: expected a value beyond {}, the last one of {}, got {}",
                                     varied.words.back(), varied.label, reference_));
      run_of(reference_);
    } else if (const std::size_t equals = reference_.find('='); !is_file && equals != std::string::npos && equals > 0) {
      const std::string key = reference_.substr(0, equals);
      out.overrides = {pointer_of_key(key, "--reference", document) + reference_.substr(equals)};
      out.label = fmt::format("{} {}", key, reference_.substr(equals + 1));
      out.text = fmt::format("the run with {}", out.label);
    } else if (!varied.numbers() && !is_file && std::filesystem::path(reference_).extension().empty()) {
      run_of(reference_);
    } else {
      out.samples = read_reference(reference_, quantities);
      out.text = "the file " + reference_;
    }
    return out;
  }

  /// Reports an unknown parameter; the reader reports other errors of the model.
  void check_parameter(const Varied& varied, const ModelDocument& document) const {
    if (parameter_.empty()) return;
    const nlohmann::json root = document.source().is_json ? document.source().text->parse().value : nlohmann::json();
    if (!root.is_object()) return;
    std::vector<std::string> names;
    if (root.contains("parameters") && root["parameters"].is_object())
      for (const auto& entry : root["parameters"].items()) names.push_back(entry.key());
    const bool is_set = std::any_of(overrides_.begin(), overrides_.end(), [&](const std::string& set) {
      return set.starts_with(varied.pointer + "=") || set.starts_with("/parameters=");
    });
    if (!is_set && std::find(names.begin(), names.end(), varied.label) == names.end())
      throw StudyError("--parameter: the model has no parameter " + in_quotes(varied.label) +
                       (names.empty() ? "; it has none" : spec::suggestion(varied.label, names)));
  }

  // ---- the study

  int study() override {
    static_cast<void>(window());  // reports a wrong window before the model is built
    const ModelDocument document = load_model(model_, overrides_);
    const Varied varied = this->varied(document);
    check_parameter(varied, document);
    // all values must be possible before the long computations begin
    if (document.ok())
      for (const std::string& word : varied.words) {
        std::vector<std::string> overrides = overrides_;
        overrides.push_back(varied.pointer + "=" + word);
        if (const ModelDocument changed = load_model(model_, overrides); !changed.ok()) return refuse(changed.issues());
      }
    // so must be the first of the built models
    std::vector<StudyQuantity> quantities;
    {
      const PreparedRun run = prepare({varied.pointer + "=" + varied.words.front()});
      if (!run.ok()) return refuse(run.issues);
      quantities = study_quantities(run, probes_);
      check_window(window(), run.model->state.t, run.model->simulation.duration, run.model->simulation.step);
    }
    const std::vector<ExpectedOrder> expected = expected_orders(varied, quantities);
    PlannedReference reference = this->reference(varied, document, quantities);
    DirectoryLock lock;
    const std::filesystem::path directory = open_directory(lock, study_files(), {model_, reference_});

    // the runs; the reference comes last, because it takes longest
    std::vector<StudyRun> results;
    const bool extra = !reference.samples && !reference.in_list;
    const std::size_t count = varied.words.size() + (extra ? 1 : 0);
    const std::size_t listed = varied.words.size() - (reference.in_list ? 1 : 0);
    bool failed = false;
    for (std::size_t i = 0; i <= listed && !stopped(); ++i) {
      const bool is_reference = i == listed;
      if (is_reference && reference.samples) break;
      const auto begin = Clock::now();
      PreparedRun run = prepare(is_reference ? reference.overrides
                                             : std::vector<std::string>{varied.pointer + "=" + varied.words[i]});
      if (!run.ok() && stopped()) break;
      if (!run.ok()) return refuse(run.issues);
      StudyRun result = solve(std::move(run), std::chrono::duration<double>(Clock::now() - begin).count());
      say(is_reference ? count : i + 1, count,
          is_reference ? reference.label : fmt::format("{} {}", varied.label, varied.words[i]), result);
      failed = failed || result.status == RunStatus::failed;
      if (is_reference) {
        if (result.status == RunStatus::completed) reference.samples = std::move(result.samples);
        continue;
      }
      result.word = varied.words[i];
      result.value = varied.value(i);
      if (result.status != RunStatus::interrupted) results.push_back(std::move(result));
    }
    if (reference.samples) add_errors(results, *reference.samples, quantities, reference.text);

    Study study;
    study.model = model_name();
    study.file = model_;
    study.label = varied.label;
    study.pointer = varied.pointer;
    study.unit = unit_of_key(varied.pointer, document);
    study.numbers = varied.numbers();
    study.finer_is_smaller = !varied.numbers() || varied.values.back() < varied.values.front();
    study.window = window();
    study.quantities = quantities;
    study.runs = std::move(results);
    study.reference = reference.samples ? reference.text : "";
    study.status = stopped() ? RunStatus::interrupted : failed ? RunStatus::failed : RunStatus::completed;
    find_orders(study);
    say_notes(write_study(study, directory));
    if (!quiet_) fmt::print("{}results in {}\n", study_table(study), directory.string());

    if (stopped()) return exit_interrupted;
    if (failed) return exit_not_converged;
    bool met = true;
    for (const ExpectedOrder& e : expected)
      for (std::size_t q = 0; q < quantities.size(); ++q)
        if (quantities[q].name == e.name) met = meets(e, study.orders[q].fitted_mean) && met;
    return met ? exit_done : exit_expectation;
  }

  std::string steps_, parameter_, vary_, reference_;
};

}  // namespace

Command& converge_command() {
  static Converge command;
  return command;
}

}  // namespace carom
