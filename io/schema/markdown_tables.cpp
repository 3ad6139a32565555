// Declarations as Markdown: a table of keys for every object, and of every type.

#include <map>
#include <set>
#include <vector>

#include "io/schema/documentation.hpp"

namespace carom {

using namespace spec;

namespace {

/// The node of a list's entries, or the node itself.
const Node& inner(const Node& node) {
  const Node* found = &node;
  while (!found->item.empty()) found = &found->item[0];
  return *found;
}

std::string presence(const Key& key) {
  if (key.is_required) return "required";
  return key.preset ? "`" + key.preset->dump() + "`" : "";
}

// The allowed values in a cell.
std::string value_text(const Node& node) {
  const Node& n = inner(node);
  if (n.kind == Kind::name) return "a name";
  if (n.kind == Kind::formula) return node.item.empty() ? "a number or formula" : "numbers or formulas";
  if (n.kind == Kind::time_function)
    return node.item.empty() ? "a function of time" : std::to_string(node.counts.front()) + " functions of time";
  if (node.item.empty() && (!n.keys.empty() || !n.variants.empty())) return "an object";
  return markdown_cell(describe(node));
}

std::string rule_text(const KeyRule& rule) {
  if (rule.kind == KeyRule::Kind::needs)
    return "`" + rule.alternatives[0][0] + "` needs `" + rule.alternatives[1][0] + "`.";
  if (rule.alternatives.size() == 1 && rule.alternatives[0].size() == 1 && rule.kind != KeyRule::Kind::at_most_one)
    return "`" + rule.alternatives[0][0] + "` is needed.";
  std::string text = rule.kind == KeyRule::Kind::exactly_one   ? "Exactly one of "
                     : rule.kind == KeyRule::Kind::at_most_one ? "At most one of "
                                                               : "At least one of ";
  const std::size_t n = rule.alternatives.size();
  for (std::size_t i = 0; i < n; ++i) {
    text += i == 0 ? "" : i + 1 < n ? ", " : " and ";
    const std::vector<std::string>& keys = rule.alternatives[i];
    for (std::size_t k = 0; k < keys.size(); ++k) text += (k > 0 ? " with `" : "`") + keys[k] + "`";
  }
  return text + ".";
}

class Writer {
 public:
  std::string text(const Node& root) {
    object("", root, 2);
    for (const Key& key : root.keys) {
      if (!has_keys(key.value)) continue;
      heading(2, "/" + key.name);
      out_ += sentence(key.help) + "\n";
      below("/" + key.name, key.value, 3);
    }
    heading(2, "Functions of time");
    out_ += "A number, a formula of `t` in a string, `\"0.1*sin(2*pi*t)\"`, or a table of points:\n";
    table(time_table("value"));
    return out_;
  }

 private:
  static bool has_keys(const Node& node) {
    const Node& n = inner(node);
    return !n.keys.empty() || !n.variants.empty();
  }
  static std::string sentence(std::string help) {
    help[0] = static_cast<char>(help[0] >= 'a' && help[0] <= 'z' ? help[0] - 'a' + 'A' : help[0]);
    return help + ".";
  }
  void heading(int level, const std::string& words) {
    out_ += "\n" + std::string(static_cast<std::size_t>(level), '#') + " " + words + "\n\n";
  }

  void table(const Node& node) {
    out_ += "\n| key | value | unit | default | what |\n|---|---|---|---|---|\n";
    for (const Key& key : node.keys)
      out_ += "| `" + key.name + "` | " + value_text(key.value) + " | " + unit_of(inner(key.value).what) + " | " +
              markdown_cell(presence(key)) + " | " + markdown_cell(key.help + words(key.value)) + " |\n";
    if (!node.rules.empty()) out_ += "\n";
    for (std::size_t i = 0; i < node.rules.size(); ++i)
      out_ += rule_text(node.rules[i]) + (i + 1 < node.rules.size() ? " " : "\n");
  }

  // The meaning of each word of a choice; a long list needs a table of its own, beside these.
  static std::string words(const Node& node) {
    const Node& choice = inner(node);
    if (choice.words.empty() || choice.words.size() > 12) return "";
    std::string text = ":";
    for (std::size_t i = 0; i < choice.words.size(); ++i)
      text += (i > 0 ? "; `" : " `") + choice.words[i].word + "` " + choice.words[i].help;
    return text;
  }

  void object(const std::string& path, const Node& node, int level, const std::string& type = "") {
    table(node);
    if (!path.empty())
      for (const Key& key : node.keys) nested(path + "/" + key.name, key, level, type);
  }

  // Types that share a key share its section; a different object under the same name has a separate section.
  void nested(const std::string& path, const Key& key, int level, const std::string& type) {
    if (!has_keys(key.value)) return;
    Writer alone;
    alone.below(path, key.value, level);
    std::set<std::string>& written = written_[path];
    const bool is_first = written.empty();
    if (!written.insert(alone.out_).second) return;
    const std::string of = is_first || type.empty() ? "" : " of `" + type + "`";
    heading(level, path + of);
    out_ += sentence(key.help) + "\n";
    below(path, key.value, level < 5 ? level + 1 : level, of);
  }

  // The keys of an object, or of each type; `of` belongs to the path in headings.
  void below(const std::string& path, const Node& value, int level, const std::string& of = "") {
    const Node& node = inner(value);
    if (node.variants.empty()) {
      object(path, node, level);
      return;
    }
    for (const Variant& variant : node.variants) {
      heading(level, path + of + ", type `" + variant.type + "`");
      out_ += sentence(variant.help) + "\n";
      object(path, variant.object, level < 5 ? level + 1 : level, variant.type);
    }
  }

  std::string out_;
  std::map<std::string, std::set<std::string>> written_;  // by path
};

}  // namespace

std::string markdown_tables(const Node& node) { return Writer().text(node); }

// "|" would end the cell.
std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace carom
