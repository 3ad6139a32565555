// ProcessPool: processes of this program that run side by side.
//
// A process has no input, its output is dropped, and what it writes to stderr is collected. It ends with this program,
// also if this program is killed. Ctrl-C on the terminal reaches this program alone, which passes it on: the first
// SIGINT or SIGTERM as SIGTERM, so that every run finishes its step; at the second all processes are killed, and this
// program ends with exit code 130. There is one pool per program.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace carom {

class ProcessPool {
 public:
  static constexpr std::size_t most_processes = 1024;

  /// Handles SIGINT and SIGTERM from here on.
  ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;
  /// Kills the processes that still run.
  ~ProcessPool();

  struct Ended {
    std::size_t id = 0;
    int exit_code = 0;   ///< or 128 + the signal that ended the process
    std::string errors;  ///< the first 64 KiB of stderr
  };

  /// Starts `carom ARGUMENTS`. Throws FileError if that is not possible. Precondition: size() < most_processes.
  void start(std::size_t id, const std::vector<std::string>& arguments);
  std::size_t size() const { return children_.size(); }
  /// Waits for the end of a process. Precondition: size() > 0.
  Ended wait();

  /// True after the first SIGINT or SIGTERM.
  static bool stopped();

 private:
  struct Child {
    pid_t process = 0;
    std::size_t id = 0;
    int errors = -1;  ///< a file in memory
  };
  std::vector<Child> children_;
  std::string program_;
};

}  // namespace carom
