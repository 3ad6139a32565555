// Heads and cells of CSV tables.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/results/csv_head.hpp"

using namespace carom;

TEST_CASE("csv: names and units of a head come back as they were written") {
  const std::vector<CsvColumn> columns = {{"t", "s"},        {"tip.z", "m"}, {"steps"},
                                          {"a,b", "kg m^2"}, {"floor[3]"},   {"say \"x\"", "1/m"}};
  const std::string head = csv_head(columns);
  CHECK(head == "t [s],tip.z [m],steps,\"a,b [kg m^2]\",floor[3],\"say \"\"x\"\" [1/m]\"");
  const std::vector<CsvColumn> read = read_csv_head(head + "\r");
  REQUIRE(read.size() == columns.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].name == columns[i].name);
    CHECK(read[i].unit == columns[i].unit);
  }
}

TEST_CASE("csv: a table of another program may have no units, and brackets without a blank belong to the name") {
  const std::vector<CsvColumn> read = read_csv_head("t,x,[m],a[0], [m]");
  const std::vector<std::string> names = {"t", "x", "[m]", "a[0]", " [m]"};
  REQUIRE(read.size() == names.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].name == names[i]);
    CHECK(read[i].unit.empty());
  }
}

TEST_CASE("csv: a cell with commas, quotes and line ends comes back, with blanks in place of the line ends") {
  const std::string text = "one, \"two\"\nthree";
  CHECK(csv_cells("0," + csv_cell(text) + ",") == std::vector<std::string>{"0", "one, \"two\" three", ""});
}
