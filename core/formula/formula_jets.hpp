// Internal to core/formula: numbers with derivatives, on which the code of a formula runs.
//
// A plain double is a number without derivatives. The code that runs formulas is written once, for double and for every
// Jet.
// Reference: A. Griewank, A. Walther, Evaluating Derivatives, SIAM 2008, chapters 3 and 13.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace carom::formula_detail {

/// Calls f(i, j, k) for each entry k = (i, j) of the packed lower triangle.
template <int N, class F>
void for_each_pair(F f) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(N); ++i)
    for (std::size_t j = 0; j <= i; ++j, ++k) f(i, j, k);
}

/// a b, but 0 if a or b is zero, even if the other factor is infinite: a constant argument has derivative zero under
/// any function.
inline double zero_wins(double a, double b) { return a == 0.0 || b == 0.0 ? 0.0 : a * b; }

/// A value with its gradient in N directions and, for Order 2, the lower triangle of its Hessian, row by row. Jets are
/// left uninitialised on purpose, because the stack of an evaluation consists of many of them.
template <int N, int Order>
struct Jet {
  static constexpr int hessian_size = Order == 2 ? N * (N + 1) / 2 : 0;
  double v;
  std::array<double, static_cast<std::size_t>(N)> g;
  std::array<double, static_cast<std::size_t>(hessian_size)> h;

  /// Assigns a constant: all derivatives are zero.
  Jet& operator=(double c) {
    v = c;
    g.fill(0.0);
    h.fill(0.0);
    return *this;
  }

  Jet& operator+=(double c) {
    v += c;
    return *this;
  }

  Jet& operator*=(double c) {
    v *= c;
    for (double& x : g) x *= c;
    for (double& x : h) x *= c;
    return *this;
  }

  Jet& operator/=(double c) {
    v /= c;
    for (double& x : g) x /= c;
    for (double& x : h) x /= c;
    return *this;
  }

  Jet& operator+=(const Jet& b) {
    v += b.v;
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += b.g[i];
    for (std::size_t k = 0; k < h.size(); ++k) h[k] += b.h[k];
    return *this;
  }

  Jet& operator-=(const Jet& b) {
    v -= b.v;
    for (std::size_t i = 0; i < g.size(); ++i) g[i] -= b.g[i];
    for (std::size_t k = 0; k < h.size(); ++k) h[k] -= b.h[k];
    return *this;
  }

  Jet& operator*=(const Jet& b) {
    if constexpr (Order == 2)
      for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
        h[k] = h[k] * b.v + (g[i] * b.g[j] + g[j] * b.g[i]) + v * b.h[k];
      });
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = g[i] * b.v + v * b.g[i];
    v *= b.v;
    return *this;
  }

  Jet& operator/=(const Jet& b) {
    // From a = q b: a' = q' b + q b' and a'' = q'' b + 2 q' b' + q b''.
    v /= b.v;
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = (g[i] - v * b.g[i]) / b.v;
    if constexpr (Order == 2)
      for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
        h[k] = (h[k] - (g[i] * b.g[j] + g[j] * b.g[i]) - v * b.h[k]) / b.v;
      });
    return *this;
  }
};

inline double value_of(double x) { return x; }
template <int N, int Order>
double value_of(const Jet<N, Order>& x) {
  return x.v;
}

/// First and second derivative of a function of one argument.
struct Slopes {
  double f1, f2;
};

/// Replaces x by f(x). f: the value; the callable returns the derivatives and is not called for plain numbers.
template <class Derivatives>
static void chain(double& x, double f, Derivatives) {
  x = f;
}

template <int N, int Order, class Derivatives>
static void chain(Jet<N, Order>& x, double f, Derivatives derivatives) {
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
static void chain(double& a, double, double f, Derivatives) {
  a = f;
}

template <int N, int Order, class Derivatives>
static void chain(Jet<N, Order>& a, const Jet<N, Order>& b, double f, Derivatives derivatives) {
  const Partials p = derivatives();
  if constexpr (Order == 2)
    for_each_pair<N>([&](std::size_t i, std::size_t j, std::size_t k) {
      a.h[k] = zero_wins(p.fa, a.h[k]) + zero_wins(p.fb, b.h[k]) + zero_wins(p.faa, a.g[i] * a.g[j]) +
               zero_wins(p.fab, a.g[i] * b.g[j] + a.g[j] * b.g[i]) + zero_wins(p.fbb, b.g[i] * b.g[j]);
    });
  for (std::size_t i = 0; i < a.g.size(); ++i) a.g[i] = zero_wins(p.fa, a.g[i]) + zero_wins(p.fb, b.g[i]);
  a.v = f;
}

}  // namespace carom::formula_detail
