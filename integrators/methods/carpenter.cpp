#include "integrators/methods/carpenter.hpp"

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

namespace {

MixedSetup setup_of(const System& system, NewtonMethod method) {
  return {.name = "motion",
          .rows = bilateral_rows | unilateral_rows,
          .matrix = tangent_properties(system, method),
          .linear = system.linear() && contacts_linear(system)};
}

}  // namespace

MethodInfo CarpenterImplicit::method_info() {
  return {.name = "carpenter", .subproblems = {"motion"}, .guards_linear = true, .closing_turn = wide_closing_turn};
}

CarpenterImplicit::CarpenterImplicit(const System& system, const CarpenterOptions& options)
    : Integrator(system, method_info(), options.scales, options.newton),
      newton_(system, options.newton, setup_of(system, options.newton.method), options.scales, 0, &matrix_) {
  const std::size_t n = at(system.size());
  for (Vector* x : {&v_, &a_, &d_, &f_, &Ma_, &reaction_}) x->assign(n, 0.0);
  q_.assign(at(system.dofs().configuration_size()), 0.0);
}

std::vector<Integrator::Objection> CarpenterImplicit::objections(const State&, double) {
  for (int row = system().bilateral(); row < system().rows(); ++row)
    if (system().contact_parameters(row).restitution > 0)
      return {{"", -1,
               "expected restitution 0, got a contact with more (" + system().row_name(row) +
                   "): \"carpenter\" has no impact law; paoli_schatzman and cd_lagrange have one",
               row}};
  return {};
}

bool CarpenterImplicit::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  SaddlePoint saddle;
  saddle.analyse(system(), {system().symmetric(), false});
  Vector multipliers(at(system().bilateral()));
  if (!consistent_acceleration(system(), saddle, scales().mass, true, state.q, state.v, state.t, state.acceleration,
                               multipliers, report))
    return false;
  copy(multipliers, state.lambda);
  return true;
}

bool CarpenterImplicit::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  step_ = scales.start;
  q_n_ = start.q;
  v_n_ = start.v;
  a_n_ = start.acceleration;
  combine(h_, v_n_, 0.5 * h_ * h_, a_n_, d_);
  set_zero(Ma_);
  if (!move(0, Ma_)) {
    mark_failed(report, 0, FailureReason::not_finite);
    return false;
  }
  newton_.begin(report, {.multipliers = start.lambda, .held = &start.active});
  const ProblemScales lengths = scales.positions(1);
  ProblemScales forces = scales.motion(1);
  forces.row_scale = forces.penalty = scales.model.mass / (h_ * h_);
  forces.row_tolerance = lengths.row_tolerance;
  forces.row_roundoff = lengths.row_roundoff;
  if (!newton_.solve(*this, forces, report)) return false;
  report_gaps(newton_, report);

  end.q = q_;
  end.v = v_;
  end.acceleration = a_;
  copy(newton_.multipliers(), end.lambda);
  // the mean of both ends, as that of the accelerations
  set_zero(end.impulse);
  for (std::size_t row = at(system().bilateral()); row < end.impulse.size(); ++row)
    end.impulse[row] = 0.5 * h_ * (start.lambda[row] + end.lambda[row]);
  end.active = end.closed = newton_.flags();
  if (guard().on()) {
    guard().close(false, end.lambda, {});
    if (!guard().explains(start, q_, v_, h_, end.lambda, 0, newton_.terms())) {
      guard().blame(report, 0, start, q_, v_, t_);
      return false;
    }
  }
  stages_ = {{Stage::Kind::motion, start.t, t_, start.q, start.v, end.q, end.v, end.lambda, h_}};
  stages_.back().closed = end.closed;
  return true;
}

void CarpenterImplicit::rows(Out c) { system().gaps(q_, t_, bilateral_rows | unilateral_rows, c, &step_); }

double CarpenterImplicit::residual(In s, Out r) {
  system().mass_times(q_, a_, Ma_);
  set_zero(reaction_);
  system().add_reactions(q_, t_, s, bilateral_rows | unilateral_rows, reaction_, &step_);
  combine(1.0, Ma_, -1.0, f_, r);
  axpy(-1.0, reaction_, r);
  const double L = scales().length;
  return size(system(), Ma_, L) + size(system(), f_, L) + size(system(), reaction_, L);
}

void CarpenterImplicit::linearise(In s, Linearisation& S) {
  S.c_M = 4 / (h_ * h_);
  S.c_C = 2 / h_;
  S.c_K = S.c_s = 1;
  S.rows_through_T = true;
  S.a = a_.data();
  S.q_M = S.q = q_.data();
  S.v = v_.data();
  S.s = system().rows() > 0 ? s.data() : nullptr;
  S.T = tangent_operators(d_);
}

bool CarpenterImplicit::move(double share, In dx) {
  axpy(share, dx, d_);
  combine(2 / h_, d_, -1.0, v_n_, v_);
  combine(2 / h_, v_, -2 / h_, v_n_, a_);
  axpy(-1.0, a_n_, a_);
  system().retract(q_n_, d_, q_);
  system().forces(q_, v_, t_, force_all, f_);
  return all_finite(f_);
}

}  // namespace carom
