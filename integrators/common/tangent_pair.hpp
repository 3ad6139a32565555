// The two tangential rows of a contact in directions of another place or time.
#pragma once

#include <algorithm>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

/// A tangential row in the directions that the rows of its contact have at the start of the step: c times the same row
/// and s times its partner. All other rows stay.
struct TangentPair {
  double c = 1, s = 0;
  int partner = -1;
};

/// Of a row in the configuration q at t.
inline TangentPair tangent_pair(const System& system, int row, In q, double t, const StepStart& start) {
  if (system.row_kind(row) != RowKind::tangential) return {};
  const int k = system.row_place(row).row;
  if (k == most_contact_rows - 1) return {};  // pivoting, about the normal
  const ConstraintBlock::Turn turn = system.tangent_turn(row, q, t, start);
  const bool first = k % 2 == 1;
  return {turn.c, first ? turn.s : -turn.s, first ? row + 1 : row - 1};
}

/// A value of a row at (q, t) of a quantity that has components along the rows, value(row), in the directions at the
/// start.
template <class Value>
double value_at_start(const System& system, int row, In q, double t, const StepStart& start, const Value& value) {
  const TangentPair pair = tangent_pair(system, row, q, t, start);
  return pair.c * value(row) - (pair.s == 0 ? 0 : pair.s * value(pair.partner));
}

/// The same from the start to (q, t).
template <class Value>
double value_at_end(const System& system, int row, In q, double t, const StepStart& start, const Value& value) {
  const TangentPair pair = tangent_pair(system, row, q, t, start);
  return pair.c * value(row) + (pair.s == 0 ? 0 : pair.s * value(pair.partner));
}

/// Subtracts the anchors, slips per row in the directions at the start, from the rows c at (q, t).
inline void subtract_anchors(const System& system, In anchors, In q, double t, const StepStart& start, Out c) {
  const auto anchor = [&](int row) { return anchors[at(row)]; };
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    // most contacts rest, without an anchor; the row before or behind is the partner
    const bool alone = anchor(row - (row > 0 ? 1 : 0)) == 0 && (row + 1 == system.rows() || anchor(row + 1) == 0);
    if (anchor(row) == 0 && alone) continue;
    c[at(row)] -= value_at_end(system, row, q, t, start, anchor);
  }
}

}  // namespace carom
