// Poles of formulas within a step, which values at its ends do not show: 1/(0.05 - t).
#pragma once

#include "core/formula/time_function.hpp"

namespace carom {

/// Whether |f| grows beyond all bounds between a and b, a < b. Found are poles where f changes its sign, by bisection,
/// and poles without a change of sign where f rises steeply from both ends, by a search for the maximum of |f|, and
/// ends that lie on a pole but for rounding. f needs finite values at a and b; a jump is no pole.
bool has_pole(const TimeFunction& f, double a, double b);

}  // namespace carom
