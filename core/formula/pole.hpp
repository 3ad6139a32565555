// Poles of formulas within a step, which values at its ends do not show: 1/(0.05 - t).
#pragma once

#include "core/formula/time_function.hpp"

namespace carom {

/// Whether |f| grows beyond all bounds between a and b, a < b. Found are poles where f changes its sign, by bisection,
/// and poles without a change of sign where f rises steeply from both ends, by a search for the maximum of |f|, and
/// ends that lie on a pole but for rounding. f needs finite values at a and b; a jump is no pole.
bool has_pole(const TimeFunction& f, double a, double b);
/// The same of a formula of n variables along the segment from x_0 to x_1, but for ends that lie on a pole: there a
/// force that has just begun to act, -k max(0, -x)^1.5, looks alike. Work space: x with 2 n entries, rate with n.
bool has_pole(const Formula& f, std::span<const double> x_0, std::span<const double> x_1, std::span<double> x,
              std::span<double> rate);

}  // namespace carom
