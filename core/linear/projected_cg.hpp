// ProjectedCg: conjugate gradients for the saddle points of solids with contacts, joints, bodies and beams,
//
//   A x - G^T dl = -r,   G x = -c        A symmetric positive definite for the nodes of solids; the rest of A is any
//   matrix
//
// Rows of G that touch one node of a solid are projected (NodeRows). The preconditioner of the nodes consists of sweeps
// with their inverse blocks, restricted to the null space of those rows (NodeSweeps), beside the rigid motions of stiff
// solids (RigidModes), is multigrid (NodeMultigrid), or their Cholesky factors (NodeFactors). Where the rest is coupled
// with very many nodes, the inverse blocks do without sweeps.
//
// Everything else, equations of other nodes, multipliers and the other rows of G, is the rest, and exact in the
// preconditioner (RestSystem): the first iterate satisfies it, and all that follow do. The iteration thus works on the
// residual of the solids' nodes, in the form of Polak and Ribiere, which forgives the slight unsymmetry that rotations
// of the rest cause. Nodes that joints hold are eliminated before (Condensation).
//
// Where the matrix of the solids is not positive definite, GMRES goes on (Gmres), without sweeps.
//
// Beside node blocks the matrix of the solids is kept in single precision (NodeMatrix). That suffices, because it is
// the tangent of a Newton iteration whose residual is evaluated in double precision. All vectors are double. Same bits
// for any number of threads.
#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/condensation.hpp"
#include "core/linear/gmres.hpp"
#include "core/linear/node_factors.hpp"
#include "core/linear/node_matrix.hpp"
#include "core/linear/node_multigrid.hpp"
#include "core/linear/node_rows.hpp"
#include "core/linear/node_sweeps.hpp"
#include "core/linear/rest_system.hpp"
#include "core/linear/rigid_modes.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProjectedCg {
 public:
  enum class Status { converged, indefinite, slow, not_finite, singular };

  /// node[i] is the node of the matrix row i, -1 for the rest; a node has at most three rows, which are consecutive.
  /// `pattern` is square, structurally symmetric if there is a rest, and outlives this object. Matrix rows from
  /// `first_row` on are multipliers.
  void analyse(const SparsePattern& pattern, std::span<const int> node, int first_row, int threads);

  /// What takes the place of the matrix of the solids' nodes in the preconditioner: sweeps with their inverse blocks, a
  /// cycle of multigrid, or Cholesky factors.
  enum class Preconditioner { blocks, multigrid, factors };

  /// Copies the matrix and inverts its node blocks; false if a diagonal entry is not positive. `motions` are the six
  /// rigid motions of every matrix row (those of the rest are not read); `blocks` may do without. Beside `blocks` the
  /// matrix is kept in double precision. Multigrid replaces the factors of a matrix that is not positive definite.
  /// With `old_factors`, factors of an earlier matrix serve this one if they can; where they take more than 40
  /// iterations or fail, this one gets its own.
  bool prepare(std::span<const double> values, Preconditioner preconditioner = Preconditioner::blocks,
               std::span<const double> motions = {}, bool old_factors = false);
  /// The rows of G for the next solves, with the directions F of their reactions where these are others (null: none);
  /// `factor` scales rows of several nodes to the size of the matrix. False if a node has more than eight rows.
  bool set_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F = {}, double factor = 1);
  /// Iterates until the norm of the residual of the solids' nodes, projected, has fallen by the factor `relative` from
  /// its start, or from `reference` if that is larger, or below `enough`, at most `limit` times. r and x: one entry per
  /// matrix row; c and dl: one per row of G.
  Status solve(In r, In c, double relative, double reference, double enough, int limit, Out x, Out dl);
  int iterations() const { return iterations_; }   ///< of the last solve
  bool used_gmres() const { return used_gmres_; }  ///< in the last solve
  /// The last solve had factors of an earlier matrix; it has built those of its own.
  bool has_old_factors() const { return old_factors_; }
  bool has_new_factors() const { return new_factors_; }
  /// In the last solve factors of an earlier matrix failed or took too long.
  bool old_factors_failed() const { return old_factors_failed_; }
  /// The factors may serve later matrices.
  bool factors_last() const { return preconditioner_ == Preconditioner::factors && factors_.can_follow(); }
  /// Builds the factors of the matrix of prepare(), without rows of single nodes, at once.
  void build_factors();
  /// Some rows depend on each other.
  bool redundant() const { return rows_.redundant() || rest_.redundant(); }
  bool uses_sweeps() const { return by_sweeps_; }  ///< node blocks within sweeps, in the last solve
  /// The rest is coupled with few enough unknowns for multigrid or factors, with the last rows.
  bool may_be_whole() const { return rest_.couplings() <= most_columns; }
  bool by_blocks() const { return preconditioner_ == Preconditioner::blocks; }
  RestSystem& rest() { return rest_; }
  const RestSystem& rest() const { return rest_; }
  /// What the last solve left of a matrix row of the rest, because rows contradict each other.
  double inconsistency(int matrix_row) const;
  /// The largest of what the last solve left of the rows of G that touch several nodes or a body, because rows
  /// contradict each other.
  double contradiction() const;

 private:
  // the same without the nodes that joints hold
  bool set_kept_rows(std::span<const SparseRow* const> G, std::span<const SparseRow* const> F, double factor);
  Status solve_kept(In r, In c, double relative, double reference, double enough, int limit, Out x, Out dl);
  bool old_factors_known() const;
  Status prepare_preconditioner();
  void start(In r, In c);
  Status iterate(double relative, double reference, double enough, int limit);
  bool may_sweep() const;
  void prepare_sweeps();
  bool factorise_rest_by_sweeps();
  double complete_by_sweeps(const Vector& r_hat, Vector& z_hat);
  void take_reactions(const Vector& w);
  void precondition_by_sweeps();
  Status iterate_by_sweeps(double relative, double reference, double enough, int limit);
  void find_residual_of_sweeps();
  double dot_with_product();
  Status solve_by_gmres(double target, int limit);
  void apply_whole(const double* r, double* z, int vectors);
  double apply_blocks(int first, int last);
  double complete_preconditioner(double rz);
  void precondition();
  double add_reactions(const Vector& w, double sign, Vector& y, const Vector& along) const;

  static constexpr int most_columns = 96;          // of the rest, each of which costs a cycle or a solve
  static constexpr double gmres_reduction = 1e-3;  // beyond the target: Newton's method is not to lose its way here

  NodeMatrix A_;
  NodeRows rows_;
  NodeSweeps sweeps_;
  RigidModes modes_;
  NodeMultigrid multigrid_;
  NodeFactors factors_;
  Gmres gmres_;
  int iterations_ = 0;
  bool used_gmres_ = false;
  Preconditioner preconditioner_ = Preconditioner::blocks;
  bool may_keep_factors_ = false, old_factors_ = false, new_factors_ = false, old_factors_failed_ = false;
  bool by_sweeps_ = false;                                             // with node blocks
  bool blocks_stale_ = true, whole_stale_ = true, rest_stale_ = true;  // whole: multigrid or factors
  bool values_stale_ = true;                                           // of the sweeps
  Vector motions_;                                                     // six of every matrix row
  Vector x_, r_, z_, p_, Sp_;
  Vector r_hat_, p_hat_, t_;  // of the sweeps
  Vector a_, y_, along_;      // of the rigid modes
  Vector partial_, square_;   // sums of chunks

  Condensation condensation_;
  std::vector<const SparseRow*> given_G_, given_F_;  // rows of G as the caller has them
  std::vector<SparseRow> reduced_rows_;              // G, then F
  std::vector<const SparseRow*> reduced_pointers_;
  Vector b_, reduced_, reduced_x_, reaction_, c_;

  RestSystem rest_;
  std::vector<const SparseRow*> rest_G_, rest_F_;
  std::vector<int> node_row_numbers_, rest_row_numbers_;  // of the rows of G: of single nodes, of the rest
  Vector node_row_image_, rest_row_image_, image_;        // the numbers of the last rows, to know them again
  double rest_factor_ = 1;
  Vector rest_x_, rest_z_, rest_p_, left_;
};

}  // namespace carom
