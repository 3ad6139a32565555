// EnergyLedger: where the energy of a run goes, part by part and step by step.
//
// A step leads from (q_n, v_n) by the smooth motion to (q~, v~), by the position correction to (q, v~) and by the
// velocity jump to (q, v). With the energy E = T + V and v_m = (v~ + v)/2 the change of each stage is evaluated by
// itself:
//
//   smooth motion        E(q~, v~) - E(q_n, v_n) = work of loads, drivers and dampers + numerical part,
//                        the work by the trapezoidal rule in the powers at (q_n, v_n) and (q~, v~)
//   position correction  E(q, v~) - E(q~, v~)
//   velocity jump        sum over contacts    Lam (g~' + g')/2      the loss in impacts
//                        sum over joints      Lam (g~' + g')/2
//                        all rows             -Lam g_t              the work of what moves the obstacle or the joint
//                        force correction     h f_* . v_m
//
// where g~' = G v~ + g_t, g' = G v + g_t at q. The last five add up to v_m . M W = T(q, v) - T(q, v~) because of
// M W = h f_* + G^T Lam; so what is left between the energy and the sum of all parts, the closure, is the residual of
// the jump and rounding. At a contact that stays closed the smooth motion falls, the position correction lifts and the
// jump takes the speed of the fall: work of O(h) per time that cancels. V is elastic energy and that of the field of
// gravity; what loads give is work. A restart from an edited model counts from the energy that the new model has.
#pragma once

#include <string>
#include <vector>

#include "integrators/common/observer.hpp"

namespace carom {

/// Work since the start of the run, in the model's unit of energy; positive work raises the energy.
struct EnergyBalance {
  Energies energy;             ///< at the present state
  double loads = 0;            ///< work of loads
  double drivers = 0;          ///< work of moving obstacles and driven joints
  double damping = 0;          ///< work of dampers
  double numerical = 0;        ///< of the smooth motion beyond the work of its forces
  double position = 0;         ///< of the position corrections
  double impacts = 0;          ///< of the impulses by which contacts close, without what moving obstacles give
  double contacts = 0;         ///< the same of contacts that were closed before
  double constraints = 0;      ///< of the joints' impulses, without what drivers give
  double corrections = 0;      ///< of the force corrections in the jumps
  double closure = 0;          ///< energy - initial energy - all of the above
  double scale = 0;            ///< largest sum of |kinetic|, |elastic| and the change of the potential energy so far
  double largest_closure = 0;  ///< |closure| at most

  double total() const { return energy.kinetic + energy.elastic + energy.potential; }
};

class EnergyLedger final : public Observer {
 public:
  void start(const StepView& view) override;
  void after_step(const StepView& view) override;
  std::string record_name() const override { return "ledger"; }
  void save(NamedArrays& record) override;
  void restore(const NamedArrays& record, bool same_files) override;

  const EnergyBalance& balance() const { return balance_; }
  double initial() const { return initial_.kinetic + initial_.elastic + initial_.potential; }
  double largest() const { return largest_; }

 private:
  /// A sum whose rounding errors are summed too (Neumaier), for runs of many steps.
  struct Sum {
    double value = 0, rest = 0;
    void add(double x);
    double total() const { return value + rest; }
  };
  struct Powers {
    double loads = 0, drivers = 0, damping = 0;
  };

  Powers powers(const StepView& view, In q, In v);
  void add_jump(const StepView& view, const StepStages& stages);
  void sum_up();

  EnergyBalance balance_;
  double largest_ = 0;
  Energies initial_, energy_;
  Powers powers_;
  Sum loads_, drivers_, damping_, numerical_, position_, impacts_, contacts_, constraints_, corrections_;
  Vector f_, scratch_, rates_, rates_smooth_, rates_at_rest_, zero_;
  std::vector<std::uint8_t> closed_;  // contacts before the step
  bool restored_ = false;
};

}  // namespace carom
