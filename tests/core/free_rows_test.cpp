#include "core/linear/free_rows.hpp"

#include <doctest/doctest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/index.hpp"

using namespace carom;

namespace {

// A A' + shift for a random sparse A of n rows, about three of which share a column.
struct RandomMatrix {
  SparsePattern pattern;
  std::vector<double> values;
  Eigen::MatrixXd dense;

  RandomMatrix(int n, int columns, double shift, std::mt19937& random) {
    std::uniform_real_distribution<double> value(-1, 1);
    std::uniform_int_distribution<int> near(0, 6);
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(n, columns);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 3; ++k) A(i, (i * columns / n + near(random)) % columns) = value(random);
    dense = A * A.transpose() + shift * Eigen::MatrixXd::Identity(n, n);
    PatternBuilder builder(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (dense(i, j) != 0) builder.add(i, j);
    pattern = builder.build();
    for (int i = 0; i < n; ++i)
      for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i + 1)]; ++k)
        values.push_back(dense(i, pattern.column[at(k)]));
  }

  // The residual on the free rows over what it may be; infinite if x does not vanish elsewhere.
  double error(const std::vector<std::uint8_t>& free, const std::vector<double>& b,
               const std::vector<double>& x) const {
    const Eigen::Map<const Eigen::VectorXd> X(x.data(), dense.rows()), B(b.data(), dense.rows());
    const Eigen::VectorXd r = B - dense * X;
    double error = 0, size = 0;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (free[i] == 0 && x[i] != 0) return HUGE_VAL;
      if (free[i] == 0) continue;
      error = std::max(error, std::abs(r(static_cast<Eigen::Index>(i))));
      size = std::max(size, std::abs(b[i]));
    }
    const double rounding = dense.lpNorm<Eigen::Infinity>() * X.lpNorm<Eigen::Infinity>();
    return error == 0 ? 0 : error / std::max(1e-8 * size, 1e-14 * rounding);
  }
};

}  // namespace

TEST_CASE("free rows: solutions on sets that change by a few rows, also of nearly singular matrices") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(-1, 1);
  struct {
    int n, columns;
    double shift;
  } const cases[] = {{200, 300, 0.1}, {200, 120, 1e-8}, {5, 7, 0.1}};
  FreeRows rows;
  for (const auto& [n, columns, shift] : cases) {
    const RandomMatrix K(n, columns, shift, random);
    rows.set_matrix(K.pattern, K.values);
    std::uniform_int_distribution<std::size_t> row(0, at(n) - 1);
    std::vector<std::uint8_t> free(at(n), 1);
    const long before = rows.counters().factorisations;
    const int sets = 60;
    for (int set = 0; set < sets; ++set) {
      // now and then most rows change
      for (int k = 0; k < (set % 20 == 19 ? n : 4); ++k) free[row(random)] ^= 1;
      std::vector<double> b(at(n)), x;
      for (double& v : b) v = value(random);
      REQUIRE(rows.select(free));
      for (int k = 0; k < 2; ++k) {
        x = b;
        REQUIRE(rows.solve(x));
        CHECK(K.error(free, b, x) < 1);
      }
      if (shift < 1e-3) continue;
      // the same as a direct solution
      std::vector<Eigen::Index> own;
      for (int i = 0; i < n; ++i)
        if (free[at(i)] != 0) own.push_back(i);
      const Eigen::Map<const Eigen::VectorXd> B(b.data(), n), X(x.data(), n);
      if (!own.empty())
        CHECK((K.dense(own, own).llt().solve(B(own)) - X(own)).lpNorm<Eigen::Infinity>() <
              1e-6 * X.lpNorm<Eigen::Infinity>());
    }
    // few of the sets needed factors of their own
    CHECK(rows.counters().factorisations - before < sets / 3);
  }
}

TEST_CASE("free rows: a new matrix counts, and a singular one is told") {
  PatternBuilder builder(3, 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (std::abs(i - j) < 2) builder.add(i, j);
  const SparsePattern pattern = builder.build();
  FreeRows rows;
  rows.set_matrix(pattern, std::vector<double>{2, 1, 1, 2, 1, 1, 2});
  REQUIRE(rows.select(std::vector<std::uint8_t>{1, 1, 0}));
  std::vector<double> x = {3, 3, 7};
  REQUIRE(rows.solve(x));
  CHECK(x[0] == doctest::Approx(1));
  CHECK(x[1] == doctest::Approx(1));
  CHECK(x[2] == 0);
  rows.set_matrix(pattern, std::vector<double>{4, 2, 2, 4, 2, 2, 4});
  REQUIRE(rows.select(std::vector<std::uint8_t>{1, 1, 0}));
  x = {3, 3, 7};
  REQUIRE(rows.solve(x));
  CHECK(x[0] == doctest::Approx(0.5));
  rows.set_matrix(pattern, std::vector<double>{1, 1, 1, 1, 0, 0, 1});
  CHECK(!rows.select(std::vector<std::uint8_t>{1, 1, 1}));
  CHECK(rows.select(std::vector<std::uint8_t>{1, 0, 1}));
}
