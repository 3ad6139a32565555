// HeldNodes: the matrix of the nodes of solids in 3 x 3 blocks, where rows of single nodes hold them.
//
// Couplings along the gradients of the rows vanish, so that nothing moves through an obstacle; what is held has the
// stiffness of what is free. Preconditioners for the whole matrix start from these blocks.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/node_matrix.hpp"
#include "core/linear/node_rows.hpp"

namespace carom {

class HeldNodes {
 public:
  using Block = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

  /// The matrix is in double precision; it and the rows outlive this.
  void build(const NodeMatrix& matrix, const NodeRows& rows);

  std::size_t count() const { return matrix_->nodes().size(); }
  int rows() const { return matrix_->rows(); }         // of the matrix
  double scale() const { return matrix_->scale(); }    // of its values, now
  bool holds() const { return !projection_.empty(); }  // any node, at build()
  const NodeMatrix::Node& node(std::size_t g) const { return matrix_->nodes()[g]; }
  // block k of node g, row-major, couples it with node column[k]; start[g] <= k < start[g + 1]
  const std::vector<int>& start() const { return start_; }
  const std::vector<int>& column() const { return column_; }
  const Vector& blocks() const { return blocks_; }
  /// Projection to the null space of a node's rows; null: the node has none.
  const Block* projection(std::size_t g) const {
    return projection_of_[g] < 0 ? nullptr : &projection_[static_cast<std::size_t>(projection_of_[g])];
  }

  /// Three entries per node from a vector by matrix row, and back, for nodes `first` to last - 1. The vector that
  /// returns needs the projection after all nodes.
  void gather(const double* by_row, double* by_node, std::size_t first, std::size_t last) const;
  void scatter(const double* by_node, double* by_row, std::size_t first, std::size_t last) const;
  void project(double* by_row) const;

 private:
  const NodeMatrix* matrix_ = nullptr;
  const NodeRows* rows_ = nullptr;
  std::vector<int> start_, column_, projection_of_;
  std::vector<Block> projection_;
  Vector blocks_;
};

}  // namespace carom
