#include "io/schema/json_source.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <utility>

#include "core/base/spelling.hpp"

namespace carom {

using nlohmann::json;

namespace {

/// Length of the UTF-8 character at s[i]; 0 if the bytes are not valid UTF-8.
std::size_t character_length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char first = byte(i);
  const std::size_t n = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (n == 0 || n > s.size() - i) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  // overlong encodings, surrogates, and values beyond the last character
  if (n == 3 && ((first == 0xE0 && byte(i + 1) < 0xA0) || (first == 0xED && byte(i + 1) > 0x9F))) return 0;
  if (n == 4 && ((first == 0xF0 && byte(i + 1) < 0x90) || (first == 0xF4 && byte(i + 1) > 0x8F))) return 0;
  return n;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

/// One pass over a text: builds the value and, if requested, the tree of positions.
class JsonParser {
 public:
  using Entry = JsonSource::Entry;

  JsonParser(std::string_view text, JsonSource::Result& result, Entry* root)
      : text_(text), result_(result), root_(root) {}

  void run() {
    try {
      if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
      if (text_.substr(0, 2) == "\xFF\xFE" || text_.substr(0, 2) == "\xFE\xFF")
        fail(0, "the file is in UTF-16; expected UTF-8");
      skip_space();
      if (at_ == text_.size()) fail(0, "the file is empty; expected a JSON object");
      value(result_.value, 0, at_, root_);
      skip_space();
      if (at_ != text_.size()) fail(at_, "expected the end of the file after the model, got " + found());
    } catch (JsonError& error) {
      result_.errors.push_back(std::move(error));
    }
  }

 private:
  [[noreturn]] static void fail(std::size_t offset, std::string message) {
    throw JsonError{offset, std::move(message)};
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  /// The text at the current position, for a message.
  std::string found() const {
    if (at_ >= text_.size()) return "the end of the file";
    constexpr std::size_t longest = 24;
    std::size_t end = at_;
    while (end < text_.size() && end - at_ < longest && is_word(text_[end])) ++end;
    if (end == at_) {
      const std::size_t n = character_length(text_, at_);
      if (n == 0) return "a byte that is not UTF-8";
      end = at_ + n;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "\"") return "a string";
    if (word == "#") return "'#'; a comment begins with '//'";
    if (static_cast<unsigned char>(word[0]) < 0x20) return "a control character";
    return "'" + std::string(word) + "'";
  }

  void skip_space() {
    for (;;) {
      const char c = peek();
      if (at_ < text_.size() && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
        ++at_;
      } else if (c == '/' && text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail(at_, "this comment has no end: expected '*/'");
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  /// `entry` is filled unless it is null.
  void value(json& out, int depth, std::size_t key, Entry* entry) {
    if (depth >= JsonSource::max_depth && (peek() == '{' || peek() == '['))
      fail(at_, "more than " + std::to_string(JsonSource::max_depth) + " nested levels");
    if (entry != nullptr) {
      entry->key = key;
      entry->value = at_;
    }
    switch (peek()) {
      case '{':
        return object(out, depth, entry);
      case '[':
        return list(out, depth, entry);
      case '"':
        out = string();
        return;
      default:
        break;
    }
    if (is_digit(peek()) || peek() == '-' || peek() == '+' || peek() == '.') return number(out);
    return literal(out);
  }

  void literal(json& out) {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "true" || word == "false") {
      out = word == "true";
    } else if (word == "null") {
      out = nullptr;
    } else if (word == "NaN" || word == "nan" || word == "Infinity" || word == "inf") {
      fail(at_, "expected a value, got '" + std::string(word) + "'; numbers must be finite");
    } else if (const std::string meant = nearest_name(word, {"true", "false"}); !meant.empty()) {
      fail(at_, "expected a value, got " + found() + "; did you mean " + meant + "?");
    } else if (word == "None" || word == "nil" || word == "NULL") {
      fail(at_, "expected a value, got " + found() + "; a key without value is left out");
    } else if (peek() == '=') {
      fail(at_, "expected a value, got '='; a formula stands between double quotes");
    } else if (!word.empty() || peek() == '\'') {
      fail(at_, "expected a value, got " + found() + "; strings stand between double quotes");
    } else {
      fail(at_, "expected a value, got " + found());
    }
    at_ = end;
  }

  void number(json& out) {
    const std::size_t begin = at_;
    std::size_t end = begin;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.' || text_[end] == '+' || text_[end] == '-'))
      ++end;
    const std::string_view word = text_.substr(begin, end - begin);
    const auto wrong = [&](const std::string& why) {
      fail(begin, "'" + std::string(word.substr(0, 40)) + (word.size() > 40 ? "..." : "") + "' is no number: " + why);
    };

    // grammar of JSON numbers: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
    std::size_t i = 0;
    const auto digits = [&] {
      const std::size_t first = i;
      while (i < word.size() && is_digit(word[i])) ++i;
      return i - first;
    };
    if (word[0] == '+') wrong("a number has no leading '+'");
    if (word[i] == '-') ++i;
    const std::size_t first_digit = i;
    const std::size_t whole = digits();
    if (word.substr(i) == "Infinity" || word.substr(i) == "inf" || word.substr(i) == "NaN") wrong("it must be finite");
    if (whole == 0) wrong("expected a digit at the beginning");
    if (whole > 1 && word[first_digit] == '0') wrong("a number has no leading zeros");
    bool integral = true;
    if (i < word.size() && word[i] == '.') {
      integral = false;
      ++i;
      if (digits() == 0) wrong("expected a digit after the point");
    }
    if (i < word.size() && (word[i] == 'e' || word[i] == 'E')) {
      integral = false;
      ++i;
      if (i < word.size() && (word[i] == '+' || word[i] == '-')) ++i;
      if (digits() == 0) wrong("expected a digit in the exponent");
    }
    if (i != word.size()) wrong("unexpected '" + std::string(word.substr(i, 1)) + "'");

    // integers stay integers as far as they fit
    const char* first = word.data();
    const char* last = word.data() + word.size();
    at_ = end;
    if (integral) {
      std::int64_t n = 0;
      if (std::from_chars(first, last, n).ec == std::errc()) {
        out = n;
        return;
      }
    }
    double x = 0.0;
    if (std::from_chars(first, last, x).ec != std::errc() || !std::isfinite(x))
      fail(begin, "the number " + std::string(word.substr(0, 40)) + (word.size() > 40 ? "..." : "") +
                      " is out of range: its magnitude must be between 1e-307 and 1e308, or 0");
    out = x;
  }

  std::uint32_t hex4() {
    std::uint32_t code = 0;
    const std::string_view word = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), code, 16);
    if (error != std::errc() || end != word.data() + 4) fail(at_, "expected four hexadecimal digits after '\\u'");
    at_ += 4;
    return code;
  }

  void escape(std::string& out) {
    const std::size_t begin = at_++;
    const char c = peek();
    ++at_;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        return;
      case 'b':
        out += '\b';
        return;
      case 'f':
        out += '\f';
        return;
      case 'n':
        out += '\n';
        return;
      case 'r':
        out += '\r';
        return;
      case 't':
        out += '\t';
        return;
      case 'u':
        break;
      default:
        fail(begin, "unknown escape " + (c > ' ' && c < '\x7F' ? "'\\" + std::string(1, c) + "' " : std::string()) +
                        "in a string; a backslash is written '\\\\'");
    }
    std::uint32_t code = hex4();
    if (code >= 0xD800 && code <= 0xDFFF) {
      // a pair of surrogates
      if (code >= 0xDC00 || text_.substr(at_, 2) != "\\u") fail(begin, "half of a surrogate pair in a string");
      at_ += 2;
      const std::uint32_t low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) fail(begin, "half of a surrogate pair in a string");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, code);
  }

  std::string string() {
    const std::size_t begin = at_++;
    std::string out;
    for (;;) {
      if (at_ >= text_.size() || peek() == '\n' || peek() == '\r')
        fail(begin, "this string has no end: expected '\"' on the same line");
      if (peek() == '"') {
        ++at_;
        return out;
      }
      if (peek() == '\\') {
        escape(out);
        continue;
      }
      const std::size_t n = character_length(text_, at_);
      if (n == 0) fail(at_, "a byte that is not UTF-8 in a string");
      if (static_cast<unsigned char>(peek()) < 0x20)
        fail(at_, "a control character in a string; a tab is written '\\t'");
      out.append(text_.substr(at_, n));
      at_ += n;
    }
  }

  void object(json& out, int depth, Entry* entry) {
    const std::size_t begin = at_++;
    out = json::object();
    const std::size_t path_size = path_.size();
    for (bool first = true;; first = false) {
      skip_space();
      if (peek() == '}' && first) break;
      if (at_ == text_.size()) fail(begin, "this '{' has no end: expected '}'");
      if (peek() == '}') fail(at_, "expected a key after ',', got '}'; there is a comma too many before it");
      if (peek() != '"') fail(at_, "expected a key between double quotes, got " + found());

      // key and value; of several equal keys the first keeps its value
      const std::size_t key_at = at_;
      std::string key = string();
      if (key.size() > JsonSource::max_key)
        fail(key_at, "a key of more than " + std::to_string(JsonSource::max_key) + " characters");
      skip_space();
      if (peek() != ':') fail(at_, "expected ':' after the key " + in_quotes(key) + ", got " + found());
      ++at_;
      skip_space();
      path_ += '/';
      path_ += escape_pointer(key);
      if (out.contains(key)) {
        if (result_.duplicates.size() == JsonSource::max_duplicates)
          fail(key_at, "more than " + std::to_string(JsonSource::max_duplicates) + " keys occur a second time");
        result_.duplicates.push_back({path_, key_at});
        json ignored;
        value(ignored, depth + 1, key_at, nullptr);
      } else {
        value(out[key], depth + 1, key_at, entry == nullptr ? nullptr : &entry->members[key]);
      }
      path_.resize(path_size);

      skip_space();
      if (peek() == '}') break;
      if (at_ == text_.size()) fail(begin, "this '{' has no end: expected '}'");
      if (peek() != ',') fail(at_, "expected ',' or '}' after the value, got " + found());
      ++at_;
    }
    ++at_;
  }

  void list(json& out, int depth, Entry* entry) {
    const std::size_t begin = at_++;
    out = json::array();
    const std::size_t path_size = path_.size();
    for (bool first = true;; first = false) {
      skip_space();
      if (peek() == ']' && first) break;
      if (at_ == text_.size()) fail(begin, "this '[' has no end: expected ']'");
      if (peek() == ']') fail(at_, "expected a value after ',', got ']'; there is a comma too many before it");
      path_ += '/';
      path_ += std::to_string(out.size());
      json item;
      value(item, depth + 1, at_, entry == nullptr ? nullptr : &entry->items.emplace_back());
      out.push_back(std::move(item));
      path_.resize(path_size);

      skip_space();
      if (peek() == ']') break;
      if (at_ == text_.size()) fail(begin, "this '[' has no end: expected ']'");
      if (peek() != ',') fail(at_, "expected ',' or ']' after the value, got " + found());
      ++at_;
    }
    ++at_;
  }

  std::string_view text_;
  JsonSource::Result& result_;
  Entry* root_;
  std::size_t at_ = 0;
  std::string path_;
};

JsonSource::Result JsonSource::parse() const {
  Result result;
  JsonParser(text_, result, nullptr).run();
  return result;
}

JsonSource::Place JsonSource::place(std::size_t offset) const {
  constexpr std::size_t stride = 1024;
  const auto step = [&](Place& place, std::size_t i) {
    if (text_[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) {
      ++place.column;
    }
  };
  // a byte order mark does not count as a character
  const std::size_t begin = text_.compare(0, 3, "\xEF\xBB\xBF") == 0 ? 3 : 0;
  if (marks_.empty()) {
    Place place{1, 1};
    for (std::size_t i = begin; i <= text_.size(); ++i) {
      if ((i - begin) % stride == 0) marks_.push_back(place);
      if (i < text_.size()) step(place, i);
    }
  }
  const std::size_t end = std::clamp(offset, begin, text_.size()), mark = (end - begin) / stride;
  Place place = marks_[mark];
  for (std::size_t i = begin + mark * stride; i < end; ++i) step(place, i);
  return place;
}

const JsonSource::Entry* JsonSource::find(const std::string& pointer, bool& exact) const {
  if (root_ == nullptr) {
    root_ = std::make_unique<Entry>();
    Result result;
    JsonParser(text_, result, root_.get()).run();
  }
  // descend as far as values exist
  const Entry* entry = root_.get();
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string_view segment = std::string_view(pointer).substr(begin, end - begin);
    const Entry* next = nullptr;
    if (!entry->items.empty()) {
      std::size_t index = entry->items.size();
      std::from_chars(segment.data(), segment.data() + segment.size(), index);
      if (index < entry->items.size()) next = &entry->items[index];
    } else if (const auto member = entry->members.find(unescape_pointer(segment)); member != entry->members.end()) {
      next = &member->second;
    }
    if (next == nullptr) {
      exact = false;
      return entry;
    }
    entry = next;
    begin = end + 1;
  }
  exact = true;
  return entry;
}

bool JsonSource::has(const std::string& pointer) const {
  bool exact = false;
  find(pointer, exact);
  return exact;
}

JsonSource::Place JsonSource::place(const std::string& pointer, bool at_key) const {
  bool exact = false;
  const Entry* const entry = find(pointer, exact);
  return place(at_key && exact ? entry->key : entry->value);
}

std::string escape_pointer(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

std::string unescape_pointer(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const char next = i + 1 < segment.size() ? segment[i + 1] : '\0';
    if (segment[i] == '~' && (next == '0' || next == '1')) {
      out += next == '0' ? '~' : '/';
      ++i;
    } else {
      out += segment[i];
    }
  }
  return out;
}

bool is_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = character_length(s, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string in_quotes(std::string_view s) {
  constexpr std::size_t longest = 60;
  std::size_t shown = std::min(s.size(), longest);
  if (is_utf8(s))
    while (shown < s.size() && (static_cast<unsigned char>(s[shown]) & 0xC0) == 0x80) --shown;
  const std::string part = std::string(s.substr(0, shown)) + (shown < s.size() ? "..." : "");
  return json(part).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/.,:=+-_@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string printable(std::string_view s, std::size_t longest) {
  std::size_t shown = std::min(s.size(), longest);
  while (shown < s.size() && shown > 0 && (static_cast<unsigned char>(s[shown]) & 0xC0) == 0x80) --shown;
  std::string out;
  const bool utf8 = is_utf8(s.substr(0, shown));
  for (std::size_t i = 0; i < shown; ++i) {
    const auto byte = [&](std::size_t k) { return k < shown ? static_cast<unsigned char>(s[k]) : 0U; };
    const bool c1 = byte(i) == 0xC2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xA0;
    const bool turns = byte(i) == 0xE2 && ((byte(i + 1) == 0x80 && byte(i + 2) >= 0xAA && byte(i + 2) <= 0xAE) ||
                                           (byte(i + 1) == 0x81 && byte(i + 2) >= 0xA6 && byte(i + 2) <= 0xA9));
    out += byte(i) < 0x20 || byte(i) == 0x7F || c1 || turns || (byte(i) >= 0x80 && !utf8) ? '?' : s[i];
    i += c1 ? 1 : turns ? 2 : 0;
  }
  return shown < s.size() ? out + "..." : out;
}

std::string brief(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_number_float()) {
    // in the usual form: 2.1e+11 instead of 210000000000.0
    char digits[32];
    const auto x = value.get<double>();
    std::string text(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    // 3.2 instead of 3.2000000000000006, but not 1 for a value slightly above 1
    const std::string rounded(digits,
                              std::to_chars(digits, digits + sizeof digits, x, std::chars_format::general, 15).ptr);
    return text.size() > 16 && rounded.size() < text.size() && rounded.find('.') != std::string::npos ? rounded : text;
  }
  if (!value.is_structured()) return value.dump();
  if (value.is_object()) return value.empty() ? "{}" : "an object";
  // show short lists of numbers and words
  bool flat = value.size() <= 8;
  for (std::size_t i = 0; flat && i < value.size(); ++i) flat = !value[i].is_structured();
  if (flat) {
    std::string out = "[";
    for (std::size_t i = 0; i < value.size(); ++i) out += (i > 0 ? ", " : "") + brief(value[i]);
    if (out.size() < 80) return out + "]";
  }
  return "a list of " + std::to_string(value.size());
}

}  // namespace carom
