#include "io/model/joint_parts.hpp"

namespace carom {

void JointPools::add_blocks(System& system) {
  std::stable_sort(pools_.begin(), pools_.end(), [](const auto& a, const auto& b) { return a->order < b->order; });
  for (const auto& pool : pools_) pool->add_block(system);
}

std::vector<int> JointPools::rows(const System& system, const Handle& handle) {
  std::vector<int> rows;
  const ConstraintBlock* block = handle.pool->block;
  if (block == nullptr) return rows;
  const auto& blocks = system.constraints();
  const auto place = std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.get() == block; });
  const int first =
      system.first_row(static_cast<int>(place - blocks.begin())) + static_cast<int>(handle.item) * block->rows();
  for (int row = 0; row < block->rows(); ++row) rows.push_back(first + row);
  return rows;
}

}  // namespace carom
