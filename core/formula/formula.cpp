#include "core/formula/formula.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "core/formula/formula_jets.hpp"
#include "core/formula/formula_names.hpp"
#include "core/formula/formula_parser.hpp"
#include "core/formula/formula_program.hpp"
#include "core/formula/formula_tokens.hpp"

namespace carom {

using namespace formula_detail;

namespace {

using TimeJet = Jet<1, 2>;

/// Loads variables with unit seeds: direction d differentiates with respect to slot first[d / block] + d % block.
template <int N, int Order>
struct UnitSeeds {
  const double* x;
  const std::size_t* used;
  std::array<std::size_t, 2> first;
  std::size_t block;

  void operator()(std::size_t slot, Jet<N, Order>& jet) const {
    jet = x[used[slot]];
    for (std::size_t b = 0; b < static_cast<std::size_t>(N) / block; ++b)
      if (slot >= first[b] && slot < first[b] + block) jet.g[b * block + (slot - first[b])] = 1.0;
  }
};

/// Computes derivatives in N directions and writes them to the entries of their variables.
template <int N, int Order>
double derive(std::span<const Instruction> code, std::span<const std::size_t> used, std::span<const double> x,
              std::array<std::size_t, 2> first, std::size_t block, std::span<double> gradient,
              std::span<double> hessian) {
  using T = Jet<N, Order>;
  const T f = run<T>(code, UnitSeeds<N, Order>{x.data(), used.data(), first, block});
  const auto slot = [&](std::size_t d) { return first[d / block] + d % block; };
  for (std::size_t i = 0; i < f.g.size(); ++i)
    if (slot(i) < used.size()) gradient[used[slot(i)]] = f.g[i];
  if constexpr (Order == 2)
    for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
      if (slot(i) >= used.size() || slot(j) >= used.size()) return;
      const std::size_t row = used[slot(i)], column = used[slot(j)];
      hessian[row * x.size() + column] = f.h[k];
      hessian[column * x.size() + row] = f.h[k];
    });
  return f.v;
}

/// Formulas of up to eight variables (nearly all) need one pass. More variables are treated in blocks of eight, or for
/// second derivatives in pairs of blocks of four.
template <int Order>
double derive_all(std::span<const Instruction> code, std::span<const std::size_t> used, std::span<const double> x,
                  std::span<double> gradient, std::span<double> hessian) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  std::fill(hessian.begin(), hessian.end(), 0.0);
  const std::size_t n = used.size();
  switch (n) {
    case 0:
    case 1:
      return derive<1, Order>(code, used, x, {}, 1, gradient, hessian);
    case 2:
      return derive<2, Order>(code, used, x, {}, 2, gradient, hessian);
    case 3:
      return derive<3, Order>(code, used, x, {}, 3, gradient, hessian);
    case 4:
      return derive<4, Order>(code, used, x, {}, 4, gradient, hessian);
    default:
      if (n <= 8) return derive<8, Order>(code, used, x, {}, 8, gradient, hessian);
  }
  double value = 0.0;
  if constexpr (Order == 1) {
    for (std::size_t i = 0; i < n; i += 8) value = derive<8, 1>(code, used, x, {i, 0}, 8, gradient, hessian);
  } else {
    for (std::size_t i = 4; i < n; i += 4)
      for (std::size_t j = 0; j < i; j += 4) value = derive<8, 2>(code, used, x, {j, i}, 4, gradient, hessian);
  }
  return value;
}

}  // namespace

FormulaError::FormulaError(std::size_t offset, std::string message, std::string found, std::string expected)
    : std::runtime_error("offset " + std::to_string(offset) + ": " + message),
      offset_(offset),
      message_(std::move(message)),
      found_(std::move(found)),
      expected_(std::move(expected)) {}

Formula::Formula(std::string_view text, std::span<const std::string> variables, const Parameters& parameters)
    : text_(text.substr(0, max_length + 1)), variable_count_(variables.size()) {
  // check the names of variables and parameters
  const auto check_name = [](std::string_view name, const char* kind) {
    if (!is_identifier(name))
      throw std::invalid_argument(quoted(name) + " cannot be the name of a " + kind +
                                  ": expected a letter, then letters, digits or underscores");
    if (!is_valid_name(name))
      throw std::invalid_argument(quoted(name) + " cannot be the name of a " + kind +
                                  ": it is a constant or a function of formulas");
  };
  for (std::size_t i = 0; i < variables.size(); ++i) {
    check_name(without_rate_mark(variables[i]), "variable");
    if (std::find(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(i), variables[i]) !=
        variables.begin() + static_cast<std::ptrdiff_t>(i))
      throw std::invalid_argument("the variable " + quoted(variables[i]) + " is given twice");
  }
  for (const auto& [name, value] : parameters) {
    check_name(name, "parameter");
    if (std::find(variables.begin(), variables.end(), name) != variables.end())
      throw std::invalid_argument(quoted(name) + " is given both as a variable and as a parameter");
    if (!std::isfinite(value)) throw std::invalid_argument("the parameter " + quoted(name) + " is not finite");
  }

  code_ = parse(text, variables, parameters);

  // number the variables that occur in the code
  for (const Instruction& in : code_)
    if (in.op == Op::variable) used_.push_back(static_cast<std::size_t>(in.index));
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  for (Instruction& in : code_)
    if (in.op == Op::variable)
      in.index = static_cast<std::int32_t>(
          std::lower_bound(used_.begin(), used_.end(), static_cast<std::size_t>(in.index)) - used_.begin());
}

Formula::Formula(std::string_view text, std::initializer_list<std::string> variables, const Parameters& parameters)
    : Formula(text, std::span<const std::string>(variables.begin(), variables.size()), parameters) {}

bool Formula::is_valid_name(std::string_view name) {
  return is_identifier(name) && find_function(name) == nullptr && find_constant(name) == nullptr;
}

bool Formula::is_constant() const { return used_.empty(); }

bool Formula::depends_on(std::size_t i) const { return std::binary_search(used_.begin(), used_.end(), i); }

int Formula::degree_in(std::size_t n) const {
  if (used_.empty() || used_.front() >= n) return 0;
  // what is known of a number on the stack: a function of the other variables alone, or the degree
  constexpr int constant = 0, others = 1, affine = 2, quadratic = 3, any = 4;
  std::array<int, max_depth> stack{};
  std::size_t size = 0;
  const auto product = [](int a, int b) {
    if (a == constant || b == constant) return std::max(a, b);
    if (a == others && b == others) return others;
    return a == affine && b == affine ? quadratic : any;
  };
  for (const Instruction& in : code_) {
    int& top = stack[size == 0 ? 0 : size - 1];
    switch (in.op) {
      case Op::number:
        stack[size++] = constant;
        break;
      case Op::variable:
        stack[size++] = used_[static_cast<std::size_t>(in.index)] < n ? affine : others;
        break;
      case Op::jump:
      case Op::jump_if_zero:
        return any_degree;
      case Op::add_number:
      case Op::multiply_number:
      case Op::divide_number:
      case Op::negative:
        break;
      case Op::power_integer:
        if (in.index == 0)
          top = constant;
        else if (in.index == 2)
          top = product(top, top);
        else if (in.index != 1 && top > others)
          top = any;
        break;
      case Op::plus:
      case Op::minus:
        --size;
        stack[size - 1] = std::max(stack[size - 1], stack[size]);
        break;
      case Op::times:
        --size;
        stack[size - 1] = product(stack[size - 1], stack[size]);
        break;
      default: {
        // other functions of other variables alone are such functions, too
        const std::size_t operands = in.op < Op::plus ? 1 : in.op == Op::smoothstep ? 3 : 2;
        int most = constant;
        for (std::size_t k = 0; k < operands; ++k) most = std::max(most, stack[--size]);
        stack[size++] = most > others ? any : most;
      }
    }
  }
  return stack[0] <= others ? 0 : stack[0] == any ? any_degree : stack[0] - others;
}

double Formula::value(std::span<const double> x) const {
  assert(x.size() == variable_count_);
  return run<double>(code_, [&](std::size_t slot, double& v) { v = x[used_[slot]]; });
}

double Formula::gradient(std::span<const double> x, std::span<double> gradient) const {
  assert(x.size() == variable_count_ && gradient.size() == x.size());
  return derive_all<1>(code_, used_, x, gradient, {});
}

double Formula::hessian(std::span<const double> x, std::span<double> gradient, std::span<double> hessian) const {
  assert(x.size() == variable_count_ && gradient.size() == x.size() && hessian.size() == x.size() * x.size());
  return derive_all<2>(code_, used_, x, gradient, hessian);
}

TimeValue Formula::along(std::span<const double> x, std::span<const double> v, std::span<const double> a) const {
  assert(x.size() == variable_count_ && v.size() == x.size() && a.size() == x.size());
  const TimeJet f = run<TimeJet>(code_, [&](std::size_t slot, TimeJet& jet) {
    const std::size_t i = used_[slot];
    jet.v = x[i];
    jet.g[0] = v[i];
    jet.h[0] = a[i];
  });
  return {f.v, f.g[0], f.h[0]};
}

double Formula::value(double t) const { return value(std::span<const double>(&t, 1)); }

TimeValue Formula::evaluate(double t) const {
  assert(variable_count_ == 1);
  const TimeJet f = run<TimeJet>(code_, [t](std::size_t, TimeJet& jet) {
    jet.v = t;
    jet.g[0] = 1.0;
    jet.h[0] = 0.0;
  });
  return {f.v, f.g[0], f.h[0]};
}

}  // namespace carom
