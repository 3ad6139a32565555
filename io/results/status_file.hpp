// StatusFile: status.json, the progress of a run for other programs. The file is rewritten at most once a second and at
// the end, and is always complete.
//
//   status            "running", "completed", "failed", "interrupted", "stopped" (by an error of files or disk)
//   pid, host         of the process; a killed process leaves "running" behind
//   t, time.{start,end}, share, steps, steps_per_second, seconds_elapsed, seconds_left, closed_contacts
//   updated           time of this report, UTC
#pragma once

#include <chrono>
#include <filesystem>

#include "integrators/common/observer.hpp"
#include "integrators/common/simulation.hpp"

namespace carom {

class StatusFile final : public Observer {
 public:
  StatusFile(std::filesystem::path file, double t_start, double t_end);

  /// Throws FileError if the file cannot be written.
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  void finish(const StepView& view, RunStatus status) override;
  /// Called after an exception in the given state: tries to report it and throws nothing.
  void stopped(const State& reached) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void write(const StepView& view, const std::string& status);
  std::string text(const std::string& status) const;

  std::filesystem::path path_;
  double t_start_, t_end_, t_0_ = 0, t_ = 0;
  long step_0_ = 0, step_ = 0;
  int closed_ = 0;
  Clock::time_point begin_, last_;
};

}  // namespace carom
