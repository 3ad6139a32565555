#include "core/formula/time_function.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

namespace carom {

namespace {

/// The shortest text that converts back to exactly x.
std::string to_text(double x) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return std::string(buffer.data(), end);
}

/// c0 + c1 s + c2 s^2 + c3 s^3 with s = t - start.
struct Cubic {
  double start, c0, c1, c2, c3;

  TimeValue evaluate(double t) const {
    const double s = t - start;
    return {c0 + s * (c1 + s * (c2 + s * c3)), c1 + s * (2.0 * c2 + 3.0 * s * c3), 2.0 * c2 + 6.0 * s * c3};
  }
};

/// Slopes at the points of the C2 spline with zero acceleration at its ends.
std::vector<double> natural_slopes(std::span<const double> h, std::span<const double> secant) {
  const std::size_t n = h.size();
  std::vector<double> diagonal(n + 1), slope(n + 1);

  // Neighbouring segments have equal accelerations. This gives a tridiagonal system for the slopes, with rows scaled so
  // that the diagonal dominates,
  //   h_i d_{i-1} + 2 (h_{i-1} + h_i) d_i + h_{i-1} d_{i+1} = 3 (h_i secant_{i-1} + h_{i-1} secant_i),
  // with 2 d_0 + d_1 = 3 secant_0 at the left end and its mirror image at the right end. Elimination from the left:
  diagonal[0] = 2.0;
  slope[0] = 3.0 * secant[0];
  for (std::size_t i = 1; i <= n; ++i) {
    const bool last = i == n;
    const double below = last ? 1.0 : h[i] / (h[i - 1] + h[i]);
    const double above_previous = i == 1 ? 1.0 : h[i - 2] / (h[i - 2] + h[i - 1]);
    const double right = last ? 3.0 * secant[n - 1] : 3.0 * (below * secant[i - 1] + (1.0 - below) * secant[i]);
    const double factor = below / diagonal[i - 1];
    diagonal[i] = 2.0 - factor * above_previous;
    slope[i] = right - factor * slope[i - 1];
  }

  // back substitution from the right
  slope[n] /= diagonal[n];
  for (std::size_t i = n; i-- > 0;) {
    const double above = i == 0 ? 1.0 : h[i - 1] / (h[i - 1] + h[i]);
    slope[i] = (slope[i] - above * slope[i + 1]) / diagonal[i];
  }
  return slope;
}

/// True if both are positive or both negative.
bool same_sign(double a, double b) { return (a > 0.0 && b > 0.0) || (a < 0.0 && b < 0.0); }

/// The three-point slope at an end, limited so that the end segment stays monotone.
double end_slope(double h0, double h1, double secant0, double secant1) {
  const double slope = ((2.0 * h0 + h1) * secant0 - h0 * secant1) / (h0 + h1);
  if (!same_sign(slope, secant0)) return 0.0;
  if (!same_sign(secant0, secant1) && std::abs(slope) > 3.0 * std::abs(secant0)) return 3.0 * secant0;
  return slope;
}

/// Slopes at the points of the monotone interpolant: weighted harmonic means of the secants, zero at extrema.
std::vector<double> monotone_slopes(std::span<const double> h, std::span<const double> secant) {
  const std::size_t n = h.size();
  if (n == 1) return {secant[0], secant[0]};
  std::vector<double> slope(n + 1);
  slope[0] = end_slope(h[0], h[1], secant[0], secant[1]);
  slope[n] = end_slope(h[n - 1], h[n - 2], secant[n - 1], secant[n - 2]);
  for (std::size_t i = 1; i < n; ++i) {
    const double w0 = 2.0 * h[i] + h[i - 1], w1 = h[i] + 2.0 * h[i - 1];
    slope[i] = same_sign(secant[i - 1], secant[i]) ? (w0 + w1) / (w0 / secant[i - 1] + w1 / secant[i]) : 0.0;
  }
  return slope;
}

class Table {
 public:
  std::span<const double> times() const { return times_; }
  Table(std::span<const double> times, std::span<const double> values, Interpolation interpolation,
        Extrapolation extrapolation)
      : times_(times.begin(), times.end()), extrapolation_(extrapolation) {
    check(times, values);

    const std::size_t n = times.size() - 1;
    std::vector<double> h(n), secant(n);
    for (std::size_t i = 0; i < n; ++i) {
      h[i] = times[i + 1] - times[i];
      secant[i] = (values[i + 1] - values[i]) / h[i];
    }

    // Segments follow from values and slopes at their ends; a straight segment keeps its secant.
    std::vector<double> slope;
    if (interpolation == Interpolation::cubic_natural) slope = natural_slopes(h, secant);
    if (interpolation == Interpolation::cubic_monotone) slope = monotone_slopes(h, secant);
    segments_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      Cubic c{times[i], values[i], secant[i], 0.0, 0.0};
      if (!slope.empty()) {
        c.c1 = slope[i];
        c.c2 = (3.0 * secant[i] - 2.0 * slope[i] - slope[i + 1]) / h[i];
        c.c3 = (slope[i] + slope[i + 1] - 2.0 * secant[i]) / h[i] / h[i];
      }
      if (!std::isfinite(h[i]) || !std::isfinite(c.c1) || !std::isfinite(c.c2) || !std::isfinite(c.c3))
        throw TimeTableError(i + 1, "the step from point " + std::to_string(i) + " to point " + std::to_string(i + 1) +
                                        " is too steep or too long for double precision");
      segments_.push_back(c);
    }
    last_ = {times[n], values[n], segments_[n - 1].evaluate(times[n]).rate, 0.0, 0.0};
  }

  TimeValue evaluate(double t) const {
    if (t < times_.front()) return beyond(t, {times_.front(), segments_.front().c0, segments_.front().c1, 0.0, 0.0});
    if (t > times_.back()) return beyond(t, last_);
    const auto right = std::upper_bound(times_.begin() + 1, times_.end() - 1, t);
    return segments_[static_cast<std::size_t>(right - times_.begin() - 1)].evaluate(t);
  }

 private:
  static void check(std::span<const double> times, std::span<const double> values) {
    if (times.size() != values.size())
      throw std::invalid_argument("a table needs as many values as times, found " + std::to_string(times.size()) +
                                  " times and " + std::to_string(values.size()) + " values");
    if (times.size() < 2)
      throw TimeTableError(times.size(), "expected at least 2 points, found " + std::to_string(times.size()));
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::string point = "point " + std::to_string(i);
      if (!std::isfinite(times[i]) || !std::isfinite(values[i]))
        throw TimeTableError(
            i, "expected finite numbers, found (" + to_text(times[i]) + ", " + to_text(values[i]) + ") at " + point);
      if (i > 0 && times[i] <= times[i - 1])
        throw TimeTableError(i, "expected times that increase, found " + to_text(times[i]) + " after " +
                                    to_text(times[i - 1]) + " at " + point);
    }
  }

  /// The value outside the table; `line` is the tangent at the nearer end.
  TimeValue beyond(double t, const Cubic& line) const {
    switch (extrapolation_) {
      case Extrapolation::constant:
        return {line.c0, 0.0, 0.0};
      case Extrapolation::linear:
        return line.evaluate(t);
      case Extrapolation::error:
        break;
    }
    constexpr double rounding = 1e-9;
    if (std::abs(t - line.start) > rounding * (times_.back() - times_.front()))
      throw TimeRangeError(t, times_.front(), times_.back());
    return line.start == times_.front() ? segments_.front().evaluate(t) : segments_.back().evaluate(t);
  }

  std::vector<double> times_;
  std::vector<Cubic> segments_;
  Cubic last_{};
  Extrapolation extrapolation_;
};

}  // namespace

struct TimeFunction::Implementation {
  std::variant<Table, Formula> function;
};

TimeRangeError::TimeRangeError(double time, double first, double last)
    : std::runtime_error("the table covers times from " + to_text(first) + " to " + to_text(last) +
                         ", but is needed at " + to_text(time)),
      time_(time) {}

TimeFunction TimeFunction::constant(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("expected a finite number, found " + to_text(value));
  TimeFunction f;
  f.constant_ = value;
  return f;
}

TimeFunction TimeFunction::table(std::span<const double> times, std::span<const double> values,
                                 Interpolation interpolation, Extrapolation extrapolation) {
  TimeFunction f;
  f.implementation_ =
      std::make_shared<const Implementation>(Implementation{Table(times, values, interpolation, extrapolation)});
  return f;
}

std::span<const double> TimeFunction::points() const {
  const Table* const table = implementation_ ? std::get_if<Table>(&implementation_->function) : nullptr;
  return table != nullptr ? table->times() : std::span<const double>();
}

TimeFunction TimeFunction::formula(std::string_view text, const Formula::Parameters& parameters) {
  Formula parsed(text, {"t"}, parameters);
  if (parsed.is_constant()) return constant(parsed.value(0.0));
  TimeFunction f;
  f.implementation_ = std::make_shared<const Implementation>(Implementation{std::move(parsed)});
  return f;
}

TimeValue TimeFunction::evaluate_varying(double t) const {
  if (const Table* table = std::get_if<Table>(&implementation_->function)) return table->evaluate(t);
  return std::get<Formula>(implementation_->function).evaluate(t);
}

double TimeFunction::value_varying(double t) const {
  if (const Table* table = std::get_if<Table>(&implementation_->function)) return table->evaluate(t).value;
  return std::get<Formula>(implementation_->function).value(t);
}

}  // namespace carom
