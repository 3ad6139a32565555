// Jumps of prescribed places and angles: "t < 0.5 ? 0 : 0.1" moves a body by 0.1 in no time, with no velocity.
#pragma once

#include "core/formula/time_function.hpp"

namespace carom {

/// Where f jumps between a and b, a < b: the first number behind the jump; NaN: nowhere. A jump is what f(b) - f(a) has
/// beyond Simpson's rule over f' and keeps when the interval is halved. Jumps below 1e-4 of the motion between a and b
/// and below 1e-12 are not seen. period: of an angle, whose jumps by whole turns move nothing; 0: none.
double find_jump(const TimeFunction& f, double a, double b, double period = 0);

}  // namespace carom
