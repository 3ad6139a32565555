// Factors of CHOLMOD, exact and rounded to single precision.
#include "core/linear/supernodal_factors.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

TEST_CASE("rounded factors of CHOLMOD solve to single precision, whatever the size of the right-hand side") {
  Random random;
  const Matrix m = grid_laplacian(12, false);
  const std::size_t n = at(m.pattern.rows);
  const detail::Backend exact = detail::make_cholmod(std::make_shared<SparsePattern>(m.pattern));
  const detail::Backend rounded = detail::make_cholmod(std::make_shared<SparsePattern>(m.pattern));
  LinearCounters counters;
  REQUIRE(exact->factorise(m.values, counters) == detail::Outcome::ok);
  for (int turn = 0; turn < 2; ++turn) {
    REQUIRE(rounded->factorise(m.values, counters) == detail::Outcome::ok);
    std::vector<double> b(5 * n, 0.0), x;
    for (std::size_t i = 0; i < 4 * n; ++i) b[i] = random();
    for (std::size_t i = n; i < 2 * n; ++i) b[i] *= 1e-60;
    for (std::size_t i = 2 * n; i < 3 * n; ++i) b[i] *= 1e60;
    std::vector<double> expected = b;
    exact->solve(expected.data(), 5);
    // the factors are exact until they are rounded
    x = b;
    rounded->solve(x.data(), 5);
    CHECK(x == expected);
    detail::round_factors(*rounded, 1);
    x = b;
    rounded->solve(x.data(), 5);
    std::vector<double> one = b;
    for (std::size_t c = 0; c < 5; ++c) rounded->solve(one.data() + c * n, 1);
    for (std::size_t c = 0; c < 4; ++c) {
      double largest = 0, error = 0, error_one = 0;
      for (std::size_t i = c * n; i < (c + 1) * n; ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        error = std::max(error, std::abs(x[i] - expected[i]));
        error_one = std::max(error_one, std::abs(one[i] - expected[i]));
      }
      CHECK(error < 2e-6 * largest);
      CHECK(error > 1e-10 * largest);
      CHECK(error_one < 2e-6 * largest);
    }
    for (std::size_t i = 4 * n; i < 5 * n; ++i) CHECK((x[i] == 0 && one[i] == 0));
  }
}

// Two grids that do not couple, and one grid alone: the elimination tree splits at its top or below.
TEST_CASE("factors of CHOLMOD of large matrices solve with the same bits for any number of threads") {
  Random random;
  const Matrix grid = grid_laplacian(17, false);
  const int n_grid = grid.pattern.rows;
  for (const int grids : {1, 2}) {
    CAPTURE(grids);
    Matrix m = grid;
    if (grids == 2) {
      for (const int start : std::span(grid.pattern.row_start).subspan(1))
        m.pattern.row_start.push_back(start + grid.pattern.row_start.back());
      for (const int column : grid.pattern.column) m.pattern.column.push_back(column + n_grid);
      m.pattern.rows = m.pattern.cols = 2 * n_grid;
      m.values.insert(m.values.end(), grid.values.begin(), grid.values.end());
    }
    const std::size_t n = at(m.pattern.rows);
    const int columns = 11;
    std::vector<double> b(at(columns) * n);
    for (double& x : b) x = random();
    const auto residual = [&](const std::vector<double>& x) {
      double largest = 0;
      for (std::size_t c = 0; c < at(columns); ++c)
        for (std::size_t i = 0; i < n; ++i) {
          double r = b[c * n + i];
          for (int k = m.pattern.row_start[i]; k < m.pattern.row_start[i + 1]; ++k)
            r -= m.values[at(k)] * x[c * n + at(m.pattern.column[at(k)])];
          largest = std::max(largest, std::abs(r));
        }
      return largest;
    };
    std::vector<std::vector<double>> solutions, single;
    for (const int threads : {1, 2, 5}) {
      const detail::Backend solver = detail::make_cholmod(std::make_shared<SparsePattern>(m.pattern));
      LinearCounters counters;
      REQUIRE(solver->factorise(m.values, counters) == detail::Outcome::ok);
      REQUIRE(solver->facts().fill > 200000);
      std::vector<double> x = b;
      solver->solve(x.data(), columns);
      CHECK(residual(x) < 1e-12);
      std::vector<double> one = b;
      for (int c = 0; c < columns; ++c) solver->solve(one.data() + at(c) * n, 1);
      CHECK(residual(one) < 1e-12);
      detail::round_factors(*solver, threads);
      solutions.push_back(b);
      solver->solve(solutions.back().data(), columns);
      single.push_back(b);
      for (int c = 0; c < columns; ++c) solver->solve(single.back().data() + at(c) * n, 1);
    }
    CHECK(residual(solutions[0]) < 1e-4);
    CHECK(residual(single[0]) < 1e-4);
    CHECK(solutions[1] == solutions[0]);
    CHECK(solutions[2] == solutions[0]);
    CHECK(single[1] == single[0]);
    CHECK(single[2] == single[0]);
  }
}
