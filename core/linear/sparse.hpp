// Pattern of a sparse matrix in compressed rows, its builder, and products with it.
//
// A matrix is a pattern and an array of values, values[k] belonging to column[k]; patterns are computed once and
// shared, values are written through stored positions. Rows and columns count from 0; columns ascend within a row and
// are unique. Indices are int: at most 2^31 - 1 rows and entries.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace carom {

// Compressed rows (CSR): row i holds column[row_start[i]] .. column[row_start[i + 1] - 1].
struct SparsePattern {
  int rows = 0, cols = 0;
  std::vector<int> row_start{0};  // size rows + 1
  std::vector<int> column;        // size nonzeros()

  int nonzeros() const { return static_cast<int>(column.size()); }
  // Position of (row, col) in `column` and in the values; -1 if the pattern has no such entry.
  int find(int row, int col) const;
};

// Collects entries and blocks in any order, with repetitions. Blocks are kept as index lists, not as entries: an
// element of 24 unknowns costs about 200 bytes until build() and not its 576 entries.
class PatternBuilder {
 public:
  PatternBuilder(int rows, int cols);
  // One entry; out-of-range indices throw std::out_of_range, as below.
  void add(int row, int col);
  // All entries rows x cols; negative indices (fixed unknowns) are skipped.
  void add_block(std::span<const int> rows, std::span<const int> cols);
  // The pattern of everything added so far; adding may go on afterwards. Throws std::length_error beyond 2^31 - 1
  // entries.
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

/// One constraint row as sparse entries: value[k] at column equation[k]; sized once, refilled per call.
struct SparseRow {
  std::vector<int> equation;
  std::vector<double> value;
};

// y = A x; x has `cols` and y `rows` entries, not overlapping.
void multiply(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x,
              std::span<double> y);
// y = A^T x; x has `rows` and y `cols` entries, not overlapping.
void multiply_transposed(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x,
                         std::span<double> y);

}  // namespace carom
