#include "core/formula/formula_parser.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/formula/formula_names.hpp"
#include "core/formula/formula_program.hpp"
#include "core/formula/formula_tokens.hpp"

namespace carom::formula_detail {

namespace {

/// Emits code while parsing. Every expression leaves exactly one value on the evaluation stack. The member functions of
/// the grammar are in the order of increasing precedence.
class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> variables, const Formula::Parameters& parameters)
      : tokens_(text), variables_(variables), parameters_(parameters) {}

  std::vector<Instruction> parse() {
    if (tokens_.at(Token::Kind::end))
      throw FormulaError(0, "expected a formula, found an empty text", "an empty text", "a formula");
    expression();
    if (!tokens_.at(Token::Kind::end)) tokens_.fail_expected("an operator or the end of the formula");
    return std::move(code_);
  }

 private:
  /// The code of an expression starts at `begin` and ends at the end of the code. The code of a constant is one
  /// instruction.
  struct Operand {
    std::size_t begin;
    bool constant;
  };

  /// Counts the values on the evaluation stack.
  void push_value() {
    if (++depth_ > Formula::max_depth)
      tokens_.fail("the formula needs more than " + std::to_string(Formula::max_depth) + " intermediate values",
                   "at most " + std::to_string(Formula::max_depth) + " intermediate values");
  }

  Operand emit_number(double value) {
    push_value();
    code_.push_back({Op::number, 0, value});
    return {code_.size() - 1, true};
  }

  /// Replaces the code from `begin` by its value. `where`: the position for error messages, here and below.
  Operand fold(std::size_t begin, const Token& where) {
    const double value = run<double>(std::span(code_).subspan(begin), [](std::size_t, double&) { assert(false); });
    if (!std::isfinite(value))
      throw FormulaError(where.offset, "the constant value of " + quoted(where.text) + " here is not a finite number",
                         quoted(where.text), "a finite number");
    code_.resize(begin);
    code_.push_back({Op::number, 0, value});
    return {begin, true};
  }

  Operand emit_unary(Op op, Operand a, const Token& where) {
    code_.push_back({op});
    return a.constant ? fold(a.begin, where) : Operand{a.begin, false};
  }

  Operand emit_binary(Op op, Operand a, Operand b, const Token& where) {
    --depth_;
    if (a.constant && b.constant) {
      code_.push_back({op});
      return fold(a.begin, where);
    }
    if (b.constant && merge_right(op, code_.back().number, where)) return {a.begin, false};
    if (a.constant && merge_left(op, a.begin)) return {a.begin, false};
    code_.push_back({op});
    return {a.begin, false};
  }

  /// Merges "number c, op" into one instruction if such an instruction exists.
  bool merge_right(Op op, double c, const Token& where) {
    switch (op) {
      case Op::plus:
        code_.back() = {Op::add_number, 0, c};
        return true;
      case Op::minus:
        code_.back() = {Op::add_number, 0, -c};
        return true;
      case Op::times:
        code_.back() = {Op::multiply_number, 0, c};
        return true;
      case Op::over:
        if (c == 0.0) throw FormulaError(where.offset, "division by zero", "'/'", "a divisor other than zero");
        code_.back() = {Op::divide_number, 0, c};
        return true;
      case Op::power:
        if (std::rint(c) == c && std::abs(c) <= max_product_exponent)
          code_.back() = {Op::power_integer, static_cast<std::int32_t>(c)};
        else
          code_.back() = {Op::power_number, 0, c};
        return true;
      default:
        return false;
    }
  }

  /// Merges a constant that precedes the other operand. The code of the operand moves down; jumps are relative and stay
  /// valid.
  bool merge_left(Op op, std::size_t begin) {
    if (op != Op::plus && op != Op::minus && op != Op::times) return false;
    const double c = code_[begin].number;
    code_.erase(code_.begin() + static_cast<std::ptrdiff_t>(begin));
    if (op == Op::minus) code_.push_back({Op::negative});
    code_.push_back({op == Op::times ? Op::multiply_number : Op::add_number, 0, c});
    return true;
  }

  std::size_t emit_jump(Op op) {
    code_.push_back({op});
    return code_.size() - 1;
  }

  /// Sets the target of the jump at `from` to the end of the code.
  void land(std::size_t from) { code_[from].index = static_cast<std::int32_t>(code_.size() - from - 1); }

  /// Limits the depth of recursion.
  struct Level {
    explicit Level(Parser& p) : parser(p) {
      if (++parser.level_ > Formula::max_depth + 1)
        parser.tokens_.fail("the formula is nested deeper than " + std::to_string(Formula::max_depth) + " levels",
                            "at most " + std::to_string(Formula::max_depth) + " levels");
    }
    ~Level() { --parser.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    Level(Level&&) = delete;
    Level& operator=(Level&&) = delete;
    Parser& parser;
  };

  Operand expression() {
    const Level level(*this);
    const Operand condition = disjunction();
    if (!tokens_.at("?")) return condition;
    tokens_.take();
    --depth_;
    const int depth = depth_;
    const std::size_t begin = condition.begin;
    if (condition.constant) {
      // keep only the code of the chosen branch
      const bool holds = code_.back().number != 0.0;
      code_.pop_back();
      const Operand yes = expression();
      expect_colon();
      depth_ = depth;
      Operand no = expression();
      if (holds) {
        code_.resize(no.begin);
        return yes;
      }
      code_.erase(code_.begin() + static_cast<std::ptrdiff_t>(begin),
                  code_.begin() + static_cast<std::ptrdiff_t>(no.begin));
      return {begin, no.constant};
    }
    const std::size_t to_no = emit_jump(Op::jump_if_zero);
    expression();
    expect_colon();
    const std::size_t to_end = emit_jump(Op::jump);
    land(to_no);
    depth_ = depth;
    expression();
    land(to_end);
    return {begin, false};
  }

  void expect_colon() {
    if (!tokens_.at(":")) tokens_.fail_expected("':' for the '?' before");
    tokens_.take();
  }

  Operand disjunction() {
    Operand a = conjunction();
    while (tokens_.at("||")) a = logical(a, true);
    return a;
  }

  Operand conjunction() {
    Operand a = comparison();
    while (tokens_.at("&&")) a = logical(a, false);
    return a;
  }

  /// Parses the rest of a && b or, if `any` is true, of a || b.
  Operand logical(Operand a, bool any) {
    tokens_.take();
    const double a_number = code_[a.begin].number;
    const std::size_t decide = emit_jump(Op::jump_if_zero);
    --depth_;
    // a || b:  a, jump_if_zero B, number 1, jump END, B: b, truth, END:
    // a && b:  a, jump_if_zero B, b, truth, jump END, B: number 0, END:
    std::size_t to_end = 0;
    if (any) {
      code_.push_back({Op::number, 0, 1.0});
      to_end = emit_jump(Op::jump);
      land(decide);
    }
    const Operand b = any ? conjunction() : comparison();
    const double b_number = code_.back().number;
    if (a.constant && b.constant) {
      const bool p = a_number != 0.0, q = b_number != 0.0;
      code_.resize(a.begin);
      code_.push_back({Op::number, 0, (any ? p || q : p && q) ? 1.0 : 0.0});
      return {a.begin, true};
    }
    code_.push_back({Op::truth});
    if (!any) {
      to_end = emit_jump(Op::jump);
      land(decide);
      code_.push_back({Op::number, 0, 0.0});
    }
    land(to_end);
    return {a.begin, false};
  }

  Operand comparison() {
    const Operand a = sum();
    const Op* op = comparison_operator();
    if (op == nullptr) return a;
    const Token where = tokens_.take();
    const Operand b = sum();
    if (comparison_operator() != nullptr)
      tokens_.fail("comparisons cannot be chained, found a second one, " + tokens_.found() +
                       "; write a < b && b < c, or parentheses",
                   "&& or parentheses");
    return emit_binary(*op, a, b, where);
  }

  const Op* comparison_operator() const {
    static constexpr std::array<std::pair<std::string_view, Op>, 6> operators{{{"<", Op::less},
                                                                               {"<=", Op::less_equal},
                                                                               {">", Op::greater},
                                                                               {">=", Op::greater_equal},
                                                                               {"==", Op::equal},
                                                                               {"!=", Op::not_equal}}};
    for (const auto& [symbol, op] : operators)
      if (tokens_.at(symbol)) return &op;
    return nullptr;
  }

  Operand sum() {
    Operand a = product();
    while (tokens_.at("+") || tokens_.at("-")) {
      const Op op = tokens_.at("+") ? Op::plus : Op::minus;
      const Token where = tokens_.take();
      const Operand b = product();
      a = emit_binary(op, a, b, where);
    }
    return a;
  }

  Operand product() {
    Operand a = signed_power();
    while (tokens_.at("*") || tokens_.at("/")) {
      const Op op = tokens_.at("*") ? Op::times : Op::over;
      const Token where = tokens_.take();
      const Operand b = signed_power();
      a = emit_binary(op, a, b, where);
    }
    return a;
  }

  Operand signed_power() {
    const bool minus = tokens_.at("-"), negation = tokens_.at("!");
    if (!minus && !negation && !tokens_.at("+")) return power();
    const Level level(*this);
    const Token where = tokens_.take();
    const Operand a = signed_power();
    if (minus) return emit_unary(Op::negative, a, where);
    if (negation) return emit_unary(Op::logical_not, a, where);
    return a;
  }

  Operand power() {
    const Operand a = primary();
    if (!tokens_.at("^")) return a;
    const Level level(*this);
    const Token where = tokens_.take();
    const Operand b = signed_power();
    return emit_binary(Op::power, a, b, where);
  }

  Operand primary() {
    if (tokens_.at(Token::Kind::number)) {
      const Operand a = emit_number(tokens_.current().number);
      tokens_.take();
      return a;
    }
    if (tokens_.at(Token::Kind::name)) return name();
    if (!tokens_.at("(")) tokens_.fail_expected("a value");
    tokens_.take();
    const Operand a = expression();
    if (!tokens_.at(")")) tokens_.fail_expected("an operator or ')' for the '(' before");
    tokens_.take();
    return a;
  }

  Operand name() {
    const std::string_view name = tokens_.current().text;
    if (const NamedFunction* f = find_function(name)) return call(*f);
    Operand a{};
    if (const auto v = std::find(variables_.begin(), variables_.end(), name); v != variables_.end()) {
      push_value();
      code_.push_back({Op::variable, static_cast<std::int32_t>(v - variables_.begin())});
      a = {code_.size() - 1, false};
    } else if (const auto p = parameters_.find(name); p != parameters_.end()) {
      a = emit_number(p->second);
    } else if (const double* c = find_constant(name)) {
      a = emit_number(*c);
    } else {
      std::vector<std::string_view> values(variables_.begin(), variables_.end());
      for (const auto& [parameter, value] : parameters_) values.push_back(parameter);
      const UnknownName unknown = unknown_name(name, tokens_.before_parenthesis(), values);
      tokens_.fail(unknown.message, unknown.nearest);
    }
    tokens_.take();
    return a;
  }

  Operand call(const NamedFunction& f) {
    const Token where = tokens_.take();
    if (!tokens_.at("(")) tokens_.fail_expected("'(' after the function " + quoted(f.name));
    tokens_.take();

    // the arguments; min and max combine each argument after the second with the result so far
    std::array<Operand, 3> arguments{};
    int count = 0;
    for (;;) {
      const Operand a = expression();
      arguments[static_cast<std::size_t>(std::min(count, 2))] = a;
      ++count;
      if (f.open_ended() && count > 1) {
        arguments[0] = emit_binary(f.op, arguments[0], a, where);
        count = 2;
        arguments[1] = {};
      }
      if (tokens_.at(",") && (f.open_ended() || count < f.arguments)) {
        tokens_.take();
        continue;
      }
      if (tokens_.at(")") && count >= f.arguments) break;
      fail_arguments(f, count);
    }
    tokens_.take();

    if (f.open_ended()) return arguments[0];
    if (f.arguments == 1) return emit_unary(f.op, arguments[0], where);
    if (f.arguments == 2) return emit_binary(f.op, arguments[0], arguments[1], where);
    return emit_smoothstep(arguments, where);
  }

  [[noreturn]] void fail_arguments(const NamedFunction& f, int count) const {
    const std::string name = quoted(f.name);
    const std::string takes = "; " + name + " takes " + std::to_string(f.arguments) +
                              (f.open_ended()     ? " or more arguments"
                               : f.arguments == 1 ? " argument"
                                                  : " arguments");
    if (tokens_.at(",") || tokens_.at(")")) {
      const std::string expected = tokens_.at(",") ? "')'" : "',' and another argument";
      tokens_.fail("expected " + expected + ", found " + tokens_.found() + takes, expected);
    }
    const bool more = count < f.arguments;
    tokens_.fail_expected(std::string("an operator or ") + (more ? "','" : "')'") + " in the arguments of " + name);
  }

  Operand emit_smoothstep(const std::array<Operand, 3>& a, const Token& where) {
    if (a[0].constant && a[1].constant && code_[a[0].begin].number == code_[a[1].begin].number)
      throw FormulaError(where.offset, "the first two arguments of 'smoothstep' must differ", "equal numbers",
                         "two different numbers");
    depth_ -= 2;
    code_.push_back({Op::smoothstep});
    if (a[0].constant && a[1].constant && a[2].constant) return fold(a[0].begin, where);
    return {a[0].begin, false};
  }

  Tokens tokens_;
  std::span<const std::string> variables_;
  const Formula::Parameters& parameters_;
  std::vector<Instruction> code_;
  int depth_ = 0;  // values on the evaluation stack
  int level_ = 0;  // recursion depth of the parser
};

}  // namespace

std::vector<Formula::Instruction> parse(std::string_view text, std::span<const std::string> variables,
                                        const Formula::Parameters& parameters) {
  return Parser(text, variables, parameters).parse();
}

}  // namespace carom::formula_detail
