// Properties that every ElementBlock must have (core/mechanics/element_block.hpp), checked at random states by
// differentiation and physics. A case names and builds a block; the functions below check every case.
#pragma once

#include <functional>
#include <string>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace carom::test {

struct ElementCase {
  std::string name;
  /// Adds nodes and one element block.
  std::function<void(System&)> build;
  bool free = false;  ///< not attached to a fixed point: internal forces follow a rigid motion
  /// Moves the nodes of a random state to positions that are valid for the element; empty if all positions are valid.
  std::function<void(const System&, Random&, Motion&)> place = {};
  bool potential = false;  ///< internal forces have a potential of any sign, which is no elastic energy
};

void check_stiffness_is_derivative(const ElementCase& c);
void check_damping_is_derivative(const ElementCase& c);
void check_mass_matrix(const ElementCase& c);
void check_lumped_mass(const ElementCase& c);
void check_forces_from_energy(const ElementCase& c);
void check_force_parts(const ElementCase& c);
void check_power(const ElementCase& c);
void check_traits(const ElementCase& c);
void check_ranges(const ElementCase& c);
void check_accumulation(const ElementCase& c);
void check_objectivity(const ElementCase& c);
void check_no_allocation(const ElementCase& c);

}  // namespace carom::test
