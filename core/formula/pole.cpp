#include "core/formula/pole.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

constexpr int halvings = 40;
constexpr double beyond = 1e6;  // |f| near a pole over that at the ends
constexpr double at_end = 1e3;  // of both: an end lies on a pole but for rounding
constexpr double steep = 1;     // change by the rate at an end over the value there, within the interval

}  // namespace

bool has_pole(const TimeFunction& f, double a, double b) {
  if (f.is_constant()) return false;
  const TimeValue at_a = f.evaluate(a), at_b = f.evaluate(b);
  const double bound = beyond * std::max(std::abs(at_a.value), std::abs(at_b.value));
  if (!std::isfinite(bound) || bound == 0) return false;
  const double h = b - a;

  // an end that lies on a pole but for rounding
  const auto on_pole = [&](const TimeValue& x, const TimeValue& other) {
    return std::abs(x.value) > at_end * std::abs(other.value) && std::abs(x.rate) * h > at_end * std::abs(x.value);
  };
  if (on_pole(at_b, at_a) || on_pole(at_a, at_b)) return true;

  // a change of sign: |f| falls to a root, stays at a jump, and grows at a pole
  if ((at_a.value < 0) != (at_b.value < 0)) {
    double low = a, high = b;
    for (int k = 0; k < halvings; ++k) {
      const double middle = 0.5 * (low + high);
      const double value = f.evaluate(middle).value;
      if (!std::isfinite(value) || std::abs(value) > bound) return true;
      ((value < 0) == (at_a.value < 0) ? low : high) = middle;
    }
    return false;
  }

  // |f| rises steeply towards the inside from both ends
  const double sign = at_a.value < 0 || at_b.value < 0 ? -1 : 1;
  const auto rises = [&](const TimeValue& x, double direction) {
    return direction * sign * x.rate * h > steep * std::abs(x.value);
  };
  if (!rises(at_a, 1) || !rises(at_b, -1)) return false;
  double low = a, high = b;
  for (int k = 0; k < halvings; ++k) {
    const TimeValue x = f.evaluate(0.5 * (low + high));
    if (!std::isfinite(x.value) || std::abs(x.value) > bound) return true;
    (sign * x.rate > 0 ? low : high) = 0.5 * (low + high);
  }
  return false;
}

}  // namespace carom
