#include "contact/law/fixed_point.hpp"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using carom::test::Random;

// Steps until |x - exact| is small: x := c + K x, and what makes it nonlinear.
int steps(const Eigen::MatrixXd& K, const Eigen::VectorXd& exact, double bend, double unit) {
  const Eigen::Index n = exact.size();
  FixedPoint point;
  point.resize(at(static_cast<int>(n)));
  point.begin();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  for (int k = 1; k <= 60; ++k) {
    const Eigen::VectorXd d = x - exact;
    Eigen::VectorXd value = exact + K * d + bend * d.norm() * d;
    value *= unit;
    point.advance(In(value.data(), at(static_cast<int>(n))));
    for (Eigen::Index i = 0; i < n; ++i) x[i] = point.x()[at(static_cast<int>(i))] / unit;
    if ((x - exact).norm() < 1e-11 * exact.norm()) return k;
  }
  return 61;
}

}  // namespace

TEST_CASE("fixed point: one unknown by secants, whether repetition would converge or not") {
  for (const double slope : {0.0, 0.3, -0.9, 0.99, -3.0, 1.7}) {
    const Eigen::MatrixXd K = Eigen::MatrixXd::Constant(1, 1, slope);
    CHECK(steps(K, Eigen::VectorXd::Constant(1, 2.0), 0, 1) <= 4);
    CHECK(steps(0.5 * K, Eigen::VectorXd::Constant(1, 2.0), 0.02, 1) <= 9);
  }
}

TEST_CASE("fixed point: several unknowns that depend on each other, in any unit") {
  Random random(3);
  for (int k = 0; k < 50; ++k) {
    const Eigen::Index n = 1 + static_cast<Eigen::Index>(random.between(0, 5));
    Eigen::MatrixXd K(n, n);
    for (Eigen::Index i = 0; i < K.size(); ++i) K.data()[i] = random.between(-1, 1);
    K *= 0.9 / K.operatorNorm();
    const Eigen::VectorXd exact = Eigen::VectorXd::NullaryExpr(n, [&] { return random.between(1, 3); });
    const int needed = steps(K, exact, 0, 1);
    CHECK(needed <= 12);
    // clipping and rounding may cost a step
    CHECK(std::abs(steps(K, exact, 0, 1e-20) - needed) <= 1);
    CHECK(std::abs(steps(K, exact, 0, 1e20) - needed) <= 1);
  }
}

TEST_CASE("fixed point: the next x is not negative, and a first value is taken as it is") {
  FixedPoint point;
  point.resize(1);
  point.begin();
  const double first[1] = {3}, second[1] = {1}, third[1] = {-5};
  point.advance(first);
  CHECK(point.x()[0] == 3);
  point.advance(second);
  CHECK(point.x()[0] == 1);
  CHECK(point.before()[0] == 3);
  point.advance(third);
  CHECK(point.x()[0] >= 0);
  point.begin();
  point.advance(second);
  CHECK(point.x()[0] == 1);
}
