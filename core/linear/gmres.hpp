// Gmres: restarted GMRES with the preconditioner from the right. [Saad & Schultz, SIAM J. Sci. Stat. Comput. 7 (1986)
// 856; Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.5]
#pragma once

#include <functional>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

class Gmres {
 public:
  enum class Status { converged, slow, not_finite, breakdown };
  struct Problem {
    std::function<void(const Vector& v, Vector& y)> apply;  ///< z = P^-1 v, y = A z
    std::function<void()> take;                             ///< adds the last z to the solution
    std::function<double(const Vector& x, const Vector& y)> dot;
    std::function<double(double c, const Vector& x, Vector& y, const Vector& z)> add_and_dot;  ///< y += c x; y . z
  };
  /// Lowers the norm of the residual to `target`. Stops as slow after `limit` iterations, which `iterations` counts, or
  /// where a cycle hardly helps.
  Status solve(const Problem& problem, Vector& residual, double target, int limit, int& iterations);

 private:
  std::vector<Vector> basis_;
  Vector product_, combination_;
};

}  // namespace carom
