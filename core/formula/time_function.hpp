// A prescribed function of time: a constant, a table of points, or a formula of t. Loads, drivers, moving obstacles and
// all other time-dependent values of a model use this type.
//
// A value type: copies are cheap, evaluation changes nothing, and several threads may evaluate at the same time.
//
// Tables are interpolated between their points as
//   linear          value continuous; the rate jumps at the points, the acceleration is zero
//   cubic_natural   C2 spline with zero acceleration at both ends; may overshoot
//   cubic_monotone  C1 cubic Hermite, monotone where the points are; the acceleration jumps at the points
//                   (F. N. Fritsch, J. Butland, A method for constructing local monotone piecewise cubic interpolants,
//                   SIAM J. Sci. Stat. Comput. 5 (1984) 300-304, with one-sided three-point slopes at the ends)
// At a point where a derivative jumps, the value from the right counts; at the last point the value from the left.
// Before the first and after the last point:
//   constant   the value of the end point, with zero rate
//   linear     straight continuation with the rate at the end point
//   error      evaluate() and value() throw TimeRangeError; a tolerance of 1e-9 of the table's length absorbs rounding
// Rate and acceleration are always the exact derivatives of the value.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/formula/formula.hpp"

namespace carom {

enum class Interpolation { linear, cubic_natural, cubic_monotone };
enum class Extrapolation { constant, linear, error };

/// The points do not form a table. point() is the index of the first wrong point, from 0, or the number of points if
/// too few are given.
class TimeTableError : public std::runtime_error {
 public:
  TimeTableError(std::size_t point, const std::string& message) : std::runtime_error(message), point_(point) {}
  std::size_t point() const { return point_; }

 private:
  std::size_t point_;
};

/// A time outside a table with Extrapolation::error.
class TimeRangeError : public std::runtime_error {
 public:
  TimeRangeError(double time, double first, double last);
  double time() const { return time_; }

 private:
  double time_;
};

class TimeFunction {
 public:
  /// The constant zero.
  TimeFunction() = default;

  /// Throws std::invalid_argument if `value` is not finite.
  static TimeFunction constant(double value);

  /// A table needs at least two points, finite numbers and strictly increasing times; otherwise throws TimeTableError.
  /// Throws std::invalid_argument if the spans differ in length.
  static TimeFunction table(std::span<const double> times, std::span<const double> values,
                            Interpolation interpolation = Interpolation::linear,
                            Extrapolation extrapolation = Extrapolation::constant);

  /// An expression of t and of parameters; see Formula for the language and the errors. A formula without t is a
  /// constant.
  static TimeFunction formula(std::string_view text, const Formula::Parameters& parameters = {});

  /// f, f' and f'' at time t. Throws only TimeRangeError. The numbers of a formula may be infinite or NaN.
  TimeValue evaluate(double t) const { return implementation_ ? evaluate_varying(t) : TimeValue{constant_, 0.0, 0.0}; }
  double value(double t) const { return implementation_ ? value_varying(t) : constant_; }
  bool is_constant() const { return !implementation_; }
  /// The times of a table, ascending; empty: none.
  std::span<const double> points() const;

 private:
  struct Implementation;

  TimeValue evaluate_varying(double t) const;
  double value_varying(double t) const;

  double constant_ = 0.0;
  std::shared_ptr<const Implementation> implementation_;
};

}  // namespace carom
