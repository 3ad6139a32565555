// EventDriven: steps that end at impacts and releases, which root finding locates ([SW24] section 4, for contacts).
//
// Between events the motion is that of the generalized-alpha method with constraints at position, velocity and
// acceleration level (coupled_motion.hpp, PVA). Contacts K touch; those of K that press are equations like joints, the
// others only must not penetrate. A step is solved to its end first. Where an open gap falls through zero, a contact
// that presses would pull, or another contact of K approaches, the step is solved anew for shorter times until the time
// of the first event is known to `event_tolerance` steps. There, all contacts that touch and approach take part in one
// impact, a linear complementarity problem,
//
//   M (v+ - v-) = G^T P,   0 <= G v+ + g_t + e min(0, G v- + g_t)  perp  P >= 0,   joints: G v+ + g_t = 0
//
// and the motion begins anew with the accelerations of
//
//   M v' - G^T lambda = f,   0 <= G v' + h  perp  lambda >= 0 for contacts of K,   joints: G v' + h = 0
//
// Constraints that switch ([SW24], 4.2): where z of the mode falls through zero an event is located as where a gap
// does. The velocity jumps once by the rows of the mode behind, with reactions along the intermediate gradient at this
// place; then the motion begins anew in that mode. Contacts that touch are rows of the metric of this gradient as long
// as they press in the switch (ConstraintSwitches::cross); those that approach behind it strike in the new mode,
// without restitution if they have rested before. Several switches at one instant follow each other; if another order
// has another result, the step is refused.
//
// So nothing remembers the motion before the event: the method is of second order through impacts. Gaps that fall and
// rise again within a step are found by the cubics of gaps and rates at both ends. Impacts that accumulate end the run,
// unless impacts slower than `rest_speed` are taken without restitution.
#pragma once

#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/coupled_motion.hpp"
#include "integrators/common/instant_problems.hpp"
#include "integrators/common/integrator.hpp"

namespace carom {

struct EventDrivenOptions {
  double rho_infinity = 0.8;
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  double event_tolerance = 1e-10;      ///< of the time of an event, in steps
  int most_events = 1000;              ///< of a step; more are an accumulation
  double rest_speed = 0;               ///< impacts with a slower approach have no restitution; 0: none
  double intermediate_gradient = 0.5;  ///< E of constraints that switch, in [0, 1]
  NewtonOptions newton;
  Scales scales;
};

class EventDriven final : public Integrator {
 public:
  EventDriven(const System& system, const EventDrivenOptions& options);
  static MethodInfo method_info();
  bool initialise(State& state, double h, StepReport& report) override;
  std::span<const Stage> stages() override;
  /// The impulse of all parts of the step over h.
  double row_force(const State& state, int row) const override { return state.impulse[at(row)] / state.last_h; }
  std::span<const SwitchEvent> switches() const override { return switches_.events(); }
  std::span<MixedNewton* const> solvers() override { return solvers_; }

 private:
  struct Part {
    Stage::Kind kind{};
    bool located = false;  // its end is an event
    bool switches = false;
    double t_0 = 0, t_1 = 0;
    Vector q_0, v_0, q_1, v_1, multipliers, force;
    std::vector<std::uint8_t> closed;
  };
  struct Gaps {
    double tau = 0;
    Vector gap, rate, force;  // of conditional rows, angles as lengths at the length scale; forces of those that press
    Vector zone, zone_rate;   // z of the modes and its rate
  };
  enum class End { failed, reached, event };

  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  End move(const StepScales& scales, double longest, StepReport& report);
  bool penetrates(StepReport& report);
  bool pulls(const StepScales& scales, StepReport& report);
  bool lets_go(const StepScales& scales);
  bool beyond(const StepScales& scales, StepReport& report);
  double first_event(const Gaps& low, const Gaps& high) const;
  void measure_gaps(const State& state, double tau, In forces, Gaps& gaps) const;
  bool strike(const StepScales& scales, StepReport& report);
  bool rebound_is_rounding(std::size_t contact, double rebound) const;
  bool jump(const StepScales& scales, const std::vector<std::uint8_t>* fixed, StepReport& report);
  bool solve_jump(const StepScales& scales, const std::vector<std::uint8_t>* fixed, StepReport& report,
                  In impulses = {});
  bool take_jump(StepReport& report);
  bool cross(const StepScales& scales, const StepScales& part, int k, bool backwards, StepReport& report);
  bool take_step(const StepScales& scales, const State& start, State& end, StepReport& report);
  bool switch_modes(const StepScales& scales, StepReport& report);
  void measure_switching_rows(In q, double t);
  bool restart(const StepScales& scales, State& state, StepReport& report);
  void note_releases();
  StepScales scales_from(const StepScales& scales, const State& state, double tau) const;
  Part& add_part(Stage::Kind kind, const State& from, const State& to, In multipliers);

  EventDrivenOptions options_;
  ConstraintSwitches switches_;
  CoupledMotion motion_;
  MixedNewton impact_, acceleration_;
  std::vector<MixedNewton*> solvers_;
  ImpactProblem impact_problem_;
  AccelerationProblem start_problem_;

  State from_, to_;  // of the present part of the step
  Gaps low_, high_, now_;
  Vector row_, impulses_, reflected_;
  Vector floors_, zone_floors_;  // below these open gaps penetrate, or modes end, beyond rounding
  // K, those of K that press, those that pressed before an event, contacts of an impact, those of K at rest before a
  // switch
  std::vector<std::uint8_t> closed_, pressing_, pressed_, striking_, rested_;
  std::vector<Part> parts_;
  std::size_t count_ = 0;
  double touching_ = 0, rest_ = 0;  // the rounding of gaps; the speed of a contact that rests
  std::vector<Stage> stages_;
};

}  // namespace carom
