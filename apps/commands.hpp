// The subcommands of carom and what they share. Every command returns an exit code.
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

/// For options: what is wrong with an empty value, as of a shell's variable that is not set; empty for any other.
std::string reject_empty(const std::string& value);

/// For --set: what is wrong with a text that is not /json/pointer=value; empty for any other.
std::string reject_malformed_override(const std::string& text);

/// Columns of the terminal that stderr is; 0 when it is none.
std::size_t width_of_stderr();

Command& run_command();
Command& check_command();
Command& converge_command();
Command& schema_command();
Command& completion_command();

}  // namespace carom
