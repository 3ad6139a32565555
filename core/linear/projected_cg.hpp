// ProjectedCg: conjugate gradients for the saddle points of solids with contacts of single nodes,
//
//   S dx - G^T dl = -r,   G dx = -c        S symmetric positive definite on the null space of G, every row of G touches
//                                          the equations of one node.
//
// dx = x_0 + y with x_0 = -G^T (G G^T)^-1 c and y in the null space of G. The preconditioner consists of the inverse
// node blocks of S, restricted to the null space of G; because every row touches one node, the restricted inverses are
// node blocks again, and a change of the active set costs next to nothing. dl follows from the residual at the nodes
// with rows, G G^T dl = G (S dx + r); redundant rows of a node get multipliers of least norm. [Gould, Hribar & Nocedal,
// SIAM J. Sci. Comput. 23 (2001) 1376]
//
// The matrix is scaled and kept in single precision, which halves the memory traffic of an iteration. That suffices,
// because the matrix is the tangent of a Newton iteration whose residual is evaluated in double precision. All vectors
// are double. One thread sums each row, and dot products are summed in fixed chunks: same bits for any number of
// threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProjectedCg {
 public:
  enum class Status { converged, indefinite, slow, not_finite };

  /// node[i] is the node of equation i; a node has at most six equations, which are consecutive. `pattern` is square
  /// and outlives this object. `weight` (empty: ones) multiplies equations in the norm of residuals.
  void analyse(const SparsePattern& pattern, std::span<const int> node, Vector weight, int threads);
  /// The couplings of nodes, one row per node; after analyse().
  SparsePattern node_graph() const;

  /// Copies the matrix and inverts its node blocks; false if a block is not positive definite.
  bool prepare(std::span<const double> values);
  /// The rows of G for the next solves; false if a row touches several nodes, or a node has more than eight rows.
  bool set_rows(std::span<const SparseRow* const> rows);
  /// Iterates until the norm of the projected residual has fallen by the factor `relative` or below `enough`, at most
  /// `limit` times. dx and dl (one entry per row) are overwritten.
  Status solve(In r, In c, double relative, double enough, int limit, Out dx, Out dl);
  int iterations() const { return iterations_; }  ///< of the last solve
  /// Some rows of a node depend on each other.
  bool redundant() const { return redundant_; }

 private:
  static constexpr int largest_group = 6;
  static constexpr int chunk_groups = 64;

  struct Group {
    int first = 0, size = 0;
    int neighbours = 0, neighbours_end = 0;  // range of neighbours_; empty: values lie as in the pattern
  };
  // The rows of one node.
  struct Constrained {
    int group = 0;
    int first = 0, last = 0;    // of row_order_
    int rank = 0;               // of its rows
    std::size_t gradients = 0;  // of gradients_, rows x group size, and of bases_, rank x group size, orthonormal
    std::size_t inverse = 0;    // of normal_inverse_: (G G^T)^+, rows x rows
    std::size_t block = 0;      // of constrained_blocks_
  };

  template <class Work>
  void for_chunks(const Work& work) const;
  double sum_partials(const Vector& partials) const;
  template <class Visit>
  void each_value(const Group& group, const Visit& visit) const;
  void multiply_group(const Group& group, const double* x, double* y) const;
  void build_constrained(Constrained& node, std::span<const SparseRow* const> rows);
  void restrict_blocks();
  void project(const Constrained& node, double* r) const;
  double weigh(int first, int last, const double* r) const;

  const SparsePattern* pattern_ = nullptr;
  int n_ = 0, threads_ = 1, iterations_ = 0;
  bool redundant_ = false, rows_stale_ = true;
  double scale_ = 1;  // of the matrix held
  std::vector<Group> groups_;
  // For points that couple to points only: first equations of their neighbours. values_ holds their 3 x 3 blocks one
  // after the other, column by column.
  std::vector<int> neighbours_, group_of_;
  std::vector<float> values_;
  Vector weight_;
  std::vector<std::size_t> block_start_;  // of a group in blocks_ and block_entry_
  std::vector<int> block_entry_;          // places of node blocks in the pattern's values, -1: no entry
  Vector blocks_, constrained_blocks_;    // inverse node blocks; those of nodes with rows, restricted
  std::vector<const double*> block_;      // per group: inverse block in use
  std::vector<Constrained> constrained_;
  std::vector<int> row_order_, chunk_constrained_;
  Vector gradients_, bases_, normal_inverse_;
  Vector x_, r_, z_, p_, Sp_, partial_a_, partial_b_;
};

}  // namespace carom
