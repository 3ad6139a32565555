// Contacts with friction at the start of a step: their gaps, and which of them may share a load.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mechanics/state.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

struct TouchingContacts {
  /// Per conditional row: the gap of a contact with friction that was not active, 0 at all other rows.
  Vector gaps;
  /// Flags per conditional row, set at normal rows: contacts that were active, and those with friction that touch up to
  /// `closed_gap` and may share the load of a body with others: contacts whose normal force turns a body, or whose
  /// neighbour in the block has the same bodies. A point of a flat body that carried nothing is open by rounding;
  /// unless the law sees it, the others would carry what it has to. Spheres touch each other in one point, whose force
  /// passes through their centres; without load such a contact is open, and would only make the problem of the law
  /// singular.
  std::vector<std::uint8_t> touching;

  /// `state`: at the start of the step; closed_gap: StepScales::closed_gap.
  void find(const System& system, const State& state, const StepStart& start, double closed_gap);

 private:
  bool turns_a_body(const System& system, int row, const State& state, const StepStart& start, double closed_gap);
  static bool has_neighbour(const System& system, int row);

  SparseRow gradient_;
};

}  // namespace carom
