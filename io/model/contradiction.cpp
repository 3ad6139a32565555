#include "io/model/contradiction.hpp"

#include <fmt/format.h>

namespace carom {

std::string contradiction(const System& system, const RowConflict& conflict, const char* what) {
  constexpr std::size_t most = 6;
  std::string names;
  for (std::size_t i = 0; i < conflict.rows.size() && i < most; ++i)
    names += (i > 0 ? ", " : "") + system.row_name(conflict.rows[i]);
  if (conflict.rows.size() > most) names += fmt::format(" and {} more", conflict.rows.size() - most);
  return fmt::format(
      "joints or drivers contradict each other: {} depend on each other, and no {} meets them together: the last is "
      "off by {:.3g} where the others fit (if a linkage is stretched or folded here, begin beside that position)",
      names, what, conflict.miss);
}

}  // namespace carom
