#include "core/mechanics/nodal_mass.hpp"

#include <algorithm>

namespace carom {

namespace {

// Multiplies M by a unit field of one component for a range of elements and adds the result to the nodes.
void add_response(const ElementBlock& block, Range range, In q, int component, Vector& field, Vector& response,
                  std::vector<NodalMass>& nodes) {
  const Topology& topology = block.topology();
  std::size_t i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (const Slot& slot : topology.slots)
      for (int c = 0; c < slot.components; ++c, ++i) field[i] = slot.first_component + c == component ? 1.0 : 0.0;
  std::fill_n(response.begin(), i, 0.0);
  block.add_mass_times(range, {q.data(), nullptr, 0}, field.data(), MassKind::consistent, response.data());

  i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      for (int c = 0; c < slot.components; ++c, ++i) {
        const int row = slot.first_component + c;
        if (node < 0) continue;
        if (component < 3 && row == component) nodes[at(node)].mass[component] += response[i];
        if (component >= 3 && row >= 3) nodes[at(node)].inertia(row - 3, component - 3) += response[i];
      }
    }
}

}  // namespace

std::vector<NodalMass> nodal_masses(const System& system, In q) {
  constexpr int chunk = 256;
  std::vector<NodalMass> nodes(at(system.dofs().nodes()));
  for (const auto& block : system.elements()) {
    if (!block->traits().has_mass) continue;
    const Topology& topology = block->topology();
    int components = 0;
    for (const Slot& slot : topology.slots) components = std::max(components, slot.first_component + slot.components);
    Vector field(at(chunk) * at(topology.local_size)), response(field.size());
    for (int first = 0; first < topology.items; first += chunk)
      for (int c = 0; c < components; ++c)
        add_response(*block, {first, std::min(first + chunk, topology.items)}, q, c, field, response, nodes);
  }
  return nodes;
}

}  // namespace carom
