#include "io/results/status_file.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "core/base/errors.hpp"
#include "io/results/atomic_file.hpp"
#include "io/results/summary.hpp"

namespace carom {

StatusFile::StatusFile(std::filesystem::path file, double t_start, double t_end)
    : path_(std::move(file)), t_start_(t_start), t_end_(t_end), t_0_(t_start), t_(t_start), begin_(Clock::now()) {}

void StatusFile::start(const StepView& view) {
  begin_ = Clock::now();
  t_0_ = view.state.t;
  step_0_ = view.state.step;
  write(view, "running");
}

void StatusFile::after_step(const StepView& view) {
  const auto now = Clock::now();
  if (now - last_ > std::chrono::seconds(1)) write(view, "running");
}

void StatusFile::finish(const StepView& view, RunStatus status) { write(view, status_word(status)); }

void StatusFile::write(const StepView& view, const std::string& status) {
  t_ = view.state.t;
  step_ = view.state.step;
  closed_ = view.report.closed;
  last_ = Clock::now();
  write_atomically(path_, text(status));
}

void StatusFile::stopped(const State& reached) noexcept {
  try {
    t_ = reached.t;
    step_ = reached.step;
    const std::string last_words = text("stopped");
    try {
      write_atomically(path_, last_words);
    } catch (const FileError&) {  // the disk is full or was removed
      write_in_place(path_, last_words);
    }
  } catch (const std::exception&) {  // no further report is possible
  }
}

std::string StatusFile::text(const std::string& status) const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - begin_).count();
  const double done = t_ - t_0_, left = status == "running" ? t_end_ - t_ : 0.0;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  nlohmann::json out = {
      {"status", status},
      {"pid", static_cast<long>(getpid())},
      {"host", host.data()},
      {"t", t_},
      {"time", {{"start", t_start_}, {"end", t_end_}}},
      {"share", t_end_ > t_start_ ? (t_ - t_start_) / (t_end_ - t_start_) : 1.0},
      {"steps", step_},
      {"steps_per_second", elapsed > 0 ? static_cast<double>(step_ - step_0_) / elapsed : 0.0},
      {"seconds_elapsed", elapsed},
      {"seconds_left", done > 0 ? nlohmann::json(elapsed * left / done) : nlohmann::json()},
      {"closed_contacts", closed_},
      {"updated", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
  };
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace carom
