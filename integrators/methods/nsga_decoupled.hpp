// The decoupled nonsmooth generalized-alpha method (DS) and its simplification without force corrections (DSn).
//
// Cosimo, Galvez, Cavalieri, Cardona, Brüls, "A robust nonsmooth generalized-alpha scheme for flexible systems with
// impacts" (2020), [DS20]. Three sub-problems per step, strictly in sequence, each by semi-smooth Newton:
//
//   1. smooth motion         M(q~) v~' - f(q~, v~) - G_b(q~)^T lambda~ = 0,   G_b v~ + g_t = 0
//   2. position correction   M(q~) U - h^2 f_p - G(q)^T nu = 0,   q = q~ o exp(U),   g_b = 0,   0 <= g_u perp nu_u >= 0
//   3. velocity jump         M(q) W - h f_* - G(q)^T Lam = 0,     v = v~ + W,        g'_b = 0,
//                            0 <= g' + e g'_n  perp  Lam_u >= 0  for the contacts that were active in 2.
//   f_p = f(q, v~) - f(q~, v~) + (G_b(q) - G_b(q~))^T lambda~,   f_* the same at v, less (M(q) - M(q~)) v~'
//
// Constraints hold at position and velocity level at the end of every step.
//
// Coulomb friction acts in 2. and in 3. by the same law (ConeProblem): in 3. on the slip velocities, in 2. on the slip
// displacements of the step less those before touch-down,
//
//   s_T - s*,   s* = 0 where the contact was closed at t_n, else g_n/(g_n - g~) s~_T
//
// so that a body at rest does not creep; stick and slip are decided in both anew. Anchors of several contacts that
// close in a step may contradict each other (wedges): those contacts then have no friction in 2. of this step
// (fall-back).
//
// Option mean_directions: rows that turn (a bead in a bowl, a body that turns about a sticking point) cost O(h) above,
// because reactions of a whole step act in the directions of its end. For contacts that were closed at t_n the
// reactions then are F^T nu, F^T Lam with means of the smooth multiplier's weights in the step,
//   position  F = (G(q) + 2 G(q_n))/3,      velocity  F = (G(q) + G(q_n))/2
// while gaps and rates stay those of the end. The gap is then still exact and such motions are of second order.
//
// Friction of joints has the disc of the reactions' integral over the step,
//   |nu_f| <= mu r |h^2 int (1 - s) lambda~ ds + nu_b|,      |Lam_f| <= mu r |h int lambda~ ds + Lam_b|
// and with located impacts that over the part of the step behind the last one; s* of a joint then is its way up to it.
//
// Option located_impacts: impacts are found within the step, on its smooth motion, and solved at their instants
// (LocatedImpacts). They enter 2. and 3. as given terms, M (U - U_0) and M (W - W_0); the published problems close the
// step. In f_* the change with the velocity has the weight theta, the share of the step after the impacts:
// f_* = f_*(q, v~) + theta (f(q, v) - f(q, v~)). After the impacts forces that depend on velocity, and rows that turn,
// have other accelerations, so that
//
//   4. acceleration  M D - G_b^T dl = f(q, v) - f(q, v~),  G_b D + h_b(q, v) - h_b(q, v~) = 0
//
// is added to v~' and a. Contacts count as closed if they were active in 2. and rest on the obstacle at the end of 3.
//
// Switching constraints (SwitchingBlock, [SW24]): the rows of the mode at t_n are bilateral rows of 1. and of 2. Where
// q then lies behind the surface z = 0 of the mode, 2. is solved again with the rows of the mode behind, whose
// reactions act along the intermediate gradient at q~, and 3. in parts, all at q:
//
//   position     M U - h^2 f_p - G_E^T nu - G_b^T nu_b = 0,    g_new = 0
//   old modes    M (v_1 - v~) - h f_* - G_-^T Lam_1 - G_b^T Lam_b1 - G_c^T Lam_c1 = 0,    G_- v_1 + g_-,t = 0
//   switch       M (v_2 - v_1) - G_E^T Lam_2 - G_b^T Lam_b2 - G_c^T Lam_c2 = 0,           G_+ v_2 + g_+,t = 0
//   impacts      M (v - v_2) - G_+^T Lam_3 - G_b^T Lam_b3 - G^T P = 0,   0 <= g' + e g'_2  perp  P >= 0
//
// Contacts c that rest with v_1 are rows of the metric of G_E as long as they press in the switch
// (ConstraintSwitches::cross), which is decided where the old modes lead q. Friction of contacts that slide and of
// joints acts between the last two parts, with the impulses of the switch. Contacts that touch and approach behind the
// switch, new ones too, have an impact in the new modes; 2. takes them in a second part along G_+. So E = 1/2 conserves
// the kinetic energy in the switch to rounding, and E = 1 lets nothing of the motion against the new constraints
// remain. What the turn of the rows by the position correction takes, of second order in h, belongs to this correction.
// v~' and a begin anew behind a switch. Several switches in a step follow each other; if another order has another
// result, the step is refused.
//
// smooth_switching_rows = false: rows of switching constraints are no part of 1., as in [SW24].
#pragma once

#include "integrators/common/constraint_switches.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/located_impacts.hpp"
#include "integrators/common/smooth_motion.hpp"
#include "integrators/common/touching_contacts.hpp"

namespace carom {

enum class ImpactInstant { automatic, located, published };

struct NsgaOptions {
  double rho_infinity = 0.8;
  bool force_corrections = true;  ///< false: DSn, f_p = f_* = 0
  InitialAcceleration initial_acceleration = InitialAcceleration::consistent;
  /// Reactions of contacts that stay closed act in mean directions of the step; false: in those of its end [DS20].
  /// Without a value: where impacts are located or spheres have contacts with friction.
  std::optional<bool> mean_directions;
  /// Impacts act at their instants within the step; published: at its end [DS20]. `automatic`: located are those of
  /// rigid bodies, point masses and coordinates, in models of few bodies without massless equations and switches.
  ImpactInstant impact = ImpactInstant::automatic;
  /// E of the intermediate gradient of constraints that switch, in [0, 1].
  double intermediate_gradient = 0.5;
  /// The smooth motion keeps the constraints of the present modes; false: [SW24].
  bool smooth_switching_rows = true;
  double penalty = 1;  ///< p_p = p_v = penalty * m, p_s = penalty * m/h
  NewtonOptions newton;
  Scales scales;
};

class NsgaDecoupled final : public Integrator {
 public:
  NsgaDecoupled(const System& system, const NsgaOptions& options);
  NsgaDecoupled(const NsgaDecoupled&) = delete;
  NsgaDecoupled& operator=(const NsgaDecoupled&) = delete;
  ~NsgaDecoupled() override;
  static MethodInfo method_info(bool force_corrections = true, bool located_impacts = false);
  bool initialise(State& state, double h, StepReport& report) override;
  std::vector<Objection> objections(const State& start, double h) override;
  std::span<const Stage> stages() override;
  std::span<const SwitchEvent> switches() const override { return switches_.events(); }
  std::span<MixedNewton* const> solvers() override { return {solvers_, located_ ? 4u : 3u}; }

 private:
  struct Correction;
  struct Position;
  struct Velocity;
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool take_step(const StepScales& scales, const State& start, State& end, StepReport& report);
  bool switch_position(const StepScales& scales, const State& start, StepReport& report);
  bool switch_velocity(const StepScales& scales, const State& start, State& end, StepReport& report);
  bool find_pressing(const StepScales& scales, const State& start, const ConstraintSwitches::Flags& resting,
                     StepReport& report);
  ConstraintSwitches::Flags resting_contacts(const StepScales& scales, const State& start) const;
  bool approach(const StepScales& scales, const State& start, const ConstraintSwitches::Flags& resting,
                StepReport& report);
  bool solve_jump(const StepScales& scales, const MixedNewton::Start& contacts, bool forces, StepReport& report);
  bool cross_all(const StepScales& scales, StepReport& report);
  bool cross(const StepScales& scales, bool backwards, StepReport& report);
  bool rub(const StepScales& scales, int k, bool backwards, const ConstraintSwitches::Flags& held, StepReport& report);
  bool strike_position(const StepScales& scales, const State& start, In v, StepReport& report);
  bool strike(const StepScales& scales, const State& start, StepReport& report);
  bool rested(const StepScales& scales, const State& start, int row) const;
  void note_jump(bool before_switch, bool switches, const Vector& v_before, bool forces);
  bool begin_anew(State& end, StepReport& report);
  void measure_switching_rows(In q, double t);
  void forget_matrices();
  double kinetic(In v);
  bool correct_position(const StepScales& scales, const State& start, StepReport& report);
  bool jump_velocity(const StepScales& scales, const State& start, StepReport& report);
  const LocatedImpacts::Impact* last_impact_of(int row) const;
  void find_anchors(const State& start);
  bool solve_without_anchors(const StepScales& scales, const State& start, StepReport& report);
  const Vector& force_correction(In v, bool mass_changes);
  void begin_position();
  void leave_resting(const StepScales& scales, State& end) const;
  void add_switches();
  void add_motion(double s_0, In q_0, In v_0, double s_1, In q_1, In v_1);
  /// Impacts have been located in this step.
  bool impacts() const { return located_ != nullptr && located_->any(); }
  /// The instant of the last one over h, from which friction of joints acts on; 0 without impacts.
  double last_impact() const { return impacts() ? located_->impacts().back().tau : 0; }

  /// Null with switching constraints: conjugate gradients, which need this array, assume that reactions act along the
  /// gradients of their rows.
  Vector* scratch() { return switches_.present() ? nullptr : &matrix_; }

  NsgaOptions options_;
  bool mean_directions_;
  bool by_forces_;  // position corrections are displacements of forces, not of impulses
  Vector matrix_;   // while a solver assembles it
  ConstraintSwitches switches_;
  SmoothMotion smooth_;
  MixedNewton position_, velocity_;
  // A part of the velocity jump of a step that switches; impulse: f_* and what rows give beside the multipliers along
  // their gradients in the new modes.
  struct Jump {
    Vector v_0, v_1, multipliers, impulse;
    bool before_switch = false, switches = false;
    std::vector<std::uint8_t> closed;
  };
  std::vector<Jump> jumps_;
  std::vector<ConstraintSwitches::Flags> held_;  // contacts in the metric of each switch, then in the reverse order
  std::vector<std::uint8_t> closed_;             // behind these
  Vector nu_before_;  // of bilateral rows, in the first of two parts of the position correction; empty: one part
  const ConstraintSwitches::Flags* candidates_ = nullptr;  // of the position correction; null: all contacts
  std::unique_ptr<LocatedImpacts> located_;                // null: the published law
  MixedNewton* solvers_[4] = {&smooth_.solver(), &position_, &velocity_, nullptr};
  std::unique_ptr<Position> U_;
  std::unique_ptr<Velocity> W_;
  double h_ = 0, t_ = 0, theta_ = 1;
  StepStart step_;                       // for rows that refer to the start of the step
  In lambda_n_;                          // smooth reactions at the start of the step
  bool correction_known_ = false;        // f_correction_ belongs to (q, v)
  const TangentOperators* T_ = nullptr;  // T(U)
  Vector q_, v_, v_p_, reflected_, s_, f_correction_, Mx_, scratch_;
  // with located impacts: q and v after these, before 2. and 3.; f_* at v~; x less what is given
  Vector q_free_, v_free_, f_smooth_, x_;
  Vector anchors_;      // s* per row, in the directions at the start of the step; empty without friction
  Vector smooth_rows_;  // what rows measure in the smooth motion
  std::vector<std::uint8_t> frictionless_;  // contacts in the fall-back
  TouchingContacts touching_;               // those with friction
  StayedRows stayed_;
  bool stays_ = false;  // there are such contacts, beside joints with mean directions
  MeanDirections mean_position_, mean_velocity_;
  std::vector<Stage> stages_;
};

}  // namespace carom
