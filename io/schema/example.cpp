// Examples of declared values, for the manual. They follow from the declaration: required keys, the first of
// alternatives, and values within the range. A declaration names a better value by Node::like().

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "io/schema/documentation.hpp"

namespace carom {

using json = nlohmann::ordered_json;  // keys in the order of the declaration
using namespace spec;

namespace {

double usual_size(std::string_view quantity) {
  static const std::map<std::string_view, double> sizes = {
      {"length", 0.1},   {"area", 1e-4},        {"mass", 2},
      {"time", 0.001},   {"angle", 0.5},        {"pressure", 1e5},
      {"density", 7800}, {"area moment", 1e-8}, {"velocity", 1.5},
      {"force", 10},     {"stiffness", 2000},   {"moment of inertia", 0.01},
      {"torque", 3},     {"acceleration", 1},   {"angular velocity", 5}};
  const auto found = sizes.find(quantity);
  return found == sizes.end() ? 0.5 : found->second;
}

bool in_range(const Node& node, double x) {
  return (node.lower_open ? x > node.lower : x >= node.lower) && (node.upper_open ? x < node.upper : x <= node.upper);
}

json number_for(const Node& node) {
  const double usual = usual_size(node.what);
  double number = 0.5 * (node.lower + node.upper);
  for (const double x : {usual, 1.0, -usual, 2.0, 0.0, node.lower, node.upper, node.lower + 1})
    if (std::isfinite(x) && in_range(node, x)) {
      number = x;
      break;
    }
  if (std::abs(number) < 1e9 && number == std::floor(number)) return static_cast<long>(number);
  return number;
}

json integer_for(const Node& node) {
  const double most = std::min(node.upper, 1e9);
  return static_cast<long>(std::clamp(4.0, std::max(node.lower, -1e9), most));
}

void add(json& out, const Node& object, const std::string& key) {
  if (!out.contains(key))
    if (const Key* const declared = object.find(key)) out[key] = example(declared->value);
}

json object_for(const Node& node) {
  json out = json::object();
  for (const Key& key : node.keys)
    if (key.is_required) add(out, node, key.name);
  for (const KeyRule& rule : node.rules) {
    const auto given = [&](const std::vector<std::string>& keys) {
      return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return out.contains(key); });
    };
    const bool one_is_needed = (rule.kind == KeyRule::Kind::exactly_one || rule.kind == KeyRule::Kind::at_least_one) &&
                               std::none_of(rule.alternatives.begin(), rule.alternatives.end(), given);
    const bool another_is_needed = rule.kind == KeyRule::Kind::needs && given(rule.alternatives[0]);
    if (one_is_needed || another_is_needed)
      for (const std::string& key : rule.alternatives[one_is_needed ? 0 : 1]) add(out, node, key);
  }
  if (out.empty() && !node.keys.empty()) add(out, node, node.keys[0].name);
  return out;
}

json list_for(const Node& node) {
  const std::size_t count = node.counts.empty() ? std::max<std::size_t>(1, node.least) : node.counts[0];
  const json entry = example(node.item[0]);
  json out = json::array();
  const bool is_vector = count == 3 && entry.is_number() && in_range(node.item[0], 0);
  for (std::size_t i = 0; i < count; ++i) {
    json here = is_vector ? json(0) : entry;
    if (is_vector && i == 2) here = node.item[0].what == "number" ? json(1) : entry;  // a direction or a place
    if (i > 0 && node.distinct && entry.is_string()) here = entry.get<std::string>() + "_" + std::to_string(i + 1);
    out.push_back(std::move(here));
  }
  return out;
}

/// On one line if it fits, else a line for each entry.
void append(std::string& out, const json& value, std::size_t indent, std::size_t used) {
  constexpr std::size_t width = 96;
  std::string line;
  if (value.is_structured()) {
    line = value.is_object() ? "{" : "[";
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (it != value.begin()) line += ", ";
      if (value.is_object()) line += json(it.key()).dump() + ": ";
      append(line, *it, 0, width);  // never fits: see below
    }
    line += value.is_object() ? "}" : "]";
  } else {
    line = value.dump();
    if (value.is_number_float()) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%.6g", value.get<double>());
      line = text.data();
    }
  }
  if (!value.is_structured() || used == width || used + line.size() <= width) {
    out += line;
    return;
  }
  out += value.is_object() ? "{" : "[";
  for (auto it = value.begin(); it != value.end(); ++it) {
    out += (it == value.begin() ? "\n" : ",\n") + std::string(indent + 2, ' ');
    const std::string head = value.is_object() ? json(it.key()).dump() + ": " : "";
    out += head;
    append(out, *it, indent + 2, indent + 2 + head.size());
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

nlohmann::ordered_json example(const Node& node) {
  if (!node.sample.is_null()) return node.sample;
  switch (node.kind) {
    case Kind::number:
    case Kind::formula:
      return number_for(node);
    case Kind::time_function:
      return number_for(node).dump() + "*sin(20*t)";
    case Kind::integer:
      return integer_for(node);
    case Kind::boolean:
      return true;
    case Kind::string:
      return "text";
    case Kind::name:
      return "name";
    case Kind::reference:
      return node.what.substr(0, node.what.find(' '));
    case Kind::choice:
      return node.words[0].word;
    case Kind::list:
      return list_for(node);
    case Kind::one_or_list:
      return example(node.item[0]);
    case Kind::object:
      return object_for(node);
    case Kind::tagged:
      return example(node.variants[0]);
    case Kind::parameters:
      return {{"length", 0.5}};
  }
  return {};
}

nlohmann::ordered_json example(const Variant& variant) {
  json out = {{"type", variant.type}};
  out.update(example(variant.object));
  return out;
}

std::string example_text(const nlohmann::ordered_json& value, std::size_t indent, std::size_t used) {
  std::string out;
  append(out, value, indent, used);
  return out;
}

}  // namespace carom
