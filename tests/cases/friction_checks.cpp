#include "friction_checks.hpp"

#include <algorithm>
#include <cmath>

namespace carom::cases {

void ContactLawCheck::see(const Case& c) {
  const System& system = c.system();
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    if (system.row_kind(row) != RowKind::unilateral || system.row_block(row).rows() == 1) continue;
    const double radius = system.contact_parameters(row).friction * c.impulse(row);
    const double size = std::hypot(c.impulse(row + 1), c.impulse(row + 2));
    if (radius > 0)
      outside = std::max(outside, size / radius - 1);
    else if (size != 0)
      outside = HUGE_VAL;
  }
}

}  // namespace carom::cases
