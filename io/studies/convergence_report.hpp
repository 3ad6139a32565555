// A convergence study and its reports: a table, convergence.csv and .json, and a picture by gnuplot.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/studies/convergence.hpp"
#include "io/studies/study_run.hpp"

namespace carom {

/// Orders of a quantity: of each run relative to the preceding run, if both have errors, and fitted to all runs.
struct StudyOrders {
  std::vector<std::optional<double>> mean, max, end;
  std::optional<double> fitted_mean, fitted_max, fitted_end;
};

struct Study {
  std::string model, file;     ///< name and file of the model
  std::string label, pointer;  ///< name and pointer of what varies
  std::string unit;            ///< of what varies; empty without one
  bool numbers = true;         ///< false: the values are no numbers, and there are no orders
  bool finer_is_smaller = true;
  std::optional<TimeWindow> window;  ///< of the errors
  std::vector<StudyQuantity> quantities;
  std::vector<StudyRun> runs;
  std::string reference;            ///< description of the reference; empty: no reference
  std::vector<StudyOrders> orders;  ///< one per quantity
  RunStatus status = RunStatus::completed;
};

/// The orders of a quantity over StudyRun::value; sign: 1 if errors of finer runs belong to smaller values, else -1.
StudyOrders orders_of(const std::vector<StudyRun>& runs, std::size_t quantity, int sign);
/// Computes the orders, which are positive if errors decrease in finer runs.
void find_orders(Study& study);

std::string study_table(const Study& study);
/// The names of all files.
std::vector<std::string> study_files();
/// Creates the directory. Throws FileError if files of these names cannot be written there.
void prepare_study(const std::filesystem::path& directory, const std::vector<std::string>& files);
/// Writes the files. Returns sentences for what could not be drawn. Throws FileError.
std::vector<std::string> write_study(const Study& study, const std::filesystem::path& directory);

}  // namespace carom
