// ProjectedCg: conjugate gradients for the saddle points of solids with contacts of single nodes,
//
//   S dx - G^T dl = -r,   G dx = -c        S symmetric positive definite on the null space of G, every row of G touches
//                                          the equations of one node.
//
// dx = x_0 + y with x_0 = -G^T (G G^T)^-1 c; the iteration for y in the null space of G is preconditioned by the
// inverses of S's node blocks, restricted to that null space, which for rows of single nodes are again node blocks. So
// a change of the active set costs nothing. dl follows from the residual at the nodes concerned, G G^T dl = G (S dx +
// r); redundant rows of a node get multipliers of least norm. [Gould, Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001)
// 1376]
//
// The matrix is kept in single precision, scaled: half the memory that an iteration moves. It is the tangent of a
// Newton iteration, whose residual is evaluated in double precision; everything else is double here too. Rows are
// summed by one thread each and dot products by fixed chunks: the same bits for any number of threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProjectedCg {
 public:
  enum class Status { converged, indefinite, slow, not_finite };

  /// `node` names the node of every equation; the equations of a node are consecutive, six at most. `pattern` is square
  /// and outlives this object. `weight` (empty: ones) multiplies equations in the norm of residuals.
  void analyse(const SparsePattern& pattern, std::span<const int> node, Vector weight, int threads);
  /// Nodes and their couplings, after analyse(): the pattern with a row per node.
  SparsePattern node_graph() const;

  /// Copies the matrix and inverts the blocks of its nodes; false if one is not positive definite.
  bool prepare(std::span<const double> values);
  /// The rows of G for the next solves; false if one of them touches several nodes, or more than eight the same.
  bool set_rows(std::span<const SparseRow* const> rows);
  /// Until the norm of the projected residual has fallen by the factor `relative` or below `enough`; `limit` iterations
  /// at most. dx and dl (one per row) are overwritten.
  Status solve(In r, In c, double relative, double enough, int limit, Out dx, Out dl);
  int iterations() const { return iterations_; }  ///< of the last solve
  /// Some rows of a node depend on each other.
  bool redundant() const { return redundant_; }

 private:
  static constexpr int largest_group = 6;
  static constexpr int chunk_groups = 64;

  struct Group {
    int first = 0, size = 0;
    int neighbours = 0, neighbours_end = 0;  // of neighbours_; none: its values lie as in the pattern
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
  // Of points whose neighbours are points: first equations of these. Their 3 x 3 blocks follow each other in values_,
  // column by column.
  std::vector<int> neighbours_, group_of_;
  std::vector<float> values_;
  Vector weight_;
  std::vector<std::size_t> block_start_;  // of a group in blocks_ and block_entry_
  std::vector<int> block_entry_;          // the pattern's entries of node blocks
  Vector blocks_, constrained_blocks_;    // inverse node blocks; those of nodes with rows, restricted
  std::vector<const double*> block_;      // the one in use, per group
  std::vector<Constrained> constrained_;
  std::vector<int> row_order_, chunk_constrained_;
  Vector gradients_, bases_, normal_inverse_;
  Vector x_, r_, z_, p_, Sp_, partial_a_, partial_b_;
};

}  // namespace carom
