// Fixed points x = T(x), x >= 0, by Anderson's mixing, which of one unknown is the secant method. Components are
// measured by their values, so that units do not matter. The changes are forgotten where |T(x) - x| grows: T may have
// changed its branch.
#pragma once

#include "core/base/types.hpp"
#include "core/linear/anderson_mixing.hpp"

namespace carom {

class FixedPoint {
 public:
  /// Memory for so many unknowns.
  void resize(std::size_t unknowns);
  /// The first value becomes x as it is.
  void begin() {
    seen_ = 0;
    mixing_.begin();
  }
  /// From T(x) of the present x to the next x; both have as many entries as there are unknowns.
  void advance(In value);
  In x() const { return x_; }
  /// The x to which the value of the last advance() belongs.
  In before() const { return x_before_; }

 private:
  static constexpr int depth = 6;

  Vector x_, x_before_, f_, weight_;
  AndersonMixing mixing_;
  int seen_ = 0;
};

}  // namespace carom
