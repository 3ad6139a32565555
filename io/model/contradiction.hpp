// The sentence for joints and drivers that contradict each other.
#pragma once

#include <string>

#include "core/mechanics/row_conflict.hpp"

namespace carom {

/// what: "position", "velocity" or "acceleration".
std::string contradiction(const System& system, const RowConflict& conflict, const char* what);

}  // namespace carom
