// The text of a JSON file: its values and their positions.
//
// RFC 8259; // and /* */ comments and a byte order mark are allowed. Errors are plain sentences with an offset. Values
// may be nested max_depth levels deep, keys may have max_key bytes; numbers must fit a double, strings must be UTF-8,
// NaN is an error. A repeated key is reported, and its first value is kept. Memory and time grow linearly with the size
// of the text, however many positions are requested.
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

/// The text is not JSON.
struct JsonError {
  std::size_t offset = 0;
  std::string message;
};

/// A repeated key of an object.
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
    int line = 0, column = 0;  ///< counted from 1; a column is a character
  };

  struct Result {
    nlohmann::json value;
    std::vector<JsonError> errors;  ///< at most one error
    std::vector<JsonDuplicate> duplicates;
  };

  explicit JsonSource(std::string text) : text_(std::move(text)) {}

  /// Parses the whole text. Never throws, even for a wrong text.
  Result parse() const;

  Place place(std::size_t offset) const;

  /// Position of the value at `pointer`, or of its key; position of the nearest ancestor if there is no such value. The
  /// first call scans the text again.
  Place place(const std::string& pointer, bool at_key) const;

  /// True if the text has a value at `pointer`.
  bool has(const std::string& pointer) const;

  /// The line of a place, followed by a line with '^' under its column, for a terminal with `width` columns. Long lines
  /// are cut around the column, tabs become blanks, unprintable characters become '?'. Empty for a blank line.
  std::string excerpt(Place place, std::size_t width) const;

 private:
  /// Positions of a value and its key, and the values inside by key or index.
  struct Entry {
    std::size_t key = 0, value = 0;
    std::map<std::string, Entry, std::less<>> members;
    std::vector<Entry> items;
  };
  friend class JsonParser;
  /// The entry at the pointer, or its nearest existing ancestor.
  const Entry* find(const std::string& pointer, bool& exact) const;

  std::string text_;
  mutable std::unique_ptr<Entry> root_;  // null until needed
  mutable std::vector<Place> marks_;     // positions of every 1024th byte; empty until needed
};

/// Escapes "~" and "/" in a key for a JSON pointer; and the inverse.
std::string escape_pointer(std::string_view key);
std::string unescape_pointer(std::string_view segment);

/// True if `s` is valid UTF-8.
bool is_utf8(std::string_view s);

/// A string in quotes for a message: shortened, with escaped control characters.
std::string in_quotes(std::string_view s);

/// A text for one line of a terminal: without control characters and without characters that change the writing
/// direction.
std::string printable(std::string_view s, std::size_t longest = std::string_view::npos);

/// A word of a command line: in single quotes, unless a shell takes it as it is.
std::string shell_word(const std::string& text);

/// The value for "got" in a message: a short value as JSON, or "an object", "a list of 3".
std::string brief(const nlohmann::json& value);

}  // namespace carom
