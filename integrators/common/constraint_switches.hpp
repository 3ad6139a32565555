// ConstraintSwitches: which mode every block of switching constraints is in, from step to step and within a step.
//
// A method that takes switching constraints calls, in this order,
//
//   begin()           the modes at t_n, from State::history
//   find()            after its position problem in these modes: the modes that the step leaves, and those behind
//   set()             the rows of the modes behind, with reactions along the intermediate gradient at a configuration
//   holds()           after the position problem in the new modes
//   set_old()         for the velocity: the rows of the modes at t_n
//   cross()           the jumps of the velocity, one switch after the other, as their surfaces are met
//   finish()          the new modes without intermediate gradients, into State::history
//
// Only one surface of a block may be crossed in a step: a step that crosses several is refused, and the time loop
// halves it. Several blocks may switch in a step as long as the result does not depend on their order.
//
// Contacts at rest where a surface is met become rows of the metric of the intermediate gradient, and sticking contacts
// with their tangential rows. All begin in the metric. Then the impulses of the jump are computed; the contact that
// pulls most, by P_i sqrt(g_i M^-1 g_i^T), leaves, until no contact pulls; tangential rows leave when their impulse is
// outside the friction cone. Where other sets could press as well, this rule takes one of them, the same in every
// method. A contact that has left the metric is open behind the switch, or strikes there without restitution, because
// the contact was at rest before. Sliding contacts have no friction in this jump; the method applies friction
// afterwards, with the same normal impulses, in a part of its own, which only dissipates.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/index.hpp"
#include "core/mechanics/state.hpp"
#include "core/mechanics/switching_block.hpp"
#include "core/mechanics/system.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/step_report.hpp"
#include "integrators/common/step_scales.hpp"

namespace carom {

class ConstraintSwitches {
 public:
  using Flags = std::vector<std::uint8_t>;  ///< per conditional row
  /// Of the kinetic energy: that of the difference of two velocities that are the same but for rounding.
  static constexpr double same_motion = 1e-16;

  explicit ConstraintSwitches(const System& system);
  ~ConstraintSwitches();
  ConstraintSwitches(const ConstraintSwitches&) = delete;
  ConstraintSwitches& operator=(const ConstraintSwitches&) = delete;
  /// The system has blocks of switching constraints.
  bool present() const { return !switches_.empty(); }
  /// The modes of the blocks become those of the state: an array "modes" of its history with the mode of every block,
  /// then the times at which these modes have begun.
  void initialise(State& state) const;
  /// Place of a body's mode in this array, and places from there to its time; -1: the body has no modes.
  static int place_of(const System& system, std::string_view body);
  static int count(const System& system);
  std::size_t count() const { return switches_.size(); }
  /// The array of a state; null before initialise().
  static const Vector* modes_of(const State& state);
  /// Calls visit(name of the body, fault) for bodies with SwitchingBlock::find_fault at a state.
  template <class Visit>
  void for_faults(const State& state, double duration, const Scales& scales, const Visit& visit) const {
    const Vector v = ahead(state, duration, scales);
    for (const Switch& s : switches_)
      if (const std::string fault = s.block->find_fault(input(s, state.q, v, state.t), duration, scales.length);
          !fault.empty())
        visit(s.block->name(), fault);
  }
  bool begin(const State& start, StepReport& report);
  /// The same within a step of several parts: the events of the step before stay.
  bool resume(const State& start, StepReport& report);

  /// False if the step cannot be accepted, with the reason in the report; any() tells whether it switches. `hint`: what
  /// the method adds to a fault of the modes.
  bool find(const StepScales& scales, In q, In v, StepReport& report, std::string_view hint = {});
  bool any() const { return any_; }
  /// How many blocks switch in this step; the first one meets its surface first.
  int crossings() const { return static_cast<int>(order_.size()); }
  /// The time at which the surfaces are met, where it is known better than find() does.
  void locate(double t) {
    for (Switch& s : switches_) s.t = t;
  }
  /// How far the present modes are from their end, z and SwitchingBlock::margin, and the rates; count() entries.
  void measure_zones(In q, In v, double t, double length, Vector& zone, Vector& rate) const;
  /// All blocks that switch, with the rows of contacts that `held` marks in the metric.
  bool set(const StepScales& scales, In q, In v, double t, double E, const Flags& held, StepReport& report);
  void set_old();
  /// All blocks that switch have the rows of their new modes.
  void set_new();
  /// A mode ends in front of this place.
  bool leave(In q, double t) const;
  /// All modes that end in front of q do so within rounding.
  bool on_surface(const StepScales& scales, In q) const;
  /// Where a switch is crossed: from v, at q.
  struct Crossing {
    int k = 0;               ///< block k of crossings()
    bool backwards = false;  ///< the k-th from the end
    In q, v;
    double t = 0, E = 1;
    double rest = 0;  ///< the largest speed of a contact that rests
    In weights;       ///< over them, rates of rows are speeds (row_weights)
  };
  /// A method's velocity behind the present switch, with the contacts of `held` closed, whose impulses are near those
  /// given (rows() entries); empty if there is none, with the reason in the report.
  using SolveJump = std::function<In(const Flags& held, In impulses)>;
  /// The jump of one switch; the blocks before it have their new rows, those behind it their old ones. `held`: contacts
  /// that may be part of the metric, and afterwards those that are.
  bool cross(const Crossing& crossing, const StepScales& scales, Flags& held, const SolveJump& jump,
             StepReport& report);
  /// After it: the block has its new rows, with reactions along their gradients.
  void settle(int k, bool backwards);
  bool holds(const StepScales& scales, In q, StepReport& report, const char* remark = "") const;
  /// The motion goes on into the new modes of the blocks whose rows are those of a switch.
  bool crosses(In q, In v, double t, StepReport& report) const;
  /// One of the blocks that switch has the metric of the whole system.
  bool coupled() const;
  /// Blocks switch in this step whose order decides; always false.
  bool refuse_order(StepReport& report) const;
  void finish(State& end);
  /// The change of the kinetic energy in the jump of block k of crossings().
  void set_energy(int k, double energy) { switches_[at(order_[at(k)])].energy = energy; }
  /// The kinetic energy of what block k of crossings() moves in its switch: that of the system, or of its body where
  /// others switch in the same step and the metric is that of the body.
  double kinetic(int k, In q, In v) const;
  /// After finish(): what has switched.
  void note_events();
  std::span<const SwitchEvent> events() const { return events_; }
  /// All rows of switching constraints are vacant until set_old() or set().
  void vacate();
  /// In the place of a switch that was set: the modes at t_n stay for this step.
  void stay();
  /// After a failure: the modes at the start of the step.
  void undo(const State& start);

  /// While it lives, reactions are those of the old modes.
  class OldReactions {
   public:
    explicit OldReactions(const ConstraintSwitches& switches) : switches_(switches) { show(true); }
    ~OldReactions() { show(false); }
    OldReactions(const OldReactions&) = delete;
    OldReactions& operator=(const OldReactions&) = delete;

   private:
    void show(bool on) const;
    const ConstraintSwitches& switches_;
  };
  /// Calls visit(row, weight) for every row, with what the row measures at q in its present mode.
  template <class Visit>
  void measure(In q, double t, double length, const Visit& visit) {
    for (const Switch& s : switches_) {
      s.block->measure(input(s, q, {}, t), length, weights_.data());
      for (int k = 0; k < s.block->rows(); ++k) visit(s.first_row + k, weights_[at(k)]);
    }
  }
  /// Calls visit(row) for every row of the blocks that switch in this step; with `old`, only of those that have the
  /// rows of their old mode at present.
  template <class Visit>
  void for_switched_rows(const Visit& visit, bool old = false) const {
    for (const Switch& s : switches_)
      for (int k = 0; any_ && s.next >= 0 && (!old || s.block->mode() == s.mode) && k < s.block->rows(); ++k)
        visit(s.first_row + k);
  }

 private:
  struct Switch {
    SwitchingBlock* block = nullptr;
    int first_row = 0;
    int mode = 0;      // at t_n
    int next = -1;     // behind the surface that the step crosses; -1: none
    double t = 0;      // where the step crosses this surface
    double began = 0;  // when the mode at t_n has begun
    double cosine = 1, energy = 0;
    bool alone = true;       // the metric is that of the block's body
    bool switching = false;  // the block has the rows of a switch
  };
  class Metric;
  ConstraintInput input(const Switch& s, In q, In v, double t, Vector& v_local) const;
  ConstraintInput input(const Switch& s, In q, In v, double t) const { return input(s, q, v, t, v_local_); }
  bool reaches_beyond(const SwitchingBlock& block) const;
  Vector ahead(const State& state, double duration, const Scales& scales) const;
  bool prepare(const Switch& s, bool whole, const StepScales& scales, In q, In v, double t, std::span<const int> closed,
               StepReport& report);
  bool set_one(const Crossing& crossing, const StepScales& scales, Flags& held, StepReport& report);
  bool let_go(const std::vector<int>& closed, const StepScales& scales, Flags& held) const;
  bool rests(int row, const Crossing& crossing, const StepScales& scales, In v) const;
  std::vector<int> closed_rows(const Flags& held) const;
  void open(int row, Flags& held) const;
  bool set_switch(Switch& s, In q, In v, double t, bool whole, StepReport& report);
  std::string names(const Switch& s) const;
  static bool refuse(StepReport& report, int subproblem, std::string why);

  const System* system_;
  std::vector<Switch> switches_;
  std::vector<int> order_;  // of the blocks that switch in this step
  std::vector<SwitchEvent> events_;
  std::unique_ptr<Metric> metric_;  // made when a switch needs it
  mutable Vector v_local_, v_start_;
  Vector weights_;   // of the rows of one block
  Vector impulses_;  // of contacts in the metric, in the jump that set_one() has found
  double E_ = 1;
  bool any_ = false;
};

}  // namespace carom
