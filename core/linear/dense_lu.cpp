#include "core/linear/dense_lu.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"

namespace carom {

namespace {

constexpr int largest_small = 48;

}  // namespace

void DenseLu::reserve(int n) {
  a_.reserve(at(n * n));
  pivot_.reserve(at(n));
}

double DenseLu::factorise(std::span<const double> A, int n, double shift) {
  n_ = n;
  if (n <= largest_small) {
    a_.assign(A.begin(), A.end());
    for (int i = 0; shift != 0 && i < n; ++i) a_[at(i * n + i)] += shift;
    return factorise_small();
  }
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto matrix = RowMajor::Map(A.data(), n, n);
  work_.resize(n);
  if (shift == 0)
    large_.compute(matrix);
  else
    large_.compute(RowMajor(matrix + shift * RowMajor::Identity(n, n)));
  const auto pivots = large_.matrixLU().diagonal().cwiseAbs();
  const double largest = pivots.maxCoeff();
  return largest > 0 ? pivots.minCoeff() / largest : 0;
}

void DenseLu::solve(std::span<double> b) {
  if (n_ <= largest_small) return solve_small(b.data());
  Eigen::Map<Eigen::VectorXd> x(b.data(), n_);
  work_.noalias() = large_.permutationP() * x;
  large_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(work_);
  large_.matrixLU().triangularView<Eigen::Upper>().solveInPlace(work_);
  x = work_;
}

double DenseLu::factorise_small() {
  const int n = n_;
  double* const A = a_.data();
  pivot_.resize(at(n));
  double smallest = HUGE_VAL, largest = 0;
  for (int k = 0; k < n; ++k) {
    int p = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(A[i * n + k]) > std::abs(A[p * n + k])) p = i;
    pivot_[at(k)] = p;
    if (p != k) std::swap_ranges(A + k * n, A + k * n + n, A + p * n);
    const double d = A[k * n + k];
    smallest = std::min(smallest, std::abs(d));
    largest = std::max(largest, std::abs(d));
    if (d == 0) return 0;
    for (int i = k + 1; i < n; ++i) {
      const double l = A[i * n + k] /= d;
      for (int j = k + 1; j < n; ++j) A[i * n + j] -= l * A[k * n + j];
    }
  }
  return largest > 0 ? smallest / largest : 0;
}

void DenseLu::solve_small(double* b) const {
  const int n = n_;
  const double* const A = a_.data();
  for (int k = 0; k < n; ++k) {
    std::swap(b[k], b[pivot_[at(k)]]);
    for (int j = 0; j < k; ++j) b[k] -= A[k * n + j] * b[j];
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = k + 1; j < n; ++j) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
}

}  // namespace carom
