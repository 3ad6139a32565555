// The force of a row that users see, in probes and pictures.
#pragma once

#include "core/base/index.hpp"
#include "core/mechanics/state.hpp"
#include "integrators/common/observer.hpp"

namespace carom {

/// The smooth multiplier of a row plus the impulse of the last step over the length of the step.
inline double row_force(const StepView& view, int row) {
  return view.state.lambda[at(row)] + view.state.impulse[at(row)] / view.state.last_h;
}

}  // namespace carom
