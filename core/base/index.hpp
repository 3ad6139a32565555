// at(i): an int index as the standard containers take it.
#pragma once

#include <cstddef>

namespace carom {

/// i >= 0.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace carom
