#include "io/studies/report_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace carom {

namespace {

/// Number of characters, of which UTF-8 may need several bytes each.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded_cell(const std::string& text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, length_of(text)), ' ');
  return left ? text + blanks : blanks + text;
}

bool is_number(const std::string& text) {
  const std::size_t sign = !text.empty() && text[0] == '+' ? 1 : 0;
  double x = 0;
  const auto [stop, code] = std::from_chars(text.data() + sign, text.data() + text.size(), x);
  return code == std::errc() && stop == text.data() + text.size();
}

/// 1.2e-03 as 1.2 times a power of ten, other numbers in mathematics mode, other text escaped.
std::string latex_cell(const std::string& text) {
  if (!is_number(text)) return text == "-" ? "--" : escaped_latex(text);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return "$" + text + "$";
  return fmt::format("${} \\cdot 10^{{{}}}$", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

}  // namespace

std::string text_of(const ReportTable& table, std::size_t longest) {
  std::vector<std::size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i)
      if (i > 0 || length_of(row[i]) <= longest) widths[i] = std::max(widths[i], length_of(row[i]));
  };
  measure(table.head);
  for (const auto& row : table.rows) measure(row);

  std::string out = table.caption + "\n";
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 0 && length_of(row[i]) > longest) {
        out += "  " + row[i] + "\n";
        line += "  " + std::string(widths[i], ' ');
        continue;
      }
      line += "  " + padded_cell(row[i], widths[i], i < table.left);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    if (!line.empty()) out += line + "\n";
  };
  write(table.head);
  for (const auto& row : table.rows) write(row);
  return out;
}

std::string markdown_of(const ReportTable& table) {
  std::string out = escaped_markdown(table.caption) + "\n\n";
  const auto write = [&](const std::vector<std::string>& row) {
    out += "|";
    for (std::size_t i = 0; i < table.head.size(); ++i)
      out += " " + (i < row.size() ? (is_number(row[i]) ? row[i] : escaped_markdown(row[i])) : "") + " |";
    out += "\n";
  };
  write(table.head);
  out += "|";
  for (std::size_t i = 0; i < table.head.size(); ++i) out += i < table.left ? "---|" : "---:|";
  out += "\n";
  for (const auto& row : table.rows) write(row);
  return out;
}

std::string latex_of(const ReportTable& table) {
  std::string out = "\\begin{table}\n\\centering\n\\caption{" + escaped_latex(table.caption) + "}\n\\begin{tabular}{";
  for (std::size_t i = 0; i < table.head.size(); ++i) out += i < table.left ? 'l' : 'r';
  out += "}\n\\toprule\n";
  const auto write = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < table.head.size(); ++i)
      out += (i > 0 ? " & " : "") + (i < row.size() ? latex_cell(row[i]) : "");
    out += " \\\\\n";
  };
  write(table.head);
  out += "\\midrule\n";
  for (const auto& row : table.rows) write(row);
  return out + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

std::string escaped_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\`*_[]<>|#~").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string escaped_latex(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '<':
        out += "\\textless{}";
        break;
      case '>':
        out += "\\textgreater{}";
        break;
      case '|':
        out += "\\textbar{}";
        break;
      case '"':
        out += "\\textquotedbl{}";
        break;
      case '{':
      case '}':
      case '$':
      case '&':
      case '#':
      case '_':
      case '%':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace carom
