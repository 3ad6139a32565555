// Access to documents that may be wrong: missing values and values of another kind read as empty.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

/// The string of an object's member; empty otherwise.
std::string text_of(const nlohmann::json& object, const char* key);
/// The list of an object's member; an empty list otherwise.
const nlohmann::json& list_of(const nlohmann::json& object, const char* key);
/// The names of the objects in a list.
std::vector<std::string> names_of(const nlohmann::json& list);
/// True for digits that form a number below 1e9.
bool is_number_word(std::string_view s);
/// True if a point or element has the form "WORD.3".
bool is_numbered(const std::string& point, const std::string& word);
/// `message` and the allowed numbers if the number in "WORD.3" is not below `count`. Empty if it is, or if count is
/// unknown.
std::string number_error(const std::string& point, const std::string& word, std::optional<std::int64_t> count,
                         const std::string& message);

}  // namespace carom
