// Documents about the contents of model files: data/schema/carom.schema.json and docs/model_reference.md.
#pragma once

#include <string>

namespace carom {

/// The text of data/schema/carom.schema.json.
std::string model_schema_text();
/// The text of docs/model_reference.md.
std::string model_reference();

}  // namespace carom
