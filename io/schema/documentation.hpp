// Documents from declarations: JSON Schema, manual and tables, all from the spec::Node of a document.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/schema/spec.hpp"

namespace carom {

/// JSON Schema, draft 2020-12, of the documents that `node` declares. Numbers may also be "=formula" strings.
nlohmann::json json_schema(const spec::Node& node, const std::string& title);

/// The manual of a key below `node`: "contacts/obstacle", "/integrator/step", "bodies/rigid/mass"; for "" of the whole
/// document. Indices of list entries are ignored. A key of several types is shown for each type. Throws ModelError with
/// the nearest key for an unknown key.
std::string manual(const spec::Node& node, std::string_view key);

/// A value that `node` allows, for the manual: the one of Node::like(), or what follows from the declaration: required
/// keys, the first of alternatives, values within the range. Names of other objects are made up.
nlohmann::ordered_json example(const spec::Node& node);
/// The same of a type, with its key "type".
nlohmann::ordered_json example(const spec::Variant& variant);
/// JSON on one line if it fits 96 columns, of which `used` are taken; else indented by `indent` and more.
std::string example_text(const nlohmann::ordered_json& value, std::size_t indent, std::size_t used);

/// All keys of the object `node` as Markdown tables: its own keys, one section for each key that contains objects, and
/// functions of time.
std::string markdown_tables(const spec::Node& node);
/// Escapes a text for a cell of such a table.
std::string markdown_cell(const std::string& text);

}  // namespace carom
