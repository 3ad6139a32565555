#include "core/formula/pole.hpp"

#include <algorithm>
#include <cmath>

namespace carom {

namespace {

constexpr int halvings = 40;
constexpr double beyond = 1e6;  // |f| near a pole over that at the ends
constexpr double at_end = 1e3;  // of both: an end lies on a pole but for rounding
constexpr double steep = 1;     // change by the rate at an end over the value there, within the interval

// f(s) gives a TimeValue.
template <class F>
bool grows_beyond_bounds(const F& f, double a, double b, bool ends) {
  const TimeValue at_a = f(a), at_b = f(b);
  const double h = b - a;
  // rounding at a root of f is no measure of f, hence the changes by the rates
  const auto size = [&](const TimeValue& x) { return std::max(std::abs(x.value), std::abs(x.rate) * h / beyond); };
  const double bound = beyond * std::max(size(at_a), size(at_b));
  if (!std::isfinite(bound) || bound == 0) return false;

  // an end that lies on a pole but for rounding
  const auto on_pole = [&](const TimeValue& x, const TimeValue& other) {
    return std::abs(x.value) > at_end * std::abs(other.value) && std::abs(x.rate) * h > at_end * std::abs(x.value);
  };
  if (ends && (on_pole(at_b, at_a) || on_pole(at_a, at_b))) return true;

  // a change of sign: |f| falls to a root, stays at a jump, and grows at a pole
  if ((at_a.value < 0) != (at_b.value < 0)) {
    double low = a, high = b;
    for (int k = 0; k < halvings; ++k) {
      const double middle = 0.5 * (low + high);
      const double value = f(middle).value;
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
    const TimeValue x = f(0.5 * (low + high));
    if (!std::isfinite(x.value) || std::abs(x.value) > bound) return true;
    (sign * x.rate > 0 ? low : high) = 0.5 * (low + high);
  }
  return false;
}

}  // namespace

bool has_pole(const TimeFunction& f, double a, double b) {
  return !f.is_constant() && grows_beyond_bounds([&](double t) { return f.evaluate(t); }, a, b, true);
}

bool has_pole(const Formula& f, std::span<const double> x_0, std::span<const double> x_1, std::span<double> x,
              std::span<double> rate) {
  if (f.is_constant()) return false;
  for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = x_1[i] - x_0[i];
  // x holds the place on the segment, then zeros: the second derivative of the place
  const std::size_t n = rate.size();
  const std::span<double> place = x.first(n), zero = x.subspan(n);
  std::fill(zero.begin(), zero.end(), 0.0);
  return grows_beyond_bounds(
      [&](double s) {
        for (std::size_t i = 0; i < n; ++i) place[i] = s < 1 ? x_0[i] + s * rate[i] : x_1[i];
        return f.along(place, rate, zero);
      },
      0, 1, false);
}

}  // namespace carom
