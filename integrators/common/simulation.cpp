#include "integrators/common/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
// rejected trials since the last nominal step that was not halved; beyond, the run makes no progress
constexpr long most_rejected = 1000;
// equations; from this size on, the record that makes a step interruptible costs little beside the step
constexpr int large_model = 600;

void add(const SlipSum& slip, SlipSum& sum) {
  sum.way += slip.way;
  sum.mismatch += slip.mismatch;
}

/// The duration in steps: full ones, what remains, and how many there are with a last, shorter one.
struct Division {
  long full_steps;
  double rest;
  long total;
};
Division divide(const SimulationOptions& options) {
  const double h = options.step;
  const long full_steps = static_cast<long>(std::floor(options.duration / h * (1 + 1e-12) + 1e-9));
  const double rest = options.duration - static_cast<double>(full_steps) * h;
  return {full_steps, rest, full_steps + (rest > 1e-9 * h ? 1 : 0)};
}
}  // namespace

Simulation::Simulation(System& system, Integrator& integrator, State& state, SimulationOptions options)
    : system_(system), integrator_(integrator), state_(state), options_(options) {
  const std::size_t count = integrator.info().subproblems.size();
  statistics_.iterations.resize(count);
  statistics_.sampled_seconds.resize(count, 0.0);
  statistics_.smallest_gap = std::numeric_limits<double>::infinity();
}

RunStatus Simulation::run() {
  if (!restored_) grid_ = {.origin = state_.t};
  const double h = options_.step, origin = grid_.origin;
  const auto [full_steps, rest, total] = divide(options_);

  reset(start_report_, integrator_.info().subproblems);
  report_ = &start_report_;
  const StepView view{system_, integrator_, state_, *report_, h, true};
  for (Observer* o : observers_) o->start(view);

  lap();
  RunStatus status = RunStatus::completed;
  while (grid_.steps < total) {
    const long k = grid_.steps;
    const double t_k = origin + static_cast<double>(k) * h;
    // the next multiple of h to the last bit, as the next step starts from it
    const double t_next = k < full_steps ? origin + static_cast<double>(k + 1) * h : origin + options_.duration;
    const Outcome outcome = nominal_step(t_k, t_next, k < full_steps ? h : rest);
    if (outcome != Outcome::done) status = outcome == Outcome::failed ? RunStatus::failed : RunStatus::interrupted;
    if (outcome == Outcome::done && stopped() && grid_.steps < total) status = RunStatus::interrupted;
    if (status != RunStatus::completed) break;
    if (std::any_of(observers_.begin(), observers_.end(), [](const Observer* o) { return o->wants_end(); })) break;
  }
  const StepView last{system_, integrator_, state_, *report_, h, grid_.part == 0, in_parts_ ? In(impulses_) : In()};
  for (Observer* o : observers_) o->finish(last, status);
  return status;
}

// Seconds since the last call.
double Simulation::lap() {
  const auto now = std::chrono::steady_clock::now(), last = lap_;
  lap_ = now;
  return std::chrono::duration<double>(now - last).count();
}

// One nominal step, in 2^level parts where it must be.
Simulation::Outcome Simulation::nominal_step(double t_start, double t_end, double h) {
  const long units = 1L << options_.max_subdivisions;
  bool subdivided = grid_.part > 0 || grid_.level > 0;  // counted already: a restart inside the step
  for (bool ended = false; !ended;) {
    const long length = units >> grid_.level;
    const double size = h * static_cast<double>(length) / static_cast<double>(units);
    system_.find_candidates(state_.q, state_.v, state_.t, size);
    // the record that makes a step interruptible costs time: only for long steps and large models
    integrator_.stop_on(last_seconds_ > patience_ || system_.size() >= large_model ? stop_ : nullptr);
    const StepReport& report = integrator_.step(state_, size, grid_.level == options_.max_subdivisions);
    report_ = &report;
    last_seconds_ = lap();
    statistics_.step_seconds += last_seconds_;
    if (integrator_.interrupted()) return Outcome::interrupted;

    if (!report.converged) {
      ++statistics_.rejected;
      if (!subdivided) ++statistics_.subdivided_steps;
      subdivided = true;
      for (Observer* o : observers_) o->rejected({system_, integrator_, state_, report, h, false});
      if (!observers_.empty()) statistics_.observer_seconds += lap();
      if (grid_.level == options_.max_subdivisions || !report.retry) return Outcome::failed;
      if (++grid_.rejected > most_rejected) {
        integrator_.give_up(FailureReason::too_many_subdivisions);
        return Outcome::failed;
      }
      ++grid_.level;
      continue;
    }

    in_parts_ = length != units;
    if (in_parts_ && grid_.part == 0)
      impulses_ = state_.impulse;
    else if (in_parts_)
      axpy(1.0, state_.impulse, impulses_);
    // grow back as soon as the grid of the larger step is met
    grid_.part += length;
    ended = grid_.part == units;
    state_.t = ended ? t_end : t_start + h * static_cast<double>(grid_.part) / static_cast<double>(units);
    while (grid_.level > 0 && grid_.part % (units >> (grid_.level - 1)) == 0) --grid_.level;
    if (ended) {
      ++state_.step;
      ++grid_.steps;
      ++statistics_.nominal_steps;
      grid_.part = 0;
      if (!subdivided) grid_.rejected = 0;
    }
    record(report);
    if (!observers_.empty()) {
      for (Observer* o : observers_)
        o->after_step({system_, integrator_, state_, report, h, ended, in_parts_ ? In(impulses_) : In()});
      statistics_.observer_seconds += lap();
    }
    if (!ended && stopped()) return Outcome::interrupted;
  }
  return Outcome::done;
}

namespace {
// The numbers of the statistics, in the order in which a checkpoint holds them.
template <class Statistics, class Visit>
void visit_statistics(Statistics& s, const Visit& visit) {
  for (auto* n : {&s.steps, &s.nominal_steps, &s.subdivided_steps, &s.rejected, &s.impacts, &s.set_fallbacks,
                  &s.friction_fallbacks, &s.frictionless_steps, &s.snaps, &s.redundant_steps, &s.stalled_steps})
    visit(*n);
  for (auto& i : s.iterations) visit(i.sum), visit(i.max);
  for (auto* x : {&s.position_residual, &s.velocity_residual, &s.smallest_gap, &s.largest_speed, &s.largest_rotation,
                  &s.growth, &s.contact_slip.way, &s.contact_slip.mismatch, &s.joint_slip.way, &s.joint_slip.mismatch,
                  &s.stalled_residual, &s.step_seconds, &s.sampled_total, &s.observer_seconds, &s.earlier_seconds})
    visit(*x);
  for (auto& x : s.sampled_seconds) visit(x);
}
}  // namespace

void Simulation::save(NamedArrays& record) const {
  record.set("grid", {grid_.origin, static_cast<double>(grid_.steps), static_cast<double>(grid_.part),
                      static_cast<double>(grid_.level), static_cast<double>(options_.max_subdivisions),
                      static_cast<double>(grid_.rejected)});
  Vector values;
  visit_statistics(statistics_, [&](const auto& x) { values.push_back(static_cast<double>(x)); });
  record.set("statistics", std::move(values));
  if (in_parts_) record.set("impulses of the parts", impulses_);
  if (Vector nodes = system_.candidates(); !nodes.empty()) record.set("candidates", std::move(nodes));
}

void Simulation::restore(const NamedArrays& record, bool same_grid, double t_end) {
  const Vector *const grid = record.find("grid"), *const statistics = record.find("statistics");
  std::size_t count = 0;
  visit_statistics(statistics_, [&](const auto&) { ++count; });
  if (grid == nullptr || grid->size() != 6 || statistics == nullptr || statistics->size() != count)
    throw std::invalid_argument("Simulation: the record does not fit");
  const Vector* const candidates = record.find("candidates");
  system_.restore_candidates(candidates != nullptr ? In(*candidates) : In());
  std::size_t i = 0;
  visit_statistics(statistics_, [&](auto& x) { x = static_cast<std::decay_t<decltype(x)>>((*statistics)[i++]); });
  if (const Vector* const impulses = record.find("impulses of the parts")) {
    in_parts_ = impulses->size() == state_.impulse.size();
    impulses_ = *impulses;
  }
  statistics_.earlier_seconds = statistics_.step_seconds + statistics_.observer_seconds;

  grid_ = {(*grid)[0], static_cast<long>((*grid)[1]), static_cast<long>((*grid)[2]), static_cast<int>((*grid)[3]),
           static_cast<long>((*grid)[5])};
  // a grid that began at an earlier restart ends at the same time as one that began at the start
  if (grid_.origin + options_.duration != t_end) options_.duration = std::max(0.0, t_end - grid_.origin);
  const Division division = divide(options_);
  // the part of a step that is done, in units of the present fineness
  const double fineness = std::ldexp(1.0, options_.max_subdivisions - static_cast<int>((*grid)[4]));
  const double part = static_cast<double>(grid_.part) * fineness;
  const double h = grid_.steps < division.full_steps ? options_.step : division.rest;
  const double t = grid_.origin + static_cast<double>(grid_.steps) * options_.step +
                   h * std::ldexp(part, -options_.max_subdivisions);
  grid_.part = static_cast<long>(part);
  // a checkpoint behind the last, shorter step does not lie on the grid: a continued run begins a new grid
  same_grid = same_grid && std::abs(t - state_.t) <= 1e-9 * options_.step && part == std::floor(part);
  grid_.level = std::min(grid_.level, options_.max_subdivisions);
  if (!same_grid) {
    in_parts_ = false;
    grid_ = {.origin = state_.t, .rejected = grid_.rejected};
    options_.duration = std::max(0.0, t_end - state_.t);
  }
  restored_ = true;
}

void Simulation::record(const StepReport& report) {
  ++statistics_.steps;
  bool stalled = false;
  for (std::size_t i = 0; i < report.subproblems.size(); ++i) {
    const SubproblemReport& sub = report.subproblems[i];
    statistics_.iterations[i].add(sub.iterations);
    stalled = stalled || sub.stalled;
    statistics_.stalled_residual = std::max(statistics_.stalled_residual, sub.attained);
  }
  statistics_.stalled_steps += stalled ? 1 : 0;
  statistics_.position_residual = std::max(statistics_.position_residual, report.position_residual);
  statistics_.velocity_residual = std::max(statistics_.velocity_residual, report.velocity_residual);
  statistics_.smallest_gap = std::min(statistics_.smallest_gap, report.smallest_gap);
  statistics_.impacts += report.impacts;
  statistics_.growth = report.growth;
  add(report.contact_slip, statistics_.contact_slip);
  add(report.joint_slip, statistics_.joint_slip);
  statistics_.friction_fallbacks += report.friction_fallbacks > 0 ? 1 : 0;
  statistics_.frictionless_steps += report.friction_left_out ? 1 : 0;
  statistics_.snaps += report.snapped ? 1 : 0;
  statistics_.set_fallbacks += report.set_fallback ? 1 : 0;
  statistics_.redundant_steps += report.redundant ? 1 : 0;
  statistics_.largest_speed = std::max(statistics_.largest_speed, report.speed);
  statistics_.largest_rotation = std::max(statistics_.largest_rotation, report.rotation);
  if (report.timed)
    for (std::size_t i = 0; i < report.subproblems.size(); ++i) {
      statistics_.sampled_seconds[i] += report.subproblems[i].seconds;
      statistics_.sampled_total += report.subproblems[i].seconds;
    }
}

}  // namespace carom
