#include "io/studies/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/model/types/registry.hpp"
#include "io/schema/json_source.hpp"
#include "io/schema/spec.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// A value as in --set: JSON, or else a text.
json value_of_word(const std::string& text, const std::string& option) {
  JsonSource::Result result = JsonSource(text).parse();
  if (result.errors.empty() && result.duplicates.empty()) return std::move(result.value);
  const char first = text.empty() ? '\0' : text[0];
  if (first == '{' || first == '[' || first == '"')
    throw StudyError(fmt::format("{}: expected a value, got {}", option, in_quotes(text)));
  return text;
}

/// True if the model file or --set gives the value at the pointer.
bool is_written(const ModelSource& source, const std::string& pointer) {
  bool written = source.text != nullptr && source.text->has(pointer);
  for (const std::string& set : source.overrides) {
    const std::size_t equals = set.find('=');
    const std::string place = set.substr(0, equals);
    if (place == pointer || place.starts_with(pointer + "/")) written = true;
    if (!pointer.starts_with(place + "/")) continue;
    // a value above is replaced as a whole
    const json above = JsonSource(set.substr(equals + 1)).parse().value;
    written = above.is_object() && above.contains(json::json_pointer(pointer.substr(place.size())));
  }
  return written;
}

/// Copies the written keys that the declaration has.
void take_over(const spec::Node& node, const json& own, const ModelSource& source, const std::string& pointer,
               json& section) {
  for (const spec::Key& key : node.keys) {
    const std::string place = pointer + "/" + escape_pointer(key.name);
    if (!own.contains(key.name) || !is_written(source, place)) continue;
    if (key.value.keys.empty()) {
      section[key.name] = own[key.name];
    } else if (own[key.name].is_object()) {
      section[key.name] = json::object();
      take_over(key.value, own[key.name], source, place, section[key.name]);
    }
  }
}

constexpr std::string_view own_section = "/integrator/";

bool is_label(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 ||
           std::string_view("_-.+ *'()").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

MethodChoice method_choice(const std::string& text, const std::string& option) {
  const std::vector<std::string> parts = split_words(text, ':');
  MethodChoice out;
  const std::size_t equals = parts[0].find('=');
  out.type = parts[0].substr(equals == std::string::npos ? 0 : equals + 1);
  out.label = equals == std::string::npos ? text : parts[0].substr(0, equals);
  if (equals != std::string::npos && !is_label(out.label))
    throw StudyError(fmt::format("{}: expected a label of letters, digits and _-.+ before the sign =, got {}", option,
                                 in_quotes(out.label)));
  std::vector<std::string> types;
  const IntegratorType* type = nullptr;
  for (const IntegratorType& kind : integrator_types()) {
    if (kind.info.dynamic) types.push_back(kind.type);
    if (kind.type == out.type) type = &kind;
  }
  if (out.type.empty())
    throw StudyError(fmt::format("{}: expected a method, as in {}, got {}", option, types.front(), in_quotes(text)));
  if (type == nullptr)
    throw StudyError(
        fmt::format("{}: no integrator {}{}", option, in_quotes(out.type), spec::suggestion(out.type, types)));
  if (!type->info.dynamic)
    throw StudyError(fmt::format("{}: {} computes equilibria, not motions: expected a method such as {}", option,
                                 out.type, types.front()));

  const spec::Node node = type->keys();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t sign = parts[i].find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == parts[i].size())
      throw StudyError(
          fmt::format("{}: {}: expected key=value after the sign :, got {}", option, out.type, in_quotes(parts[i])));
    std::string key = parts[i].substr(0, sign);
    if (key.starts_with(own_section)) {
      key.erase(0, own_section.size());
    } else if (key[0] == '/') {
      if (key.size() < 2 || key == "/integrator")
        throw StudyError(
            fmt::format("{}: {}: expected a key of the method or a pointer to another value of the model, "
                        "as in /materials/0/young=1e7, got {}",
                        option, out.type, in_quotes(parts[i])));
      if (std::any_of(out.overrides.begin(), out.overrides.end(),
                      [&](const std::string& given) { return given.starts_with(key + "="); }))
        throw StudyError(fmt::format("{}: {}: {} is given twice", option, out.type, key));
      out.overrides.push_back(parts[i]);
      continue;
    }
    std::vector<std::string> names;
    const std::vector<std::string> places = places_of_key(node, key, "", &names);
    if (places.empty())
      throw StudyError(
          fmt::format("{}: {} has no key {}{}", option, out.type, in_quotes(key), spec::suggestion(key, names)));
    if (places.size() > 1)
      throw StudyError(fmt::format("{}: {}: {} may be {}: expected one of these, without the first /", option, out.type,
                                   in_quotes(key), spec::in_words(places, "or")));
    if (places[0] == "/duration" || places[0] == "/start_time")
      throw StudyError(
          fmt::format("{}: the simulated time is the same for all methods: expected --set "
                      "/integrator{}=... in place of {}",
                      option, places[0], in_quotes(parts[i])));
    const std::string word = parts[i].substr(sign + 1);
    const auto same = [&](const auto& given) { return given.first == places[0]; };
    if (std::any_of(out.keys.begin(), out.keys.end(), same) || (places[0] == "/step" && out.step))
      throw StudyError(fmt::format("{}: {}: {} is given twice", option, out.type, key));
    if (places[0] == "/step")
      out.step = positive_numbers({word}, fmt::format("{}: {}: step", option, out.type), 1)[0];
    else
      out.keys.emplace_back(places[0], value_of_word(word, fmt::format("{}: {}: {}", option, out.type, key)));
  }
  return out;
}

namespace {

/// The methods with each of the values; a method whose type has not the key stays as it is.
std::vector<MethodChoice> varied(const std::vector<MethodChoice>& methods, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw StudyError(
        "--vary: expected key=value,value, as in force_corrections=true,false or "
        "/materials/0/young=1e6,1e7, got " +
        in_quotes(text));
  const std::string key = text.substr(0, equals), list = text.substr(equals + 1);
  const std::vector<std::string> words = varied_words(list);
  const std::string_view within = std::string_view(key).substr(key.starts_with(own_section) ? own_section.size() : 0);
  std::vector<MethodChoice> out;
  std::vector<std::string> names;
  bool any = false;
  for (const MethodChoice& method : methods) {
    const auto& types = integrator_types();
    const auto type = std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.type == method.type; });
    if (key[0] != '/' || within.size() < key.size())
      if (places_of_key(type->keys(), std::string(within), "", &names).empty()) {
        out.push_back(method);
        continue;
      }
    any = true;
    for (const std::string& word : words) {
      MethodChoice more = method_choice(fmt::format("{}:{}={}", method.type, key, word), "--vary");
      for (const auto& given : method.keys)
        if (!more.keys.empty() && more.keys[0].first == given.first)
          throw StudyError(
              fmt::format("--vary: {} has a value of its own for {}: expected only one of them", method.label, key));
      more.label = fmt::format("{}:{}={}", method.label, key, word);
      more.keys.insert(more.keys.begin(), method.keys.begin(), method.keys.end());
      more.overrides.insert(more.overrides.begin(), method.overrides.begin(), method.overrides.end());
      if (method.step && more.step)
        throw StudyError(fmt::format("--vary: {} has a step of its own: expected only one of them", method.label));
      if (method.step) more.step = method.step;
      out.push_back(std::move(more));
    }
  }
  if (!any)
    throw StudyError(fmt::format("--vary: none of the methods has a key {}{}", in_quotes(key),
                                 spec::suggestion(std::string(within), names)));
  return out;
}

}  // namespace

std::vector<MethodChoice> method_choices(const std::string& text, const std::string& vary) {
  std::vector<MethodChoice> out;
  for (const std::string& word : split_words(text, ',')) {
    if (word.empty()) throw StudyError("--integrators: expected a method between the commas, got " + in_quotes(text));
    MethodChoice choice = method_choice(word, "--integrators");
    for (const MethodChoice& other : out)
      if (other.label == choice.label)
        throw StudyError(fmt::format("--integrators: {} is listed twice: expected different labels, as in a={},b={}",
                                     in_quotes(choice.label), choice.type, choice.type));
    out.push_back(std::move(choice));
  }
  return vary.empty() ? out : varied(out, vary);
}

json integrator_section(const MethodChoice& method, const ModelDocument& document, double step) {
  const auto& types = integrator_types();
  const IntegratorType& type =
      *std::find_if(types.begin(), types.end(), [&](const IntegratorType& t) { return t.type == method.type; });
  const spec::Node node = type.keys();
  const json& own = document.resolved()["integrator"];
  json section = json::object();
  take_over(node, own, document.source(), "/integrator", section);
  // the time is that of the model, also where the model has defaults
  for (const char* key : {"duration", "start_time"})
    if (node.find(key) != nullptr && own.contains(key)) section[key] = own[key];
  section["step"] = step;
  for (const auto& [pointer, value] : method.keys) section[json::json_pointer(pointer)] = value;

  const spec::Outcome outcome = spec::resolve(node, section, {});
  for (const spec::Problem& problem : outcome.problems) {
    const bool given = std::any_of(method.keys.begin(), method.keys.end(),
                                   [&](const auto& key) { return problem.pointer.starts_with(key.first); });
    const std::string key = problem.pointer.empty() ? "" : problem.pointer.substr(1) + ": ";
    throw StudyError(given ? fmt::format("--integrators: {}: {}{}", method.label, key, problem.message)
                           : fmt::format("--integrators: {}: the model's {}{}; expected another value, as in {}:{}=...",
                                         method.label, key, problem.message, method.type,
                                         problem.pointer.empty() ? "key" : problem.pointer.substr(1)));
  }
  section["type"] = method.type;
  return section;
}

bool MethodRuns::completed() const {
  return !runs.empty() &&
         std::all_of(runs.begin(), runs.end(), [](const StudyRun& r) { return r.status == RunStatus::completed; });
}

void find_orders(Comparison& comparison) {
  for (MethodRuns& method : comparison.methods) {
    method.orders.clear();
    for (std::size_t q = 0; q < comparison.quantities.size(); ++q)
      method.orders.push_back(orders_of(method.runs, q, 1));
  }
}

}  // namespace carom
