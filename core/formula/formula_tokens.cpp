#include "core/formula/formula_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/formula/formula.hpp"

namespace carom::formula_detail {

namespace {

constexpr std::string_view spaces = " \t\r\n";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Length of the UTF-8 character at the start of `s`; 0 if the bytes are not valid UTF-8.
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const std::size_t n = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (n == 0 || n > s.size() || byte(0) > 0xF4) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // overlong encodings, surrogates, and values beyond the last character
  if ((byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xED && byte(1) > 0x9F) ||
      (byte(0) == 0xF0 && byte(1) < 0x90) || (byte(0) == 0xF4 && byte(1) > 0x8F))
    return 0;
  return n;
}
}  // namespace

bool is_identifier(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::string quoted(std::string_view s) {
  constexpr std::size_t longest = 40;
  std::string out = "'";
  const std::string_view rest = s.size() > longest ? s.substr(0, longest) : s;
  for (std::size_t i = 0; i < rest.size();) {
    const std::size_t n = utf8_length(rest.substr(i));
    const auto byte = static_cast<unsigned char>(rest[i]);
    if (n == 0 || byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view hex = "0123456789ABCDEF";
      out += "\\x";
      out += hex[byte >> 4];
      out += hex[byte & 15];
      ++i;
    } else {
      out += rest.substr(i, n);
      i += n;
    }
  }
  return out + (s.size() > longest ? "...'" : "'");
}
Tokens::Tokens(std::string_view text) : text_(text) {
  if (text_.size() > Formula::max_length)
    throw FormulaError(
        Formula::max_length, "the formula is longer than " + std::to_string(Formula::max_length) + " characters",
        std::to_string(text_.size()) + " characters", "at most " + std::to_string(Formula::max_length) + " characters");
  next();
}

bool Tokens::before_parenthesis() const {
  const std::size_t after = text_.find_first_not_of(spaces, position_);
  return after != std::string_view::npos && text_[after] == '(';
}

Token Tokens::take() {
  const Token taken = token_;
  next();
  return taken;
}

void Tokens::next() {
  while (position_ < text_.size() && spaces.find(text_[position_]) != std::string_view::npos) ++position_;
  token_ = {Token::Kind::end, position_, {}, 0.0};
  if (position_ == text_.size()) return;
  const char c = text_[position_];
  if (is_digit(c) || c == '.') {
    next_number();
  } else if (is_letter(c)) {
    token_.kind = Token::Kind::name;
    while (is_letter(peek()) || is_digit(peek())) ++position_;
    if (peek() == rate_mark) ++position_;
  } else {
    token_.kind = Token::Kind::symbol;
    static constexpr std::array<std::string_view, 6> doubles{"<=", ">=", "==", "!=", "&&", "||"};
    const bool twice = std::find(doubles.begin(), doubles.end(), text_.substr(position_, 2)) != doubles.end();
    position_ += twice ? 2 : std::max<std::size_t>(1, utf8_length(text_.substr(position_)));
  }
  token_.text = text_.substr(token_.offset, position_ - token_.offset);
}

void Tokens::next_number() {
  token_.kind = Token::Kind::number;
  std::size_t digits = 0, points = 0;
  bool good_exponent = true;
  for (; is_digit(peek()) || peek() == '.'; ++position_) ++(peek() == '.' ? points : digits);
  if (digits > 0 && (peek() == 'e' || peek() == 'E')) {
    ++position_;
    if (peek() == '+' || peek() == '-') ++position_;
    good_exponent = is_digit(peek());
    while (is_digit(peek())) ++position_;
    // read "1e2.5" as one wrong number instead of two numbers
    for (; peek() == '.' || (!good_exponent && is_digit(peek())); ++position_) good_exponent = false;
  }
  token_.text = text_.substr(token_.offset, position_ - token_.offset);
  if (digits == 0 || points > 1 || !good_exponent)
    fail("expected a number like 1, 0.5 or 1e-3, found " + quoted(token_.text), "a number like 1, 0.5 or 1e-3");
  const auto [end, error] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), token_.number);
  if (error == std::errc::result_out_of_range)
    fail("the number " + quoted(token_.text) + " is too large or too small for double precision",
         "a number within double precision");
  if (error != std::errc() || end != token_.text.data() + token_.text.size())
    fail("expected a number like 1, 0.5 or 1e-3, found " + quoted(token_.text), "a number like 1, 0.5 or 1e-3");
}

std::string Tokens::found() const { return at(Token::Kind::end) ? "the end of the formula" : quoted(token_.text); }

void Tokens::fail(const std::string& message, std::string expected) const {
  throw FormulaError(token_.offset, message, found(), std::move(expected));
}

void Tokens::fail_expected(const std::string& expected) const {
  std::string message = "expected " + expected + ", found " + found();
  if (at("=")) message += "; equality is written ==";
  if (at("&")) message += "; 'and' is written &&";
  if (at("|")) message += "; 'or' is written ||";
  if (at("*") && token_.offset > 0 && text_[token_.offset - 1] == '*') message += "; a power is written ^";
  const bool value_follows = token_.kind == Token::Kind::name || token_.kind == Token::Kind::number || at("(");
  if (value_follows && expected.starts_with("an operator")) message += "; a product is written *";
  fail(message, expected);
}

}  // namespace carom::formula_detail
