// The settings of a run that a model document has: times, output, end criteria.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "io/model/model.hpp"

namespace carom {

/// Step and duration; an impossible step is an issue at its key.
SimulationOptions read_time(const nlohmann::json& integrator, const RunOptions& options, ModelIssues& issues);
/// Files of results, probes and expectations. Precondition: bodies, springs and obstacles of the model are known.
OutputSettings read_output(const nlohmann::json& root, const Model& model);
/// The list "until".
std::vector<UntilSettings> read_until(const ModelDocument& document, ModelIssues& issues);

}  // namespace carom
