// Messages of Formula for wrong, strange or hostile texts.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/formula/formula.hpp"

using namespace carom;

namespace {

double value(const std::string& text, double t = 0.0) { return Formula(text, {"t"}).value(t); }

/// The error of a wrong formula of t; fails if the formula is valid.
FormulaError error_of(const std::string& text) {
  try {
    const Formula formula(text, {"t"}, {{"frequency", 5.0}});
  } catch (const FormulaError& error) {
    return error;
  }
  FAIL("accepted: " << text.substr(0, 60));
  return {0, "", "", ""};
}

void check_error(const std::string& text, std::size_t offset, const std::string& message) {
  CAPTURE(text);
  const FormulaError error = error_of(text);
  CHECK(error.offset() == offset);
  CHECK(error.message() == message);
  CHECK(std::string(error.what()) == "offset " + std::to_string(offset) + ": " + message);
}

}  // namespace

TEST_CASE("formula: an unknown name is reported with its place and the nearest known one") {
  check_error("0.1*sin(2*tt)", 10, "unknown name 'tt'; did you mean 't'?");
  check_error("sine(t)", 0, "unknown function 'sine'; did you mean 'sin'?");
  check_error("2*freqency*t", 2, "unknown name 'freqency'; did you mean 'frequency'?");
  check_error("2*PI", 2, "unknown name 'PI'; did you mean 'pi'?");
  check_error("1 + ln(t)", 4, "unknown function 'ln'; did you mean 'log'?");
  check_error("Heaviside(t)", 0, "unknown function 'Heaviside'; did you mean 'step'?");
  check_error("2*freuqecny*t", 2, "unknown name 'freuqecny'; did you mean 'frequency'?");
  check_error("foo", 0, "unknown name 'foo'; known are t frequency pi e and functions");
  check_error("3*omega", 2, "unknown name 'omega'; known are t frequency pi e and functions");
  CHECK(error_of("0.1*sin(2*tt)").found() == "'tt'");
  CHECK(error_of("0.1*sin(2*tt)").expected() == "t");
}

TEST_CASE("formula: a wrong text is reported with what was found and what is expected") {
  check_error("", 0, "expected a formula, found an empty text");
  check_error("  ", 0, "expected a formula, found an empty text");
  check_error("+", 1, "expected a value, found the end of the formula");
  check_error("*", 0, "expected a value, found '*'");
  check_error("t*", 2, "expected a value, found the end of the formula");
  check_error("t**2", 2, "expected a value, found '*'; a power is written ^");
  check_error("2 t", 2, "expected an operator or the end of the formula, found 't'; a product is written *");
  check_error("2t", 1, "expected an operator or the end of the formula, found 't'; a product is written *");
  check_error("t(2)", 1, "expected an operator or the end of the formula, found '('; a product is written *");
  check_error("1,5", 1, "expected an operator or the end of the formula, found ','");
  check_error("t)", 1, "expected an operator or the end of the formula, found ')'");
  check_error("(t", 2, "expected an operator or ')' for the '(' before, found the end of the formula");
  check_error("2*(t + (1 - t)", 14, "expected an operator or ')' for the '(' before, found the end of the formula");
  check_error("()", 1, "expected a value, found ')'");
  check_error("t = 2", 2, "expected an operator or the end of the formula, found '='; equality is written ==");
  check_error("t & 1", 2, "expected an operator or the end of the formula, found '&'; 'and' is written &&");
  check_error("t | 1", 2, "expected an operator or the end of the formula, found '|'; 'or' is written ||");
  check_error("t ? 1", 5, "expected ':' for the '?' before, found the end of the formula");
  check_error("0 < t < 1", 6,
              "comparisons cannot be chained, found a second one, '<'; write a < b && b < c, or parentheses");
}

TEST_CASE("formula: wrong numbers are reported whole") {
  check_error("1..2", 0, "expected a number like 1, 0.5 or 1e-3, found '1..2'");
  check_error("t + 1.2.3", 4, "expected a number like 1, 0.5 or 1e-3, found '1.2.3'");
  check_error(".", 0, "expected a number like 1, 0.5 or 1e-3, found '.'");
  check_error("1e", 0, "expected a number like 1, 0.5 or 1e-3, found '1e'");
  check_error("1e+", 0, "expected a number like 1, 0.5 or 1e-3, found '1e+'");
  check_error("1e2.5", 0, "expected a number like 1, 0.5 or 1e-3, found '1e2.5'");
  check_error("1e999", 0, "the number '1e999' is too large or too small for double precision");
}

TEST_CASE("formula: wrong arguments are reported at their place") {
  check_error("sin", 3, "expected '(' after the function 'sin', found the end of the formula");
  check_error("sin t", 4, "expected '(' after the function 'sin', found 't'");
  check_error("sin()", 4, "expected a value, found ')'");
  check_error("sin(1,2)", 5, "expected ')', found ','; 'sin' takes 1 argument");
  check_error("atan2(t)", 7, "expected ',' and another argument, found ')'; 'atan2' takes 2 arguments");
  check_error("atan2(t, 1, 2)", 10, "expected ')', found ','; 'atan2' takes 2 arguments");
  check_error("min(t)", 5, "expected ',' and another argument, found ')'; 'min' takes 2 or more arguments");
  check_error("max(t, 1,)", 9, "expected a value, found ')'");
  check_error("smoothstep(0, t)", 15, "expected ',' and another argument, found ')'; 'smoothstep' takes 3 arguments");
  check_error("sin(t", 5, "expected an operator or ')' in the arguments of 'sin', found the end of the formula");
  check_error("sin(t t)", 6,
              "expected an operator or ')' in the arguments of 'sin', found 't'; a product is written *");
}

TEST_CASE("formula: constants that are not finite are errors") {
  check_error("t + 1/0", 5, "the constant value of '/' here is not a finite number");
  check_error("sqrt(-1)*t", 0, "the constant value of 'sqrt' here is not a finite number");
  check_error("(-8)^(1/3)", 4, "the constant value of '^' here is not a finite number");
  check_error("exp(1000)", 0, "the constant value of 'exp' here is not a finite number");
  check_error("t/(1 - 1)", 1, "division by zero");
  check_error("smoothstep(1, 1, t)", 0, "the first two arguments of 'smoothstep' must differ");
}

TEST_CASE("formula: bytes that are no ASCII are shown, characters whole and anything else in hexadecimal") {
  check_error("2\xC3\x97t", 1, "expected an operator or the end of the formula, found '\xC3\x97'");
  check_error("\xCF\x89*t", 0, "expected a value, found '\xCF\x89'");
  check_error("t + \xFF", 4, "expected a value, found '\\xFF'");
  check_error("t\xE2\x88", 1, "expected an operator or the end of the formula, found '\\xE2'");
  check_error(std::string("t\0", 2), 1, "expected an operator or the end of the formula, found '\\x00'");
  check_error("t + \x1B[31m", 4, "expected a value, found '\\x1B'");
}

TEST_CASE("formula: hostile texts are errors, never crashes") {
  const std::size_t million = 1'000'000, many = 60'000;
  const auto repeat = [](const std::string& part, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
  };
  // too long
  for (const char* part : {"(", "-", "sin(", "1+", "t^", "t?", "\xFF"})
    CHECK_THROWS_AS(Formula(repeat(part, million), {"t"}), FormulaError);
  CHECK(error_of(repeat("(", million)).message() == "the formula is longer than 65536 characters");

  // as long as allowed, but too deep
  CHECK(error_of(repeat("(", many)).message() == "the formula is nested deeper than 100 levels");
  CHECK(error_of(repeat("(", many)).offset() == 101);
  for (const std::string part : {"-", "!", "+", "sin(", "t^", "2^-", "t?", "t?t:", "max(t,", "t+("}) {
    CAPTURE(part);
    const FormulaError error = error_of(repeat(part, many / part.size()));
    const bool too_deep = error.message() == "the formula is nested deeper than 100 levels" ||
                          error.message() == "the formula needs more than 100 intermediate values";
    CHECK(too_deep);
  }

  // a name too long to print or to compare, and a number with many digits
  CHECK(error_of(repeat("a", many)).message().size() < 200);
  CHECK(value(repeat("0", many) + "1." + repeat("0", 1000)) == 1.0);

  // exactly at the limits, and long without being deep
  const std::size_t deep = Formula::max_depth;
  CHECK(value(repeat("(", deep) + "t" + repeat(")", deep), 2.0) == 2.0);
  CHECK_THROWS_AS(value(repeat("(", deep + 1) + "t" + repeat(")", deep + 1)), FormulaError);
  CHECK(value(repeat("t+(", deep - 1) + "t" + repeat(")", deep - 1), 1.0) == 100.0);
  CHECK_THROWS_AS(value(repeat("t+(", deep) + "t" + repeat(")", deep), 1.0), FormulaError);
  CHECK(value(repeat("t+", 30'000) + "t", 1.0) == 30'001.0);
  CHECK(value(repeat("1+", 30'000) + "t", 1.0) == 30'001.0);
  CHECK(value("max(t" + repeat(",t", 30'000) + ")", 1.0) == 1.0);
}

TEST_CASE("formula: no text made of the language's own pieces crashes, and accepted ones evaluate alike in all ways") {
  const std::vector<std::string> pieces{"t", "x", "1",  "2.5", "+", "-",  "*", "/",    "^",    "(",    ")",    "?",
                                        ":", ",", "&&", "||",  "<", "==", "!", "sin(", "max(", "mod(", "abs(", "0"};
  std::uint32_t seed = 12345;
  const auto random = [&seed](std::uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % below;
  };
  int accepted = 0;
  for (int trial = 0; trial < 100'000; ++trial) {
    std::string text;
    for (std::uint32_t length = 1 + random(9); length > 0; --length) text += pieces[random(24)];
    try {
      const Formula formula(text, {"t", "x"});
      ++accepted;
      const std::array<double, 2> x{0.3, -1.2}, v{1.0, 0.0}, a{};
      std::array<double, 2> g{};
      std::array<double, 4> h{};
      const double f = formula.value(x);
      const bool same = std::isnan(f) || (formula.hessian(x, g, h) == f && formula.gradient(x, g) == f &&
                                          formula.along(x, v, a).value == f);
      if (!same) FAIL_CHECK(text);
      const double along = formula.along(x, v, a).rate;
      if (std::isfinite(along) && std::abs(along - g[0]) > 1e-12 * std::abs(along)) FAIL_CHECK(text);
    } catch (const FormulaError& error) {
      if (error.offset() > text.size()) FAIL_CHECK(text);
    }
  }
  CHECK(accepted > 1000);
}

TEST_CASE("formula: names of variables and parameters are checked") {
  CHECK(Formula::is_valid_name("q_1"));
  CHECK(Formula::is_valid_name("_a"));
  for (const char* name : {"", "1q", "a.b", "a b", "pi", "e", "sin", "\xCF\x89"}) {
    CAPTURE(name);
    CHECK_FALSE(Formula::is_valid_name(name));
    CHECK_THROWS_AS(Formula("1", {name}), std::invalid_argument);
    CHECK_THROWS_AS(Formula("1", {"t"}, {{name, 1.0}}), std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(Formula("1", {"x", "y", "x"}), "the variable 'x' is given twice", std::invalid_argument);
  CHECK_THROWS_WITH_AS(Formula("1", {"t"}, {{"t", 1.0}}), "'t' is given both as a variable and as a parameter",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(Formula("1", {"t"}, {{"a", HUGE_VAL}}), "the parameter 'a' is not finite",
                       std::invalid_argument);
}
