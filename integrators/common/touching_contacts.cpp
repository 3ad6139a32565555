#include "integrators/common/touching_contacts.hpp"

#include "core/base/index.hpp"

namespace carom {

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
    touching[i] = gaps[i] <= closed_gap ? 1 : 0;
  }
}

}  // namespace carom
