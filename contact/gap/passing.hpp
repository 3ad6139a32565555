// Contacts that a step may miss: a straight motion leads through, or to another side of a contact.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/types.hpp"

namespace carom {

/// How deep a motion may lead through a contact without being refused, over the radius. A body that slides over a round
/// contact follows its surface, below which the chord lies: where an end touches, only deeper ways are motions through
/// the contact.
constexpr double shallow_chord = 1e-3, sliding_chord = 0.25, touching_gap = 1e-6;
/// The square of the length of a chord of depth shallow_chord, over the radius: 2 sqrt(2 d - d^2).
constexpr double chord_square = 8 * shallow_chord - 4 * shallow_chord * shallow_chord;
/// The largest turn, rad, of the direction of a contact that penetrates at the start, as sliding bodies do in methods
/// at velocity level: the contact may not have had its impact yet.
constexpr double penetrating_turn = 0.17;
/// How deep a motion may end, over the radius, unless it began nearly as deep: the direction turns round at the centre.
/// Methods at velocity level penetrate at the ends of their steps.
constexpr double deepest_end = 0.5, deeper = 0.1;

/// What the surface and the motion are for passes().
struct Passage {
  double radius = 0;
  bool edged = false;  ///< the surface has edges, round which a body may slide
  /// The largest angle between the directions of a contact at the ends of a motion that closes it: an impact would
  /// have the direction of the end. 0: contacts that close have no impact, as in statics, and directions may turn.
  double closing_turn = 0;

  /// Shorter motions, over the radius, turn by less.
  double short_way() const { return closing_turn > 0 ? closing_turn : penetrating_turn; }
};

/// gap_0, gap_1: at the ends; smallest: on the way; turn(): the cosine between the directions at the ends.
template <class Turn>
bool passes(double gap_0, double gap_1, double smallest, const Passage& p, const Turn& turn) {
  const double touching = touching_gap * p.radius;
  const bool touches = std::min(gap_0, gap_1) < touching;
  if (smallest < std::min({0.0, gap_0, gap_1}) - (touches ? sliding_chord : shallow_chord) * p.radius) return true;
  if (p.closing_turn == 0) return false;
  if (gap_1 < -deepest_end * p.radius && gap_1 < gap_0 - deeper * p.radius) return true;
  // a body that touches may slide round
  const bool closes = gap_0 > touching || (gap_0 < -touching && !p.edged);
  const double largest_turn = gap_0 > touching ? p.closing_turn : std::max(p.closing_turn, penetrating_turn);
  return gap_1 < touching && turn() < (closes ? std::cos(largest_turn) : 0.0);
}

/// Smallest distance of two points of which one moves from x_0 to x_1 relative to the other, on a straight line.
inline double closest_approach(const Vec3& x_0, const Vec3& x_1) {
  const Vec3 way = x_1 - x_0;
  const double square = way.squaredNorm();
  const double share = square > 0 ? std::clamp(-x_0.dot(way) / square, 0.0, 1.0) : 0.0;
  return (x_0 + share * way).norm();
}

/// Two spheres with the sum of the radii, centres x_0 and x_1 apart at the ends.
inline bool passes(const Vec3& x_0, const Vec3& x_1, double radii, double closing_turn) {
  const double way_square = (x_1 - x_0).squaredNorm() / (radii * radii);
  if (way_square < chord_square && (closing_turn == 0 || way_square < closing_turn * closing_turn)) return false;
  const double r_0 = x_0.norm(), r_1 = x_1.norm();
  return passes(r_0 - radii, r_1 - radii, closest_approach(x_0, x_1) - radii,
                {.radius = radii, .closing_turn = closing_turn}, [&] { return x_0.dot(x_1) / (r_0 * r_1); });
}

}  // namespace carom
