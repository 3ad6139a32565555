// Expressions of named variables, evaluated with exact derivatives.
//
//   Formula f("0.1*sin(2*pi*frequency*t)", {"t"}, {{"frequency", 5.0}});
//   TimeValue u = f.evaluate(0.25);                       // value, d/dt, d2/dt2
//
//   Formula gap("hypot(x, y) - r", {"x", "y"}, {{"r", 0.5}});
//   double g = gap.hessian(q, gradient, hessian);         // spans of 2 and 4 numbers
//
// The text is parsed once (recursive descent) into postfix code, and constants are folded. The code runs on a stack of
// numbers that carry their derivatives (forward mode): no finite differences, no allocation, no state. Several threads
// may evaluate a const Formula at the same time.
//
// Grammar, from lowest to highest precedence:
//   c ? a : b                      only the chosen branch and its derivatives are evaluated
//   ||   &&                        short circuit; results are 0 or 1
//   <  <=  >  >=  ==  !=           results are 0 or 1; cannot be chained (a < b < c is an error)
//   +  -
//   *  /
//   unary  -  +  !
//   ^                              right associative: 2^3^2 = 2^9; -x^2 = -(x^2); 2^-x is allowed
//   numbers (1, .5, 1e-3), names, (expression), function(arguments)
// A variable may end with a mark, as in x', the rate of x. Parameters, constants and functions have no mark.
//
// Constants: pi, e. Functions: sin cos tan asin acos atan atan2(y,x) sinh cosh tanh exp log (natural) log10 sqrt cbrt
// abs sign floor step(x) (0 for x < 0, else 1) min(a,b,...) max(a,b,...) pow(x,y) hypot(x,y) mod(x,y) (sign of y)
// smoothstep(a,b,x): 0 before a, 1 after b, u^3 (10 - 15 u + 6 u^2) between with u = (x-a)/(b-a), twice differentiable.
//
// Conventions and limits:
// - Where a function has a kink or a jump (abs, sign, floor, step, mod, min, max, comparisons), the derivatives are
//   one-sided. abs and sign have derivative 0 at 0; min and max choose the first of equal arguments.
// - In the chain rule an inner derivative of exactly zero gives zero, even if the outer derivative is infinite:
//   max(0,-x)^1.5 has zero derivatives for x > 0. Other derivatives that do not exist (sqrt at 0, hypot at (0,0)) are
//   not finite.
// - Outside a function's domain the value is NaN; a constant part that is not finite (1/0) is an error when parsed.
// - At most max_length characters, max_depth nested levels and max_depth intermediate values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

/// A function of time with its first and second derivative.
struct TimeValue {
  double value = 0.0;
  double rate = 0.0;
  double acceleration = 0.0;
};

/// The text is not a valid formula. what() is "offset 10: " + message().
class FormulaError : public std::runtime_error {
 public:
  FormulaError(std::size_t offset, std::string message, std::string found, std::string expected);

  /// Position of the error in the text, in bytes from 0; the length of the text if the text ends too early.
  std::size_t offset() const { return offset_; }
  /// The message without the offset, e.g. "unknown name 'tme'; did you mean 't'?".
  const std::string& message() const { return message_; }
  /// The text found at this position, e.g. "')'" or "the end of the formula".
  const std::string& found() const { return found_; }
  /// The text allowed at this position, e.g. "a value". For an unknown name: the suggested name without quotes, or
  /// empty if no known name is near.
  const std::string& expected() const { return expected_; }

 private:
  std::size_t offset_;
  std::string message_, found_, expected_;
};

class Formula {
 public:
  using Parameters = std::map<std::string, double, std::less<>>;

  static constexpr std::size_t max_length = 65536;
  static constexpr int max_depth = 100;

  /// Parses `text`. `variables` defines the order of the arguments of the evaluations; parameters are replaced by their
  /// values. Throws FormulaError for an invalid text. Throws std::invalid_argument for a parameter that is not finite,
  /// and for a name of a variable or parameter that is not an identifier, is given twice or belongs to the language.
  Formula(std::string_view text, std::span<const std::string> variables, const Parameters& parameters = {});
  Formula(std::string_view text, std::initializer_list<std::string> variables, const Parameters& parameters = {});

  /// True if `name` may be a variable or a parameter: a letter or underscore, then letters, digits or underscores, and
  /// neither a function nor a constant of the language.
  static bool is_valid_name(std::string_view name);

  const std::string& text() const { return text_; }
  std::size_t variable_count() const { return variable_count_; }
  /// True if the value depends on no variable.
  bool is_constant() const;
  /// True if variable `i` occurs in the code (after folding of constants).
  bool depends_on(std::size_t i) const;
  /// Degree of the formula as a polynomial of its first n variables, 0 to 2, if the coefficients of the highest powers
  /// are constant and only the terms without these variables depend on other ones; any_degree in all other cases, and
  /// where the structure of the formula does not show the degree.
  int degree_in(std::size_t n) const;
  static constexpr int any_degree = 3;

  /// f(x). x has variable_count() entries, here and in the functions below.
  double value(std::span<const double> x) const;
  /// f(x) and gradient[i] = df/dx_i; gradient has variable_count() entries.
  double gradient(std::span<const double> x, std::span<double> gradient) const;
  /// f(x), its gradient and hessian[i*n + j] = d2f/dx_i dx_j. hessian has n*n entries and is exactly symmetric.
  double hessian(std::span<const double> x, std::span<double> gradient, std::span<double> hessian) const;
  /// f, df/ds and d2f/ds2 along a curve x(s) with x' = v and x'' = a; each span has variable_count() entries.
  TimeValue along(std::span<const double> x, std::span<const double> v, std::span<const double> a) const;

  /// f(t), for a formula of one variable.
  double value(double t) const;
  /// f, df/dt and d2f/dt2, for a formula of one variable.
  TimeValue evaluate(double t) const;

  /// One step of the postfix code; an implementation detail, see core/formula/formula_program.hpp.
  enum class Op : std::int32_t;
  struct Instruction {
    Op op{};
    std::int32_t index = 0;  // slot of a variable, integer exponent, or length of a jump
    double number = 0.0;
  };

 private:
  std::string text_;
  std::size_t variable_count_;
  std::vector<Instruction> code_;
  std::vector<std::size_t> used_;  // the variable of each slot, ascending
};

}  // namespace carom
