// ProximalRefinement: solutions of saddle points whose rows may depend on each other.
//
// The matrix is singular then, and is factorised with -eps on the diagonal of its multipliers. Refinement against the
// matrix without that term is the proximal point method: it converges to the solution of the rows, with multipliers
// near those of least norm. Rows that contradict each other have no solution; their corrections come again in every
// sweep, and are taken back, so that their multipliers do not grow.
#pragma once

#include <span>

#include "core/base/types.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProximalRefinement {
 public:
  static constexpr double epsilon = 1e-8;  ///< over the largest diagonal entry

  /// b becomes the solution. `solver` has factorised the regularised matrix; `values` are those without regularisation.
  /// Rows from `first_multiplier` on are multipliers. Contradictions are judged for all rows together, or, with
  /// `part_of_row`, for each of `parts` parts, which do not depend on each other.
  void solve(LinearSolver& solver, const SparsePattern& pattern, In values, int first_multiplier, Out b,
             std::span<const int> part_of_row = {}, int parts = 1);
  /// What the last solve left of b.
  const Vector& residual() const { return residual_; }
  Vector& residual() { return residual_; }

 private:
  Vector residual_, correction_, previous_, product_, change_, size_;
};

}  // namespace carom
