// Looking into documents that may be wrong: what is missing or of another kind reads as empty.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

/// A member of an object that is a string; empty otherwise.
std::string text_of(const nlohmann::json& object, const char* key);
/// A member that is a list; an empty one otherwise.
const nlohmann::json& list_of(const nlohmann::json& object, const char* key);
/// The names of the objects of a list.
std::vector<std::string> names_of(const nlohmann::json& list);
/// Digits that make a number below 1e9.
bool is_number_word(std::string_view s);
/// Whether a point or element is "WORD.3".
bool is_numbered(const std::string& point, const std::string& word);
/// `message` and the allowed numbers, if that of "WORD.3" is not among `count`; empty if it is, or they are not known.
std::string number_error(const std::string& point, const std::string& word, std::optional<std::int64_t> count,
                         const std::string& message);

}  // namespace carom
