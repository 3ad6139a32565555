// The Moreau-Jean time-stepping method (theta method on velocities and impulses).
//
//   M(q) (v - v_n) - h (theta f(q, v, t) + (1 - theta) f_n) - G_b(q)^T P_b - G_u(q_m)^T P_u = 0
//   q = q_n o exp(h (theta v + (1 - theta) v_n))
//   G_b(q) v + g_t = 0,     0 <= G_u(q_m) v + g_t + e (G_u(q_m) v_n + g_t,n)  perp  P_u >= 0
//
// for the contacts whose gap at q_m = q_n o exp(h/2 v_n) is not positive, with Coulomb's law between the tangential P_T
// and the slip velocities G_T(q_m) v + g_t + e_T (G_T(q_m) v_n + g_t,n). Jean, "The non-smooth contact dynamics
// method" (1999); Di Stasio, Dureisseix, Gravouil et al. (2019), [BENCH19].
//
// P are impulses; the force of a row is P/h. Joints hold at velocity level at the end of a step and drift at position
// level. Contacts penetrate by up to h |v|/2. The method has order 1, and order 2 on smooth motions without joints at
// theta = 1/2 if masses do not depend on coordinates, where free vibrations keep their energy.
#pragma once

#include <functional>

#include "core/linear/delassus.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/mixed_newton.hpp"

namespace carom {

struct MoreauJeanOptions {
  double theta = 0.5;  ///< in [1/2, 1]
  NewtonOptions newton;
  Scales scales;
};

class MoreauJean final : public Integrator, private MixedProblem {
 public:
  MoreauJean(const System& system, const MoreauJeanOptions& options);

  static MethodInfo method_info();
  bool initialise(State& state, double h, StepReport& report) override;
  std::vector<Objection> objections(const State& start, double h) override;
  std::span<const Stage> stages() override;
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  bool moves_by_mass(const State& state, StepReport& report);
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool predict_contacts(const StepScales& scales, const State& start, StepReport& report);
  void measure_drift(StepReport& report);
  bool explained(const State& start, StepReport& report);
  bool split_velocity();
  void find_struck(const std::function<bool(int)>& strikes);

  void rows(Out c) override;
  double residual(In s, Out r) override;
  RowPoint row_point() override { return {q_middle_}; }
  void friction_limits(In s, std::span<const int> joints, Out limits) override;
  void linearise(In s, Linearisation& S) override;
  bool move(double share, In dv) override;

  double theta_;
  Vector matrix_;
  MixedNewton newton_;
  MixedNewton* solvers_[1] = {&newton_};
  SaddlePoint mass_;  // for the velocity before the impacts, where an observer asks for stages
  bool mass_known_ = false;

  double h_ = 0, t_ = 0;
  StepStart step_;  // for rows that refer to the start of the step
  In v_n_, q_n_;
  Vector v_, q_, q_middle_, d_, dv_, f_, f_n_, Mx_, reaction_;
  Vector reflected_, gaps_, s_;                   // e (G v_n + g_t,n) per row; gaps; multipliers without contacts
  std::vector<std::uint8_t> candidates_;          // per conditional row
  Vector v_free_, w_, forces_, impulses_, none_;  // stages: before the impacts; multipliers of motion and jump
  std::vector<std::uint8_t> struck_;              // per row
  Components components_;
  std::vector<Stage> stages_;
};

}  // namespace carom
