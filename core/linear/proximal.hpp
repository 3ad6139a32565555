// ProximalRefinement: solutions of saddle points whose rows may depend on each other.
//
// The matrix is singular then, and is factorised with -eps on the diagonal of its multipliers. Refinement against the
// matrix without that term is the proximal point method: it converges to the solution of the rows, with multipliers
// near those of least norm. Rows that contradict each other have no solution; their corrections come again in every
// sweep, and are taken back, so that their multipliers do not grow. Rows that converge slowly, those of stiff solids in
// motions that hardly strain them, get more sweeps: a contradiction is known where a correction comes again unchanged.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

class ProximalRefinement {
 public:
  /// What is subtracted from the diagonal of each multiplier: 1e-8 of the largest entry on the diagonal of S, but at
  /// most 1e-7 of the least that one of its unknowns gives its row in G S^-1 G^T, S being its diagonal. Rows of stiff
  /// solids have far less there than those of free masses, and where the rows of a face go with a body the solid's part
  /// alone is left. The refinement converges where the regularisation is small beside all of G S^-1 G^T.
  class Shifts {
   public:
    struct Entry {
      double value, diagonal;  ///< of the row, and of its unknown
    };
    /// A diagonal entry of S; all of them come first.
    void see(double diagonal) { largest_ = std::max(largest_, std::abs(diagonal)); }
    /// The next row; `part`: something else that moves it, 0: nothing.
    void add_row(std::span<const Entry> entries, double part = 0);
    /// Of a row. Those that parts without mass alone move get the least of all. `by_row` = false: all rows get what the
    /// largest entry gives.
    double of(int row, bool by_row = true) const;

   private:
    static constexpr double unknown = std::numeric_limits<double>::infinity();
    double largest_ = 0, least_ = unknown;
    Vector rows_;
  };

  /// b becomes the solution. `solver` has factorised the regularised matrix; `values` are those without regularisation.
  /// Rows from `first_multiplier` on are multipliers. Contradictions are judged for all rows together, or, with
  /// `part_of_row`, for each of `parts` parts, which do not depend on each other.
  void solve(LinearSolver& solver, const SparsePattern& pattern, In values, int first_multiplier, Out b,
             std::span<const int> part_of_row = {}, int parts = 1);
  /// What the last solve left of b.
  const Vector& residual() const { return residual_; }
  Vector& residual() { return residual_; }

 private:
  struct Part {
    double rows = 0, largest = 0;  // residuals of rows: now, and at first
    double size = 0, change = 0;   // squares of the correction of multipliers, and of its change
    int sweeps = 0;                // at its end
    bool drops = false;            // the correction comes again: rows contradict each other
  };
  Vector residual_, correction_, previous_, product_;
  std::vector<Part> parts_;
};

}  // namespace carom
