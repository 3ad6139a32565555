#include "core/formula/jump.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <string>

using namespace carom;

namespace {

// The first jump in steps of size h from 0 to 0.2; NaN: none.
double jump(const std::string& formula, double h, double period = 0) {
  const TimeFunction f = TimeFunction::formula(formula);
  double t = std::nan("");
  for (int k = 0; k < std::lround(0.2 / h) && std::isnan(t); ++k) t = find_jump(f, k * h, (k + 1) * h, period);
  return t;
}

}  // namespace

TEST_CASE("jump: found wherever it lies within a step, also beside a motion") {
  for (const char* formula : {"t < 0.0537 ? 0 : 0.1", "t > 0.0537 ? 1 : -1", "3 + sin(20*t) - 1e-3*step(t - 0.0537)",
                              "1e6 + floor(t + 0.9463)", "sign(t - 0.0537)", "mod(t, 0.0537)"})
    for (const double h : {1e-1, 1e-2, 5e-3, 1e-3, 1e-4}) {
      CAPTURE(formula);
      CAPTURE(h);
      CHECK(jump(formula, h) == doctest::Approx(0.0537).epsilon(1e-12));
    }
  // at the border of two steps it belongs to the first
  CHECK(jump("t < 0.05 ? 0 : 1", 0.05) == doctest::Approx(0.05).epsilon(1e-12));
}

TEST_CASE("jump: kinks, steep motions and oscillations have none") {
  for (const char* formula :
       {"abs(t - 0.0537)", "max(0, t - 0.0537)", "1e3*abs(t - 0.05)", "sin(300*t)", "100*sin(3000*t)", "exp(100*t)",
        "tanh(1e4*(t - 0.0537))", "smoothstep(0.05, 0.0501, t)", "1e6*t^3 - 1", "sqrt(abs(t - 0.0537))",
        "cbrt(t - 0.1)", "5", "5 + 0*t", "t^2/2 + cos(t) - 1", "100*(cos(3*t) - 1 + 4.5*t^2)"})
    for (const double h : {1e-1, 1e-2, 5e-3, 1e-3, 1e-4}) {
      CAPTURE(formula);
      CAPTURE(h);
      CHECK(std::isnan(jump(formula, h)));
    }
}

TEST_CASE("jump: an angle may jump by whole turns") {
  constexpr double turn = 2 * std::numbers::pi;
  for (const double h : {1e-2, 1e-3}) {
    CHECK(std::isnan(jump("mod(100*t, 2*pi)", h, turn)));
    CHECK_FALSE(std::isnan(jump("mod(100*t, 2*pi)", h)));
    CHECK_FALSE(std::isnan(jump("mod(100*t, pi)", h, turn)));
  }
}
