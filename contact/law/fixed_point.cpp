#include "contact/law/fixed_point.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double growth = 2;  // of |f|, at which the differences are forgotten
// Where mixing has not ended by then it begins again from far above: radii that follow friction itself may have no
// fixed point with slip, T(x) > x, and then there is one at which the joint sticks. At last damped repetition in turn
// with mixing.
constexpr int patience = 15, damped = 8;
constexpr double far_above = 1e3, damping = 0.4;
constexpr double regularising = 1e-14;  // of the normal equations, relative
}  // namespace

void FixedPoint::resize(std::size_t unknowns) {
  for (Vector* v : {&x_, &x_before_, &f_, &f_before_, &weight_}) v->assign(unknowns, 0.0);
  for (Vector* v : {&dx_, &df_}) v->assign(unknowns * at(depth), 0.0);
}

void FixedPoint::advance(In value) {
  const std::size_t n = x_.size();
  const int most = std::min(depth, static_cast<int>(n));  // as many differences as there are unknowns
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
    const std::size_t row = at(differences_++ % most) * n;
    for (std::size_t i = 0; i < n; ++i) {
      dx_[row + i] = x_[i] - x_before_[i];
      df_[row + i] = f_[i] - f_before_[i];
    }
    if (now > growth * growth * before) differences_ = 0;
  }
  copy(x_, x_before_);
  copy(f_, f_before_);
  if (seen_ == patience) {
    differences_ = 0;
    for (std::size_t i = 0; i < n; ++i) x_[i] = far_above * std::max(x_[i], value[i]);
    return;
  }
  if (seen_ > 2 * patience && (seen_ - 2 * patience - 1) % (2 * damped) < damped) {
    differences_ = 0;
    for (std::size_t i = 0; i < n; ++i) x_[i] += damping * f_[i];
    return;
  }

  // normal equations of differences of unit length
  const int m = std::min(differences_, most);
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, depth, depth>;
  using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, depth, 1>;
  Square A = Square::Zero(m, m);
  Column b = Column::Zero(m), size = Column::Zero(m);
  const auto product = [&](const double* a, const double* c) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += weight_[i] * a[i] * weight_[i] * c[i];
    return sum;
  };
  const auto difference = [&](int k) { return df_.data() + at(k) * n; };
  for (int k = 0; k < m; ++k) size[k] = std::sqrt(product(difference(k), difference(k)));
  for (int k = 0; k < m; ++k) {
    if (!(size[k] > 0)) {
      A(k, k) = 1;
      continue;
    }
    for (int l = 0; l < m; ++l)
      if (size[l] > 0) A(k, l) = product(difference(k), difference(l)) / (size[k] * size[l]);
    A(k, k) += regularising;
    b[k] = product(difference(k), f_.data()) / size[k];
  }
  Column gamma = Column::Zero(m);
  if (m > 0) gamma = A.ldlt().solve(b);
  for (std::size_t i = 0; i < n; ++i) {
    double next = value[i];
    for (int k = 0; k < m; ++k)
      if (size[k] > 0) next -= gamma[k] / size[k] * (dx_[at(k) * n + i] + df_[at(k) * n + i]);
    x_[i] = std::isfinite(next) ? std::max(0.0, next) : value[i];
  }
}

}  // namespace carom
