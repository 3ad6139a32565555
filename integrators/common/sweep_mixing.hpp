// SweepMixing: fewer sweeps where problems are solved in turn.
//
// A sweep of CoupledMotion corrects the smooth motion and then solves the position and the velocity problem for it, so
// that the next correction f of the smooth velocity x depends on x alone while the active sets stay. Plain sweeps,
// x := x + f(x), contract slowly where a contact presses on a flexible body at a large step. Here Anderson's mixing
// (core/linear/anderson_mixing.hpp) chooses the next x. Solutions and the tests that find them are those of plain
// sweeps.
#pragma once

#include "core/linear/anderson_mixing.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class SweepMixing {
 public:
  /// length: of the model, by which rotations count beside translations. Allocates memory.
  void resize(const System& system, double length);
  bool on() const { return !weight_.empty(); }
  /// A new step. Its first sweeps are plain.
  void begin();
  /// Other active sets: f is another function.
  void forget() { mixing_.begin(); }
  /// x moves by `share` times the correction that is returned, which takes the place of f (size() entries). A negative
  /// share takes part of the last correction back: f is not read.
  In move(double share, In f);

 private:
  static constexpr int depth = 5;

  AndersonMixing mixing_;
  Vector weight_, x_, correction_;
  int sweeps_ = 0;  // of the step
};

}  // namespace carom
