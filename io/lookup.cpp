#include "io/lookup.hpp"

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

}  // namespace carom
