// The text of a JSON file: values, and where each of them stands.
//
// RFC 8259 with // and /* */ comments and a byte order mark allowed. Errors are plain sentences with an offset. Values
// are limited to max_depth nested levels, keys to max_key bytes; numbers must fit a double; strings must be UTF-8; NaN
// does not exist. A key given twice is reported and the first value kept. Memory and time grow with the size of the
// text, and not with the number of places asked for times that size.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace carom {

/// A text that is no JSON.
struct JsonError {
  std::size_t offset = 0;
  std::string message;
};

/// A key that occurs again in its object.
struct JsonDuplicate {
  std::string pointer;
  std::size_t offset = 0;
};

class JsonSource {
 public:
  static constexpr int max_depth = 100;
  static constexpr std::size_t max_key = 1000;
  static constexpr std::size_t max_duplicates = 1000;

  struct Place {
    int line = 0, column = 0;  ///< from 1; columns are characters
  };

  struct Result {
    nlohmann::json value;
    std::vector<JsonError> errors;  ///< none or one
    std::vector<JsonDuplicate> duplicates;
  };

  explicit JsonSource(std::string text) : text_(std::move(text)) {}

  /// The value of the whole text. Never throws for a wrong text.
  Result parse() const;

  Place place(std::size_t offset) const;

  /// Where the value at `pointer` begins, or its key; the nearest ancestor when there is no such value. Scans the text
  /// again the first time.
  Place place(const std::string& pointer, bool at_key) const;

  /// Whether the text has a value at `pointer`.
  bool has(const std::string& pointer) const;

  /// The line of a place and below it a line with '^' under its column, for a terminal of `width` columns: long lines
  /// are cut around the column, tabs become blanks, what cannot be shown becomes '?'. Empty for a blank line.
  std::string excerpt(Place place, std::size_t width) const;

 private:
  /// Where a value and its key begin, and the values in it by key or index.
  struct Entry {
    std::size_t key = 0, value = 0;
    std::map<std::string, Entry, std::less<>> members;
    std::vector<Entry> items;
  };
  friend class JsonParser;
  /// The value at the pointer, or the nearest one above it.
  const Entry* find(const std::string& pointer, bool& exact) const;

  std::string text_;
  mutable std::unique_ptr<Entry> root_;  // null until needed
  mutable std::vector<Place> marks_;     // places of every 1024th byte; empty until needed
};

/// "~" and "/" in a key, as a pointer writes them; and back.
std::string escape_pointer(std::string_view key);
std::string unescape_pointer(std::string_view segment);

/// Whether `s` is valid UTF-8.
bool is_utf8(std::string_view s);

/// A string between quotes for a message: shortened, control characters escaped.
std::string in_quotes(std::string_view s);

/// For one line of a terminal: no control characters, nor those that turn the direction of writing.
std::string printable(std::string_view s, std::size_t longest = std::string_view::npos);

/// "got" part of a message: a short value in JSON, or "an object", "a list of 3".
std::string brief(const nlohmann::json& value);

}  // namespace carom
