// NodeFactors: Cholesky factors of the matrix of the nodes of solids with rows of single nodes held.
#pragma once

#include <memory>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/held_nodes.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom {

class NodeFactors {
 public:
  /// The matrix is in double precision; it and the rows outlive this. False if the matrix is not positive definite or
  /// not finite. The order of elimination is kept as long as nodes couple with the same nodes.
  bool build(const NodeMatrix& matrix, const NodeRows& rows);
  /// z = M r by matrix row, in the null space of the rows; several vectors, one after the other.
  void apply(const double* r, double* z, int vectors = 1);

 private:
  HeldNodes held_;
  std::vector<int> start_, column_;  // of the blocks that solver_ has analysed
  std::vector<int> order_;           // of the blocks, by node and column
  detail::SharedPattern pattern_;    // upper triangle
  detail::Backend solver_;
  Vector values_, x_;  // x_: three per node
};

}  // namespace carom
