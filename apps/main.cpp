// carom: flexible multibody dynamics with contacts and impacts.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "apps/commands.hpp"
#include "apps/help_text.hpp"
#include "core/base/errors.hpp"
#include "core/base/spelling.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"

namespace {

/// CLI11's message; a message for programmers is replaced by a sentence for users.
std::string sentence_of(const CLI::ParseError& e) {
  const std::string text = e.what();
  if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch) && text.ends_with(" missing"))
    return text.substr(0, text.find(':')) + ": expected a value";
  constexpr std::string_view conversion = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(conversion) && equals != std::string::npos)
    return text.substr(conversion.size(), equals - conversion.size()) + ": expected a number, got " +
           carom::in_quotes(std::string_view(text).substr(equals + 3));
  const auto part = [&](std::string_view from, std::string_view to) {
    const std::size_t begin = text.find(from), end = text.find(to);
    return begin == std::string::npos || end == std::string::npos || end < begin + from.size()
               ? std::string()
               : text.substr(begin + from.size(), end - begin - from.size());
  };
  const std::string name = text.substr(0, text.find(':'));
  if (text.find(": At Most 1 required") != std::string::npos) return name + ": expected once, got several";
  if (const std::string value = part(": Value ", " not in range "); !value.empty())
    return name + ": expected a number from " + text.substr(text.rfind(" not in range ") + 14) + ", got " +
           carom::in_quotes(value);
  if (const std::string value = part(": ", " not in {"); !value.empty())
    return name + ": expected one of {" + part(" not in {", "}") + "}, got " + carom::in_quotes(value);
  return text == "A subcommand is required" ? "expected a command" : text;
}

/// What is wrong with the command line, and the place of the explanation.
std::string failure_text(const CLI::App& app, const CLI::ParseError& e) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  const CLI::App& command = commands.empty() ? app : *commands.front();
  const std::string name = commands.empty() ? "carom" : "carom " + command.get_name();

  // unknown words come first: a misspelt option may be the reason for a missing one
  const std::vector<std::string> extras = app.remaining(true);
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const bool has_option = std::any_of(extras.begin(), extras.end(), is_option);
  const bool is_extra = e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::vector<std::string> options;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& word : option->get_lnames()) options.push_back("--" + word);
  std::string text;
  for (const std::string& word : extras) {
    if (word == "--") continue;
    if (is_option(word)) {
      const std::string nearest = carom::nearest_name(word.substr(0, word.find('=')), options);
      text += name + ": no option " + carom::in_quotes(word) +
              (word[1] != '-' || nearest.empty() ? "" : "; did you mean " + carom::in_quotes(nearest) + "?") + "\n";
    } else if (is_extra && !has_option) {
      text += name + ": unexpected argument " + carom::in_quotes(word) + "\n";
    }
  }
  if (text.empty()) text = name + ": " + sentence_of(e) + "\n";
  return text + "See: " + name + " --help\n";
}

int dispatch(int argc, char** argv) {
  CLI::App app{"Flexible multibody dynamics with contacts and impacts.", "carom"};
  app.set_version_flag("--version", std::string("carom ") + CAROM_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<carom::HelpText>());

  struct Entry {
    const char *name, *help;
    carom::Command& command;
  };
  const Entry entries[] = {
      {"run", "Solve a model", carom::run_command()},
      {"check", "Validate a model and take stock of it, without a step", carom::check_command()},
      {"converge", "Errors and orders of convergence over steps or a parameter", carom::converge_command()},
      {"compare", "Errors, orders and work of several integrators, side by side", carom::compare_command()},
      {"sweep", "Solve a model at many values of its keys, in parallel, for one table", carom::sweep_command()},
      {"plot", "Draw probes, energies and events of results over time", carom::plot_command()},
      {"report", "Write the results of a run as one HTML page", carom::report_command()},
      {"cite", "Print the references of what a model uses, as BibTeX", carom::cite_command()},
      {"schema", "The JSON Schema of model files, or the manual of one key", carom::schema_command()},
      {"completion", "Print the script by which a shell completes the command line", carom::completion_command()},
  };
  for (const Entry& e : entries) {
    e.command.subcommand = app.add_subcommand(e.name, e.help);
    e.command.declare(*e.command.subcommand);
  }
  app.footer(
      "Example: solve a model up to t = 2 with another step, and look at the results:\n"
      "    carom run pendulum.json --set /integrator/step=1e-4 --until 2\n"
      "    paraview --script=results/pendulum/view.py\n"
      "    carom plot results/pendulum\n"
      "Every key of a model has a manual, for instance: carom schema bodies");
  // CLI11 would only report a missing command
  const std::string first = argc > 1 ? argv[1] : "", named = first == "help" && argc > 2 ? argv[2] : first;
  const bool known =
      std::any_of(std::begin(entries), std::end(entries), [&](const Entry& e) { return named == e.name; });
  if (!named.empty() && named != "help" && named[0] != '-' && !known) {
    std::vector<std::string> names;
    for (const Entry& e : entries) names.emplace_back(e.name);
    std::fprintf(stderr, "carom: no command %s%s\nSee: carom --help\n", carom::in_quotes(named).c_str(),
                 carom::spec::suggestion(named, names).c_str());
    return carom::exit_command_line;
  }
  // carom help COMMAND is carom COMMAND --help
  std::vector<char*> words(argv, argv + argc);
  std::string help = "--help";
  if (first == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
      app.exit(e);  // prints help or version
      return carom::exit_done;
    }
    std::fputs(failure_text(app, e).c_str(), stderr);
    return carom::exit_command_line;
  }
  for (const Entry& e : entries)
    if (e.command.subcommand->parsed()) return e.command.run();
  return carom::exit_command_line;
}

// Sparse solvers allocate and free their factors in every iteration. Without this the C library returns that memory to
// the system each time, and a third of the time of a pile of spheres goes into page faults.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int mapped_alone = 32 << 20, kept = 1 << 30;  // bytes
  mallopt(M_MMAP_THRESHOLD, mapped_alone);
  mallopt(M_TRIM_THRESHOLD, kept);
#endif
}

}  // namespace

std::string carom::reject_empty(const std::string& value) {
  return value.empty() ? "expected a value, got \"\"" : std::string();
}

std::string carom::reject_malformed_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool is_pointer = text.starts_with('/') && equals != std::string::npos && equals > 1;
  return is_pointer ? std::string()
                    : "expected /json/pointer=value, as in /integrator/step=1e-4, got " + in_quotes(text);
}

int main(int argc, char** argv) {
  keep_freed_memory();
  try {
    const int code = dispatch(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fprintf(stderr, "carom: cannot write to stdout: %s\n", std::strerror(errno));
    return carom::exit_file;
  } catch (const carom::FileError& e) {
    std::fprintf(stderr, "carom: %s\n", e.what());
    return carom::exit_file;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "carom: out of memory\n");
    return carom::exit_internal;
  } catch (const std::filesystem::filesystem_error& e) {
    std::fprintf(stderr, "carom: cannot use %s: %s\n", e.path1().c_str(), e.code().message().c_str());
    return carom::exit_file;
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) == 0) {
      std::fprintf(stderr, "carom: internal error: %s\n", e.what());
      return carom::exit_internal;
    }
    std::fprintf(stderr, "carom: cannot write to stdout: %s\n", e.code().message().c_str());
    return carom::exit_file;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "carom: internal error: %s\n", e.what());
    return carom::exit_internal;
  }
}
