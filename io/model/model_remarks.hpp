// Remarks about a valid model: what its user may not have meant.
#pragma once

#include <string>
#include <vector>

namespace carom {

class BuildContext;

/// Sentences about the start that a projection has moved, values without effect, unconnected pieces, penetrations and
/// joints that do not fit. Precondition: the model is complete.
std::vector<std::string> model_remarks(const BuildContext& context);

}  // namespace carom
