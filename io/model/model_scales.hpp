// Scales of a model: the length, speed, mass and force to which tolerances and remarks are relative.
#pragma once

#include <vector>

#include "core/mechanics/scales.hpp"

namespace carom {

class BuildContext;
struct RowGroup;
struct RunOptions;

/// The scales of the options, else those of the key "scales", else those of the model at model.state and the initial
/// configuration of its system; the force is always that of the model. contacts: without gaps of coordinates.
/// Preconditions: the system is finalized; contact candidates belong to model.state; model.simulation has the times.
Scales model_scales(const BuildContext& context, const RunOptions& options, const std::vector<RowGroup>& contacts);

}  // namespace carom
