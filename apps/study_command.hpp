// StudyCommand: what converge and compare share. Both solve variants of one model in one process and compare their
// probes.
#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands.hpp"
#include "io/results/directory_lock.hpp"
#include "io/studies/study_run.hpp"
#include "io/studies/study_words.hpp"

namespace carom {

class StudyCommand : public Command {
 public:
  /// Handles the signals and calls study(). Returns exit code 2, after a message, for a StudyError.
  int run() final;

 protected:
  /// name: of the command, for messages and the default directory.
  explicit StudyCommand(std::string name) : name_(std::move(name)) {}

  virtual int study() = 0;

  /// The options --probe, --window, --expect, --set, --output, --threads, --quiet; `column` is the form of
  /// what --expect names.
  void declare_shared(CLI::App& app, const std::string& column);

  /// Non-zero after the first Ctrl-C or SIGTERM.
  static const volatile std::sig_atomic_t* stop_flag();
  static bool stopped() { return *stop_flag() != 0; }

  std::string model_name() const { return std::filesystem::path(model_).stem().string(); }
  /// Prepares the model with further overrides "/pointer=value" after those of --set.
  PreparedRun prepare(const std::vector<std::string>& more) const;
  /// Prints the errors of a model, unless they come from an interrupt, which also reaches Gmsh. Returns the exit code.
  int refuse(const ModelIssues& issues) const;
  /// Solves a prepared run. `begin`: seconds that its preparation took. Throws StudyError if no step lies in the
  /// window.
  StudyRun solve(PreparedRun run, double begin_seconds) const;
  /// Prints notes, unless the study is quiet.
  void say_notes(const std::vector<std::string>& notes) const;
  /// Prints a line of progress: "[2/5] step 1e-3: 1000 steps in 0.2 s".
  void say(std::size_t number, std::size_t count, const std::string& what, const StudyRun& run) const;

  std::optional<TimeWindow> window() const;
  /// Adds errors against the reference to the runs that are complete. Throws StudyError if the reference does not cover
  /// a run. `reference_text` describes the reference.
  void add_errors(std::vector<StudyRun>& runs, const Samples& reference, const std::vector<StudyQuantity>& quantities,
                  const std::string& reference_text) const;
  /// Reads a reference file, which has the columns of the quantities.
  static Samples read_reference(const std::string& file, const std::vector<StudyQuantity>& quantities);

  /// The directory of the results, created and locked; refuses to overwrite the files that the study reads.
  std::filesystem::path open_directory(DirectoryLock& lock, const std::vector<std::string>& written,
                                       const std::vector<std::string>& read) const;
  /// True if the order is within the tolerance; otherwise prints the difference.
  bool meets(const ExpectedOrder& expected, const std::optional<double>& found) const;

  std::string model_;
  std::vector<std::string> probes_, expected_, overrides_;
  int threads_ = 1;
  bool quiet_ = false;

 private:
  std::string name_, window_;
  std::filesystem::path directory_;
};

}  // namespace carom
