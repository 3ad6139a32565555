#include "core/linear/sparse.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/index.hpp"

namespace carom {

int SparsePattern::find(int row, int col) const {
  const auto first = column.begin() + row_start[at(row)], last = column.begin() + row_start[at(row) + 1];
  const auto it = std::lower_bound(first, last, col);
  return it != last && *it == col ? static_cast<int>(it - column.begin()) : -1;
}

PatternBuilder::PatternBuilder(int rows, int cols) : rows_(rows), cols_(cols) {
  if (rows < 0 || cols < 0) throw std::invalid_argument("PatternBuilder: negative size");
}

void PatternBuilder::add(int row, int col) {
  if (row < 0 || row >= rows_ || col < 0 || col >= cols_) throw std::out_of_range("PatternBuilder: index");
  single_rows_.push_back(row);
  single_cols_.push_back(col);
}

void PatternBuilder::append(std::span<const int> list, int limit) {
  for (const int i : list) {
    if (i >= limit) throw std::out_of_range("PatternBuilder: index");
    if (i >= 0) indices_.push_back(i);
  }
}

void PatternBuilder::add_block(std::span<const int> rows, std::span<const int> cols) {
  Block block{indices_.size(), 0, 0, rows_ == cols_ && std::ranges::equal(rows, cols)};
  append(rows, rows_);
  block.cols = indices_.size();
  if (!block.same) append(cols, cols_);
  block.end = indices_.size();
  blocks_.push_back(block);
}

SparsePattern PatternBuilder::build() {
  // Compressed lists of the blocks and single entries that touch each row.
  std::vector<std::size_t> block_start(at(rows_) + 1, 0), single_start(at(rows_) + 1, 0);
  for (const Block& b : blocks_)
    for (std::size_t k = b.rows; k < b.cols; ++k) ++block_start[at(indices_[k]) + 1];
  for (const int row : single_rows_) ++single_start[at(row) + 1];
  for (std::size_t i = 0; i < at(rows_); ++i) {
    block_start[i + 1] += block_start[i];
    single_start[i + 1] += single_start[i];
  }
  std::vector<std::size_t> next = block_start;
  std::vector<std::size_t> block_of(block_start.back());
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (std::size_t k = blocks_[b].rows; k < blocks_[b].cols; ++k) block_of[next[at(indices_[k])]++] = b;
  next = single_start;
  std::vector<int> single_col(single_start.back());
  for (std::size_t k = 0; k < single_rows_.size(); ++k) single_col[next[at(single_rows_[k])]++] = single_cols_[k];

  // Calls take(column) once for every column of a row.
  std::vector<int> seen_in(at(cols_), -1);
  const auto visit = [&](int row, auto&& take) {
    const auto once = [&](int col) {
      if (seen_in[at(col)] == row) return;
      seen_in[at(col)] = row;
      take(col);
    };
    for (std::size_t k = block_start[at(row)]; k < block_start[at(row) + 1]; ++k) {
      const Block& b = blocks_[block_of[k]];
      for (std::size_t c = b.same ? b.rows : b.cols; c < (b.same ? b.cols : b.end); ++c) once(indices_[c]);
    }
    for (std::size_t k = single_start[at(row)]; k < single_start[at(row) + 1]; ++k) once(single_col[k]);
  };

  // Count first, then fill: the result is allocated once, with its exact size.
  SparsePattern p{rows_, cols_, std::vector<int>(at(rows_) + 1, 0), {}};
  std::size_t total = 0;
  for (int row = 0; row < rows_; ++row) {
    visit(row, [&](int) { ++total; });
    if (total > at(std::numeric_limits<int>::max())) throw std::length_error("PatternBuilder: too many entries");
    p.row_start[at(row) + 1] = static_cast<int>(total);
  }
  p.column.resize(total);
  std::ranges::fill(seen_in, -1);
  std::size_t k = 0;
  for (int row = 0; row < rows_; ++row) {
    visit(row, [&](int col) { p.column[k++] = col; });
    std::sort(p.column.begin() + p.row_start[at(row)], p.column.begin() + p.row_start[at(row) + 1]);
  }
  return p;
}

void multiply(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x,
              std::span<double> y) {
  assert(values.size() == pattern.column.size() && x.size() == at(pattern.cols) && y.size() == at(pattern.rows));
  const int* const start = pattern.row_start.data();
  const int* const column = pattern.column.data();
  for (int i = 0; i < pattern.rows; ++i) {
    double sum = 0;
    for (int k = start[i]; k < start[i + 1]; ++k) sum += values[at(k)] * x[at(column[k])];
    y[at(i)] = sum;
  }
}

bool is_symmetric(const SparsePattern& pattern, std::span<const double> values, double tolerance,
                  std::span<const double> scale) {
  // columns ascend: the mirrored entries of row j come one after the other from the rows above
  std::vector<int> next(pattern.row_start.begin(), pattern.row_start.end() - 1);
  for (int j = 0; j < pattern.rows; ++j)
    for (int k = pattern.row_start[at(j)]; k < pattern.row_start[at(j + 1)]; ++k) {
      const std::size_t i = at(pattern.column[at(k)]);
      const double difference = std::abs(values[at(k)] - values[at(next[i]++)]);
      if (!(difference * (scale.empty() ? 1 : std::sqrt(scale[i] * scale[at(j)])) <= tolerance)) return false;
    }
  return true;
}

}  // namespace carom
