#include "core/linear/anderson_mixing.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double regularising = 1e-14;  // of the normal equations, relative
constexpr double growth = 2;            // of |f|, at which the changes are forgotten
}  // namespace

void AndersonMixing::resize(std::size_t unknowns, int depth) {
  n_ = unknowns;
  depth_ = std::min(depth, largest_depth);
  begin();
  for (Vector* v : {&x_, &f_}) v->assign(n_, 0.0);
  for (Vector* v : {&df_, &dT_}) v->resize(n_ * at(depth_));
  products_.resize(at(depth_) * at(depth_));
}

void AndersonMixing::see(In x, In f, In weight) {
  if (std::exchange(seen_, true)) {
    const std::size_t row = at(changes_++ % depth_) * n_;
    double now = 0, before = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      df_[row + i] = f[i] - f_[i];
      dT_[row + i] = x[i] - x_[i] + df_[row + i];
      const double w = weight.empty() ? 1 : weight[i];
      now += std::pow(w * f[i], 2);
      before += std::pow(w * f_[i], 2);
    }
    if (now > growth * growth * before) forget();
  }
  copy(x, x_);
  copy(f, f_);
}

// Normal equations of changes of unit length.
void AndersonMixing::mix(In f, In weight, Out T) {
  const int m = std::min(changes_, depth_);
  if (m == 0) return;
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, largest_depth, largest_depth>;
  using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, largest_depth, 1>;
  const auto change = [&](const Vector& of, int k) { return In(of).subspan(at(k) * n_, n_); };
  const auto product = [&](In a, In c) {
    if (weight.empty()) return dot(a, c);
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) sum += weight[i] * a[i] * weight[i] * c[i];
    return sum;
  };
  // without weights the products of former changes stay
  Eigen::Map<Eigen::MatrixXd> products(products_.data(), depth_, depth_);
  for (int c = std::max(changes_ - m, weight.empty() ? known_ : 0); c < changes_; ++c) {
    for (int l = 0; l < m; ++l) {
      const auto [low, high] = std::minmax({c % depth_, l});
      products(high, low) = product(change(df_, high), change(df_, low));
    }
  }
  known_ = changes_;
  Square A = Square::Zero(m, m);
  Column b = Column::Zero(m), size = Column::Zero(m);
  for (int k = 0; k < m; ++k) size[k] = std::sqrt(products(k, k));
  // the lower triangle
  for (int k = 0; k < m; ++k) {
    if (!(size[k] > 0)) {
      A(k, k) = 1;
      continue;
    }
    for (int l = 0; l <= k; ++l)
      if (size[l] > 0) A(k, l) = products(k, l) / (size[k] * size[l]);
    A(k, k) += regularising;
    b[k] = product(change(df_, k), f) / size[k];
  }
  const Column gamma = A.ldlt().solve(b);
  for (int k = 0; k < m; ++k)
    if (size[k] > 0) axpy(-gamma[k] / size[k], change(dT_, k), T);
}

}  // namespace carom
