#include "io/results/csv_head.hpp"

namespace carom {

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : name + " [" + unit + "]";
}

std::string csv_head(const std::vector<CsvColumn>& columns) {
  std::string out;
  for (const CsvColumn& c : columns) {
    if (!out.empty()) out += ',';
    out += csv_cell(with_unit(c.name, c.unit));
  }
  return out;
}

std::vector<CsvColumn> read_csv_head(const std::string& line) {
  std::vector<CsvColumn> out;
  for (std::string& text : csv_cells(line)) {
    const std::size_t bracket = text.rfind(" [");
    if (bracket == 0 || bracket == std::string::npos || text.back() != ']')
      out.push_back({std::move(text)});
    else
      out.push_back({text.substr(0, bracket), text.substr(bracket + 2, text.size() - bracket - 3)});
  }
  return out;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

}  // namespace carom
