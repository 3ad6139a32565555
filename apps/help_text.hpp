// The text of --help in 80 columns: CLI11 does not wrap lines.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <string>

namespace carom {

class HelpText : public CLI::Formatter {
 public:
  HelpText() { column_width(26); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

 private:
  /// A name in the first column, and its description wrapped beside it, below a name that is longer than the column.
  std::string entry(const std::string& name, const std::string& description) const {
    constexpr std::size_t width = 80;
    const std::size_t indent = get_column_width();
    std::string out = "  " + name;
    if (out.size() + 1 >= indent) out += "\n" + std::string(indent, ' ');
    out.resize(out.rfind('\n') == std::string::npos ? indent : out.size(), ' ');
    std::size_t column = indent;
    for (std::size_t begin = 0; begin < description.size();) {
      const std::size_t end = std::min(description.find(' ', begin), description.size());
      const std::string word = description.substr(begin, end - begin);
      if (column > indent && column + 1 + word.size() > width) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
      }
      if (column > indent) out += " ", ++column;
      out += word;
      column += word.size();
      begin = end + 1;
    }
    return out + "\n";
  }
};

}  // namespace carom
