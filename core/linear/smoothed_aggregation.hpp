// SmoothedAggregation: algebraic multigrid for the stiffness of solids, as a preconditioner.
//
// Nodes are gathered into aggregates by the strength of their couplings. The six rigid motions of every aggregate span
// the tentative prolongation; one step of damped Jacobi smooths it, and the Galerkin product gives the coarse matrix,
// with six unknowns per aggregate. [Vanek, Mandel & Brezina, Computing 56 (1996) 179] Smoother: Chebyshev polynomials
// of degree two in the block Jacobi iteration, before and after; one V-cycle is symmetric positive definite.
//
// Unknowns that contacts hold must be held in the matrix and have no rigid motion: a projection after the cycle would
// lose the advantage. Matrices are kept in single precision, vectors in double. Sums are taken in a fixed order: same
// matrix, same bits.
#pragma once

#include <Eigen/LU>
#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

class SmoothedAggregation {
 public:
  /// Symmetric matrix of 3 x 3 blocks, row-major, in compressed block rows, with rigid motions: 3 x 6 numbers per node,
  /// row-major. False if the matrix is not finite.
  bool build(std::span<const int> start, std::span<const int> column, std::span<const double> blocks,
             std::span<const double> motions);
  /// z = one V-cycle for r; three entries per node.
  void apply(const double* r, double* z);
  /// Blocks of all levels over those of the finest.
  double complexity() const;
  int levels() const { return static_cast<int>(levels_.size()); }

 private:
  struct Level {
    int nodes = 0, size = 3;  // unknowns per node
    std::vector<int> start, column;
    std::vector<float> blocks;   // size x size
    std::vector<float> inverse;  // of the diagonal blocks
    double largest = 1;          // eigenvalue of D^-1 A
    std::vector<int> aggregate;  // of a node
    int aggregates = 0;
    std::vector<int> p_start, p_column;
    std::vector<float> p_blocks;  // size x 6
    Vector motions;               // size x 6 per node
    Vector x, r, d, z;            // of a cycle
    Vector b;                     // right-hand side from the finer level
  };
  template <int size>
  bool set_up(std::size_t level, std::span<const double> blocks);
  template <int size>
  void aggregate(Level& level, std::span<const double> blocks);
  template <int size>
  void largest_eigenvalue(Level& level, std::span<const double> blocks, std::span<const double> inverse);
  template <int size>
  void cycle(std::size_t level, const double* r);
  void cycle(std::size_t level, const double* r);

  std::vector<Level> levels_;
  Eigen::PartialPivLU<Eigen::MatrixXd> coarsest_;
};

}  // namespace carom
