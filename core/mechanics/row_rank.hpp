// Rank of constraint rows, and the rows that depend on earlier rows.
//
//   Q G = R     Givens rotations add the rows of G to R one after the other (A. George, M. T. Heath, Solution of sparse
//               linear least squares problems using Givens rotations, Linear Algebra Appl. 34, 1980)
//
// The caller chooses the order of the rows: a row is redundant if it depends on earlier rows. The order of the columns
// is chosen for sparsity (COLAMD). Rows are scaled to unit length first. A row is redundant if its remainder after
// elimination is below `tolerance`. The remainder is the distance of the row from the span of the earlier rows, divided
// by sqrt(1 + |z|^2), where z are the coefficients of the nearest combination. Empty rows are redundant.
//
// Entries behind the columns are carried along: they take part in the elimination, not in the verdict. A redundant row
// leaves w^T b of carried entries b, where w^T G = 0.
#pragma once

#include <span>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

inline constexpr double rank_tolerance = 1e-9;

struct RowRank {
  int rank = 0;
  std::vector<int> redundant;   ///< indices into the given list, ascending
  std::vector<SparseRow> left;  ///< of each redundant row: the carried entries, for a row of unit length and |w| = 1
};

/// Rank of the rows of G at (q, t), given by global row numbers.
RowRank row_rank(const System& system, In q, double t, std::span<const int> rows, double tolerance = rank_tolerance);

/// Rank of rows given as sparse entries: equations in [0, columns), in any order; repeated entries are summed. Entries
/// of equations from `columns` on are carried along.
RowRank row_rank(std::span<const SparseRow> rows, int columns, double tolerance = rank_tolerance);

}  // namespace carom
