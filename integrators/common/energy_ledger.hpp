// EnergyLedger: where the energy of a run goes, part by part and step by step.
//
// A step is a list of stages (integrator.hpp), of which each is evaluated by itself, with the energy E = T + V:
//
//   motion      E(q_1, v_1) - E(q_0, v_0) = work of loads, drivers and dampers + numerical part,
//               the work by the trapezoidal rule in the powers at both ends
//   correction  E(q_1, v_1) - E(q_0, v_0)
//   jump        sum over contacts    Lam (g_0' + g_1')/2     the loss in impacts
//               sum over joints      Lam (g_0' + g_1')/2
//               all rows             -Lam g_t                the work of what moves the obstacle or the joint
//               friction             Lam_T (G_T (v_n + v_1)/2 + g_t), v_n: of the start of the step; the rest of the
//                                    tangential rows' Lam (g_0' + g_1')/2 counts as that of the contacts
//               other impulses       (force * duration) . (v_0 + v_1)/2
//
// where g_0' = G v_0 + g_t and g_1' = G v_1 + g_t. In stages in which constraints switch (Stage::switches) the
// correction, in the jump joints and other impulses, and the numerical part of a motion count apart from those of all
// other stages: reactions act along an intermediate gradient.
//
// The parts of a jump add up to (v_0 + v_1)/2 . M (v_1 - v_0) = T_1 - T_0, because the impulses are M (v_1 - v_0); so
// what is left between the energy and the sum of all parts, the closure, is the residual of the jump and rounding. At a
// contact that stays closed the smooth motion of DS falls, the position correction lifts and the jump takes the speed
// of the fall: work of O(h) per time that cancels. V is elastic energy and that of the field of gravity; what loads
// give is work. A restart from an edited model counts from the energy that the new model has.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integrators/common/alternating_motion.hpp"
#include "integrators/common/bouncing_contacts.hpp"
#include "integrators/common/energy_meter.hpp"
#include "integrators/common/free_motion.hpp"
#include "integrators/common/observer.hpp"

namespace carom {

/// Work since the start of the run, in the model's unit of energy; positive work raises the energy.
struct EnergyBalance {
  Energies energy;             ///< at the present state
  double loads = 0;            ///< work of loads
  double drivers = 0;          ///< work of moving obstacles and driven joints
  double damping = 0;          ///< work of dampers at the velocities at which steps begin and end
  double numerical = 0;        ///< of the smooth motion beyond the work of its forces
  double position = 0;         ///< of the position corrections
  double impacts = 0;          ///< of the impulses by which contacts close, without what moving obstacles give
  double element_impacts = 0;  ///< what impacts of nodes of bars, beams and solids take of this
  double contacts = 0;         ///< the same of contacts that were closed before
  double friction = 0;         ///< of friction on the slip velocities, in motions and jumps
  double friction_gain = 0;    ///< sum of what single impacts with friction have given (Kane's paradox), >= 0
  double constraints = 0;      ///< of the joints' impulses, without what drivers give
  double corrections = 0;      ///< of the force corrections in the jumps, without what they change in the dampers' work
  double switches = 0;  ///< of joints and force corrections in jumps in which constraints switch, and in such motions
                        ///< beyond the work of their forces
  double switch_corrections = 0;  ///< of the position corrections before these jumps
  double closure = 0;             ///< energy - initial energy - all of the above
  double scale = 0;               ///< largest sum of |kinetic|, |elastic| and the change of the potential energy so far
  double largest_closure = 0;     ///< |closure| at most
  double given = 0;        ///< largest growth of error() within about a hundred steps: what the method itself has given
  double explained = 0;    ///< `scale` without this growth
  double first_step = 0;   ///< error() of the first step, which corrects what does not fit joints and obstacles
  double through = 0;      ///< ranges in which the work of loads and that of drivers have been, together
  double alternating = 0;  ///< of AlternatingMotion
  double edited = 0;       ///< that edits of the model before restarts have given; the energy at the start contains it
  double free_energy = 0;  ///< of FreeMotion
  double free_growth = 0;

  double total() const { return energy.kinetic + energy.elastic + energy.potential; }
  /// What the method itself gives or takes: no force, law or driver of the model does.
  using Parts = std::vector<std::pair<const char*, double>>;
  Parts errors() const {
    return {{"numerical", numerical},          {"contacts", contacts},
            {"position_correction", position}, {"constraints", constraints},
            {"force_correction", corrections}, {"switch_correction", switch_corrections}};
  }
  double error() const { return numerical + contacts + position + constraints + corrections + switch_corrections; }
  /// Energy that has left the model.
  double dissipated() const { return std::max(0.0, -damping) + std::max(0.0, -friction) + std::max(0.0, -impacts); }
};

class EnergyLedger final : public Observer {
 public:
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  std::string record_name() const override { return "ledger"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

  const EnergyBalance& balance() const { return balance_; }
  BouncingContacts::Returns bounces() const { return bouncing_.most(); }
  double initial() const { return initial_.kinetic + initial_.elastic + initial_.potential; }
  double largest() const { return largest_; }

 private:
  /// A sum whose rounding errors are summed too (Neumaier), for runs of many steps.
  struct Sum {
    double value = 0, rest = 0;
    void add(double x);
    double total() const { return value + rest; }
  };
  void take_stages(const StepView& view);
  bool exchanges(const StepView& view);
  void add_motion(const Stage& stage, const Energies& before, const EnergyPoint& end);
  void add_jump(const System& system, const Stage& begin, const Stage& stage, In v_n);
  void add_friction(const System& system, const Stage& stage);
  double size_now() const;
  void sum_up();
  void note_growth(bool first);

  EnergyBalance balance_;
  double largest_ = 0, last_duration_ = 0, largest_impulse_ = 0, low_error_ = 0;
  double loads_low_ = 0, loads_high_ = 0, drivers_low_ = 0, drivers_high_ = 0;
  Energies initial_, energy_;
  Powers powers_;
  std::optional<EnergyMeter> meter_;
  AlternatingMotion alternating_;
  FreeMotion free_;
  BouncingContacts bouncing_;
  Sum loads_, drivers_, damping_, numerical_, position_, impacts_, contacts_, friction_, constraints_, corrections_;
  Sum switches_, switch_corrections_;
  Vector rates_, rates_smooth_;
  std::vector<std::uint8_t> closed_;       // contacts before the step
  std::vector<std::uint8_t> of_elements_;  // contacts
  bool restored_ = false;
  bool begins_ = false;  // the first motion of a run follows
};

}  // namespace carom
