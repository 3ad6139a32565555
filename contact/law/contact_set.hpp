// ContactSet: active set and multipliers of the unilateral rows of one sub-problem (Alart, Curnier 1991).
//
//   sigma_j = lambda_j - p c_j;   active: bilateral rows and every candidate with sigma_j > 0;
//   c_j = 0 on active rows, lambda_j = 0 on the others
//
// c is the gap (position), the impact law (velocity) or another complementary quantity. The semi-smooth Newton method
// evaluates the set anew at every iteration. Should sets repeat themselves (possible with several coupled contacts
// or with one whose linearised gap overshoots), the update becomes careful: only the first row that wants to change
// does, and p is so small that active rows go by the sign of their multiplier and the others by that of c. That is
// Murty's least-index rule, which cannot cycle for the linear complementarity problems with positive definite Delassus
// operator met here; a large p would drop a row with lambda > 0 whose c is positive by curvature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class ContactSet {
 public:
  /// first: global index of the first conditional row, count: how many there are.
  void resize(int first, int count);
  /// All conditional rows of the system; only unilateral rows among the selected ones may become active.
  void resize(const System& system, RowSelection selection);
  /// Forgets multipliers and active set. All rows are candidates until restrict_to is called.
  void reset();
  /// Rows that may become active; `flags` per conditional row.
  void restrict_to(const std::vector<std::uint8_t>& flags) { candidates_ = &flags; }
  /// Rows that are active whatever the sign of their multiplier; flags per conditional row, null: none.
  void fix(const std::vector<std::uint8_t>* flags) { fixed_ = flags; }
  /// Rows that the first update makes active whatever c is, if there are many of them; flags per conditional row. A
  /// pile of bodies finds its contacts one layer an update otherwise. Fewer than 64 flags are ignored: few rows are
  /// found in few updates anyway. `near`: rows with c below the largest penetration become active too, since
  /// corrections may close them; the caller drops those that do not carry.
  void begin_with(const std::vector<std::uint8_t>* flags, bool near = false);
  bool begins_with_many() const { return first_rows_ != nullptr; }
  /// Drops active rows with negative multipliers; one for each of active_rows().
  void drop_idle(In multipliers);
  /// Added to the multipliers where the set is evaluated, one value per conditional row (total impulses of PVA).
  void offset_by(const Vector& offsets) { offsets_ = &offsets; }

  /// Evaluates the set from the row values c (one per conditional row) with penalty p; multipliers of rows that are not
  /// active become zero. Returns the number of rows that changed. A row enters only with c < -band, the roundoff of c,
  /// so that rounding does not decide events that fall on a time step. Rows flagged in `held` (closed before) enter
  /// with c < 0, so that rest does not flicker, and in the first update already with c < band: what rests on each other
  /// stays together, instead of being found one contact an iteration.
  int update(In c, double penalty, double band = 0, const std::vector<std::uint8_t>* held = nullptr);
  /// Rows that wanted to change in the last update and were not allowed to; the set is right only without any.
  int pending() const { return pending_; }

  /// Global numbers of the active rows, ascending.
  std::span<const int> active_rows() const { return active_rows_; }
  const std::vector<std::uint8_t>& flags() const { return flags_; }
  /// Multipliers per conditional row; add_increment adds to the active ones, in the order of active_rows.
  Vector& multipliers() { return multipliers_; }
  const Vector& multipliers() const { return multipliers_; }
  void add_increment(In increments);
  double augmented(std::size_t i, double c, double penalty) const {
    return multipliers_[i] - (weights_.empty() ? penalty : penalty / (weights_[i] * weights_[i])) * c;
  }
  /// Weights over which the rows are lengths (one per conditional row; empty: 1), for the penalty and the band.
  void measure(In weights) { weights_.assign(weights.begin(), weights.end()); }
  /// The penalty that the last update used: the given one, or a very small one once the update has become careful.
  double effective(double penalty) const;

 private:
  int first_ = 0;
  std::vector<std::uint8_t> flags_;
  std::vector<std::uint8_t> unilateral_;  // rows that have a law; empty: all
  const std::vector<std::uint8_t>* candidates_ = nullptr;
  const std::vector<std::uint8_t>* fixed_ = nullptr;
  const std::vector<std::uint8_t>* first_rows_ = nullptr;
  const Vector* offsets_ = nullptr;
  std::vector<int> active_rows_;
  Vector multipliers_, weights_;
  std::vector<std::uint64_t> seen_;  // hashes of the sets so far
  int repeats_ = 0;
  int updates_ = 0, pending_ = 0;
  bool near_ = false;
};

}  // namespace carom
