#include "core/linear/gmres.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int cycle = 60;         // iterations until a restart
constexpr double progress = 0.9;  // a cycle that leaves more of the residual hardly helps

}  // namespace

Gmres::Status Gmres::solve(const Problem& problem, Vector& residual, double target, int limit, int& iterations) {
  product_.resize(residual.size());
  combination_.resize(residual.size());
  for (double before = HUGE_VAL;;) {
    const double size = std::sqrt(problem.dot(residual, residual));
    if (!std::isfinite(size)) return Status::not_finite;
    if (size <= target) return Status::converged;
    if (iterations >= limit || !(size < progress * before)) return Status::slow;
    before = size;

    // Arnoldi's basis; the Hessenberg matrix becomes triangular by rotations
    basis_.resize(std::max<std::size_t>(basis_.size(), 1));
    basis_[0] = residual;
    for (double& x : basis_[0]) x /= size;
    std::vector<Vector> H;  // columns
    Vector cosine, sine, g{size};
    while (std::abs(g.back()) > target && static_cast<int>(H.size()) < cycle && iterations < limit) {
      const std::size_t j = H.size();
      ++iterations;
      problem.apply(basis_[j], product_);
      Vector h(j + 2);
      h[0] = problem.dot(product_, basis_[0]);
      for (std::size_t k = 0; k < j; ++k) h[k + 1] = problem.add_and_dot(-h[k], basis_[k], product_, basis_[k + 1]);
      h[j + 1] = std::sqrt(problem.add_and_dot(-h[j], basis_[j], product_, product_));
      if (!std::isfinite(h[j + 1])) return Status::not_finite;
      basis_.resize(std::max(basis_.size(), j + 2));
      basis_[j + 1] = product_;
      if (h[j + 1] > 0)
        for (double& x : basis_[j + 1]) x /= h[j + 1];
      for (std::size_t k = 0; k < j; ++k) {
        const double upper = cosine[k] * h[k] + sine[k] * h[k + 1];
        h[k + 1] = cosine[k] * h[k + 1] - sine[k] * h[k];
        h[k] = upper;
      }
      const double length = std::hypot(h[j], h[j + 1]);
      if (!(length > 0)) return Status::breakdown;
      cosine.push_back(h[j] / length);
      sine.push_back(h[j + 1] / length);
      h[j] = length;
      g.push_back(-sine[j] * g[j]);
      g[j] *= cosine[j];
      H.push_back(std::move(h));
    }

    // the best combination of the basis
    Vector y(H.size());
    for (std::size_t k = H.size(); k-- > 0;) {
      double sum = g[k];
      for (std::size_t j = k + 1; j < H.size(); ++j) sum -= H[j][k] * y[j];
      y[k] = sum / H[k][k];
    }
    set_zero(combination_);
    for (std::size_t k = 0; k < y.size(); ++k) axpy(y[k], basis_[k], combination_);
    problem.apply(combination_, product_);
    problem.take();
    axpy(-1.0, product_, residual);
  }
}

}  // namespace carom
