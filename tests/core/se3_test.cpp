#include "core/lie/se3.hpp"

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
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;
using D6 = Dual<6>;
using Column = Eigen::Matrix<D6, 6, 1>;

constexpr double pi = 3.14159265358979323846;

template <int N>
Eigen::Matrix<double, N, 1> random_vector(std::mt19937& generator) {
  std::normal_distribution<double> normal;
  Eigen::Matrix<double, N, 1> x;
  for (int i = 0; i < N; ++i) x(i) = normal(generator);
  return x;
}

// Increments with degenerate angles, with angles at the switches of the series, and with large angles.
std::vector<Vector6d> increments() {
  std::mt19937 generator(1);
  std::vector<double> angles = {0.0,       1e-300, 1e-160,    1e-20, 1e-9,          1e-4,          0.3,  pi - 1e-3,
                                pi - 1e-9, pi,     pi + 1e-3, 5.0,   2 * pi - 1e-1, 2 * pi - 1e-3, 10.0, 100.0};
  for (const double z : {0.06, 2.0, 14.0, 18.0, 24.0, 40.0}) {
    angles.push_back(std::sqrt(z) * (1 - 1e-12));
    angles.push_back(std::sqrt(z) * (1 + 1e-12));
  }
  std::vector<Vector6d> list;
  for (const double angle : angles) {
    for (int i = 0; i < 9; ++i) {
      Vector6d h = random_vector<6>(generator);
      h.tail<3>() = angle * (i < 3 ? Vector3d(Vector3d::Unit(i)) : Vector3d(h.tail<3>().normalized()));
      list.push_back(h);
    }
  }
  for (int i = 0; i < 100; ++i) list.push_back(random_vector<6>(generator));
  return list;
}

double angle_of(const Vector6d& h) { return h.tail<3>().norm(); }

// Distance of the angle from the poles 2 pi k of the inverse tangent, at most 1.
double distance_to_pole(const Vector6d& h) {
  const double turns = std::round(angle_of(h) / (2 * pi));
  return turns < 1 ? 1.0 : std::min(1.0, std::abs(angle_of(h) - 2 * pi * turns));
}

template <typename A, typename B>
double distance(const A& a, const B& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

se3::Frame<D6> constant(const se3::Frame<double>& H) { return {H.R.cast<D6>(), H.x.cast<D6>()}; }

Eigen::Matrix4d matrix(const se3::Frame<double>& H) {
  Eigen::Matrix4d m = Eigen::Matrix4d::Identity();
  m.topLeftCorner<3, 3>() = H.R;
  m.topRightCorner<3, 1>() = H.x;
  return m;
}

}  // namespace

TEST_CASE("se3: compose, inverse and relative are the products of the 4x4 matrices") {
  std::mt19937 generator(5);
  const auto A = se3::exp(random_vector<6>(generator)), B = se3::exp(random_vector<6>(generator));
  CHECK(distance(matrix(se3::compose(A, B)), matrix(A) * matrix(B)) < 1e-15);
  CHECK(distance(matrix(se3::inverse(A)) * matrix(A), Eigen::Matrix4d::Identity()) < 1e-15);
  CHECK(distance(matrix(se3::relative(A, B)), matrix(A).inverse() * matrix(B)) < 2e-15);
}

TEST_CASE("se3: hat, vee, ad and Ad are those of the 4x4 matrices") {
  std::mt19937 generator(6);
  const Vector6d g = random_vector<6>(generator), h = random_vector<6>(generator);
  const auto H = se3::exp(g);
  CHECK(distance(se3::vee(se3::hat(h)), h) == 0);
  CHECK(distance(se3::hat(g) * se3::hat(h) - se3::hat(h) * se3::hat(g), se3::hat(se3::ad(g) * h)) < 1e-14);
  CHECK(distance(matrix(H) * se3::hat(h) * matrix(H).inverse(), se3::hat(se3::adjoint(H) * h)) < 1e-14);
  CHECK(distance(se3::adjoint(H) * se3::adjoint_inverse(H), Matrix6d::Identity()) < 1e-14);
  CHECK(distance(se3::adjoint_inverse(H), se3::adjoint(se3::inverse(H))) < 1e-15);
}

TEST_CASE("se3: exp is the matrix exponential") {
  std::mt19937 generator(7);
  for (int n = 0; n < 50; ++n) {
    const Vector6d h = random_vector<6>(generator);
    Eigen::Matrix4d sum = Eigen::Matrix4d::Identity(), term = sum;
    for (int k = 1; k < 60; ++k) {
      term = term * se3::hat(h) / k;
      sum += term;
    }
    CHECK(distance(matrix(se3::exp(h)), sum) < 1e-13);  // the plain series loses a digit
  }
}

TEST_CASE("se3: log undoes exp up to pi") {
  double worst = 0;
  for (const Vector6d& h : increments()) {
    if (angle_of(h) >= pi) continue;
    worst = std::max(worst, distance(se3::log(se3::exp(h)), h) / (1 + h.norm()));
  }
  INFO("worst error ", worst);
  CHECK(worst < 5e-15);
}

TEST_CASE("se3: exp undoes log for every motion") {
  double worst = 0;
  for (const Vector6d& h : increments()) {
    const auto H = se3::exp(h);
    worst = std::max(worst, distance(matrix(se3::exp(se3::log(H))), matrix(H)) / (1 + H.x.norm()));
  }
  INFO("worst error ", worst);
  CHECK(worst < 5e-15);
}

TEST_CASE("se3: T T^-1 = I, T(-h) = Ad(exp h) T(h) and Ad(exp h)^-1 = Ad(exp(-h))") {
  double inverse = 0, sides = 0, adjoint = 0;
  for (const Vector6d& h : increments()) {
    const auto H = se3::exp(h);
    // The off-diagonal block of T^-1 has a double pole and is proportional to u.
    const double near = distance_to_pole(h), scale = (1 + angle_of(h)) * (1 + h.head<3>().norm());
    inverse = std::max(inverse,
                       distance(se3::tangent(h) * se3::tangent_inverse(h), Matrix6d::Identity()) * near * near / scale);
    sides = std::max(sides, distance(se3::tangent(-h), se3::adjoint(H) * se3::tangent(h)) / scale);
    adjoint = std::max(adjoint, distance(se3::adjoint_inverse(H), se3::adjoint(se3::exp(-h))) / scale);
  }
  INFO("T T^-1 ", inverse, ", sides ", sides, ", Ad ", adjoint);
  CHECK(inverse < 1e-14);
  CHECK(sides < 1e-14);
  CHECK(adjoint < 1e-14);
}

TEST_CASE("se3: differentiating exp gives the body velocity T(h) h'") {
  double worst = 0;
  for (const Vector6d& h : increments()) {
    const auto H = se3::exp(h);
    const auto moved = se3::exp(make_variables(h));
    const Eigen::Matrix<D6, 3, 3> Rt = H.R.transpose().cast<D6>();
    Column v;
    v << Eigen::Matrix<D6, 3, 1>(Rt * moved.x), so3::vee(Eigen::Matrix<D6, 3, 3>(Rt * moved.R));
    worst = std::max(worst, distance(jacobian(v), se3::tangent(h)) / (1 + h.norm()));
  }
  INFO("worst error ", worst);
  CHECK(worst < 1e-14);
}

TEST_CASE("se3: the derivatives of T a, T^T a, T^-1 a and T^-T a agree with differentiation") {
  std::mt19937 generator(3);
  double tangent = 0, inverse = 0;
  for (const Vector6d& h : increments()) {
    const Vector6d a = random_vector<6>(generator);
    const auto x = make_variables(h);
    const Column b = a.cast<D6>();
    const double near = distance_to_pole(h), scale = a.norm() * (1 + h.head<3>().norm());
    const double pole = scale * std::pow(1 + angle_of(h), 2) / std::pow(near, 4);
    tangent = std::max(
        {tangent, distance(se3::tangent_derivative(h, a), jacobian(Column(se3::tangent(x) * b))) / scale,
         distance(se3::tangent_transposed_derivative(h, a), jacobian(Column(se3::tangent(x).transpose() * b))) /
             scale});
    inverse = std::max(
        {inverse, distance(se3::tangent_inverse_derivative(h, a), jacobian(Column(se3::tangent_inverse(x) * b))) / pole,
         distance(se3::tangent_inverse_transposed_derivative(h, a),
                  jacobian(Column(se3::tangent_inverse(x).transpose() * b))) /
             pole});
  }
  INFO("T ", tangent, ", T^-1 ", inverse);
  CHECK(tangent < 1e-14);
  CHECK(inverse < 1e-14);
}

TEST_CASE("se3: the helicoidal strain changes by -T(-d)^-1 v_A + T(d)^-1 v_B") {
  std::mt19937 generator(4);
  double worst = 0;
  for (const Vector6d& d : increments()) {
    if (angle_of(d) >= pi - 1e-4) continue;
    const auto A = se3::exp(random_vector<6>(generator)), B = se3::compose(A, se3::exp(d));
    const auto increment = se3::exp(make_variables(Vector6d(Vector6d::Zero())));
    const double scale = 1 + d.norm() + A.x.norm() + B.x.norm();
    const auto by_A = se3::log(se3::relative(se3::compose(constant(A), increment), constant(B)));
    const auto by_B = se3::log(se3::relative(constant(A), se3::compose(constant(B), increment)));
    worst = std::max(worst, distance(values(by_A), d) / scale);
    worst = std::max(worst, distance(jacobian(by_A), -se3::tangent_inverse(-d)) / scale);
    worst = std::max(worst, distance(jacobian(by_B), se3::tangent_inverse(d)) / scale);
  }
  INFO("worst error ", worst);
  CHECK(worst < 1e-14);
}
