// A model file read, checked and completed: what the builder of the mechanics works on.
//
//   ModelDocument document = load_model("pendulum.json", {"/integrator/step=1e-4"});
//   if (!document.ok()) std::cerr << document.report();
//   double step = document.resolved["integrator"]["step"];
//
// In `resolved` every default is filled in, every "=..." is a number, a single point of a contact's `on` is a list of
// one, and `parameters` holds only those that formulas of t need; formulas of t stay strings. It is itself a valid
// model: run again, it gives the same document. Optional keys without a default that are not given are absent.
//
// Limits: when !ok(), `resolved` holds what could be read, wrong values as they were found.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

class JsonSource;

/// One error of the model. `origin` is the file's name, or "--set /pointer=value" for a value given there (line and
/// column are then 0). `pointer` is empty for errors of syntax and of the whole document.
struct ModelIssue {
  std::string pointer, message;
  int line = 0, column = 0;
  std::string origin;
};

struct ModelDocument {
  std::string file;
  nlohmann::json resolved;
  std::vector<ModelIssue> issues;

  bool ok() const { return issues.empty(); }

  /// All errors, one per line, in the order of the file, with a last line that counts them and says where to read on.
  /// Empty when ok(). With the width of a terminal, the line of the file and a '^' at the place follow each error.
  std::string report(std::size_t terminal_width = 0) const;

  /// Adds an error; its position is that of the value at `pointer`, or of the nearest ancestor that was written.
  void add_issue(const std::string& pointer, const std::string& message);
  /// The same at the position of the key.
  void add_issue_at_key(const std::string& pointer, const std::string& message);

  /// Where the value at `pointer` was written; pointer and message are left empty.
  ModelIssue locate(const std::string& pointer, bool at_key = false) const;

  /// The parameters that formulas of t may use.
  std::map<std::string, double, std::less<>> parameters() const;

  /// The text and the values given with --set, for positions; set by the reader.
  std::shared_ptr<const JsonSource> source;
  bool is_json = false;  ///< whether the text has no errors of syntax
  std::vector<std::string> overrides;
};

/// Reads and checks a model. overrides: "/json/pointer=value", where value is JSON or a string without quotes. The
/// document contains the errors of a wrong model. Throws FileError if the file cannot be read.
ModelDocument load_model(const std::string& path, const std::vector<std::string>& overrides = {});

/// Reads and checks a text; `file_name` is for messages.
ModelDocument parse_model(std::string text, const std::string& file_name,
                          const std::vector<std::string>& overrides = {});

}  // namespace carom
