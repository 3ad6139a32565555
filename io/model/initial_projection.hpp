// Moves the start of a model onto its constraints or to static equilibrium.
#pragma once

#include "io/model/model.hpp"
#include "io/model/model_document.hpp"

namespace carom {

/// Does what `initial_state` of the document requests: projects positions, finds static equilibrium, projects
/// velocities, in this order. Changes model.state and model.projection; with positions, the initial configuration of
/// the system too. A failure is an issue at its key; the state is then not to be used. Preconditions: the system is
/// finalized; contact candidates belong to model.state. scales: of the given start.
void project_initial_state(const nlohmann::json& root, const Scales& scales, Model& model, ModelIssues& issues);

}  // namespace carom
