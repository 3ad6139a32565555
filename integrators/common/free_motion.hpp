// FreeMotion: what a method gives to the rotations and vibrations of bodies in free flight.
//
// The energies of a run contain the translation of a body that flies and the potential energy of its fall, which hide
// what happens to its rotation and its vibrations. A group of bodies that elements, springs and joints connect with
// each other and with nothing else has T = |p|^2/(2m) + T', p being its momentum, m its mass, and T' does not depend on
// the observer's velocity. In steps without contacts, loads and drivers, the energy changes by dampers only: the rest
// is the method's. It is summed up over such steps and compared with the largest sum of T' + |V|, V being elastic
// energy; of bodies that the ground holds T is T'.
#pragma once

#include <vector>

#include "integrators/common/observer.hpp"

namespace carom {

class FreeMotion {
 public:
  void start(const System& system);
  /// An accepted step has changed the energy of the model by `change`, of which `damping` is the work of dampers;
  /// `energy` is that at its end. `exchanged`: loads, drivers or contacts have worked.
  void after_step(const StepView& view, const Energies& energy, double change, double damping, bool exchanged);

  double energy() const { return energy_; }          ///< the largest T' + |V|
  double growth() const { return growth_; }          ///< the largest rise of the sum
  bool any() const { return !group_mass_.empty(); }  ///< a group is free

  void save(NamedArrays& record) const;
  void restore(const NamedArrays& record);

 private:
  /// The translations of a node of a free group: the first of three equations.
  struct Place {
    int equation;
    std::size_t group;
  };

  std::vector<Place> places_;
  Vector group_mass_, momentum_, product_;
  double energy_ = 0, sum_ = 0, lowest_ = 0, growth_ = 0;
  double damping_[2] = {0, 0};  // in the last two steps
};

}  // namespace carom
