// A line of a JSON file with a mark under one of its columns, for a terminal.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "io/schema/json_source.hpp"

namespace carom {

namespace {

/// Number of terminal columns of a character: 0 for combining marks, 2 for wide characters.
std::size_t columns_of(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  static constexpr Range none[] = {{0x300, 0x36F},   {0x200B, 0x200F}, {0x202A, 0x202E},
                                   {0x2060, 0x2069}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}};
  static constexpr Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                                   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                                   {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  const auto contains = [code](const Range& r) { return code >= r.first && code <= r.last; };
  if (std::any_of(std::begin(none), std::end(none), contains)) return 0;
  return std::any_of(std::begin(wide), std::end(wide), contains) ? 2 : 1;
}

/// The code point of a valid UTF-8 character.
std::uint32_t code_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  const unsigned mask = character.size() == 1   ? 0x7F
                        : character.size() == 2 ? 0x1F
                        : character.size() == 3 ? 0x0F
                                                : 0x07;
  std::uint32_t code = first & mask;
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

/// A character in the form in which the terminal shows it.
struct Cell {
  std::string text;
  std::size_t columns = 1;
};

/// The characters of a line, counted as in JsonSource::place: every byte that is not a continuation byte begins a
/// character.
std::vector<Cell> cells_of(std::string_view line) {
  constexpr std::size_t tab = 4;
  std::vector<Cell> cells;
  std::size_t column = 0;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
    const std::string_view bytes = line.substr(i, end - i);
    Cell cell{"?"};
    if (bytes == "\t") {
      cell.columns = tab - column % tab;
      cell.text = std::string(cell.columns, ' ');
    } else if (is_utf8(bytes)) {
      const std::uint32_t code = code_of(bytes);
      // control characters and characters that change the direction of writing must not be printed
      const bool shown = code >= 0x20 && (code < 0x7F || code > 0x9F) && !(code >= 0x202A && code <= 0x202E) &&
                         !(code >= 0x2066 && code <= 0x2069);
      if (shown) cell = {std::string(bytes), columns_of(code)};
    }
    column += cell.columns;
    cells.push_back(std::move(cell));
    i = end;
  }
  return cells;
}

}  // namespace

std::string JsonSource::excerpt(Place place, std::size_t width) const {
  // the line without byte order mark and without the line ends of other systems
  if (place.line < 1 || place.column < 1) return {};
  std::size_t begin = text_.compare(0, 3, "\xEF\xBB\xBF") == 0 ? 3 : 0;
  for (int line = 1; line < place.line; ++line) {
    begin = text_.find('\n', begin);
    if (begin == std::string::npos) return {};
    ++begin;
  }
  std::string_view text =
      std::string_view(text_).substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.find_first_not_of(" \t") == std::string_view::npos) return {};
  const std::vector<Cell> cells = cells_of(text);
  const std::size_t at = std::min(static_cast<std::size_t>(place.column) - 1, cells.size());

  // from the first non-blank character; as much text before and after the place as fits
  constexpr std::string_view indent = "    ", cut = "...";
  const std::size_t room = std::max<std::size_t>(width, 40) - indent.size() - 2 * cut.size() - 1;
  std::size_t first = 0;
  while (first < at && cells[first].text.find_first_not_of(' ') == std::string::npos) ++first;
  std::size_t left = at, right = at, used = 0;
  const auto can_take = [&](std::size_t cell, std::size_t limit) { return used + cells[cell].columns <= limit; };
  while (left > first && can_take(left - 1, room / 2)) used += cells[--left].columns;
  while (right < cells.size() && can_take(right, room)) used += cells[right++].columns;
  while (left > first && can_take(left - 1, room)) used += cells[--left].columns;

  std::string line(indent), caret(indent);
  if (left > first) {
    line += cut;
    caret.append(cut.size(), ' ');
  }
  for (std::size_t i = left; i < right; ++i) line += cells[i].text;
  for (std::size_t i = left; i < at; ++i) caret.append(cells[i].columns, ' ');
  if (right < cells.size()) line += cut;
  return line + "\n" + caret + "^\n";
}

}  // namespace carom
