// Contacts of nodes of bars, beams and solids: the law of an impact takes the energy of a node alone, and how much that
// is depends on the mesh and on how often the node strikes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

/// Per node: an element with mass and stiffness joins it to others. Generalised coordinates are no element.
std::vector<std::uint8_t> nodes_of_elements(const System& system);
/// There are such nodes.
bool is_flexible(const System& system);
/// Per conditional row: it acts on one of `nodes`.
std::vector<std::uint8_t> contacts_of(const System& system, const std::vector<std::uint8_t>& nodes);

}  // namespace carom
