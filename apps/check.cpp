// carom check: validates a model and prints its inventory, without a step.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/commands.hpp"
#include "io/results/prepared_run.hpp"
#include "io/studies/inventory.hpp"

namespace carom {

namespace {

class Check final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required();
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.add_flag("--json", json_, "Print the stock as JSON");
  }

  int run() override {
    const PreparedRun run = prepare_run(load_model(model_, overrides_));
    if (!run.ok()) {
      fmt::print(stderr, "{}", run.issues.report(width_of_stderr()));
      return exit_invalid_model;
    }
    const Inventory inventory = inspect_model(*run.model, run.document);
    if (json_)
      fmt::print("{}", inventory_json(inventory));
    else
      fmt::print("{}\nvalid\n", inventory_text(inventory));
    return exit_done;
  }

 private:
  std::string model_;
  std::vector<std::string> overrides_;
  bool json_ = false;
};

}  // namespace

Command& check_command() {
  static Check command;
  return command;
}

}  // namespace carom
