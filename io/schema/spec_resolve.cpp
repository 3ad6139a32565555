// Checks and completes a document according to its declaration.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/formula/formula_names.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"

namespace carom::spec {

using nlohmann::json;

namespace {

bool is_identifier_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::size_t longest_name = 100;

bool is_name(std::string_view s) {
  if (s.empty() || !is_identifier_start(s[0])) return false;
  return std::all_of(s.begin(), s.end(), [](char c) { return is_identifier_start(c) || is_digit(c) || c == '-'; });
}

/// Number of keys of an alternative that `value` has.
std::size_t given_keys(const json& value, const std::vector<std::string>& alternative) {
  return static_cast<std::size_t>(std::count_if(alternative.begin(), alternative.end(),
                                                [&](const std::string& key) { return value.contains(key); }));
}

class Walk {
 public:
  Walk(const Formula::Parameters& parameters, const Formula::Parameters& broken, Outcome& outcome)
      : parameters_(parameters), broken_(broken), outcome_(outcome) {}

  json visit(const Node& node, const json& in, const std::string& pointer) {
    const std::size_t before = failures();
    json out = value_of(node, in, pointer);
    if (failures() == before) check_rule(node, out, pointer);
    return out;
  }

 private:
  void complain(const std::string& pointer, std::string message, bool at_key = false) {
    outcome_.problems.push_back({pointer, std::move(message), at_key});
  }

  /// Number of wrong values, both reported and already known.
  std::size_t failures() const { return outcome_.problems.size() + passed_over_; }

  void check_rule(const Node& node, const json& value, const std::string& pointer) {
    if (!node.check_value) return;
    std::string where;
    const std::string message = node.check_value(value, where);
    if (!message.empty()) complain(pointer + where, message);
  }

  json mismatch(const Node& node, const json& in, const std::string& pointer) {
    complain(pointer, "expected " + describe(node) + ", got " + brief(in));
    return in;
  }

  json value_of(const Node& node, const json& in, const std::string& pointer) {
    switch (node.kind) {
      case Kind::number:
      case Kind::integer:
        return visit_number(node, in, pointer);
      case Kind::boolean:
        return in.is_boolean() ? in : mismatch(node, in, pointer);
      case Kind::string:
        return in.is_string() ? in : mismatch(node, in, pointer);
      case Kind::name:
        if (node.is_variable) return visit_variable_name(node, in, pointer);
        if (in.is_string() && is_name(in.get_ref<const std::string&>())) {
          if (in.get_ref<const std::string&>().size() > longest_name)
            complain(pointer,
                     "expected a name of at most " + std::to_string(longest_name) + " characters, got " + brief(in));
          return in;
        }
        return mismatch(node, in, pointer);
      case Kind::choice:
        return visit_choice(node, in, pointer);
      case Kind::list:
      case Kind::one_or_list:
        return visit_list(node, in, pointer);
      case Kind::object:
        return visit_object(node, in, pointer, "");
      case Kind::tagged:
        return visit_tagged(node, in, pointer);
      case Kind::time_function:
        return visit_time_function(node, in, pointer);
      case Kind::formula:
        return visit_formula(node, in, pointer);
      case Kind::reference:
        if (!in.is_string()) return mismatch(node, in, pointer);
        outcome_.references.push_back({pointer, in.get<std::string>(), node.target});
        return in;
      case Kind::parameters:
        return in;
    }
    return in;
  }

  // -- Numbers and formulas

  /// Records the parameters of a formula; false if a parameter is broken.
  bool note_names(const std::string& text, bool of_time) {
    for (const std::string& name : names_in_formula(text, parameters_)) {
      outcome_.used_parameters.insert(name);
      if (of_time) outcome_.time_parameters.insert(name);
    }
    const std::set<std::string> broken = names_in_formula(text, broken_);
    outcome_.used_parameters.insert(broken.begin(), broken.end());
    if (!broken.empty()) ++passed_over_;
    return broken.empty();
  }

  /// The formula with only the parameters that it names, because Formula checks all given parameters; if the formula is
  /// wrong, with all parameters for the message. Throws FormulaError.
  Formula make_formula(std::string_view text, const std::vector<std::string>& variables) const {
    Formula::Parameters named;
    for (const std::string& name : names_in_formula(text, parameters_)) named.emplace(name, parameters_.at(name));
    try {
      return {text, variables, named};
    } catch (const FormulaError&) {
      return {text, variables, parameters_};
    }
  }

  /// Evaluates "=..."; nullopt, after an error message, if the formula has no value.
  std::optional<double> evaluate(const std::string& text, const std::string& pointer, bool of_time) {
    if (!note_names(text, false)) return std::nullopt;
    try {
      return make_formula(std::string_view(text).substr(1), {}).value(std::span<const double>());
    } catch (const FormulaError& error) {
      // the '=' does not belong to the formula
      std::string message = formula_message(text, error.offset() + 1, error);
      if (message.find("unknown name 't';") != std::string::npos) {
        message.resize(message.rfind(';'));
        message += of_time ? "; a formula of t is written without '='" : "; this number cannot depend on time";
      }
      complain(pointer, message);
    }
    return std::nullopt;
  }

  static std::string formula_message(const std::string& text, std::size_t offset, const FormulaError& error) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    const auto before = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
    return "in " + in_quotes(text) + " at character " +
           std::to_string(std::count_if(text.begin(), before, begins) + 1) + ": " + error.message();
  }

  json visit_number(const Node& node, const json& in, const std::string& pointer, bool of_time = false) {
    json value = in;
    std::string origin;
    if (in.is_string() && in.get_ref<const std::string&>().starts_with('=')) {
      const auto result = evaluate(in.get<std::string>(), pointer, of_time);
      if (!result) return in;
      value = *result;
      origin = " from " + brief(in);
      if (!std::isfinite(*result)) {
        complain(pointer, "expected " + describe(node) + ", got no finite number" + origin);
        return in;
      }
    }
    if (!value.is_number()) return mismatch(node, in, pointer);

    // check the range; integers may be written as 8.0
    const auto x = value.get<double>();
    bool valid =
        (node.lower_open ? x > node.lower : x >= node.lower) && (node.upper_open ? x < node.upper : x <= node.upper);
    if (node.kind == Kind::integer) valid = valid && std::nearbyint(x) == x;
    if (!valid) {
      // limits of the type that describe() leaves out
      constexpr double largest = std::numeric_limits<int>::max();
      const std::string limit = node.kind != Kind::integer || node.upper < largest ? ""
                                : x > largest                                      ? " and <= 2147483647"
                                : x < -largest && node.lower < -largest            ? " and >= -2147483648"
                                                                                   : "";
      complain(pointer, "expected " + describe(node) + limit + ", got " + brief(value) + origin);
      return in;
    }
    if (node.kind == Kind::integer && !value.is_number_integer()) return static_cast<std::int64_t>(x);
    return value;
  }

  json visit_formula(const Node& node, const json& in, const std::string& pointer) {
    if (in.is_number()) return visit_number(number(node.what), in, pointer);
    if (!in.is_string()) return mismatch(node, in, pointer);
    const auto& text = in.get_ref<const std::string&>();
    if (text.starts_with('=')) return visit_number(number(node.what), in, pointer);

    const bool readable = note_names(text, true);
    const auto variables = owner_ == nullptr ? std::nullopt : node.variables(*owner_);
    const auto is_taken = [&](const std::string& name) { return parameters_.contains(name) || broken_.contains(name); };
    if (!variables || std::any_of(variables->begin(), variables->end(), is_taken)) {
      ++passed_over_;
      return in;
    }
    if (!readable) return in;
    try {
      make_formula(text, *variables);
    } catch (const FormulaError& error) {
      complain(pointer, formula_message(text, error.offset(), error));
    }
    return in;
  }

  json visit_variable_name(const Node& node, const json& in, const std::string& pointer) {
    if (!in.is_string()) return mismatch(node, in, pointer);
    const auto& name = in.get_ref<const std::string&>();
    if (name == "t" || formula_detail::find_function(name) != nullptr ||
        formula_detail::find_constant(name) != nullptr) {
      complain(pointer, "expected another name than " + brief(in) + ", which formulas know as " +
                            (name == "t"                                      ? "the time"
                             : formula_detail::find_function(name) != nullptr ? "a function"
                                                                              : "a constant"));
    } else if (!is_variable_name(name) || name.size() > longest_name) {
      return mismatch(node, in, pointer);
    } else if (parameters_.contains(name) || broken_.contains(name)) {
      complain(pointer, "expected another name than " + brief(in) + ", which is a parameter");
    }
    return in;
  }

  json visit_time_function(const Node& node, const json& in, const std::string& pointer) {
    if (in.is_number()) return visit_number(number(node.what), in, pointer);
    if (in.is_object()) return visit(time_table(node.what), in, pointer);
    if (!in.is_string()) return mismatch(node, in, pointer);
    const auto& text = in.get_ref<const std::string&>();
    if (text.starts_with('=')) return visit_number(number(node.what), in, pointer, true);

    if (!note_names(text, true)) return in;
    try {
      make_formula(text, {"t"});
    } catch (const FormulaError& error) {
      complain(pointer, formula_message(text, error.offset(), error));
    }
    return in;
  }

  // -- Words, lists

  json visit_choice(const Node& node, const json& in, const std::string& pointer) {
    std::vector<std::string> words;
    for (const Word& w : node.words) {
      if (in.is_string() && in.get_ref<const std::string&>() == w.word) return in;
      words.push_back(w.word);
    }
    if (!in.is_string()) return mismatch(node, in, pointer);
    const std::string nearest = suggestion(in.get_ref<const std::string&>(), words);
    // long lists are not shown
    const bool is_long = describe(node).find(in_quotes(words[0])) == std::string::npos;
    complain(pointer, "expected " + describe(node) + ", got " + brief(in) +
                          (nearest.starts_with("; did") ? nearest
                           : is_long                    ? "; see: carom schema " + pointer
                                                        : std::string()));
    return in;
  }

  json visit_list(const Node& node, const json& in, const std::string& pointer) {
    const Node& item = node.item[0];
    if (node.kind == Kind::one_or_list && in.is_string()) return json::array({visit(item, in, pointer)});
    if (!in.is_array()) return mismatch(node, in, pointer);

    const bool right_length = node.counts.empty()
                                  ? in.size() >= node.least
                                  : std::find(node.counts.begin(), node.counts.end(), in.size()) != node.counts.end();
    if (!right_length) return mismatch(node, in, pointer);

    json out = json::array();
    for (std::size_t i = 0; i < in.size(); ++i) out.push_back(visit(item, in[i], pointer + "/" + std::to_string(i)));

    // no repeated name and, if the list must be distinct, no repeated value
    std::map<std::string, std::size_t> names;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::string here = pointer + "/" + std::to_string(i);
      if (node.distinct && in[i].is_string()) {
        const auto [first, is_new] = names.emplace(in[i].get<std::string>(), i);
        if (!is_new) complain(here, in_quotes(first->first) + " occurs twice in this list");
      } else if (in[i].is_object() && in[i].contains("name") && in[i]["name"].is_string()) {
        const auto [first, is_new] = names.emplace(in[i]["name"].get<std::string>(), i);
        if (!is_new)
          complain(here + "/name", "the name " + in_quotes(first->first) + " is already taken by " + pointer + "/" +
                                       std::to_string(first->second));
      }
    }
    return out;
  }

  // -- Objects

  json visit_tagged(const Node& node, const json& in, const std::string& pointer) {
    if (!in.is_object()) return mismatch(node, in, pointer);
    std::vector<std::string> types;
    for (const Variant& v : node.variants) types.push_back(v.type);
    const std::string allowed = (types.size() > 1 ? "one of " : "") + in_words(types, "or");
    if (!in.contains("type")) {
      complain(pointer, "missing key \"type\": expected " + allowed);
      return in;
    }
    const json& type = in["type"];
    const Variant* variant = type.is_string() ? node.find_variant(type.get_ref<const std::string&>()) : nullptr;
    if (variant == nullptr) {
      const std::string nearest = type.is_string() ? suggestion(type.get_ref<const std::string&>(), types) : "";
      complain(pointer + "/type",
               "expected " + allowed + ", got " + brief(type) + (nearest.starts_with("; did") ? nearest : ""));
      return in;
    }
    const std::size_t before = failures();
    const json* const outer = std::exchange(owner_, &in);
    json out = visit_object(variant->object, in, pointer, variant->type);
    owner_ = outer;
    if (failures() == before) check_rule(variant->object, out, pointer);
    return out;
  }

  json visit_object(const Node& node, const json& in, const std::string& pointer, const std::string& type) {
    if (!in.is_object()) return mismatch(node, in, pointer);
    json out = json::object();
    if (!type.empty()) out["type"] = type;

    // unknown keys
    std::vector<std::string> names;
    for (const Key& key : node.keys) names.push_back(key.name);
    if (!type.empty()) names.emplace_back("type");
    for (const auto& [key, value] : in.items()) {
      if (std::find(names.begin(), names.end(), key) != names.end()) continue;
      complain(pointer + "/" + escape_pointer(key),
               "unknown key " + in_quotes(key) + (type.empty() ? "" : " of type " + in_quotes(type)) +
                   suggestion(key, names),
               true);
    }

    // The keys in the order of declaration. A missing key and an unknown key are often the same mistake, but both are
    // reported.
    for (const Key& key : node.keys) {
      const std::string here = pointer + "/" + escape_pointer(key.name);
      if (in.contains(key.name)) {
        out[key.name] = visit(key.value, in[key.name], here);
      } else if (key.is_required) {
        complain(pointer, "missing key " + in_quotes(key.name) + ": expected " + describe(key.value));
      } else if (key.preset) {
        out[key.name] = visit(key.value, *key.preset, here);
      }
    }
    for (const KeyRule& rule : node.rules) apply(rule, in, pointer);
    return out;
  }

  void apply(const KeyRule& rule, const json& in, const std::string& pointer) {
    if (rule.kind == KeyRule::Kind::needs) {
      if (given_keys(in, rule.alternatives[0]) > 0 && given_keys(in, rule.alternatives[1]) == 0)
        complain(pointer + "/" + rule.alternatives[0][0],
                 in_words(rule.alternatives[0], "and") + " needs the key " + in_words(rule.alternatives[1], "and"),
                 true);
      return;
    }

    // find begun alternatives and their missing keys
    std::vector<std::string> names, begun;
    std::string missing;
    for (const auto& alternative : rule.alternatives) {
      const std::string words = in_words(alternative, "and");
      names.push_back(alternative.size() > 1 ? "(" + words + ")" : words);
      const std::size_t given = given_keys(in, alternative);
      if (given == 0) continue;
      // if an alternative is incomplete, use only the given keys
      std::vector<std::string> present;
      for (const std::string& key : alternative)
        if (in.contains(key)) present.push_back(key);
      begun.push_back(given == alternative.size() ? names.back() : in_words(present, "and"));
      if (given == alternative.size()) continue;
      for (const std::string& key : alternative)
        if (!in.contains(key)) missing += (missing.empty() ? "missing key " : ", ") + in_quotes(key);
      missing += ": the keys " + words + " belong together";
    }
    const auto joined = [](const std::vector<std::string>& words, const std::string& conjunction) {
      std::string out;
      for (std::size_t i = 0; i < words.size(); ++i)
        out += (i == 0 ? "" : i + 1 == words.size() ? " " + conjunction + " " : ", ") + words[i];
      return out;
    };
    const bool several = rule.kind != KeyRule::Kind::at_least_one && begun.size() > 1;
    const bool none = rule.kind != KeyRule::Kind::at_most_one && begun.empty();
    if (several || none) {
      const std::string how_many = rule.kind == KeyRule::Kind::at_most_one    ? "at most one"
                                   : rule.kind == KeyRule::Kind::at_least_one ? "at least one"
                                                                              : "exactly one";
      complain(pointer, "expected " + (names.size() == 1 ? "the key " : how_many + " of the keys ") +
                            joined(names, "and") + ", got " + (none ? std::string("none") : joined(begun, "and")));
    } else if (!missing.empty()) {
      complain(pointer, missing);
    }
  }

  const Formula::Parameters& parameters_;
  const Formula::Parameters& broken_;
  Outcome& outcome_;
  const json* owner_ = nullptr;  // the innermost tagged object
  std::size_t passed_over_ = 0;  // number of formulas with broken parameters or unknown variables
};

}  // namespace

Node time_table(const std::string& quantity) {
  return object("function of time",
                {required("times", list("times", number("time")).at_least_items(2), "ascending times"),
                 required("values", list(plural(quantity), number(quantity)).at_least_items(2), "the values then"),
                 preset("interpolation", choice({{"linear", "straight lines"}, {"cubic", "a natural cubic spline"}}),
                        "linear", "between the times; the first and last value hold outside")})
      .with([](const json& value, std::string& where) -> std::string {
        const json& times = value["times"];
        if (times.size() != value["values"].size())
          return "expected as many values as times, got " + std::to_string(times.size()) + " times and " +
                 std::to_string(value["values"].size()) + " values";
        for (std::size_t i = 1; i < times.size(); ++i) {
          if (times[i].get<double>() > times[i - 1].get<double>()) continue;
          where = "/times/" + std::to_string(i);
          return "expected a time later than the one before, " + brief(times[i - 1]) + ", got " + brief(times[i]);
        }
        return {};
      });
}

Outcome resolve(const Node& node, const json& document, const Formula::Parameters& parameters,
                const Formula::Parameters& broken) {
  Outcome outcome;
  outcome.value = Walk(parameters, broken, outcome).visit(node, document, "");
  return outcome;
}

std::set<std::string> names_in_formula(std::string_view text, const Formula::Parameters& parameters) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (is_digit(text[i]) || text[i] == '.') {
      // a number with its exponent
      while (i < text.size() && (is_digit(text[i]) || text[i] == '.')) ++i;
      if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        const std::size_t sign = text[i + 1] == '+' || text[i + 1] == '-' ? 1 : 0;
        if (i + 1 + sign < text.size() && is_digit(text[i + 1 + sign])) i += 1 + sign;
        while (i < text.size() && is_digit(text[i])) ++i;
      }
    } else if (is_identifier_start(text[i])) {
      while (i < text.size() && (is_identifier_start(text[i]) || is_digit(text[i]))) ++i;
      const auto found = parameters.find(text.substr(begin, i - begin));
      if (found != parameters.end()) names.insert(found->first);
    } else {
      ++i;
    }
  }
  return names;
}

}  // namespace carom::spec
