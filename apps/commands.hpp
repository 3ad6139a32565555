// The subcommands of carom and their shared functions. Every command returns an exit code.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace carom {

enum ExitCode {
  exit_done = 0,
  exit_internal = 1,
  exit_command_line = 2,
  exit_invalid_model = 3,
  exit_not_converged = 4,
  exit_file = 5,
  exit_expectation = 6,
  exit_interrupted = 130
};

/// A subcommand: declare() registers its options; run() does the work and returns the exit code.
struct Command {
  virtual ~Command() = default;
  virtual void declare(CLI::App& app) = 0;
  virtual int run() = 0;
  CLI::App* subcommand = nullptr;
};

/// For options: a message for an empty value, for instance from an unset shell variable; empty for any other value.
std::string reject_empty(const std::string& value);

/// For --set: a message for a text that is not /json/pointer=value; empty for any other text.
std::string reject_malformed_override(const std::string& text);

/// Number of columns of the terminal on stderr; 0 if stderr is not a terminal.
std::size_t width_of_stderr();

Command& run_command();
Command& check_command();
Command& converge_command();
Command& compare_command();
Command& sweep_command();
Command& plot_command();
Command& report_command();
Command& cite_command();
Command& schema_command();
Command& completion_command();

}  // namespace carom
