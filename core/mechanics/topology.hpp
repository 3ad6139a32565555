// Which nodes and components an element or a constraint reads and writes.
//
// Every item (element, constraint) of a block has the same slots; slot k of item i is a window of consecutive velocity
// components of the node nodes[i * slots + k] (-1: ground, whose components do not move). The local arrays of an item
// hold the slots' components one after the other. A window may be larger than its node (six components on a point):
// the surplus has no equation and reads as zero, so that a kernel written for frames serves points and ground too.
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
