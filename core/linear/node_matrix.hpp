// NodeMatrix: the matrix of the nodes of solids for iterative methods, with the inverses of its node blocks.
//
// The matrix is scaled by a power of two so that its largest entry is about one, and kept in single precision, which
// halves the memory traffic of a product, or in double precision. Products sum in double precision. One thread sums
// each row, and dot products are summed in fixed chunks of nodes: same bits for any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/base/types.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class NodeMatrix {
 public:
  static constexpr int largest_node = 3;
  /// The matrix rows of a node, which are consecutive.
  struct Node {
    int first = 0, size = 0;
    int neighbours = 0, neighbours_end = 0;  ///< range of neighbours_; empty: values lie as in the pattern
  };

  /// node[i]: node of the matrix row i, -1: the row is not part of this matrix. The square pattern outlives this.
  void analyse(const SparsePattern& pattern, std::span<const int> node, int threads);
  /// Copies the values and inverts the node blocks; those of indefinite blocks by the absolute values of their spectra.
  /// False if a diagonal entry is not positive or the matrix is not finite.
  bool prepare(std::span<const double> values, bool double_precision);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int> sizes() const { return sizes_; }      ///< of the nodes
  std::span<const int> node_of() const { return node_of_; }  ///< of matrix rows; -1: none
  int rows() const { return static_cast<int>(node_of_.size()); }
  double scale() const { return scale_; }  ///< of the values held
  int threads() const { return threads_; }
  /// Some inverse blocks are those of the absolute values of a spectrum.
  bool indefinite_blocks() const { return indefinite_blocks_; }
  /// Inverse block of a node, row-major.
  const double* inverse(std::size_t node) const { return inverses_.data() + block_start_[node]; }

  /// The rows of y = A x of one node, and of the nodes [first, last); x, and y of several nodes, by matrix row.
  void multiply_node(const Node& node, const double* x, double* y) const {
    if (double_precision_)
      multiply(doubles_.data(), node, x, y);
    else
      multiply(floats_.data(), node, x, y);
  }
  void multiply_nodes(int first, int last, const double* x, double* y) const;
  /// The blocks of the matrix in compressed rows: 3 x 3 and row-major, with ones in the place of rows that a node has
  /// not, times its first diagonal entry. In double precision only.
  void export_blocks(std::vector<int>& start, std::vector<int>& column, Vector& blocks) const;

  /// Places of the entries of a 3 x 3 block among the values held, column by column; -1: no such row or column.
  struct BlockPlaces {
    int node = 0;  ///< of the columns
    std::array<int, 9> place{};
  };
  /// The blocks of a node's rows, its own among them.
  void blocks_of(std::size_t node, std::vector<BlockPlaces>& blocks) const;
  /// The values held in single precision, with room beyond the last.
  const float* floats() const { return floats_.data(); }

  /// Calls work(chunk, first node, last node) for chunks of nodes, in parallel.
  template <class Work>
  void for_chunks(const Work& work) const {
    const int nodes = static_cast<int>(nodes_.size());
    for_parts(chunks(), threads_, [&](int c) { work(c, c * chunk_nodes, std::min((c + 1) * chunk_nodes, nodes)); });
  }
  int chunks() const { return (static_cast<int>(nodes_.size()) + chunk_nodes - 1) / chunk_nodes; }
  static int chunk_of(int node) { return node / chunk_nodes; }
  /// Matrix rows from the first of node `first` to the last of node last - 1.
  std::pair<int, int> matrix_rows(int first, int last) const {
    const Node &a = nodes_[static_cast<std::size_t>(first)], &b = nodes_[static_cast<std::size_t>(last - 1)];
    return {a.first, b.first + b.size};
  }
  /// The entries of a vector by matrix row that belong to nodes `first` to last - 1.
  In rows_of(const Vector& x, int first, int last) const {
    const auto [begin, end] = matrix_rows(first, last);
    return In(x).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  double dot(const Vector& x, const Vector& y) const;
  /// y += c x; returns y . z.
  double add_and_dot(double c, const Vector& x, Vector& y, const Vector& z) const;
  /// Sum of one number per chunk, in order.
  static double sum(const Vector& chunks) { return std::accumulate(chunks.begin(), chunks.end(), 0.0); }

 private:
  static constexpr int chunk_nodes = 64;
  template <class Real>
  void multiply(const Real* values, const Node& node, const double* x, double* y) const;
  template <class Visit>
  void each_value(const Node& node, const Visit& visit) const;

  const SparsePattern* pattern_ = nullptr;
  int threads_ = 1;
  double scale_ = 1;
  bool double_precision_ = false, indefinite_blocks_ = false;
  std::vector<Node> nodes_;
  std::vector<int> sizes_, node_of_;
  // For points that couple, apart from rows of no node, to points only: first rows of their neighbours, and the places
  // of the blocks within a row. Their values are 3 x 3 blocks one after the other, column by column.
  std::vector<int> neighbours_, offsets_;
  std::vector<float> floats_;
  Vector doubles_;                        // in place of floats_
  std::vector<std::size_t> block_start_;  // of a node in inverses_ and block_entry_
  std::vector<int> block_entry_;          // places of node blocks in the pattern's values, -1: no entry
  Vector inverses_;
  mutable Vector partial_;  // sums of chunks
};

}  // namespace carom
