#include "integrators/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace carom {

namespace {
using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
}  // namespace

RunStatus Simulation::run() {
  const double h = options_.step, t_0 = state_.t;
  const long full_steps = static_cast<long>(std::floor(options_.duration / h * (1 + 1e-12) + 1e-9));
  const double rest = options_.duration - static_cast<double>(full_steps) * h;
  const long total = full_steps + (rest > 1e-9 * h ? 1 : 0);
  statistics_ = {};
  statistics_.smallest_gap = std::numeric_limits<double>::infinity();

  report_ = {};
  const StepView view{system_, integrator_, state_, report_, h, true};
  for (Observer* o : observers_) o->start(view);

  RunStatus status = RunStatus::completed;
  for (long k = 0; k < total; ++k) {
    const double t_k = t_0 + static_cast<double>(k) * h;
    // the next multiple of h to the last bit, as the next step starts from it
    const double t_next = k < full_steps ? t_0 + static_cast<double>(k + 1) * h : t_0 + options_.duration;
    if (!nominal_step(t_k, t_next, k < full_steps ? h : rest)) {
      status = RunStatus::failed;
      break;
    }
    if (stop_ != nullptr && *stop_ != 0 && k + 1 < total) {
      status = RunStatus::interrupted;
      break;
    }
  }
  for (Observer* o : observers_) o->finish(view, status);
  return status;
}

// One nominal step, in 2^level parts where it must be; position is counted in units of h / 2^max_subdivisions.
bool Simulation::nominal_step(double t_start, double t_end, double h) {
  const long units = 1L << options_.max_subdivisions;
  long position = 0;
  int level = 0;
  bool subdivided = false;
  while (position < units) {
    const long length = units >> level;
    const auto begin = Clock::now();
    report_ = integrator_.step(system_, state_, h * static_cast<double>(length) / static_cast<double>(units));
    const auto end = Clock::now();
    statistics_.step_seconds += seconds(begin, end);

    if (!report_.converged) {
      ++statistics_.rejected;
      if (!subdivided) ++statistics_.subdivided_steps;
      subdivided = true;
      for (Observer* o : observers_) o->rejected({system_, integrator_, state_, report_, h, false});
      if (level == options_.max_subdivisions) return false;
      ++level;
      continue;
    }

    position += length;
    const bool nominal = position == units;
    state_.t = nominal ? t_end : t_start + h * static_cast<double>(position) / static_cast<double>(units);
    if (nominal) ++state_.step;
    record(report_);
    if (!observers_.empty()) {
      for (Observer* o : observers_) o->after_step({system_, integrator_, state_, report_, h, nominal});
      statistics_.observer_seconds += seconds(end, Clock::now());
    }
    // grow back as soon as the grid of the larger step is met
    while (level > 0 && position % (units >> (level - 1)) == 0) --level;
  }
  ++statistics_.nominal_steps;
  return true;
}

void Simulation::record(const StepReport& report) {
  ++statistics_.steps;
  for (std::size_t i = 0; i < 3; ++i) statistics_.iterations[i].add(report.subproblems[i].iterations);
  statistics_.position_residual = std::max(statistics_.position_residual, report.position_residual);
  statistics_.velocity_residual = std::max(statistics_.velocity_residual, report.velocity_residual);
  statistics_.smallest_gap = std::min(statistics_.smallest_gap, report.smallest_gap);
  statistics_.impacts += report.impacts;
  statistics_.redundant_steps += report.redundant ? 1 : 0;
  statistics_.largest_speed = std::max(statistics_.largest_speed, report.speed);
  statistics_.largest_rotation = std::max(statistics_.largest_rotation, report.rotation);
  if (report.timed)
    for (std::size_t i = 0; i < 3; ++i) {
      statistics_.sampled_seconds[i] += report.seconds[i];
      statistics_.sampled_total += report.seconds[i];
    }
}

}  // namespace carom
