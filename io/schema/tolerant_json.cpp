#include "io/schema/tolerant_json.hpp"

#include <algorithm>

namespace carom {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& list_of(const json& object, const char* key) {
  static const json empty = json::array();
  if (!object.is_object()) return empty;
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : empty;
}

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  for (const json& item : list) {
    std::string name = text_of(item, "name");
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

bool is_number_word(std::string_view s) {
  return !s.empty() && s.size() < 10 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_numbered(const std::string& point, const std::string& word) {
  return point.starts_with(word + ".") && is_number_word(std::string_view(point).substr(word.size() + 1));
}

std::string number_error(const std::string& point, const std::string& word, std::optional<std::int64_t> count,
                         const std::string& message) {
  if (!count || std::stol(point.substr(word.size() + 1)) < *count || *count < 1) return {};
  return message + "; its " + word + "s are " + word + ".0 to " + word + "." + std::to_string(*count - 1);
}

}  // namespace carom
