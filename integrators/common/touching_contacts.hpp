// Contacts with friction that may share a load from the start of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

/// Flags per conditional row, set at normal rows: contacts that were active at the start of the step, and those with
/// friction that touch there up to `closed_gap` (StepScales::closed_gap). A point of a flat body that carried nothing
/// is open by rounding; unless the law sees it, the others would carry what it has to.
void find_touching(const System& system, const State& state, const StepStart& start, double closed_gap,
                   std::vector<std::uint8_t>& touching);

}  // namespace carom
