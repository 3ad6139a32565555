#include "core/linear/dense_lu.hpp"

#include "tests/core/solver_matrices.hpp"
#include "tests/support/counting_allocator.hpp"

using namespace carom;
using namespace carom::solver_test;

namespace {

std::vector<double> random_matrix(int n, Random& random) {
  std::vector<double> A(at(n * n));
  for (double& a : A) a = random();
  return A;
}

// Largest |(A + shift 1) x - b| against |A| |x| n.
double residual(std::span<const double> A, double shift, std::span<const double> x, std::span<const double> b) {
  const std::size_t n = x.size();
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double r = shift * x[i] - b[i];
    for (std::size_t j = 0; j < n; ++j) r += A[i * n + j] * x[j];
    worst = std::max(worst, std::fabs(r));
  }
  return worst / (static_cast<double>(n) * norm(A) * norm(x));
}

}  // namespace

TEST_CASE("dense LU: solves matrices that need pivots, of sizes that change") {
  Random random;
  DenseLu lu;
  for (const int n : {1, 2, 3, 8, 48, 49, 120, 5, 200, 50})
    for (const double shift : {0.0, 0.3}) {
      CAPTURE(n);
      std::vector<double> A = random_matrix(n, random);
      for (int i = 0; n > 1 && i < n; ++i) A[at(i * n + i)] = 0;
      const std::vector<double> b = random_matrix(n, random);
      std::vector<double> x(b.begin(), b.begin() + n);
      const double ratio = lu.factorise(A, n, shift);
      CHECK(ratio > 0);
      CHECK(ratio <= 1);
      lu.solve(x);
      CHECK(residual(A, shift, x, std::span(b).first(at(n))) < 1e-14);
    }
}

TEST_CASE("dense LU: pivots tell a matrix of lower rank") {
  Random random;
  DenseLu lu;
  for (const int n : {2, 6, 48, 49, 150}) {
    CAPTURE(n);
    std::vector<double> A = random_matrix(n, random);
    CHECK(lu.factorise(A, n) > 1e-6);
    // the last row becomes the mean of two others
    for (int j = 0; j < n; ++j) A[at((n - 1) * n + j)] = 0.5 * (A[at(j)] + A[at((n - 2) * n + j)]);
    CHECK(lu.factorise(A, n) < 1e-13);
    CHECK(lu.factorise(std::vector<double>(at(n * n), 0.0), n) == 0);
  }
}

TEST_CASE("dense LU: small matrices of changing size allocate nothing within the reserved room") {
  Random random;
  const std::vector<double> A = random_matrix(16, random);
  std::vector<double> b(16);
  DenseLu lu;
  lu.reserve(16);
  test::AllocationCount count;
  for (const int n : {3, 16, 1, 9}) {
    lu.factorise(std::span(A).first(at(n * n)), n, 4);
    lu.solve(std::span(b).first(at(n)));
  }
  const long allocations = count.value();
  CHECK(allocations == 0);
}
