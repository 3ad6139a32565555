// Kinds of constraint rows, and which of them take part in a sub-problem.
//
// The rows of a System are numbered once: permanent bilateral rows first, [0, bilateral()), then all rows that hold on
// condition, [bilateral(), rows()), block after block and item after item. Bilateral rows are part of the factorised
// matrix; all others are condensed onto themselves (SaddlePoint). A row belongs to a slave point (a node, a station of
// a beam, a vertex): number, name and order stay when the master that the point looks at changes.
#pragma once

#include <cstdint>

namespace carom {

enum class RowKind : std::uint8_t {
  bilateral,   ///< holds always: joints, drivers
  switching,   ///< holds while its condition is met
  unilateral,  ///< 0 <= g  perp  multiplier >= 0: contacts, stops
  tangential   ///< a direction of sliding of the unilateral row before it, at velocity level only
};

/// The kinds of rows that take part in a sub-problem.
class RowSelection {
 public:
  constexpr RowSelection() = default;
  constexpr RowSelection(RowKind kind) : kinds_(bit(kind)) {}  // NOLINT(google-explicit-constructor): a kind selects
  constexpr bool has(RowKind kind) const { return (kinds_ & bit(kind)) != 0; }
  /// All kinds of `other` are in this selection.
  constexpr bool covers(RowSelection other) const { return (other.kinds_ & ~kinds_) == 0; }
  friend constexpr RowSelection operator|(RowSelection a, RowSelection b) {
    a.kinds_ |= b.kinds_;
    return a;
  }
  friend constexpr bool operator==(RowSelection, RowSelection) = default;

 private:
  static constexpr unsigned bit(RowKind kind) { return 1U << static_cast<unsigned>(kind); }
  unsigned kinds_ = 0;
};

constexpr RowSelection operator|(RowKind a, RowKind b) { return RowSelection(a) | RowSelection(b); }

inline constexpr RowSelection bilateral_rows = RowKind::bilateral;
inline constexpr RowSelection unilateral_rows = RowKind::unilateral;
/// Rows that are condensed.
inline constexpr RowSelection conditional_rows = RowKind::switching | RowKind::unilateral | RowKind::tangential;
/// Rows with an equation at position level.
inline constexpr RowSelection position_rows = RowKind::bilateral | RowKind::switching | RowKind::unilateral;
inline constexpr RowSelection all_rows = position_rows | RowKind::tangential;

/// The state at the start of the step, which some rows refer to: intermediate gradients, anchors of friction.
struct StepStart {
  const double* q = nullptr;  ///< configuration_size() entries
  const double* v = nullptr;  ///< per equation
  double t = 0;
};

}  // namespace carom
