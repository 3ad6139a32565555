// Inputs of the fuzzer may begin with lines "//set /json/pointer=value", which act like --set. The rest is the model;
// for JSON the lines are comments.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace carom::fuzz {

constexpr std::string_view set_line = "//set ";

/// Removes the lines from the text and returns them.
inline std::vector<std::string> take_set_lines(std::string_view& text) {
  std::vector<std::string> overrides;
  while (text.starts_with(set_line)) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    overrides.emplace_back(text.substr(set_line.size(), end - set_line.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return overrides;
}

}  // namespace carom::fuzz
