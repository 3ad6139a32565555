// Loads spread over several points: along beams, over sets of points.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "elements/loads/load.hpp"
#include "io/model/build_context.hpp"

namespace carom {

/// Appends the nodal loads of a "line_force" or "line_torque", shared out by BodyType::line_load_shares. In body axes
/// each node turns its share.
void add_line_load(BuildContext& context, const nlohmann::json& load, const std::string& pointer,
                   std::vector<Load>& loads);

/// Appends the nodal loads of a "force" on a set of points, the given value being their sum: to `on_frames` those at
/// frames, the rest to `on_points`.
void add_spread_force(BuildContext& context, const nlohmann::json& load, const std::string& pointer,
                      std::vector<Load>& on_frames, std::vector<Load>& on_points);

}  // namespace carom
