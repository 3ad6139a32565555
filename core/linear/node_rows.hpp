// NodeRows: constraint rows each of which touches one node of a solid, projected in iterative methods.
//
// With such rows G x = -c the solution is x = x_0 + y, where x_0 = -G^T (G G^T)^+ c and y lies in the null space of G.
// Because every row touches one node, projections and the inverse node blocks restricted to the null space are node
// blocks again, so that a change of the active set costs next to nothing. The multipliers dl follow from the residual
// at the nodes with rows, G G^T dl = G (A x + r); redundant rows of a node get multipliers of least norm. [Gould,
// Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001) 1376]
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/node_matrix.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class NodeRows {
 public:
  static constexpr int most_rows = 8;  ///< of a node

  /// No rows. The matrix outlives this.
  void analyse(const NodeMatrix& matrix);
  /// The rows whose numbers are in `own`, each of which touches one node. False if a node has too many rows.
  bool set(std::span<const SparseRow* const> rows, std::span<const int> own);
  bool redundant() const { return redundant_; }

  /// Restricts the inverse node blocks of the matrix to the null space of the rows.
  void restrict_blocks();
  /// Inverse block of every node, row-major, of the node's size; restricted where the node has rows.
  std::span<const double* const> blocks() const { return block_; }

  /// x -= G^T (G G^T)^+ c; false if that is zero.
  bool subtract_offset(In c, double* x) const;
  /// Projects x, by matrix row, to the null space of the rows; of all nodes, or of the nodes of a chunk.
  void project(double* x) const {
    for (const Constrained& node : constrained_) project(node, x);
  }
  /// The same for several vectors, whose entries lie side by side for every matrix row.
  void project_columns(double* x, int columns) const;
  void project_chunk(int chunk, double* x) const {
    for (int i = first_of_chunk_[static_cast<std::size_t>(chunk)];
         i < first_of_chunk_[static_cast<std::size_t>(chunk) + 1]; ++i)
      project(constrained_[static_cast<std::size_t>(i)], x);
  }
  /// The multipliers with which A x + f + r, f over the scale of the matrix, vanishes along the gradients. Writes those
  /// of its own rows.
  void find_multipliers(const double* x, const Vector& f, In r, Out dl) const;
  /// Calls visit(node, rank, basis) for every node with rows; the basis of their row space is orthonormal, rank x size.
  template <class Visit>
  void each_basis(const Visit& visit) const {
    for (const Constrained& node : constrained_) visit(node.node, node.rank, bases_.data() + node.gradients);
  }

 private:
  // The rows of one node.
  struct Constrained {
    int node = 0;
    int first = 0, last = 0;    // of order_
    int rank = 0;               // of its rows
    std::size_t gradients = 0;  // of gradients_, rows x node size, and of bases_, rank x node size
    std::size_t inverse = 0;    // of normal_inverse_: (G G^T)^+, rows x rows
    std::size_t block = 0;      // of restricted_
  };
  const NodeMatrix::Node& node_of(const Constrained& c) const {
    return matrix_->nodes()[static_cast<std::size_t>(c.node)];
  }
  void build(Constrained& constrained, std::span<const SparseRow* const> rows);
  void project(const Constrained& constrained, double* x) const;

  const NodeMatrix* matrix_ = nullptr;
  bool redundant_ = false;
  std::vector<Constrained> constrained_;  // by node
  std::vector<int> order_;                // rows, by node
  std::vector<int> first_of_chunk_;       // of constrained_
  Vector gradients_, bases_, normal_inverse_, restricted_;
  std::vector<const double*> block_;
};

}  // namespace carom
