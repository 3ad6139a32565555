// Positions of the nodes of a block's slots in the flat configuration. System fills them when it numbers the nodes.
#pragma once

#include <vector>

#include "core/mechanics/dof_map.hpp"
#include "core/mechanics/topology.hpp"

namespace carom {

class BoundNodes {
 public:
  void bind(const Topology& topology, const DofMap& dofs) {
    slots_ = topology.slots.size();
    offsets_.clear();
    kinds_.clear();
    for (int node : topology.nodes) {
      offsets_.push_back(node < 0 ? -1 : dofs.configuration_offset(node));
      kinds_.push_back(node < 0 ? NodeKind::point : dofs.kind(node));
    }
  }
  int offset(int item, int slot) const { return offsets_[index(item, slot)]; }
  const std::vector<int>& offsets() const { return offsets_; }
  NodeKind kind(int item, int slot) const { return kinds_[index(item, slot)]; }
  const double* configuration(const double* q, int item, int slot) const {
    const int o = offset(item, slot);
    return o < 0 ? nullptr : q + o;
  }

 private:
  std::size_t index(int item, int slot) const {
    return static_cast<std::size_t>(item) * slots_ + static_cast<std::size_t>(slot);
  }

  std::size_t slots_ = 0;
  std::vector<int> offsets_;
  std::vector<NodeKind> kinds_;
};

}  // namespace carom
