// Converts a file to a ModelDocument: text, --set, parameters, check along the declaration, references.

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/base/errors.hpp"
#include "core/formula/formula_names.hpp"
#include "io/model/model_document.hpp"
#include "io/model/model_spec.hpp"
#include "io/model/reference_target.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;

namespace {

constexpr std::size_t max_file_size = std::size_t{1} << 28;
constexpr std::size_t max_parameters = 1000;

// ---- --set

/// The parts of a pointer that begins with "/".
std::vector<std::string> segments_of(const std::string& pointer) {
  std::vector<std::string> segments;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    segments.push_back(unescape_pointer(std::string_view(pointer).substr(begin, end - begin)));
    begin = end + 1;
  }
  return segments;
}

/// The value as JSON, or else as text. A text that begins like JSON must be JSON; otherwise `message` gives the error.
json value_of_override(const std::string& text, std::string& message) {
  JsonSource::Result result = JsonSource(text).parse();
  if (result.errors.empty() && result.duplicates.empty()) return std::move(result.value);
  const char first = text.empty() ? '\0' : text[0];
  if (first != '{' && first != '[' && first != '"') return text;
  message = result.errors.empty() ? "the key " + result.duplicates[0].pointer + " occurs twice in the value"
                                  : "in the value at character " + std::to_string(result.errors[0].offset + 1) + ": " +
                                        result.errors[0].message;
  return {};
}

bool is_index(const std::string& segment) {
  return !segment.empty() && segment.size() < 10 && (segment == "0" || segment[0] != '0') &&
         std::all_of(segment.begin(), segment.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Sets one value. Returns the resulting pointer; after an error returns an empty text and sets `message`.
std::string set_value(json& root, const std::string& pointer, json value, std::string& message) {
  const std::vector<std::string> segments = segments_of(pointer);
  if (segments.size() > static_cast<std::size_t>(JsonSource::max_depth)) {
    message = "more than " + std::to_string(JsonSource::max_depth) + " nested levels";
    return {};
  }
  json* at = &root;
  std::string path;
  for (const std::string& segment : segments) {
    if (at->is_null()) *at = segment == "-" || is_index(segment) ? json::array() : json::object();
    if (at->is_object()) {
      at = &(*at)[segment];
    } else if (at->is_array()) {
      // an existing entry, or one more
      const std::size_t index = segment == "-" ? at->size() : is_index(segment) ? std::stoul(segment) : at->size();
      if (index >= at->size() && segment != "-") {
        const std::string last = std::to_string(at->size() - 1);
        message = at->empty() ? path + " has no entries: expected - for a new one, got " + in_quotes(segment)
                              : "expected the number of an entry of " + path + " (" + (at->size() > 1 ? "0 to " : "") +
                                    last + "), or - for a new one, got " + in_quotes(segment);
        return {};
      }
      if (segment == "-") at->push_back(nullptr);
      at = &(*at)[index];
      path += "/" + std::to_string(index);
      continue;
    } else {
      message = "there is nothing below " + path + ", which is " + brief(*at);
      return {};
    }
    path += "/" + escape_pointer(segment);
  }
  *at = std::move(value);
  return path;
}

/// Sets the values, stores the applied overrides in `source`, and returns the errors of the others.
std::vector<ModelIssue> apply_overrides(ModelSource& source, json& root, const std::vector<std::string>& overrides) {
  std::vector<ModelIssue> wrong;
  for (const std::string& text : overrides) {
    const std::size_t equals = text.find('=');
    const std::string pointer = text.substr(0, equals);
    std::string message, path;
    if (!is_utf8(text)) {
      message = "a byte that is not UTF-8";
    } else if (equals == std::string::npos || pointer.size() < 2 || pointer[0] != '/') {
      message = "expected /json/pointer=value, as in /integrator/step=1e-4";
    } else {
      json value = value_of_override(text.substr(equals + 1), message);
      if (message.empty()) path = set_value(root, pointer, std::move(value), message);
    }
    if (message.empty())
      source.overrides.push_back(path + text.substr(equals));
    else
      wrong.push_back({pointer.starts_with('/') ? pointer : "", message, 0, 0, "--set " + text});
  }
  return wrong;
}

// ---- Parameters

/// The values of the model's parameters; a parameter is computed after the parameters in its formula.
class ParameterValues {
 public:
  ParameterValues(ModelIssues& issues, const json& root) : issues_(issues) {
    if (!root.contains("parameters")) return;
    const json& object = root["parameters"];
    if (!object.is_object() || object.size() > max_parameters) {
      issues.add("/parameters", object.is_object() ? "more than " + std::to_string(max_parameters) + " parameters"
                                                   : "expected an object of names and numbers, got " + brief(object));
      return;
    }
    for (const auto& [name, value] : object.items()) {
      if (Formula::is_valid_name(name) && name != "t") {
        entries_.emplace(name, &value);
      } else {
        issues.add_at_key(pointer(name), wrong_name(name));
      }
    }
    for (const auto& [name, value] : entries_) names_.emplace(name, 0.0);
    for (const auto& [name, value] : entries_) compute(name);
  }

  Formula::Parameters values;
  Formula::Parameters broken;
  std::set<std::string> used;  ///< used by other parameters

 private:
  static std::string wrong_name(const std::string& name) {
    const std::string meaning = name == "t"                                      ? "the time"
                                : name == "e"                                    ? "Euler's number 2.718..."
                                : name == "pi"                                   ? "the number 3.141..."
                                : formula_detail::find_function(name) != nullptr ? "a function of formulas"
                                                                                 : "";
    if (meaning.empty()) return "expected a name of letters, digits and _, got " + in_quotes(name);
    return "expected another name than " + in_quotes(name) + ", " + meaning + "; reserved are t, " +
           formula_detail::reserved_names();
  }

  static std::string pointer(const std::string& name) { return "/parameters/" + escape_pointer(name); }

  void compute(const std::string& name) {
    if (values.contains(name) || broken.contains(name)) return;
    const json& value = *entries_.at(name);
    if (value.is_string() && value.get_ref<const std::string&>().starts_with('=')) {
      // compute the parameters of its formula first; a circular chain is an error of all its members
      const auto text = value.get<std::string>();
      chain_.push_back(name);
      places_.emplace(name, chain_.size() - 1);
      unbroken_.push_back(chain_.size() - 1);
      bool known = true;
      for (const std::string& other : spec::names_in_formula(text, names_)) {
        used.insert(other);
        if (const auto place = places_.find(other); place != places_.end())
          close_circle(place->second);
        else
          compute(other);
        known = known && values.contains(other);
      }
      chain_.pop_back();
      places_.erase(name);
      if (!unbroken_.empty() && unbroken_.back() == chain_.size()) unbroken_.pop_back();
      if (!known) {
        broken[name] = 0.0;
        return;
      }
    }
    spec::Outcome outcome = spec::resolve(spec::number(), value, values);
    for (const spec::Problem& problem : outcome.problems) issues_.add(pointer(name), problem.message);
    if (outcome.problems.empty())
      values[name] = outcome.value.get<double>();
    else
      broken[name] = 0.0;
  }

  /// Reports a circular chain that begins at its member `first`.
  void close_circle(std::size_t first) {
    constexpr std::size_t shown = 20;
    if (!broken.contains(chain_[first])) {
      std::string circle = "parameters refer to each other in a circle: ";
      for (std::size_t i = first; i < chain_.size() && i < first + shown; ++i) circle.append(chain_[i]).append(" -> ");
      if (chain_.size() > first + shown) circle.append("... -> ");
      issues_.add(pointer(chain_[first]), circle.append(chain_[first]));
    }
    for (; !unbroken_.empty() && unbroken_.back() >= first; unbroken_.pop_back())
      broken[chain_[unbroken_.back()]] = 0.0;
  }

  ModelIssues& issues_;
  std::map<std::string, const json*> entries_;
  Formula::Parameters names_;
  std::vector<std::string> chain_;             // parameters in computation, each needed by the one before
  std::map<std::string, std::size_t> places_;  // positions in the chain
  std::vector<std::size_t> unbroken_;          // positions of parameters that are in no circle so far
};

// ---- Resolution

/// A model's parameters, the values that result, and the parameters and references that these use.
struct Resolution {
  Resolution(ModelIssues& issues, const json& root)
      : parameters(issues, root), values(spec::resolve(model_spec(), root, parameters.values, parameters.broken)) {
    used.parameters = parameters.used;
    used.parameters.insert(values.used_parameters.begin(), values.used_parameters.end());
    for (const spec::FoundReference& reference : values.references) {
      if (target_of(reference) == Target::material) used.materials.insert(reference.text);
      if (target_of(reference) == Target::section) used.sections.insert(reference.text);
    }
  }

  ParameterValues parameters;
  spec::Outcome values;
  DefinedNames used;
};

/// The parameters that an earlier reading has inserted into the document.
json inserted_parameters(const json& root, ModelIssues& issues) {
  json numbers = json::object();
  if (!root.contains("inserted_parameters")) return numbers;
  const json& given = root["inserted_parameters"];
  const bool is_map = given.is_object() && given.size() <= max_parameters &&
                      std::all_of(given.begin(), given.end(), [](const json& value) { return value.is_number(); });
  if (is_map) return given;
  issues.add("/inserted_parameters", "expected an object of names and numbers, got " + brief(given));
  return numbers;
}

/// Adds the names of parameters in all texts of the document.
void note_names(const json& value, const Formula::Parameters& parameters, std::set<std::string>& names) {
  if (value.is_string()) names.merge(spec::names_in_formula(value.get_ref<const std::string&>(), parameters));
  if (value.is_structured())
    for (const json& inner : value) note_names(inner, parameters, names);
}

// ---- Text

/// True for names of descriptors that the process has at its start: standard input, or the pipe of a shell's
/// <(command).
bool is_descriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

std::string read_text(const std::string& path) {
  const std::string failure = "cannot read " + (path.empty() ? "\"\"" : printable(path)) + ": ";
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) throw FileError(failure + "it is a directory");
  // reading from a named pipe or a device may never end
  const bool has_bytes = std::filesystem::is_regular_file(status) || is_descriptor(path);
  if (std::filesystem::exists(status) && !has_bytes) throw FileError(failure + "it is no regular file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError(failure + (errno != 0 ? std::strerror(errno) : "unknown reason"));

  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > max_file_size) throw FileError(failure + "it is larger than 256 MB");
  }
  if (file.bad()) throw FileError(failure + "the disk or device failed");
  return text;
}

// The default of `constraint_tolerance` (integrator_keys.cpp). Rows of places of piles contradict each other by more
// than 1e-11, which costs much time; other models have no such rows.
void complete_tolerance(json& model) {
  constexpr std::size_t many_spheres = 50;
  const json::json_pointer newton("/integrator/newton"), tolerance = newton / "constraint_tolerance";
  if (!model.contains(newton) || !model[newton].is_object() || model.contains(tolerance)) return;
  std::size_t spheres = 0;
  for (const json& contact : model.contains("contacts") ? model["contacts"] : json::array())
    if (contact.is_object() && contact.contains("between") && contact["between"].is_array() &&
        contact.contains("friction") && contact["friction"].is_number() && contact["friction"].get<double>() > 0)
      spheres += contact["between"].size();
  model[tolerance] = spheres >= many_spheres ? 1e-6 : 1e-11;
}

}  // namespace

// ---- ModelSource, ModelIssues, ModelDocument

ModelIssue ModelSource::locate(const std::string& pointer, bool at_key) const {
  ModelIssue place;
  for (auto i = overrides.rbegin(); i != overrides.rend(); ++i) {
    const std::string set = i->substr(0, i->find('='));
    // below a value set by --set, or on the path to a value that the file does not contain
    const bool is_new = set.starts_with(pointer + "/") && text && !text->has(pointer);
    if (pointer == set || pointer.starts_with(set + "/") || is_new) {
      place.origin = "--set " + *i;
      return place;
    }
  }
  place.origin = file;
  if (text) {
    const JsonSource::Place found = text->place(pointer, at_key);
    place.line = found.line;
    place.column = found.column;
  }
  return place;
}

void ModelIssues::add_at(const std::string& pointer, const std::string& message, bool at_key) {
  ModelIssue issue = source_.locate(pointer, at_key);
  issue.pointer = pointer;
  issue.message = message;
  add(std::move(issue));
}

ModelDocument::ModelDocument(json resolved, ModelIssues issues)
    : resolved_(std::make_shared<const json>(std::move(resolved))), issues_(std::move(issues)) {}

std::map<std::string, double, std::less<>> ModelDocument::parameters() const {
  std::map<std::string, double, std::less<>> values;
  if (!resolved_->is_object() || !resolved_->contains("parameters")) return values;
  for (const auto& [name, value] : (*resolved_)["parameters"].items())
    if (value.is_number()) values[name] = value.get<double>();
  return values;
}

std::string ModelIssues::report(std::size_t terminal_width) const {
  if (empty()) return {};
  constexpr std::size_t most = 100;

  // sort in the order of the file; errors in values of --set come last
  std::vector<const ModelIssue*> sorted;
  for (const ModelIssue& issue : issues_) sorted.push_back(&issue);
  std::stable_sort(sorted.begin(), sorted.end(), [](const ModelIssue* a, const ModelIssue* b) {
    if ((a->line == 0) != (b->line == 0)) return b->line == 0;
    return std::pair(a->line, a->column) < std::pair(b->line, b->column);
  });

  std::string out, section;
  bool has_pointer = false;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const ModelIssue& issue = *sorted[i];
    if (!issue.pointer.empty()) {
      has_pointer = true;
      const std::string first = issue.pointer.substr(1, issue.pointer.find('/', 1) - 1);
      if (section.empty() && model_spec().find(first) != nullptr) section = " /" + first;
    }
    if (i >= most) continue;
    out += printable(issue.origin, 200);
    if (issue.line > 0) out += ":" + std::to_string(issue.line) + ":" + std::to_string(issue.column);
    out += ": error" + (issue.pointer.empty() ? "" : " at " + printable(issue.pointer, 200)) + ": " +
           printable(issue.message);
    out += '\n';
    if (terminal_width > 0 && issue.line > 0 && source_.text)
      out += source_.text->excerpt({issue.line, issue.column}, terminal_width);
  }
  if (sorted.size() > most) out += "... and " + std::to_string(sorted.size() - most) + " more\n";
  out += std::to_string(size()) + (size() == 1 ? " error." : " errors.");
  if (has_pointer || source_.is_json) out += " See: carom schema" + section;
  return out + '\n';
}

// ---- Reading

ModelDocument parse_model(std::string text, const std::string& file_name, const std::vector<std::string>& overrides) {
  // read the text
  ModelSource source{file_name, std::make_shared<const JsonSource>(std::move(text)), false, {}};
  JsonSource::Result parsed = source.text->parse();
  if (!parsed.errors.empty()) {
    const JsonError& error = parsed.errors[0];
    const JsonSource::Place place = source.text->place(error.offset);
    ModelIssues issues(std::move(source));
    issues.add({"", error.message, place.line, place.column, file_name});
    return {json::object(), std::move(issues)};
  }
  source.is_json = true;
  json& root = parsed.value;
  const json written = overrides.empty() ? json() : root;
  const bool is_object = root.is_object();
  std::vector<ModelIssue> wrong;
  if (is_object) wrong = apply_overrides(source, root, overrides);

  ModelIssues issues(std::move(source));
  const JsonSource& places = *issues.source().text;
  for (const JsonDuplicate& duplicate : parsed.duplicates) {
    const JsonSource::Place place = places.place(duplicate.offset);
    issues.add({duplicate.pointer,
                "this key occurs a second time; it is first in line " +
                    std::to_string(places.place(duplicate.pointer, true).line),
                place.line, place.column, file_name});
  }
  if (!is_object) {
    issues.add("", "expected an object with the keys of a model, got " + brief(root));
    return {json::object(), std::move(issues)};
  }
  for (ModelIssue& issue : wrong) issues.add(std::move(issue));

  // resolve the values
  Resolution resolution(issues, root);
  for (const spec::Problem& problem : resolution.values.problems) {
    if (problem.at_key)
      issues.add_at_key(problem.pointer, problem.message);
    else
      issues.add(problem.pointer, problem.message);
  }
  json resolved = std::move(resolution.values.value);
  resolved.erase("$schema");  // serves editors only, and is relative to this file

  // The parameters that formulas of t need stay parameters. The others are in the values by now; they are listed for
  // programs that read the document.
  std::set<std::string> defined;
  json kept = json::object(), inserted = inserted_parameters(root, issues);
  for (const auto& [name, value] : resolution.parameters.values) {
    defined.insert(name);
    const bool stays = resolution.values.time_parameters.contains(name);
    (stays ? kept : inserted)[name] = value;
    if (stays) inserted.erase(name);
  }
  resolved["parameters"] = std::move(kept);
  resolved.erase("inserted_parameters");
  if (!inserted.empty()) resolved["inserted_parameters"] = std::move(inserted);

  // a parameter that the file uses is not an error, even if --set removed its use
  if (!overrides.empty()) {
    ModelIssues ignored;
    DefinedNames more = Resolution(ignored, written).used;
    resolution.used.parameters.merge(more.parameters);
    resolution.used.materials.merge(more.materials);
    resolution.used.sections.merge(more.sections);
  }
  // neither is a parameter in a part that the reader did not visit, for instance below an unknown key
  if (!issues.empty()) note_names(root, resolution.parameters.values, resolution.used.parameters);
  check_references(resolved, resolution.values.references, defined, resolution.used, issues);
  complete_tolerance(resolved);
  return {std::move(resolved), std::move(issues)};
}

ModelDocument load_model(const std::string& path, const std::vector<std::string>& overrides) {
  return parse_model(read_text(path), path, overrides);
}

}  // namespace carom
