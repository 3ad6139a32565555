// Rigid motions: the Lie group SE(3), its exponential, logarithm, adjoint and tangent operators with their derivatives.
//
//   H = (R, x) = [R x; 0 1],   H' = H hat(v),   v = (R^T x', Omega): both velocities in the body frame
//   exp(u, w) = (exp(w), T3(w)^T u),             T3 the tangent operator of SO(3)
//   Ad(H) = [R hat(x) R; 0 R],   ad(h) = [hat(w) hat(u); 0 hat(w)],   exp(Ad(h)) = Ad(exp(h))
//   H = H_n exp(h(t))  =>  v = T(h) h',   T(h) = [T3(w) D; 0 T3(w)],   D = d/ds T3(w + s u) at s = 0
//
// The last line holds because SE(3) is SO(3) over the dual numbers, w + eps u. The same is true of T^-1, so the
// coefficients and `polynomial` functions of so3.hpp give every operator of this file.
//
// Convention: 6-vectors are (u, w), translation first, in length and radians; velocities and increments are body-fixed
// (left-invariant). Identities: T(-h) = Ad(exp(h)) T(h), Ad(exp(h))^-1 = Ad(exp(-h)). Unlike on SO(3), T(-h) is not
// T(h)^T. The two-node helicoidal beam: d = log(H_A^-1 H_B) changes by dd = -T(-d)^-1 v_A + T(d)^-1 v_B = P (v_A, v_B).
//
// Limits, as in so3.hpp: exp and T hold for any angle, log for angles up to pi; T^-1 is singular at multiples of 2 pi.
//
// References: V. Sonneville, A. Cardona, O. Bruels, Geometrically exact beam finite element formulated on the special
// Euclidean group SE(3), Computer Methods in Applied Mechanics and Engineering 268 (2014) 451-474; O. Bruels, A.
// Cardona, M. Arnold, Mechanism and Machine Theory 48 (2012) 121-137.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "core/lie/so3.hpp"

namespace carom::se3 {

using so3::Coefficients;
using so3::Matrix3;
using so3::Vector3;
// (u, w): translation first.
template <typename T>
using Vector6 = Eigen::Matrix<T, 6, 1>;
template <typename T>
using Matrix6 = Eigen::Matrix<T, 6, 6>;
template <typename T>
using Matrix4 = Eigen::Matrix<T, 4, 4>;

// A rigid motion, or position and orientation of a frame: rotation R (body to inertial) and position x (inertial).
template <typename T>
struct Frame {
  Matrix3<T> R = Matrix3<T>::Identity();
  Vector3<T> x = Vector3<T>::Zero();
};

// The product H_A H_B. If B is given relative to A, the result is B relative to the frame in which A is given.
template <typename T>
Frame<T> compose(const Frame<T>& A, const Frame<T>& B) {
  return {A.R * B.R, A.R * B.x + A.x};
}

// H^-1 = (R^T, -R^T x).
template <typename T>
Frame<T> inverse(const Frame<T>& H) {
  return {H.R.transpose(), -(H.R.transpose() * H.x)};
}

// H_A^-1 H_B, computed from the difference of the positions: this keeps all digits far from the origin.
template <typename T>
Frame<T> relative(const Frame<T>& A, const Frame<T>& B) {
  return {A.R.transpose() * B.R, A.R.transpose() * (B.x - A.x)};
}

// The 4x4 matrix [hat(w) u; 0 0]. h has 6 entries.
template <typename Derived>
Matrix4<typename Derived::Scalar> hat(const Eigen::MatrixBase<Derived>& h_) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  Matrix4<T> m = Matrix4<T>::Zero();
  m.template topLeftCorner<3, 3>() = so3::hat(h.template tail<3>());
  m.template topRightCorner<3, 1>() = h.template head<3>();
  return m;
}

// The 6-vector of a 4x4 matrix [W u; 0 0] with skew-symmetric W: vee(hat(h)) = h.
template <typename Derived>
Vector6<typename Derived::Scalar> vee(const Eigen::MatrixBase<Derived>& m_) {
  using T = typename Derived::Scalar;
  const Matrix4<T> m = m_;
  Vector6<T> h;
  h.template head<3>() = m.template topRightCorner<3, 1>();
  h.template tail<3>() = so3::vee(m.template topLeftCorner<3, 3>());
  return h;
}

namespace detail {

template <typename T>
Matrix6<T> block_triangular(const Matrix3<T>& diagonal, const Matrix3<T>& corner) {
  Matrix6<T> m;
  m.template topLeftCorner<3, 3>() = diagonal;
  m.template topRightCorner<3, 3>() = corner;
  m.template bottomLeftCorner<3, 3>().setZero();
  m.template bottomRightCorner<3, 3>() = diagonal;
  return m;
}

}  // namespace detail

// Ad(H), 6x6: H hat(h) H^-1 = hat(Ad(H) h).
template <typename T>
Matrix6<T> adjoint(const Frame<T>& H) {
  return detail::block_triangular<T>(H.R, so3::hat(H.x) * H.R);
}

// Ad(H)^-1 = Ad(H^-1), 6x6.
template <typename T>
Matrix6<T> adjoint_inverse(const Frame<T>& H) {
  return adjoint(inverse(H));
}

// ad(h), 6x6: hat(g) hat(h) - hat(h) hat(g) = hat(ad(g) h).
template <typename Derived>
Matrix6<typename Derived::Scalar> ad(const Eigen::MatrixBase<Derived>& h_) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return detail::block_triangular<T>(so3::hat(h.template tail<3>()), so3::hat(h.template head<3>()));
}

// ---- Operators made of F(w) = I + p hat(w) + r hat(w)^2 over the dual numbers ----
// [F(w) D; 0 F(w)] with D = polynomial_along(f, w, u). The coefficients f depend on |w| only, so h and -h have the same
// f.

// The operator, 6x6. f: coefficients of order 1.
template <typename T>
Matrix6<T> polynomial(const Coefficients<T>& f, const Vector6<T>& h) {
  const Vector3<T> u = h.template head<3>(), w = h.template tail<3>();
  return detail::block_triangular<T>(so3::polynomial(f, w), so3::polynomial_along(f, w, u));
}

// D_h of the operator times a (6 entries), 6x6. f: coefficients of order 2.
template <typename T>
Matrix6<T> polynomial_derivative(const Coefficients<T>& f, const Vector6<T>& h, const Vector6<T>& a) {
  const Vector3<T> u = h.template head<3>(), w = h.template tail<3>();
  const Vector3<T> a_u = a.template head<3>(), a_w = a.template tail<3>();
  return detail::block_triangular<T>(
      so3::polynomial_derivative(f, w, a_w),
      so3::polynomial_derivative(f, w, a_u) + so3::polynomial_second_derivative(f, w, u, a_w));
}

// D_h of the operator's transpose times a (6 entries), 6x6. f: coefficients of order 2.
template <typename T>
Matrix6<T> polynomial_transposed_derivative(const Coefficients<T>& f, const Vector6<T>& h, const Vector6<T>& a) {
  const Vector3<T> u = h.template head<3>(), w = h.template tail<3>();
  const Vector3<T> a_u = a.template head<3>(), a_w = a.template tail<3>();
  const Coefficients<T> ft = so3::transposed(f);
  const Matrix3<T> off = so3::polynomial_derivative(ft, w, a_u);
  Matrix6<T> D;
  D.template topLeftCorner<3, 3>().setZero();
  D.template topRightCorner<3, 3>() = off;
  D.template bottomLeftCorner<3, 3>() = off;
  D.template bottomRightCorner<3, 3>() =
      so3::polynomial_second_derivative(ft, w, u, a_u) + so3::polynomial_derivative(ft, w, a_w);
  return D;
}

namespace detail {

template <int Order, typename T>
Coefficients<T> tangent_coefficients(const Vector6<T>& h) {
  return so3::tangent_coefficients<Order>(T(h.template tail<3>().squaredNorm()));
}
template <int Order, typename T>
Coefficients<T> tangent_inverse_coefficients(const Vector6<T>& h) {
  return so3::tangent_inverse_coefficients<Order>(T(h.template tail<3>().squaredNorm()));
}

}  // namespace detail

// ---- Exponential and logarithm ----

// The motion exp(h), h = (u, w), any angle.
template <typename Derived>
Frame<typename Derived::Scalar> exp(const Eigen::MatrixBase<Derived>& h_) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  const Vector3<T> u = h.template head<3>(), w = h.template tail<3>();
  return {so3::exp(w), so3::tangent_transposed(w) * u};
}

// The increment h = (u, w) with exp(h) = H, |w| <= pi.
template <typename T>
Vector6<T> log(const Frame<T>& H) {
  const Vector3<T> w = so3::log(H.R);
  Vector6<T> h;
  h.template head<3>().noalias() = so3::tangent_inverse(-w) * H.x;
  h.template tail<3>() = w;
  return h;
}

// ---- Tangent operators: h, a 6-vectors, results 6x6 ----

// T(h): v = T(h) h'. Any angle.
template <typename Derived>
Matrix6<typename Derived::Scalar> tangent(const Eigen::MatrixBase<Derived>& h_) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial(detail::tangent_coefficients<1>(h), h);
}

// T(h)^-1. Precondition: |w| is no multiple of 2 pi other than 0.
template <typename Derived>
Matrix6<typename Derived::Scalar> tangent_inverse(const Eigen::MatrixBase<Derived>& h_) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial(detail::tangent_inverse_coefficients<1>(h), h);
}

// D_h [T(h) a].
template <typename Derived, typename DerivedA>
Matrix6<typename Derived::Scalar> tangent_derivative(const Eigen::MatrixBase<Derived>& h_,
                                                     const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial_derivative(detail::tangent_coefficients<2>(h), h, Vector6<T>(a));
}

// D_h [T(h)^T a].
template <typename Derived, typename DerivedA>
Matrix6<typename Derived::Scalar> tangent_transposed_derivative(const Eigen::MatrixBase<Derived>& h_,
                                                                const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial_transposed_derivative(detail::tangent_coefficients<2>(h), h, Vector6<T>(a));
}

// D_h [T(h)^-1 a]. Precondition as tangent_inverse.
template <typename Derived, typename DerivedA>
Matrix6<typename Derived::Scalar> tangent_inverse_derivative(const Eigen::MatrixBase<Derived>& h_,
                                                             const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial_derivative(detail::tangent_inverse_coefficients<2>(h), h, Vector6<T>(a));
}

// D_h [T(h)^-T a]. Precondition as tangent_inverse.
template <typename Derived, typename DerivedA>
Matrix6<typename Derived::Scalar> tangent_inverse_transposed_derivative(const Eigen::MatrixBase<Derived>& h_,
                                                                        const Eigen::MatrixBase<DerivedA>& a) {
  using T = typename Derived::Scalar;
  const Vector6<T> h = h_;
  return polynomial_transposed_derivative(detail::tangent_inverse_coefficients<2>(h), h, Vector6<T>(a));
}

}  // namespace carom::se3
