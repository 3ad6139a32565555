// carom schema: the JSON Schema of model files, or the manual of one key, both from the one declaration of the keys.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/commands.hpp"
#include "io/model_spec.hpp"

namespace carom {

namespace {

class Schema final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("key", key_, "A key, like /integrator/step or contacts/obstacle; without it the whole schema");
  }

  int run() override {
    if (key_.empty()) {
      fmt::print("{}", json_schema_text());
      return exit_done;
    }
    const std::string text = manual(key_);
    if (text.empty()) {
      fmt::print(stderr, "carom: no key \"{}\" in model files; see: carom schema\n", key_);
      return exit_command_line;
    }
    fmt::print("{}", text);
    return exit_done;
  }

 private:
  std::string key_;
};

}  // namespace

Command& schema_command() {
  static Schema command;
  return command;
}

}  // namespace carom
