// carom check: validates a model and prints its inventory, without a step; writes its natural modes.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/commands.hpp"
#include "io/results/directory_lock.hpp"
#include "io/results/mode_series.hpp"
#include "io/results/prepared_run.hpp"
#include "io/studies/inventory.hpp"

namespace carom {

namespace {

class Check final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("model", model_, "Model file (JSON)")->required()->option_text("FILE");
    app.add_option("--set", overrides_, "Override a value of the model: /json/pointer=value (may be repeated)")
        ->option_text("/KEY=VALUE")
        ->allow_extra_args(false)
        ->check(reject_malformed_override);
    app.add_flag("--json", json_, "Print the stock as JSON");
    modes_option_ = app.add_option("--modes", modes_,
                                   "Print so many natural frequencies (default: 6) and write their modes as VTU series")
                        ->option_text("N")
                        ->check(CLI::Range(1, NaturalModes::most_equations));
    app.add_option("-o,--output", directory_, "Directory of the modes (default: results/<model>-modes)")
        ->option_text("DIR")
        ->needs(modes_option_);
    app.footer(
        "Examples:\n"
        "    carom check four_bar.json\n"
        "    carom check whip.json --modes 4\n"
        "    paraview results/whip-modes/whip_mode_1.pvd");
  }

  int run() override {
    const PreparedRun run = prepare_run(load_model(model_, overrides_));
    if (!run.ok()) {
      fmt::print(stderr, "{}", run.issues.report(width_of_stderr()));
      return exit_invalid_model;
    }
    const Inventory inventory = inspect_model(*run.model, run.document, modes_);
    if (modes_option_->count() > 0) write(run, inventory.natural);
    if (json_)
      fmt::print("{}", inventory_json(inventory));
    else
      fmt::print("{}\nvalid\n", inventory_text(inventory));
    return exit_done;
  }

 private:
  void write(const PreparedRun& run, const NaturalModes& modes) const {
    const std::string name = std::filesystem::path(model_).stem().string();
    const std::filesystem::path directory =
        directory_.empty() ? std::filesystem::path("results") / (name + "-modes") : std::filesystem::path(directory_);
    if (modes.modes.empty()) {
      fmt::print(stderr, "note: no modes are written: {}\n",
                 modes.left_out.empty() ? "no motion has a natural frequency" : modes.left_out);
      return;
    }
    DirectoryLock lock;
    lock.acquire(directory);
    write_modes(*run.model, *run.integrator, modes, directory, name);
    fmt::print(stderr, "note: {} {} in {}\n", modes.modes.size(), modes.modes.size() == 1 ? "mode is" : "modes are",
               directory.string());
  }

  std::string model_;
  std::vector<std::string> overrides_;
  bool json_ = false;
  int modes_ = 6;
  CLI::Option* modes_option_ = nullptr;
  std::string directory_;
};

}  // namespace

Command& check_command() {
  static Check command;
  return command;
}

}  // namespace carom
