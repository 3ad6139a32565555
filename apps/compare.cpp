// carom compare: one model solved by several integrators; errors, orders, work, residuals and energy side by side.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "apps/study_command.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"
#include "io/studies/comparison.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;

struct Step {
  std::string word;
  double value = 0;
};

/// What --reference names: a file, or a method (without one: the first that takes the model) and a step (without: a
/// quarter of the smallest).
struct Reference {
  std::optional<Samples> samples;
  std::optional<MethodChoice> method;
  std::optional<Step> step;
};

struct ExpectedMethodOrder {
  std::size_t quantity = 0, method = 0;
  ExpectedOrder order;
};

class Compare final : public StudyCommand {
 public:
  Compare() : StudyCommand("compare") {}

  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    app.add_option("--integrators", integrators_,
                   "Methods, separated by commas, each a type of integrator, with a label in front and keys behind if "
                   "need be: LABEL=nsga_decoupled:rho_infinity=0.8")
        ->option_text("METHOD,METHOD,...")
        ->required()
        ->check(reject_empty);
    app.add_option("--steps", steps_, "Steps of every method, separated by commas (default: the model's)")
        ->option_text("H,H,...")
        ->check(reject_empty);
    app.add_option("--vary", vary_,
                   "Values of any key, with each of which every method that has it is repeated: "
                   "force_corrections=true,false, or of another section /materials/0/young=1e6,1e7")
        ->option_text("KEY=V,V,...")
        ->check(reject_empty);
    app.add_option("--reference", reference_,
                   "What is right: a step, a method like those of --integrators or one of their labels, also with a "
                   "step (nsga_decoupled:step=1e-5), or a CSV file with a column t and those of the probes (default: "
                   "the first method that solves the model with a quarter of the smallest step)")
        ->option_text("H|METHOD|FILE.csv")
        ->check(reject_empty);
    declare_shared(app, "PROBE@LABEL");
    app.footer(
        "Example:\n"
        "    carom compare elastic_bar.json --integrators DS=nsga_decoupled,moreau_jean \\\n"
        "        --steps 4e-3,2e-3,1e-3");
  }

 private:
  // ---- the request

  /// The steps of --steps, from large to small; none if the model and the methods say theirs.
  std::vector<Step> listed_steps(const std::vector<MethodChoice>& methods) const {
    std::vector<Step> out;
    if (steps_.empty()) return out;
    const std::vector<std::string> words = split_words(steps_, ',');
    const std::vector<double> values = positive_numbers(words, "--steps", 1);
    for (std::size_t i = 0; i < words.size(); ++i) out.push_back({words[i], values[i]});
    std::stable_sort(out.begin(), out.end(), [](const Step& a, const Step& b) { return a.value > b.value; });
    for (const MethodChoice& m : methods)
      if (m.step)
        throw StudyError(
            fmt::format("--integrators: {}: the steps are those of --steps: expected only one of them", m.label));
    return out;
  }

  Reference reference(const std::vector<MethodChoice>& methods, const std::vector<StudyQuantity>& quantities) const {
    Reference out;
    if (reference_.empty()) return out;
    if (const auto value = number_of(reference_)) {
      if (!(*value > 0)) throw StudyError("--reference: expected a step > 0, a method or a file, got " + reference_);
      out.step = Step{reference_, *value};
      return out;
    }
    // a label, the longest that fits, with keys that are added to those of the method
    const std::string first = reference_.substr(0, reference_.find(':'));
    auto labelled = methods.end();
    for (auto m = methods.begin(); m != methods.end(); ++m)
      if ((m->label == reference_ || reference_.starts_with(m->label + ":")) &&
          (labelled == methods.end() || m->label.size() > labelled->label.size()))
        labelled = m;
    const auto& types = integrator_types();
    const std::string type_word = first.substr(first.find('=') == std::string::npos ? 0 : first.find('=') + 1);
    const bool is_type =
        std::any_of(types.begin(), types.end(), [&](const IntegratorType& t) { return t.type == type_word; });
    std::error_code code;
    if (labelled != methods.end() && (labelled->label == reference_ || !is_type)) {
      out.method = *labelled;
      if (labelled->label != reference_) {
        const MethodChoice more =
            method_choice(labelled->type + reference_.substr(labelled->label.size()), "--reference");
        std::erase_if(out.method->keys, [&](const auto& key) {
          return std::any_of(more.keys.begin(), more.keys.end(), [&](const auto& k) { return k.first == key.first; });
        });
        out.method->keys.insert(out.method->keys.end(), more.keys.begin(), more.keys.end());
        out.method->step = more.step;
        out.method->overrides.insert(out.method->overrides.end(), more.overrides.begin(), more.overrides.end());
        out.method->label = reference_;
      } else {
        out.method->step.reset();
      }
    } else if (is_type) {
      out.method = method_choice(reference_, "--reference");
    } else {
      // a name that is neither a method nor looks like a file
      if (!std::filesystem::exists(reference_, code) && !std::filesystem::path(reference_).has_extension())
        out.method = method_choice(reference_, "--reference");
      else
        out.samples = read_reference(reference_, quantities);
    }
    if (!out.method || !out.method->step) return out;
    out.step = Step{fmt::format("{}", *out.method->step), *out.method->step};
    // descriptions name the step beside the label
    std::string& label = out.method->label;
    const std::size_t step = label.find(":step=");
    if (step != std::string::npos) label.erase(step, std::min(label.find(':', step + 1), label.size()) - step);
    return out;
  }

  std::vector<ExpectedMethodOrder> expected_orders(const std::vector<StudyQuantity>& quantities,
                                                   const Comparison& comparison, std::size_t steps) const {
    std::vector<ExpectedMethodOrder> out;
    for (const std::string& text : expected_) {
      const std::size_t at = text.find('@');
      if (at == std::string::npos)
        throw StudyError("--expect: expected PROBE@LABEL=ORDER+-TOLERANCE, as in tip@moreau_jean=1+-0.2, got " +
                         in_quotes(text));
      ExpectedMethodOrder e;
      e.order = expected_order(text);
      const std::string probe = text.substr(0, at), label = e.order.name.substr(at + 1);
      std::vector<std::string> probes, labels;
      for (const StudyQuantity& q : quantities) probes.push_back(q.name);
      for (const MethodRuns& m : comparison.methods) labels.push_back(m.label);
      const auto p = std::find(probes.begin(), probes.end(), probe);
      const auto l = std::find(labels.begin(), labels.end(), label);
      if (p == probes.end())
        throw StudyError("--expect: no probe " + in_quotes(probe) + " in this study" + spec::suggestion(probe, probes));
      if (l == labels.end())
        throw StudyError("--expect: no method " + in_quotes(label) + " in this study" +
                         spec::suggestion(label, labels));
      if (steps < 2) throw StudyError("--expect: an order needs two steps or more: expected --steps h1,h2,...");
      e.quantity = static_cast<std::size_t>(p - probes.begin());
      e.method = static_cast<std::size_t>(l - labels.begin());
      out.push_back(e);
    }
    return out;
  }

  // ---- runs

  static std::string override_of(const nlohmann::json& section) { return "/integrator=" + section.dump(); }

  /// The runs of a method; stops at a refusal.
  void solve_method(MethodRuns& method, const MethodChoice& choice, const ModelDocument& document,
                    const std::vector<Step>& steps, std::size_t& number, std::size_t count) const {
    for (std::size_t i = 0; i < steps.size() && !stopped(); ++i) {
      const auto begin = Clock::now();
      std::optional<PreparedRun> run;
      try {
        std::vector<std::string> overrides = choice.overrides;
        overrides.push_back(override_of(integrator_section(choice, document, steps[i].value)));
        run = prepare(overrides);
        if (!run->ok()) method.refusal = run->issues[0].message;
      } catch (const std::invalid_argument& e) {
        // rows of a kind that the method does not take
        method.refusal = e.what();
      }
      if (stopped()) return;
      if (!method.refusal.empty()) {
        fmt::print(stderr, "[{}/{}] {}: REFUSED: {}\n", number + 1, count, choice.label, method.refusal);
        number += steps.size() - i;
        return;
      }
      StudyRun result = solve(std::move(*run), std::chrono::duration<double>(Clock::now() - begin).count());
      ++number;
      say(number, count, fmt::format("{}, step {}", choice.label, steps[i].word), result);
      result.word = steps[i].word;
      result.value = steps[i].value;
      if (result.status != RunStatus::interrupted) method.runs.push_back(std::move(result));
    }
  }

  int study() override {
    static_cast<void>(window());  // reports a wrong window before the model is built
    const std::vector<MethodChoice> choices = method_choices(integrators_, vary_);
    std::vector<Step> listed = listed_steps(choices);
    const ModelDocument document = load_model(model_, overrides_);
    std::vector<StudyQuantity> quantities;
    bool units = true;
    {
      const PreparedRun run = prepare({});
      if (!run.ok()) return refuse(run.issues);
      units = run.model->output.units;
      quantities = study_quantities(run, probes_);
    }
    // values of other sections must be possible before the long computations begin
    for (const MethodChoice& choice : choices)
      if (!choice.overrides.empty())
        if (const PreparedRun run = prepare(choice.overrides); !run.ok()) return refuse(run.issues);
    const TimeSettings time = time_settings(document.resolved()["integrator"]);
    const auto steps_of = [&](const MethodChoice& choice) {
      const double step = choice.step.value_or(time.step);
      return listed.empty() ? std::vector<Step>{{fmt::format("{}", step), step}} : listed;
    };

    Comparison comparison;
    comparison.model = model_name();
    comparison.file = model_;
    comparison.quantities = quantities;
    comparison.units = units;
    comparison.window = window();
    double smallest = HUGE_VAL;
    std::size_t count = 0;
    for (const MethodChoice& choice : choices) {
      const std::vector<Step> steps = steps_of(choice);
      smallest = std::min(smallest, steps.back().value);
      count += steps.size();
      for (const Step& step : steps) check_window(window(), time.start, time.duration, step.value);
      comparison.methods.push_back({choice.label,
                                    choice.type,
                                    integrator_section(choice, document, steps.front().value),
                                    "",
                                    {},
                                    {},
                                    choice.overrides});
    }
    const std::vector<ExpectedMethodOrder> expected = expected_orders(quantities, comparison, listed.size());
    Reference reference = this->reference(choices, quantities);
    if (reference.method) static_cast<void>(integrator_section(*reference.method, document, smallest));
    if (!reference.samples) ++count;
    DirectoryLock lock;
    const std::filesystem::path directory = open_directory(lock, comparison_files(), {model_, reference_});

    // the runs; the reference comes last, because it takes longest
    std::size_t number = 0;
    for (std::size_t i = 0; i < choices.size() && !stopped(); ++i)
      solve_method(comparison.methods[i], choices[i], document, steps_of(choices[i]), number, count);
    const bool any = std::any_of(comparison.methods.begin(), comparison.methods.end(), [](const MethodRuns& m) {
      return std::any_of(m.runs.begin(), m.runs.end(),
                         [](const StudyRun& r) { return r.status == RunStatus::completed; });
    });
    bool reference_failed = false;
    if (reference.samples) {
      comparison.reference = "the file " + reference_;
      comparison.reference_samples = std::move(*reference.samples);
    } else if (!stopped()) {
      reference_failed = any && !solve_reference(comparison, reference, choices, document, smallest, number, count);
    }

    if (!comparison.reference.empty())
      for (MethodRuns& method : comparison.methods)
        add_errors(method.runs, comparison.reference_samples, quantities, comparison.reference);
    find_orders(comparison);
    const bool failed = !any || reference_failed;
    comparison.status = stopped() ? RunStatus::interrupted : failed ? RunStatus::failed : RunStatus::completed;
    say_notes(write_comparison(comparison, directory));
    if (!quiet_) fmt::print("{}results in {}\n", comparison_table(comparison), directory.string());

    if (stopped()) return exit_interrupted;
    if (!any) fmt::print(stderr, "carom compare: no method solved the model\n");
    if (failed) return exit_not_converged;
    bool met = true;
    for (const ExpectedMethodOrder& e : expected) {
      const MethodRuns& method = comparison.methods[e.method];
      met = meets(e.order, method.orders[e.quantity].fitted_mean) && met;
    }
    return met ? exit_done : exit_expectation;
  }

  /// Solves the reference. False, after a message, if there is none.
  bool solve_reference(Comparison& comparison, const Reference& reference, const std::vector<MethodChoice>& choices,
                       const ModelDocument& document, double smallest, std::size_t number, std::size_t count) const {
    // without a method: the first one that takes the model and solves it with this step
    std::vector<MethodChoice> candidates;
    if (reference.method) candidates.push_back(*reference.method);
    for (std::size_t i = 0; i < choices.size() && !reference.method; ++i)
      if (comparison.methods[i].refusal.empty()) candidates.push_back(choices[i]);
    const Step quarter{fmt::format("{}", smallest / 4), smallest / 4}, step = reference.step.value_or(quarter);
    for (MethodChoice& candidate : candidates) {
      const std::string text = fmt::format("{}, step {}", candidate.label, step.word);
      candidate.label = "reference " + candidate.label;
      MethodRuns runs;
      std::size_t n = number;
      solve_method(runs, candidate, document, {step}, n, count);
      if (stopped()) return true;
      if (!runs.completed()) continue;
      comparison.reference = text;
      comparison.reference_samples = std::move(runs.runs[0].samples);
      return true;
    }
    fmt::print(stderr, "carom compare: the reference was not solved: there are no errors\n");
    return false;
  }

  std::string integrators_, steps_, vary_, reference_;
};

}  // namespace

Command& compare_command() {
  static Compare command;
  return command;
}

}  // namespace carom
