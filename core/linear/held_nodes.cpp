#include "core/linear/held_nodes.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace carom {

void HeldNodes::build(const NodeMatrix& matrix, const NodeRows& rows) {
  matrix_ = &matrix;
  rows_ = &rows;
  const std::size_t nodes = count();
  matrix.export_blocks(start_, column_, blocks_);

  projection_.clear();
  projection_of_.assign(nodes, -1);
  rows.each_basis([&](int g, int rank, const double* V) {
    const int size = node(at(g)).size;
    Block free = Block::Identity();
    for (int i = 0; i < rank; ++i, V += size)
      for (int r = 0; r < size; ++r)
        for (int c = 0; c < size; ++c) free(r, c) -= V[r] * V[c];
    projection_of_[at(g)] = static_cast<int>(projection_.size());
    projection_.push_back(free);
  });
  if (projection_.empty()) return;

  const auto trace = [&](std::size_t g) {
    const int size = node(g).size;
    double sum = 0;
    for (int i = 0; i < size; ++i) sum += 1 / matrix.inverse(g)[i * size + i];
    return sum;
  };
  for (std::size_t g = 0; g < nodes; ++g) {
    const Block* const own = projection(g);
    for (int k = start_[g]; k < start_[g + 1]; ++k) {
      const Block* const other = projection(at(column_[at(k)]));
      Eigen::Map<Block> block(&blocks_[9 * at(k)]);
      if (own != nullptr) block = *own * block;
      if (other != nullptr) block = block * *other;
      if (own != nullptr && column_[at(k)] == static_cast<int>(g)) {
        const double size = std::max(block.trace(), trace(g)) / 3;
        block += size * (Block::Identity() - *own);
      }
    }
  }
}

void HeldNodes::gather(const double* by_row, double* by_node, std::size_t first, std::size_t last) const {
  for (std::size_t g = first; g < last; ++g) std::copy_n(by_row + node(g).first, node(g).size, by_node + 3 * g);
}

void HeldNodes::scatter(const double* by_node, double* by_row, std::size_t first, std::size_t last) const {
  for (std::size_t g = first; g < last; ++g) std::copy_n(by_node + 3 * g, node(g).size, by_row + node(g).first);
}

void HeldNodes::project(double* by_row) const { rows_->project(by_row); }

}  // namespace carom
