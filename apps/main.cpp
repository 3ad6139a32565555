// carom: flexible multibody dynamics with contacts and impacts.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string>

#include "apps/commands.hpp"
#include "core/errors.hpp"

namespace {

int dispatch(int argc, char** argv) {
  CLI::App app{"Flexible multibody dynamics with contacts and impacts.", "carom"};
  app.set_version_flag("--version", std::string("carom ") + CAROM_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);

  struct Entry {
    const char *name, *help;
    carom::Command& command;
  };
  const Entry entries[] = {
      {"run", "Solve a model", carom::run_command()},
      {"check", "Validate a model and take stock of it, without a step", carom::check_command()},
      {"schema", "The JSON Schema of model files, or the manual of one key", carom::schema_command()},
  };
  for (const Entry& e : entries) {
    e.command.subcommand = app.add_subcommand(e.name, e.help);
    e.command.declare(*e.command.subcommand);
  }
  // CLI11 would only say that a command is missing
  const std::string first = argc > 1 ? argv[1] : "";
  const bool known =
      std::any_of(std::begin(entries), std::end(entries), [&](const Entry& e) { return first == e.name; });
  if (!first.empty() && first[0] != '-' && !known) {
    std::string names;
    for (const Entry& e : entries) names += std::string(names.empty() ? "" : ", ") + e.name;
    std::fprintf(stderr, "carom: no command \"%s\"; there are: %s\n", first.c_str(), names.c_str());
    return carom::exit_command_line;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? carom::exit_done : carom::exit_command_line;
  }
  for (const Entry& e : entries)
    if (e.command.subcommand->parsed()) return e.command.run();
  return carom::exit_command_line;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const carom::FileError& e) {
    std::fprintf(stderr, "carom: %s\n", e.what());
    return carom::exit_file;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "carom: out of memory\n");
    return carom::exit_internal;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "carom: internal error: %s\n", e.what());
    return carom::exit_internal;
  }
}
