// NsgaCoupled: the nonsmooth generalized-alpha methods whose three sub-problems depend on each other
// (coupled_motion.hpp).
//
//   nsga_coupled     constraints at position and velocity level, PVV [MONO], called CS in [DS20]; solved in turn
//   nsga_monolithic  the same equations as one system, with all coupling terms
//   nsga_pva         also at acceleration level [PVA18]
//
// and, for bilateral constraints alone, two classical methods of the generalized-alpha family: `ggl_modified`
// ([PVA18] eq. 74) is PVV, `pva` ([PVA18] eq. 70) is PVA.
#pragma once

#include "integrators/common/coupled_motion.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

struct NsgaCoupledOptions {
  double rho_infinity = 0.8;
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  CoupledSetup setup;
  /// CoupledSetup::mean_directions; without a value: where spheres have contacts with friction.
  std::optional<bool> mean_directions;
  NewtonOptions newton;
  Scales scales;
};

class NsgaCoupled final : public Integrator {
 public:
  NsgaCoupled(const System& system, const MethodInfo& info, const NsgaCoupledOptions& options);
  /// `name`: of the method; without contacts if it is a classical one.
  static MethodInfo method_info(const char* name, bool contacts = true);
  std::vector<Objection> objections(const State& start, double h) override;
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  /// Of PVA the total impulse Lam* over h, which includes the smooth multiplier.
  double row_force(const State& state, int row) const override;
  std::span<MixedNewton* const> solvers() override { return motion_.solvers(); }

 private:
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  MonolithicNewton* monolithic_solver() override { return motion_.monolithic(); }

  NsgaCoupledOptions options_;
  CoupledMotion motion_;
  double h_ = 0, t_ = 0;
  std::vector<Stage> stages_;
};

}  // namespace carom
