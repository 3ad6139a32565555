// A model file that has been read, checked and completed; the mechanics are built from it. A document is constant.
//
//   const ModelDocument document = load_model("pendulum.json", {"/integrator/step=1e-4"});
//   if (!document.ok()) std::cerr << document.report();
//   double step = document.resolved()["integrator"]["step"];
//
// In `resolved()` every default is filled in, every "=..." is a number, a single point of a contact's `on` is a list
// with one entry, and `parameters` contains only parameters of formulas of t; formulas of t stay strings. `resolved()`
// is a valid model and resolves to itself. Optional keys without value and default are absent.
//
// Errors that appear only during building go to a separate list, ModelIssues, which starts as a copy of the document's
// list.
//
// Limits: if !ok(), `resolved()` contains all readable values; wrong values are unchanged.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carom {

class JsonSource;

/// An error of the model. origin: the file's name, or the command-line option that gave the value, as in "--set
/// /pointer=value" (line and column are then 0). pointer: empty for errors of syntax and of the whole document.
struct ModelIssue {
  std::string pointer, message;
  int line = 0, column = 0;
  std::string origin;
};

/// The text of a model and the values of --set, with the position of every value.
struct ModelSource {
  std::string file;
  std::shared_ptr<const JsonSource> text;
  bool is_json = false;                ///< the text has no errors of syntax
  std::vector<std::string> overrides;  ///< applied overrides "/pointer=value"

  /// Position of the value at `pointer`, or of its key; position of the nearest ancestor in the text if the value is
  /// not there. Pointer and message of the result are empty.
  ModelIssue locate(const std::string& pointer, bool at_key = false) const;
};

/// The errors of a model with their positions.
class ModelIssues {
 public:
  explicit ModelIssues(ModelSource source = {}) : source_(std::move(source)) {}

  /// Adds an error at the position of the value at `pointer`.
  void add(const std::string& pointer, const std::string& message) { add_at(pointer, message, false); }
  /// Adds an error at the position of the key.
  void add_at_key(const std::string& pointer, const std::string& message) { add_at(pointer, message, true); }
  /// Adds an error of a command-line option in the form "--until 3".
  void add_for_option(const std::string& option, const std::string& message) { add({"", message, 0, 0, option}); }
  /// Adds an error with a known position.
  void add(ModelIssue issue) { issues_.push_back(std::move(issue)); }

  bool empty() const { return issues_.empty(); }
  std::size_t size() const { return issues_.size(); }
  const ModelIssue& operator[](std::size_t i) const { return issues_[i]; }
  auto begin() const { return issues_.begin(); }
  auto end() const { return issues_.end(); }

  /// All errors, one per line, in the order of the file; the last line counts the errors and names the manual. Empty if
  /// there are no errors. With the width of a terminal, the line of the file and a '^' under the place follow each
  /// error.
  std::string report(std::size_t terminal_width = 0) const;

  const ModelSource& source() const { return source_; }

 private:
  void add_at(const std::string& pointer, const std::string& message, bool at_key);

  ModelSource source_;
  std::vector<ModelIssue> issues_;
};

class ModelDocument {
 public:
  ModelDocument(nlohmann::json resolved, ModelIssues issues);

  const nlohmann::json& resolved() const { return *resolved_; }
  const ModelIssues& issues() const { return issues_; }
  const ModelSource& source() const { return issues_.source(); }

  bool ok() const { return issues_.empty(); }
  std::string report(std::size_t terminal_width = 0) const { return issues_.report(terminal_width); }

  /// The parameters that formulas of t may use.
  std::map<std::string, double, std::less<>> parameters() const;

 private:
  std::shared_ptr<const nlohmann::json> resolved_;  // null only after a move
  ModelIssues issues_;
};

/// Reads and checks a model. overrides: "/json/pointer=value", where value is JSON or a string without quotes. The
/// document contains the errors of a wrong model. Throws FileError if the file cannot be read.
ModelDocument load_model(const std::string& path, const std::vector<std::string>& overrides = {});

/// Reads and checks a text; `file_name` is for messages.
ModelDocument parse_model(std::string text, const std::string& file_name,
                          const std::vector<std::string>& overrides = {});

}  // namespace carom
