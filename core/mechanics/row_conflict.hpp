// Contradictions between bilateral rows: demands b that no motion meets.
//
//   G x = -b has a solution only if w^T b = 0 for every w with w^T G = 0
//
// b is g for corrections of positions, g_t for velocities, g_tt for the accelerations that drivers demand. Rows that
// repeat each other and agree are redundant only; where w^T b differs from zero, they contradict each other. Rotations
// count times a length, so that the verdict does not depend on units.
// Limits: G is taken at one configuration. At a singular position, such as that of a stretched linkage, G may lack rank
// though a larger motion meets the demands.
#pragma once

#include <optional>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct RowConflict {
  double miss = 0;        ///< of the last row, in the unit of its demand, if all other rows get what they demand
  std::vector<int> rows;  ///< the rows of w, ascending; the last one only where rows are very many
};

/// The worst contradiction of the demands b (bilateral() entries) at (q, t): the largest |w^T b|, |w| = 1, of rows G of
/// unit length with rotations over `length`. nullopt if that does not exceed both `least` and `share` of the largest
/// demand of such a row.
std::optional<RowConflict> find_conflict(const System& system, In q, double t, In b, double length, double least,
                                         double share);

}  // namespace carom
