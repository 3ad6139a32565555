#include "core/formula.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <system_error>
#include <type_traits>
#include <utility>

namespace carom {

namespace {

// ---- Numbers that carry derivatives

/// A value with its gradient and, for Order 2, the lower triangle of its Hessian, row by row, in N directions.
/// Left uninitialised on purpose: the stack of an evaluation consists of many of them.
template <int N, int Order>
struct Jet {
  static constexpr int size = N;
  static constexpr int hessian_size = Order == 2 ? N * (N + 1) / 2 : 0;
  double v;
  std::array<double, static_cast<std::size_t>(N)> g;
  std::array<double, static_cast<std::size_t>(hessian_size)> h;
};

using TimeJet = Jet<1, 2>;

double value_of(double x) { return x; }
template <int N, int Order>
double value_of(const Jet<N, Order>& x) {
  return x.v;
}

void set_constant(double& x, double value) { x = value; }
template <int N, int Order>
void set_constant(Jet<N, Order>& x, double value) {
  x.v = value;
  x.g.fill(0.0);
  x.h.fill(0.0);
}

/// Calls f(i, j, k) for each entry k = (i, j) of the packed lower triangle.
template <int N, class F>
void for_each_pair(F f) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i)
    for (std::size_t j = 0; j <= i; ++j, ++k) f(i, j, k);
}

/// a b, where a zero wins against an infinity: what does not vary has no derivative, however steep the function is.
double zero_wins(double a, double b) { return a == 0.0 || b == 0.0 ? 0.0 : a * b; }

void add(double& a, double b) { a += b; }
void subtract(double& a, double b) { a -= b; }
void multiply(double& a, double b) { a *= b; }
void divide(double& a, double b) { a /= b; }
void add_constant(double& a, double c) { a += c; }
void multiply_constant(double& a, double c) { a *= c; }
void divide_constant(double& a, double c) { a /= c; }
void negate(double& a) { a = -a; }

template <int N, int Order>
void add(Jet<N, Order>& a, const Jet<N, Order>& b) {
  a.v += b.v;
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] += b.g[i];
  for (std::size_t k = 0; k < a.h.size(); ++k) a.h[k] += b.h[k];
}

template <int N, int Order>
void subtract(Jet<N, Order>& a, const Jet<N, Order>& b) {
  a.v -= b.v;
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] -= b.g[i];
  for (std::size_t k = 0; k < a.h.size(); ++k) a.h[k] -= b.h[k];
}

template <int N, int Order>
void multiply(Jet<N, Order>& a, const Jet<N, Order>& b) {
  if constexpr (Order == 2)
    for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
      a.h[k] = a.h[k] * b.v + (a.g[i] * b.g[j] + a.g[j] * b.g[i]) + a.v * b.h[k];
    });
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] = a.g[i] * b.v + a.v * b.g[i];
  a.v *= b.v;
}

template <int N, int Order>
void divide(Jet<N, Order>& a, const Jet<N, Order>& b) {
  // From a = q b: a' = q' b + q b' and a'' = q'' b + 2 q' b' + q b''.
  a.v /= b.v;
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] = (a.g[i] - a.v * b.g[i]) / b.v;
  if constexpr (Order == 2)
    for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
      a.h[k] = (a.h[k] - (a.g[i] * b.g[j] + a.g[j] * b.g[i]) - a.v * b.h[k]) / b.v;
    });
}

template <int N, int Order>
void add_constant(Jet<N, Order>& a, double c) {
  a.v += c;
}

template <int N, int Order>
void multiply_constant(Jet<N, Order>& a, double c) {
  a.v *= c;
  for (double& g : a.g) g *= c;
  for (double& h : a.h) h *= c;
}

template <int N, int Order>
void divide_constant(Jet<N, Order>& a, double c) {
  a.v /= c;
  for (double& g : a.g) g /= c;
  for (double& h : a.h) h /= c;
}

template <int N, int Order>
void negate(Jet<N, Order>& a) {
  a.v = -a.v;
  for (double& g : a.g) g = -g;
  for (double& h : a.h) h = -h;
}

/// First and second derivative of a function of one argument.
struct Slopes {
  double f1, f2;
};

/// Replaces x by f(x), given the value f and a callable for the derivatives (not called for plain numbers).
template <class Derivatives>
void chain(double& x, double f, Derivatives) {
  x = f;
}

template <int N, int Order, class Derivatives>
void chain(Jet<N, Order>& x, double f, Derivatives derivatives) {
  const Slopes s = derivatives();
  if (std::isfinite(s.f1) && std::isfinite(s.f2)) {
    if constexpr (Order == 2)
      for_each_pair<N>(
          [&](std::size_t i, std::size_t j, std::size_t k) { x.h[k] = s.f1 * x.h[k] + s.f2 * (x.g[i] * x.g[j]); });
    for (double& g : x.g) g *= s.f1;
  } else {
    if constexpr (Order == 2)
      for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
        x.h[k] = zero_wins(s.f1, x.h[k]) + zero_wins(s.f2, x.g[i] * x.g[j]);
      });
    for (double& g : x.g) g = zero_wins(s.f1, g);
  }
  x.v = f;
}

/// Partial derivatives of a function of two arguments.
struct Partials {
  double fa, fb, faa, fab, fbb;
};

/// Replaces a by f(a, b).
template <class Derivatives>
void chain(double& a, double, double f, Derivatives) {
  a = f;
}

template <int N, int Order, class Derivatives>
void chain(Jet<N, Order>& a, const Jet<N, Order>& b, double f, Derivatives derivatives) {
  const Partials p = derivatives();
  if constexpr (Order == 2)
    for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
      a.h[k] = zero_wins(p.fa, a.h[k]) + zero_wins(p.fb, b.h[k]) + zero_wins(p.faa, a.g[i] * a.g[j]) +
               zero_wins(p.fab, a.g[i] * b.g[j] + a.g[j] * b.g[i]) + zero_wins(p.fbb, b.g[i] * b.g[j]);
    });
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] = zero_wins(p.fa, a.g[i]) + zero_wins(p.fb, b.g[i]);
  a.v = f;
}

// ---- The postfix code

enum class Op : std::int32_t {
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

using Instruction = Formula::Instruction;

Instruction instruction(Op op, std::int32_t index = 0, double number = 0.0) {
  return {static_cast<std::int32_t>(op), index, number};
}

/// Integer exponents up to this size are products; larger ones go to std::pow.
constexpr int max_product_exponent = 64;

/// x^n by squaring, for n >= 0.
double product_power(double x, int n) {
  double result = 1.0;
  for (double square = x; n > 0; n >>= 1, square *= square)
    if (n & 1) result *= square;
  return result;
}

double integer_power(double x, int n) { return n >= 0 ? product_power(x, n) : 1.0 / product_power(x, -n); }

/// c x^p, where a zero c wins.
double scaled_power(double c, double x, double p) { return c == 0.0 ? 0.0 : c * std::pow(x, p); }

Partials power_partials(double x, double y) {
  Partials p{};
  p.fa = scaled_power(y, x, y - 1.0);
  p.faa = scaled_power(y * (y - 1.0), x, y - 2.0);
  if (x == 0.0) {
    // The limits from the right, where they exist.
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
double modulo(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}

template <class T>
void apply_unary(Op op, T& x) {
  const double v = value_of(x);
  switch (op) {
    case Op::negative:
      negate(x);
      break;
    case Op::logical_not:
      set_constant(x, v == 0.0 ? 1.0 : 0.0);
      break;
    case Op::truth:
      set_constant(x, v != 0.0 ? 1.0 : 0.0);
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
        negate(x);
      else if (v == 0.0)
        set_constant(x, 0.0);
      break;
    case Op::sign:
      set_constant(x, v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : v);
      break;
    case Op::floor:
      set_constant(x, std::floor(v));
      break;
    case Op::step:
      set_constant(x, v < 0.0 ? 0.0 : v >= 0.0 ? 1.0 : v);
      break;
    default:
      assert(false);
  }
}

/// a becomes (a op b).
template <class T>
void apply_binary(Op op, T& a, const T& b) {
  const double x = value_of(a), y = value_of(b);
  switch (op) {
    case Op::plus:
      add(a, b);
      break;
    case Op::minus:
      subtract(a, b);
      break;
    case Op::times:
      multiply(a, b);
      break;
    case Op::over:
      divide(a, b);
      break;
    case Op::power:
      chain(a, b, std::pow(x, y), [&] { return power_partials(x, y); });
      break;
    case Op::less:
      set_constant(a, x < y ? 1.0 : 0.0);
      break;
    case Op::less_equal:
      set_constant(a, x <= y ? 1.0 : 0.0);
      break;
    case Op::greater:
      set_constant(a, x > y ? 1.0 : 0.0);
      break;
    case Op::greater_equal:
      set_constant(a, x >= y ? 1.0 : 0.0);
      break;
    case Op::equal:
      set_constant(a, x == y ? 1.0 : 0.0);
      break;
    case Op::not_equal:
      set_constant(a, x != y ? 1.0 : 0.0);
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
void apply_smoothstep(T& a, T& b, T& x) {
  const double u = (value_of(x) - value_of(a)) / (value_of(b) - value_of(a));
  if (u <= 0.0 || u >= 1.0) {
    set_constant(a, u <= 0.0 ? 0.0 : 1.0);
    return;
  }
  subtract(x, a);
  subtract(b, a);
  divide(x, b);
  a = x;
  chain(a, u * u * u * (10.0 + u * (6.0 * u - 15.0)), [&] {
    const double w = u * (1.0 - u);
    return Slopes{30.0 * w * w, 60.0 * w * (1.0 - 2.0 * u)};
  });
}

template <class T>
void apply_power_integer(T& x, int n) {
  const double v = value_of(x);
  chain(x, integer_power(v, n), [&] {
    const double c = n;
    return Slopes{n == 0 ? 0.0 : c * integer_power(v, n - 1),
                  n == 0 || n == 1 ? 0.0 : c * (c - 1.0) * integer_power(v, n - 2)};
  });
}

template <class T>
void apply_power_number(T& x, double p) {
  const double v = value_of(x);
  chain(x, std::pow(v, p), [&] {
    return Slopes{scaled_power(p, v, p - 1.0), scaled_power(p * (p - 1.0), v, p - 2.0)};
  });
}

/// Runs the code; `load(slot, x)` writes a variable with its seeds into x.
template <class T, class Load>
T run(std::span<const Instruction> code, Load load) {
  static_assert(std::is_trivially_default_constructible_v<T>);
  std::array<T, Formula::max_depth> stack;  // uninitialised on purpose NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t size = 0;
  for (std::size_t pc = 0; pc < code.size(); ++pc) {
    const Instruction& in = code[pc];
    const Op op = static_cast<Op>(in.op);
    switch (op) {
      case Op::number:
        set_constant(stack[size++], in.number);
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
        add_constant(stack[size - 1], in.number);
        break;
      case Op::multiply_number:
        multiply_constant(stack[size - 1], in.number);
        break;
      case Op::divide_number:
        divide_constant(stack[size - 1], in.number);
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
        if (op < Op::plus) {
          apply_unary(op, stack[size - 1]);
        } else {
          --size;
          apply_binary(op, stack[size - 1], stack[size]);
        }
    }
  }
  assert(size == 1);
  return stack[0];
}

// ---- Names

struct Function {
  std::string_view name;
  Op op;
  int arguments;  // two or more for min and max
};

constexpr std::array functions{
    Function{"sin", Op::sin, 1},
    Function{"cos", Op::cos, 1},
    Function{"tan", Op::tan, 1},
    Function{"asin", Op::asin, 1},
    Function{"acos", Op::acos, 1},
    Function{"atan", Op::atan, 1},
    Function{"atan2", Op::atan2, 2},
    Function{"sinh", Op::sinh, 1},
    Function{"cosh", Op::cosh, 1},
    Function{"tanh", Op::tanh, 1},
    Function{"exp", Op::exp, 1},
    Function{"log", Op::log, 1},
    Function{"log10", Op::log10, 1},
    Function{"sqrt", Op::sqrt, 1},
    Function{"cbrt", Op::cbrt, 1},
    Function{"abs", Op::abs, 1},
    Function{"sign", Op::sign, 1},
    Function{"floor", Op::floor, 1},
    Function{"step", Op::step, 1},
    Function{"min", Op::min, 2},
    Function{"max", Op::max, 2},
    Function{"pow", Op::power, 2},
    Function{"hypot", Op::hypot, 2},
    Function{"mod", Op::mod, 2},
    Function{"smoothstep", Op::smoothstep, 3},
};

struct Constant {
  std::string_view name;
  double value;
};

constexpr std::array constants{Constant{"pi", std::numbers::pi}, Constant{"e", std::numbers::e}};

/// Names that other languages use for our functions.
constexpr std::array<std::array<std::string_view, 2>, 4> other_names{
    {{"ln", "log"}, {"sgn", "sign"}, {"heaviside", "step"}, {"power", "pow"}}};

template <class Table>
auto find_name(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_identifier(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

/// Number of letters to insert, remove or replace, capitals aside.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (to_lower(a[i - 1]) == to_lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// The first of the candidates nearest to `name`, empty when none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  std::string_view best;
  std::size_t best_distance = (name.size() + 1) / 2 + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

// ---- Text for messages

/// Length of the UTF-8 character at the start of `s`, 0 when it is none.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const std::size_t n = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (n == 0 || n > s.size() || byte(0) > 0xF4) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer encodings than needed, surrogates, and beyond the last character.
  if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
      (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F))
    return 0;
  return n;
}

/// Quoted, shortened, with unprintable bytes as \xNN.
std::string quoted(std::string_view s) {
  constexpr std::size_t longest = 40;
  std::string out = "'";
  const std::string_view rest = s.size() > longest ? s.substr(0, longest) : s;
  for (std::size_t i = 0; i < rest.size();) {
    const std::size_t n = utf8_length(rest.substr(i));
    const auto byte = static_cast<unsigned char>(rest[i]);
    if (n == 0 || byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view hex = "0123456789ABCDEF";
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
      ++i;
    } else {
      out += rest.substr(i, n);
      i += n;
    }
  }
  return out + (s.size() > longest ? "...'" : "'");
}

// ---- The parser

enum class Token { end, number, name, symbol };

/// Emits code while it parses. Every expression leaves exactly one value on the stack of the evaluation.
class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> variables, const Formula::Parameters& parameters)
      : text_(text), variables_(variables), parameters_(parameters) {}

  std::vector<Instruction> parse() {
    if (text_.size() > Formula::max_length)
      throw FormulaError(Formula::max_length,
                         "the formula is longer than " + std::to_string(Formula::max_length) + " characters",
                         std::to_string(text_.size()) + " characters",
                         "at most " + std::to_string(Formula::max_length) + " characters");
    next();
    if (token_ == Token::end)
      throw FormulaError(0, "expected a formula, found an empty text", "an empty text", "a formula");
    expression();
    if (token_ != Token::end) fail_expected("an operator or the end of the formula");
    return std::move(code_);
  }

 private:
  /// The code of an expression starts at `begin` and reaches to the end of the code; a constant is one instruction.
  struct Operand {
    std::size_t begin;
    bool constant;
  };

  // -- Tokens

  void next() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
    start_ = position_;
    if (position_ == text_.size()) {
      token_ = Token::end;
      lexeme_ = {};
      return;
    }
    const char c = text_[position_];
    if (is_digit(c) || c == '.') {
      next_number();
    } else if (is_letter(c)) {
      token_ = Token::name;
      while (is_letter(peek()) || is_digit(peek())) ++position_;
      lexeme_ = text_.substr(start_, position_ - start_);
    } else {
      token_ = Token::symbol;
      static constexpr std::array<std::string_view, 6> doubles{"<=", ">=", "==", "!=", "&&", "||"};
      const bool twice = std::find(doubles.begin(), doubles.end(), text_.substr(start_, 2)) != doubles.end();
      position_ += twice ? 2 : std::max<std::size_t>(1, utf8_length(text_.substr(start_)));
      lexeme_ = text_.substr(start_, position_ - start_);
    }
  }

  void next_number() {
    token_ = Token::number;
    std::size_t digits = 0, points = 0;
    bool good_exponent = true;
    for (; is_digit(peek()) || peek() == '.'; ++position_) ++(peek() == '.' ? points : digits);
    if (digits > 0 && (peek() == 'e' || peek() == 'E')) {
      ++position_;
      if (peek() == '+' || peek() == '-') ++position_;
      good_exponent = is_digit(peek());
      while (is_digit(peek())) ++position_;
      // "1e2.5" is one wrong number, not two.
      for (; peek() == '.' || (!good_exponent && is_digit(peek())); ++position_) good_exponent = false;
    }
    lexeme_ = text_.substr(start_, position_ - start_);
    if (digits == 0 || points > 1 || !good_exponent)
      fail("expected a number like 1, 0.5 or 1e-3, found " + quoted(lexeme_), "a number like 1, 0.5 or 1e-3");
    const auto [end, error] = std::from_chars(lexeme_.data(), lexeme_.data() + lexeme_.size(), number_);
    if (error == std::errc::result_out_of_range)
      fail("the number " + quoted(lexeme_) + " is too large or too small for double precision",
           "a number within double precision");
    if (error != std::errc() || end != lexeme_.data() + lexeme_.size())
      fail("expected a number like 1, 0.5 or 1e-3, found " + quoted(lexeme_), "a number like 1, 0.5 or 1e-3");
  }

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool at(std::string_view symbol) const { return token_ == Token::symbol && lexeme_ == symbol; }

  // -- Errors, at the current token

  std::string found() const { return token_ == Token::end ? "the end of the formula" : quoted(lexeme_); }

  [[noreturn]] void fail(const std::string& message, std::string expected) const {
    throw FormulaError(start_, message, found(), std::move(expected));
  }

  [[noreturn]] void fail_expected(const std::string& expected) const {
    std::string message = "expected " + expected + ", found " + found();
    if (at("=")) message += "; equality is written ==";
    if (at("&")) message += "; 'and' is written &&";
    if (at("|")) message += "; 'or' is written ||";
    if (at("*") && start_ > 0 && text_[start_ - 1] == '*') message += "; a power is written ^";
    const bool value_follows = token_ == Token::name || token_ == Token::number || at("(");
    if (value_follows && expected.starts_with("an operator")) message += "; a product is written *";
    fail(message, expected);
  }

  [[noreturn]] void fail_unknown(bool is_call) const {
    // Functions only where a parenthesis follows; otherwise variables come first among equally near names.
    std::vector<std::string_view> candidates;
    if (!is_call) {
      candidates.assign(variables_.begin(), variables_.end());
      for (const auto& [name, value] : parameters_) candidates.push_back(name);
      for (const Constant& c : constants) candidates.push_back(c.name);
    }
    for (const Function& f : functions) candidates.push_back(f.name);

    std::string_view nearest;
    for (const auto& [theirs, ours] : other_names)
      if (edit_distance(lexeme_.substr(0, 16), theirs) == 0) nearest = ours;
    if (nearest.empty()) nearest = nearest_name(lexeme_, candidates);

    std::string message = std::string("unknown ") + (is_call ? "function " : "name ") + quoted(lexeme_);
    if (!nearest.empty()) {
      message += "; did you mean " + quoted(nearest) + "?";
    } else if (is_call) {
      message += "; functions are";
      for (const Function& f : functions) message.append(" ").append(f.name);
    } else {
      constexpr std::size_t shown = 20;
      message += "; known are";
      const std::size_t known = candidates.size() - functions.size();
      for (std::size_t i = 0; i < std::min(known, shown); ++i) message.append(" ").append(candidates[i]);
      message += known > shown ? " ... and functions" : " and functions";
    }
    fail(message, std::string(nearest));
  }

  // -- Code

  /// Counts values on the stack of the evaluation.
  void push_value() {
    if (++depth_ > Formula::max_depth)
      fail("the formula needs more than " + std::to_string(Formula::max_depth) + " intermediate values",
           "at most " + std::to_string(Formula::max_depth) + " intermediate values");
  }

  Operand emit_number(double value) {
    push_value();
    code_.push_back(instruction(Op::number, 0, value));
    return {code_.size() - 1, true};
  }

  /// Replaces the code from `begin` by its value. `offset` and `name` are for the message.
  Operand fold(std::size_t begin, std::size_t offset, std::string_view name) {
    const double value = run<double>(std::span(code_).subspan(begin), [](std::size_t, double&) { assert(false); });
    if (!std::isfinite(value))
      throw FormulaError(offset, "the constant value of " + quoted(name) + " here is not a finite number", quoted(name),
                         "a finite number");
    code_.resize(begin);
    code_.push_back(instruction(Op::number, 0, value));
    return {begin, true};
  }

  Operand emit_unary(Op op, Operand a, std::size_t offset, std::string_view name) {
    code_.push_back(instruction(op));
    return a.constant ? fold(a.begin, offset, name) : Operand{a.begin, false};
  }

  Operand emit_binary(Op op, Operand a, Operand b, std::size_t offset, std::string_view name) {
    --depth_;
    if (a.constant && b.constant) {
      code_.push_back(instruction(op));
      return fold(a.begin, offset, name);
    }
    if (b.constant && merge_right(op, code_.back().number, offset)) return {a.begin, false};
    if (a.constant && merge_left(op, a.begin)) return {a.begin, false};
    code_.push_back(instruction(op));
    return {a.begin, false};
  }

  /// Turns "number c, op" into one instruction where there is one.
  bool merge_right(Op op, double c, std::size_t offset) {
    Instruction merged;
    if (op == Op::plus) {
      merged = instruction(Op::add_number, 0, c);
    } else if (op == Op::minus) {
      merged = instruction(Op::add_number, 0, -c);
    } else if (op == Op::times) {
      merged = instruction(Op::multiply_number, 0, c);
    } else if (op == Op::over) {
      if (c == 0.0) throw FormulaError(offset, "division by zero", "'/'", "a divisor other than zero");
      merged = instruction(Op::divide_number, 0, c);
    } else if (op == Op::power) {
      const bool as_product = std::rint(c) == c && std::abs(c) <= max_product_exponent;
      merged = as_product ? instruction(Op::power_integer, static_cast<std::int32_t>(c))
                          : instruction(Op::power_number, 0, c);
    } else {
      return false;
    }
    code_.back() = merged;
    return true;
  }

  /// The same for a number before the other operand, whose code then moves down (jumps are relative).
  bool merge_left(Op op, std::size_t begin) {
    if (op != Op::plus && op != Op::minus && op != Op::times) return false;
    const double c = code_[begin].number;
    code_.erase(code_.begin() + static_cast<std::ptrdiff_t>(begin));
    if (op == Op::minus) code_.push_back(instruction(Op::negative));
    code_.push_back(instruction(op == Op::times ? Op::multiply_number : Op::add_number, 0, c));
    return true;
  }

  std::size_t emit_jump(Op op) {
    code_.push_back(instruction(op));
    return code_.size() - 1;
  }

  /// Lets the jump at `from` go to the end of the code.
  void land(std::size_t from) { code_[from].index = static_cast<std::int32_t>(code_.size() - from - 1); }

  // -- Grammar, from loose to tight binding

  /// Bounds the recursion.
  struct Level {
    explicit Level(Parser& p) : parser(p) {
      if (++parser.level_ > Formula::max_depth + 1)
        parser.fail("the formula is nested deeper than " + std::to_string(Formula::max_depth) + " levels",
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
    if (!at("?")) return condition;
    const std::size_t question = start_;
    next();
    --depth_;
    const int depth = depth_;
    const std::size_t begin = condition.begin;
    if (condition.constant) {
      // Keep the code of the branch taken only.
      const bool holds = code_.back().number != 0.0;
      code_.pop_back();
      const Operand yes = expression();
      expect_colon(question);
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
    expect_colon(question);
    const std::size_t to_end = emit_jump(Op::jump);
    land(to_no);
    depth_ = depth;
    expression();
    land(to_end);
    return {begin, false};
  }

  void expect_colon(std::size_t question) {
    if (!at(":")) fail_expected("':' for the '?' at offset " + std::to_string(question));
    next();
  }

  Operand disjunction() {
    Operand a = conjunction();
    while (at("||")) a = logical(a, true);
    return a;
  }

  Operand conjunction() {
    Operand a = comparison();
    while (at("&&")) a = logical(a, false);
    return a;
  }

  /// The rest of a && b or, with `any`, a || b.
  Operand logical(Operand a, bool any) {
    next();
    const double a_number = code_[a.begin].number;
    const std::size_t decide = emit_jump(Op::jump_if_zero);
    --depth_;
    // a || b:  a, jump_if_zero B, number 1, jump END, B: b, truth, END:
    // a && b:  a, jump_if_zero B, b, truth, jump END, B: number 0, END:
    std::size_t to_end = 0;
    if (any) {
      code_.push_back(instruction(Op::number, 0, 1.0));
      to_end = emit_jump(Op::jump);
      land(decide);
    }
    const Operand b = any ? conjunction() : comparison();
    const double b_number = code_.back().number;
    if (a.constant && b.constant) {
      const bool p = a_number != 0.0, q = b_number != 0.0;
      code_.resize(a.begin);
      code_.push_back(instruction(Op::number, 0, (any ? p || q : p && q) ? 1.0 : 0.0));
      return {a.begin, true};
    }
    code_.push_back(instruction(Op::truth));
    if (!any) {
      to_end = emit_jump(Op::jump);
      land(decide);
      code_.push_back(instruction(Op::number, 0, 0.0));
    }
    land(to_end);
    return {a.begin, false};
  }

  Operand comparison() {
    const Operand a = sum();
    const Op* op = comparison_operator();
    if (op == nullptr) return a;
    const std::size_t offset = start_;
    const std::string_view name = lexeme_;
    next();
    const Operand b = sum();
    if (comparison_operator() != nullptr)
      fail("comparisons cannot be chained, found a second one, " + found() + "; write a < b && b < c, or parentheses",
           "&& or parentheses");
    return emit_binary(*op, a, b, offset, name);
  }

  const Op* comparison_operator() const {
    static constexpr std::array<std::pair<std::string_view, Op>, 6> operators{{{"<", Op::less},
                                                                               {"<=", Op::less_equal},
                                                                               {">", Op::greater},
                                                                               {">=", Op::greater_equal},
                                                                               {"==", Op::equal},
                                                                               {"!=", Op::not_equal}}};
    for (const auto& [symbol, op] : operators)
      if (at(symbol)) return &op;
    return nullptr;
  }

  Operand sum() {
    Operand a = product();
    while (at("+") || at("-")) {
      const Op op = at("+") ? Op::plus : Op::minus;
      const std::size_t offset = start_;
      const std::string_view name = lexeme_;
      next();
      const Operand b = product();
      a = emit_binary(op, a, b, offset, name);
    }
    return a;
  }

  Operand product() {
    Operand a = signed_power();
    while (at("*") || at("/")) {
      const Op op = at("*") ? Op::times : Op::over;
      const std::size_t offset = start_;
      const std::string_view name = lexeme_;
      next();
      const Operand b = signed_power();
      a = emit_binary(op, a, b, offset, name);
    }
    return a;
  }

  Operand signed_power() {
    const bool minus = at("-"), negation = at("!");
    if (!minus && !negation && !at("+")) return power();
    const Level level(*this);
    const std::size_t offset = start_;
    const std::string_view name = lexeme_;
    next();
    const Operand a = signed_power();
    if (minus) return emit_unary(Op::negative, a, offset, name);
    if (negation) return emit_unary(Op::logical_not, a, offset, name);
    return a;
  }

  Operand power() {
    const Operand a = primary();
    if (!at("^")) return a;
    const Level level(*this);
    const std::size_t offset = start_;
    next();
    const Operand b = signed_power();
    return emit_binary(Op::power, a, b, offset, "^");
  }

  Operand primary() {
    if (token_ == Token::number) {
      const Operand a = emit_number(number_);
      next();
      return a;
    }
    if (token_ == Token::name) return name();
    if (!at("(")) fail_expected("a value");
    const std::size_t open = start_;
    next();
    const Operand a = expression();
    if (!at(")")) fail_expected("an operator or ')' for the '(' at offset " + std::to_string(open));
    next();
    return a;
  }

  Operand name() {
    if (const auto f = find_name(functions, lexeme_); f != functions.end()) return call(*f);
    Operand a{};
    if (const auto v = std::find(variables_.begin(), variables_.end(), lexeme_); v != variables_.end()) {
      push_value();
      code_.push_back(instruction(Op::variable, static_cast<std::int32_t>(v - variables_.begin())));
      a = {code_.size() - 1, false};
    } else if (const auto p = parameters_.find(lexeme_); p != parameters_.end()) {
      a = emit_number(p->second);
    } else if (const auto c = find_name(constants, lexeme_); c != constants.end()) {
      a = emit_number(c->value);
    } else {
      const std::size_t after = text_.find_first_not_of(" \t\r\n", position_);
      fail_unknown(after != std::string_view::npos && text_[after] == '(');
    }
    next();
    return a;
  }

  Operand call(const Function& f) {
    const std::size_t offset = start_;
    const std::string name = quoted(f.name);
    const bool open_ended = f.op == Op::min || f.op == Op::max;
    next();
    if (!at("(")) fail_expected("'(' after the function " + name);
    next();

    // Arguments; those after the second of min and max join the result so far.
    std::array<Operand, 3> arguments{};
    int count = 0;
    for (;;) {
      const Operand a = expression();
      arguments[static_cast<std::size_t>(std::min(count, 2))] = a;
      ++count;
      if (open_ended && count > 1) {
        arguments[0] = emit_binary(f.op, arguments[0], a, offset, f.name);
        count = 2;
        arguments[1] = {};
      }
      if (at(",") && (open_ended || count < f.arguments)) {
        next();
        continue;
      }
      if (at(")") && count >= f.arguments) break;
      fail_arguments(f, name, count);
    }
    next();

    if (open_ended) return arguments[0];
    if (f.arguments == 1) return emit_unary(f.op, arguments[0], offset, f.name);
    if (f.arguments == 2) return emit_binary(f.op, arguments[0], arguments[1], offset, f.name);
    return emit_smoothstep(arguments, offset);
  }

  [[noreturn]] void fail_arguments(const Function& f, const std::string& name, int count) const {
    const std::string takes = "; " + name + " takes " + std::to_string(f.arguments) +
                              (f.op == Op::min || f.op == Op::max ? " or more arguments"
                               : f.arguments == 1                 ? " argument"
                                                                  : " arguments");
    if (at(",") || at(")")) {
      const std::string expected = at(",") ? "')'" : "',' and another argument";
      fail("expected " + expected + ", found " + found() + takes, expected);
    }
    const bool more = count < f.arguments;
    fail_expected(std::string("an operator or ") + (more ? "','" : "')'") + " in the arguments of " + name);
  }

  Operand emit_smoothstep(const std::array<Operand, 3>& a, std::size_t offset) {
    if (a[0].constant && a[1].constant && code_[a[0].begin].number == code_[a[1].begin].number)
      throw FormulaError(offset, "the first two arguments of 'smoothstep' must differ", "equal numbers",
                         "two different numbers");
    depth_ -= 2;
    code_.push_back(instruction(Op::smoothstep));
    if (a[0].constant && a[1].constant && a[2].constant) return fold(a[0].begin, offset, "smoothstep");
    return {a[0].begin, false};
  }

  std::string_view text_;
  std::span<const std::string> variables_;
  const Formula::Parameters& parameters_;
  std::vector<Instruction> code_;
  int depth_ = 0;  // values on the stack of the evaluation
  int level_ = 0;  // recursion of the parser

  std::size_t position_ = 0;  // behind the current token
  std::size_t start_ = 0;     // of the current token
  Token token_ = Token::end;
  std::string_view lexeme_;
  double number_ = 0.0;
};

// ---- Derivatives in the directions of the variables

/// Loads slots with unit seeds: direction d is slot first[d / block] + d % block.
template <int N, int Order>
struct UnitSeeds {
  const double* x;
  const std::size_t* used;
  std::array<std::size_t, 2> first;
  std::size_t block;

  void operator()(std::size_t slot, Jet<N, Order>& jet) const {
    set_constant(jet, x[used[slot]]);
    for (std::size_t b = 0; b < static_cast<std::size_t>(N) / block; ++b)
      if (slot >= first[b] && slot < first[b] + block) jet.g[b * block + (slot - first[b])] = 1.0;
  }
};

/// Writes the derivatives in N directions to the places of their variables.
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

/// All directions at once for up to eight variables, which is nearly always; else in blocks of eight, or of four and
/// four for the second derivatives.
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
  // The names given.
  const auto check_name = [](const std::string& name, const char* kind) {
    if (!is_identifier(name))
      throw std::invalid_argument(quoted(name) + " cannot be the name of a " + kind +
                                  ": expected a letter, then letters, digits or underscores");
    if (!is_valid_name(name))
      throw std::invalid_argument(quoted(name) + " cannot be the name of a " + kind +
                                  ": it is a constant or a function of formulas");
  };
  for (std::size_t i = 0; i < variables.size(); ++i) {
    check_name(variables[i], "variable");
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

  code_ = Parser(text, variables, parameters).parse();

  // Number the variables that occur.
  for (const Instruction& in : code_)
    if (in.op == static_cast<std::int32_t>(Op::variable)) used_.push_back(static_cast<std::size_t>(in.index));
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  for (Instruction& in : code_)
    if (in.op == static_cast<std::int32_t>(Op::variable))
      in.index = static_cast<std::int32_t>(
          std::lower_bound(used_.begin(), used_.end(), static_cast<std::size_t>(in.index)) - used_.begin());
}

Formula::Formula(std::string_view text, std::initializer_list<std::string> variables, const Parameters& parameters)
    : Formula(text, std::span<const std::string>(variables.begin(), variables.size()), parameters) {}

bool Formula::is_valid_name(std::string_view name) {
  return is_identifier(name) && find_name(functions, name) == functions.end() &&
         find_name(constants, name) == constants.end();
}

bool Formula::is_constant() const { return used_.empty(); }

bool Formula::depends_on(std::size_t i) const { return std::binary_search(used_.begin(), used_.end(), i); }

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
