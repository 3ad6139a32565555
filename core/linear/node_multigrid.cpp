#include "core/linear/node_multigrid.hpp"

#include <Eigen/Dense>

#include "core/base/index.hpp"

namespace carom {

bool NodeMultigrid::build(const NodeMatrix& matrix, const NodeRows& rows, const Vector& motions) {
  held_.build(matrix, rows);
  const std::size_t nodes = held_.count();
  motions_.assign(18 * nodes, 0.0);
  for (std::size_t g = 0; g < nodes; ++g) {
    const NodeMatrix::Node& node = held_.node(g);
    Eigen::Map<Eigen::Matrix<double, 3, 6, Eigen::RowMajor>> mode(&motions_[18 * g]);
    for (int r = 0; r < node.size; ++r)
      for (int k = 0; k < 6; ++k) mode(r, k) = motions[6 * at(node.first + r) + at(k)];
    if (const HeldNodes::Block* const projection = held_.projection(g)) mode = (*projection * mode).eval();
  }
  r_.assign(3 * nodes, 0.0);
  z_.assign(3 * nodes, 0.0);
  return hierarchy_.build(held_.start(), held_.column(), held_.blocks(), motions_);
}

void NodeMultigrid::apply(const double* r, double* z) {
  held_.gather(r, r_.data(), 0, held_.count());
  hierarchy_.apply(r_.data(), z_.data());
  held_.scatter(z_.data(), z, 0, held_.count());
  held_.project(z);
}

}  // namespace carom
