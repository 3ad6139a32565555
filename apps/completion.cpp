// carom completion: scripts by which bash, zsh and fish complete the command line. Commands and options are those that
// are declared, keys and pointers those of the model's declaration; nothing is listed a second time.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <set>

#include "apps/commands.hpp"
#include "io/model/model_spec.hpp"

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
  enum class Values { none, anything, words, models, directories, files, pointers, keys };
  std::vector<std::string> names;  ///< "-o" and "--output"; none for an argument
  std::string name, help;
  Values values = Values::none;
  std::vector<std::string> words;
};

Argument argument_of(const CLI::Option& option) {
  using Values = Argument::Values;
  Argument out;
  for (const std::string& s : option.get_snames()) out.names.push_back("-" + s);
  for (const std::string& l : option.get_lnames()) out.names.push_back("--" + l);
  out.name = option.get_single_name();
  out.help = option.get_description();
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
  out.values = out.name == "model"      ? Values::models
               : out.name == "output"   ? Values::directories
               : out.name == "set"      ? Values::pointers
               : out.name == "key"      ? Values::keys
               : type.find("TEXT") == 0 ? Values::files
                                        : Values::anything;
  return out;
}

struct CommandLine {
  std::string name, help;
  std::vector<Argument> options, arguments;
};

CommandLine command_line_of(const CLI::App& app) {
  CommandLine out{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    Argument argument = argument_of(*option);
    (argument.names.empty() ? out.arguments : out.options).push_back(std::move(argument));
  }
  return out;
}

/// Everything that the scripts know.
struct Subject {
  CommandLine program;
  std::vector<CommandLine> commands;
  std::vector<Leaf> leaves;
  std::vector<std::string> keys;  ///< of `carom schema`: pointers without numbers
};

Subject subject_of(const CLI::App& root) {
  Subject out{command_line_of(root), {}, Leaves().all, {}};
  for (const CLI::App* app : root.get_subcommands(std::function<bool(const CLI::App*)>()))
    out.commands.push_back(command_line_of(*app));
  for (const Leaf& leaf : out.leaves) {
    std::string key = leaf.pointer;
    for (std::size_t i = key.find("/0"); i != std::string::npos; i = key.find("/0", i)) key.erase(i, 2);
    if (key.ends_with('/')) key.pop_back();
    out.keys.push_back(std::move(key));
  }
  return out;
}

// ---- Text

/// In single quotes, as all three shells read it; inside of them `inner` replaces a quote.
std::string quoted(const std::string& text, const char* inner) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(inner) : std::string(1, c);
  return out + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Lines of an array in bash and zsh.
std::string array_lines(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += "  " + quoted(word, "'\\''") + "\n";
  return out;
}

std::vector<std::string> pointers_of(const Subject& subject) {
  std::vector<std::string> out;
  for (const Leaf& leaf : subject.leaves) out.push_back(leaf.pointer);
  return out;
}

/// "/pointer word word" for every place with a choice.
std::vector<std::string> choices_of(const Subject& subject) {
  std::vector<std::string> out;
  for (const Leaf& leaf : subject.leaves)
    if (!leaf.words.empty()) out.push_back(leaf.pointer + " " + joined(leaf.words));
  return out;
}

// ---- bash

constexpr const char* bash_functions = R"_(
# _carom_paths TYPED ENDING PATH...: the next part of the paths that continue TYPED; ENDING follows a whole path. In the
# paths every number of a list's entry is 0.
_carom_paths() {
  local typed=$1 ending=$2 prefix last part plain='' path rest next before=''
  shift 2
  last=${typed##*/}
  prefix=${typed%"$last"}
  if [[ $ending == = && -z $typed ]]; then prefix=/; fi
  local parts
  IFS=/ read -ra parts <<<"${prefix#/}"
  for part in "${parts[@]}"; do
    if [[ $part =~ ^([0-9]+|-)$ ]]; then part=0; fi
    plain+=/$part
  done
  for path in "$@"; do
    [[ $path == "$plain"/?* ]] || continue
    rest=${path#"$plain"/}
    next=${rest%%/*}
    if [[ $next == 0 && $last =~ ^([0-9]+|-)$ ]]; then next=$last; fi
    if [[ $rest == */* ]]; then next+=/; else next+=$ending; fi
    if [[ $next != "$before" && $next == "$last"* ]]; then COMPREPLY+=("$prefix$next"); fi
    before=$next
  done
  compopt -o nospace 2>/dev/null
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != */ && -z $ending ]]; then compopt +o nospace 2>/dev/null; fi
}

# _carom_values POINTER TYPED: the words that a value of the model can be.
_carom_values() {
  local plain='' part parts entry
  IFS=/ read -ra parts <<<"${1#/}"
  for part in "${parts[@]}"; do
    if [[ $part =~ ^[0-9]+$ ]]; then part=0; fi
    plain+=/$part
  done
  for entry in "${_carom_choices[@]}"; do
    if [[ $entry == "$plain "* ]]; then mapfile -t COMPREPLY < <(compgen -W "${entry#* }" -- "$2"); fi
  done
}

# Files whose name ends in $2, and directories.
_carom_files() {
  mapfile -t COMPREPLY < <(compgen -d -- "$1" || :; compgen -f -X "!*$2" -- "$1" | while IFS= read -r file; do
    if [[ ! -d $file ]]; then printf '%s\n' "$file"; fi
  done)
  compopt -o filenames 2>/dev/null
}
)_";

std::string bash_values(const Argument& argument) {
  using Values = Argument::Values;
  switch (argument.values) {
    case Values::models:
      return "_carom_files \"$cur\" .json";
    case Values::files:
      return "_carom_files \"$cur\" ''";
    case Values::directories:
      return "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); compopt -o filenames 2>/dev/null";
    case Values::pointers:
      return "_carom_paths \"$cur\" = \"${_carom_pointers[@]}\"";
    case Values::keys:
      return "_carom_paths \"$cur\" '' \"${_carom_keys[@]}\"";
    case Values::words:
      return "mapfile -t COMPREPLY < <(compgen -W '" + joined(argument.words) + "' -- \"$cur\")";
    case Values::anything:
    case Values::none:
      break;
  }
  return ":";
}

std::string bash_options(const CommandLine& command) {
  std::vector<std::string> words;
  for (const Argument& option : command.options) words.insert(words.end(), option.names.begin(), option.names.end());
  return "mapfile -t COMPREPLY < <(compgen -W '" + joined(words) + "' -- \"$cur\")";
}

std::string bash_script(const Subject& subject) {
  std::string out = "# Completion of carom for bash; printed by `carom completion bash`.\n\n";
  out += "_carom_pointers=(\n" + array_lines(pointers_of(subject)) + ")\n";
  out += "_carom_choices=(\n" + array_lines(choices_of(subject)) + ")\n";
  out += "_carom_keys=(\n" + array_lines(subject.keys) + ")\n";
  out += bash_functions;
  out += R"_(
_carom() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  # bash parts words at '='
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $prev == /* && ${COMP_WORDS[COMP_CWORD]} == = || $prev == /* && ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    _carom_values "$prev" "$cur"
    return
  fi
  if ((COMP_CWORD == 1)); then
)_";
  std::vector<std::string> words;
  for (const CommandLine& command : subject.commands) words.push_back(command.name);
  for (const Argument& option : subject.program.options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  out += "    mapfile -t COMPREPLY < <(compgen -W '" + joined(words) + "' -- \"$cur\")\n    return\n  fi\n";
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const CommandLine& command : subject.commands) {
    out += "    " + command.name + ")\n      case $prev in\n";
    for (const Argument& option : command.options) {
      if (option.values == Argument::Values::none) continue;
      std::string names;
      for (const std::string& name : option.names) names += (names.empty() ? "" : " | ") + name;
      out += "        " + names + ")\n          " + bash_values(option) + "\n          return\n          ;;\n";
    }
    out += "      esac\n      if [[ $cur == -* ]]; then\n        " + bash_options(command) + "\n      else\n        " +
           (command.arguments.empty() ? std::string(":") : bash_values(command.arguments[0])) +
           "\n      fi\n      ;;\n";
  }
  return out + "  esac\n}\n\ncomplete -F _carom carom\n";
}

// ---- zsh

constexpr const char* zsh_functions = R"_(
# _carom_paths ENDING PATH...: the next part of the paths that continue the word; ENDING follows a whole path. In the
# paths every number of a list's entry is 0.
_carom_paths() {
  local ending=$1 typed=$PREFIX last prefix part plain='' path rest next
  shift
  last=${typed##*/}
  prefix=${typed%$last}
  [[ $ending == '=' && -z $typed ]] && prefix=/
  for part in ${(s:/:)prefix}; do
    [[ $part == (<->|-) ]] && part=0
    plain+=/$part
  done
  local -a whole begun
  for path in "$@"; do
    [[ $path == $plain/?* ]] || continue
    rest=${path#$plain/}
    next=${rest%%/*}
    [[ $next == 0 && $last == (<->|-) ]] && next=$last
    if [[ $rest == */* ]]; then begun+=($prefix$next/); else whole+=($prefix$next$ending); fi
  done
  begun=(${(u)begun})
  compadd -S '' -a begun
  if [[ -n $ending ]]; then compadd -S '' -a whole; else compadd -a whole; fi
}

_carom_set() {
  local plain='' part entry
  if [[ $PREFIX != *=* ]]; then
    _carom_paths '=' $_carom_pointers
    return
  fi
  for part in ${(s:/:)${PREFIX%%=*}}; do
    [[ $part == <-> ]] && part=0
    plain+=/$part
  done
  compset -P '*='
  for entry in $_carom_choices; do
    [[ $entry == "$plain "* ]] && compadd -- ${(s: :)${entry#* }}
  done
}
)_";

std::string zsh_values(const Argument& argument) {
  using Values = Argument::Values;
  switch (argument.values) {
    case Values::models:
      return "_files -g \"*.json\"";
    case Values::files:
      return "_files";
    case Values::directories:
      return "_files -/";
    case Values::pointers:
      return "_carom_set";
    case Values::keys:
      return "{_carom_paths \"\" $_carom_keys}";
    case Values::words:
      return "(" + joined(argument.words) + ")";
    case Values::anything:
    case Values::none:
      break;
  }
  return " ";
}

/// Text inside of a specification for _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) out += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out;
}

std::string zsh_script(const Subject& subject) {
  const auto quote = [](const std::string& text) { return quoted(text, "'\\''"); };
  std::string out = "#compdef carom\n# Completion of carom for zsh; printed by `carom completion zsh`.\n\n";
  out += "typeset -ga _carom_pointers _carom_choices _carom_keys\n";
  out += "_carom_pointers=(\n" + array_lines(pointers_of(subject)) + ")\n";
  out += "_carom_choices=(\n" + array_lines(choices_of(subject)) + ")\n";
  out += "_carom_keys=(\n" + array_lines(subject.keys) + ")\n";
  out += zsh_functions;
  out += "\n_carom() {\n  local -a commands=(\n";
  for (const CommandLine& command : subject.commands)
    out += "    " + quote(command.name + ":" + zsh_text(command.help)) + "\n";
  out += "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    _arguments";
  const auto option_lines = [&](const CommandLine& command, const std::string& indent) {
    std::string lines;
    for (const Argument& option : command.options)
      for (const std::string& name : option.names) {
        const bool has_value = option.values != Argument::Values::none, is_long = name.starts_with("--");
        lines += " \\\n" + indent +
                 quote((option.name == "set" ? "*" : "") + name + (has_value ? (is_long ? "=" : "+") : "") + "[" +
                       zsh_text(option.help) + "]" +
                       (has_value ? ":" + zsh_text(option.name) + ":" + zsh_values(option) : ""));
      }
    return lines;
  };
  out += option_lines(subject.program, "      ") + "\n    return\n  fi\n  local command=$words[2]\n  shift words\n" +
         "  ((CURRENT--))\n  case $command in\n";
  for (const CommandLine& command : subject.commands) {
    out += "    " + command.name + ")\n      _arguments -s" + option_lines(command, "        ");
    for (const Argument& argument : command.arguments)
      out += " \\\n        " + quote("1:" + zsh_text(argument.name) + ":" + zsh_values(argument));
    out += "\n      ;;\n";
  }
  out += "  esac\n}\n\n";
  // as an autoloaded file, or read by a shell
  return out + "if [[ $funcstack[1] == _carom ]]; then\n  _carom \"$@\"\nelse\n  compdef _carom carom\nfi\n";
}

// ---- fish

std::string fish_values(const Argument& argument) {
  using Values = Argument::Values;
  switch (argument.values) {
    case Values::models:
      return " -k -xa '(__fish_complete_suffix .json)'";
    case Values::files:
      return " -rF";
    case Values::directories:
      return " -xa '(__fish_complete_directories)'";
    case Values::pointers:
      return " -xa '(__carom_pointers)'";
    case Values::keys:
      return " -xa '(__carom_keys)'";
    case Values::words:
      return " -xa '" + joined(argument.words) + "'";
    case Values::anything:
      return " -x";
    case Values::none:
      break;
  }
  return " -f";
}

std::string fish_script(const Subject& subject) {
  const auto quote = [](const std::string& text) { return quoted(text, "\\'"); };
  std::string out = "# Completion of carom for fish; printed by `carom completion fish`.\n\n";

  // Pointers take the number of the first list's entry from what is typed.
  out += "function __carom_pointers\n  set -l number (string match -r '^/[a-z]+/([0-9]+)' -- (commandline -ct))[2]\n";
  out += "  test -n \"$number\"; or set number 0\n  string replace -r '^(/[a-z]+)/0' '$1/'$number --";
  for (const Leaf& leaf : subject.leaves) {
    if (leaf.words.empty()) out += " \\\n    " + quote(leaf.pointer + (leaf.pointer.ends_with('/') ? "" : "="));
    for (const std::string& word : leaf.words) out += " \\\n    " + quote(leaf.pointer + "=" + word);
  }
  out += "\nend\n\nfunction __carom_keys\n  printf '%s\\n'";
  for (const std::string& key : subject.keys) out += " \\\n    " + quote(key);
  out += "\nend\n\n";

  out += "complete -c carom -f\n";
  const auto option_lines = [&](const CommandLine& command, const std::string& condition) {
    std::string lines;
    for (const Argument& option : command.options) {
      lines += "complete -c carom -n " + condition;
      for (const std::string& name : option.names)
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      lines += fish_values(option) + " -d " + quote(option.help) + "\n";
    }
    return lines;
  };
  out += option_lines(subject.program, "__fish_use_subcommand");
  for (const CommandLine& command : subject.commands)
    out += "complete -c carom -n __fish_use_subcommand -a " + command.name + " -d " + quote(command.help) + "\n";
  for (const CommandLine& command : subject.commands) {
    const std::string condition = "'__fish_seen_subcommand_from " + command.name + "'";
    out += option_lines(command, condition);
    for (const Argument& argument : command.arguments)
      out += "complete -c carom -n " + condition + fish_values(argument) + "\n";
  }
  return out;
}

class Completion final : public Command {
 public:
  void declare(CLI::App& app) override {
    app.add_option("shell", shell_, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }

  int run() override {
    const Subject subject = subject_of(*subcommand->get_parent());
    fmt::print("{}", shell_ == "bash"  ? bash_script(subject)
                     : shell_ == "zsh" ? zsh_script(subject)
                                       : fish_script(subject));
    return exit_done;
  }

 private:
  std::string shell_;
};

}  // namespace

Command& completion_command() {
  static Completion command;
  return command;
}

}  // namespace carom
