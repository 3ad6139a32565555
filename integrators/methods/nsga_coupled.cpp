#include "integrators/methods/nsga_coupled.hpp"

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

MethodInfo with_solver(MethodInfo info, bool monolithic) {
  info.in_turn = !monolithic;
  return info;
}

NsgaCoupledOptions with_directions(NsgaCoupledOptions options, const System& system) {
  options.setup.mean_directions = options.mean_directions.value_or(system.rolling());
  return options;
}

}  // namespace

MethodInfo NsgaCoupled::method_info(const char* name, bool contacts) {
  MethodInfo info{.name = name, .subproblems = {"smooth", "position", "velocity"}};
  info.rows = contacts ? bilateral_rows | law_rows : bilateral_rows;
  return info;
}

NsgaCoupled::NsgaCoupled(const System& system, const MethodInfo& info, const NsgaCoupledOptions& o)
    : Integrator(system, with_solver(info, o.setup.monolithic), o.scales, o.newton),
      options_(with_directions(o, system)),
      motion_(system, o.scales, o.newton, o.rho_infinity, options_.setup) {
  stages_.reserve(3);
}

std::vector<Integrator::Objection> NsgaCoupled::objections(const State& start, double) {
  if (!options_.setup.smooth_rows.has(RowKind::unilateral) || !system().row_kinds().meets(friction_rows))
    return unclear_friction(start);
  return {{"/integrator/strategy", -1,
           "expected 1 or 2, because the model has friction: in strategy 3 contacts press in the smooth motion, which "
           "has no friction"}};
}

bool NsgaCoupled::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  return motion_.initialise(measure(state, h, report), state, options_.initial_acceleration, report);
}

bool NsgaCoupled::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  if (!motion_.solve(scales, start, guard(), report)) return false;
  motion_.write(end);
  if (system().rows() == 0) return true;
  report_gaps(motion_.solver(1), report);
  report.velocity_residual = motion_.solver(2).largest_row();
  return true;
}

double NsgaCoupled::row_force(const State& state, int row) const {
  return options_.setup.acceleration_level ? state.impulse[at(row)] / state.last_h : Integrator::row_force(state, row);
}

std::span<const Stage> NsgaCoupled::stages() {
  using Kind = Stage::Kind;
  const Vector &q = motion_.smooth_q(), &v = motion_.smooth_v();
  stages_.clear();
  stages_.push_back({Kind::motion, start().t, t_, start().q, start().v, q, v, motion_.solver(0).multipliers(), h_});
  if (motion_.corrected())
    stages_.push_back({Kind::correction, t_, t_, q, v, motion_.q(), v, motion_.solver(1).multipliers()});
  if (motion_.jumped())
    stages_.push_back(
        {Kind::jump, t_, t_, motion_.q(), v, motion_.q(), motion_.v(), motion_.solver(2).multipliers(), h_});
  if (motion_.jumped()) stages_.back().mean = motion_.mean_directions();
  stages_.back().end = step_end();
  stages_.back().closed = motion_.solver(2).flags();
  return stages_;
}

}  // namespace carom
