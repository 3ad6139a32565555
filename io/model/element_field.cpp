#include "io/model/element_field.hpp"

namespace carom {

void read_element_field(const System& system, const ElementBlock& block, const std::string& field, Range range,
                        const State& state, Vector& scratch, double* values) {
  ElementInput in{state.q.data(), nullptr, state.t};
  if (block.traits().velocity_dependent) {
    const Topology& topology = block.topology();
    scratch.clear();
    for (int e = range.first; e < range.last; ++e)
      for (int k = 0; k < static_cast<int>(topology.slots.size()); ++k) {
        const Slot slot = topology.slots[static_cast<std::size_t>(k)];
        for (int c = 0; c < slot.components; ++c) {
          const int equation = system.dofs().equation(topology.node(e, k), slot.first_component + c);
          scratch.push_back(equation < 0 ? 0.0 : state.v[static_cast<std::size_t>(equation)]);
        }
      }
    in.v = scratch.data();
  }
  block.output(field, range, in, values);
}

}  // namespace carom
