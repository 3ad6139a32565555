// Dual numbers for forward differentiation: a value and N derivatives,
//
//   x = v + sum_i d_i eps_i,   eps_i eps_j = 0,   f(x) = f(v) + f'(v) sum_i d_i eps_i,
//
// exact to rounding: no step size, no truncation. The kernels are templates over their scalar; evaluated with
// Dual<N> they return a result and its derivatives along N directions at once. Dual<N> is a scalar for Eigen's
// fixed-size matrices, and mixes with double.
//
// Limits: first derivatives only. Comparisons and branches depend on the value only. If a function has no derivative
// (sqrt at 0, asin at 1), the derivative is infinite or NaN; abs has the slope +1 at 0.
// Reference: A. Griewank, A. Walther, Evaluating Derivatives, SIAM 2008, chapter 3.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>

namespace carom {

// Value v and derivatives d[0..N-1].
template <int N>
struct Dual {
  static_assert(N > 0);
  static constexpr std::size_t size = static_cast<std::size_t>(N);

  double v = 0.0;
  std::array<double, size> d{};

  constexpr Dual() = default;
  // A constant: all derivatives are zero.
  constexpr Dual(double value) : v(value) {}

  // The i-th independent variable at `value`: derivative 1 along direction i, 0 <= i < N.
  static constexpr Dual variable(double value, int i) {
    Dual x(value);
    x.d[static_cast<std::size_t>(i)] = 1.0;
    return x;
  }

  Dual& operator+=(const Dual& b) {
    v += b.v;
    for (std::size_t i = 0; i < size; ++i) d[i] += b.d[i];
    return *this;
  }
  Dual& operator-=(const Dual& b) {
    v -= b.v;
    for (std::size_t i = 0; i < size; ++i) d[i] -= b.d[i];
    return *this;
  }
  // The right operand may be *this.
  Dual& operator*=(const Dual& b) {
    const double av = v, bv = b.v;
    for (std::size_t i = 0; i < size; ++i) d[i] = d[i] * bv + av * b.d[i];
    v = av * bv;
    return *this;
  }
  Dual& operator/=(const Dual& b) {
    const double bv = b.v, quotient = v / bv;
    for (std::size_t i = 0; i < size; ++i) d[i] = (d[i] - quotient * b.d[i]) / bv;
    v = quotient;
    return *this;
  }

  friend Dual operator+(Dual a, const Dual& b) { return a += b; }
  friend Dual operator-(Dual a, const Dual& b) { return a -= b; }
  friend Dual operator*(Dual a, const Dual& b) { return a *= b; }
  friend Dual operator/(Dual a, const Dual& b) { return a /= b; }
  friend Dual operator+(const Dual& a) { return a; }
  friend Dual operator-(const Dual& a) { return a.chain(-a.v, -1.0); }

  // Comparisons use only the value.
  friend bool operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.v != b.v; }
  friend bool operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.v <= b.v; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.v > b.v; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.v >= b.v; }

  friend Dual sqrt(const Dual& a) {
    const double root = std::sqrt(a.v);
    return a.chain(root, 0.5 / root);
  }
  friend Dual sin(const Dual& a) { return a.chain(std::sin(a.v), std::cos(a.v)); }
  friend Dual cos(const Dual& a) { return a.chain(std::cos(a.v), -std::sin(a.v)); }
  friend Dual tan(const Dual& a) {
    const double t = std::tan(a.v);
    return a.chain(t, 1.0 + t * t);
  }
  friend Dual asin(const Dual& a) { return a.chain(std::asin(a.v), 1.0 / std::sqrt((1.0 - a.v) * (1.0 + a.v))); }
  friend Dual acos(const Dual& a) { return a.chain(std::acos(a.v), -1.0 / std::sqrt((1.0 - a.v) * (1.0 + a.v))); }
  friend Dual atan(const Dual& a) { return a.chain(std::atan(a.v), 1.0 / (1.0 + a.v * a.v)); }
  friend Dual exp(const Dual& a) {
    const double e = std::exp(a.v);
    return a.chain(e, e);
  }
  friend Dual log(const Dual& a) { return a.chain(std::log(a.v), 1.0 / a.v); }
  friend Dual abs(const Dual& a) { return a.v < 0.0 ? -a : a; }
  friend Dual fabs(const Dual& a) { return abs(a); }

  // Angle of the point (x, y), with y first as in std::atan2; not differentiable at the origin.
  friend Dual atan2(const Dual& y, const Dual& x) {
    const double r = std::hypot(x.v, y.v), c = x.v / r, s = y.v / r;
    Dual angle(std::atan2(y.v, x.v));
    for (std::size_t i = 0; i < size; ++i) angle.d[i] = (c * y.d[i] - s * x.d[i]) / r;
    return angle;
  }

  // a^p with a constant exponent, for any base that std::pow accepts.
  friend Dual pow(const Dual& a, double p) {
    return a.chain(std::pow(a.v, p), p == 0.0 ? 0.0 : p * std::pow(a.v, p - 1.0));
  }
  // a^b if both vary: a > 0, or a = 0 with b > 1.
  friend Dual pow(const Dual& a, const Dual& b) {
    const double power = std::pow(a.v, b.v);
    const double by_base = b.v == 0.0 ? 0.0 : b.v * std::pow(a.v, b.v - 1.0);
    const double by_exponent = power == 0.0 ? 0.0 : power * std::log(a.v);
    Dual result(power);
    for (std::size_t i = 0; i < size; ++i) result.d[i] = by_base * a.d[i] + by_exponent * b.d[i];
    return result;
  }
  friend Dual pow(double a, const Dual& b) { return pow(Dual(a), b); }

  // True when the value and every derivative are finite.
  friend bool isfinite(const Dual& a) {
    bool finite = std::isfinite(a.v);
    for (const double di : a.d) finite = finite && std::isfinite(di);
    return finite;
  }
  friend bool isnan(const Dual& a) {
    bool nan = std::isnan(a.v);
    for (const double di : a.d) nan = nan || std::isnan(di);
    return nan;
  }

  friend std::ostream& operator<<(std::ostream& out, const Dual& a) {
    out << a.v << " [";
    for (std::size_t i = 0; i < size; ++i) out << (i > 0 ? " " : "") << a.d[i];
    return out << "]";
  }

 private:
  // f(*this), given f and f' at the value.
  Dual chain(double f, double slope) const {
    Dual result(f);
    for (std::size_t i = 0; i < size; ++i) result.d[i] = slope * d[i];
    return result;
  }
};

// x as N independent variables: x_i with derivative 1 along direction i. x: N components, double.
template <typename Derived>
auto make_variables(const Eigen::MatrixBase<Derived>& x) {
  constexpr int n = Derived::SizeAtCompileTime;
  static_assert(n > 0, "make_variables needs a vector of fixed size");
  Eigen::Matrix<Dual<n>, n, 1> result;
  for (int i = 0; i < n; ++i) result(i) = Dual<n>::variable(x(i), i);
  return result;
}

// The values of a matrix of dual numbers.
template <int N, int Rows, int Cols, int Options>
Eigen::Matrix<double, Rows, Cols, Options> values(const Eigen::Matrix<Dual<N>, Rows, Cols, Options>& x) {
  static_assert(Rows > 0 && Cols > 0, "values needs a matrix of fixed size");
  Eigen::Matrix<double, Rows, Cols, Options> result;
  for (int j = 0; j < Cols; ++j) {
    for (int i = 0; i < Rows; ++i) result(i, j) = x(i, j).v;
  }
  return result;
}

// Jacobian of a vector of dual numbers: row i holds the N derivatives of component i.
template <int N, int Rows>
Eigen::Matrix<double, Rows, N> jacobian(const Eigen::Matrix<Dual<N>, Rows, 1>& x) {
  static_assert(Rows > 0, "jacobian needs a vector of fixed size");
  Eigen::Matrix<double, Rows, N> result;
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < N; ++j) result(i, j) = x(i).d[static_cast<std::size_t>(j)];
  }
  return result;
}

}  // namespace carom

namespace Eigen {

template <int N>
struct NumTraits<carom::Dual<N>> {
  using Real = carom::Dual<N>;
  using NonInteger = carom::Dual<N>;
  using Nested = carom::Dual<N>;
  using Literal = double;
  enum {
    IsInteger = 0,
    IsSigned = 1,
    IsComplex = 0,
    RequireInitialization = 1,
    ReadCost = N + 1,
    AddCost = N + 1,
    MulCost = 3 * N + 1
  };
  static Real epsilon() { return std::numeric_limits<double>::epsilon(); }
  static Real dummy_precision() { return NumTraits<double>::dummy_precision(); }
  static Real highest() { return std::numeric_limits<double>::max(); }
  static Real lowest() { return std::numeric_limits<double>::lowest(); }
  static Real infinity() { return std::numeric_limits<double>::infinity(); }
  static Real quiet_NaN() { return std::numeric_limits<double>::quiet_NaN(); }
  static int digits10() { return NumTraits<double>::digits10(); }
};

// Products, sums and quotients of dual and real matrices.
template <int N, typename Operation>
struct ScalarBinaryOpTraits<carom::Dual<N>, double, Operation> {
  using ReturnType = carom::Dual<N>;
};
template <int N, typename Operation>
struct ScalarBinaryOpTraits<double, carom::Dual<N>, Operation> {
  using ReturnType = carom::Dual<N>;
};

}  // namespace Eigen
