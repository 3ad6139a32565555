// Connectivity: nodes that elements and constraints connect to the ground, and unconnected pieces of a mesh.
#pragma once

#include <string>
#include <vector>

#include "io/model/model.hpp"

namespace carom {

/// For every node: true if elements and constraints connect the node to the ground.
std::vector<bool> tied_to_ground(const System& system);

/// One remark per solid whose elements form several pieces without common nodes.
std::vector<std::string> piece_remarks(const Model& model);

}  // namespace carom
