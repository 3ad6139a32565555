// CoupledFriction: Coulomb's law of the contacts of several sub-problems that are solved as one system.
//
// Position and velocity problem have discs of their own, but each multiplier moves the rows of both. Their condensed
// rows form one cone problem (ConeProblem), in which rates and impulses are multiplied by a time tau, so that all rows
// are lengths and all multipliers those of lengths:
//
//   (c_p, tau c_v) = q + W (nu, tau Lam)        tau: the tolerance of lengths over that of rates
//
// The parts, which move each other's rows little, are solved in turn; where that does not converge, at once.
// Contacts at hand and multipliers are those of the sub-problems' FrictionSets. The rows of an explicit step, which are
// one part, may contain bilateral ones: discs without end.
#pragma once

#include <span>
#include <vector>

#include "contact/law/friction_set.hpp"

namespace carom {

class CoupledFriction final : public CondensedLaw {
 public:
  explicit CoupledFriction(const System& system) : system_(&system) {}

  /// Multipliers of a part, in the order of add_part(), near which solutions may lie while those at hand are zero: all
  /// rows, times `factor`. The array must live as long as the solves.
  void guess(int part, In multipliers, double factor);
  /// The rows of the next solve() are listed part by part. `scale`: of the rows of a part, 1 or tau; `tolerance`: of
  /// these lengths; `set`: multipliers and the radii of joints of the part.
  /// `penalty`: of ProblemScales; only of models with friction of joints.
  void begin(double tolerance, double penalty = 0);
  void add_part(std::span<const int> rows, const FrictionSet& set, double scale);
  /// The same of a part whose multipliers are zero, with a start for every row; bilateral rows are allowed.
  void add_rows(std::span<const int> rows, In start);
  bool solve(std::span<const std::size_t> places, In D, const SparsePattern*, In b, Out l) override;
  /// The place, among all rows, of the normal row for which the last solve() found no solution; -1: none.
  int failed_place() const { return failed_; }

 private:
  void find_levers(std::span<const std::size_t> places, In D);
  bool solve_in_turn(std::span<const std::size_t> places, double tolerance, int& worst);
  int solve_block(std::span<const std::size_t> places, std::size_t first, std::size_t last, double tolerance);
  void list_discs(std::span<const std::size_t> places);

  const System* system_;
  double tolerance_ = 0, least_ = 0;  // least_: compliance of rows of joints
  int failed_ = -1, parts_ = 0;
  std::vector<int> rows_, part_of_;      // global numbers, parts
  Vector multipliers_, starts_, radii_;  // radii: of joints
  Vector scales_, rate_scales_;          // what rows and multipliers of lengths have over those of the system
  struct Guess {
    In multipliers;
    double factor = 0;
  };
  Guess guess_[2];
  bool linearised_ = false;  // the rows are those of parts
  ConeProblem cone_;
  std::vector<ConeProblem::Disc> discs_;
  Vector levers_;  // of the rows of an island
  Vector W_, q_, s_, start_, before_, block_W_, block_q_, block_s_, block_present_;
};

}  // namespace carom
