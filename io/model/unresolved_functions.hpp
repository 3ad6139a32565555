// Functions of time that change within a step, of which a method sees the values at the ends only: with steps of a
// millisecond, a blow of a tenth of a millisecond counts as nothing or as ten times its impulse.
#pragma once

#include "core/formula/time_function.hpp"

namespace carom {

/// The sum over steps of the differences between the integral of f and that of the straight line between its values at
/// the ends of the step, over the sum of the integrals of |f|; with `rates` of f' in the place of f. The steps that
/// contain points of a table are looked at, and some thousand others at most. 0 of a constant; NaN where values are
/// not finite.
double unresolved_share(const TimeFunction& f, bool rates, double start, double step, double duration);

}  // namespace carom
