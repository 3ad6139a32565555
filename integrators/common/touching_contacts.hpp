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
  /// `closed_gap` on a body that any contact with friction there turns. Rounding may leave an unloaded contact of a
  /// flat body open. The problem must contain this contact, or the others would carry its share. Contacts of bodies
  /// that no normal force turns, such as spheres, are left out: unloaded they only make the problem singular.
  std::vector<std::uint8_t> touching;

  /// `state`: at the start of the step; closed_gap: StepScales::closed_gap.
  void find(const System& system, const State& state, const StepStart& start, double closed_gap);

 private:
  bool turns_bodies(const System& system, int row, const State& state, const StepStart& start, double closed_gap,
                    bool marks);

  std::vector<int> idle_;             // rows of contacts that touch without having been active
  std::vector<std::uint8_t> turned_;  // per node
  SparseRow gradient_;
};

}  // namespace carom
