#include "tests/fuzz/model_mutator.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "io/model/model_spec.hpp"
#include "io/schema/json_source.hpp"

namespace carom::fuzz {

using nlohmann::json;
using spec::Kind;
using spec::Node;

namespace {

/// The object of a type; the node itself if the node has no types.
const Node* object_of(const Node* node, const json& value) {
  if (node == nullptr || node->kind != Kind::tagged) return node;
  const auto type = value.find("type");
  const spec::Variant* variant =
      type != value.end() && type->is_string() ? node->find_variant(type->get<std::string>()) : nullptr;
  return variant == nullptr ? nullptr : &variant->object;
}

bool is_list(const Node& node) { return node.kind == Kind::list || node.kind == Kind::one_or_list; }

}  // namespace

// ---- places in a document

std::vector<ModelMutator::Place> ModelMutator::places(json& model) {
  std::vector<Place> out;
  names_.clear();
  collect(model, &model_spec(), out);
  return out;
}

void ModelMutator::collect(json& value, const Node* node, std::vector<Place>& out) {
  static const Node table = spec::time_table("number"), number = spec::number();
  out.push_back({&value, node});
  if (value.is_array()) {
    const Node* item = node != nullptr && is_list(*node) ? &node->item[0] : nullptr;
    for (json& v : value) collect(v, item, out);
  } else if (value.is_object()) {
    if (const auto name = value.find("name"); name != value.end() && name->is_string()) names_.push_back(*name);
    if (node != nullptr && node->kind == Kind::time_function) node = &table;
    const Node* object = object_of(node, value);
    for (auto& [key, v] : value.items()) {
      const spec::Key* known = object == nullptr ? nullptr : object->find(key);
      const bool is_parameter = object != nullptr && object->kind == Kind::parameters;
      if (is_parameter) names_.push_back(key);
      collect(v, known != nullptr ? &known->value : is_parameter ? &number : nullptr, out);
    }
  }
}

void ModelMutator::mutate(json& model) {
  for (std::size_t n = 1 + below(4); n > 0; --n) {
    const std::vector<Place> all = places(model);
    const Place& place = any(all);
    if (once_in(12)) {
      const Place& other = any(all);
      const json copy = *other.value;
      *place.value = copy;
    } else {
      change(place);
    }
  }
}

void ModelMutator::mutate(std::vector<std::string>& overrides, json& model) {
  if (!overrides.empty() && once_in(2)) {
    overrides.erase(overrides.begin() + static_cast<std::ptrdiff_t>(below(overrides.size())));
    return;
  }
  // descend to some value, and perhaps beyond; take a value from anywhere, or a word without quotes
  std::string text;
  const json* at = &model;
  while (at->is_structured() && !at->empty() && !once_in(4)) {
    auto item = at->items().begin();
    std::advance(item, static_cast<std::ptrdiff_t>(below(at->size())));
    text += "/" + escape_pointer(item.key());
    at = &item.value();
  }
  if (once_in(4)) text += once_in(2) ? "/-" : "/" + word();
  const json value = once_in(3) ? odd_value() : *any(places(model)).value;
  text += "=" + (once_in(4) ? word() : value.dump(-1, ' ', false, json::error_handler_t::ignore));
  std::erase(text, '\n');
  overrides.push_back(std::move(text));
}

void ModelMutator::cross(json& model, json& other) {
  const std::vector<Place> sources = places(other), targets = places(model);
  const Place& target = any(targets);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Place& source = any(sources);
    if (source.node == nullptr || source.node != target.node) continue;
    if (target.value->is_array() && source.value->is_array() && !source.value->empty() && once_in(2))
      target.value->push_back(any(*source.value));
    else
      *target.value = *source.value;
    return;
  }
  *target.value = *any(sources).value;
}

void ModelMutator::change(const Place& place) {
  json& value = *place.value;
  // NOLINTNEXTLINE(bugprone-branch-clone): the first branch is random, the last is the default
  if (once_in(10)) {
    value = odd_value();
  } else if (value.is_array() && !once_in(4)) {
    change_list(place);
  } else if (value.is_object() && !once_in(8)) {
    change_object(place);
  } else if (place.node != nullptr && !once_in(4)) {
    value = generate(*place.node);
  } else if (value.is_number()) {
    const std::array<double, 6> factors{-1, 2, 0.5, 1e9, 1e-9, 0.999999};
    value = value.get<double>() * any(factors);
  } else if (value.is_string()) {
    auto text = value.get<std::string>();
    const std::size_t at = below(text.size() + 1);
    text = text.substr(0, at) + (once_in(2) ? "" : word()) + text.substr(std::min(text.size(), at + below(3)));
    value = text;
  } else {
    value = odd_value();
  }
}

void ModelMutator::change_list(const Place& place) {
  json& list = *place.value;
  const std::size_t what = list.empty() ? 3 : below(5);
  if (what == 0) {
    list.erase(below(list.size()));
  } else if (what == 1) {
    const json copy = any(list);
    list.push_back(copy);
  } else if (what == 2) {
    std::swap(list[below(list.size())], list[below(list.size())]);
  } else {
    list.push_back(place.node != nullptr && is_list(*place.node) ? generate(place.node->item[0]) : odd_value());
  }
}

void ModelMutator::change_object(const Place& place) {
  json& object = *place.value;
  const Node* node = object_of(place.node, object);
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  const std::size_t what = below(8);
  if (what == 0 && !keys.empty()) {
    object.erase(any(keys));
  } else if (what == 1 && !keys.empty()) {
    // a typing error
    const std::string key = any(keys);
    const json value = object[key];
    object.erase(key);
    object[key.substr(0, below(key.size() + 1)) + word()] = value;
  } else if (what == 2) {
    object[word()] = odd_value();
  } else if (node != nullptr && node->kind == Kind::parameters) {
    object[word()] = generate_number(spec::number());
  } else if (node != nullptr && !node->keys.empty()) {
    const spec::Key& key = any(node->keys);
    object[key.name] = generate(key.value);
  } else if (place.node != nullptr) {
    object = generate(*place.node);
  }
}

// ---- Values

json ModelMutator::generate(const Node& node, int depth) {
  switch (node.kind) {
    case Kind::number:
    case Kind::integer:
      return generate_number(node);
    case Kind::boolean:
      return once_in(2);
    case Kind::string:
      return word();
    case Kind::name: {
      std::string name(1, static_cast<char>('a' + below(26)));
      if (!once_in(4)) name += std::to_string(below(100));
      names_.push_back(name);
      return name;
    }
    case Kind::choice:
      return any(node.words).word;
    case Kind::list:
    case Kind::one_or_list: {
      json list = json::array();
      const std::size_t n = node.counts.empty() ? node.least + below(4) : any(node.counts);
      for (std::size_t i = 0; i < n; ++i) list.push_back(generate(node.item[0], depth + 1));
      return list;
    }
    case Kind::object:
      return generate_object(node, depth);
    case Kind::tagged: {
      const spec::Variant& variant = any(node.variants);
      json object = generate_object(variant.object, depth);
      object["type"] = variant.type;
      return object;
    }
    case Kind::time_function:
      if (once_in(3)) return generate_table();
      return once_in(2) ? json(number()) : json(formula(0));
    case Kind::formula:
      return once_in(2) ? json(number()) : json(formula(0));
    case Kind::reference:
      return generate_reference();
    case Kind::parameters: {
      json object = json::object();
      for (std::size_t n = below(4); n > 0; --n) object[word()] = generate_number(spec::number());
      return object;
    }
  }
  return nullptr;
}

json ModelMutator::generate_object(const Node& node, int depth) {
  json object = json::object();
  for (const spec::Key& key : node.keys)
    if (key.is_required || once_in(depth > 3 ? 8 : 3)) object[key.name] = generate(key.value, depth + 1);
  // keys that exclude each other
  for (const spec::KeyRule& rule : node.rules) {
    if (rule.kind != spec::KeyRule::Kind::exactly_one) continue;
    const auto& chosen = any(rule.alternatives);
    for (const auto& alternative : rule.alternatives)
      for (const std::string& key : alternative) object.erase(key);
    for (const std::string& name : chosen)
      if (const spec::Key* key = node.find(name)) object[name] = generate(key->value, depth + 1);
  }
  return object;
}

double ModelMutator::number() {
  constexpr double largest = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  static constexpr std::array ordinary{0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 0.1, 1e-3, 10.0, 100.0, 3.141592653589793};
  static constexpr std::array odd{largest, -largest, tiny,  -tiny,  1e-308,         1e-200,       1e-160,
                                  1e-80,   1e-20,    1e-9,  1e9,    1e20,           1e80,         1e160,
                                  -1e160,  1e200,    1e300, 1e-300, 2147483647.0,   2147483648.0, 9007199254740993.0,
                                  1e15,    1e16,     -1e9,  1e6,    1.000000000001, 0.999999999};
  return once_in(4) ? any(odd) : any(ordinary);
}

json ModelMutator::generate_number(const Node& node) {
  if (once_in(8)) return "=" + formula(0);
  double x = number();
  const bool whole = node.kind == Kind::integer;
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (x >= node.lower && x <= node.upper && (!whole || x == static_cast<double>(static_cast<long>(x)))) break;
    x = whole ? static_cast<double>(below(20)) : number();
  }
  if (whole && x >= -1e15 && x <= 1e15) return static_cast<std::int64_t>(x);
  return x;
}

json ModelMutator::generate_table() {
  json table = {{"times", json::array()}, {"values", json::array()}};
  double t = once_in(3) ? number() : 0;
  for (std::size_t n = 2 + below(4); n > 0; --n) {
    table["times"].push_back(t);
    table["values"].push_back(number());
    t += once_in(8) ? number() : 0.25;
  }
  if (once_in(2)) table["interpolation"] = once_in(2) ? "cubic" : "linear";
  return table;
}

std::string ModelMutator::generate_reference() {
  static constexpr std::array<std::string_view, 14> ends{"",        "",       ".start",    ".end", ".node.0",
                                                         ".node.1", ".nodes", ".center",   "[0]",  "[1]",
                                                         ".node.9", ".",      ".vertices", ".a"};
  std::string name = names_.empty() || once_in(8) ? "ground" : any(names_);
  return name.append(any(ends));
}

std::string ModelMutator::formula(int depth) {
  static constexpr std::array<std::string_view, 16> functions{"sin",  "sqrt", "log",  "exp",       "abs",   "floor",
                                                              "step", "tan",  "asin", "cosh",      "atan2", "min",
                                                              "max",  "pow",  "mod",  "smoothstep"};
  static constexpr std::array<std::string_view, 16> operators{"+", "-",  "*",  "/",  "^",  "<",  "<=", ">",
                                                              ">", ">=", "==", "!=", "&&", "||", "*",  "+"};
  if (depth > 4 || once_in(3)) {
    const std::size_t what = below(5);
    if (what < 2) return once_in(2) ? json(number()).dump() : std::to_string(below(10));
    if (what == 2 && !names_.empty()) return any(names_);
    return what == 3 ? "t" : "pi";
  }
  switch (below(5)) {
    case 0: {
      std::string call(any(functions));
      call += '(';
      for (std::size_t n = below(3); n > 0; --n) call += formula(depth + 1) + ",";
      return call + formula(depth + 1) + ")";
    }
    case 1:
      return "(" + formula(depth + 1) + ")";
    case 2:
      return (once_in(2) ? "-" : "!") + formula(depth + 1);
    case 3:
      return formula(depth + 1) + "?" + formula(depth + 1) + ":" + formula(depth + 1);
    default:
      return formula(depth + 1).append(any(operators)) + formula(depth + 1);
  }
}

std::string ModelMutator::word() {
  static constexpr std::array<std::string_view, 24> words{
      "",   "a",  "b",  "c",  "t",      "x",      "e",    "pi", "name", "type",   "rigid",     "/",
      "~1", "=t", "=1", "/0", "\u00e9", "ground", "$ref", ".",  "..",   "\n\t\"", "/dev/zero", "\U0001F600"};
  if (!names_.empty() && once_in(3)) return any(names_);
  if (once_in(50)) return std::string(below(300), 'x');
  return std::string(any(words));
}

json ModelMutator::odd_value() {
  switch (below(10)) {
    case 0:
      return nullptr;
    case 1:
      return once_in(2);
    case 2:
      return json::array();
    case 3:
      return json::object();
    case 4:
      return json::array({number(), word(), nullptr});
    case 5:
      return json{{word(), number()}, {"type", word()}, {"name", word()}};
    case 6:
      return word();
    case 7:
      return "=" + formula(0);
    case 8:
      return std::numeric_limits<std::int64_t>::min();
    default:
      return number();
  }
}

}  // namespace carom::fuzz
