// carom completion: the scripts by which bash, zsh and fish complete the command line. They call the program back,
//
//   carom completion --words=WORDS      WORDS: the line after the program's name up to the cursor, joined by \x1f
//
// which prints a line for every way to go on with the last word: quoted for the shell, and with a blank at its end if
// the word is then complete. Commands and options are those that are declared, keys and pointers those of the model's
// declaration; nothing is listed a second time.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "apps/commands.hpp"
#include "io/model/model_spec.hpp"
#include "io/model/types/registry.hpp"

namespace carom {

namespace {

using spec::Kind;
using spec::Node;

// ---- What can be completed

/// A place of the model at which a value stands, with the number 0 for every entry of a list.
struct Leaf {
  std::string pointer;
  std::vector<std::string> words;  ///< all values it can have; empty: any
};

class Leaves {
 public:
  Leaves() { object(model_spec(), ""); }
  std::vector<Leaf> all;

 private:
  void value(const Node& node, const std::string& path) {
    if (!written_.insert(path).second && node.keys.empty() && node.variants.empty()) return;
    const Node* item = node.item.empty() ? nullptr : &node.item[0];
    if (!node.keys.empty() || !node.variants.empty()) return object(node, path);
    if (item != nullptr && (!item->keys.empty() || !item->variants.empty())) return object(*item, path + "/0");
    Leaf leaf{node.kind == Kind::parameters ? path + "/" : path, {}};
    for (const spec::Word& word : node.words) leaf.words.push_back(word.word);
    if (node.kind == Kind::boolean) leaf.words = {"true", "false"};
    all.push_back(std::move(leaf));
  }

  void object(const Node& node, const std::string& path) {
    for (const spec::Key& key : node.keys) value(key.value, path + "/" + key.name);
    if (node.variants.empty()) return;
    Leaf type{path + "/type", {}};
    for (const spec::Variant& variant : node.variants) type.words.push_back(variant.type);
    if (written_.insert(type.pointer).second) all.push_back(std::move(type));
    for (const spec::Variant& variant : node.variants) object(variant.object, path);
  }

  std::set<std::string> written_;  // types share keys
};

/// An option or argument of a command.
struct Argument {
  enum class Values { none, anything, words, models, directories, files, pointers, keys, methods };
  std::vector<std::string> names;  ///< "-o" and "--output"; none for an argument
  std::string name;
  Values values = Values::none;
  std::vector<std::string> words;
};

Argument argument_of(const CLI::Option& option) {
  using Values = Argument::Values;
  Argument out;
  for (const std::string& s : option.get_snames()) out.names.push_back("-" + s);
  for (const std::string& l : option.get_lnames()) out.names.push_back("--" + l);
  out.name = option.get_single_name();
  if (option.get_items_expected_max() == 0) return out;

  // What its value is: said by its type "TEXT:{a,b}" or known by its name.
  const std::string type = option.get_type_name();
  const std::size_t brace = type.find('{');
  if (brace != std::string::npos) {
    out.values = Values::words;
    std::string word;
    for (const char c : type.substr(brace + 1)) {
      if (c != ',' && c != '}') {
        word += c;
        continue;
      }
      out.words.push_back(word);
      word.clear();
    }
    return out;
  }
  out.values = out.name == "model"                       ? Values::models
               : out.name == "output"                    ? Values::directories
               : out.name == "results"                   ? Values::directories
               : out.name == "set" || out.name == "vary" ? Values::pointers
               : out.name == "key"                       ? Values::keys
               : out.name == "integrators"               ? Values::methods
               : type.find("TEXT") == 0                  ? Values::files
                                                         : Values::anything;
  return out;
}

// ---- What continues a word

using Words = std::vector<std::string>;

Words split(const std::string& text, char separator) {
  Words out{""};
  for (const char c : text)
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

void add_matching(const Words& words, const std::string& typed, Words& out) {
  for (const std::string& word : words)
    if (word.starts_with(typed)) out.push_back(word + " ");
}

/// A pointer with 0 for the number of every entry of a list, as in Leaf.
std::string plain(const std::string& pointer) {
  std::string out;
  for (const std::string& part : split(pointer, '/'))
    if (!part.empty()) out += "/" + (part.find_first_not_of("0123456789") == part.npos || part == "-" ? "0" : part);
  return out;
}

/// The next part of the paths that continue what is typed; `ending` follows a whole path.
void add_paths(const Words& paths, std::string typed, const std::string& ending, Words& out) {
  if (typed.empty() && ending == "=") typed = "/";
  const std::string prefix = typed.substr(0, typed.rfind('/') + 1), last = typed.substr(prefix.size());
  const std::string parent = plain(prefix) + "/";
  for (const std::string& path : paths) {
    if (!path.starts_with(parent) || path.size() == parent.size()) continue;
    const std::string rest = path.substr(parent.size());
    std::string next = rest.substr(0, rest.find('/'));
    if (next == "0" && plain(last) == "/0") next = last;
    next += next.size() < rest.size() && rest.find('/') != rest.npos ? "/" : ending;
    if (next.starts_with(last) && (out.empty() || out.back() != prefix + next)) out.push_back(prefix + next);
  }
}

/// POINTER=VALUE: pointers until the sign, then the words that the value can be.
void add_overrides(const std::string& typed, Words& out) {
  const std::vector<Leaf> leaves = Leaves().all;
  const std::size_t sign = typed.find('=');
  Words pointers;
  for (const Leaf& leaf : leaves) {
    pointers.push_back(leaf.pointer);
    if (sign == typed.npos || plain(typed.substr(0, sign)) != leaf.pointer) continue;
    for (const std::string& word : leaf.words) add_matching({typed.substr(0, sign + 1) + word}, typed, out);
  }
  if (sign == typed.npos) add_paths(pointers, typed, "=", out);
}

/// The last of the methods [LABEL=]TYPE[:KEY=VALUE]... in a list: types, keys of the type, words that a key can have.
void add_methods(const std::string& typed, Words& out) {
  const std::size_t begin = typed.rfind(',') + 1;  // 0 without a comma
  const Words parts = split(typed.substr(begin), ':');
  const std::string type = parts[0].substr(parts[0].find('=') + 1), last = parts.back();
  const std::string before = typed.substr(0, typed.size() - (parts.size() == 1 ? type : last).size());
  const auto add = [&](const std::string& word, const char* ending) {
    if (word.starts_with(parts.size() == 1 ? type : last)) out.push_back(before + word + ending);
  };
  for (const IntegratorType& kind : integrator_types()) {
    if (parts.size() == 1) {
      if (kind.info.dynamic) add(kind.type, "");
      continue;
    }
    if (kind.type != type) continue;
    const std::function<void(const Node&)> visit = [&](const Node& node) {
      for (const spec::Key& key : node.keys) {
        if (!key.value.keys.empty()) {
          visit(key.value);
          continue;
        }
        if (last.find('=') == last.npos) add(key.name, "=");
        for (const spec::Word& word : key.value.words)
          if (last.find('=') != last.npos) add(key.name + "=" + word.word, "");
        if (key.value.kind == Kind::boolean && last.find('=') != last.npos)
          for (const char* word : {"=true", "=false"}) add(key.name + word, "");
      }
    };
    visit(kind.keys());
  }
}

/// Keys of `carom schema`: pointers without numbers.
void add_keys(const std::string& typed, Words& out) {
  Words keys;
  for (const Leaf& leaf : Leaves().all) {
    std::string key = leaf.pointer;
    for (std::size_t i = key.find("/0"); i != key.npos; i = key.find("/0", i)) key.erase(i, 2);
    if (key.ends_with('/')) key.pop_back();
    keys.push_back(key);
  }
  add_paths(keys, typed, " ", out);
}

/// Directories, and files whose names end in `ending`; hidden ones only if a dot is typed.
void add_files(const std::string& typed, const std::string& ending, bool files, Words& out) {
  const std::string prefix = typed.substr(0, typed.rfind('/') + 1), last = typed.substr(prefix.size());
  constexpr std::string_view special = " \t\\'\"$`&;|()<>*?[]{}!#~";  // of shells
  const char* const home = std::getenv("HOME");
  std::string folder = prefix.empty() ? "." : prefix;
  if (folder.starts_with("~/") && home != nullptr) folder.replace(0, 1, home);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(last) || (name[0] == '.' && last.empty())) continue;
    const bool directory = entry.is_directory(error);
    if (!directory && (!files || !name.ends_with(ending))) continue;
    std::string quoted = prefix;
    for (const char c : name) {
      if (special.find(c) != special.npos) quoted += '\\';
      quoted += c;
    }
    out.push_back(quoted + (directory ? "/" : " "));
  }
}

void add_values(const Argument& argument, const std::string& typed, Words& out) {
  using Values = Argument::Values;
  switch (argument.values) {
    case Values::models:
      return add_files(typed, ".json", true, out);
    case Values::files:
      return add_files(typed, "", true, out);
    case Values::directories:
      return add_files(typed, "", false, out);
    case Values::pointers:
      return add_overrides(typed, out);
    case Values::keys:
      return add_keys(typed, out);
    case Values::methods:
      return add_methods(typed, out);
    case Values::words:
      return add_matching(argument.words, typed, out);
    case Values::anything:
    case Values::none:
      break;
  }
}

/// What continues the last of the words.
Words continuations(const CLI::App& root, Words words) {
  Words out;
  std::string typed;
  std::swap(typed, words.back());
  words.pop_back();
  std::erase(typed, '\\');

  const std::vector<const CLI::App*> commands = root.get_subcommands(std::function<bool(const CLI::App*)>());
  const CLI::App* command = words.empty() ? &root : nullptr;
  for (const CLI::App* app : commands)
    if (!words.empty() && app->get_name() == words[0]) command = app;
  if (command == nullptr) return out;
  Words names;
  std::vector<Argument> arguments;
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    Argument argument = argument_of(*option);
    // --option VALUE, --option=VALUE
    for (const std::string& name : argument.names) {
      if (argument.values == Argument::Values::none) continue;
      const bool joined = typed.starts_with(name + "=");
      if (!joined && (words.size() < 2 || words.back() != name)) continue;
      const std::string head = joined ? name + "=" : "";
      add_values(argument, typed.substr(head.size()), out);
      for (std::string& word : out) word.insert(0, head);
      return out;
    }
    names.insert(names.end(), argument.names.begin(), argument.names.end());
    if (argument.names.empty()) arguments.push_back(std::move(argument));
  }
  if (words.empty())
    for (const CLI::App* app : commands) add_matching({app->get_name()}, typed, out);
  if (words.empty() || typed.starts_with('-')) add_matching(names, typed, out);
  if (!typed.starts_with('-') && !arguments.empty()) add_values(arguments[0], typed, out);
  return out;
}

/// bash parts words at '=' and ':': joins them, and leaves away again what comes before the part at the cursor.
Words continuations_of_line(const CLI::App& root, const std::string& line) {
  Words words;
  std::string before;
  for (const std::string& word : split(line, '\x1f')) {
    const bool after_sign =
        !words.empty() && (words.back().ends_with('=') || words.back().ends_with(':')) && !before.empty();
    before.clear();
    if ((word == "=" || word == ":") && !words.empty())
      before = words.back() += word;
    else if (after_sign)
      before = words.back(), words.back() += word;
    else
      words.push_back(word);
  }
  Words out = continuations(root, std::move(words));
  for (std::string& word : out) word.erase(0, before.size());
  return out;
}

// ---- The scripts

constexpr const char* bash_script = R"_(# Completion of carom for bash; printed by `carom completion bash`.
_carom() {
  local IFS=$'\x1f'
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion --words="${COMP_WORDS[*]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o nospace -F _carom carom
)_";

constexpr const char* zsh_script = R"_(#compdef carom
# Completion of carom for zsh; printed by `carom completion zsh`.
_carom() {
  local typed=("${(@)words[2,CURRENT-1]}" "$PREFIX")
  local lines=("${(@f)$("${words[1]}" completion --words="${(pj:\x1f:)typed}" 2>/dev/null)}")
  compadd -Q -S '' -- ${lines:#* }
  compadd -Q -- ${${(M)lines:#* }% }
}
# as an autoloaded file, or read by a shell
if [[ $funcstack[1] == _carom ]]; then _carom "$@"; else compdef _carom carom; fi
)_";

constexpr const char* fish_script = R"_(# Completion of carom for fish; printed by `carom completion fish`.
function __carom_words
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion --words=(string join -- \x1f $words[2..-1]) 2>/dev/null | string trim --right | string unescape
end
complete -c carom -f -a '(__carom_words)'
)_";

class Completion final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("shell", shell_, "The shell")
        ->option_text("bash|zsh|fish")
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    words_option_ = app.add_option("--words", words_)->expected(0, 1)->group("");
    app.footer("Example for the present bash:\n    source <(carom completion bash)");
    app.parse_complete_callback([this] {
      if (shell_.empty() && words_option_->count() == 0) throw CLI::RequiredError("shell");
    });
  }

  int run() override {
    if (words_option_->count() > 0)
      for (const std::string& word : continuations_of_line(*subcommand->get_parent(), words_)) fmt::print("{}\n", word);
    else
      fmt::print("{}", shell_ == "bash" ? bash_script : shell_ == "zsh" ? zsh_script : fish_script);
    return exit_done;
  }

 private:
  std::string shell_, words_;
  CLI::Option* words_option_ = nullptr;
};

}  // namespace

Command& completion_command() {
  static Completion command;
  return command;
}

}  // namespace carom
