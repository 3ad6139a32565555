// Pattern of a sparse matrix in compressed rows, its builder, and products with it.
//
// A matrix is a pattern and an array of values, where values[k] belongs to column[k]. Patterns are computed once and
// shared; values are written through stored positions. Rows and columns count from 0; columns ascend within a row and
// are unique. Indices are int: at most 2^31 - 1 rows and entries.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carom {

/// Compressed rows (CSR): row i holds column[row_start[i]] .. column[row_start[i + 1] - 1].
struct SparsePattern {
  int rows = 0, cols = 0;
  std::vector<int> row_start{0};  // size rows + 1
  std::vector<int> column;        // size nonzeros()

  int nonzeros() const { return static_cast<int>(column.size()); }
  /// Position of (row, col) in `column` and in the values; -1 if the pattern has no such entry.
  int find(int row, int col) const;
};

/// Collects entries and blocks in any order, with repetitions. Blocks are kept as index lists, so that an element of 24
/// unknowns costs about 200 bytes until build() instead of 576 entries.
class PatternBuilder {
 public:
  PatternBuilder(int rows, int cols);
  /// One entry. Out-of-range indices throw std::out_of_range, here and in add_block().
  void add(int row, int col);
  /// All entries rows x cols; negative indices (fixed unknowns) are skipped.
  void add_block(std::span<const int> rows, std::span<const int> cols);
  /// The pattern of all entries added so far; more may be added afterwards. Throws std::length_error beyond 2^31 - 1
  /// entries.
  SparsePattern build();

 private:
  // Index ranges in `indices_`: rows at [rows, cols), columns at [cols, end); a square block stores its list once.
  struct Block {
    std::size_t rows, cols, end;
    bool same;
  };
  void append(std::span<const int> list, int limit);

  int rows_, cols_;
  std::vector<int> indices_;
  std::vector<Block> blocks_;
  std::vector<int> single_rows_, single_cols_;
};

/// One constraint row: value[k] in column equation[k]. Refilled without allocation.
struct SparseRow {
  std::vector<int> equation;
  std::vector<double> value;
};

/// y = A x; x has `cols` and y `rows` entries, not overlapping.
void multiply(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x,
              std::span<double> y);

/// Whether |a_ij - a_ji| <= tolerance for all entries, of a square matrix with a symmetric pattern; with `scale`, one
/// number per row, |a_ij - a_ji| sqrt(scale_i scale_j). False where values are not finite.
bool is_symmetric(const SparsePattern& pattern, std::span<const double> values, double tolerance,
                  std::span<const double> scale = {});

}  // namespace carom
