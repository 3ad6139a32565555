// Reactions whose directions are a mean over the step: F = share G(q) + (1 - share) R G(q_n) of the rows of contacts
// that stay closed, F = G(q) of all others. With F = G(q) rows that turn, those of a bead in a bowl or of a body that
// turns about a sticking point, cost an error of first order in the step. The shares are those of the weights with
// which a reaction that varies linearly over the step moves its end: 1/3 in a position correction, 1/2 in a velocity
// jump.
//
// R turns the two tangential rows of a contact, whose directions on a curved surface depend on the way
// (ConstraintBlock::Turn): without R a sliding body would be driven sideways.
//
// The force of such a contact also presses joints, whose rows turn with their bodies. They have the same mean
// directions, by JointTurn.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mechanics/system.hpp"
#include "integrators/common/tangent_pair.hpp"

namespace carom {

/// The impulse (1 - share) (G_b(q_n) - G_b(q))^T s_b, by which reactions of joints in their mean directions differ from
/// those along the rows G_b(q) of the matrix. s_b are the reactions after the first correction with the present set of
/// pressing contacts, which differ from the solution by O(h): the error is of second order, and the problem stays that
/// of a symmetric matrix, whose iterations converge. Reactions of the last iteration would not do: between bodies of
/// very different mass that iteration diverges.
class JointTurn {
 public:
  /// Of a new problem; `on`: joints have mean directions.
  void begin(const System& system, bool on);
  /// The problem has moved: reactions are known.
  void note_move() { moved_ = true; }
  /// Adds the impulse of the multipliers s at (q, t) to `reaction`.
  void add(const System& system, In q, double t, const StepStart& start, double share, In s, Out reaction);
  /// size() entries; empty: none.
  In impulse() const { return known_ ? In(impulse_) : In(); }

 private:
  bool on_ = false, moved_ = false, known_ = false;
  int changes_ = 0;
  Vector impulse_, multipliers_;
  std::vector<std::uint8_t> pressing_, pressed_;  // contacts, now and where the impulse was found
};

/// The rows, tangential ones included, of contacts that were closed at the start of the step.
class StayedRows {
 public:
  explicit StayedRows(const System& system)
      : flags_(at(system.conditional()), 0), known_(flags_), gradients_(flags_.size()) {}
  /// Of a new step, whose contacts were `active`. True if there are any.
  bool find(const System& system, const std::vector<std::uint8_t>& active);
  bool has(int conditional_row) const { return flags_[at(conditional_row)] != 0; }
  /// The gradient of a conditional row, given by its global number, at the start of the step, where it is evaluated
  /// once.
  const SparseRow& at_start(const System& system, int row, In q_n, const StepStart& start);

 private:
  std::vector<std::uint8_t> flags_, known_;
  std::vector<SparseRow> gradients_;
};

struct MeanDirections {
  static constexpr double position_share = 1.0 / 3, velocity_share = 0.5;

  StepStart start;
  StayedRows* rows = nullptr;  ///< those with a mean direction
  double share = 1;
  JointTurn* joints = nullptr;  ///< null: joints act along their rows at the end of the step

  bool has_mean(int conditional_row) const { return rows->has(conditional_row); }
  /// A contact of `closed` was not `active` at the start of the step, nor is done(conditional row): it has an impact at
  /// the end of the step, whose impulses joints get along their rows there.
  template <class Done>
  static bool strikes(const System& system, const std::vector<std::uint8_t>& closed,
                      const std::vector<std::uint8_t>& active, const Done& done) {
    for (std::size_t i = 0; i < closed.size(); ++i) {
      const int row = static_cast<int>(i);
      if (closed[i] != 0 && active[i] == 0 && !done(row) &&
          system.row_kind(system.bilateral() + row) == RowKind::unilateral)
        return true;
    }
    return false;
  }
  /// The multipliers s (one per row) become those of the directions at the end of the step. `at_start` (as many
  /// entries, zeros): gets those of the directions at the start; empty: they are not wanted.
  void split(const System& system, In q, double t, Out s, Out at_start = {}) const;
  /// The directions of a row from its gradient at the end of the step.
  void take_mean(const System& system, int row, In q, double t, SparseRow& gradient) const;
  /// F v + g_t of a row, from rate(row, q, t), which has the directions of the given place and time.
  template <class Rate>
  double rate(const System& system, int row, In q, double t, const Rate& rate) const {
    const double end = rate(row, q, t);
    if (!has_mean(row - system.bilateral())) return end;
    const In q_n(start.q, q.size());
    const double before = value_at_end(system, row, q, t, start, [&](int r) { return rate(r, q_n, start.t); });
    return share * end + (1 - share) * before;
  }
};

}  // namespace carom
