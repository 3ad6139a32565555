#include "core/linear/node_multigrid.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "core/base/index.hpp"

namespace carom {

bool NodeMultigrid::build(const NodeMatrix& matrix, const NodeRows& rows, const Vector& motions) {
  using Block = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  matrix_ = &matrix;
  rows_ = &rows;
  const std::size_t nodes = matrix.nodes().size();
  matrix.export_blocks(start_, column_, blocks_);

  // projections to the null spaces of the rows
  std::vector<Block> projection;
  std::vector<int> projection_of(nodes, -1);
  rows.each_basis([&](int node, int rank, const double* V) {
    const int size = matrix.nodes()[at(node)].size;
    Block free = Block::Identity();
    for (int i = 0; i < rank; ++i, V += size)
      for (int r = 0; r < size; ++r)
        for (int c = 0; c < size; ++c) free(r, c) -= V[r] * V[c];
    projection_of[at(node)] = static_cast<int>(projection.size());
    projection.push_back(free);
  });
  const auto trace = [&](std::size_t g) {
    const NodeMatrix::Node& node = matrix.nodes()[g];
    double sum = 0;
    for (int i = 0; i < node.size; ++i) sum += 1 / matrix.inverse(g)[i * node.size + i];
    return sum;
  };
  motions_.assign(18 * nodes, 0.0);
  for (std::size_t g = 0; g < nodes; ++g) {
    const int own = projection_of[g];
    for (int k = start_[g]; k < start_[g + 1]; ++k) {
      const int other = projection_of[at(column_[at(k)])];
      Eigen::Map<Block> block(&blocks_[9 * at(k)]);
      if (own >= 0) block = projection[at(own)] * block;
      if (other >= 0) block = block * projection[at(other)];
      if (own >= 0 && column_[at(k)] == static_cast<int>(g)) {
        // what is held has the stiffness of what is free
        const double size = std::max(block.trace(), trace(g)) / 3;
        block += size * (Block::Identity() - projection[at(own)]);
      }
    }
    const NodeMatrix::Node& node = matrix.nodes()[g];
    Eigen::Map<Eigen::Matrix<double, 3, 6, Eigen::RowMajor>> mode(&motions_[18 * g]);
    for (int r = 0; r < node.size; ++r)
      for (int k = 0; k < 6; ++k) mode(r, k) = motions[6 * at(node.first + r) + at(k)];
    if (own >= 0) mode = (projection[at(own)] * mode).eval();
  }
  r_.assign(3 * nodes, 0.0);
  z_.assign(3 * nodes, 0.0);
  return hierarchy_.build(start_, column_, blocks_, motions_);
}

void NodeMultigrid::apply(const double* r, double* z) {
  const std::span<const NodeMatrix::Node> nodes = matrix_->nodes();
  for (std::size_t g = 0; g < nodes.size(); ++g) std::copy_n(r + nodes[g].first, nodes[g].size, &r_[3 * g]);
  hierarchy_.apply(r_.data(), z_.data());
  for (std::size_t g = 0; g < nodes.size(); ++g) std::copy_n(&z_[3 * g], nodes[g].size, z + nodes[g].first);
  rows_->project(z);
}

}  // namespace carom
