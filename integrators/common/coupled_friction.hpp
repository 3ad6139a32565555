// CoupledFriction: Coulomb's law of the contacts of several sub-problems that are solved as one system.
//
// Position and velocity problem have discs of their own, but each multiplier moves the rows of both. Their condensed
// rows form one cone problem (ConeProblem), in which rates are multiplied by h and impulses too, so that all rows are
// lengths and all multipliers masses times lengths, like those of the position problem:
//
//   (c_p, h c_v) = q + W (nu, h Lam)
//
// Contacts at hand and multipliers are those of the sub-problems' FrictionSets.
#pragma once

#include <span>
#include <vector>

#include "contact/law/friction_set.hpp"

namespace carom {

class CoupledFriction final : public CondensedLaw {
 public:
  explicit CoupledFriction(const System& system) : system_(&system) {}

  /// The rows of the next solve() are listed part by part. `scale`: of the rows of a part, 1 for lengths and h for
  /// rates; `tolerance`: of these lengths; multipliers: of the conditional rows of the part.
  void begin(double tolerance);
  void add_part(std::span<const int> rows, In multipliers, double scale);
  bool solve(std::span<const std::size_t> places, In D, In b, Out l) override;
  /// The place, among all rows, of the normal row for which the last solve() found no solution; -1: none.
  int failed_place() const { return failed_; }

 private:
  const System* system_;
  double tolerance_ = 0;
  int failed_ = -1;
  std::vector<int> rows_;  // global numbers, of all parts
  Vector multipliers_, scales_;
  ConeProblem cone_;
  std::vector<ConeProblem::Disc> discs_;
  Vector W_, q_, s_;
};

/// Coupled problems (MonolithicNewton) whose parts have friction.
class FrictionHolder {
 public:
  FrictionHolder() = default;
  virtual ~FrictionHolder() = default;
  FrictionHolder(const FrictionHolder&) = delete;
  FrictionHolder& operator=(const FrictionHolder&) = delete;
  /// Null without friction.
  virtual CoupledFriction* friction_law() = 0;
};

}  // namespace carom
