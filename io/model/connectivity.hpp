// What hangs together: nodes by elements and constraints, and the unconnected pieces of a mesh.
#pragma once

#include <string>
#include <vector>

#include "io/model/model.hpp"

namespace carom {

/// Of every node, whether elements and constraints lead from it to the ground.
std::vector<bool> tied_to_ground(const System& system);

/// A remark per solid whose elements form several pieces without a common node.
std::vector<std::string> piece_remarks(const Model& model);

}  // namespace carom
