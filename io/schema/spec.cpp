#include "io/schema/spec.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/spelling.hpp"
#include "io/schema/json_source.hpp"

namespace carom::spec {

using nlohmann::json;

namespace {

Node make(Kind kind, std::string what) {
  Node node;
  node.kind = kind;
  node.what = std::move(what);
  return node;
}

Node with_rule(const Node& from, KeyRule::Kind kind, std::vector<std::vector<std::string>> alternatives) {
  Node node = from;
  node.rules.push_back({kind, std::move(alternatives)});
  return node;
}

std::string bound(double x) {
  if (std::nearbyint(x) == x && std::abs(x) < 1e15) return std::to_string(static_cast<long long>(x));
  return json(x).dump();
}

}  // namespace

// ---- Values

Node number(std::string quantity) { return make(Kind::number, std::move(quantity)); }
Node boolean() { return make(Kind::boolean, "boolean"); }
Node string(std::string what) { return make(Kind::string, std::move(what)); }
Node name() { return make(Kind::name, "name"); }
Node time_function(std::string quantity) { return make(Kind::time_function, std::move(quantity)); }
Node variable_name(std::string what) {
  Node node = make(Kind::name, std::move(what));
  node.is_variable = true;
  return node;
}
bool is_variable_name(std::string_view text) { return Formula::is_valid_name(text) && text != "t"; }
Node formula(std::string what, Variables variables) {
  Node node = make(Kind::formula, std::move(what));
  node.variables = std::move(variables);
  return node;
}
Node parameters() { return make(Kind::parameters, "parameters"); }

Node integer(std::string what) {
  Node node = make(Kind::integer, std::move(what));
  node.lower = std::numeric_limits<int>::min();
  node.upper = std::numeric_limits<int>::max();
  return node;
}

Node choice(std::vector<Word> words) {
  Node node = make(Kind::choice, "word");
  node.words = std::move(words);
  return node;
}

Node list(std::string what, Node item) {
  Node node = make(Kind::list, std::move(what));
  node.item.push_back(std::move(item));
  return node;
}

Node one_or_list(std::string what, Node item) {
  Node node = list(std::move(what), std::move(item));
  node.kind = Kind::one_or_list;
  return node.nonempty();
}

Node vector3(const std::string& quantity) { return list(plural(quantity), number(quantity)).of_length({3}); }

Node nonzero_vector3(const std::string& quantity) {
  return vector3(quantity).with([](const json& value, std::string&) -> std::string {
    // the square of the largest entry must be finite too
    double largest = 0.0;
    for (const json& x : value) largest = std::max(largest, std::abs(x.get<double>()));
    if (largest == 0.0) return "expected a vector that is not zero, got " + brief(value);
    if (largest >= 1e-150 && largest <= 1e150) return {};
    return "expected a vector whose largest component is between 1e-150 and 1e150, got " + brief(value);
  });
}

Node object(std::string what, std::vector<Key> keys) {
  Node node = make(Kind::object, std::move(what));
  node.keys = std::move(keys);
  return node;
}

Node tagged(std::string what, std::vector<Variant> variants) {
  Node node = make(Kind::tagged, std::move(what));
  node.variants = std::move(variants);
  return node;
}

Node reference(std::string what, int target) {
  Node node = make(Kind::reference, std::move(what));
  node.target = target;
  return node;
}

Variant::Variant(std::string type_name, std::string help_line, std::vector<Key> keys)
    : type(std::move(type_name)), help(std::move(help_line)), object(spec::object(type, std::move(keys))) {}

Variant::Variant(std::string type_name, std::string help_line, Node keys)
    : type(std::move(type_name)), help(std::move(help_line)), object(std::move(keys)) {
  object.what = type;
}

// ---- Modifiers

Node Node::like(nlohmann::ordered_json example) const {
  Node node = *this;
  node.sample = std::move(example);
  return node;
}

Node Node::above(double bound) const {
  Node node = *this;
  node.lower = bound;
  node.lower_open = true;
  return node;
}

Node Node::at_least(double bound) const {
  Node node = *this;
  node.lower = bound;
  node.lower_open = false;
  return node;
}

Node Node::below(double bound) const {
  Node node = *this;
  node.upper = bound;
  node.upper_open = true;
  return node;
}

Node Node::at_most(double bound) const {
  Node node = *this;
  node.upper = bound;
  node.upper_open = false;
  return node;
}

Node Node::nonempty() const { return at_least_items(1); }

Node Node::at_least_items(std::size_t n) const {
  Node node = *this;
  node.least = n;
  return node;
}

Node Node::of_length(std::vector<std::size_t> allowed) const {
  Node node = *this;
  node.counts = std::move(allowed);
  return node;
}

Node Node::unique() const {
  Node node = *this;
  node.distinct = true;
  return node;
}

Node Node::with(Check check) const {
  Node node = *this;
  node.check_value = std::move(check);
  return node;
}

Node Node::exactly_one(std::vector<std::vector<std::string>> alternatives) const {
  return with_rule(*this, KeyRule::Kind::exactly_one, std::move(alternatives));
}

Node Node::at_most_one(std::vector<std::vector<std::string>> alternatives) const {
  return with_rule(*this, KeyRule::Kind::at_most_one, std::move(alternatives));
}

Node Node::at_least_one(std::vector<std::vector<std::string>> alternatives) const {
  return with_rule(*this, KeyRule::Kind::at_least_one, std::move(alternatives));
}

Node Node::needs(const std::string& key, const std::string& needed) const {
  return with_rule(*this, KeyRule::Kind::needs, {{key}, {needed}});
}

const Key* Node::find(std::string_view key) const {
  for (const Key& k : keys)
    if (k.name == key) return &k;
  return nullptr;
}

const Variant* Node::find_variant(std::string_view type) const {
  for (const Variant& v : variants)
    if (v.type == type) return &v;
  return nullptr;
}

// ---- Keys

Key required(std::string name, Node value, std::string help) {
  return {std::move(name), std::move(value), true, std::nullopt, std::move(help)};
}

Key optional(std::string name, Node value, std::string help) {
  return {std::move(name), std::move(value), false, std::nullopt, std::move(help)};
}

Key preset(std::string name, Node value, json default_value, std::string help) {
  return {std::move(name), std::move(value), false, std::optional<json>(std::move(default_value)), std::move(help)};
}

// ---- Words

std::string unit_of(std::string_view quantity) {
  static const std::map<std::string_view, std::string_view> units = {
      {"length", "m"},
      {"area", "m^2"},
      {"mass", "kg"},
      {"time", "s"},
      {"angle", "rad"},
      {"velocity", "m/s"},
      {"angular velocity", "rad/s"},
      {"acceleration", "m/s^2"},
      {"force", "N"},
      {"torque", "N m"},
      {"pressure", "Pa"},
      {"density", "kg/m^3"},
      {"area moment", "m^4"},
      {"force per length", "N/m"},
      {"torque per length", "N"},
      {"moment of inertia", "kg m^2"},
      {"stiffness", "N/m"},
      {"damping", "N s/m"},
      {"torsion stiffness", "N m/rad"},
      {"torsion damping", "N m s/rad"},
  };
  const auto found = units.find(quantity);
  return found == units.end() ? std::string() : std::string(found->second);
}

std::string with_article(const std::string& word) {
  const bool vowel = !word.empty() && std::string_view("aeiou").find(word[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + word;
}

std::string plural(const std::string& word) {
  if (word == "moment of inertia") return "moments of inertia";
  if (word == "body") return "bodies";
  if (word.ends_with(" per length")) return plural(word.substr(0, word.size() - 11)) + " per length";
  if (word.ends_with("ty")) return word.substr(0, word.size() - 1) + "ies";
  if (word.ends_with("mass") || word.ends_with("ness")) return word + "es";
  return word + "s";
}

std::string in_words(const std::vector<std::string>& words, const std::string& conjunction) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " " + conjunction + " " : ", ";
    out += in_quotes(words[i]);
  }
  return out;
}

std::string suggestion(std::string_view given, const std::vector<std::string>& allowed) {
  constexpr std::size_t shown = 18;
  const std::string nearest = nearest_name(given, allowed);
  if (!nearest.empty()) return "; did you mean " + in_quotes(nearest) + "?";
  if (allowed.empty() || allowed.size() > shown) return {};
  return (allowed.size() == 1 ? "; allowed is " : "; allowed are ") + in_words(allowed, "and");
}

std::string range_of(const Node& node) {
  double lower = node.lower;
  double upper = node.upper;
  if (node.kind == Kind::integer) {
    // limits of the integer type are not worth mentioning
    if (lower <= std::numeric_limits<int>::min()) lower = -std::numeric_limits<double>::infinity();
    if (upper >= std::numeric_limits<int>::max()) upper = std::numeric_limits<double>::infinity();
  }
  if (lower == upper) return "= " + bound(lower);
  if (std::isfinite(lower) && std::isfinite(upper))
    return std::string("in ") + (node.lower_open ? "(" : "[") + bound(lower) + ", " + bound(upper) +
           (node.upper_open ? ")" : "]");
  if (std::isfinite(lower)) return (node.lower_open ? "> " : ">= ") + bound(lower);
  if (std::isfinite(upper)) return (node.upper_open ? "< " : "<= ") + bound(upper);
  return {};
}

std::string describe(const Node& node) {
  const auto ranged = [](const std::string& noun, const Node& n) {
    const std::string range = range_of(n);
    return range.empty() ? noun : noun + " " + range;
  };
  switch (node.kind) {
    case Kind::number:
      return ranged(with_article(node.what), node);
    case Kind::integer:
      if (node.lower == node.upper) return bound(node.lower);
      return ranged(with_article(node.what), node);
    case Kind::boolean:
      return "true or false";
    case Kind::string:
      return with_article(node.what);
    case Kind::name:
      if (node.is_variable) return "a name of letters, digits and _ that formulas can use";
      return "a name (letters, digits, _ and -, beginning with a letter or _)";
    case Kind::choice: {
      std::vector<std::string> words;
      for (const Word& w : node.words) words.push_back(w.word);
      if (words.size() > 12) return with_article(node.what);
      return (words.size() > 2 ? "one of " : "") + in_words(words, "or");
    }
    case Kind::list:
    case Kind::one_or_list: {
      std::string out;
      if (node.counts.empty()) {
        out = (node.least < 2 ? "a list of " : "a list of at least " + std::to_string(node.least) + " ") + node.what;
        if (node.least == 1) out += ", not empty";
        if (node.kind == Kind::one_or_list) out = describe(node.item[0]) + " or " + out;
        return out;
      }
      for (std::size_t i = 0; i < node.counts.size(); ++i)
        out += (i > 0 ? " or " : "") + std::to_string(node.counts[i]);
      return "a list of " + ranged(out + " " + node.what, node.item[0]);
    }
    case Kind::object:
    case Kind::tagged:
      return "an object with the keys of " + with_article(node.what);
    case Kind::time_function:
      return with_article(node.what) + " (a number, a formula of t in a string, or an object with times and values)";
    case Kind::formula:
      return with_article(node.what) + " (a number, or a formula in a string)";
    case Kind::reference:
      return "the name of " + with_article(node.what);
    case Kind::parameters:
      return "an object of names and numbers";
  }
  return {};
}

}  // namespace carom::spec
