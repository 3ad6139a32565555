// Topology: the nodes and components that the items of a block read and write.
//
// All items (elements or constraints) of a block have the same slots. Slot k of item i covers consecutive velocity
// components of the node nodes[i * slots + k]; node -1 is the ground, whose components do not move. The local array of
// an item holds the components of its slots one after the other. A slot may cover more components than its node has
// (six components on a point). Surplus components have no equation and read as zero, so a kernel written for frames
// also serves points and ground.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

namespace carom {

struct Slot {
  int first_component = 0;
  int components = 6;
};

struct Topology {
  Topology() = default;
  Topology(int item_count, std::vector<Slot> item_slots, std::vector<int> item_nodes)
      : items(item_count), slots(std::move(item_slots)), nodes(std::move(item_nodes)) {
    for (const Slot& s : slots) local_size += s.components;
  }
  int node(int item, int slot) const {
    return nodes[static_cast<std::size_t>(item) * slots.size() + static_cast<std::size_t>(slot)];
  }

  int items = 0;
  std::vector<Slot> slots;
  std::vector<int> nodes;
  int local_size = 0;  ///< components per item
};

/// Items [first, last) of a block.
struct Range {
  int first = 0, last = 0;
  int size() const { return last - first; }
};

}  // namespace carom
