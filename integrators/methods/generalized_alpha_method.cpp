#include "integrators/methods/generalized_alpha_method.hpp"

#include "core/base/vector_ops.hpp"

namespace carom {

MethodInfo GeneralizedAlphaMethod::method_info(const char* name, bool exact_positions) {
  return {.name = name, .subproblems = {"smooth"}, .rows = bilateral_rows, .exact_positions = exact_positions};
}

GeneralizedAlphaMethod::GeneralizedAlphaMethod(const System& system, const MethodInfo& info,
                                               const GeneralizedAlphaOptions& o)
    : Integrator(system, info, o.scales, o.newton),
      options_(o),
      motion_(system, o.scales, o.newton, o.rho_infinity, tangent_properties(system, o.newton.method), 0, &matrix_,
              o.form),
      row_(at(system.rows()), 0.0) {}

bool GeneralizedAlphaMethod::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  return motion_.initialise(state, h, options_.initial_acceleration, motion_.solver().saddle(), solvers_, report);
}

bool GeneralizedAlphaMethod::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const GeneralizedAlpha alpha(options_.rho_infinity);
  const ConstraintForm& form = options_.form;
  const double c_a = alpha.c_a(scales.h), c_q = alpha.c_q(scales.h);
  ProblemScales motion = form.acceleration != 0 ? scales.accelerated_motion(1, c_a) : scales.motion(1);
  // g is rounded with the places, which its equation divides by c_q
  motion.row_tolerance += 8 * StepScales::epsilon * scales.place * form.position /
                          (form.acceleration * c_a + form.velocity + form.position * c_q);
  if (!motion_.solve(motion, start, guard(), report)) return false;
  motion_.write(end);
  copy(motion_.q(), end.q);
  copy(motion_.v(), end.v);
  guard().close(false, motion_.multipliers(), {});
  stage_ = {Stage::Kind::motion,   start.t, scales.t, start.q, start.v, motion_.q(), motion_.v(),
            motion_.multipliers(), scales.h};
  stage_.end = guard().motion_end();
  if (system().bilateral() == 0) return true;
  system().gaps(end.q, scales.t, bilateral_rows, row_, &motion.start);
  report.position_residual = max_abs(row_);
  system().rates(end.q, end.v, scales.t, bilateral_rows, row_, &motion.start);
  report.velocity_residual = max_abs(row_);
  return true;
}

}  // namespace carom
