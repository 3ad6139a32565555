// Contacts that a step may miss: open at both ends of a straight motion that leads through.
#pragma once

#include <algorithm>

#include "core/base/types.hpp"

namespace carom {

/// How deep a motion may lead through a contact without being refused, over the radius. A body that slides over a round
/// contact follows its surface, below which the chord lies: where an end touches, only deeper ways are motions through
/// the contact.
constexpr double shallow_chord = 1e-3, sliding_chord = 0.25, touching_gap = 1e-6;

inline bool passes(double gap_0, double gap_1, double smallest, double radius) {
  const bool touches = std::min(gap_0, gap_1) < touching_gap * radius;
  return smallest < -(touches ? sliding_chord : shallow_chord) * radius;
}

/// Smallest distance of two points of which one moves from x_0 to x_1 relative to the other, on a straight line.
inline double closest_approach(const Vec3& x_0, const Vec3& x_1) {
  const Vec3 way = x_1 - x_0;
  const double square = way.squaredNorm();
  const double share = square > 0 ? std::clamp(-x_0.dot(way) / square, 0.0, 1.0) : 0.0;
  return (x_0 + share * way).norm();
}

/// Two spheres with centres x_0 and x_1 apart at the ends, and a sum of the radii. Overlaps at an end are no passage.
inline bool passes(const Vec3& x_0, const Vec3& x_1, double radii) {
  // the chord of depth d has the length 2 sqrt(2 d - d^2)
  constexpr double shortest_square = 8 * shallow_chord - 4 * shallow_chord * shallow_chord;
  if ((x_1 - x_0).squaredNorm() < shortest_square * radii * radii) return false;
  const double gap_0 = x_0.norm() - radii, gap_1 = x_1.norm() - radii;
  if (std::min(gap_0, gap_1) < -touching_gap * radii) return false;
  return passes(gap_0, gap_1, closest_approach(x_0, x_1) - radii, radii);
}

}  // namespace carom
