// Rotations: the Lie group SO(3), its exponential, logarithm and tangent operators with their derivatives.
//
//   R(w) = exp(w) = I + sin(t)/t hat(w) + (1 - cos t)/t^2 hat(w)^2,      t = |w|
//   R = R_n exp(w(t))  =>  Omega = T(w) w',   R' = R hat(Omega)           (Omega in the body frame)
//   T(w) = I - (1 - cos t)/t^2 hat(w) + (t - sin t)/t^3 hat(w)^2
//   T(w)^-1 = I + 1/2 hat(w) + (1 - t/2 cot(t/2))/t^2 hat(w)^2
//
// Convention: a rotation vector w is in radians. A rotation R maps body components to inertial components, and so does
// its unit quaternion q = (w, x, y, z), a plain 4-vector with the scalar first; q and -q are the same rotation. The
// adjoint representation of SO(3) is R itself. Useful identities: T(-w) = T(w)^T, T(-w)^-1 T(w) = exp(-w).
// Both tangents have the form F(w) = I + p(z) hat(w) + r(z) hat(w)^2 with z = |w|^2. An operator is defined by p, r and
// their first two derivatives with respect to z; the `polynomial` functions compute the operator and its derivatives
// from them. se3.hpp uses the same functions.
//
// Every function accepts any scalar type with the arithmetic of double and sqrt, sin, cos, atan2 (double, Dual).
// Branches exist only where a series is exchanged for a closed form, in half_angle and the two *_coefficients functions
// (a SIMD lane type overloads these three), and where a sign or pivot is chosen, in log_quaternion and
// matrix_to_quaternion. No function allocates memory.
//
// Limits: exp and T hold for any angle, to the relative precision of t itself (100 rad: 1e-14), for |w| < 1e150. T is
// singular at t = 2 pi k, k >= 1: T^-1 has a pole there, and its relative error near the pole is eps/|2 pi - t|. log
// returns angles up to pi; at pi the sign of the axis is arbitrary.
//
// Reference: O. Bruels, A. Cardona, M. Arnold, Lie group generalized-alpha time integration of constrained flexible
// multibody systems, Mechanism and Machine Theory 48 (2012) 121-137. Quaternion from a matrix: S. W.
// Shepperd, Journal of Guidance and Control 1 (1978) 223-224.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <cstddef>

namespace carom::so3 {

template <typename T>
using Vector3 = Eigen::Matrix<T, 3, 1>;
template <typename T>
using Matrix3 = Eigen::Matrix<T, 3, 3>;
// (w, x, y, z): the scalar comes first.
template <typename T>
using Quaternion = Eigen::Matrix<T, 4, 1>;

namespace detail {

// Derivative number `Order` of c_K(z) = sum_i (-z)^i / (2 i + K)!, as coefficients of a power series in z.
// c_0 = cos t, c_1 = sin(t)/t, c_2 = (1 - cos t)/t^2, c_3 = (t - sin t)/t^3.
template <int K, int Order, std::size_t Terms>
constexpr std::array<double, Terms> make_trigonometric_series() {
  std::array<double, Terms> series{};
  for (std::size_t j = 0; j < Terms; ++j) {
    const int i = static_cast<int>(j) + Order;
    long double term = i % 2 == 0 ? 1.0L : -1.0L;
    for (int k = 2; k <= 2 * i + K; ++k) term /= k;
    for (int k = 0; k < Order; ++k) term *= i - k;
    series[j] = static_cast<double>(term);
  }
  return series;
}
template <int K, int Order, std::size_t Terms>
inline constexpr std::array<double, Terms> trigonometric_series = make_trigonometric_series<K, Order, Terms>();

// With 1 - t/2 cot(t/2) = 2 z sum_k 1/(4 pi^2 k^2 - z): the terms k >= 3 of (1 - t/2 cot(t/2))/z as a power series in
// z, with coefficients sum_{k>=3} 2/(2 pi k)^(2n+2). The series converges for z < 36 pi^2; 16 terms give all digits for
// z < 40.
inline constexpr std::array<double, 16> cotangent_tail = {
    2.0007593556872226181e-2,  2.543812068862562158e-5,   5.5845683904944151311e-8,  1.4088241574761046862e-10,
    3.7567162002157978115e-13, 1.0280125375360461078e-15, 2.8500221292137912383e-18, 7.9555754107198449836e-21,
    2.2289326645537011567e-23, 6.2574711508057722392e-26, 1.7586730492909679891e-28, 4.9458469500579387389e-31,
    1.3913826789080879928e-33, 3.9150442526453142427e-36, 1.1017268914671418779e-38, 3.1005426917707374787e-41};

// Derivative number Order of a power series.
template <int Order, std::size_t Terms>
constexpr auto differentiate(const std::array<double, Terms>& series) {
  std::array<double, Terms - Order> result{};
  for (std::size_t j = 0; j < result.size(); ++j) {
    double factor = 1.0;
    for (int k = 0; k < Order; ++k) factor *= static_cast<double>(static_cast<int>(j) + Order - k);
    result[j] = factor * series[j + Order];
  }
  return result;
}
inline constexpr auto cotangent_tail_1 = differentiate<1>(cotangent_tail);
inline constexpr auto cotangent_tail_2 = differentiate<2>(cotangent_tail);

// series[First] + series[First + 2] z2 + series[First + 4] z2^2 + ...
template <std::size_t First, typename T, std::size_t Terms>
inline T every_second(const std::array<double, Terms>& series, const T& z2) {
  if constexpr (First + 2 < Terms) {
    return T(series[First]) + z2 * every_second<First + 2>(series, z2);
  } else {
    return T(series[First]);
  }
}

// The sum of a power series. Even and odd terms are summed separately, so that the processor can overlap the two
// chains.
template <typename T, std::size_t Terms>
inline T sum(const std::array<double, Terms>& series, const T& z) {
  const T z2 = z * z;
  return every_second<0>(series, z2) + z * every_second<1>(series, z2);
}

// The values of z above which the closed forms of p and r, of their first and of their second derivatives are as
// accurate as the series.
inline constexpr double switch_0 = 2.0, switch_1 = 14.0, switch_p2 = 18.0, switch_r2 = 24.0;

}  // namespace detail

// hat(w) a = w x a. w has 3 entries.
template <typename Derived>
Matrix3<typename Derived::Scalar> hat(const Eigen::MatrixBase<Derived>& w) {
  using T = typename Derived::Scalar;
  const T x = w(0), y = w(1), z = w(2), zero(0.0);
  Matrix3<T> m;
  m << zero, -z, y, z, zero, -x, -y, x, zero;
  return m;
}

// The vector of the skew-symmetric part of a 3x3 matrix: vee(hat(w)) = w.
template <typename Derived>
Vector3<typename Derived::Scalar> vee(const Eigen::MatrixBase<Derived>& m) {
  using T = typename Derived::Scalar;
  const T half(0.5);
  return Vector3<T>(half * (m(2, 1) - m(1, 2)), half * (m(0, 2) - m(2, 0)), half * (m(1, 0) - m(0, 1)));
}

// ---- Quaternions ----

// The product p q, the rotation q followed by p in fixed axes: quaternion_to_matrix(p q) = quaternion_to_matrix(p)
// quaternion_to_matrix(q).
template <typename DerivedP, typename DerivedQ>
Quaternion<typename DerivedP::Scalar> quaternion_product(const Eigen::MatrixBase<DerivedP>& p_,
                                                         const Eigen::MatrixBase<DerivedQ>& q_) {
  using T = typename DerivedP::Scalar;
  const Quaternion<T> p = p_, q = q_;
  return Quaternion<T>(
      p(0) * q(0) - p(1) * q(1) - p(2) * q(2) - p(3) * q(3), p(0) * q(1) + p(1) * q(0) + p(2) * q(3) - p(3) * q(2),
      p(0) * q(2) - p(1) * q(3) + p(2) * q(0) + p(3) * q(1), p(0) * q(3) + p(1) * q(2) - p(2) * q(1) + p(3) * q(0));
}

// The inverse rotation of a unit quaternion.
template <typename Derived>
Quaternion<typename Derived::Scalar> quaternion_conjugate(const Eigen::MatrixBase<Derived>& q_) {
  using T = typename Derived::Scalar;
  const Quaternion<T> q = q_;
  return Quaternion<T>(q(0), -q(1), -q(2), -q(3));
}

// q / |q|. Precondition: q is not zero.
template <typename Derived>
Quaternion<typename Derived::Scalar> quaternion_normalise(const Eigen::MatrixBase<Derived>& q_) {
  using T = typename Derived::Scalar;
  const Quaternion<T> q = q_;
  using std::sqrt;
  return q * (T(1.0) / sqrt(q(0) * q(0) + q(1) * q(1) + q(2) * q(2) + q(3) * q(3)));
}

// The rotation matrix of a unit quaternion. Precondition: |q| = 1 (an error e in |q| causes R^T R - I = O(e)).
template <typename Derived>
Matrix3<typename Derived::Scalar> quaternion_to_matrix(const Eigen::MatrixBase<Derived>& q_) {
  using T = typename Derived::Scalar;
  const Quaternion<T> q = q_;
  const T x2 = q(1) + q(1), y2 = q(2) + q(2), z2 = q(3) + q(3);
  const T xx = q(1) * x2, yy = q(2) * y2, zz = q(3) * z2;
  const T xy = q(1) * y2, xz = q(1) * z2, yz = q(2) * z2;
  const T wx = q(0) * x2, wy = q(0) * y2, wz = q(0) * z2;
  const T one(1.0);
  Matrix3<T> R;
  R(0, 0) = one - (yy + zz);
  R(1, 0) = xy + wz;
  R(2, 0) = xz - wy;
  R(0, 1) = xy - wz;
  R(1, 1) = one - (xx + zz);
  R(2, 1) = yz + wx;
  R(0, 2) = xz + wy;
  R(1, 2) = yz - wx;
  R(2, 2) = one - (xx + yy);
  return R;
}

// The unit quaternion of a rotation matrix, with w >= 0. The largest component is the pivot, so every rotation is
// accurate.
// Precondition: R^T R = I, det R = 1, to rounding.
template <typename Derived>
Quaternion<typename Derived::Scalar> matrix_to_quaternion(const Eigen::MatrixBase<Derived>& R_) {
  using T = typename Derived::Scalar;
  using std::sqrt;
  const Matrix3<T> R = R_;
  const T one(1.0), half(0.5), trace = R(0, 0) + R(1, 1) + R(2, 2);
  Quaternion<T> q;
  if (trace >= R(0, 0) && trace >= R(1, 1) && trace >= R(2, 2)) {
    const T root = sqrt(one + trace), f = half / root;
    q << half * root, f * (R(2, 1) - R(1, 2)), f * (R(0, 2) - R(2, 0)), f * (R(1, 0) - R(0, 1));
    return q;
  }
  // Index i of the largest of x, y, z; j and k follow i in cyclic order.
  const int i = R(0, 0) >= R(1, 1) ? (R(0, 0) >= R(2, 2) ? 0 : 2) : (R(1, 1) >= R(2, 2) ? 1 : 2);
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  const T root = sqrt(one + R(i, i) - R(j, j) - R(k, k)), f = half / root;
  q(0) = f * (R(k, j) - R(j, k));
  q(1 + i) = half * root;
  q(1 + j) = f * (R(i, j) + R(j, i));
  q(1 + k) = f * (R(i, k) + R(k, i));
  if (q(0) < T(0.0)) q = -q;
  return q;
}

// ---- Exponential and logarithm ----

// cos(t/2) and sin(t/2)/t as functions of z = t^2 >= 0.
template <typename T>
struct HalfAngle {
  T cosine, sine_over_angle;
};
template <typename T>
HalfAngle<T> half_angle(const T& z) {
  using std::cos;
  using std::sin;
  using std::sqrt;
  if (z < T(detail::switch_0)) {
    const T y = T(0.25) * z;
    return {detail::sum(detail::trigonometric_series<0, 0, 9>, y),
            T(0.5) * detail::sum(detail::trigonometric_series<1, 0, 9>, y)};
  }
  const T t = sqrt(z), half = T(0.5) * t;
  const T s = sin(half), c = cos(half);
  return {c, s / t};
}

// The unit quaternion of the rotation vector w (3, rad), any angle.
template <typename Derived>
Quaternion<typename Derived::Scalar> exp_quaternion(const Eigen::MatrixBase<Derived>& w_) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  const HalfAngle<T> h = half_angle(T(w.squaredNorm()));
  return Quaternion<T>(h.cosine, h.sine_over_angle * w(0), h.sine_over_angle * w(1), h.sine_over_angle * w(2));
}

// The rotation matrix of the rotation vector w (3, rad), any angle; equal to the matrix of exp_quaternion(w).
template <typename Derived>
Matrix3<typename Derived::Scalar> exp(const Eigen::MatrixBase<Derived>& w) {
  return quaternion_to_matrix(exp_quaternion(w));
}

// The rotation vector (3, rad), |w| <= pi, of a quaternion of any length except zero. For w = 0 (angle pi) the axis is
// (x, y, z).
template <typename Derived>
Vector3<typename Derived::Scalar> log_quaternion(const Eigen::MatrixBase<Derived>& q_) {
  using T = typename Derived::Scalar;
  const Quaternion<T> q = q_;
  using std::atan2;
  using std::sqrt;
  // use q or -q, whichever has the smaller angle
  const bool flip = q(0) < T(0.0);
  const T w = flip ? T(-q(0)) : q(0);
  const Vector3<T> v = flip ? Vector3<T>(-q.template tail<3>()) : Vector3<T>(q.template tail<3>());
  const T v2 = v.squaredNorm(), w2 = w * w;
  if (T(64.0) * v2 < w2) {
    // 2 atan(|v|/w)/|v|
    constexpr std::array<double, 10> arctangent = {1.0,         -1.0 / 3.0, 1.0 / 5.0,   -1.0 / 7.0, 1.0 / 9.0,
                                                   -1.0 / 11.0, 1.0 / 13.0, -1.0 / 15.0, 1.0 / 17.0, -1.0 / 19.0};
    return v * (T(2.0) / w * detail::sum(arctangent, T(v2 / w2)));
  }
  const T n = sqrt(v2);
  return v * (T(2.0) * atan2(n, w) / n);
}

// The rotation vector (3, rad), |w| <= pi, of a rotation matrix.
template <typename Derived>
Vector3<typename Derived::Scalar> log(const Eigen::MatrixBase<Derived>& R) {
  return log_quaternion(matrix_to_quaternion(R));
}

// ---- Operators F(w) = I + p(z) hat(w) + r(z) hat(w)^2, z = |w|^2 ----

// p, r and their derivatives with respect to z up to the requested Order; higher derivatives are zero.
template <typename T>
struct Coefficients {
  T p = T(0.0), r = T(0.0);
  T p1 = T(0.0), r1 = T(0.0);  // dp/dz, dr/dz
  T p2 = T(0.0), r2 = T(0.0);  // second derivatives
};

// The coefficients of F(w)^T, which equals F(-w).
template <typename T>
Coefficients<T> transposed(const Coefficients<T>& c) {
  return {-c.p, c.r, -c.p1, c.r1, -c.p2, c.r2};
}

// The coefficients of the tangent operator T(w): p = -(1 - cos t)/t^2, r = (t - sin t)/t^3. z = |w|^2 >= 0.
// Order 0 is enough for T, order 1 for its derivative and for T on SE(3), order 2 for the derivative of T on SE(3).
template <int Order, typename T>
Coefficients<T> tangent_coefficients(const T& z) {
  static_assert(Order >= 0 && Order <= 2);
  using detail::sum;
  using detail::trigonometric_series;
  using std::cos;
  using std::sin;
  using std::sqrt;
  Coefficients<T> f;
  if (z < T(detail::switch_0)) {
    f.p = -sum(trigonometric_series<2, 0, 11>, z);
    f.r = sum(trigonometric_series<3, 0, 11>, z);
    if constexpr (Order >= 1) {
      f.p1 = -sum(trigonometric_series<2, 1, 9>, z);
      f.r1 = sum(trigonometric_series<3, 1, 9>, z);
    }
    if constexpr (Order >= 2) {
      f.p2 = -sum(trigonometric_series<2, 2, 9>, z);
      f.r2 = sum(trigonometric_series<3, 2, 9>, z);
    }
    return f;
  }
  // With half angles: 1 - cos t = 2 sin(t/2)^2 keeps its digits near 2 pi.
  const T t = sqrt(z), half = T(0.5) * t, over_z = T(1.0) / z;
  const T s = sin(half), c = cos(half);
  const T a = T(2.0) * s * c / t, versine = T(2.0) * s * s;  // sin(t)/t, 1 - cos t
  f.p = -versine * over_z;
  f.r = (T(1.0) - a) * over_z;
  if constexpr (Order >= 1) {
    if (z < T(detail::switch_1)) {
      f.p1 = -sum(trigonometric_series<2, 1, 17>, z);
      f.r1 = sum(trigonometric_series<3, 1, 17>, z);
    } else {
      f.p1 = (versine - T(0.5) * a * z) * (over_z * over_z);
      f.r1 = (T(0.5) * versine - T(1.5) * (T(1.0) - a)) * (over_z * over_z);
    }
  }
  if constexpr (Order >= 2) {
    const T over_z3 = over_z * over_z * over_z;
    if (z < T(detail::switch_p2)) {
      f.p2 = -sum(trigonometric_series<2, 2, 17>, z);
    } else {
      f.p2 = (T(1.25) * a * z - T(0.25) * z * (T(1.0) - versine) - T(2.0) * versine) * over_z3;
    }
    if (z < T(detail::switch_r2)) {
      f.r2 = sum(trigonometric_series<3, 2, 20>, z);
    } else {
      f.r2 = (T(0.25) * a * z - T(1.75) * versine + T(3.75) * (T(1.0) - a)) * over_z3;
    }
  }
  return f;
}

// The coefficients of T(w)^-1: p = 1/2 and r = (1 - t/2 cot(t/2))/t^2 = sum_k 2/(4 pi^2 k^2 - z). z = |w|^2 >= 0,
// except at a pole. Order as in tangent_coefficients.
template <int Order, typename T>
Coefficients<T> tangent_inverse_coefficients(const T& z) {
  static_assert(Order >= 0 && Order <= 2);
  using std::cos;
  using std::sin;
  using std::sqrt;
  Coefficients<T> f;
  f.p = T(0.5);
  if (z < T(40.0)) {
    // The poles at t = 2 pi and 4 pi are exact terms (constants in two parts), the other poles a series: all terms are
    // positive.
    constexpr double pole = 39.47841760435743, rest = 2.5061182034958846953e-15;
    const T g1 = T(1.0) / ((T(pole) - z) + T(rest)), g2 = T(1.0) / ((T(4.0 * pole) - z) + T(4.0 * rest));
    f.r = T(2.0) * (g1 + g2) + detail::sum(detail::cotangent_tail, z);
    if constexpr (Order >= 1) f.r1 = T(2.0) * (g1 * g1 + g2 * g2) + detail::sum(detail::cotangent_tail_1, z);
    if constexpr (Order >= 2) f.r2 = T(4.0) * (g1 * g1 * g1 + g2 * g2 * g2) + detail::sum(detail::cotangent_tail_2, z);
    return f;
  }
  // Closed form with g = t/2 cot(t/2), dg/dz = g r/2 - 1/8.
  const T half = T(0.5) * sqrt(z);
  const T g = half * cos(half) / sin(half);
  f.r = (T(1.0) - g) / z;
  if constexpr (Order >= 1) f.r1 = (T(0.125) - f.r * (T(1.0) + T(0.5) * g)) / z;
  if constexpr (Order >= 2) {
    const T g1 = T(0.5) * g * f.r - T(0.125);
    f.r2 = -(T(0.5) * (g1 * f.r + g * f.r1) + T(2.0) * f.r1) / z;
  }
  return f;
}

// F(w). f: coefficients of order 0.
template <typename T>
Matrix3<T> polynomial(const Coefficients<T>& f, const Vector3<T>& w) {
  const T x = w(0), y = w(1), z = w(2), one(1.0);
  const T rx = f.r * x, ry = f.r * y, rz = f.r * z, px = f.p * x, py = f.p * y, pz = f.p * z;
  const T xx = rx * x, yy = ry * y, zz = rz * z, xy = rx * y, xz = rx * z, yz = ry * z;
  Matrix3<T> F;
  F(0, 0) = one - (yy + zz);
  F(1, 0) = xy + pz;
  F(2, 0) = xz - py;
  F(0, 1) = xy - pz;
  F(1, 1) = one - (xx + zz);
  F(2, 1) = yz + px;
  F(0, 2) = xz + py;
  F(1, 2) = yz - px;
  F(2, 2) = one - (xx + yy);
  return F;
}

// D_w F(w) . u, the derivative of the matrix F along u. f: coefficients of order 1.
template <typename T>
Matrix3<T> polynomial_along(const Coefficients<T>& f, const Vector3<T>& w, const Vector3<T>& u) {
  const T two(2.0), wu = w.dot(u);
  const Matrix3<T> W2 = w * w.transpose() - w.squaredNorm() * Matrix3<T>::Identity();
  const Matrix3<T> WU = w * u.transpose();
  Matrix3<T> D = hat(f.p * u + two * f.p1 * wu * w) + f.r * (WU + WU.transpose()) + (two * f.r1 * wu) * W2;
  D.diagonal().array() -= two * f.r * wu;
  return D;
}

// D_w [F(w) a]: column j is the derivative of F(w) a with respect to w_j. f: coefficients of order 1.
template <typename T>
Matrix3<T> polynomial_derivative(const Coefficients<T>& f, const Vector3<T>& w, const Vector3<T>& a) {
  const T two(2.0), wa = w.dot(a);
  const Vector3<T> Wa = w.cross(a), WWa = w.cross(Wa);
  Matrix3<T> D = hat(-f.p * a) + f.r * w * a.transpose();
  D += (two * (f.p1 * Wa + f.r1 * WWa) - two * f.r * a) * w.transpose();
  D.diagonal().array() += f.r * wa;
  return D;
}

// D_w [(D_w F(w) . u) a], the derivative of polynomial_along(f, w, u) a with respect to w. f: coefficients of order 2.
template <typename T>
Matrix3<T> polynomial_second_derivative(const Coefficients<T>& f, const Vector3<T>& w, const Vector3<T>& u,
                                        const Vector3<T>& a) {
  // S = hat(w) hat(u) a + hat(u) hat(w) a; for a variation v of w, dS = (u a^T + (u . a) I - 2 a u^T) v.
  const T two(2.0), four(4.0), wu = w.dot(u), wa = w.dot(a), ua = u.dot(a);
  const Vector3<T> Wa = w.cross(a), WWa = w.cross(Wa), Ua = u.cross(a);
  const Vector3<T> S = u * wa + w * ua - two * wu * a;
  Matrix3<T> D = hat(-two * f.p1 * wu * a);
  D += (two * f.p1 * Ua + two * f.r1 * S + four * wu * (f.p2 * Wa + f.r2 * WWa)) * w.transpose();
  D += (two * (f.p1 * Wa + f.r1 * WWa) - two * f.r * a) * u.transpose();
  D += f.r * u * a.transpose();
  D += (two * f.r1 * wu) * (w * a.transpose() - two * a * w.transpose());
  D.diagonal().array() += f.r * ua + two * f.r1 * wu * wa;
  return D;
}

// ---- Tangent operators: w, a 3-vectors (w in rad), results 3x3 ----

// T(w): Omega = T(w) w'. Any angle.
template <typename Derived>
Matrix3<typename Derived::Scalar> tangent(const Eigen::MatrixBase<Derived>& w_) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial(tangent_coefficients<0>(T(w.squaredNorm())), w);
}

// T(w)^T = T(-w).
template <typename Derived>
Matrix3<typename Derived::Scalar> tangent_transposed(const Eigen::MatrixBase<Derived>& w_) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial(transposed(tangent_coefficients<0>(T(w.squaredNorm()))), w);
}

// T(w)^-1. Precondition: |w| is not a nonzero multiple of 2 pi. The transpose of T(w)^-1 is tangent_inverse(-w).
template <typename Derived>
Matrix3<typename Derived::Scalar> tangent_inverse(const Eigen::MatrixBase<Derived>& w_) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial(tangent_inverse_coefficients<0>(T(w.squaredNorm())), w);
}

// D_w [T(w) a].
template <typename Derived, typename DerivedA>
Matrix3<typename Derived::Scalar> tangent_derivative(const Eigen::MatrixBase<Derived>& w_,
                                                     const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial_derivative(tangent_coefficients<1>(T(w.squaredNorm())), w, Vector3<T>(a));
}

// D_w [T(w)^T a].
template <typename Derived, typename DerivedA>
Matrix3<typename Derived::Scalar> tangent_transposed_derivative(const Eigen::MatrixBase<Derived>& w_,
                                                                const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial_derivative(transposed(tangent_coefficients<1>(T(w.squaredNorm()))), w, Vector3<T>(a));
}

// D_w [T(w)^-1 a]. Precondition: as in tangent_inverse.
template <typename Derived, typename DerivedA>
Matrix3<typename Derived::Scalar> tangent_inverse_derivative(const Eigen::MatrixBase<Derived>& w_,
                                                             const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial_derivative(tangent_inverse_coefficients<1>(T(w.squaredNorm())), w, Vector3<T>(a));
}

// D_w [T(w)^-T a]. Precondition: as in tangent_inverse.
template <typename Derived, typename DerivedA>
Matrix3<typename Derived::Scalar> tangent_inverse_transposed_derivative(const Eigen::MatrixBase<Derived>& w_,
                                                                        const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector3<T> w = w_;
  return polynomial_derivative(transposed(tangent_inverse_coefficients<1>(T(w.squaredNorm()))), w, Vector3<T>(a));
}

}  // namespace carom::so3
