// Documents from declarations: JSON Schema, manual and tables, all from the spec::Node of a document.
#pragma once

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

/// All keys of the object `node` as Markdown tables: its own keys, one section for each key that contains objects, and
/// functions of time.
std::string markdown_tables(const spec::Node& node);
/// Escapes a text for a cell of such a table.
std::string markdown_cell(const std::string& text);

}  // namespace carom
