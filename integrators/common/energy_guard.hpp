// EnergyGuard: whether the motion of a step is explained by the work of its forces.
//
// A large step may lead Newton's iteration to another root of the equations of a step, in which nodes have turned many
// times or elements are stretched without cause. Residuals and tolerances do not tell such a root from the right one;
// energy does. The guard compares, for the motion of a step,
//
//   N = E(q, v) - E(q_n, v_n) - h/2 (P_n + P) - work of the rows         E = T + V; P: powers of loads and drivers
//
// with the energies of the run. Dampers are left out, because they never raise the energy, while the work of a stiff
// damper in a large step is known badly. The motion is refused if
//
//   N > 0.1 S_1,  or  N > 0 and U + N - U_low > 0.5 S
//
// U sums the unexplained work of whole steps, with corrections and the losses in impacts, and U_low is the lowest value
// that U had: the budget bounds a growth of few per cent per step, which no single step shows. A step after whose
// corrections U - U_low exceeds S is refused too, but for the first step of a model that does not fit its joints or
// penetrates obstacles at the start. S is the largest of |T| + |V| + |change of the potential energy| so far, the work
// done so far, and floors: energies of rounding, and the work of weights and loads over ten times a coarse tolerance of
// the constraints, by which bodies at rest sink and rise. U - U_low is no part of the energies. S_1 is S with recent
// work alone (a fading sum). In sound runs the largest N is 0.07 S; blow-ups begin at 0.3 S.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/named_arrays.hpp"
#include "core/mechanics/scales.hpp"
#include "core/mechanics/state.hpp"
#include "integrators/common/energy_meter.hpp"
#include "integrators/common/step_report.hpp"

namespace carom {

class EnergyGuard {
 public:
  /// constraint_tolerance: of gaps and joints, times the length scale.
  EnergyGuard(const System& system, const Scales& scales, bool on, double constraint_tolerance = 0);
  bool on() const { return on_; }

  /// A step begins at this state.
  void begin(const State& start);
  /// Judges a motion from the start of the step to (q, v) at t_n + h. `multipliers` are forces; `row_work`: what
  /// impulses of rows do, if they belong to this motion; `terms`: the size of the forces. False: the motion is refused.
  /// `stored`: what the energy that the method conserves grows beyond T + V, exact for some linear motion. `known`: the
  /// energies at (q, v), where the method has found them.
  bool explains(const State& start, In q, In v, double h, In multipliers, double row_work, double terms,
                double stored = 0, const Energies* known = nullptr);
  /// The first step lifts bodies out of obstacles that they penetrate at the start, closes joints, or gives bodies the
  /// velocities of joints: the motion that explains() has refused is explained from (q, v), the start with these
  /// corrections. `stored`: what they add to the stored energy of explains().
  bool lifts(const State& start, In q, In v, double stored = 0) const;
  /// Of methods whose impacts take several steps: the energy that the impulses of the last motion gained; it replaces
  /// max(0, row_work) in growth().
  void count_row_gain(double gain) { row_gain_ = gain; }
  /// Before explains(), of methods whose rows have impulses in the place of forces: what drivers and moving obstacles
  /// do in this step, in the place of h/2 (P_n + P).
  void count_driver_work(double work) { driver_work_ = work; }
  /// Marks the report of a refused motion from `start` to (q, v) at t: sub-problem `index`, or -1 for the whole step,
  /// and the element that gains most.
  void blame(StepReport& report, int index, const State& start, In q, In v, double t) const;
  /// N of the last motion judged over the energies of the run.
  double share() const { return share_; }
  /// The sum of the sizes of all energies, the potential one from the start of the run.
  double size(const Energies& e) const;
  /// S of the last motion judged.
  double energies() const { return energies_; }
  /// How the step goes on from the motion: `moved` by corrections or jumps, with the multipliers of the motion, the
  /// impulses of the rows and the velocity before these. The arrays must live until accept(). `law`: the energy that a
  /// law of the method gives beside those of contacts, as an intermediate gradient may in a switch; a loss counts as 0.
  void close(bool moved, In multipliers, In impulses, In v_before = {}, double law = 0);
  /// The end of a step whose motion explains() has judged. False: the step is refused.
  bool accept(const State& start, const State& end);
  /// A step with impacts from `start` to `end`, of a linear system whose motions need no guard: what it gains counts
  /// for growth(). Impacts of several contacts with different restitution gain energy by Newton's law. Nothing happens
  /// where drivers or moving obstacles work.
  void note_impacts(const State& start, const State& end);
  /// The largest U - U_low of the run over its energies, in U also what impacts gain.
  double growth() const { return growth_; }
  /// The next step begins a run.
  void forget() { known_ = restored_ = begun_ = false; }

  /// At the end of the motion, and of the last accepted step; null if the guard is off.
  const EnergyPoint* motion_end() const { return on_ ? &motion_ : nullptr; }
  const EnergyPoint* step_end() const { return on_ && known_ ? &now_ : nullptr; }

  void save(NamedArrays& record) const;
  void restore(const NamedArrays& record);

 private:
  double floor(In q, In v, double t, double terms);
  bool misfits(const State& start) const;
  double given(const Powers& end, double h) const {
    const double drivers = driver_work_ ? *driver_work_ : 0.5 * h * (now_.powers.drivers + end.drivers);
    return 0.5 * h * (now_.powers.loads + end.loads) + drivers;
  }

  const System* system_;
  Scales scales_;
  double coarse_ = 0;  // tolerance of the constraints, if it is above rounding
  bool on_ = false, known_ = false, restored_ = false, drivers_unknown_ = false, moved_ = false, begun_ = false;
  EnergyMeter meter_;
  std::uint64_t q_ = 0, v_ = 0;  // fingerprints of the state of now_
  Vector f_;
  double t_ = 0;
  EnergyPoint now_, motion_;
  double potential_0_ = 0;                             // the potential energy at the start of the run
  double scale_ = 0, work_ = 0, recent_ = 0;           // S without work, sum of |work|, the same fading
  double unexplained_ = 0, lowest_ = 0;                // U, U_low
  double with_impacts_ = 0, lowest_with_impacts_ = 0;  // the same with what impacts gain
  double trial_work_ = 0, trial_gain_ = 0, row_work_ = 0, row_gain_ = 0, stored_ = 0, law_ = 0, share_ = 0;
  double energies_ = 0, growth_ = 0;
  std::optional<double> driver_work_;
  In multipliers_, impulses_, v_before_;
};

}  // namespace carom
