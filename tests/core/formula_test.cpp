#include "core/formula/formula.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

using carom::Formula;
using carom::FormulaError;
using carom::TimeValue;

namespace {

double value(const std::string& text, double t = 0.0) { return Formula(text, {"t"}).value(t); }

void check_close(double found, long double expected, double tolerance) {
  const double reference = static_cast<double>(expected);
  CHECK(std::abs(found - reference) <= tolerance * (1.0 + std::abs(reference)));
}

using Real = long double;
using Function = std::function<Real(Real)>;

/// Central differences of sixth order in long double: errors near 1e-13 (first) and 1e-10 (second derivative).
Real first_difference(const Function& f, Real x) {
  const Real h = 1e-3L;
  return (45 * (f(x + h) - f(x - h)) - 9 * (f(x + 2 * h) - f(x - 2 * h)) + (f(x + 3 * h) - f(x - 3 * h))) / (60 * h);
}
Real second_difference(const Function& f, Real x) {
  const Real h = 1e-3L;
  return (270 * (f(x + h) + f(x - h)) - 27 * (f(x + 2 * h) + f(x - 2 * h)) + 2 * (f(x + 3 * h) + f(x - 3 * h)) -
          490 * f(x)) /
         (180 * h * h);
}

Real smooth_ramp(Real u) { return u <= 0 ? 0 : u >= 1 ? 1 : u * u * u * (10 - 15 * u + 6 * u * u); }

struct Case {
  std::string text;
  Function function;
  std::vector<double> points;
};

const std::vector<Case>& cases() {
  static const Real pi = std::numbers::pi_v<Real>;
  static const std::vector<Case> list{
      {"sin(t)", [](Real t) { return std::sin(t); }, {-2.0, 0.0, 0.3, 7.0}},
      {"cos(t)", [](Real t) { return std::cos(t); }, {-2.0, 0.0, 0.3, 7.0}},
      {"tan(t)", [](Real t) { return std::tan(t); }, {-0.9, 0.0, 0.7}},
      {"asin(t)", [](Real t) { return std::asin(t); }, {-0.6, 0.0, 0.5}},
      {"acos(t)", [](Real t) { return std::acos(t); }, {-0.6, 0.0, 0.5}},
      {"atan(t)", [](Real t) { return std::atan(t); }, {-3.0, 0.0, 0.5}},
      {"sinh(t)", [](Real t) { return std::sinh(t); }, {-2.0, 0.0, 1.5}},
      {"cosh(t)", [](Real t) { return std::cosh(t); }, {-2.0, 0.0, 1.5}},
      {"tanh(t)", [](Real t) { return std::tanh(t); }, {-2.0, 0.0, 0.4}},
      {"exp(t)", [](Real t) { return std::exp(t); }, {-2.0, 0.0, 1.5}},
      {"log(t)", [](Real t) { return std::log(t); }, {0.5, 1.0, 20.0}},
      {"log10(t)", [](Real t) { return std::log10(t); }, {0.5, 1.0, 20.0}},
      {"sqrt(t)", [](Real t) { return std::sqrt(t); }, {0.5, 1.0, 20.0}},
      {"cbrt(t)", [](Real t) { return std::cbrt(t); }, {-2.0, -0.5, 0.5, 8.0}},
      {"abs(t)", [](Real t) { return std::abs(t); }, {-2.0, 0.5}},
      {"sign(t)", [](Real t) { return t < 0 ? -1 : 1; }, {-2.0, 0.5}},
      {"floor(t)", [](Real t) { return std::floor(t); }, {-2.5, 0.5}},
      {"step(t)", [](Real t) { return t < 0 ? 0 : 1; }, {-2.5, 0.5}},
      {"mod(t, 2)", [](Real t) { return t - 2 * std::floor(t / 2); }, {-2.5, 0.5, 7.3}},
      {"mod(5, t)", [](Real t) { return 5 - t * std::floor(5 / t); }, {-1.7, 0.7, 1.1}},
      {"min(t, t^2)", [](Real t) { return std::min(t, t * t); }, {-1.0, 0.5, 2.0}},
      {"max(t, t^2, 3*t - 5)",
       [](Real t) {
         return std::max({t, t * t, 3 * t - 5});
       },
       {-1.0, 0.5, 2.0}},
      {"atan2(sin(t), 2*cos(t))", [](Real t) { return std::atan2(std::sin(t), 2 * std::cos(t)); }, {-2.0, 0.0, 1.5}},
      {"hypot(t, 3 - t^2)", [](Real t) { return std::hypot(t, 3 - t * t); }, {-1.0, 0.0, 1.5}},
      {"pow(t + 2, t)", [](Real t) { return std::pow(t + 2, t); }, {-1.0, 0.0, 1.5}},
      {"2^t", [](Real t) { return std::pow(Real(2), t); }, {-1.0, 0.0, 1.5}},
      {"t^t", [](Real t) { return std::pow(t, t); }, {0.5, 1.0, 1.5}},
      {"t^0.5", [](Real t) { return std::sqrt(t); }, {0.5, 1.5}},
      {"t^-2.5", [](Real t) { return std::pow(t, Real(-2.5)); }, {0.5, 1.5}},
      {"t^3", [](Real t) { return t * t * t; }, {-1.5, 0.0, 2.0}},
      {"t^-3", [](Real t) { return 1 / (t * t * t); }, {-1.5, 2.0}},
      {"t^7", [](Real t) { return std::pow(t, 7); }, {-1.5, 0.0, 2.0}},
      {"smoothstep(1, 3, t)", [](Real t) { return smooth_ramp((t - 1) / 2); }, {0.5, 1.2, 2.0, 2.9, 3.5}},
      {"smoothstep(3, 1, t)", [](Real t) { return smooth_ramp((t - 3) / -2); }, {0.5, 1.2, 2.0, 2.9, 3.5}},
      {"smoothstep(-1 - t^2, 2 + sin(t), t)",
       [](Real t) { return smooth_ramp((t + 1 + t * t) / (3 + std::sin(t) + t * t)); },
       {0.2, 1.0}},
      {"1 + t - 2", [](Real t) { return t - 1; }, {-1.0, 2.0}},
      {"3 - sin(t)", [](Real t) { return 3 - std::sin(t); }, {-1.0, 2.0}},
      {"sin(t) - cos(2*t)", [](Real t) { return std::sin(t) - std::cos(2 * t); }, {-1.0, 2.0}},
      {"-t^2 + +t", [](Real t) { return -t * t + t; }, {-1.0, 2.0}},
      {"sin(t)*exp(t)", [](Real t) { return std::sin(t) * std::exp(t); }, {-1.0, 2.0}},
      {"sin(t)/(2 + t^2)/4", [](Real t) { return std::sin(t) / (2 + t * t) / 4; }, {-1.0, 2.0}},
      {"1/t", [](Real t) { return 1 / t; }, {-1.0, 2.0}},
      {"0.1*sin(2*pi*0.5*t)", [](Real t) { return 0.1L * std::sin(pi * t); }, {-1.0, 2.0}},
      {"exp(-t^2)*log(2 + cos(3*t))^2",
       [](Real t) { return std::exp(-t * t) * std::pow(std::log(2 + std::cos(3 * t)), 2); },
       {-0.7, 0.3}},
      {"t < 1 ? t^2 : sin(t)", [](Real t) { return t < 1 ? t * t : std::sin(t); }, {-1.0, 0.5, 1.5, 4.0}},
  };
  return list;
}

}  // namespace

TEST_CASE("formula: value, rate and acceleration of every function agree with differences in long double") {
  for (const Case& c : cases()) {
    CAPTURE(c.text);
    const Formula formula(c.text, {"t"});
    for (const double t : c.points) {
      CAPTURE(t);
      const TimeValue found = formula.evaluate(t);
      check_close(found.value, c.function(t), 1e-14);
      check_close(found.rate, first_difference(c.function, t), 1e-11);
      check_close(found.acceleration, second_difference(c.function, t), 1e-8);
      CHECK(formula.value(t) == found.value);
    }
  }
}

TEST_CASE("formula: second derivatives agree with closed forms to rounding") {
  const double t = 0.37, w = 2.0 * std::numbers::pi * 5.0;
  const TimeValue s = Formula("0.1*sin(2*pi*5*t)", {"t"}).evaluate(t);
  CHECK(s.value == doctest::Approx(0.1 * std::sin(w * t)).epsilon(1e-15));
  CHECK(s.rate == doctest::Approx(0.1 * w * std::cos(w * t)).epsilon(1e-14));
  CHECK(s.acceleration == doctest::Approx(-0.1 * w * w * std::sin(w * t)).epsilon(1e-14));

  // tanh'' = -2 tanh sech^2, even where 1 - tanh^2 has no correct digit
  const TimeValue h = Formula("tanh(t)", {"t"}).evaluate(18.0);
  CHECK(h.rate == doctest::Approx(4.0 * std::exp(-36.0)).epsilon(1e-13));
  CHECK(h.acceleration == doctest::Approx(-8.0 * std::exp(-36.0)).epsilon(1e-13));

  const TimeValue p = Formula("(1 - t)^-2", {"t"}).evaluate(3.0);
  CHECK(p.value == 0.25);
  CHECK(p.rate == doctest::Approx(2.0 / -8.0).epsilon(1e-15));
  CHECK(p.acceleration == doctest::Approx(6.0 / 16.0).epsilon(1e-15));
}

TEST_CASE("formula: integer powers are exact at zero and for negative bases") {
  const auto check = [](const std::string& text, double t, TimeValue expected) {
    CAPTURE(text);
    const TimeValue found = Formula(text, {"t"}).evaluate(t);
    CHECK(found.value == expected.value);
    CHECK(found.rate == expected.rate);
    CHECK(found.acceleration == expected.acceleration);
  };
  check("t^0", 0.0, {1, 0, 0});
  check("t^1", 0.0, {0, 1, 0});
  check("t^2", 0.0, {0, 0, 2});
  check("t^3", 0.0, {0, 0, 0});
  check("t^2", -3.0, {9, -6, 2});
  check("t^3", -2.0, {-8, 12, -12});
  check("t^-1", -2.0, {-0.5, -0.25, -0.25});
  check("pow(t, 3)", -2.0, {-8, 12, -12});
  check("t^2.5", 0.0, {0, 0, 0});
  const TimeValue high = Formula("t^100", {"t"}).evaluate(-0.9);
  CHECK(high.value == doctest::Approx(std::pow(0.9, 100)).epsilon(1e-14));
  CHECK(high.rate == doctest::Approx(-100 * std::pow(0.9, 99)).epsilon(1e-14));
  CHECK(high.acceleration == doctest::Approx(9900 * std::pow(0.9, 98)).epsilon(1e-14));
  // an exponent that is a number only after evaluation
  check("t^(t < 0 ? 2 : 3)", -3.0, {9, -6, 2});
  check("t^(t < 1 ? 2 : 3)", 0.0, {0, 0, 2});
}

TEST_CASE("formula: what does not vary has no derivative, however steep the function") {
  const TimeValue open = Formula("max(0, -t)^1.5", {"t"}).evaluate(1.0);
  CHECK(open.value == 0.0);
  CHECK(open.rate == 0.0);
  CHECK(open.acceleration == 0.0);
  const TimeValue closed = Formula("max(0, -t)^1.5", {"t"}).evaluate(-4.0);
  CHECK(closed.value == 8.0);
  CHECK(closed.rate == -3.0);
  CHECK(closed.acceleration == 0.375);
  CHECK_FALSE(std::isfinite(Formula("sqrt(t)", {"t"}).evaluate(0.0).rate));
  CHECK_FALSE(std::isfinite(Formula("hypot(t, 2*t)", {"t"}).evaluate(0.0).rate));
}

TEST_CASE("formula: precedence and associativity") {
  CHECK(value("1 + 2*3") == 7.0);
  CHECK(value("(1 + 2)*3") == 9.0);
  CHECK(value("7 - 2 - 1") == 4.0);
  CHECK(value("16/4/2") == 2.0);
  CHECK(value("16/4*2") == 8.0);
  CHECK(value("2^3^2") == 512.0);
  CHECK(value("-2^2") == -4.0);
  CHECK(value("-t^2", 3.0) == -9.0);
  CHECK(value("(-t)^2", 3.0) == 9.0);
  CHECK(value("2^-1") == 0.5);
  CHECK(value("2^-t^2", 2.0) == 0.0625);
  CHECK(value("-t*2", 3.0) == -6.0);
  CHECK(value("2*-t", 3.0) == -6.0);
  CHECK(value("--t", 3.0) == 3.0);
  CHECK(value("+-+t", 3.0) == -3.0);
  CHECK(value("1 - -t", 3.0) == 4.0);
  CHECK(value("2 - t - 1", 3.0) == -2.0);
  CHECK(value("2 - (t - 1)", 3.0) == 0.0);
  CHECK(value("12/t/2", 3.0) == 2.0);
  CHECK(value("1 + 1 < 3") == 1.0);
  CHECK(value("!t + 1", 0.0) == 2.0);
  CHECK(value("!(t + 1)", 0.0) == 0.0);
  CHECK(value("1 || 0 && 0") == 1.0);
  CHECK(value("(1 || 0) && 0") == 0.0);
  CHECK(value("0 ? 1 : 0 ? 2 : 3") == 3.0);
  CHECK(value("1 ? 0 ? 4 : 5 : 6") == 5.0);
  CHECK(value("1 + (t > 0 ? 2 : 3)", 1.0) == 3.0);
  CHECK(value("t > 0 ? 2 : 3 + 10", 1.0) == 2.0);
  CHECK(value("2*(t > 0 ? 2 : 3) + 1", -1.0) == 7.0);
}

TEST_CASE("formula: numbers, constants and white space") {
  CHECK(value("1e-3") == 1e-3);
  CHECK(value("1.5E+2") == 150.0);
  CHECK(value(".5") == 0.5);
  CHECK(value("5.") == 5.0);
  CHECK(value("0.1") == 0.1);
  CHECK(value("pi") == std::numbers::pi);
  CHECK(value("e") == std::numbers::e);
  CHECK(value(" \t1\r\n+ 2 ") == 3.0);
}

TEST_CASE("formula: functions at and beside their jumps") {
  CHECK(value("step(t)", 0.0) == 1.0);
  CHECK(value("step(t)", -1e-300) == 0.0);
  CHECK(value("sign(t)", 0.0) == 0.0);
  CHECK(value("sign(-t)", 2.0) == -1.0);
  CHECK(value("floor(t)", -0.5) == -1.0);
  CHECK(value("mod(t, 3)", -1.0) == 2.0);
  CHECK(value("mod(t, -3)", 1.0) == -2.0);
  CHECK(value("mod(t, 3)", 6.0) == 0.0);
  CHECK(value("min(3, t, 5)", 2.0) == 2.0);
  CHECK(value("max(3, t, 5, 4)", 2.0) == 5.0);
  CHECK(std::isnan(value("log(t)", -1.0)));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* text : {"min(t, 1)", "min(1, t)", "max(t, 1)", "max(1, t)", "step(t)", "sign(t)", "abs(t)"}) {
    CAPTURE(text);
    CHECK(std::isnan(value(text, nan)));
  }
}

TEST_CASE("formula: smoothstep is continuous up to its acceleration") {
  const Formula formula("smoothstep(1, 3, t)", {"t"});
  for (const double edge : {1.0, 3.0}) {
    const TimeValue before = formula.evaluate(edge - 1e-9), after = formula.evaluate(edge + 1e-9);
    CHECK(std::abs(before.value - after.value) < 1e-15);
    CHECK(std::abs(before.rate - after.rate) < 1e-15);
    CHECK(std::abs(before.acceleration - after.acceleration) < 1e-7);
  }
  CHECK(formula.value(2.0) == 0.5);
}

TEST_CASE("formula: comparisons and logic give 0 or 1") {
  const auto truth = [](const std::string& text) {
    // the same result for folded code and for code that runs
    const double folded = value(text);
    std::string running = text;
    for (char& c : running)
      if (c == '2') c = 't';
    CHECK(value(running, 2.0) == folded);
    return folded;
  };
  CHECK(truth("1 < 2") == 1.0);
  CHECK(truth("2 < 2") == 0.0);
  CHECK(truth("2 <= 2") == 1.0);
  CHECK(truth("3 <= 2") == 0.0);
  CHECK(truth("3 > 2") == 1.0);
  CHECK(truth("2 > 2") == 0.0);
  CHECK(truth("2 >= 2") == 1.0);
  CHECK(truth("1 >= 2") == 0.0);
  CHECK(truth("2 == 2") == 1.0);
  CHECK(truth("2 != 2") == 0.0);
  CHECK(truth("2 && 3") == 1.0);
  CHECK(truth("2 && 0") == 0.0);
  CHECK(truth("0 && 2") == 0.0);
  CHECK(truth("0 || 2") == 1.0);
  CHECK(truth("2 || 0") == 1.0);
  CHECK(truth("0*2 || 0") == 0.0);
  CHECK(truth("!2") == 0.0);
  CHECK(truth("!(2 - 2)") == 1.0);
  CHECK(truth("2 > 1 && 2 < 3 || 1 == 0") == 1.0);
  CHECK(truth("(2 > 1 && 2 > 3) + (2 > 1 || 2 > 3)*10") == 10.0);
  CHECK(Formula("t > 1 && t < 3", {"t"}).evaluate(2.0).rate == 0.0);
}

TEST_CASE("formula: only the chosen branch counts, for the value and for the derivatives") {
  const Formula formula("t > 0 ? log(t) : 5*t^2", {"t"});
  const TimeValue left = formula.evaluate(-2.0), right = formula.evaluate(2.0);
  CHECK(left.value == 20.0);
  CHECK(left.rate == -20.0);
  CHECK(left.acceleration == 10.0);
  CHECK(right.value == std::log(2.0));
  CHECK(right.rate == 0.5);
  CHECK(right.acceleration == -0.25);

  // merging numbers into operators around branches must not change neighbouring code
  CHECK(value("(t > 0 ? 1 : 2) + 3", 1.0) == 4.0);
  CHECK(value("(t > 0 ? 1 : 2) + 3", -1.0) == 5.0);
  CHECK(value("3*(t > 0 ? 1 : 2)", -1.0) == 6.0);
  CHECK(value("(t > 0 ? t : 2)^(t > 0 ? 2 : 3)", -1.0) == 8.0);
  CHECK(value("max(t > 0 ? 1 : 2, t > 0 ? 3 : 1)", 1.0) == 3.0);
  CHECK(value("5 - (t > 0 && t < 2 ? t : 2*t)", 1.0) == 4.0);
}

TEST_CASE("formula: constant parts are folded") {
  CHECK(Formula("2*pi*5", {"t"}).is_constant());
  CHECK(Formula("1 > 2 ? t : 3", {"t"}).is_constant());
  CHECK(Formula("smoothstep(0, 1, 0.25) + max(1, 2, 3)", {"t"}).is_constant());
  CHECK(Formula("a*b", {"t"}, {{"a", 2.0}, {"b", 3.0}}).value(0.0) == 6.0);
  CHECK_FALSE(Formula("2*t", {"t"}).is_constant());
  const TimeValue constant = Formula("3", {"t"}).evaluate(1.0);
  CHECK(constant.value == 3.0);
  CHECK(constant.rate == 0.0);
  CHECK(constant.acceleration == 0.0);

  const Formula formula("x + (0 ? y : z)", {"x", "y", "z"});
  CHECK(formula.depends_on(0));
  CHECK_FALSE(formula.depends_on(1));
  CHECK(formula.depends_on(2));
}

TEST_CASE("formula: gradient and Hessian of two variables agree with closed forms") {
  const double x = 0.7, y = -1.3;
  const std::array<double, 2> at{x, y};
  std::array<double, 2> g{};
  std::array<double, 4> h{};
  const auto check = [&](const std::string& text, double f, std::array<double, 2> gradient,
                         std::array<double, 3> hessian) {
    CAPTURE(text);
    const Formula formula(text, {"x", "y"});
    check_close(formula.hessian(at, g, h), f, 1e-14);
    check_close(formula.value(at), f, 1e-14);
    for (std::size_t i = 0; i < 2; ++i) check_close(g[i], gradient[i], 1e-14);
    check_close(h[0], hessian[0], 1e-14);
    check_close(h[1], hessian[1], 1e-14);
    check_close(h[3], hessian[2], 1e-14);
    CHECK(h[1] == h[2]);
    std::array<double, 2> only{};
    CHECK(formula.gradient(at, only) == formula.value(at));
    CHECK(only == g);
  };
  const double r2 = x * x + y * y, r = std::sqrt(r2);
  check("x*y", x * y, {y, x}, {0, 1, 0});
  check("x/y", x / y, {1 / y, -x / (y * y)}, {0, -1 / (y * y), 2 * x / (y * y * y)});
  check("hypot(x, y)", r, {x / r, y / r}, {y * y / (r * r2), -x * y / (r * r2), x * x / (r * r2)});
  check("atan2(y, x)", std::atan2(y, x), {-y / r2, x / r2},
        {2 * x * y / (r2 * r2), (y * y - x * x) / (r2 * r2), -2 * x * y / (r2 * r2)});
  const double p = std::pow(x, y), l = std::log(x);
  check("x^y", p, {y * p / x, p * l}, {y * (y - 1) * p / (x * x), p / x * (1 + y * l), p * l * l});
  check("sin(x*y)", std::sin(x * y), {y * std::cos(x * y), x * std::cos(x * y)},
        {-y * y * std::sin(x * y), std::cos(x * y) - x * y * std::sin(x * y), -x * x * std::sin(x * y)});
  check("x^2*y^3", x * x * y * y * y, {2 * x * y * y * y, 3 * x * x * y * y},
        {2 * y * y * y, 6 * x * y * y, 6 * x * x * y});
  check("min(x^2, y^2) + max(x, y)*y", x * x + x * y, {2 * x + y, x}, {2, 1, 0});
  check("y^2", y * y, {0, 2 * y}, {0, 0, 2});
  check("7", 7, {0, 0}, {0, 0, 0});
}

TEST_CASE("formula: gradient and Hessian of any number of variables") {
  // f = s^2/2 + sum i^2 x_i^3/6 over the odd variables, with s the sum of these variables: f_ij = 1 + delta_ij i^2 x_i
  for (std::size_t used = 0; used <= 21; ++used) {
    CAPTURE(used);
    const std::size_t n = 2 * used + 1;
    std::vector<std::string> names;
    std::vector<double> x;
    for (std::size_t i = 0; i < n; ++i) {
      names.push_back(std::string("q").append(std::to_string(i)));
      x.push_back(0.3 - 0.11 * static_cast<double>(i));
    }
    std::string sum = "0", cubes = "0";
    double s = 0.0;
    for (std::size_t i = 1; i < n; i += 2) {
      sum += " + " + names[i];
      cubes += " + " + std::to_string(i * i) + "*" + names[i] + "^3/6";
      s += x[i];
    }
    const Formula formula("(" + sum + ")^2/2 + " + cubes, names);
    std::vector<double> g(n, 99.0), only(n, 99.0), h(n * n, 99.0);
    check_close(formula.hessian(x, g, h), formula.value(x), 0.0);
    CHECK(formula.gradient(x, only) == formula.value(x));
    for (std::size_t i = 0; i < n; ++i) {
      const double square = static_cast<double>(i * i);
      const bool odd_i = i % 2 == 1;
      check_close(g[i], odd_i ? s + square * x[i] * x[i] / 2 : 0.0, 1e-13);
      CHECK(only[i] == g[i]);
      for (std::size_t j = 0; j < n; ++j) {
        const bool odd = odd_i && j % 2 == 1;
        check_close(h[i * n + j], odd ? 1.0 + (i == j ? square * x[i] : 0.0) : 0.0, 1e-13);
        CHECK(h[i * n + j] == h[j * n + i]);
      }
    }
  }
}

TEST_CASE("formula: derivatives along a curve are v.grad f and v.H.v + a.grad f") {
  const Formula formula("hypot(x, y)*exp(-z) + x*y*z", {"x", "y", "z"});
  const std::array<double, 3> x{0.7, -1.3, 0.2}, v{0.5, 2.0, -1.0}, a{3.0, 0.1, 0.4};
  std::array<double, 3> g{};
  std::array<double, 9> h{};
  const double f = formula.hessian(x, g, h);
  double rate = 0.0, acceleration = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    rate += g[i] * v[i];
    acceleration += g[i] * a[i];
    for (std::size_t j = 0; j < 3; ++j) acceleration += v[i] * h[3 * i + j] * v[j];
  }
  const TimeValue found = formula.along(x, v, a);
  CHECK(found.value == f);
  check_close(found.rate, rate, 1e-14);
  check_close(found.acceleration, acceleration, 1e-14);
}

TEST_CASE("formula: a copy outlives the original and its text") {
  Formula copy("0", {"t"});
  {
    const std::string text = "a*t + 1";
    const Formula original(text, {"t"}, {{"a", 2.0}});
    copy = original;
  }
  CHECK(copy.value(3.0) == 7.0);
  CHECK(copy.text() == "a*t + 1");
}

TEST_CASE("formula: a variable may be a rate with a mark") {
  const Formula f("m*x'^2/2 - x*x'", {"x", "x'"}, {{"m", 3.0}});
  const double q[2] = {0.5, 2.0};
  double gradient[2];
  CHECK(f.gradient(q, gradient) == 5.0);
  CHECK(gradient[0] == -2.0);
  CHECK(gradient[1] == 5.5);
  CHECK_THROWS_AS(Formula("x'", {"x"}), FormulaError);
  CHECK_THROWS_AS(Formula("x", {"'"}), std::invalid_argument);
  CHECK_THROWS_AS(Formula("x", {"x''"}), std::invalid_argument);
  CHECK_THROWS_AS(Formula("sin'", {"sin'"}), std::invalid_argument);
  CHECK_FALSE(Formula::is_valid_name("x'"));
}

TEST_CASE("formula: the degree is that of a polynomial with constant coefficients, or any") {
  const auto degree = [](const char* text) { return Formula(text, {"x", "y", "t"}, {{"k", 2.5}}).degree_in(2); };
  for (const char* text : {"3", "k^2", "sin(t)", "t^3/2", "x^0"}) {
    CAPTURE(text);
    CHECK(degree(text) == 0);
  }
  for (const char* text : {"x", "-k*x/3 + y - 1", "x + sin(t)", "2*(x - (y + t^2))", "x^1", "sin(k)*x"}) {
    CAPTURE(text);
    CHECK(degree(text) == 1);
  }
  for (const char* text : {"x^2", "x*y", "k*(x - y)^2/2 + t", "x*(3 - y) + 2*y", "x*x"}) {
    CAPTURE(text);
    CHECK(degree(text) == 2);
  }
  for (const char* text : {"x*t", "x^3", "x*y*x", "sin(x)", "1/x", "x/t", "x^2*t", "x > 0 ? x : 0", "abs(x)",
                           "max(x, 0)", "x^0.5", "(x^2)^2", "hypot(x, y)", "smoothstep(0, 1, x)", "x && y"}) {
    CAPTURE(text);
    CHECK(degree(text) == Formula::any_degree);
  }
}
