// Kinds of constraint rows, and selections of kinds for sub-problems.
//
// The rows of a System are numbered once, block after block and item after item: first permanent bilateral rows,
// [0, bilateral()), then conditional rows, [bilateral(), rows()). Bilateral rows are part of the factorised matrix; all
// other rows are condensed (SaddlePoint). Number and order of rows do not change during a run. A row of a searching
// block may be bound to another pair of bodies at the start of a step; its name is that of the present pair.
//
// Tangential rows follow the unilateral row of their contact. The rate of a tangential row is a slip velocity G v +
// g_t. Its "gap" is the slip displacement since the start of the step, the relative tangential displacement of the two
// material points (zero without a start of the step); its gradient is Dg, while the force of friction is G^T s.
//
// A contact of spheres with resistance to rolling and pivoting has three more tangential rows: the relative angular
// velocity along both tangents and along the normal, times a length (ContactParameters::lever), so that all rows are
// lengths and all multipliers forces. Their "gaps" are the relative rotation of the step times this length.
//
// Rows of joint friction have no unilateral row: the free directions of a joint, which friction resists up to a limit
// that follows the reactions of the joint's bilateral rows (System::friction_limit). Their rate is the slip velocity,
// their "gap" the slip displacement since the start of the step. The rows of an item share a disc.
#pragma once

#include <cstdint>

namespace carom {

enum class RowKind : std::uint8_t {
  bilateral,      ///< always holds: joints, drivers
  switching,      ///< only in MethodInfo::rows: the method takes SwitchingBlocks, whose rows are bilateral
  unilateral,     ///< 0 <= g  perp  multiplier >= 0: contacts, stops
  tangential,     ///< a sliding direction of the preceding unilateral row
  joint_friction  ///< a free direction of a joint with friction
};

/// The kinds of rows in a sub-problem.
class RowSelection {
 public:
  constexpr RowSelection() = default;
  constexpr RowSelection(RowKind kind) : kinds_(bit(kind)) {}  // NOLINT(google-explicit-constructor): a kind selects
  constexpr bool has(RowKind kind) const { return (kinds_ & bit(kind)) != 0; }
  /// True if this selection contains some kind of `other`.
  constexpr bool meets(RowSelection other) const { return (other.kinds_ & kinds_) != 0; }
  /// True if this selection contains all kinds of `other`.
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
inline constexpr RowSelection conditional_rows =
    RowKind::switching | RowKind::unilateral | RowKind::tangential | RowKind::joint_friction;
/// Rows of contacts with Coulomb friction.
inline constexpr RowSelection contact_rows = RowKind::unilateral | RowKind::tangential;
/// Rows of slip: their multipliers are bounded by those of other rows, and they are never open or closed by a gap.
inline constexpr RowSelection friction_rows = RowKind::tangential | RowKind::joint_friction;
/// Rows of contacts and of friction.
inline constexpr RowSelection law_rows = contact_rows | friction_rows;
/// Rows whose value at position level is known without the start of the step.
inline constexpr RowSelection position_rows = RowKind::bilateral | RowKind::switching | RowKind::unilateral;
inline constexpr RowSelection all_rows = position_rows | friction_rows;

/// Rows of a contact: gap, two of slip, two of rolling, one of pivoting.
inline constexpr int most_contact_rows = 6;
/// Of these, the rows of the gap and of slip.
inline constexpr int slip_rows = 3;

/// The state at the start of the step; some rows depend on this state: intermediate gradients, anchors of friction.
struct StepStart {
  const double* q = nullptr;  ///< configuration_size() entries
  const double* v = nullptr;  ///< size() entries
  double t = 0;
};

}  // namespace carom
