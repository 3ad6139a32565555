#include "core/formula/jump.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carom {

namespace {

constexpr double least_jump = 1e-4;  // of the motion
constexpr double rounding = 1e-10;   // of the values
// A length or an angle: rounding of terms up to 1000 that cancel, such as cos(t) - 1.
constexpr double rounding_of_terms = 1e-12;

struct Change {
  double total, by_rates;  // f(b) - f(a), but for whole turns, and Simpson's rule
  double rates, values;    // sums of the sizes
  double jump() const { return std::abs(total - by_rates); }
};

Change change_of(const TimeFunction& f, double a, double b, double period) {
  const TimeValue at_a = f.evaluate(a), middle = f.evaluate(a + 0.5 * (b - a)), at_b = f.evaluate(b);
  const double h = b - a;
  Change c{at_b.value - at_a.value, h / 6 * (at_a.rate + 4 * middle.rate + at_b.rate),
           h * (std::abs(at_a.rate) + std::abs(middle.rate) + std::abs(at_b.rate)),
           std::abs(at_a.value) + std::abs(at_b.value)};
  if (period > 0) c.total = c.by_rates + std::remainder(c.total - c.by_rates, period);
  return c;
}

}  // namespace

double find_jump(const TimeFunction& f, double a, double b, double period) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (f.is_constant()) return none;
  Change whole = change_of(f, a, b, period);
  const double least =
      std::max({least_jump * (std::abs(whole.total) + whole.rates), rounding * whole.values, rounding_of_terms});
  while (whole.jump() > least) {
    const double middle = a + 0.5 * (b - a);
    if (!(middle > a && middle < b)) return b;
    const Change first = change_of(f, a, middle, period), second = change_of(f, middle, b, period);
    const bool in_first = first.jump() > second.jump();
    (in_first ? b : a) = middle;
    whole = in_first ? first : second;
  }
  return none;
}

}  // namespace carom
