// Functions of time that change within a step, of which a method sees the values at the ends only: with steps of a
// millisecond, a blow of a tenth of a millisecond counts as nothing or as ten times its impulse.
#pragma once

#include <functional>
#include <span>

#include "core/formula/time_function.hpp"

namespace carom {

/// What a function gives: a force, of which the impulse of a step counts, a place, of which the velocity counts
/// throughout the step, or a velocity.
enum class Given { force, place, velocity };

/// The sum over steps of what a method misses of f, which takes it for the straight line between its values at the ends
/// of the step, over the sum of the integrals of |f|: of a force the difference of the integrals, of a velocity the
/// integral of the difference, of a place that of its rate. The steps that contain points of a table are looked at, and
/// some thousand others at most. 0 of a constant; NaN where values are not finite.
double unresolved_share(const TimeFunction& f, Given given, double start, double step, double duration);
/// The same of what acts, the value of f or of a place its rate, with the points of a table.
double unresolved_share(const std::function<double(double)>& acts, std::span<const double> points, Given given,
                        double start, double step, double duration);
/// The largest change of f in a step, of those that are looked at.
double largest_change(const TimeFunction& f, double start, double step, double duration);

}  // namespace carom
