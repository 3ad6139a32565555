// Runs the program like a user: as a separate process in a temporary directory.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace carom::cli_test {

/// A new empty directory, which is removed with its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int code = -1;  ///< exit code, or 128 + the signal that ended the process
  std::string out, err;
};

/// A process that may still run.
class Process {
 public:
  Process(const TemporaryDirectory& directory, const std::vector<std::string>& arguments);
  /// Kills the process if nobody has waited for it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void send(int signal) const;
  bool running();
  Outcome wait();

 private:
  std::filesystem::path directory_;
  int id_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

/// Runs carom ARGUMENTS in the directory and waits for its end.
Outcome run_carom(const TemporaryDirectory& directory, const std::vector<std::string>& arguments);

/// data/models/NAME.json of the source tree; all such names.
std::string model_path(const std::string& name);
std::vector<std::string> model_names();
/// True if the integrator is static: no impacts, no energy ledger, other keys.
bool is_static_model(const std::string& name);
/// True if the integrator is explicit: contacts and joints hold at velocity level only, other keys.
bool is_explicit_model(const std::string& name);

using Words = std::vector<std::string>;
Words joined(Words words, const Words& more);
bool contains(const std::string& text, const std::string& part);
/// The lines that are not blank, without leading blanks.
std::vector<std::string> lines_of(const std::string& text);

std::string read(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& text);
nlohmann::json read_json(const std::filesystem::path& path);
/// A model of a box of steel that hangs in a hinge at its left face.
void write_hinged_solid(const std::filesystem::path& path, const std::vector<double>& size,
                        const std::vector<int>& divisions, const nlohmann::json& integrator);

/// The table of a CSV file with complete lines only; otherwise fails the test.
struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
};
/// names: without units.
Table read_csv(const std::filesystem::path& path);

/// The times in the only PVD file of the directory. Fails the test unless the file is well formed and all listed files
/// are present and complete.
std::vector<double> series_times(const std::filesystem::path& directory);

}  // namespace carom::cli_test
