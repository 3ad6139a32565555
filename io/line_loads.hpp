// Loads distributed along beams.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "elements/load.hpp"
#include "io/build_context.hpp"

namespace carom {

/// Appends the nodal loads of a "line_force" or "line_torque": per element half of its length at each node, which is
/// the work-equivalent of an even load on linearly interpolated positions. In body axes each node turns its share.
void add_line_load(BuildContext& context, const nlohmann::json& load, const std::string& pointer,
                   std::vector<Load>& loads);

}  // namespace carom
