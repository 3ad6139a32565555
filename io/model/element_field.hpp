// Values of an element field at a state.
#pragma once

#include <string>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

/// ElementBlock::output with velocities for a block that depends on them; `scratch` is reused, and grows when it must.
void read_element_field(const System& system, const ElementBlock& block, const std::string& field, Range range,
                        const State& state, Vector& scratch, double* values);

}  // namespace carom
