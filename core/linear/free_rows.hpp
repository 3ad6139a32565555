// Solutions of symmetric positive definite systems on a set of rows that changes by a few rows at a time, as in
// active-set methods of many contacts.
//
// With the factors of K on one set, rows A that have joined and rows B that have left border the matrix:
//
//   [ K     K_A   E_B ] [ x   ]   [ b   ]
//   [ K_A'  K_AA      ] [ x_A ] = [ b_A ]     E_B: unit columns, which make x vanish in the rows that have left
//   [ E_B'            ] [ y   ]   [ 0   ]
//
// The Schur complement of the border is small and dense; a row costs one solution when it joins or leaves. Solutions
// are corrected by their residuals; where these remain too large, the matrix is factorised again. [Gill, Murray,
// Saunders & Wright, A Schur-complement method for sparse quadratic programming, in Reliable Numerical Computation,
// Oxford University Press 1990, 113]
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/linear/dense_lu.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class FreeRows {
 public:
  /// K is symmetric and positive definite, its pattern symmetric with a full diagonal. Nothing stays of an earlier
  /// matrix but the symbolic analysis of the same pattern.
  void set_matrix(const SparsePattern& pattern, std::span<const double> values);
  /// The rows of which `free` is not zero. False if a factorisation finds that K is singular there.
  bool select(std::span<const std::uint8_t> free);
  /// x, the right-hand side, becomes the solution on the free rows and zero elsewhere. After few changes of the set,
  /// residuals are at most 1e-8 of the largest entry of the right-hand side, or rounding error; else those of the
  /// factorisation. False as select(), or if the solution is not finite.
  bool solve(std::span<double> x);
  const LinearCounters& counters() const { return solver_.counters(); }

 private:
  bool factorise();
  bool add_columns(std::span<const int> rows);
  bool make_schur();
  bool solve_bordered(std::span<double> x);
  double factorised_row(int row, std::span<const double> x) const;
  bool is_factorised(int row) const { return factorised_[static_cast<std::size_t>(row)] != 0; }
  std::span<double> column(std::size_t k) { return std::span(columns_).subspan(k * n(), n()); }
  std::size_t n() const { return static_cast<std::size_t>(pattern_.rows); }

  SparsePattern pattern_;
  std::vector<double> values_, diagonal_;  // of K
  LinearSolver solver_;                    // of K on the rows of factorised_, of the diagonal elsewhere
  bool has_factors_ = false;
  std::vector<std::uint8_t> free_, factorised_;
  std::vector<int> changed_, added_;  // rows of the border, and those among them whose columns are missing
  std::vector<double> columns_;       // K^-1 [K_A E_B], one column of changed_ after the other
  std::vector<double> schur_, border_, matrix_, given_, residual_, correction_;
  DenseLu schur_lu_;
};

}  // namespace carom
