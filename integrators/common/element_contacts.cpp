#include "integrators/common/element_contacts.hpp"

#include <algorithm>

namespace carom {

std::vector<std::uint8_t> nodes_of_elements(const System& system) {
  std::vector<std::uint8_t> flags(at(system.dofs().nodes()), 0);
  for (const auto& block : system.elements()) {
    const BlockTraits& traits = block->traits();
    const Topology& topology = block->topology();
    // generalised coordinates are no element, whatever their number
    const bool scalar = std::ranges::all_of(
        topology.nodes, [&](int node) { return node < 0 || system.dofs().kind(node) == NodeKind::scalar; });
    if (!traits.has_mass || !traits.has_stiffness || topology.slots.size() < 2 || scalar) continue;
    for (const int node : topology.nodes)
      if (node >= 0) flags[at(node)] = 1;
  }
  return flags;
}

bool is_flexible(const System& system) {
  const std::vector<std::uint8_t> nodes = nodes_of_elements(system);
  return std::ranges::find(nodes, 1) != nodes.end();
}

std::vector<std::uint8_t> contacts_of(const System& system, const std::vector<std::uint8_t>& nodes) {
  std::vector<std::uint8_t> flags(at(system.conditional()), 0);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const int row = system.bilateral() + static_cast<int>(i);
    const Topology& topology = system.row_block(row).topology();
    for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
      if (const int node = topology.node(system.row_place(row).item, slot); node >= 0 && nodes[at(node)] != 0)
        flags[i] = 1;
  }
  return flags;
}

}  // namespace carom
