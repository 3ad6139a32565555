// A convergence study and its reports: a table, convergence.csv, .json and .svg.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/simulation.hpp"
#include "io/studies/convergence.hpp"

namespace carom {

/// A probe and its columns.
struct StudyQuantity {
  std::string name;
  std::vector<std::string> columns;
};

struct StudyRun {
  std::string word;  ///< the value as given by the user
  double value = 0;
  RunStatus status = RunStatus::completed;
  std::string failure;
  Samples samples;
  RunStatistics statistics;
  double seconds = 0;
  std::vector<ProbeError> errors;  ///< one per quantity; empty without a reference
};

/// Orders of a quantity: of each run relative to the preceding run, if both have errors, and fitted to all runs.
struct StudyOrders {
  std::vector<std::optional<double>> mean, max, end;
  std::optional<double> fitted_mean, fitted_max, fitted_end;
};

struct Study {
  std::string model, file;     ///< name and file of the model
  std::string label, pointer;  ///< name and pointer of the varied number
  bool finer_is_smaller = true;
  std::vector<std::string> subproblems;
  std::vector<StudyQuantity> quantities;
  std::vector<StudyRun> runs;
  std::string reference;            ///< description of the reference; empty: no reference
  std::vector<StudyOrders> orders;  ///< one per quantity
  RunStatus status = RunStatus::completed;
};

/// Computes the orders, which are positive if errors decrease in finer runs.
void find_orders(Study& study);

std::string study_table(const Study& study);
/// The names of the three files.
std::vector<std::string> study_files();
/// Creates the directory. Throws FileError if files cannot be written there.
void prepare_study(const std::filesystem::path& directory);
/// Writes the files. Throws FileError.
void write_study(const Study& study, const std::filesystem::path& directory);

}  // namespace carom
