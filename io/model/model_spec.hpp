// The contents of a model file (format 1). Every key is declared once, in model_spec.cpp or beside its reader in
// types/*.cpp. Reader, messages, JSON Schema and manual follow from the declarations; see spec.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/model/model_document.hpp"
#include "io/schema/spec.hpp"

namespace carom {

/// The whole model.
const spec::Node& model_spec();

/// Names of the model's definitions.
struct DefinedNames {
  std::set<std::string> parameters, materials, sections;
};

/// Second check: every reference names an existing object of the right kind, and every definition is among `used`. Adds
/// errors to the document.
void check_references(const nlohmann::json& model, const std::vector<spec::FoundReference>& references,
                      const std::set<std::string>& parameters, const DefinedNames& used, ModelIssues& issues);

}  // namespace carom
