// GeneralizedAlphaMethod: the classical generalized-alpha method for bilateral constraints at one level
// (smooth_motion.hpp):
//
//   index 3  g = 0             index 1    G v' + h = 0
//   index 2  G v + g_t = 0     Baumgarte  G v' + h + 2 alpha (G v + g_t) + beta^2 g = 0
//
// ([PVA18] eq. 71). The method takes no contacts. Constraints drift at the levels below the one that holds, unless the
// formulation of Gear, Gupta and Leimkuhler adds the positions to index 2 ([PVA18] eq. 73):
//
//   q = q_n o exp(d + U),   U = G(q_n)^T nu,   g(q) = 0
//
// Constraints that switch ([SW24], section 4.1) are those of the mode at the end of a step. Where the motion with the
// rows of the mode at t_n ends behind its surface, the step is solved again with the rows of the mode behind; in index
// 2 the reactions of this step act along the intermediate gradient G_E. If the rows of neither mode lead to where the
// mode holds, the step keeps the old rows and the next step switches. The method adds no velocity jump; a, v and lambda
// follow from the formulation: index 3 oscillates, index 1 leaves the constraints, index 2 with E < 1 gains energy from
// a_n unless the method is fully implicit.
//
// U has no mass matrix, so that its directions depend on the units of lengths and angles. Motion and U are solved in
// turn until the positions hold.
#pragma once

#include <cmath>

#include "core/linear/dense_lu.hpp"
#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

struct GeneralizedAlphaOptions {
  double rho_infinity = 0.8;
  ConstraintForm form;
  bool ggl = false;                  ///< with U; the form is that of velocities
  bool fully_implicit = false;       ///< GeneralizedAlpha::fully_implicit() in the place of rho_infinity
  double intermediate_gradient = 1;  ///< E of constraints that switch: other than 1 for index 2 alone
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  NewtonOptions newton;
  Scales scales;
};

class GeneralizedAlphaMethod final : public Integrator {
 public:
  GeneralizedAlphaMethod(const System& system, const MethodInfo& info, const GeneralizedAlphaOptions& options);
  /// `name`: of the formulation. Exact positions: constraints hold at position level.
  static MethodInfo method_info(const char* name, bool exact_positions);
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override { return {&stage_, 1}; }
  std::span<const SwitchEvent> switches() const override { return switches_.events(); }
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  GeneralizedAlpha alpha() const {
    return options_.fully_implicit ? GeneralizedAlpha::fully_implicit() : GeneralizedAlpha(options_.rho_infinity);
  }
  bool take_step(const StepScales& scales, const State& start, State& end, StepReport& report);
  static constexpr int most_put_off = 10;
  bool switch_modes(const StepScales& scales, const State& start, StepReport& report);
  void measure_switching_rows(In q, double t);
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  double largest_row();
  ProblemScales motion_scales(const StepScales& scales) const;
  bool correct_positions(const ProblemScales& scales, StepReport& report);

  GeneralizedAlphaOptions options_;
  Vector matrix_;  // while the solver assembles it
  ConstraintSwitches switches_;
  SmoothMotion motion_;
  MixedNewton* solvers_[1] = {&motion_.solver()};
  Vector row_, nu_, U_, column_, delassus_;
  std::vector<SparseRow> G_n_, G_;
  TangentOperators T_;
  DenseLu lu_;
  Stage stage_;
  double put_off_ = 0;  // steps in a row whose switch the drift of the positions puts off; also in State::history
};

}  // namespace carom
