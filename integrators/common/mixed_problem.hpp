// MixedProblem: what a method says about one of its sub-problems; MixedNewton solves it.
//
//   r(x, s) = 0,   c_b(x) = 0,   0 <= c_u(x)  perp  s_u >= 0        r contains -F^T s, one multiplier s for every row
//
// An iteration asks in this order: rows, residual, and if they are not small enough row_point, linearise (where a new
// matrix is needed) and move. Arrays over rows are indexed by global row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/mechanics/system.hpp"
#include "integrators/common/light_parts.hpp"
#include "integrators/common/mean_directions.hpp"

namespace carom {

/// Where the gradients of active rows are taken, and the tangent operators through which they act; null: identity.
struct RowPoint {
  In q;
  const TangentOperators* T = nullptr;
  const MeanDirections* mean = nullptr;  ///< null: forces act along the gradients, F = G
  bool displacements = false;  ///< tangential rows are slip displacements, whose gradients are Dg, not slip velocities
};

class MixedProblem {
 public:
  MixedProblem() = default;
  virtual ~MixedProblem() = default;
  MixedProblem(const MixedProblem&) = delete;
  MixedProblem& operator=(const MixedProblem&) = delete;

  /// c at the present x, rows() entries. Read are the selected rows, and of conditional rows the candidates.
  virtual void rows(Out c) = 0;
  /// r at the present x with the multipliers s, size() entries. Returns the sum of the norms (System::force_norm) of
  /// the terms that r consists of, by size(): by which its tolerance is measured. May be called again with another s.
  virtual double residual(In s, Out r) = 0;
  /// Terms are summed up by parts, too, from now on; null: they are not.
  void measure_parts(LightParts* parts) { parts_ = parts; }
  virtual RowPoint row_point() = 0;
  /// Of joints with friction: the radii of their discs, whose first rows are given, at the present x and multipliers.
  virtual void friction_limits(In s, std::span<const int> joints, Out limits) { (void)s, (void)joints, (void)limits; }
  /// Coefficients and states of the matrix S; `s` are the multipliers of D(F^T s). Time and row scale are set already.
  virtual void linearise(In s, Linearisation& request) = 0;
  /// x := x + share dx. A negative share takes part of the correction dx back that the last positive one has made.
  /// False if the forces at x are not finite.
  virtual bool move(double share, In dx) = 0;
  /// Of a method that follows a path (MixedSetup::follows_path): the derivative of r by the factor of the load, which
  /// is an unknown beside x; size() entries.
  virtual In path_load() { return {}; }
  /// The change of that factor within a correction dx_r + change * dx_load: dx_r is the correction of the residuals
  /// alone, dx_load that of a unit of the factor. The next move() changes the factor too. Not finite: the path has no
  /// place at the wanted length.
  virtual double path_change(In dx_r, In dx_load) {
    (void)dx_r, (void)dx_load;
    return 0;
  }
  /// The least shift sigma of S + sigma M where S is singular (pseudo-transient continuation), 1/time^2.
  virtual double smallest_shift() const { return 0; }

 protected:
  /// The norm of a term of r, times its weight.
  double size(const System& system, In term, double length, double weight = 1) const {
    if (parts_ != nullptr) parts_->add_term(term, weight);
    return weight * system.force_norm(term, length);
  }

 private:
  LightParts* parts_ = nullptr;
};

}  // namespace carom
