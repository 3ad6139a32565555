// The force of rows that users see, in probes and pictures.
#pragma once

#include <span>

#include "core/base/index.hpp"
#include "core/mechanics/state.hpp"
#include "integrators/common/observer.hpp"

namespace carom {

/// The sum over rows of the smooth multiplier plus the impulse of the last step over the length of the step.
inline double row_force(const StepView& view, std::span<const int> rows) {
  double impulse = 0, smooth = 0;
  for (const int row : rows) {
    impulse += view.state.impulse[at(row)];
    smooth += view.state.lambda[at(row)];
  }
  return impulse / view.state.last_h + smooth;
}
inline double row_force(const StepView& view, int row) { return row_force(view, {&row, 1}); }

}  // namespace carom
