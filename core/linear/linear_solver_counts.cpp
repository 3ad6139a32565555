// Predicted cost of a factorisation, from the pattern alone.
#include <amd.h>

#include <new>

#include "core/linear/linear_solver.hpp"

namespace carom {

double factorisation_operations(const SparsePattern& pattern) {
  double info[AMD_INFO];
  std::vector<int> order(static_cast<std::size_t>(pattern.rows));
  const int status =
      amd_order(pattern.rows, pattern.row_start.data(), detail::column_indices(pattern), order.data(), nullptr, info);
  if (status == AMD_OUT_OF_MEMORY) throw std::bad_alloc();
  return info[AMD_NDIV] + info[AMD_NMULTSUBS_LDL];
}

}  // namespace carom
