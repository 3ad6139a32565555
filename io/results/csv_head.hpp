// Heads and cells of CSV tables (RFC 4180). A head names the column and, in brackets, its unit: "tip.z [m]".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carom {

struct CsvColumn {
  std::string name;
  std::string unit{};  ///< empty for counts, words, and tables without units
};

/// "tip.z [m]", or the name alone if the unit is empty.
std::string with_unit(const std::string& name, const std::string& unit);
/// "t [s],tip.z [m],steps", without a line end.
std::string csv_head(const std::vector<CsvColumn>& columns);
/// The columns of a line that csv_head() wrote. A table of another program may have no units.
std::vector<CsvColumn> read_csv_head(const std::string& line);

/// The text as a cell: in quotes if it needs them, with blanks in place of line ends.
std::string csv_cell(std::string_view text);
/// The cells of a line, without their quotes.
std::vector<std::string> csv_cells(std::string_view line);

}  // namespace carom
