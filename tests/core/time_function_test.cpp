#include "core/formula/time_function.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using carom::Extrapolation;
using carom::Interpolation;
using carom::TimeFunction;
using carom::TimeRangeError;
using carom::TimeTableError;
using carom::TimeValue;

namespace {

const std::vector<double> times{0.0, 1.0, 1.5, 4.0}, values{2.0, 4.0, 4.0, -1.0};

constexpr std::array interpolations{Interpolation::linear, Interpolation::cubic_natural, Interpolation::cubic_monotone};

void check_value(const TimeValue& found, const TimeValue& expected, double tolerance = 1e-14) {
  CHECK(std::abs(found.value - expected.value) <= tolerance);
  CHECK(std::abs(found.rate - expected.rate) <= tolerance);
  CHECK(std::abs(found.acceleration - expected.acceleration) <= tolerance);
}

/// The error of an invalid table; fails if the table is valid.
TimeTableError error_of(const std::vector<double>& t, const std::vector<double>& v) {
  try {
    TimeFunction::table(t, v);
  } catch (const TimeTableError& error) {
    return error;
  }
  FAIL("accepted");
  return {0, ""};
}

}  // namespace

TEST_CASE("time function: a constant does not move") {
  CHECK(TimeFunction().value(3.0) == 0.0);
  const TimeFunction f = TimeFunction::constant(2.5);
  CHECK(f.is_constant());
  check_value(f.evaluate(-7.0), {2.5, 0.0, 0.0}, 0.0);
  CHECK(f.value(1e300) == 2.5);
  CHECK_THROWS_AS(TimeFunction::constant(std::nan("")), std::invalid_argument);
}

TEST_CASE("time function: a formula of t gives its exact derivatives") {
  const TimeFunction f = TimeFunction::formula("a*sin(2*pi*5*t)", {{"a", 0.1}});
  CHECK_FALSE(f.is_constant());
  const double w = 10.0 * std::numbers::pi, t = 0.123;
  check_value(f.evaluate(t), {0.1 * std::sin(w * t), 0.1 * w * std::cos(w * t), -0.1 * w * w * std::sin(w * t)}, 1e-12);
  CHECK(f.value(t) == f.evaluate(t).value);

  const TimeFunction folded = TimeFunction::formula("2*a", {{"a", 3.0}});
  CHECK(folded.is_constant());
  CHECK(folded.value(9.0) == 6.0);
  CHECK_THROWS_AS(TimeFunction::formula("2*x"), carom::FormulaError);
}

TEST_CASE("time function: every table passes through its points") {
  for (const Interpolation interpolation : interpolations) {
    const TimeFunction f = TimeFunction::table(times, values, interpolation);
    CHECK_FALSE(f.is_constant());
    for (std::size_t i = 0; i < times.size(); ++i) {
      CHECK(std::abs(f.value(times[i]) - values[i]) < 1e-14);
      CHECK(std::abs(f.value(std::nextafter(times[i], -1.0)) - values[i]) < 1e-14);
    }
    CHECK(std::isnan(f.value(std::numeric_limits<double>::quiet_NaN())));
  }
}

TEST_CASE("time function: rate and acceleration are the derivatives of the value, inside and outside a table") {
  for (const Interpolation interpolation : interpolations)
    for (const Extrapolation extrapolation : {Extrapolation::constant, Extrapolation::linear}) {
      const TimeFunction f = TimeFunction::table(times, values, interpolation, extrapolation);
      for (const double t : {-2.0, -0.3, 0.2, 0.9, 1.2, 1.9, 3.7, 4.5, 9.0}) {
        CAPTURE(t);
        const double h = 1e-3;
        // Exact for cubics, except for the third derivative in the first difference; the wider difference removes this
        // error.
        const double d1 = (f.value(t + h) - f.value(t - h)) / (2 * h);
        const double d2 = (f.value(t + 2 * h) - f.value(t - 2 * h)) / (4 * h);
        CHECK(f.evaluate(t).rate == doctest::Approx((4 * d1 - d2) / 3).epsilon(1e-10));
        const double second = (f.value(t + h) - 2 * f.value(t) + f.value(t - h)) / (h * h);
        CHECK(f.evaluate(t).acceleration == doctest::Approx(second).epsilon(1e-7));
      }
    }
}

TEST_CASE("time function: a linear table is straight between points, its rate counts from the right") {
  const TimeFunction f = TimeFunction::table(times, values);
  check_value(f.evaluate(0.5), {3.0, 2.0, 0.0});
  check_value(f.evaluate(1.0), {4.0, 0.0, 0.0});
  check_value(f.evaluate(1.5), {4.0, -2.0, 0.0});
  check_value(f.evaluate(4.0), {-1.0, -2.0, 0.0});
  check_value(f.evaluate(2.0), {3.0, -2.0, 0.0});
}

TEST_CASE("time function: extrapolation") {
  SUBCASE("constant: at rest") {
    for (const Interpolation interpolation : interpolations) {
      const TimeFunction f = TimeFunction::table(times, values, interpolation);
      check_value(f.evaluate(-1.0), {2.0, 0.0, 0.0}, 0.0);
      check_value(f.evaluate(5.0), {-1.0, 0.0, 0.0}, 0.0);
    }
  }
  SUBCASE("linear: straight on") {
    const TimeFunction straight = TimeFunction::table(times, values, Interpolation::linear, Extrapolation::linear);
    check_value(straight.evaluate(-1.0), {0.0, 2.0, 0.0});
    check_value(straight.evaluate(5.0), {-3.0, -2.0, 0.0});
    for (const Interpolation interpolation : {Interpolation::cubic_natural, Interpolation::cubic_monotone}) {
      const TimeFunction f = TimeFunction::table(times, values, interpolation, Extrapolation::linear);
      const TimeValue first = f.evaluate(0.0), last = f.evaluate(4.0);
      check_value(f.evaluate(-1.0), {2.0 - first.rate, first.rate, 0.0});
      check_value(f.evaluate(5.0), {-1.0 + last.rate, last.rate, 0.0});
    }
  }
  SUBCASE("error: rounding is forgiven") {
    const TimeFunction f = TimeFunction::table(times, values, Interpolation::linear, Extrapolation::error);
    CHECK(f.value(4.0) == doctest::Approx(-1.0));
    CHECK(f.value(4.0 + 1e-12) == doctest::Approx(-1.0));
    CHECK(f.value(-1e-12) == doctest::Approx(2.0));
    CHECK_THROWS_WITH_AS(f.evaluate(4.5), "the table covers times from 0 to 4, but is needed at 4.5", TimeRangeError);
    CHECK_THROWS_AS(f.value(-0.1), TimeRangeError);
    CHECK_THROWS_AS(f.value(std::numeric_limits<double>::infinity()), TimeRangeError);
  }
}

TEST_CASE("time function: the natural spline is C2 with no acceleration at its ends") {
  const TimeFunction f = TimeFunction::table(times, values, Interpolation::cubic_natural);
  for (const double knot : {1.0, 1.5}) {
    const TimeValue before = f.evaluate(std::nextafter(knot, 0.0)), after = f.evaluate(knot);
    check_value(before, after, 1e-13);
  }
  CHECK(std::abs(f.evaluate(0.0).acceleration) < 1e-13);
  CHECK(std::abs(f.evaluate(4.0).acceleration) < 1e-13);
}

TEST_CASE("time function: the natural spline of three points has the closed form") {
  // Points (-1, 0), (0, 1), (1, 0): 1 - 3/2 t^2 + 1/2 |t|^3.
  const std::vector<double> t{-1.0, 0.0, 1.0}, v{0.0, 1.0, 0.0};
  const TimeFunction f = TimeFunction::table(t, v, Interpolation::cubic_natural);
  for (const double s : {0.0, 0.25, 0.5, 1.0}) {
    const TimeValue expected{1.0 - 1.5 * s * s + 0.5 * s * s * s, -3.0 * s + 1.5 * s * s, -3.0 + 3.0 * s};
    check_value(f.evaluate(s), expected);
    check_value(f.evaluate(-s), {expected.value, -expected.rate, expected.acceleration});
  }
}

TEST_CASE("time function: the natural spline of a sine converges with order four") {
  const auto error = [](int n) {
    std::vector<double> t, v;
    for (int i = 0; i <= n; ++i) {
      t.push_back(2.0 * std::numbers::pi * i / n);
      v.push_back(std::sin(t.back()));
    }
    const TimeFunction f = TimeFunction::table(t, v, Interpolation::cubic_natural);
    double largest = 0.0;
    for (double s = 0.0; s < 6.28; s += 0.001) largest = std::max(largest, std::abs(f.value(s) - std::sin(s)));
    return largest;
  };
  CHECK(error(20) / error(40) == doctest::Approx(16.0).epsilon(0.1));
}

TEST_CASE("time function: cubic tables reproduce a straight line") {
  const std::vector<double> t{0.0, 0.1, 2.0, 2.5}, v{1.0, 1.3, 7.0, 8.5};
  for (const Interpolation interpolation : interpolations) {
    const TimeFunction f = TimeFunction::table(t, v, interpolation, Extrapolation::linear);
    for (const double s : {-3.0, 0.05, 1.1, 2.2, 10.0}) check_value(f.evaluate(s), {1.0 + 3.0 * s, 3.0, 0.0}, 1e-11);
    const TimeFunction two = TimeFunction::table(std::vector{0.0, 2.0}, std::vector{1.0, 7.0}, interpolation);
    check_value(two.evaluate(0.5), {2.5, 3.0, 0.0});
  }
}

TEST_CASE("time function: the monotone cubic is C1 and stays monotone between its points") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> t{0.0}, v{0.0};
    for (int i = 0; i < 8; ++i) {
      t.push_back(t.back() + std::exp(3.0 * uniform(random)));
      v.push_back(i == 4 ? v.back() : v.back() + uniform(random));
    }
    const TimeFunction f = TimeFunction::table(t, v, Interpolation::cubic_monotone);
    for (std::size_t i = 0; i + 1 < t.size(); ++i) {
      const double rise = v[i + 1] - v[i];
      for (int k = 0; k <= 50; ++k) {
        const double s = t[i] + (t[i + 1] - t[i]) * k / 50.0;
        const double rate = f.evaluate(s).rate;
        CHECK((rise == 0.0 ? std::abs(rate) < 1e-12 : rate * rise > -1e-12));
      }
      if (i > 0) {
        const double before = f.evaluate(std::nextafter(t[i], 0.0)).rate, after = f.evaluate(t[i]).rate;
        CHECK(std::abs(before - after) < 1e-9 * (1.0 + std::abs(after)));
      }
    }
  }
}

TEST_CASE("time function: wrong tables are errors that name the point") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of({}, {}).point() == 0);
  CHECK(std::string(error_of({1.0}, {1.0}).what()) == "expected at least 2 points, found 1");
  CHECK(error_of({0, 1, 1, 2}, {1, 2, 3, 4}).point() == 2);
  CHECK(std::string(error_of({0, 1, 0.5}, {1, 2, 3}).what()) ==
        "expected times that increase, found 0.5 after 1 at point 2");
  CHECK(error_of({0, nan, 2}, {1, 2, 3}).point() == 1);
  CHECK(std::string(error_of({0, 1}, {1, nan}).what()) == "expected finite numbers, found (1, nan) at point 1");
  CHECK(error_of({0, 5e-324}, {0, 1}).point() == 1);
  CHECK(error_of({-1e308, 1e308}, {0, 1}).point() == 1);
  CHECK_THROWS_AS(TimeFunction::table(times, std::vector{1.0}), std::invalid_argument);
}

TEST_CASE("time function: copies share and outlive") {
  TimeFunction f;
  {
    std::vector<double> t = times;
    const TimeFunction original = TimeFunction::table(t, values);
    f = original;
    t.assign(4, 0.0);
  }
  CHECK(f.value(0.5) == 3.0);
}
