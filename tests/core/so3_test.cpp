#include "core/lie/so3.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/dual.hpp"

namespace {

using namespace carom;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::Vector4d;

constexpr double pi = 3.14159265358979323846;

Vector3d random_vector(std::mt19937& generator) {
  std::normal_distribution<double> normal;
  const double x = normal(generator), y = normal(generator), z = normal(generator);
  return {x, y, z};
}

// Degenerate angles, angles on both sides of the switches from series to closed form, and large angles.
std::vector<double> angles() {
  std::vector<double> list = {0.0,       1e-300, 1e-160,    1e-100,        1e-20,         1e-9, 1e-4,
                              1e-2,      0.3,    1.0,       pi - 1e-3,     pi - 1e-9,     pi,   pi + 1e-9,
                              pi + 1e-3, 5.0,    pi + 2.25, 2 * pi - 1e-1, 2 * pi - 1e-3, 10.0, 100.0};
  for (const double z : {0.06, 2.0, 14.0, 18.0, 24.0, 40.0}) {
    list.push_back(std::sqrt(z) * (1 - 1e-12));
    list.push_back(std::sqrt(z) * (1 + 1e-12));
  }
  return list;
}

// Rotation vectors with these angles along random axes and coordinate axes.
std::vector<Vector3d> rotation_vectors() {
  std::mt19937 generator(1);
  std::vector<Vector3d> list;
  for (const double angle : angles()) {
    for (int i = 0; i < 3; ++i) list.push_back(angle * Vector3d::Unit(i));
    for (int i = 0; i < 6; ++i) list.push_back(angle * random_vector(generator).normalized());
  }
  for (int i = 0; i < 200; ++i) list.push_back(random_vector(generator));
  return list;
}

// Distance of the angle from the poles 2 pi k of the inverse tangent, at most 1.
double distance_to_pole(const Vector3d& w) {
  const double turns = std::round(w.norm() / (2 * pi));
  return turns < 1 ? 1.0 : std::min(1.0, std::abs(w.norm() - 2 * pi * turns));
}

template <typename A, typename B>
double distance(const A& a, const B& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

#ifdef __SIZEOF_FLOAT128__
using Reference = __float128;
#else
using Reference = long double;
#endif

// c_k(z) = sum (-z)^i/(2 i + k)! differentiated `order` times, summed in extended precision.
Reference trigonometric(int k, int order, double z) {
  Reference sum = 0, term = order % 2 == 0 ? 1 : -1;  // term: (-z)^(i - order)/(2 i + k)! with the sign of (-1)^i
  for (int n = 2; n <= 2 * order + k; ++n) term /= n;
  for (int i = order; i < 80; ++i) {
    Reference factor = 1;
    for (int n = 0; n < order; ++n) factor *= i - n;
    sum += factor * term;
    term *= -static_cast<Reference>(z) / ((2 * i + k + 1) * (2 * i + k + 2));
  }
  return sum;
}

double relative_error(double value, Reference reference) {
  const Reference difference = (static_cast<Reference>(value) - reference) / reference;
  return std::abs(static_cast<double>(difference));
}

}  // namespace

TEST_CASE("so3: the coefficients of the tangent hold to 1.5e-15 on both sides of every switch") {
  double worst = 0;
  const auto check = [&](double z) {
    const auto f = so3::tangent_coefficients<2>(z);
    worst = std::max(worst, relative_error(f.r, trigonometric(3, 0, z)));
    worst = std::max(worst, relative_error(f.r1, trigonometric(3, 1, z)));
    worst = std::max(worst, relative_error(f.r2, trigonometric(3, 2, z)));
    worst = std::max(worst, relative_error(f.p2, -trigonometric(2, 2, z)));
    if (z < 28) {  // p and p1 have their zero at z = 4 pi^2
      worst = std::max(worst, relative_error(f.p, -trigonometric(2, 0, z)));
      worst = std::max(worst, relative_error(f.p1, -trigonometric(2, 1, z)));
    }
  };
  for (const double z : {0.0, 1e-320, 1e-300, 1e-18, 1e-8, 1e-4}) check(z);
  for (const double z : {2.0, 14.0, 18.0, 24.0}) {
    for (int i = 0; i <= 200; ++i) check(z * (1 + (i - 100) * 1e-15));
  }
  for (int i = 0; i < 2000; ++i) check(i * 0.018);
  INFO("worst relative error ", worst);
  CHECK(worst < 1.5e-15);
}

TEST_CASE("so3: cos(t/2) and sin(t/2)/t hold to 1e-15 up to pi") {
  double worst = 0;
  for (int i = 0; i < 2000; ++i) {
    const double z = i * 0.00493;
    const auto h = so3::half_angle(z);
    worst = std::max(worst, relative_error(h.sine_over_angle, trigonometric(1, 0, z / 4) / 2));
    worst =
        std::max(worst, std::abs(static_cast<double>(static_cast<Reference>(h.cosine) - trigonometric(0, 0, z / 4))));
  }
  INFO("worst error ", worst);
  CHECK(worst < 1e-15);
}

TEST_CASE("so3: the coefficients of the inverse tangent hold to 1.5e-15 up to the pole at 2 pi") {
  double worst = 0;
  const auto check = [&](double z_) {
    const auto f = so3::tangent_inverse_coefficients<2>(z_);
    const Reference z = static_cast<Reference>(z_), one = 1, two = 2, eight = 8;
    const Reference g = trigonometric(1, 0, z_) / (two * trigonometric(2, 0, z_));
    const Reference r = (one - g) / z, r1 = (one / eight - r * (one + g / two)) / z, g1 = g * r / two - one / eight;
    const Reference r2 = -((g1 * r + g * r1) / two + two * r1) / z;
    CHECK(f.p == 0.5);
    CHECK(f.p1 == 0);
    CHECK(f.p2 == 0);
    worst = std::max({worst, relative_error(f.r, r), relative_error(f.r1, r1), relative_error(f.r2, r2)});
  };
  for (int i = 1; i < 1900; ++i) check(i * 0.02);
  check(1e-3);
  const auto f = so3::tangent_inverse_coefficients<2>(1e-30);
  worst = std::max({worst, relative_error(f.r, static_cast<Reference>(1) / 12),
                    relative_error(f.r1, static_cast<Reference>(1) / 720),
                    relative_error(f.r2, static_cast<Reference>(1) / 15120)});
  INFO("worst relative error ", worst);
  CHECK(worst < 1.5e-15);
}

TEST_CASE("so3: hat is the cross product and vee undoes it") {
  const Vector3d w(1, -2, 3), a(-4, 5, 6);
  CHECK(distance(so3::hat(w) * a, w.cross(a)) == 0);
  CHECK(distance(so3::vee(so3::hat(w)), w) == 0);
}

TEST_CASE("so3: exp is a rotation, agrees with its quaternion and with Rodrigues' formula, and exp(-w) = exp(w)^T") {
  double orthogonal = 0, determinant = 0, unit = 0, formula = 0, opposite = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const Matrix3d R = so3::exp(w);
    const Vector4d q = so3::exp_quaternion(w);
    orthogonal = std::max(orthogonal, distance(R.transpose() * R, Matrix3d::Identity()));
    determinant = std::max(determinant, std::abs(R.determinant() - 1));
    unit = std::max(unit, std::abs(q.norm() - 1));
    const double angle = w.norm();
    formula = std::max(formula, distance(R, so3::quaternion_to_matrix(q)) / (1 + angle));
    opposite = std::max(opposite, distance(so3::exp(-w), R.transpose()) / (1 + angle));
    const Matrix3d N = so3::hat(angle > 1e-150 ? Vector3d(w / angle) : Vector3d::Zero());
    const Matrix3d rodrigues = Matrix3d::Identity() + std::sin(angle) * N + (1 - std::cos(angle)) * N * N;
    formula = std::max(formula, distance(R, rodrigues) / (1 + angle));
  }
  INFO("R^T R ", orthogonal, ", det ", determinant, ", |q| ", unit, ", formula ", formula);
  CHECK(orthogonal < 2e-15);
  CHECK(determinant < 2e-15);
  CHECK(unit < 1e-15);
  CHECK(formula < 1e-15);
  CHECK(opposite < 1e-15);
}

TEST_CASE("so3: log undoes exp up to pi, through the quaternion and through the matrix") {
  double quaternion = 0, matrix = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const double angle = w.norm();
    if (angle >= pi || angle < 1e-290) continue;
    quaternion = std::max(quaternion, distance(so3::log_quaternion(so3::exp_quaternion(w)), w) / angle);
    quaternion = std::max(quaternion, distance(so3::log_quaternion(-7.5 * so3::exp_quaternion(w)), w) / angle);
    matrix = std::max(matrix, distance(so3::log(so3::exp(w)), w) / angle);
  }
  INFO("worst relative error: quaternion ", quaternion, ", matrix ", matrix);
  CHECK(quaternion < 1e-15);
  CHECK(matrix < 2e-15);
  CHECK(so3::log_quaternion(Vector4d(1, 0, 0, 0)).norm() == 0);
  CHECK(so3::log_quaternion(Vector4d(-1, 0, 0, 0)).norm() == 0);
  CHECK(so3::log(Matrix3d::Identity()).norm() == 0);
  CHECK(so3::log(so3::exp(Vector3d(1e-300, 0, -2e-300))) == Vector3d(1e-300, 0, -2e-300));
}

TEST_CASE("so3: exp undoes log for every rotation, also at and beyond pi") {
  double worst = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const Matrix3d R = so3::exp(w);
    const Vector3d l = so3::log(R);
    CHECK(l.norm() <= pi + 1e-15);
    worst = std::max(worst, distance(so3::exp(l), R));
  }
  for (const Vector4d& q : {Vector4d(0, 1, 0, 0), Vector4d(0, 0, 1, 0), Vector4d(0, 0, 0, -1)}) {
    CHECK(distance(so3::log_quaternion(q), pi * q.tail<3>()) < 1e-15);
    const Matrix3d R = so3::quaternion_to_matrix(q);
    worst = std::max(worst, distance(so3::exp(so3::log(R)), R));
  }
  INFO("worst error ", worst);
  CHECK(worst < 3e-15);
}

TEST_CASE("so3: quaternions multiply, invert, normalise and convert like their matrices") {
  std::mt19937 generator(2);
  double product = 0, conversion = 0;
  for (int i = 0; i < 300; ++i) {
    const Vector4d p = so3::exp_quaternion(3 * random_vector(generator));
    const Vector4d q = so3::exp_quaternion(3 * random_vector(generator));
    const Matrix3d P = so3::quaternion_to_matrix(p), Q = so3::quaternion_to_matrix(q);
    product = std::max(product, distance(so3::quaternion_to_matrix(so3::quaternion_product(p, q)), P * Q));
    CHECK(distance(so3::quaternion_to_matrix(so3::quaternion_conjugate(p)), P.transpose()) < 1e-15);
    const Vector4d back = so3::matrix_to_quaternion(P);
    CHECK(back(0) >= 0);
    conversion = std::max(conversion, distance(back, p(0) < 0 ? Vector4d(-p) : p));
    conversion = std::max(conversion, distance(so3::quaternion_normalise(3.7 * p), p));
  }
  INFO("product ", product, ", conversion ", conversion);
  CHECK(product < 2e-15);
  CHECK(conversion < 1e-15);
}

TEST_CASE("so3: T(w) T(w)^-1 = I, T(-w) = T(w)^T and T(-w)^-1 T(w) = exp(-w)") {
  double inverse = 0, rotation = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const Matrix3d tangent = so3::tangent(w);
    // Both operators lose digits at the pole: the error of their product is the error of the angle there.
    const double scale = (1 + w.norm()) / distance_to_pole(w);
    inverse = std::max(inverse, distance(tangent * so3::tangent_inverse(w), Matrix3d::Identity()) / scale);
    CHECK(distance(so3::tangent(-w), tangent.transpose()) < 1e-15 * (1 + w.norm()));
    CHECK(distance(so3::tangent_transposed(w), tangent.transpose()) < 1e-15 * (1 + w.norm()));
    rotation = std::max(rotation, distance(so3::tangent_inverse(-w) * tangent, so3::exp(-w)) / scale);
  }
  INFO("T T^-1 ", inverse, ", T(-w)^-1 T(w) ", rotation);
  CHECK(inverse < 2e-15);
  CHECK(rotation < 2e-15);
}

TEST_CASE("so3: differentiating exp gives the body angular velocity T(w) w'") {
  double worst = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const auto R = so3::exp(make_variables(w));
    const auto omega = so3::vee(so3::exp(w).transpose().cast<Dual<3>>() * R);
    worst = std::max(worst, distance(jacobian(Eigen::Matrix<Dual<3>, 3, 1>(omega)), so3::tangent(w)) / (1 + w.norm()));
  }
  INFO("worst error ", worst);
  CHECK(worst < 2e-15);
}

TEST_CASE("so3: differentiating log gives T^-1") {
  double worst = 0;
  for (const Vector3d& w : rotation_vectors()) {
    if (w.norm() >= pi - 1e-4) continue;
    const Eigen::Matrix<Dual<3>, 3, 1> e = make_variables(Vector3d(Vector3d::Zero()));
    const Eigen::Matrix<Dual<3>, 3, 3> R = so3::exp(w).cast<Dual<3>>() * so3::exp(e);
    worst = std::max(worst, distance(jacobian(so3::log(R)), so3::tangent_inverse(w)));
  }
  INFO("worst error ", worst);
  CHECK(worst < 1e-14);
}

TEST_CASE("so3: the derivatives of T a, T^T a, T^-1 a and T^-T a agree with differentiation") {
  std::mt19937 generator(3);
  double tangent = 0, inverse = 0;
  for (const Vector3d& w : rotation_vectors()) {
    const Vector3d a = random_vector(generator);
    const auto x = make_variables(w);
    const Eigen::Matrix<Dual<3>, 3, 1> b = a.cast<Dual<3>>();
    using Column = Eigen::Matrix<Dual<3>, 3, 1>;
    // Near a pole the derivative is |w|/near^2, and its relative error is that of the angle, |w|/near.
    const double scale = a.norm(), near = distance_to_pole(w),
                 pole = scale * std::pow(1 + w.norm(), 2) / std::pow(near, 3);
    tangent = std::max(
        {tangent, distance(so3::tangent_derivative(w, a), jacobian(Column(so3::tangent(x) * b))) / scale,
         distance(so3::tangent_transposed_derivative(w, a), jacobian(Column(so3::tangent(x).transpose() * b))) /
             scale});
    inverse = std::max(
        {inverse, distance(so3::tangent_inverse_derivative(w, a), jacobian(Column(so3::tangent_inverse(x) * b))) / pole,
         distance(so3::tangent_inverse_transposed_derivative(w, a),
                  jacobian(Column(so3::tangent_inverse(x).transpose() * b))) /
             pole});
  }
  INFO("T ", tangent, ", T^-1 ", inverse);
  CHECK(tangent < 1e-14);
  CHECK(inverse < 1e-14);
}

TEST_CASE("dual: elementary functions have the derivatives of the textbooks") {
  using D = Dual<2>;
  const D x = D::variable(0.3, 0), y = D::variable(-0.7, 1);
  const auto check = [](const D& f, double value, double dx, double dy) {
    CHECK(f.v == doctest::Approx(value).epsilon(1e-15));
    CHECK(f.d[0] == doctest::Approx(dx).epsilon(1e-14));
    CHECK(f.d[1] == doctest::Approx(dy).epsilon(1e-14));
  };
  check(x * y - 2.0 * x + y / x, 0.3 * -0.7 - 0.6 - 0.7 / 0.3, -0.7 - 2 + 0.7 / 0.09, 0.3 + 1 / 0.3);
  check(sqrt(x), std::sqrt(0.3), 0.5 / std::sqrt(0.3), 0);
  check(sin(x) * cos(y), std::sin(0.3) * std::cos(0.7), std::cos(0.3) * std::cos(0.7), std::sin(0.3) * std::sin(0.7));
  check(tan(x), std::tan(0.3), 1 / (std::cos(0.3) * std::cos(0.3)), 0);
  check(asin(x) + acos(y), std::asin(0.3) + std::acos(-0.7), 1 / std::sqrt(0.91), -1 / std::sqrt(0.51));
  check(atan2(y, x), std::atan2(-0.7, 0.3), 0.7 / 0.58, 0.3 / 0.58);
  check(atan(y / x), std::atan(-0.7 / 0.3), 0.7 / 0.58, 0.3 / 0.58);
  check(exp(x * y), std::exp(-0.21), -0.7 * std::exp(-0.21), 0.3 * std::exp(-0.21));
  check(log(x) + abs(y), std::log(0.3) + 0.7, 1 / 0.3, -1);
  check(pow(x, 3), 0.027, 0.27, 0);
  check(pow(x, y), std::pow(0.3, -0.7), -0.7 * std::pow(0.3, -1.7), std::pow(0.3, -0.7) * std::log(0.3));
  check(pow(2.0, y), std::pow(2.0, -0.7), 0, std::pow(2.0, -0.7) * std::log(2.0));
  D z = x;
  const D& same = z;
  z *= same;
  z /= same;
  check(z, 1, 0, 0);
  CHECK(y < x);
  CHECK(x > 0.0);
  CHECK(abs(y) >= 0.7);
  CHECK(isfinite(x));
  CHECK_FALSE(isfinite(log(D(0.0)) * x));
}
