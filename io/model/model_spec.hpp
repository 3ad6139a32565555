// What a model file may hold (format 1): every key declared once, in model_spec.cpp and beside what reads it in
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

/// Second pass: what references name exists, has the right kind, and every definition is among those `used`. Adds
/// issues.
void check_references(const nlohmann::json& model, const std::vector<spec::FoundReference>& references,
                      const std::set<std::string>& parameters, const DefinedNames& used, ModelIssues& issues);

}  // namespace carom
