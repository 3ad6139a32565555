// Properties that every ConstraintBlock must have (core/mechanics/constraint_block.hpp), checked at random states by
// differentiation.
#pragma once

#include <functional>
#include <string>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace carom::test {

/// Meaning of place(): equal and opposite forces at one point, or the force or moment on the last slot's node. none:
/// not checked.
enum class Reaction { none, contact, force, moment };

struct ConstraintCase {
  std::string name;
  /// Adds nodes and one constraint block.
  std::function<void(System&)> build;
  Reaction reaction = Reaction::contact;
  /// Moves the nodes to positions where the constraint is smooth; empty if it is smooth everywhere.
  std::function<void(const System&, Random&, Motion&)> place = {};
  bool distance =
      false;  ///< the gap is a distance: its gradient with respect to the first slot's position is a unit vector
};

void check_gradient(const ConstraintCase& c);
void check_gap_gradient(const ConstraintCase& c);
void check_rate(const ConstraintCase& c);
void check_bias(const ConstraintCase& c);
void check_rate_gradient(const ConstraintCase& c);
void check_reaction(const ConstraintCase& c);
void check_reaction_gradient(const ConstraintCase& c);
void check_constraint_traits(const ConstraintCase& c);
void check_zero_multipliers(const ConstraintCase& c);
void check_place(const ConstraintCase& c);
void check_distance(const ConstraintCase& c);
void check_constraint_ranges(const ConstraintCase& c);
void check_constraint_accumulation(const ConstraintCase& c);
void check_single_values(const ConstraintCase& c);
void check_constraint_no_allocation(const ConstraintCase& c);

}  // namespace carom::test
