#include "io/studies/study_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "io/model/model_spec.hpp"
#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"

namespace carom {

using nlohmann::json;

std::vector<std::string> split_words(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == separator && depth <= 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::string> varied_words(const std::string& list) {
  std::vector<std::string> words = split_words(list, ',');
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word->empty()) throw StudyError("--vary: expected a value between the commas, got " + in_quotes(list));
    if (std::find(words.begin(), word, *word) != word)
      throw StudyError(fmt::format("--vary: expected different values, got {} twice", *word));
  }
  if (words.size() < 2)
    throw StudyError("--vary: expected two values or more, separated by commas, got " + in_quotes(list));
  return words;
}

std::optional<double> number_of(const std::string& word) {
  double x = 0;
  const auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), x);
  return code == std::errc() && stop == word.data() + word.size() && std::isfinite(x) ? std::optional(x) : std::nullopt;
}

std::string optional_text(const std::optional<double>& x, const char* format) {
  return x ? fmt::format(fmt::runtime(format), *x) : "-";
}

std::vector<double> positive_numbers(const std::vector<std::string>& words, const std::string& option,
                                     std::size_t least) {
  std::vector<double> values;
  for (const std::string& word : words) {
    const auto x = number_of(word);
    if (!x) throw StudyError(fmt::format("{}: expected a number, got {}", option, in_quotes(word)));
    if (!(*x > 0)) throw StudyError(fmt::format("{}: expected numbers > 0, got {}", option, word));
    if (std::find(values.begin(), values.end(), *x) != values.end())
      throw StudyError(fmt::format("{}: expected different values, got {} twice", option, word));
    values.push_back(*x);
  }
  if (values.size() < least)
    throw StudyError(fmt::format("{}: expected two values or more, separated by commas, got {}", option,
                                 in_quotes(fmt::format("{}", fmt::join(words, ",")))));
  return values;
}

// ---- windows

std::string TimeWindow::text() const { return fmt::format("t = {:.9g} to {:.9g}", from, to); }

TimeWindow time_window(const std::string& text) {
  const std::vector<std::string> words = split_words(text, ',');
  const auto from = number_of(words.front()), to = number_of(words.back());
  if (words.size() != 2 || !from || !to)
    throw StudyError("--window: expected two times, as in 0.1,0.5, got " + in_quotes(text));
  if (!(*from < *to))
    throw StudyError(fmt::format("--window: expected times that grow, got {} before {}", words.front(), words.back()));
  return {*from, *to};
}

void check_window(const std::optional<TimeWindow>& window, double start, double duration, double step) {
  if (!window) return;
  const double slack = 1e-6 * step, end = start + duration;
  const double first = start + step * std::max(0.0, std::ceil((window->from - slack - start) / step));
  // the end of the run is a step, whatever the multiples
  if (window->contains(std::min(first, end), slack)) return;
  if (window->to < start || window->from > end)
    throw StudyError(fmt::format("--window: {} is outside of the run, which goes from t = {:.9g} to {:.9g}",
                                 window->text(), start, end));
  throw StudyError(fmt::format("--window: no step of length {:.9g} ends at {}", step, window->text()));
}

// ---- expectations

ExpectedOrder expected_order(const std::string& text) {
  const std::size_t equals = text.rfind('='), sign = text.find("+-", equals == std::string::npos ? 0 : equals);
  const auto order = equals == std::string::npos || sign == std::string::npos
                         ? std::nullopt
                         : number_of(text.substr(equals + 1, sign - equals - 1));
  const auto tolerance = sign == std::string::npos ? std::nullopt : number_of(text.substr(sign + 2));
  if (!order || !tolerance || !(*tolerance >= 0))
    throw StudyError("--expect: expected NAME=ORDER+-TOLERANCE, as in tip=2+-0.2, got " + in_quotes(text));
  return {text.substr(0, equals), *order, *tolerance};
}

// ---- keys

std::vector<std::string> places_of_key(const spec::Node& node, const std::string& key, const std::string& path,
                                       std::vector<std::string>* names) {
  std::vector<std::string> places;
  const std::function<void(const spec::Node&, const std::string&)> visit = [&](const spec::Node& at,
                                                                               const std::string& here) {
    for (const spec::Key& k : at.keys) {
      const std::string below = here + "/" + escape_pointer(k.name);
      if (!k.value.keys.empty()) {
        visit(k.value, below);
        continue;
      }
      if (names != nullptr) names->push_back(k.name);
      if (k.name == key || below == "/" + key) places.push_back(path + below);
    }
  };
  visit(node, "");
  return places;
}

std::string pointer_of_key(const std::string& key, const std::string& option, const ModelDocument& document,
                           bool parameters) {
  if (key.starts_with('/')) return key;
  const json& model = document.resolved();
  std::vector<std::string> names, pointers;
  const bool known = model.contains("integrator") && model["integrator"].contains("type");
  for (const IntegratorType& type : integrator_types())
    if (known && model["integrator"]["type"] == type.type)
      pointers = places_of_key(type.keys(), key, "/integrator", &names);
  // a parameter of the same name is meant as often
  const json root = document.source().is_json ? document.source().text->parse().value : json();
  const std::string parameter = "/parameters/" + escape_pointer(key);
  const bool is_parameter = root.is_object() && root.contains("parameters") && root["parameters"].is_object() &&
                            root["parameters"].contains(key);
  if (is_parameter) pointers.push_back(parameter);
  if (pointers.size() == 1 && (parameters || !is_parameter)) return pointers[0];
  if (pointers.size() == 1)
    throw StudyError(fmt::format("{}: {} is a parameter of the model: expected --parameter {}=..., or {}=...", option,
                                 in_quotes(key), key, parameter));
  if (pointers.size() > 1)
    throw StudyError(fmt::format("{}: {} may be {}: expected one of these pointers", option, in_quotes(key),
                                 spec::in_words(pointers, "or")));
  if (key == "type")
    throw StudyError(option + ": methods are compared by another command: carom compare --integrators");
  if (parameters && root.is_object() && root.contains("parameters") && root["parameters"].is_object())
    for (const auto& entry : root["parameters"].items()) names.push_back(entry.key());
  throw StudyError(
      fmt::format("{}: no {} {} in the integrator section (elsewhere a key is named by its pointer, as in "
                  "/bodies/0/elements){}",
                  option, parameters ? "parameter, and no key" : "key", in_quotes(key), spec::suggestion(key, names)));
}

std::string unit_of_key(const std::string& pointer, const ModelDocument& document) {
  const spec::Node* node = &model_spec();
  const json* value = &document.resolved();
  const json none;
  if (value->value(json::json_pointer("/output/units"), "SI") != "SI") return {};
  for (const std::string& part : split_words(pointer.substr(1), '/')) {
    if (!node->item.empty()) {
      node = &node->item[0];
      const auto index = number_of(part);
      value = value->is_array() && index && *index >= 0 && *index < static_cast<double>(value->size())
                  ? &(*value)[static_cast<std::size_t>(*index)]
                  : &none;
      continue;
    }
    const spec::Key* key = node->find(part);
    if (key == nullptr && value->is_object() && value->contains("type") && (*value)["type"].is_string()) {
      const spec::Variant* variant = node->find_variant((*value)["type"].get<std::string>());
      if (variant != nullptr) key = variant->object.find(part);
    }
    if (key == nullptr) return {};
    node = &key->value;
    value = value->is_object() && value->contains(part) ? &(*value)[part] : &none;
  }
  while (!node->item.empty()) node = &node->item[0];
  return spec::unit_of(node->what);
}

}  // namespace carom
