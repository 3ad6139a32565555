// Declarations as JSON Schema, draft 2020-12, for editors and other programs. The schema accepts every document that
// resolve() accepts, and more: it contains no references, formulas and rules between values.

#include <cmath>
#include <limits>

#include "io/schema/documentation.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

json schema_of(const Node& node);

json formula_reference() { return {{"$ref", "#/$defs/formula"}}; }

/// Bounds of a number.
json number_schema(const Node& node) {
  json out = {{"type", node.kind == Kind::integer ? "integer" : "number"}};
  const auto value = [](double x) {
    return std::nearbyint(x) == x && std::abs(x) < 1e15 ? json(std::llround(x)) : json(x);
  };
  if (std::isfinite(node.lower)) out[node.lower_open ? "exclusiveMinimum" : "minimum"] = value(node.lower);
  if (std::isfinite(node.upper)) out[node.upper_open ? "exclusiveMaximum" : "maximum"] = value(node.upper);
  return {{"anyOf", json::array({out, formula_reference()})}};
}

json list_schema(const Node& node) {
  json out = {{"type", "array"}, {"items", schema_of(node.item[0])}};
  if (node.distinct) out["uniqueItems"] = true;
  if (node.counts.size() == 1) {
    out["minItems"] = out["maxItems"] = node.counts[0];
  } else if (!node.counts.empty()) {
    for (const std::size_t n : node.counts) out["oneOf"].push_back({{"minItems", n}, {"maxItems", n}});
  } else if (node.least > 0) {
    out["minItems"] = node.least;
  }
  if (node.kind == Kind::list) return out;
  return {{"anyOf", json::array({schema_of(node.item[0]), out})}};
}

json required_keys(const std::vector<std::string>& keys) { return {{"required", keys}}; }

/// Excludes the keys of all alternatives except one.
json without_others(const std::vector<std::vector<std::string>>& alternatives, std::size_t but) {
  json any = json::array();
  for (std::size_t i = 0; i < alternatives.size(); ++i)
    for (const std::string& key : alternatives[i])
      if (i != but) any.push_back(required_keys({key}));
  return {{"anyOf", any}};
}

json rule_schema(const KeyRule& rule) {
  json any = json::array();
  for (std::size_t i = 0; i < rule.alternatives.size(); ++i) {
    json one = required_keys(rule.alternatives[i]);
    if (rule.kind != KeyRule::Kind::at_least_one) one["not"] = without_others(rule.alternatives, i);
    any.push_back(std::move(one));
  }
  if (rule.kind == KeyRule::Kind::at_most_one)
    any.push_back({{"not", without_others(rule.alternatives, rule.alternatives.size())}});
  return {{"anyOf", any}};
}

json object_schema(const Node& node, const Variant* variant) {
  json properties = json::object();
  json required = json::array();
  if (variant != nullptr) properties["type"] = {{"const", variant->type}, {"description", variant->help}};
  for (const Key& key : node.keys) {
    json property = schema_of(key.value);
    const bool has_unit = key.value.kind == Kind::number || key.value.kind == Kind::time_function ||
                          (!key.value.item.empty() && !unit_of(key.value.item[0].what).empty());
    const std::string unit = has_unit ? unit_of(key.value.item.empty() ? key.value.what : key.value.item[0].what) : "";
    property["description"] = key.help + (unit.empty() ? "" : " [" + unit + "]");
    if (key.preset) property["default"] = *key.preset;
    properties[key.name] = std::move(property);
    if (key.is_required) required.push_back(key.name);
  }

  json out = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = std::move(required);
  for (const KeyRule& rule : node.rules) {
    if (rule.kind == KeyRule::Kind::needs)
      out["dependentRequired"][rule.alternatives[0][0]] = rule.alternatives[1];
    else
      out["allOf"].push_back(rule_schema(rule));
  }
  return out;
}

json tagged_schema(const Node& node) {
  json types = json::array();
  json cases = json::array();
  for (const Variant& variant : node.variants) {
    types.push_back(variant.type);
    cases.push_back({{"if", {{"properties", {{"type", {{"const", variant.type}}}}}, {"required", {"type"}}}},
                     {"then", object_schema(variant.object, &variant)}});
  }
  return {{"type", "object"},
          {"required", {"type"}},
          {"properties", {{"type", {{"enum", std::move(types)}, {"description", "kind of " + node.what}}}}},
          {"allOf", std::move(cases)}};
}

json schema_of(const Node& node) {
  switch (node.kind) {
    case Kind::number:
    case Kind::integer:
      return number_schema(node);
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::string:
    case Kind::reference:
      return {{"type", "string"}};
    case Kind::name:
      if (node.is_variable) return {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}, {"maxLength", 100}};
      return {{"$ref", "#/$defs/name"}};
    case Kind::choice: {
      json words = json::array();
      for (const Word& w : node.words) words.push_back(w.word);
      return {{"enum", std::move(words)}};
    }
    case Kind::list:
    case Kind::one_or_list:
      return list_schema(node);
    case Kind::object:
      return object_schema(node, nullptr);
    case Kind::tagged:
      return tagged_schema(node);
    case Kind::time_function:
      return {{"$ref", "#/$defs/time_function"}};
    case Kind::formula:
      return {{"type", {"number", "string"}}};
    case Kind::parameters:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}}},
              {"additionalProperties", number_schema(number())}};
  }
  return json::object();
}

}  // namespace

json json_schema(const Node& node, const std::string& title) {
  json schema = schema_of(node);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = title;
  schema["$defs"] = {
      {"formula", {{"type", "string"}, {"pattern", "^="}, {"description", "\"=\" and a formula of the parameters"}}},
      {"name", {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_-]*$"}, {"maxLength", 100}}},
      {"time_function",
       {{"description", "a number, a formula of t, or a table"},
        {"anyOf",
         json::array({{{"type", "number"}}, {{"type", "string"}}, object_schema(time_table("number"), nullptr)})}}},
  };
  return schema;
}

}  // namespace carom
