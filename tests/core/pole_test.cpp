#include "core/formula/pole.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <string>

using namespace carom;

namespace {

// Whether any of the steps of size h from 0 to 0.2 holds a pole.
bool found(const std::string& formula, double h) {
  const TimeFunction f = TimeFunction::formula(formula);
  for (int k = 0; k < std::lround(0.2 / h); ++k)
    if (!std::isfinite(f.evaluate((k + 1) * h).value) || has_pole(f, k * h, (k + 1) * h)) return true;
  return false;
}

}  // namespace

TEST_CASE("pole: found wherever it lies within a step, with a change of sign and without") {
  for (const char* formula : {"1/(0.05 - t)", "1/(0.0537 - t)", "tan(20*t)", "1/(0.0537 - t)^2", "-2/(t - 0.0512)^2",
                              "5 + 0.1/(t - 0.083)", "1/sin(20*t + 0.1)"})
    for (const double h : {1e-2, 5e-3, 1e-3, 1e-4}) {
      CAPTURE(formula);
      CAPTURE(h);
      CHECK(found(formula, h));
    }
}

TEST_CASE("pole: steep, oscillating and jumping formulas have none") {
  for (const char* formula :
       {"sin(300*t)", "100*sin(3000*t)", "exp(100*t)", "t > 0.0537 ? 1 : -1", "t > 0.05 ? 1e6 : 0", "1e6*t^3 - 1",
        "tanh(1e4*(t - 0.0537))", "1/(1 + 1e4*(t - 0.05)^2)", "t < 0.1 ? -1e-9 : 1e9", "sqrt(t)", "abs(t - 0.0537)"})
    for (const double h : {1e-2, 5e-3, 1e-3, 1e-4}) {
      CAPTURE(formula);
      CAPTURE(h);
      CHECK_FALSE(found(formula, h));
    }
}

TEST_CASE("pole: found along a segment of several variables, but not at roots, kinks and jumps") {
  const auto found = [](const char* text, double x_0, double y_0, double x_1, double y_1) {
    const Formula f(text, {"x", "y"});
    const double start[2] = {x_0, y_0}, end[2] = {x_1, y_1};
    double work[4], rate[2];
    return has_pole(f, start, end, work, rate);
  };
  CHECK(found("1/x", -0.3, 1, 0.7, 1));
  CHECK(found("1/(x - y)^2", 0, 0.3, 1, 0.31));
  CHECK(found("y/(x*y - 1)", 0.9, 1, 1.3, 1.1));
  CHECK_FALSE(found("1/x", 0.3, 1, 0.7, 1));
  CHECK_FALSE(found("x*y", -1, -1, 1, 1.5));
  CHECK_FALSE(found("x > 0 ? 1 : -1", -1, 0, 1, 0));
  CHECK_FALSE(found("abs(x)*x", -1, 0, 1, 0));
  // a circle's chord: the formula is zero but for rounding at both ends
  CHECK_FALSE(found("x^2 + y^2 - 1", 0.6, 0.8, 0.8, 0.6));
  CHECK_FALSE(found("(x^2 + y^2 - 1)/2", std::cos(0.3), std::sin(0.3), std::cos(0.301), std::sin(0.301)));
}
