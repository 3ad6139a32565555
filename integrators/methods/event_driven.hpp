// EventDriven: steps that end at impacts and releases, which root finding locates ([SW24] section 4, for contacts).
//
// Between events the motion is that of the generalized-alpha method with constraints at position, velocity and
// acceleration level (coupled_motion.hpp, PVA), in which only the closed contacts K take part. A step is solved to its
// end first. Where an open gap falls through zero or a contact of K opens, the step is solved anew for shorter times
// until the time of the first event is known to `event_tolerance` steps. There, all contacts that touch and approach
// take part in one impact, a linear complementarity problem,
//
//   M (v+ - v-) = G^T P,   0 <= G v+ + g_t + e min(0, G v- + g_t)  perp  P >= 0,   joints: G v+ + g_t = 0
//
// and the motion begins anew with the accelerations of
//
//   M v' - G^T lambda = f,   0 <= G v' + h  perp  lambda >= 0 for contacts that stay closed,   joints: G v' + h = 0
//
// so nothing remembers the motion before the event: the method is of second order through impacts. Gaps that fall and
// rise again within a step are found by the cubics of gaps and rates at both ends. Impacts that accumulate end the run,
// unless impacts slower than `rest_speed` are taken without restitution.
#pragma once

#include "integrators/common/coupled_motion.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

struct EventDrivenOptions {
  double rho_infinity = 0.8;
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  double event_tolerance = 1e-10;  ///< of the time of an event, in steps
  int most_events = 1000;          ///< of a step; more are an accumulation
  double rest_speed = 0;           ///< impacts with a slower approach have no restitution; 0: none
  NewtonOptions newton;
  Scales scales;
};

class EventDriven final : public Integrator {
 public:
  EventDriven(const System& system, const EventDrivenOptions& options);
  ~EventDriven() override;
  static MethodInfo method_info();
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  /// The impulse of all parts of the step over h.
  double row_force(const State& state, int row) const override { return state.impulse[at(row)] / state.last_h; }
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  struct Impact;
  struct Start;
  struct Part {
    Stage::Kind kind{};
    double t_0 = 0, t_1 = 0;
    Vector q_0, v_0, q_1, v_1, multipliers;
    std::vector<std::uint8_t> closed;
  };
  struct Gaps {
    double tau = 0;
    Vector gap, rate;  // of conditional rows
  };
  enum class End { failed, reached, event };

  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  End move(const StepScales& scales, double longest, StepReport& report);
  bool penetrates(StepReport& report);
  bool opened(std::size_t contact) const;
  bool beyond(const Gaps& now) const;
  double first_fall(const Gaps& low, const Gaps& high) const;
  void measure(const State& state, double tau, Gaps& gaps) const;
  bool strike(const StepScales& scales, StepReport& report);
  bool restart(const StepScales& scales, State& state, StepReport& report);
  StepScales scales_from(const StepScales& scales, const State& state, double tau) const;
  Part& add_part(Stage::Kind kind, const State& from, const State& to, In multipliers);

  EventDrivenOptions options_;
  CoupledMotion motion_;
  MixedNewton impact_, acceleration_;
  std::vector<MixedNewton*> solvers_;
  std::unique_ptr<Impact> impact_problem_;
  std::unique_ptr<Start> start_problem_;

  State from_, to_;  // of the present part of the step
  Gaps low_, high_, now_;
  Vector row_, impulses_, reflected_;
  Vector floors_;                                // below these open gaps penetrate, beyond rounding
  std::vector<std::uint8_t> closed_, striking_;  // K, and contacts of an impact
  std::vector<Part> parts_;
  std::size_t count_ = 0;
  double touching_ = 0, rest_ = 0;  // the rounding of gaps; the speed of a contact that rests
  std::vector<Stage> stages_;
};

}  // namespace carom
