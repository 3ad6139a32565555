// Declarations of the contents of a JSON document, and one function that checks and completes a document against them.
//
//   Node section = tagged("section", {
//       {"circle", "a full disk", {required("radius", number("length").above(0), "radius of the section")}},
//   });
//
// One line per key: name, value (quantity, range), default and a sentence of help. Validation, messages, JSON Schema
// (json_schema.cpp) and manual (manual.cpp) follow from the declaration. Quantities are words ("length", "mass"),
// because messages use them; unit_of() gives the SI unit.
//
// Every number may also be a string "=formula" of the parameters. Declarations have few levels; deeper documents are
// errors before the check.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/formula/formula.hpp"

namespace carom::spec {

enum class Kind {
  number,
  integer,
  boolean,
  string,
  name,
  choice,
  list,
  one_or_list,
  object,
  tagged,
  time_function,
  formula,
  reference,
  parameters
};

/// A word of a choice.
struct Word {
  std::string word, help;
};

struct Key;
struct Variant;

/// Keys that depend on each other. Each alternative is a set of keys that belong together.
struct KeyRule {
  enum class Kind { exactly_one, at_most_one, at_least_one, needs };
  Kind kind;
  std::vector<std::vector<std::string>> alternatives;  ///< for `needs`: {{key}, {needed}}
};

/// A rule for a value beyond keys and ranges: returns an empty text or the error message, and may set `where` to a
/// pointer below the value ("/normal"). Called only for values without other errors.
using Check = std::function<std::string(const nlohmann::json& value, std::string& where)>;

/// The variables of a formula, from the innermost tagged object around the formula, whose keys may be missing or wrong;
/// nullopt if they cannot be read, for which another message gives the reason.
using Variables = std::function<std::optional<std::vector<std::string>>(const nlohmann::json& owner)>;

/// A value of a document.
struct Node {
  Kind kind = Kind::string;
  std::string what;  ///< quantity of a number, noun of any other value: "length", "body"
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool lower_open = false, upper_open = false;
  std::vector<Word> words;          // choice
  std::vector<Node> item;           // lists: one entry
  std::vector<std::size_t> counts;  // lists: allowed lengths; empty: any length >= `least`
  std::size_t least = 0;            // lists
  bool distinct = false;            // lists: no repeated values
  std::vector<Key> keys;            // object
  std::vector<KeyRule> rules;       // object
  std::vector<Variant> variants;    // tagged
  int target = 0;                   // reference: see reference()
  Variables variables;              // formula
  bool is_variable = false;         // name: of a variable of formulas
  nlohmann::ordered_json sample;    // for examples; null: see documentation.hpp
  Check check_value;

  // Ranges.
  Node above(double bound) const;
  Node at_least(double bound) const;
  Node below(double bound) const;
  Node at_most(double bound) const;
  // Lists.
  Node nonempty() const;
  Node at_least_items(std::size_t n) const;
  Node of_length(std::vector<std::size_t> allowed) const;
  Node unique() const;
  // Everything.
  Node with(Check check) const;
  Node like(nlohmann::ordered_json example) const;
  Node exactly_one(std::vector<std::vector<std::string>> alternatives) const;
  Node at_most_one(std::vector<std::vector<std::string>> alternatives) const;
  Node at_least_one(std::vector<std::vector<std::string>> alternatives) const;
  Node needs(const std::string& key, const std::string& needed) const;

  const Key* find(std::string_view key) const;
  const Variant* find_variant(std::string_view type) const;
};

/// A key of an object.
struct Key {
  std::string name;
  Node value;
  bool is_required = false;
  std::optional<nlohmann::json> preset;
  std::string help;
};

/// A type of a tagged object; `object` contains all keys except "type".
struct Variant {
  Variant(std::string type_name, std::string help_line, std::vector<Key> keys);
  Variant(std::string type_name, std::string help_line, Node keys);
  std::string type, help;
  Node object;
};

// Values. A quantity is a word; see unit_of().
Node number(std::string quantity = "number");
Node integer(std::string what = "integer");
Node boolean();
Node string(std::string what = "string");
Node name();
Node choice(std::vector<Word> words);
Node list(std::string what, Node item);
Node one_or_list(std::string what, Node item);
Node vector3(const std::string& quantity);
Node nonzero_vector3(const std::string& quantity);
Node object(std::string what, std::vector<Key> keys);
Node tagged(std::string what, std::vector<Variant> variants);
Node time_function(std::string quantity);
/// A number, or a formula of the variables and of parameters in a string.
Node formula(std::string what, Variables variables);
/// The name of a variable of formulas: neither reserved nor that of a parameter.
Node variable_name(std::string what);
/// Whether a text may be such a name, but for parameters.
bool is_variable_name(std::string_view text);
/// A string that names an object. target: a number of the caller for the kind of object. resolve() returns the
/// reference with this number, and the caller checks the reference.
Node reference(std::string what, int target);
Node parameters();
/// The object form of a function of time.
Node time_table(const std::string& quantity);

// Keys.
Key required(std::string name, Node value, std::string help);
Key optional(std::string name, Node value, std::string help);
Key preset(std::string name, Node value, nlohmann::json default_value, std::string help);

/// The SI unit of a quantity: "m" for "length"; empty if the quantity has no unit.
std::string unit_of(std::string_view quantity);
/// "a length > 0", "3 velocities", "one of "x", "y", "z"", "a list of points".
std::string describe(const Node& node);
/// "> 0", "in [0, 1)", or empty.
std::string range_of(const Node& node);
/// "a" or "an" and the word; its plural.
std::string with_article(const std::string& word);
std::string plural(const std::string& word);
/// "x", "y" and "z", each in double quotes.
std::string in_words(const std::vector<std::string>& words, const std::string& conjunction);
/// "; did you mean "x"?", or the allowed names if no name is near.
std::string suggestion(std::string_view given, const std::vector<std::string>& allowed);

/// An error at a place of the document.
struct Problem {
  std::string pointer, message;
  bool at_key = false;
};

/// A string that names an object.
struct FoundReference {
  std::string pointer, text;
  int target;  ///< target of the reference's node
};

/// The result of checking a document.
struct Outcome {
  nlohmann::json value;  ///< the completed document
  std::vector<Problem> problems;
  std::vector<FoundReference> references;
  std::set<std::string> used_parameters;  ///< parameters in any formula
  std::set<std::string> time_parameters;  ///< parameters in formulas of t or of other variables
};

/// Checks and completes `document`. parameters: values for formulas. Formulas with a `broken` parameter are skipped,
/// because the error of the parameter has already been reported.
Outcome resolve(const Node& node, const nlohmann::json& document, const Formula::Parameters& parameters,
                const Formula::Parameters& broken = {});

/// The names in a formula that are in `parameters`.
std::set<std::string> names_in_formula(std::string_view text, const Formula::Parameters& parameters);

}  // namespace carom::spec
