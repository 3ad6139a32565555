// Block-tridiagonal LU for chains of nodes with a few unknowns each (beams, bars, rows of bodies), unsymmetric, with
// partial pivoting inside the blocks. [Golub & Van Loan, Matrix Computations, 4th ed., section 4.5.1]
//
//   D'_i = D_i - L_i X_{i-1},   X_i = D'_i^-1 U_i        L_i, D_i, U_i: block row i of the matrix
//   y_i = D'_i^-1 (b_i - L_i y_{i-1}),   x_i = y_i - X_i x_{i+1}
//
// A multiplier that touches one block or two neighbours joins the later block (joint between neighbours, or between a
// node and the ground). A few multipliers that couple distant blocks (closed loops) form a border, which is eliminated
// last through its Schur complement. Pivots come from within a block, so a regular matrix may meet a singular D'_i, or
// pivots may grow: the general method then factorises.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

constexpr int largest_chain_block = 12;  // of consecutive unknowns
constexpr int largest_block = 24;        // with the multipliers that join the block
constexpr int largest_border = 8;
constexpr double largest_growth = 1e7;  // of a pivot over its scale; Newton's method corrects the rounding error

// Blocks in the order of elimination: order[start[i]] .. order[start[i + 1] - 1] are the rows of block i. The last
// `border` entries of the order are the border.
struct Partition {
  std::vector<int> start{0}, order;
  int border = 0;
};

// Cuts the first `rows` rows of the pattern into blocks that couple to their neighbours only; false if that needs
// blocks larger than allowed. Columns from `rows` on are ignored.
bool cut_into_chain(const SparsePattern& p, int rows, std::vector<int>& start) {
  std::vector<int> first(at(rows)), last(at(rows));
  for (int i = 0; i < rows; ++i) {
    first[at(i)] = last[at(i)] = i;
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
      const int j = p.column[at(k)];
      if (j >= rows) break;
      first[at(i)] = std::min(first[at(i)], j);
      last[at(i)] = std::max(last[at(i)], j);
    }
  }
  // The last column of a block's rows lies in this block or the next.
  start.assign(1, 0);
  int reach = 0;  // one past the last column of the rows so far
  for (int begin = 0, end = 0; begin < rows; begin = end) {
    if (reach > begin) {
      end = reach;
    } else {
      for (end = begin; end < rows && last[at(end)] == last[at(begin)]; ++end) {
      }
    }
    if (end - begin > largest_chain_block) return false;
    for (int i = begin; i < end; ++i) {
      reach = std::max(reach, last[at(i)] + 1);
      if (start.size() > 1 ? first[at(i)] < start[start.size() - 2] : first[at(i)] < 0) return false;
    }
    if (reach <= end) reach = 0;
    start.push_back(end);
  }
  return true;
}

bool partition(const SparsePattern& p, Partition& out) {
  // Trailing rows without coupling among themselves: mostly multipliers.
  const int n = p.rows;
  int chain = n;
  std::vector<char> touched(at(n), 0);
  const auto ends_before = [&](int row, int column) {
    return p.row_start[at(row)] < p.row_start[at(row) + 1] && p.column[at(p.row_start[at(row) + 1] - 1)] < column;
  };
  while (chain > 0 && touched[at(chain - 1)] == 0 && ends_before(chain - 1, chain)) {
    --chain;
    for (int k = p.row_start[at(chain)]; k < p.row_start[at(chain) + 1]; ++k) touched[at(p.column[at(k)])] = 1;
  }
  std::vector<int> start;
  if (chain == 0 || !cut_into_chain(p, chain, start)) return false;
  const int blocks = static_cast<int>(start.size()) - 1;

  // Each of these rows joins a block or the border.
  std::vector<int> block_of(at(chain));
  for (int b = 0; b < blocks; ++b)
    for (int i = start[at(b)]; i < start[at(b) + 1]; ++i) block_of[at(i)] = b;
  std::vector<std::vector<int>> joined(at(blocks));
  std::vector<int> border;
  for (int i = chain; i < n; ++i) {
    int first = blocks, last = -1;
    const auto look = [&](int j) {
      if (j >= chain) return;
      first = std::min(first, block_of[at(j)]);
      last = std::max(last, block_of[at(j)]);
    };
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) look(p.column[at(k)]);
    const bool fits = last >= 0 && last - first <= 1 &&
                      start[at(last) + 1] - start[at(last)] + static_cast<int>(joined[at(last)].size()) < largest_block;
    if (fits)
      joined[at(last)].push_back(i);
    else
      border.push_back(i);
  }
  if (static_cast<int>(border.size()) > largest_border) return false;

  out = {};
  for (int b = 0; b < blocks; ++b) {
    for (int i = start[at(b)]; i < start[at(b) + 1]; ++i) out.order.push_back(i);
    out.order.insert(out.order.end(), joined[at(b)].begin(), joined[at(b)].end());
    out.start.push_back(static_cast<int>(out.order.size()));
  }
  out.order.insert(out.order.end(), border.begin(), border.end());
  out.border = static_cast<int>(border.size());

  // So far only rows were examined: an unsymmetric pattern may still couple distant blocks.
  std::vector<int> place(at(n));
  for (int b = 0; b < blocks; ++b)
    for (int i = out.start[at(b)]; i < out.start[at(b) + 1]; ++i) place[at(out.order[at(i)])] = b;
  for (int i = n - out.border; i < n; ++i) place[at(out.order[at(i)])] = -1;
  for (int i = 0; i < n; ++i)
    for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
      const int a = place[at(i)], b = place[at(p.column[at(k)])];
      if (a >= 0 && b >= 0 && std::abs(a - b) > 1) return false;
    }
  return true;
}

class BlockChain final : public Factorisation {
 public:
  BlockChain(SharedPattern pattern, const Partition& part)
      : pattern_(std::move(pattern)), order_(part.order), border_(part.border) {
    const SparsePattern& p = *pattern_;
    const int n = p.rows, blocks = static_cast<int>(part.start.size()) - 1;
    chain_ = part.start.back();
    std::vector<int> place(at(n)), block_of(at(n), -1);
    for (int i = 0; i < n; ++i) place[at(order_[at(i)])] = i;
    natural_ = std::is_sorted(order_.begin(), order_.end());
    for (int b = 0; b < blocks; ++b)
      for (int i = part.start[at(b)]; i < part.start[at(b) + 1]; ++i) block_of[at(i)] = b;

    const auto size_of = [&](int b) { return b < 0 || b >= blocks ? 0 : part.start[at(b) + 1] - part.start[at(b)]; };
    std::size_t entries = 0, factors = 0;
    for (int b = 0; b < blocks; ++b) {
      Block block;
      block.first = part.start[at(b)];
      block.size = size_of(b);
      block.before = size_of(b - 1);
      block.after = size_of(b + 1);
      block.d = padded(block.before);
      block.u = block.d + padded(block.size);
      block.ld = block.u + padded(block.after);
      block.rows = entries;
      entries += at(block.size * block.ld);
      block.lower = factors;
      factors += at(block.size * padded(block.size));
      facts_.fill += static_cast<double>(block.size) * (block.before + block.size + block.after);

      // Places of the values: consecutive rows of six entries per block, or entry by entry.
      const int row0 = order_[at(block.first)], wide = block.before + block.size + block.after;
      block.six = block.size == 6 && (block.before == 0 || block.before == 6) && (block.after == 0 || block.after == 6);
      block.value = p.row_start[at(row0)];
      for (int r = 0; r < block.size && block.six; ++r) {
        const int i = order_[at(block.first + r)], k0 = p.row_start[at(i)];
        block.six = i == row0 + r && p.row_start[at(i) + 1] - k0 == wide;
        for (int c = 0; c < wide && block.six; ++c)
          block.six = place[at(p.column[at(k0 + c)])] == block.first - block.before + c;
      }
      block.target = static_cast<int>(source_.size());
      if (!block.six) {
        for (int r = 0; r < block.size; ++r) {
          const int i = order_[at(block.first + r)];
          for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
            const int j = place[at(p.column[at(k)])];
            if (j >= chain_) {
              upper_border_.push_back({k, block.first + r, j - chain_});
              continue;
            }
            const int other = block_of[at(j)], c = j - part.start[at(other)];
            const int column = other < b ? c : other == b ? block.d + c : block.u + c;
            source_.push_back(k);
            target_.push_back(r * block.ld + column);
          }
        }
      }
      block.target_end = static_cast<int>(source_.size());
      blocks_.push_back(block);
    }
    for (int r = 0; r < border_; ++r) {
      const int i = order_[at(chain_ + r)];
      for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
        const int j = place[at(p.column[at(k)])];
        if (j >= chain_)
          corner_.push_back({k, r, j - chain_});
        else
          lower_border_.push_back({k, r, j});
      }
    }

    // Extra room at the end: kernels read and write whole lanes.
    a_.assign(entries + lane_count, 0.0);
    l_.assign(factors, 0.0);
    inverse_.assign(at(chain_), 0.0);
    pivot_.assign(at(chain_), 0);
    column_scale_.assign(at(chain_ + lane_count), 0.0);
    work_.assign(at(n + lane_count), 0.0);
    if (border_ > 0) {
      columns_.assign(at(border_ * chain_), 0.0);
      schur_values_.assign(at(border_ * border_), 0.0);
      border_scale_.assign(at(2 * border_), 0.0);
      PatternBuilder full(border_, border_);
      std::vector<int> all(at(border_));
      for (int i = 0; i < border_; ++i) all[at(i)] = i;
      full.add_block(all, all);
      schur_ = make_dense(full.build(), {});
      facts_.fill += 2.0 * border_ * chain_;
    }
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    ++counters.factorisations;
    facts_.suspicious_row = -1;
    facts_.reciprocal_condition = 0;
    const double* const v = values.data();
    smallest_ = 1;
    largest_ = 0;
    const std::size_t blocks = blocks_.size();
    if (border_ > 0) scale_border(v);
    load(0, v);
    bool good = true;
    for (std::size_t b = 0; b < blocks && good; ++b) {
      // Column scales need the rows of the next block; row scales need the column scales of the next block.
      if (b == 0) {
        if (blocks > 1) load(1, v);
        scale_columns(0);
      }
      if (b + 2 < blocks) load(b + 2, v);
      if (b + 1 < blocks) scale_columns(b + 1);
      good = blocks_[b].six ? factor_block<6>(b) : factor_block<0>(b);
    }
    good = good && smallest_ > singular_tolerance && largest_ < largest_growth;
    if (good && border_ > 0) good = factor_border(v);
    if (!good) {
      std::ranges::fill(a_, 0.0);  // padding may have become NaN
      return Outcome::unsuitable;
    }
    facts_.reciprocal_condition = smallest_;
    return Outcome::ok;
  }

  void solve(double* b, int columns) override {
    const int n = pattern_->rows;
    double* const x = work_.data();
    for (int c = 0; c < columns; ++c, b += n) {
      if (natural_)
        std::copy_n(b, n, x);
      else
        for (int i = 0; i < n; ++i) x[i] = b[order_[at(i)]];
      if (border_ == 0)
        solve_chain(x);
      else
        solve_bordered(x);
      if (natural_)
        std::copy_n(x, n, b);
      else
        for (int i = 0; i < n; ++i) b[order_[at(i)]] = x[i];
    }
  }
  std::string_view name() const override { return "block_chain"; }

 private:
  // Consecutive rows [L | D | U] of ld entries, each part padded to whole lanes; D begins at column d, U at column u.
  // After the factorisation D holds the upper factor and U holds X. l_ holds the columns of the lower factor as they
  // were at their elimination (before the row exchanges of later columns), zero from the diagonal upwards.
  struct Block {
    int first = 0, size = 0, before = 0, after = 0;  // first row in the order; sizes of this block and its neighbours
    int d = 0, u = 0, ld = 0;
    std::size_t rows = 0, lower = 0;  // of a_ and l_
    bool six = false;                 // consecutive rows of 6 + 6 + 6 values, the first at `value`
    int value = 0;                    // first value
    int target = 0, target_end = 0;   // otherwise: range of source_ and target_
  };
  struct Entry {
    int value, row, column;
  };

  void load(std::size_t b, const double* values) {
    const Block& block = blocks_[b];
    double* const a = a_.data() + block.rows;
    if (block.six) {
      const double* v = values + block.value;
      const int parts = block.ld / 8;
      for (int r = 0; r < 6; ++r)
        for (int part = 0; part < parts; ++part, v += 6) {
          double* const to = a + r * block.ld + 8 * part;
          lanes_at(to) = lanes_at(v);
          lanes_at(to + 4) = Lanes{v[4], v[5], 0, 0};
        }
      return;
    }
    for (int i = 0; i < block.size * block.ld; i += lane_count) lanes_at(a + i) = Lanes{};
    for (int k = block.target; k < block.target_end; ++k) a[target_[at(k)]] = values[source_[at(k)]];
  }

  // One over the largest entry of every column of block b. The rows of the block and of its neighbours are loaded and
  // not yet factorised.
  void scale_columns(std::size_t b) {
    const Block& block = blocks_[b];
    double largest[padded(largest_block)] = {};
    const auto look = [&](const Block& rows, int column) {
      const double* const a = a_.data() + rows.rows + column;
      for (int r = 0; r < rows.size; ++r)
        for (int j = 0; j < padded(block.size); j += lane_count)
          lanes_at(largest + j) = max(abs(lanes_at(a + r * rows.ld + j)), lanes_at(largest + j));
    };
    if (b > 0) look(blocks_[b - 1], blocks_[b - 1].u);
    look(block, block.d);
    if (b + 1 < blocks_.size()) look(blocks_[b + 1], 0);
    for (int j = 0; j < block.size; ++j) {
      double size = largest[j];
      if (border_ > 0) size = std::max(size, border_column_[at(block.first + j)]);
      column_scale_[at(block.first + j)] = size >= DBL_MIN ? 1 / size : 0;
    }
  }

  template <int N>
  bool factor_block(std::size_t b) {
    const Block& block = blocks_[b];
    const int n = N ? N : block.size, d = N ? (block.d ? 8 : 0) : block.d, u = N ? d + 8 : block.u, ld = block.ld;
    double* const a = a_.data() + block.rows;
    const double* const scale = column_scale_.data() + block.first;

    // Largest entry of every row with scaled columns; the padding is zero.
    double row_scale[largest_block];
    for (int r = 0; r < n; ++r) {
      const double* const row = a + r * ld;
      Lanes largest{};
      const auto look = [&](const double* x, const double* s, int count) {
        for (int j = 0; j < count; j += lane_count) largest = max(abs(lanes_at(x + j) * lanes_at(s + j)), largest);
      };
      look(row, scale - block.before, d);
      look(row + d, scale, u - d);
      look(row + u, scale + n, ld - u);
      row_scale[r] = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
      if (border_ > 0) row_scale[r] = std::max(row_scale[r], border_row_[at(block.first + r)]);
    }

    // D' = D - L X of the block before.
    if (b > 0) {
      const Block& previous = blocks_[b - 1];
      const double* const x = a_.data() + previous.rows + previous.u;
      const int m = N ? 6 : block.before;
      if (N == 6) {
        if (d > 0)
          for (int r = 0; r < 6; ++r) {
            double* const row = a + r * ld;
            Lanes y0 = lanes_at(row + d), y1 = lanes_at(row + d + 4);
            for (int k = 0; k < 6; ++k) {
              y0 -= row[k] * lanes_at(x + k * previous.ld);
              y1 -= row[k] * lanes_at(x + k * previous.ld + 4);
            }
            lanes_at(row + d) = y0;
            lanes_at(row + d + 4) = y1;
          }
      } else {
        for (int r = 0; r < n; ++r)
          for (int k = 0; k < m; ++k) subtract(a + r * ld + d, a[r * ld + k], x + k * previous.ld, 0, n);
      }
    }

    // Eliminate [D' | U] with row exchanges; L stays in place.
    double* const lower = l_.data() + block.lower;
    double* const inverse = inverse_.data() + block.first;
    int* const pivot = pivot_.data() + block.first;
    double smallest = smallest_, largest = largest_;
    const int width = ld - d;
    for (int k = 0; k < n; ++k) {
      int p = k;
      double best = std::fabs(a[k * ld + d + k]);
      for (int r = k + 1; r < n; ++r) {
        const double size = std::fabs(a[r * ld + d + k]);
        if (size > best) best = size, p = r;
      }
      pivot[k] = p;
      double* const row = a + k * ld + d;
      if (p != k) {
        double* const other = a + p * ld + d;
        for (int j = 0; j < width; j += lane_count) {
          const Lanes mine = lanes_at(row + j);
          lanes_at(row + j) = lanes_at(other + j);
          lanes_at(other + j) = mine;
        }
        std::swap(row_scale[k], row_scale[p]);
      }
      const double relative = best * scale[k] / row_scale[k];
      if (!(relative > singular_tolerance)) return false;
      smallest = std::min(smallest, relative);
      largest = std::max(largest, relative);
      const double inv = 1.0 / row[k];
      inverse[k] = inv;
      for (int r = k + 1; r < n; ++r) {
        double* const below = a + r * ld + d;
        const double factor = below[k] * inv;
        subtract(below, factor, row, k + 1, width);
        lower[k * padded(n) + r] = factor;
      }
    }
    smallest_ = smallest;
    largest_ = largest;

    // X = D'^-1 U
    if (ld > u) {
      const int after = ld - u;
      for (int k = n - 1; k >= 0; --k) {
        double* const row = a + k * ld;
        for (int j = k + 1; j < n; ++j) subtract(row + u, row[d + j], a + j * ld + u, 0, after);
        const double inv = inverse[k];
        for (int j = 0; j < after; j += lane_count) lanes_at(row + u + j) *= inv;
      }
    }
    return true;
  }

  // x becomes D'^-1 x for one block.
  template <int N>
  void solve_block(const Block& block, double* x) const {
    const int n = N ? N : block.size;
    const double* const a = a_.data() + block.rows + block.d;
    const double* const inverse = inverse_.data() + block.first;
    const int* const pivot = pivot_.data() + block.first;
    const double* const lower = l_.data() + block.lower;
    double y[padded(N ? N : largest_block)] = {};
    for (int k = 0; k < n; ++k) y[k] = x[k];
    for (int k = 0; k + 1 < n; ++k) {
      std::swap(y[k], y[pivot[k]]);
      subtract(y, y[k], lower + k * padded(n), k + 1, n);
    }
    for (int k = n - 1; k >= 0; --k) {
      for (int j = k + 1; j < n; ++j) y[k] -= a[k * block.ld + j] * y[j];
      y[k] *= inverse[k];
    }
    for (int k = 0; k < n; ++k) x[k] = y[k];
  }
  // y -= A x, where A are the `count` columns of a block's rows from `column` on.
  template <int N>
  void subtract_product(const Block& block, int column, int count, const double* x, double* y) const {
    const int n = N ? N : block.size, m = N ? N : count;
    const double* const a = a_.data() + block.rows + column;
    for (int r = 0; r < n; ++r) {
      double s = 0;
      for (int j = 0; j < m; ++j) s += a[r * block.ld + j] * x[j];
      y[r] -= s;
    }
  }

  void solve_chain(double* x) const {
    for (const Block& block : blocks_) {
      double* const own = x + block.first;
      if (block.six) {
        if (block.before > 0) subtract_product<6>(block, 0, 6, own - 6, own);
        solve_block<6>(block, own);
      } else {
        if (block.before > 0) subtract_product<0>(block, 0, block.before, own - block.before, own);
        solve_block<0>(block, own);
      }
    }
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      const Block& block = blocks_[b];
      if (block.after == 0) continue;
      double* const own = x + block.first;
      if (block.six)
        subtract_product<6>(block, block.u, 6, own + 6, own);
      else
        subtract_product<0>(block, block.u, block.after, own + block.size, own);
    }
  }

  // Contributions of the border's entries to the scales of columns and rows.
  void scale_border(const double* values) {
    border_column_.assign(at(chain_), 0.0);
    border_row_.assign(at(chain_), 0.0);
    double* const column = border_scale_.data();
    double* const row = column + border_;
    std::ranges::fill(border_scale_, 0.0);
    for (const Entry& e : lower_border_)
      border_column_[at(e.column)] = std::max(border_column_[at(e.column)], std::fabs(values[e.value]));
    for (const Entry& e : upper_border_) column[e.column] = std::max(column[e.column], std::fabs(values[e.value]));
    for (const Entry& e : corner_) column[e.column] = std::max(column[e.column], std::fabs(values[e.value]));
    for (int i = 0; i < border_; ++i) column[i] = column[i] >= DBL_MIN ? 1 / column[i] : 0;
    for (const Entry& e : upper_border_)
      border_row_[at(e.row)] = std::max(border_row_[at(e.row)], std::fabs(values[e.value]) * column[e.column]);
    for (const Entry& e : corner_) row[e.row] = std::max(row[e.row], std::fabs(values[e.value]) * column[e.column]);
  }

  // The Schur complement of the border, F - E C^-1 B.
  bool factor_border(const double* values) {
    std::ranges::fill(columns_, 0.0);
    border_values_.assign(values, values + pattern_->nonzeros());
    for (const Entry& e : upper_border_) columns_[at(e.column * chain_ + e.row)] = values[e.value];
    for (int c = 0; c < border_; ++c) solve_chain(columns_.data() + at(c * chain_));
    std::ranges::fill(schur_values_, 0.0);
    double* const row = border_scale_.data() + border_;
    for (const Entry& e : corner_) schur_values_[at(e.row * border_ + e.column)] = values[e.value];
    for (const Entry& e : lower_border_) {
      row[e.row] = std::max(row[e.row], std::fabs(values[e.value]) * column_scale_[at(e.column)]);
      for (int c = 0; c < border_; ++c)
        schur_values_[at(e.row * border_ + c)] -= values[e.value] * columns_[at(c * chain_ + e.column)];
    }
    // Compare rows with the scale of the matrix: the pivots below show dependent rows, but no row that vanishes.
    double least = 1;
    for (int r = 0; r < border_; ++r) {
      double largest = 0;
      for (int c = 0; c < border_; ++c)
        largest = std::max(largest, std::fabs(schur_values_[at(r * border_ + c)]) * border_scale_[at(c)]);
      const double relative = largest / row[r];
      if (!(relative > singular_tolerance)) return false;
      least = std::min(least, relative);
    }
    LinearCounters unused;
    if (schur_->factorise(schur_values_, unused) != Outcome::ok) return false;
    const double relative = least * schur_->facts().reciprocal_condition;
    smallest_ = std::min(smallest_, relative);
    return relative > singular_tolerance;
  }

  void solve_bordered(double* x) {
    solve_chain(x);
    double* const z = x + chain_;
    for (const Entry& e : lower_border_) z[e.row] -= border_values_[at(e.value)] * x[e.column];
    schur_->solve(z, 1);
    for (int c = 0; c < border_; ++c)
      for (int i = 0; i < chain_; ++i) x[i] -= z[c] * columns_[at(c * chain_ + i)];
  }

  SharedPattern pattern_;
  std::vector<int> order_;  // order_[new] = old
  int chain_ = 0, border_;  // rows of the blocks and of the border
  bool natural_ = false;    // the order is the pattern's
  std::vector<Block> blocks_;
  std::vector<int> source_, target_;  // positions in the values and in the block's rows
  std::vector<double> a_, l_, inverse_, column_scale_, work_;
  std::vector<int> pivot_;
  double smallest_ = 1, largest_ = 0;  // pivots against their scales

  // [[C, B], [E, F]]: B, E and F by entries, C^-1 B by columns
  std::vector<Entry> upper_border_, lower_border_, corner_;
  std::vector<double> columns_, border_values_, schur_values_, border_scale_, border_column_, border_row_;
  Backend schur_;
};

}  // namespace

Backend make_block_chain(SharedPattern pattern, int least_mean_size) {
  Partition part;
  if (pattern->rows == 0 || !partition(*pattern, part)) return nullptr;
  const int blocks = static_cast<int>(part.start.size()) - 1;
  if (part.start.back() < least_mean_size * blocks || 8 * part.border > pattern->rows) return nullptr;
  return std::make_unique<BlockChain>(std::move(pattern), part);
}

}  // namespace carom::detail
