// Fixed points x = T(x), x >= 0, by Anderson's mixing: with f = T(x) - x and the last differences dx_i, df_i
//
//   x := x + f - sum_i gamma_i (dx_i + df_i),   gamma minimises |f - sum_i gamma_i df_i|
//
// Of one unknown that is the secant method. Components are measured by their values, so that units do not matter. The
// differences are forgotten where |f| grows: T may have changed its branch.
//
// D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965) 547-560; H. F. Walker,
// P. Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011) 1715-1735.
#pragma once

#include "core/base/types.hpp"

namespace carom {

class FixedPoint {
 public:
  /// Memory for so many unknowns.
  void resize(std::size_t unknowns);
  /// The first value becomes x as it is.
  void begin() { seen_ = differences_ = 0; }
  /// From T(x) of the present x to the next x; both have as many entries as there are unknowns.
  void advance(In value);
  In x() const { return x_; }
  /// The x to which the value of the last advance() belongs.
  In before() const { return x_before_; }

 private:
  static constexpr int depth = 6;

  Vector x_, x_before_, f_, f_before_, weight_;
  Vector dx_, df_;  // depth rows
  int seen_ = 0, differences_ = 0;
};

}  // namespace carom
