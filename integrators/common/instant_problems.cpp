#include "integrators/common/instant_problems.hpp"

#include "core/base/vector_ops.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

InstantProblem::InstantProblem(const System& system, const Scales& scales) : system_(&system), length_(scales.length) {
  for (Vector* x : {&x_, &f_, &Mx_, &reaction_}) x->assign(at(system.size()), 0.0);
}

void InstantProblem::begin(const State& state) {
  state_ = &state;
  start_ = {state.q.data(), state.v.data(), state.t};
  set_zero(x_);
}

double InstantProblem::residual(In s, Out r) {
  system_->mass_times(state_->q, x_, Mx_);
  set_zero(reaction_);
  system_->add_reactions(state_->q, state_->t, s, bilateral_rows | law_rows, reaction_, &start_);
  combine(1.0, Mx_, -1.0, reaction_, r);
  axpy(-1.0, f_, r);
  return size(*system_, Mx_, length_) + size(*system_, reaction_, length_) + size(*system_, f_, length_);
}

void InstantProblem::linearise(In, Linearisation& request) {
  request.c_M = 1;
  request.q_M = request.q = state_->q.data();
  request.v = state_->v.data();
}

bool InstantProblem::move(double share, In dx) {
  axpy(share, dx, x_);
  return true;
}

ImpactProblem::ImpactProblem(const System& system, const Scales& scales)
    : InstantProblem(system, scales), v_(x_), load_(at(system.bilateral()), 0.0), total_(load_) {}

void ImpactProblem::begin(const State& state, const Vector& reflected) {
  InstantProblem::begin(state);
  reflected_ = &reflected;
  v_ = state.v;
  duration_ = 0;
  set_zero(load_);
}

void ImpactProblem::set_load(In load, double duration, double t) {
  copy(load, load_);
  duration_ = duration;
  middle_ = t;
}

void ImpactProblem::rows(Out c) {
  system_->rates(state_->q, v_, state_->t, bilateral_rows | law_rows, c, &start_);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] += (*reflected_)[i];
}

void ImpactProblem::friction_limits(In s, std::span<const int> joints, Out limits) {
  for (std::size_t i = 0; i < total_.size(); ++i) total_[i] = load_[i] + s[i];
  for (std::size_t j = 0; j < joints.size(); ++j)
    limits[j] = system_->friction_limit(joints[j], state_->q, total_, duration_, middle_);
}

bool ImpactProblem::move(double share, In dW) {
  axpy(share, dW, v_);
  return InstantProblem::move(share, dW);
}

void AccelerationProblem::begin(const State& state) {
  InstantProblem::begin(state);
  copy(state.acceleration, x_);
  system_->forces(state.q, state.v, state.t, force_all, f_);
}

void AccelerationProblem::rows(Out c) {
  if (system_->rows() > 0)
    system_->accelerations(state_->q, state_->v, x_, state_->t, bilateral_rows | unilateral_rows, c, &start_);
}

MixedSetup impact_setup(const System& system, NewtonMethod method) {
  return {.name = "impact",
          .rows = bilateral_rows | law_rows,
          .matrix = tangent_properties(system, method),
          .constant_matrix = system.constant_mass() && system.bilateral() == 0};
}

MixedSetup instant_setup(const System& system, const char* name, NewtonMethod method) {
  return {.name = name, .rows = bilateral_rows | unilateral_rows, .matrix = tangent_properties(system, method)};
}

bool press(MixedNewton& solver, AccelerationProblem& problem, const StepScales& scales, State& state,
           StepReport& report) {
  ProblemScales accelerations = scales.accelerated_motion(1, 1);
  accelerations.row_scale = accelerations.penalty = scales.model.mass;
  accelerations.row_roundoff = accelerations.row_tolerance;
  problem.begin(state);
  solver.begin(report, {.held = &state.active, .candidates = &state.active});
  if (!solver.solve(problem, accelerations, report)) return false;
  state.acceleration = problem.solution();
  copy(solver.multipliers(), state.lambda);
  state.closed = solver.flags();
  // contacts without force that do not move apart either may still be needed
  const In rows = solver.row_values().last(state.active.size());
  const int n_b = static_cast<int>(solver.row_values().size() - rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (state.closed[i] == 0 && rows[i] > accelerations.row_roundoff * solver.weight(n_b + static_cast<int>(i)))
      state.active[i] = 0;
  return true;
}

}  // namespace carom
