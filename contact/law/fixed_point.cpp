#include "contact/law/fixed_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double growth = 2;  // of |f|, at which the changes are forgotten
// Where mixing has not ended by then it begins again from far above: radii that follow friction itself may have no
// fixed point with slip, T(x) > x, and then there is one at which the joint sticks. At last damped repetition in turn
// with mixing.
constexpr int patience = 15, damped = 8;
constexpr double far_above = 1e3, damping = 0.4;
}  // namespace

void FixedPoint::resize(std::size_t unknowns) {
  for (Vector* v : {&x_, &x_before_, &f_, &f_before_, &weight_}) v->assign(unknowns, 0.0);
  mixing_.resize(unknowns, std::min(depth, static_cast<int>(unknowns)));  // as many changes as there are unknowns
}

void FixedPoint::advance(In value) {
  const std::size_t n = x_.size();
  if (seen_++ == 0) {
    set_zero(x_before_);
    copy(value, x_);
    return;
  }
  double now = 0, before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    f_[i] = value[i] - x_[i];
    const double size = std::max(std::abs(value[i]), std::abs(x_[i]));
    weight_[i] = size > 0 ? 1 / size : 0;
    now += std::pow(weight_[i] * f_[i], 2);
    before += std::pow(weight_[i] * f_before_[i], 2);
  }
  if (seen_ > 2 && seen_ != patience + 1 && seen_ != patience + 2) {
    const AndersonMixing::Change change = mixing_.add();
    for (std::size_t i = 0; i < n; ++i) {
      change.f[i] = f_[i] - f_before_[i];
      change.T[i] = x_[i] - x_before_[i] + change.f[i];
    }
    if (now > growth * growth * before) mixing_.forget();
  }
  copy(x_, x_before_);
  copy(f_, f_before_);
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
