// Internal to core/formula: the postfix code of a formula, and its evaluation on doubles or on numbers with
// derivatives.
//
// Every instruction works on a stack of numbers: it pushes a number, or replaces the topmost one, two or three numbers
// by one. Jumps are relative to the next instruction and only go forward.
// The templates here and in formula_jets.hpp are static: g++ then inlines functions that are called once, which saves a
// fifth to a third of the time of derivatives.
#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <type_traits>

#include "core/formula/formula.hpp"
#include "core/formula/formula_jets.hpp"

namespace carom {

enum class Formula::Op : std::int32_t {
  // operands and jumps
  number,
  variable,
  jump,
  jump_if_zero,
  // one operand and a constant
  add_number,
  multiply_number,
  divide_number,
  power_integer,
  power_number,
  // one operand
  negative,
  logical_not,
  truth,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  exp,
  log,
  log10,
  sqrt,
  cbrt,
  abs,
  sign,
  floor,
  step,
  // two operands
  plus,
  minus,
  times,
  over,
  power,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  atan2,
  hypot,
  mod,
  min,
  max,
  // three operands
  smoothstep
};

namespace formula_detail {

using Op = Formula::Op;
using Instruction = Formula::Instruction;

/// Powers with integer exponents up to this size are computed as products; larger exponents go to std::pow.
inline constexpr int max_product_exponent = 64;

/// x^n by squaring, for n >= 0.
inline double product_power(double x, int n) {
  double result = 1.0;
  for (double square = x; n > 0; n >>= 1, square *= square)
    if (n & 1) result *= square;
  return result;
}

inline double integer_power(double x, int n) { return n >= 0 ? product_power(x, n) : 1.0 / product_power(x, -n); }

/// c x^p, but 0 if c is zero, even if x^p is infinite.
inline double scaled_power(double c, double x, double p) { return c == 0.0 ? 0.0 : c * std::pow(x, p); }

inline Partials power_partials(double x, double y) {
  Partials p{};
  p.fa = scaled_power(y, x, y - 1.0);
  p.faa = scaled_power(y * (y - 1.0), x, y - 2.0);
  if (x == 0.0) {
    // the limits from the right, if they exist
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    p.fb = y > 0.0 ? 0.0 : none;
    p.fbb = p.fb;
    p.fab = y > 1.0 ? 0.0 : none;
  } else {
    const double log_x = std::log(x);
    const double f = std::pow(x, y);
    p.fb = f * log_x;
    p.fbb = p.fb * log_x;
    p.fab = std::pow(x, y - 1.0) * (1.0 + y * log_x);
  }
  return p;
}

/// The remainder with the sign of y.
inline double modulo(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

template <class T>
static void apply_unary(Op op, T& x) {
  const double v = value_of(x);
  switch (op) {
    case Op::negative:
      x *= -1.0;
      break;
    case Op::logical_not:
      x = v == 0.0 ? 1.0 : 0.0;
      break;
    case Op::truth:
      x = v != 0.0 ? 1.0 : 0.0;
      break;
    case Op::sin: {
      const double s = std::sin(v);
      chain(x, s, [&] { return Slopes{std::cos(v), -s}; });
      break;
    }
    case Op::cos: {
      const double c = std::cos(v);
      chain(x, c, [&] { return Slopes{-std::sin(v), -c}; });
      break;
    }
    case Op::tan: {
      const double t = std::tan(v);
      chain(x, t, [&] { return Slopes{1.0 + t * t, 2.0 * t * (1.0 + t * t)}; });
      break;
    }
    case Op::asin:
      chain(x, std::asin(v), [&] {
        const double w = (1.0 - v) * (1.0 + v), s = std::sqrt(w);
        return Slopes{1.0 / s, v / (w * s)};
      });
      break;
    case Op::acos:
      chain(x, std::acos(v), [&] {
        const double w = (1.0 - v) * (1.0 + v), s = std::sqrt(w);
        return Slopes{-1.0 / s, -v / (w * s)};
      });
      break;
    case Op::atan:
      chain(x, std::atan(v), [&] {
        const double w = 1.0 / (1.0 + v * v);
        return Slopes{w, -2.0 * (v * w) * w};
      });
      break;
    case Op::sinh: {
      const double s = std::sinh(v);
      chain(x, s, [&] { return Slopes{std::cosh(v), s}; });
      break;
    }
    case Op::cosh: {
      const double c = std::cosh(v);
      chain(x, c, [&] { return Slopes{std::sinh(v), c}; });
      break;
    }
    case Op::tanh: {
      const double t = std::tanh(v);
      chain(x, t, [&] {
        const double sech = 1.0 / std::cosh(v), s = sech * sech;  // 1 - t^2 would cancel
        return Slopes{s, -2.0 * t * s};
      });
      break;
    }
    case Op::exp: {
      const double f = std::exp(v);
      chain(x, f, [&] { return Slopes{f, f}; });
      break;
    }
    case Op::log:
      chain(x, std::log(v), [&] { return Slopes{1.0 / v, -1.0 / v / v}; });
      break;
    case Op::log10:
      chain(x, std::log10(v), [&] { return Slopes{std::numbers::log10e / v, -std::numbers::log10e / v / v}; });
      break;
    case Op::sqrt: {
      const double r = std::sqrt(v);
      chain(x, r, [&] { return Slopes{0.5 / r, -0.25 / (r * v)}; });
      break;
    }
    case Op::cbrt: {
      const double r = std::cbrt(v);
      chain(x, r, [&] { return Slopes{1.0 / (3.0 * r * r), -2.0 / (9.0 * r * r * v)}; });
      break;
    }
    case Op::abs:
      if (v < 0.0)
        x *= -1.0;
      else if (v == 0.0)
        x = 0.0;
      break;
    case Op::sign:
      x = v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : v;
      break;
    case Op::floor:
      x = std::floor(v);
      break;
    case Op::step:
      x = v < 0.0 ? 0.0 : v >= 0.0 ? 1.0 : v;
      break;
    default:
      assert(false);
  }
}

/// a becomes (a op b).
template <class T>
static void apply_binary(Op op, T& a, const T& b) {
  const double x = value_of(a), y = value_of(b);
  switch (op) {
    case Op::plus:
      a += b;
      break;
    case Op::minus:
      a -= b;
      break;
    case Op::times:
      a *= b;
      break;
    case Op::over:
      a /= b;
      break;
    case Op::power:
      chain(a, b, std::pow(x, y), [&] { return power_partials(x, y); });
      break;
    case Op::less:
      a = x < y ? 1.0 : 0.0;
      break;
    case Op::less_equal:
      a = x <= y ? 1.0 : 0.0;
      break;
    case Op::greater:
      a = x > y ? 1.0 : 0.0;
      break;
    case Op::greater_equal:
      a = x >= y ? 1.0 : 0.0;
      break;
    case Op::equal:
      a = x == y ? 1.0 : 0.0;
      break;
    case Op::not_equal:
      a = x != y ? 1.0 : 0.0;
      break;
    case Op::atan2:
      // atan2(a, b): a is the sine, b the cosine.
      chain(a, b, std::atan2(x, y), [&] {
        const double r = std::hypot(x, y), s = x / r, c = y / r;
        const double mixed = 2.0 * (s / r) * (c / r);
        return Partials{c / r, -s / r, -mixed, ((s - c) / r) * ((s + c) / r), mixed};
      });
      break;
    case Op::hypot: {
      const double r = std::hypot(x, y);
      chain(a, b, r, [&] {
        const double c = x / r, s = y / r;
        return Partials{c, s, s * s / r, -s * c / r, c * c / r};
      });
      break;
    }
    case Op::mod: {
      const double r = modulo(x, y);
      chain(a, b, r, [&] { return Partials{1.0, -std::rint((x - r) / y), 0.0, 0.0, 0.0}; });
      break;
    }
    case Op::min:
      if (y < x || std::isnan(y)) a = b;
      break;
    case Op::max:
      if (y > x || std::isnan(y)) a = b;
      break;
    default:
      assert(false);
  }
}

/// a becomes smoothstep(a, b, x).
template <class T>
static void apply_smoothstep(T& a, T& b, T& x) {
  const double u = (value_of(x) - value_of(a)) / (value_of(b) - value_of(a));
  if (u <= 0.0 || u >= 1.0) {
    a = u <= 0.0 ? 0.0 : 1.0;
    return;
  }
  x -= a;
  b -= a;
  x /= b;
  a = x;
  chain(a, u * u * u * (10.0 + u * (6.0 * u - 15.0)), [&] {
    const double w = u * (1.0 - u);
    return Slopes{30.0 * w * w, 60.0 * w * (1.0 - 2.0 * u)};
  });
}

template <class T>
static void apply_power_integer(T& x, int n) {
  const double v = value_of(x);
  chain(x, integer_power(v, n), [&] {
    const double c = n;
    return Slopes{n == 0 ? 0.0 : c * integer_power(v, n - 1),
                  n == 0 || n == 1 ? 0.0 : c * (c - 1.0) * integer_power(v, n - 2)};
  });
}

template <class T>
static void apply_power_number(T& x, double p) {
  const double v = value_of(x);
  chain(x, std::pow(v, p), [&] {
    return Slopes{scaled_power(p, v, p - 1.0), scaled_power(p * (p - 1.0), v, p - 2.0)};
  });
}

/// Runs the code; `load(slot, x)` writes a variable with its seeds into x.
template <class T, class Load>
static T run(std::span<const Instruction> code, Load load) {
  static_assert(std::is_trivially_default_constructible_v<T>);
  std::array<T, Formula::max_depth> stack;  // uninitialised on purpose NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t size = 0;
  for (std::size_t pc = 0; pc < code.size(); ++pc) {
    const Instruction& in = code[pc];
    switch (in.op) {
      case Op::number:
        stack[size++] = in.number;
        break;
      case Op::variable:
        load(static_cast<std::size_t>(in.index), stack[size++]);
        break;
      case Op::jump:
        pc += static_cast<std::size_t>(in.index);
        break;
      case Op::jump_if_zero:
        if (value_of(stack[--size]) == 0.0) pc += static_cast<std::size_t>(in.index);
        break;
      case Op::add_number:
        stack[size - 1] += in.number;
        break;
      case Op::multiply_number:
        stack[size - 1] *= in.number;
        break;
      case Op::divide_number:
        stack[size - 1] /= in.number;
        break;
      case Op::power_integer:
        apply_power_integer(stack[size - 1], in.index);
        break;
      case Op::power_number:
        apply_power_number(stack[size - 1], in.number);
        break;
      case Op::smoothstep:
        size -= 2;
        apply_smoothstep(stack[size - 1], stack[size], stack[size + 1]);
        break;
      default:
        if (in.op < Op::plus) {
          apply_unary(in.op, stack[size - 1]);
        } else {
          --size;
          apply_binary(in.op, stack[size - 1], stack[size]);
        }
    }
  }
  assert(size == 1);
  return stack[0];
}

}  // namespace formula_detail

}  // namespace carom
