#include "core/mechanics/row_rank.hpp"

#include <doctest/doctest.h>

#include <Eigen/QR>
#include <cmath>
#include <random>

using namespace carom;

namespace {

SparseRow sparse(const Eigen::RowVectorXd& dense) {
  SparseRow row;
  for (int j = 0; j < dense.size(); ++j)
    if (dense[j] != 0) {
      row.equation.push_back(j);
      row.value.push_back(dense[j]);
    }
  return row;
}

// Rows that do not increase the rank of the preceding rows, by a dense factorisation of every leading part.
std::vector<int> redundant_by_definition(const Eigen::MatrixXd& G) {
  std::vector<int> redundant;
  Eigen::Index before = 0;
  for (Eigen::Index i = 0; i < G.rows(); ++i) {
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(G.topRows(i + 1));
    qr.setThreshold(1e-9);
    if (qr.rank() == before) redundant.push_back(static_cast<int>(i));
    before = qr.rank();
  }
  return redundant;
}

}  // namespace

TEST_CASE("row rank: redundant are the rows that depend on rows before them, as in the dense definition") {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> entry(-2, 2), coin(0, 3);
  for (int trial = 0; trial < 200; ++trial) {
    const int rows = 1 + trial % 17, columns = 1 + trial % 11;
    Eigen::MatrixXd G = Eigen::MatrixXd::Zero(rows, columns);
    for (int i = 0; i < rows; ++i) {
      // sparse rows; sometimes a combination of earlier rows
      for (int j = 0; j < columns; ++j)
        if (coin(random) == 0) G(i, j) = entry(random);
      if (i > 1 && coin(random) == 0) G.row(i) = 0.3 * G.row(i - 1) - 1.7 * G.row(i / 2);
    }
    std::vector<SparseRow> list;
    for (int i = 0; i < rows; ++i) list.push_back(sparse(G.row(i)));
    const RowRank rank = row_rank(list, columns);
    CAPTURE(trial);
    CHECK(rank.redundant == redundant_by_definition(G));
    CHECK(rank.rank + static_cast<int>(rank.redundant.size()) == rows);
  }
}

TEST_CASE("row rank: of a long ring of differences only the closing one is redundant") {
  const int n = 3000;
  std::vector<SparseRow> rows;
  for (int i = 0; i < n; ++i) rows.push_back({{i, (i + 1) % n}, {-1, 1}});
  const RowRank rank = row_rank(rows, n);
  CHECK(rank.rank == n - 1);
  CHECK(rank.redundant == std::vector<int>{n - 1});
  // holding one member makes the chain regular
  rows.back() = {{n / 2}, {1}};
  CHECK(row_rank(rows, n).rank == n);
}

TEST_CASE("row rank: the length of a row does not matter, and a row without entries counts for nothing") {
  std::vector<SparseRow> rows = {{{0, 1}, {1e-9, 2e-9}}, {{1, 2}, {3e9, 1e9}}, {}, {{0, 1}, {5, 10}}};
  const RowRank rank = row_rank(rows, 3);
  CHECK(rank.rank == 2);
  CHECK(rank.redundant == std::vector<int>{2, 3});
  // nearly parallel rows count as two rows; rows that are parallel up to rounding as one
  rows[3].value[1] = 10 * (1 + 1e-6);
  CHECK(row_rank(rows, 3).rank == 3);
  rows[3].value[1] = 10 * (1 + 1e-13);
  CHECK(row_rank(rows, 3).rank == 2);
}

TEST_CASE("row rank: no rows, and rows without columns, have rank zero") {
  CHECK(row_rank(std::vector<SparseRow>{}, 5).rank == 0);
  const RowRank rank = row_rank(std::vector<SparseRow>(2), 0);
  CHECK(rank.rank == 0);
  CHECK(rank.redundant == std::vector<int>{0, 1});
}

TEST_CASE("row rank: what is carried along with rows comes out as their redundant combination") {
  // the third row is 3 times the first and 4 times the second; of unit rows 0.6 and 0.8
  for (const double b : {11.0, 16.0}) {
    const std::vector<SparseRow> rows = {{{0, 2}, {1, 1}}, {{1, 2}, {1, 2}}, {{0, 1, 2}, {3, 4, b}}};
    const RowRank rank = row_rank(rows, 2);
    REQUIRE(rank.redundant == std::vector<int>{2});
    REQUIRE(rank.left.size() == 1);
    const SparseRow& left = rank.left[0];
    const double value = left.value.empty() ? 0 : left.value[0];
    CHECK(value == doctest::Approx((b / 5 - 0.6 - 0.8 * 2) / std::sqrt(2)).epsilon(1e-12).scale(1));
  }
  // an empty row demands what nothing can meet
  const RowRank rank = row_rank(std::vector<SparseRow>{{{3}, {7}}}, 3);
  CHECK(rank.rank == 0);
  CHECK(rank.left.at(0).value.at(0) == 7);
}
