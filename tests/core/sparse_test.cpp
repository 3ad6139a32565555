#include "core/linear/sparse.hpp"

#include <stdexcept>
#include <vector>

#include "tests/core/solver_matrices.hpp"

using namespace carom;
using namespace carom::solver_test;

TEST_CASE("sparse: a pattern holds what was added once, sorted, without fixed unknowns") {
  PatternBuilder b(4, 4);
  b.add(3, 2);
  b.add(3, 0);
  b.add(3, 2);
  const std::vector<int> element{2, -1, 0};
  b.add_block(element, element);
  const SparsePattern p = b.build();
  CHECK(p.row_start == std::vector<int>{0, 2, 2, 4, 6});
  CHECK(p.column == std::vector<int>{0, 2, 0, 2, 0, 2});
  CHECK(p.find(3, 2) == 5);
  CHECK(p.find(3, 1) == -1);
  CHECK(p.find(1, 0) == -1);
  CHECK_THROWS_AS(b.add(4, 0), std::out_of_range);
  CHECK_THROWS_AS(b.add(0, -1), std::out_of_range);
  // The builder accepts more entries after building.
  b.add(1, 1);
  CHECK(b.build().nonzeros() == 7);
}

TEST_CASE("sparse: rectangular blocks and products with the matrix") {
  PatternBuilder b(2, 3);
  const std::vector<int> rows{0, 1}, cols{0, 2};
  b.add_block(rows, cols);
  Matrix m = zero_matrix(b.build());
  m.values = {1, 2, 3, 4};  // [[1, 0, 2], [3, 0, 4]]
  std::vector<double> y(2);
  multiply(m.pattern, m.values, std::vector<double>{1, 10, 100}, y);
  CHECK(y == std::vector<double>{201, 403});
}

TEST_CASE("sparse matrices: symmetric within a tolerance, also of scaled rows") {
  PatternBuilder builder(4, 4);
  for (const auto& [i, j] : {std::pair(0, 0), {1, 1}, {2, 2}, {3, 3}, {0, 2}, {2, 0}, {1, 3}, {3, 1}, {2, 3}, {3, 2}})
    builder.add(i, j);
  const SparsePattern p = builder.build();
  std::vector<double> a(p.column.size(), 1.0);
  const auto entry = [&](int i, int j) -> double& { return a[at(p.find(i, j))]; };
  entry(2, 3) = entry(3, 2) = -5;
  entry(0, 0) = 7;
  CHECK(is_symmetric(p, a, 0));
  entry(3, 1) += 1e-3;
  CHECK(!is_symmetric(p, a, 0.9e-3));
  CHECK(is_symmetric(p, a, 1.1e-3));
  const std::vector<double> scale = {1, 4, 1, 1e-2};  // sqrt(4e-2) = 0.2
  CHECK(!is_symmetric(p, a, 1.9e-4, scale));
  CHECK(is_symmetric(p, a, 2.1e-4, scale));
  entry(1, 3) = std::nan("");
  CHECK(!is_symmetric(p, a, 1));
}
