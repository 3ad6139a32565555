// What a sweep keeps of its points: the record of a point, and one table of all points.
//
// A result is written NAME or NAME:last, NAME:min, NAME:max with the name of a probe or of a column of probes.csv, or
// energy.COLUMN with a column of energy.csv; or it is one of the numbers of a run in run_numbers(): steps, impacts, ...
// The smallest and the largest value are those of the rows of the table, so a probe that is not recorded at every step
// may miss a peak.
//
// The record of a point, point.json in its directory, appears whole when the point has ended for good: completed,
// missed expectations, invalid, or without convergence. It is all that the table needs; the files of the run may be
// deleted. A point without a record is solved, or goes on from its checkpoint, when the sweep goes on. The table
// depends on the records alone, so that an interrupted sweep ends with the same bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/results/prepared_run.hpp"
#include "io/studies/sweep_plan.hpp"

namespace carom {

/// A column of the table.
struct SweepResult {
  enum class From { probes, energy, run };
  enum class Which { last, min, max };
  std::string name;  ///< head of the column, without the unit: "tip.z:max", "impacts"
  std::string unit;  ///< SI; may be empty
  From from = From::run;
  std::string column;  ///< of the table
  Which which = Which::last;
};

/// The names of the numbers of a run.
std::vector<std::string> run_numbers();

/// The columns of the requested results; without a request the last, smallest and largest value of all probes, and the
/// numbers of a run. Throws StudyError for an unknown result.
std::vector<SweepResult> sweep_results(const PreparedRun& run, const std::vector<std::string>& requested);

struct PointRecord {
  int exit_code = 0;
  std::string reason;                    ///< the first message of a point that failed
  std::map<std::string, double> values;  ///< by SweepResult::name

  /// "completed", "missed expectation", "invalid", "failed", "file error", "internal error", "killed"
  std::string status() const;
  bool has_values() const { return exit_code == 0 || exit_code == 6; }
  /// Whether the point would end in the same way again; a full disk or a kill would not.
  bool final() const { return exit_code == 0 || exit_code == 3 || exit_code == 4 || exit_code == 6; }
};

/// Reads the results from the files of a run; a column that the run does not have is left out. Throws FileError.
std::map<std::string, double> read_values(const std::filesystem::path& directory,
                                          const std::vector<SweepResult>& results);

/// The record in a point's directory, with these results; nullopt if there is none, or if it lacks a result that the
/// files of the run no longer have. Throws FileError.
std::optional<PointRecord> read_record(const std::filesystem::path& directory, const std::vector<SweepResult>& results);
void write_record(const std::filesystem::path& directory, const PointRecord& record,
                  const std::vector<SweepResult>& results);

/// The table as CSV: number of the point, values of the keys, status, exit code, results, reason. Units stand in
/// brackets in the head. A point without a record has the status "missing".
std::string sweep_table(const SweepPlan& plan, const std::vector<SweepResult>& results,
                        const std::vector<std::optional<PointRecord>>& records);

}  // namespace carom
