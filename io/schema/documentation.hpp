// What declarations say, for readers: JSON Schema, manual and tables, all from the one spec::Node of a document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "io/schema/spec.hpp"

namespace carom {

/// JSON Schema, draft 2020-12, of the documents that `node` declares. Numbers may also be "=formula" strings.
nlohmann::json json_schema(const spec::Node& node, const std::string& title);

/// The manual of a key below `node`: "contacts/obstacle", "/integrator/step", "bodies/rigid/mass"; of the whole
/// document for "". Numbers of list entries are passed over; a key of several types is shown for each. Throws
/// ModelError with the nearest key for an unknown one.
std::string manual(const spec::Node& node, std::string_view key);

/// Every key of the object `node` in tables of Markdown: its own, a section for each key that holds objects, and
/// functions of time.
std::string markdown_tables(const spec::Node& node);
/// A text that can stand in a cell of such a table.
std::string markdown_cell(const std::string& text);

}  // namespace carom
