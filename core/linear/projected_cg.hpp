// ProjectedCg: conjugate gradients for the saddle points of solids with contacts, joints, bodies and beams,
//
//   A x - G^T dl = -r,   G x = -c        A symmetric positive definite for the nodes of solids; the rest of A is any
//   matrix
//
// Rows of G that touch one node of a solid are projected: x = x_0 + y with x_0 = -G^T (G G^T)^-1 c and y in the null
// space of G. The preconditioner of the nodes consists of their inverse blocks, restricted to the null space of G;
// because every such row touches one node, the restricted inverses are node blocks again, and a change of the active
// set costs next to nothing. dl follows from the residual at the nodes with rows, G G^T dl = G (A x + r); redundant
// rows of a node get multipliers of least norm. [Gould, Hribar & Nocedal, SIAM J. Sci. Comput. 23 (2001) 1376]
//
// Everything else, equations of other nodes, multipliers and the other rows of G, is the rest, and exact in the
// preconditioner (RestSystem): the first iterate satisfies it, and all that follow do. The iteration thus works on the
// residual of the solids' nodes, in the form of Polak and Ribiere, which forgives the slight unsymmetry that rotations
// of the rest cause.
//
// Where the matrix of the solids is not positive definite, GMRES goes on with the same preconditioner. [Saad & Schultz,
// SIAM J. Sci. Stat. Comput. 7 (1986) 856]
//
// The matrix of the solids is scaled and kept in single precision, which halves the memory traffic of an iteration.
// That suffices, because the matrix is the tangent of a Newton iteration whose residual is evaluated in double
// precision. All vectors are double. One thread sums each row, and dot products are summed in fixed chunks: same bits
// for any number of threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/condensation.hpp"
#include "core/linear/rest_system.hpp"
#include "core/linear/smoothed_aggregation.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProjectedCg {
 public:
  enum class Status { converged, indefinite, slow, not_finite, singular };

  /// node[i] is the node of the matrix row i, -1 for the rest; a node has at most three rows, which are consecutive.
  /// `pattern` is square, structurally symmetric if there is a rest, and outlives this object. Matrix rows from
  /// `first_row` on are multipliers.
  void analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads);

  /// Copies the matrix and inverts its node blocks; false if a diagonal entry is not positive. With
  /// `motions`, the six rigid motions of every matrix row (those of the rest are not read), multigrid takes the place
  /// of the node blocks, and the matrix is kept in double precision.
  bool prepare(std::span<const double> values, std::span<const double> motions = {});
  /// The rows of G for the next solves, with the directions F of their reactions where these are others (null: none);
  /// `factor` scales rows of several nodes to the size of the matrix. False if a node has more than eight rows.
  bool set_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F = {}, double factor = 1);
  /// Iterates until the norm of the residual of the solids' nodes, projected, has fallen by the factor `relative` from
  /// its start, or from `reference` if that is larger, or below `enough`, at most `limit` times. r and x: one entry per
  /// matrix row; c and dl: one per row of G.
  Status solve(In r, In c, double relative, double reference, double enough, int limit, Out x, Out dl);
  int iterations() const { return iterations_; }   ///< of the last solve
  bool used_gmres() const { return used_gmres_; }  ///< in the last solve
  /// Some rows depend on each other.
  bool redundant() const { return redundant_ || rest_.redundant(); }
  RestSystem& rest() { return rest_; }
  const RestSystem& rest() const { return rest_; }
  /// What the last solve left of a matrix row of the rest, because rows contradict each other.
  double inconsistency(int matrix_row) const;

 private:
  static constexpr int largest_group = 3;
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

  // the same without the nodes that joints hold
  bool set_kept_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F, double factor);
  Status solve_kept(In r, In c, double relative, double reference, double enough, int limit, Out x, Out dl);
  template <class Work>
  void for_chunks(const Work& work) const;
  double sum_partials(const Vector& partials) const;
  template <class Visit>
  void each_value(const Group& group, const Visit& visit) const;
  void multiply_group(const Group& group, const double* x, double* y) const {
    if (multigrid_on_)
      multiply_with(exact_values_.data(), group, x, y);
    else
      multiply_with(values_.data(), group, x, y);
  }
  template <class Real>
  void multiply_with(const Real* values, const Group& group, const double* x, double* y) const;
  void build_constrained(Constrained& node, std::span<const SparseRow* const> rows);
  void restrict_blocks();
  void project(const Constrained& node, double* r) const;
  double precondition_rest();
  double precondition_by_multigrid();
  void precondition();
  void multiply(const Vector& x, const Vector& w, Vector& y) const;
  Status solve_by_gmres(double target, int limit);
  double correct_coupled();
  double add_reactions(const Vector& w, double sign, Vector& y, const Vector& along) const;

  const SparsePattern* pattern_ = nullptr;
  int n_ = 0, threads_ = 1, iterations_ = 0;
  bool redundant_ = false, rows_stale_ = true, used_gmres_ = false;
  std::vector<Vector> basis_;  // of GMRES
  double scale_ = 1;           // of the matrix held
  std::vector<Group> groups_;
  // For points that couple, apart from the rest, to points only: first equations of their neighbours, and the places of
  // the blocks within a row. values_ holds their 3 x 3 blocks one after the other, column by column.
  std::vector<int> neighbours_, offsets_, group_of_;
  std::vector<float> values_;
  Vector exact_values_;                   // in place of values_, with multigrid
  std::vector<std::size_t> block_start_;  // of a group in blocks_ and block_entry_
  std::vector<int> block_entry_;          // places of node blocks in the pattern's values, -1: no entry
  Vector blocks_, constrained_blocks_;    // inverse node blocks; those of nodes with rows, restricted
  std::vector<const double*> block_;      // per group: inverse block in use
  std::vector<Constrained> constrained_;
  std::vector<int> row_order_, chunk_constrained_;
  Vector gradients_, bases_, normal_inverse_;
  Vector x_, r_, z_, p_, Sp_, partial_a_, partial_b_;

  // multigrid
  struct Multigrid {
    SmoothedAggregation hierarchy;
    std::vector<int> start, column;  // of blocks of nodes
    Vector motions;                  // six of every matrix row
    Vector r, z;                     // three per node
    bool current = false;            // hierarchy is that of the present matrix and rows
  };
  bool build_multigrid();
  double exact_trace(std::size_t g) const;
  void apply_multigrid(const double* r, double* z);
  bool multigrid_on_ = false;
  Multigrid multigrid_;

  Condensation condensation_;
  std::vector<const SparseRow*> given_G_, given_F_;  // rows of G as the caller has them
  std::vector<SparseRow> reduced_rows_;              // G, then F
  std::vector<const SparseRow*> reduced_pointers_;
  Vector b_, reduced_, reduced_x_, reaction_, c_;

  RestSystem rest_;
  std::vector<int> sizes_;  // of the groups
  std::vector<const SparseRow*> rest_G_, rest_F_;
  std::vector<int> rest_rows_;  // rows of G that belong to the rest
  double rest_factor_ = 1;
  bool rest_stale_ = true;
  Vector rest_x_, rest_z_, rest_p_, left_;
};

}  // namespace carom
