// LightParts: bodies and frames whose motion a test of the residuals of all bodies together would miss.
//
// Tolerance and rounding of forces are those of all bodies together. The forces on a light body may lie below them, so
// that an iterate without its motion would pass the test in every step; one correction finds the motion of all bodies.
// Where masses are very different, corrections tell whether the motion of the light bodies is found. Likewise for
// frames of small rotary inertia; those of beams are stiff, so that corrections only go on where their inertia alone
// would answer the residual with a motion.
//
// Parts are what elements with mass connect, a body as a rule. The rounding of all forces together is that of the
// stiffest and heaviest part. For the residuals of soft and light parts beside these a share of that rounding is
// allowed, and a share of the terms of their own.
#pragma once

#include <limits>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/nodal_mass.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class LightParts {
 public:
  LightParts() = default;
  /// `bodies`, `frames`, `parts`: which are looked for. length: of the model. Allocates memory.
  LightParts(const System& system, double length, bool bodies, bool frames, bool parts);

  bool any() const { return bodies_ || !frames_.empty(); }
  /// There are parts of less than a tenth of the rounding of the others.
  bool parts() const { return !parts_.empty(); }
  /// Such a part is elastic. With a kept tangent, corrections of the stiff parts that are rounding to these move a soft
  /// one by far.
  bool soft() const { return soft_; }
  /// Begins the sums of the terms of a residual, by parts.
  void clear_terms();
  /// weight times the norms of a term (size() entries).
  void add_term(In term, double weight);
  /// Whether corrections go on because of parts: their residuals in r are beyond what is allowed, and shrink or are no
  /// rounding. floor, terms: of all forces together. first: without a correction yet.
  bool unsolved(In r, double floor, double terms, bool first);
  /// By the last unsolved(): a residual of all forces that solves these parts; infinite without any.
  double wanted() const { return wanted_; }
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
  struct Part {
    double share = 0;     // of the rounding of all forces
    bool joined = false;  // joints transmit the forces of other parts
    double terms = 0, before = 0, square = 0;
  };
  struct Entry {
    int equation;
    std::size_t part;
    double factor;  // 1, or 1/length for moments
  };
  void find_parts(const System& system, double length, const std::vector<NodalMass>& masses);

  bool bodies_ = false, soft_ = false;
  std::vector<Frame> frames_;
  std::vector<Part> parts_;
  std::vector<Entry> entries_;
  double wanted_ = std::numeric_limits<double>::infinity();
};

}  // namespace carom
