// carom schema: the JSON Schema of model files, the manual of one key, or the reference of all keys as Markdown; all of
// them follow from the declaration of the keys.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/commands.hpp"
#include "core/base/errors.hpp"
#include "io/model/model_reference.hpp"
#include "io/model/model_spec.hpp"
#include "io/schema/documentation.hpp"

namespace carom {

namespace {

class Schema final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("key", key_, "A key, like /integrator/step or contacts/obstacle; without it the whole schema")
        ->option_text("KEY")
        ->excludes(app.add_flag("--markdown", markdown_, "All keys as Markdown: docs/model_reference.md"));
    app.footer(
        "Examples:\n"
        "    carom schema /integrator/step\n"
        "    carom schema contacts/obstacle\n"
        "    carom schema > carom.schema.json");
  }

  int run() override {
    if (key_.empty()) {
      fmt::print("{}", markdown_ ? model_reference() : model_schema_text());
      return exit_done;
    }
    try {
      fmt::print("{}", manual(model_spec(), key_));
    } catch (const ModelError& e) {
      fmt::print(stderr, "carom: {}\n", e.what());
      return exit_command_line;
    }
    return exit_done;
  }

 private:
  std::string key_;
  bool markdown_ = false;
};

}  // namespace

Command& schema_command() {
  static Schema command;
  return command;
}

}  // namespace carom
