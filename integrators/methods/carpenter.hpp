// Carpenter's implicit method: the trapezoidal rule with constraints at position level at the end of the step.
//
//   M a_{n+1} = f(q_{n+1}, v_{n+1}, t_{n+1}) + G^T lambda_{n+1}
//   q_{n+1} = q_n o exp(d),  d = h v_n + h^2/4 (a_n + a_{n+1}),   v_{n+1} = v_n + h/2 (a_n + a_{n+1})
//   0 <= g(q_{n+1})  perp  lambda_{n+1} >= 0,   g = 0 for joints
//
// Carpenter, Taylor, Katona (1991); [BENCH19] shows it to be unstable in impacts: a_{n+1} contains the impact, and the
// next step gives half of its velocity change once more. The method serves the comparison with the paper; the energy
// guard ends runs in which an impact gains energy. The explicit variant is PaoliSchatzman with Variant::carpenter.
#pragma once

#include "integrators/common/integrator.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

struct CarpenterOptions {
  NewtonOptions newton;
  Scales scales;
};

class CarpenterImplicit final : public Integrator, private MixedProblem {
 public:
  CarpenterImplicit(const System& system, const CarpenterOptions& options);
  static MethodInfo method_info();
  std::vector<Objection> objections(const State& start, double h) override;
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override { return stages_; }
  std::span<MixedNewton* const> solvers() override { return solvers_; }
  /// The force at the end of the step.
  double row_force(const State& state, int row) const override { return state.lambda[at(row)]; }

 private:
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  void rows(Out c) override;
  double residual(In s, Out r) override;
  RowPoint row_point() override { return {q_, tangent_operators(d_)}; }
  void linearise(In s, Linearisation& S) override;
  bool move(double share, In dx) override;

  Vector matrix_;
  MixedNewton newton_;
  MixedNewton* solvers_[1] = {&newton_};
  double h_ = 0, t_ = 0;
  StepStart step_;
  In q_n_, v_n_, a_n_;
  Vector q_, v_, a_, d_, f_, Ma_, reaction_;
  std::vector<Stage> stages_;
};

}  // namespace carom
