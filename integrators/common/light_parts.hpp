// LightParts: bodies and frames whose motion a test of the residuals of all bodies together would miss.
//
// Forces on a light body may be below the tolerance and the rounding of forces, which are those of all bodies: a start
// that neglects them would pass in every step, while a correction finds the motion of all bodies. Where masses are very
// different, corrections tell whether the motion of the light ones is found. Likewise for frames of small rotary
// inertia; those of beams are stiff, so that corrections only go on where their inertia alone would answer the residual
// with a motion.
#pragma once

#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class LightParts {
 public:
  LightParts() = default;
  /// `bodies`, `frames`: which are looked for. length: of the model. Allocates memory.
  LightParts(const System& system, double length, bool bodies, bool frames);

  bool any() const { return bodies_ || !frames_.empty(); }
  /// Masses of nodes differ by more than 1e5.
  bool bodies() const { return bodies_; }
  /// The largest rotation, or rate, that the moments in r (size() entries) would give a light frame by its inertia.
  double largest_spin(In r) const;
  /// Whether the start of an iteration neglects light frames: their spin is more than rounding.
  static bool neglected_at_start(double spin) { return spin > 1e-13; }
  /// Whether corrections go on: `correction`, the last one, `before`, that before, and spin, over the length or the
  /// speed of the model. in_turn: corrections shrink slowly, because other sub-problems move between them; light frames
  /// are judged at the start alone then.
  bool neglected(double correction, double before, double spin, bool in_turn) const;

 private:
  struct Frame {
    int equation;  // the first of its rotation
    Mat3 inverse;  // of the inertia; 0 for components without
  };
  bool bodies_ = false;
  std::vector<Frame> frames_;
};

}  // namespace carom
