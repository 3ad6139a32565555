// DenseLu: LU with partial pivoting of a dense matrix whose size may change from one factorisation to the next.
// [Golub & Van Loan, Matrix Computations, 4th ed., algorithm 3.4.1]
//
// Three plain loops up to 48 rows, Eigen's blocked LU beyond. Factor and one solution in microseconds, AVX2:
//   n             1      2      4      8      12     24    48    100   200   400    800
//   plain loops   0.013  0.022  0.090  0.28   0.58   2.9   10.5  77    604   8300   109000
//   Eigen         0.037  0.055  0.13   0.33   0.70   2.6   10.8  54    306   1890   21200
// Nothing is allocated up to 48 rows and the reserved size; Eigen allocates when the size changes and, from some 400
// rows on, for its temporary blocks.
#pragma once

#include <Eigen/LU>
#include <span>
#include <vector>

namespace carom {

class DenseLu {
 public:
  void reserve(int n);
  /// Factorises A + shift 1; A is row-major and has n x n entries. Returns the smallest over the largest pivot, 0 if a
  /// pivot vanishes, in which case solve() must not be called.
  double factorise(std::span<const double> A, int n, double shift = 0);
  /// b (n entries) becomes the solution.
  void solve(std::span<double> b);

 private:
  double factorise_small();
  void solve_small(double* b) const;

  int n_ = 0;
  std::vector<double> a_;   // up to 48 rows: L and U, row-major
  std::vector<int> pivot_;  // row k was exchanged with row pivot_[k]
  Eigen::PartialPivLU<Eigen::MatrixXd> large_;
  Eigen::VectorXd work_;
};

}  // namespace carom
