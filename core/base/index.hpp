// at(i): converts an int index to the index type of the standard containers.
#pragma once

#include <cstddef>

namespace carom {

/// Precondition: i >= 0.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace carom
