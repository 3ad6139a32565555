// docs/model_reference.md: every key of model files as tables, from the one declaration of the keys.
#pragma once

#include <string>

namespace carom {

/// The text of docs/model_reference.md.
std::string schema_markdown();

}  // namespace carom
