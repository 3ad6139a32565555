#include "integrators/common/touching_contacts.hpp"

#include "core/base/index.hpp"

namespace carom {

void find_touching(const System& system, const State& state, const StepStart& start, double closed_gap,
                   std::vector<std::uint8_t>& touching) {
  touching = state.active;
  const int n_b = system.bilateral();
  for (int row = n_b; row + 1 < system.rows(); ++row) {
    const bool has_friction =
        system.row_kind(row) == RowKind::unilateral && system.row_kind(row + 1) == RowKind::tangential;
    std::uint8_t& flag = touching[at(row - n_b)];
    if (has_friction && flag == 0) flag = system.row_gap(row, state.q, state.t, &start) <= closed_gap ? 1 : 0;
  }
}

}  // namespace carom
