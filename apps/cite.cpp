// carom cite: the references of the methods, elements and programs that a model uses, as BibTeX.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/commands.hpp"
#include "io/studies/bibliography.hpp"

namespace carom {

namespace {

class Cite final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->option_text("/KEY=VALUE")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.footer("Example:\n    carom cite brick.json > carom.bib");
  }

  int run() override {
    const ModelDocument document = load_model(model_, overrides_);
    ModelIssues issues = document.issues();
    const std::unique_ptr<Model> model = issues.empty() ? build_model(document, {}, issues) : nullptr;
    if (model == nullptr) {
      fmt::print(stderr, "{}", issues.report(width_of_stderr()));
      return exit_invalid_model;
    }
    fmt::print("{}", bibliography_text(references_of(*model, document.resolved())));
    return exit_done;
  }

 private:
  std::string model_;
  std::vector<std::string> overrides_;
};

}  // namespace

Command& cite_command() {
  static Cite command;
  return command;
}

}  // namespace carom
