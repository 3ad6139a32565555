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
