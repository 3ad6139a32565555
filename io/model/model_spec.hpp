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

/// What a probe can record.
struct Quantity {
  /// element: a field of the element's block (ElementBlock::output_fields) with the quantity's first word as name;
  /// element_node: a nodal field at a node of elements.
  enum class Of { nothing, point, rotating_point, element, element_node, contact, joint };
  std::string name;  ///< without component
  bool is_vector;
  Of of;
  std::string unit, help;
};
const std::vector<Quantity>& quantities();
/// The quantity of a probe's word, such as "position" for "position.y"; null for an unknown word.
const Quantity* find_quantity(std::string_view word);

/// Names of the model's definitions.
struct DefinedNames {
  std::set<std::string> parameters, materials, sections;
};

/// Second check: every reference names an existing object of the right kind, and every definition is among `used`. Adds
/// errors to the document.
void check_references(const nlohmann::json& model, const std::vector<spec::FoundReference>& references,
                      const std::set<std::string>& parameters, const DefinedNames& used, ModelIssues& issues);

}  // namespace carom
