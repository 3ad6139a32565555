#include "io/studies/results_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/base/errors.hpp"
#include "io/results/csv_head.hpp"
#include "io/schema/json_source.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

namespace {

namespace fs = std::filesystem;

nlohmann::json read_json_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  std::ifstream stream(file);
  if (!stream) throw FileError("cannot read " + file.string() + ": " + std::strerror(errno));
  nlohmann::json out = nlohmann::json::parse(stream, nullptr, false);
  if (!out.is_object()) throw FileError(file.string() + " is no JSON object, as carom run writes it");
  return out;
}

}  // namespace

std::optional<std::size_t> ResultsTable::find(const std::string& name) const {
  const auto it = std::find(names.begin(), names.end(), name);
  return it == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - names.begin()));
}

ResultsTable read_table(const fs::path& file, const std::vector<std::string>& texts) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) throw FileError("cannot read " + file.string() + ": it is no regular file");
  std::ifstream stream(file);
  if (!stream) throw FileError("cannot read " + file.string() + ": " + std::strerror(errno));
  ResultsTable out;
  std::string line;
  std::getline(stream, line);
  for (CsvColumn& column : read_csv_head(line)) {
    out.names.push_back(std::move(column.name));
    out.units.push_back(std::move(column.unit));
  }
  if (out.names.size() < 2 || out.names[0] != "t")
    throw FileError(file.string() + ":1: expected a header of which the first column is t, got " +
                    in_quotes(line.substr(0, 60)));
  out.columns.resize(out.names.size());
  out.texts.resize(out.names.size());
  std::vector<bool> is_text;
  for (const std::string& name : out.names)
    is_text.push_back(std::find(texts.begin(), texts.end(), name) != texts.end());
  for (std::size_t number = 2; std::getline(stream, line); ++number) {
    const std::size_t begin = line.find_first_not_of(' ');  // rows may begin with blanks (CsvFile)
    if (begin == std::string::npos || line[begin] == '\r') continue;
    const std::vector<std::string> cells = csv_cells(std::string_view(line).substr(begin));
    if (cells.size() != out.names.size()) {
      if (stream.eof()) break;  // the last row of a run that was killed, or that goes on
      throw FileError(
          fmt::format("{}:{}: expected {} cells, got {}", file.string(), number, out.names.size(), cells.size()));
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      double x = std::numeric_limits<double>::quiet_NaN();
      if (is_text[i]) {
        out.texts[i].push_back(cells[i]);
      } else if (!cells[i].empty()) {
        const char* const end = cells[i].data() + cells[i].size();
        const auto [stop, code] = std::from_chars(cells[i].data(), end, x);
        if (code != std::errc() || stop != end)
          throw FileError(fmt::format("{}:{}: expected a number for {}, got {}", file.string(), number, out.names[i],
                                      in_quotes(cells[i])));
      }
      out.columns[i].push_back(x);
    }
  }
  return out;
}

std::string Results::name() const {
  fs::path path = fs::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

Results read_results(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) throw StudyError("no directory " + in_quotes(directory.string()));
  if (!fs::is_directory(directory, error))
    throw StudyError(in_quotes(directory.string()) + " is no directory: expected the directory of a run's results");
  Results out;
  out.directory = directory;
  const auto table = [&](const char* name, const std::vector<std::string>& texts = {}) -> std::optional<ResultsTable> {
    if (!fs::exists(directory / name, error)) return std::nullopt;
    return read_table(directory / name, texts);
  };
  out.probes = table("probes.csv");
  out.energy = table("energy.csv");
  out.iterations = table("iterations.csv");
  out.events = table("events.csv", {"event", "contact", "mode_before", "mode"});
  out.summary = read_json_file(directory / "summary.json");
  out.model = read_json_file(directory / "run.json");
  if (!out.probes && !out.energy && !out.events && out.summary.is_null())
    throw StudyError(in_quotes(directory.string()) + " has no results of carom run: expected probes.csv, energy.csv, " +
                     "events.csv or summary.json");
  return out;
}

}  // namespace carom
