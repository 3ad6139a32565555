// Internal to core/formula: splits a text into tokens and reports errors at tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carom::formula_detail {

/// True for a letter or underscore, followed by letters, digits or underscores.
bool is_identifier(std::string_view name);

/// Ends the name of a rate, as in x'.
inline constexpr char rate_mark = '\'';
inline std::string_view without_rate_mark(std::string_view name) {
  return name.ends_with(rate_mark) ? name.substr(0, name.size() - 1) : name;
}

/// `s` in quotes for a message: shortened, with unprintable bytes as \xNN.
std::string quoted(std::string_view s);

struct Token {
  enum class Kind { end, number, name, symbol };
  Kind kind = Kind::end;
  std::size_t offset = 0;  // in the text
  std::string_view text;   // as written
  double number = 0.0;     // of Kind::number
};

/// Reads a text token by token. The text must outlive the object.
class Tokens {
 public:
  /// Starts at the first token. Throws FormulaError if the text is too long or starts with a wrong number.
  explicit Tokens(std::string_view text);

  const Token& current() const { return token_; }
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool at(std::string_view symbol) const { return token_.kind == Token::Kind::symbol && token_.text == symbol; }
  /// True if a parenthesis follows the current token.
  bool before_parenthesis() const;

  /// Returns the current token and advances to the next. Throws FormulaError if the next token is a wrong number.
  Token take();

  /// The current token as text for a message.
  std::string found() const;
  /// Throws FormulaError at the current token.
  [[noreturn]] void fail(const std::string& message, std::string expected) const;
  /// Throws with the message "expected ..., found ...", and with a hint if the notation belongs to another language.
  [[noreturn]] void fail_expected(const std::string& expected) const;

 private:
  void next();
  void next_number();
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;  // position after the current token
  Token token_;
};

}  // namespace carom::formula_detail
