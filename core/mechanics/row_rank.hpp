// Rank of constraint rows, with the rows that depend on rows before them.
//
//   Q G = R     one row of G after the other is rotated into R by Givens rotations (A. George, M. T. Heath, Solution of
//               sparse linear least squares problems using Givens rotations, Linear Algebra Appl. 34, 1980)
//
// The order of the rows is the caller's, so that a row is redundant when it depends on earlier ones; the order of the
// columns is chosen for sparsity (COLAMD). Rows are scaled to unit length first. A row is redundant when what is left
// of it is below `tolerance`: its distance from the span of the rows before, over sqrt(1 + |z|^2) with z the
// coefficients of its nearest combination. Rows without any entry are redundant.
#pragma once

#include <span>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

inline constexpr double rank_tolerance = 1e-9;

struct RowRank {
  int rank = 0;
  std::vector<int> redundant;  ///< positions in the given list, ascending
};

/// Rows of G at (q, t) by their global numbers, in the order in which they count.
RowRank row_rank(const System& system, In q, double t, std::span<const int> rows, double tolerance = rank_tolerance);

/// The same of rows given as sparse entries (equations in [0, columns), in any order, repeated ones are summed).
RowRank row_rank(std::span<const SparseRow> rows, int columns, double tolerance = rank_tolerance);

}  // namespace carom
