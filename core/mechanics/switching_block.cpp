#include "core/mechanics/switching_block.hpp"

namespace carom {

namespace {

constexpr int places_between = 4;  // of a step, where a mode might be left and entered again
constexpr int halvings = 60;

}  // namespace

bool SwitchingBlock::named(int mode) const {
  for (int other = 0; other < modes(); ++other)
    if (next(other) == mode) return true;
  return false;
}

double SwitchingBlock::margin(int from, int to, const ConstraintInput& in, double length) const {
  const bool by_name = from == to ? named(from) : next(from) == to;
  return by_name ? rounding(to, in, length) : 0.0;
}

int SwitchingBlock::mode_behind(int from, const std::function<double(int mode)>& z, std::string& fault) const {
  if (next(from) >= 0) return next(from);
  int found = -1;
  for (int i = 0; i < modes(); ++i) {
    if (i == from || named(i) || !(z(i) > 0)) continue;
    if (found >= 0) fault = "the modes " + mode_name(found) + " and " + mode_name(i) + " overlap";
    found = i;
  }
  if (found < 0) fault = "no mode holds behind " + mode_name(from);
  return found;
}

SwitchingBlock::Crossing SwitchingBlock::find_root(int from, const ConstraintInput& start, const ConstraintInput& end,
                                                   double length, const std::function<double(double share)>& z) const {
  // a mode that was entered by its name may begin at z = 0 but for rounding
  double least = -margin(from, from, start, length);
  // A latch closes where it is met. A contact at the same place may stop the position there, on either side by
  // rounding.
  if (!(z(1) < least) && next(from) >= 0 && end.v != nullptr && crossing_rate(from, end) > 0)
    if (const double surface = rounding(from, start, length); z(0) > surface) least = surface;

  Crossing crossing;
  crossing.left = z(1) < least;
  double inside = 0, outside = 1;  // around the first root
  for (int k = 1; k <= places_between; ++k)
    if (const double share = static_cast<double>(k) / (places_between + 1); z(share) < least) {
      outside = share;
      crossing.inside = !crossing.left;
      break;
    } else {
      inside = share;
    }
  if (!crossing.left) return crossing;
  for (int k = 0; k < halvings; ++k) {
    const double share = 0.5 * (inside + outside);
    (z(share) < least ? outside : inside) = share;
  }
  crossing.share = outside;
  return crossing;
}

}  // namespace carom
