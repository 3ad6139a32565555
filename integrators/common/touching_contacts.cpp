#include "integrators/common/touching_contacts.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"

namespace carom {

bool TouchingContacts::turns_a_body(const System& system, int row, const State& state, const StepStart& start,
                                    double closed_gap) {
  system.row_gradient(row, state.q, state.t, nullptr, gradient_, &start);
  for (std::size_t k = 0; k < gradient_.value.size(); ++k) {
    const int equation = gradient_.equation[k];
    const int rotation = system.dofs().equation(system.equation_node(equation), 3);
    if (rotation >= 0 && equation >= rotation && std::abs(gradient_.value[k]) > closed_gap) return true;
  }
  return false;
}

bool TouchingContacts::has_neighbour(const System& system, int row) {
  const System::RowPlace place = system.row_place(row);
  const Topology& topology = system.constraints()[at(place.block)]->topology();
  const auto slots = static_cast<std::ptrdiff_t>(topology.slots.size());
  const auto first = topology.nodes.begin() + place.item * slots;
  const auto same = [&](int item) {
    return item >= 0 && item < topology.items &&
           std::equal(first, first + slots, topology.nodes.begin() + item * slots);
  };
  return same(place.item - 1) || same(place.item + 1);
}

void TouchingContacts::find(const System& system, const State& state, const StepStart& start, double closed_gap) {
  touching = state.active;
  gaps.assign(touching.size(), 0.0);
  const int n_b = system.bilateral();
  for (int row = n_b; row + 1 < system.rows(); ++row) {
    const std::size_t i = at(row - n_b);
    const bool has_friction =
        system.row_kind(row) == RowKind::unilateral && system.row_kind(row + 1) == RowKind::tangential;
    if (!has_friction || touching[i] != 0) continue;
    gaps[i] = system.row_gap(row, state.q, state.t, &start);
    const bool shares =
        gaps[i] <= closed_gap && (has_neighbour(system, row) || turns_a_body(system, row, state, start, closed_gap));
    touching[i] = shares ? 1 : 0;
  }
}

}  // namespace carom
