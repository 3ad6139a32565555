// Internal to core/formula: the tokens of a text, and the errors at one of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carom::formula_detail {

/// Letter or underscore, then also digits.
bool is_identifier(std::string_view name);

/// Quoted for a message, shortened, with unprintable bytes as \xNN.
std::string quoted(std::string_view s);

struct Token {
  enum class Kind { end, number, name, symbol };
  Kind kind = Kind::end;
  std::size_t offset = 0;  // in the text
  std::string_view text;   // as written
  double number = 0.0;     // of Kind::number
};

/// Goes through a text token by token, which must outlive it.
class Tokens {
 public:
  /// At the first token. Throws FormulaError when the text is too long or starts with a wrong number.
  explicit Tokens(std::string_view text);

  const Token& current() const { return token_; }
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool at(std::string_view symbol) const { return token_.kind == Token::Kind::symbol && token_.text == symbol; }
  /// Whether a parenthesis follows the current token.
  bool before_parenthesis() const;

  /// Returns the current token and goes on to the next. Throws FormulaError when that is a wrong number.
  Token take();

  /// The current token for a message.
  std::string found() const;
  /// Throws FormulaError at the current token.
  [[noreturn]] void fail(const std::string& message, std::string expected) const;
  /// The same with the message "expected ..., found ...", and a hint where the notation of another language is used.
  [[noreturn]] void fail_expected(const std::string& expected) const;

 private:
  void next();
  void next_number();
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;  // behind the current token
  Token token_;
};

}  // namespace carom::formula_detail
