// A directory of results of `carom run`, as read by `carom plot` and `carom report`. Every file may be missing: a run
// may still go on, or its output may be switched off.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace carom {

/// A CSV file with a head. An empty cell and a word in a column of numbers are NaN.
struct ResultsTable {
  std::vector<std::string> names;
  std::vector<std::string> units;  ///< as in the head; empty without one
  std::vector<std::vector<double>> columns;
  /// Columns of the names in `texts` of read_table(), otherwise empty.
  std::vector<std::vector<std::string>> texts;

  /// Number of a column; nullopt if there is no such column.
  std::optional<std::size_t> find(const std::string& name) const;
  std::size_t rows() const { return columns.empty() ? 0 : columns[0].size(); }
};

/// Throws FileError. `texts`: names of columns that are no numbers.
ResultsTable read_table(const std::filesystem::path& file, const std::vector<std::string>& texts = {});

struct Results {
  std::filesystem::path directory;
  std::optional<ResultsTable> probes, energy, events, iterations;
  nlohmann::json summary, model;  ///< summary.json and run.json; null without

  /// Name of the directory.
  std::string name() const;
};

/// Throws StudyError if there is no such directory or if it has no results, FileError if a file cannot be read.
Results read_results(const std::filesystem::path& directory);

}  // namespace carom
