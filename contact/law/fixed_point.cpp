#include "contact/law/fixed_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
// Where mixing has not ended by then it begins again from far above: radii that follow friction itself may have no
// fixed point with slip, T(x) > x, and then there is one at which the joint sticks. At last damped repetition in turn
// with mixing.
constexpr int patience = 15, damped = 8;
constexpr double far_above = 1e3, damping = 0.4;
}  // namespace

void FixedPoint::resize(std::size_t unknowns) {
  for (Vector* v : {&x_, &x_before_, &f_, &weight_}) v->assign(unknowns, 0.0);
  mixing_.resize(unknowns, std::min(depth, static_cast<int>(unknowns)));  // as many changes as there are unknowns
}

void FixedPoint::advance(In value) {
  const std::size_t n = x_.size();
  if (seen_++ == 0) {
    set_zero(x_before_);
    copy(value, x_);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    f_[i] = value[i] - x_[i];
    const double size = std::max(std::abs(value[i]), std::abs(x_[i]));
    weight_[i] = size > 0 ? 1 / size : 0;
  }
  // behind the step to far above, T is another function
  if (seen_ == patience + 1)
    mixing_.begin();
  else
    mixing_.see(x_, f_, weight_);
  copy(x_, x_before_);
  if (seen_ == patience) {
    mixing_.forget();
    for (std::size_t i = 0; i < n; ++i) x_[i] = far_above * std::max(x_[i], value[i]);
    return;
  }
  if (seen_ > 2 * patience && (seen_ - 2 * patience - 1) % (2 * damped) < damped) {
    mixing_.forget();
    for (std::size_t i = 0; i < n; ++i) x_[i] += damping * f_[i];
    return;
  }

  copy(value, x_);
  mixing_.mix(f_, weight_, x_);
  for (std::size_t i = 0; i < n; ++i) x_[i] = std::isfinite(x_[i]) ? std::max(0.0, x_[i]) : value[i];
}

}  // namespace carom
