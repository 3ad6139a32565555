#include "core/linear/node_matrix.hpp"

#include <Eigen/Dense>
#include <cmath>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/base/vector_ops.hpp"
#include "core/linear/block_row.hpp"

namespace carom {

namespace {

constexpr int parallel_rows = 3000;       // fewer are not worth several threads
constexpr double smallest_share = 1e-10;  // of the largest eigenvalue, in the inverse of an indefinite block

inline double rounded(double x) { return static_cast<double>(static_cast<float>(x)); }

using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 3, 3>;
using BlockMap = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstBlockMap = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

enum class Definiteness { positive, indefinite, not_finite };

/// The inverse of a symmetric matrix, row-major. Of an indefinite one: that of the absolute values of its spectrum.
Definiteness invert(int size, const double* block, double* inverse) {
  if (size == 3) {
    // cofactors; positive definite by its leading minors
    const double *const a = block, *const b = block + 3, *const c = block + 6;
    const double xx = b[1] * c[2] - b[2] * c[1], xy = b[2] * c[0] - b[0] * c[2], xz = b[0] * c[1] - b[1] * c[0];
    const double zz = a[0] * b[1] - a[1] * b[0], det = a[0] * xx + a[1] * xy + a[2] * xz, d = 1 / det;
    if (a[0] > 0 && zz > 0 && det > 0 && std::isfinite(d)) {
      const double yy = a[0] * c[2] - a[2] * c[0], yz = a[2] * b[0] - a[0] * b[2];
      const double result[] = {d * xx, d * xy, d * xz, d * xy, d * yy, d * yz, d * xz, d * yz, d * zz};
      std::copy_n(result, 9, inverse);
      return Definiteness::positive;
    }
  }
  const Block A = ConstBlockMap(block, size, size);
  BlockMap out(inverse, size, size);
  if (!A.allFinite()) return Definiteness::not_finite;
  const Eigen::LLT<Block> cholesky(A);
  if (size != 3 && cholesky.info() == Eigen::Success) {
    out = cholesky.solve(Block::Identity(size, size));
    return out.allFinite() ? Definiteness::positive : Definiteness::not_finite;
  }
  const Eigen::SelfAdjointEigenSolver<Block> spectrum(A);
  const Eigen::VectorXd sizes = spectrum.eigenvalues().cwiseAbs();
  out = spectrum.eigenvectors() * sizes.cwiseMax(smallest_share * sizes.maxCoeff()).cwiseInverse().asDiagonal() *
        spectrum.eigenvectors().transpose();
  return out.allFinite() ? Definiteness::indefinite : Definiteness::not_finite;
}

}  // namespace

void NodeMatrix::analyse(const SparsePattern& pattern, std::span<const int> node, int threads) {
  *this = NodeMatrix();
  pattern_ = &pattern;
  const int n = pattern.rows;
  threads_ = n > parallel_rows ? threads : 1;
  node_of_.assign(at(n), -1);
  std::size_t entries = 0;
  for (int i = 0; i < n;) {
    if (node[at(i)] < 0) {
      ++i;
      continue;
    }
    Node own{i, 0, 0, 0};
    while (i < n && node[at(i)] == node[at(own.first)] && own.size < largest_node) {
      node_of_[at(i++)] = static_cast<int>(nodes_.size());
      ++own.size;
    }
    block_start_.push_back(entries);
    entries += at(own.size * own.size);
    nodes_.push_back(own);
    sizes_.push_back(own.size);
  }

  // find points whose three rows have the same columns and couple to points, and to rows of no node, only
  for (Node& own : nodes_) {
    const int first = pattern.row_start[at(own.first)], length = pattern.row_start[at(own.first + 1)] - first;
    bool regular = own.size == 3;
    for (int r = 1; r < own.size && regular; ++r) {
      const int other = pattern.row_start[at(own.first + r)];
      regular = pattern.row_start[at(own.first + r + 1)] - other == length &&
                std::equal(pattern.column.begin() + first, pattern.column.begin() + first + length,
                           pattern.column.begin() + other);
    }
    own.neighbours = static_cast<int>(neighbours_.size());
    for (int k = 0; k < length && regular;) {
      const int j = pattern.column[at(first + k)];
      if (node_of_[at(j)] < 0) {
        ++k;
        continue;
      }
      const Node& other = nodes_[at(node_of_[at(j)])];
      regular = j == other.first && other.size == 3 && k + 2 < length && pattern.column[at(first + k + 2)] == j + 2;
      neighbours_.push_back(j);
      offsets_.push_back(k);
      k += 3;
    }
    if (!regular) {
      neighbours_.resize(at(own.neighbours));
      offsets_.resize(at(own.neighbours));
    }
    own.neighbours_end = static_cast<int>(neighbours_.size());
    for (int r = 0; r < own.size; ++r)
      for (int c = 0; c < own.size; ++c) block_entry_.push_back(pattern.find(own.first + r, own.first + c));
  }
  inverses_.assign(entries, 0.0);
  partial_.assign(at(chunks()), 0.0);
}

// Calls visit(place among the values held, place in the pattern's values or -1) for all entries of a node's rows; -1:
// the column belongs to no node.
template <class Visit>
void NodeMatrix::each_value(const Node& node, const Visit& visit) const {
  const std::vector<int>& start = pattern_->row_start;
  const int first = start[at(node.first)], last = start[at(node.first + node.size)];
  if (node.neighbours == node.neighbours_end) {
    for (int k = first; k < last; ++k) visit(at(k), node_of_[at(pattern_->column[at(k)])] < 0 ? -1 : k);
    return;
  }
  const int length = (last - first) / 3;
  int own = first;
  for (int j = node.neighbours; j < node.neighbours_end; ++j)
    for (int c = offsets_[at(j)]; c < offsets_[at(j)] + 3; ++c)
      for (int r = 0; r < 3; ++r, ++own) visit(at(own), first + r * length + c);
}

bool NodeMatrix::prepare(std::span<const double> values, bool double_precision) {
  const auto entry_of_block = [&](std::size_t k) { return block_entry_[k] < 0 ? 0.0 : values[at(block_entry_[k])]; };
  // in a definite matrix the largest entry is on the diagonal
  double largest = 0;
  for (std::size_t g = 0; g < nodes_.size(); ++g)
    for (std::size_t r = 0, m = at(nodes_[g].size); r < m; ++r) {
      const double d = entry_of_block(block_start_[g] + r * (m + 1));
      if (!(d > 0) || !std::isfinite(d)) return false;
      largest = std::max(largest, d);
    }
  scale_ = std::exp2(-std::ilogb(largest));
  double_precision_ = double_precision;
  // extra room: kernels read whole lanes beyond the last entry
  const std::size_t room = at(pattern_->nonzeros() + lane_count);
  if (double_precision)
    doubles_.resize(room);
  else
    floats_.resize(room);

  for_chunks([&](int chunk, int first, int last) {
    double bad = 0;  // indefinite blocks; infinite if one is not finite
    for (int g = first; g < last; ++g) {
      const Node& node = nodes_[at(g)];
      each_value(node, [&](std::size_t own, int k) {
        const double value = k < 0 ? 0.0 : scale_ * values[at(k)];
        if (double_precision)
          doubles_[own] = value;
        else
          floats_[own] = static_cast<float>(value);
      });
      double block[largest_node * largest_node];
      const std::size_t entries = at(node.size * node.size);
      for (std::size_t k = 0; k < entries; ++k) block[k] = rounded(scale_ * entry_of_block(block_start_[at(g)] + k));
      const Definiteness found = invert(node.size, block, inverses_.data() + block_start_[at(g)]);
      if (found != Definiteness::positive) bad += found == Definiteness::indefinite ? 1.0 : HUGE_VAL;
    }
    partial_[at(chunk)] = bad;
  });
  const double bad = sum(partial_);
  indefinite_blocks_ = bad > 0;
  return std::isfinite(bad);
}

void NodeMatrix::blocks_of(std::size_t node, std::vector<BlockPlaces>& blocks) const {
  blocks.clear();
  const Node& own = nodes_[node];
  const std::vector<int>& start = pattern_->row_start;
  if (own.neighbours != own.neighbours_end) {
    int place = start[at(own.first)];
    for (int j = own.neighbours; j < own.neighbours_end; ++j) {
      BlockPlaces& block = blocks.emplace_back();
      block.node = node_of_[at(neighbours_[at(j)])];
      for (int& k : block.place) k = place++;
    }
    return;
  }
  for (int r = 0; r < own.size; ++r)
    for (int k = start[at(own.first + r)]; k < start[at(own.first + r + 1)]; ++k) {
      const int j = pattern_->column[at(k)], other = node_of_[at(j)];
      if (other < 0) continue;
      auto block = std::ranges::find(blocks, other, &BlockPlaces::node);
      if (block == blocks.end()) {
        block = blocks.insert(blocks.end(), BlockPlaces{});
        block->node = other;
        block->place.fill(-1);
      }
      block->place[at(3 * (j - nodes_[at(other)].first) + r)] = k;
    }
}

template <class Real>
void NodeMatrix::multiply(const Real* values, const Node& node, const double* x, double* y) const {
  const SparsePattern& p = *pattern_;
  if (node.neighbours == node.neighbours_end) {
    for (int r = 0; r < node.size; ++r) {
      double s = 0;
      for (int k = p.row_start[at(node.first + r)]; k < p.row_start[at(node.first + r + 1)]; ++k)
        s += static_cast<double>(values[at(k)]) * x[at(p.column[at(k)])];
      y[r] = s;
    }
    return;
  }
  const int* const neighbours = neighbours_.data();
  const Lanes s = sum_blocks(values + p.row_start[at(node.first)], neighbours + node.neighbours,
                             neighbours + node.neighbours_end, x);
  y[0] = s[0];
  y[1] = s[1];
  y[2] = s[2];
}

void NodeMatrix::multiply_nodes(int first, int last, const double* x, double* y) const {
  if (double_precision_)
    for (int g = first; g < last; ++g) multiply(doubles_.data(), nodes_[at(g)], x, y + nodes_[at(g)].first);
  else
    for (int g = first; g < last; ++g) multiply(floats_.data(), nodes_[at(g)], x, y + nodes_[at(g)].first);
}

// instantiated for multiply_node(), which other files use
template void NodeMatrix::multiply(const float*, const Node&, const double*, double*) const;
template void NodeMatrix::multiply(const double*, const Node&, const double*, double*) const;

void NodeMatrix::export_blocks(std::vector<int>& start, std::vector<int>& column, Vector& blocks) const {
  start.assign(1, 0);
  column.clear();
  blocks.clear();
  std::vector<int> place(nodes_.size(), -1);
  for (std::size_t g = 0; g < nodes_.size(); ++g) {
    const Node& node = nodes_[g];
    const int begin = static_cast<int>(column.size());
    // the block that couples the node with another one
    const auto block = [&](int other) {
      if (place[at(other)] < begin) {
        place[at(other)] = static_cast<int>(column.size());
        column.push_back(other);
        blocks.resize(blocks.size() + 9, 0.0);
      }
      return blocks.data() + 9 * at(place[at(other)]);
    };
    if (node.neighbours != node.neighbours_end) {
      const double* a = doubles_.data() + pattern_->row_start[at(node.first)];
      for (int j = node.neighbours; j < node.neighbours_end; ++j, a += 9) {
        double* const b = block(node_of_[at(neighbours_[at(j)])]);
        for (int c = 0; c < 3; ++c)
          for (int r = 0; r < 3; ++r) b[3 * r + c] = a[3 * c + r];
      }
    } else {
      for (int r = 0; r < node.size; ++r)
        for (int k = pattern_->row_start[at(node.first + r)]; k < pattern_->row_start[at(node.first + r + 1)]; ++k) {
          const int j = pattern_->column[at(k)], other = node_of_[at(j)];
          if (other >= 0) block(other)[3 * r + j - nodes_[at(other)].first] = doubles_[at(k)];
        }
      double* const own = block(static_cast<int>(g));
      for (int c = node.size; c < 3; ++c) own[4 * c] = own[0];
    }
    start.push_back(static_cast<int>(column.size()));
  }
}

double NodeMatrix::dot(const Vector& x, const Vector& y) const {
  for_chunks([&](int chunk, int first, int last) {
    partial_[at(chunk)] = carom::dot(rows_of(x, first, last), rows_of(y, first, last));
  });
  return sum(partial_);
}

double NodeMatrix::add_and_dot(double c, const Vector& x, Vector& y, const Vector& z) const {
  for_chunks([&](int chunk, int first, int last) {
    const auto [begin, end] = matrix_rows(first, last);
    axpy(c, rows_of(x, first, last), Out(y).subspan(at(begin), at(end - begin)));
    partial_[at(chunk)] = carom::dot(rows_of(y, first, last), rows_of(z, first, last));
  });
  return sum(partial_);
}

}  // namespace carom
