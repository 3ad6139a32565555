// Looking into documents that may be wrong: what is missing or of another kind reads as empty.
#pragma once

#include <nlohmann/json.hpp>
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

}  // namespace carom
