// AlternatingMotion: the energy of motion that turns round from step to step, which no step can resolve.
//
// A vibration much faster than the step appears in the results as one that changes its sign from step to step. The
// filter w = (v_n - 2 v_{n-1} + v_{n-2})/4 lets it pass unchanged and takes a share of (1 - cos(omega h))/2 of a
// vibration of the circular frequency omega. 1/2 w.Mw of the nodes of bars, beams and solids is averaged over some
// steps, since the velocity of any impact has a share of it in a step or two.
#pragma once

#include <array>
#include <vector>

#include "integrators/common/observer.hpp"

namespace carom {

class AlternatingMotion {
 public:
  /// Looks at nodes of elements only; a model without them has none.
  void start(const System& system);
  /// For every accepted state; only those on the grid of the nominal step count.
  void after_step(const StepView& view);
  /// The largest mean so far, in the model's unit of energy.
  double largest() const { return largest_; }

  void save(NamedArrays& record) const;
  void restore(const NamedArrays& record);

 private:
  double mean_ = 0, largest_ = 0;
  std::array<Vector, 2> before_;  // velocities one and two steps before; empty: not known
  std::vector<int> equations_;    // of nodes of elements
  Vector w_;
};

}  // namespace carom
