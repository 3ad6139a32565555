// Declarations as text for a terminal: `carom schema KEY`.

#include <algorithm>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/spelling.hpp"
#include "io/schema/documentation.hpp"
#include "io/schema/json_source.hpp"

namespace carom {

using nlohmann::json;
using namespace spec;

namespace {

/// A place in the declaration.
struct Entry {
  std::string path;
  const Node* node;
  const Key* key = nullptr;
  const Variant* variant = nullptr;
  bool is_type = false;  // the key "type" of the node
};

bool is_index(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The node of a list's entries, or the node itself.
const Node* inner(const Node* node) {
  while (!node->item.empty()) node = &node->item[0];
  return node;
}

/// The keys and types below a node.
std::vector<std::string> names_below(const Node& node) {
  std::vector<std::string> names;
  for (const Key& key : node.keys) names.push_back(key.name);
  for (const Variant& variant : node.variants) names.push_back(variant.type);
  for (const Variant& variant : node.variants)
    for (const Key& key : variant.object.keys)
      if (std::find(names.begin(), names.end(), key.name) == names.end()) names.push_back(key.name);
  return names;
}

/// One step down; gives several entries if types share a key.
std::vector<Entry> descend(const Entry& from, const std::string& segment) {
  const Node* node = inner(from.node);
  const std::string path = from.path + "/" + segment;
  if (const Key* key = node->find(segment)) return {{path, &key->value, key}};
  std::vector<Entry> found;
  if (const Variant* variant = node->find_variant(segment)) {
    found.push_back({path, &variant->object, nullptr, variant});
    // a type may have a key of its own name
    if (const Key* key = variant->object.find(segment)) found.push_back({path + "/" + segment, &key->value, key});
    return found;
  }
  for (const Variant& variant : node->variants)
    if (const Key* key = variant.object.find(segment))
      found.push_back({from.path + "/" + variant.type + "/" + segment, &key->value, key});
  return found;
}

std::string unit_suffix(const Node& node) {
  const std::string unit = unit_of(inner(&node)->what);
  return unit.empty() ? "" : " [" + unit + "]";
}

std::string presence(const Key& key) {
  if (key.is_required) return "required";
  return key.preset ? "default " + key.preset->dump() : "optional";
}

/// Text wrapped at 100 columns.
void append_wrapped(std::string& out, const std::string& text, std::size_t indent) {
  constexpr std::size_t width = 100;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t length = end - begin;
    if (column > 0 && column + 1 + length > width) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out.append(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    out.append(text, begin, length);
    column += length;
    begin = end + 1;
  }
  out += '\n';
}

void append_keys(std::string& out, const Node& node, std::size_t indent) {
  for (const Key& key : node.keys) {
    append_wrapped(out, key.name + ": " + describe(key.value) + unit_suffix(key.value) + "; " + presence(key), indent);
    append_wrapped(out, key.help, indent + 4);
  }
  for (const KeyRule& rule : node.rules) {
    std::string text = rule.kind == KeyRule::Kind::exactly_one    ? "exactly one of "
                       : rule.kind == KeyRule::Kind::at_most_one  ? "at most one of "
                       : rule.kind == KeyRule::Kind::at_least_one ? "at least one of "
                                                                  : "";
    if (rule.kind == KeyRule::Kind::needs) {
      text = rule.alternatives[0][0] + " needs " + rule.alternatives[1][0];
    } else {
      for (std::size_t i = 0; i < rule.alternatives.size(); ++i) {
        text += i > 0 ? " | " : "";
        for (std::size_t k = 0; k < rule.alternatives[i].size(); ++k)
          text += (k > 0 ? " and " : "") + rule.alternatives[i][k];
      }
    }
    append_wrapped(out, "(" + text + ")", indent);
  }
}

/// The key "type": the types of a node, a line each.
std::string text_of_type(const Entry& entry) {
  std::string out = entry.path + "/type\n";
  append_wrapped(out, "type of " + with_article(inner(entry.node)->what) + "; required", 2);
  for (const Variant& variant : inner(entry.node)->variants)
    append_wrapped(out, in_quotes(variant.type) + ": " + variant.help, 4);
  return out;
}

/// Collects name and path of every key and type below a node.
using NamedPath = std::pair<std::string, std::string>;
void collect_names(const Node& node, const std::string& path, std::vector<NamedPath>& all) {
  const Node& here = *inner(&node);
  const auto add_keys = [&](const Node& object, const std::string& place) {
    for (const Key& key : object.keys) {
      const std::string below = place + "/" + key.name;
      all.emplace_back(key.name, below);
      collect_names(key.value, below, all);
    }
  };
  add_keys(here, path);
  for (const Variant& variant : here.variants) {
    all.emplace_back(variant.type, path + "/" + variant.type);
    add_keys(variant.object, path + "/" + variant.type);
  }
}

/// The places of keys with this name, or else with the name nearest to it, anywhere below a node:
/// "; there are /springs/stiffness and others"; empty if no name is near.
std::string places_of_name(const Node& root, const std::string& name) {
  std::vector<NamedPath> all;
  collect_names(root, "", all);
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& [known, path] : all) names.push_back(known);
  const std::string known =
      std::find(names.begin(), names.end(), name) != names.end() ? name : nearest_name(name, names);
  std::vector<std::string> places;
  for (const auto& [other, path] : all)
    if (other == known) places.push_back(path);
  if (places.empty()) return "";
  constexpr std::size_t shown = 3;
  std::string text = places.size() == 1 ? "; there is " : "; there are ";
  for (std::size_t i = 0; i < places.size() && i < shown; ++i) text += (i > 0 ? ", " : "") + places[i];
  return text + (places.size() > shown ? " and others" : "");
}

/// A line "Example:" and the key with its value, or the value alone.
void append_example(std::string& out, const std::string& key, const nlohmann::ordered_json& value, std::size_t indent) {
  const std::string head = key.empty() ? "" : in_quotes(key) + ": ";
  out += std::string(indent, ' ') + "Example:\n" + std::string(indent + 2, ' ') + head +
         example_text(value, indent + 2, indent + 2 + head.size()) + "\n";
}

std::string text_of(const Entry& entry) {
  if (entry.is_type) return text_of_type(entry);
  std::string out = (entry.path.empty() ? "/" : entry.path) + "\n";
  if (entry.key != nullptr) {
    append_wrapped(out, entry.key->help, 2);
    append_wrapped(out, describe(entry.key->value) + unit_suffix(entry.key->value) + "; " + presence(*entry.key), 2);
  }
  if (entry.variant != nullptr) append_wrapped(out, entry.variant->help, 2);

  // the keys, types and words below
  const Node& node = *inner(entry.node);
  for (const Word& word : node.words) append_wrapped(out, in_quotes(word.word) + ": " + word.help, 4);
  if (!node.keys.empty()) {
    append_wrapped(out, "Keys:", 2);
    append_keys(out, node, 4);
  }
  for (const Variant& variant : node.variants) {
    append_wrapped(out, "\"type\": " + in_quotes(variant.type) + ": " + variant.help, 2);
    append_keys(out, variant.object, 6);
    append_example(out, "", example(variant), 6);
  }
  if (node.kind == Kind::time_function) {
    append_wrapped(out, "As an object:", 2);
    append_keys(out, time_table(node.what), 4);
  }
  if (entry.variant != nullptr)
    append_example(out, "", example(*entry.variant), 2);
  else if (entry.key != nullptr)
    append_example(out, entry.key->name, example(entry.key->value), 2);
  return out;
}

}  // namespace

std::string manual(const Node& node, std::string_view key) {
  std::vector<Entry> entries = {{"", &node}};
  std::string_view rest = key;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string segment = unescape_pointer(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (segment.empty() || is_index(segment)) continue;

    std::vector<Entry> next;
    std::vector<std::string> names;
    for (const Entry& entry : entries) {
      if (segment == "type" && !inner(entry.node)->variants.empty()) {
        next.push_back(entry);
        next.back().is_type = true;
        continue;
      }
      for (Entry& found : descend(entry, segment)) next.push_back(std::move(found));
      for (const std::string& name : names_below(*inner(entry.node))) names.push_back(name);
    }
    if (next.empty()) {
      const std::string path = entries[0].path;
      if (names.empty()) throw ModelError(std::string(key), path + " has no keys; see: carom schema " + path);
      std::string help = suggestion(segment, names);
      if (!help.starts_with("; did"))
        if (const std::string elsewhere = places_of_name(node, segment); !elsewhere.empty()) help = elsewhere;
      if (help.empty() && path.empty()) help = "; its keys are " + in_words(names, "and");
      if (help.empty()) help = "; see: carom schema " + path;
      throw ModelError(std::string(key), "no key " + in_quotes(segment) + " in " +
                                             (path.empty() ? with_article(node.what) : path) + help);
    }
    entries = std::move(next);
  }

  std::string out;
  for (const Entry& entry : entries) {
    if (!out.empty()) out += '\n';
    out += text_of(entry);
  }
  return out;
}

}  // namespace carom
