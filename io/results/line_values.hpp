// Resultants along beams and bars. An element has one value, which belongs to its middle. Between the middles of
// neighbours the values run linearly; beyond the last middle, towards an end or a corner of the line, the line through
// the last two middles goes on. Where a side has only one element the value is constant. With elements of length h the
// error of a smooth resultant is O(h^2) everywhere, but a jump, such as that of a shear force under a load at a node,
// is smeared over the two elements beside the node.
#pragma once

#include "io/model/model.hpp"

namespace carom {

/// middles: `components` numbers for each element. out: the same at the place.
void value_along(const std::vector<LineElement>& line, const double* middles, int components, const LinePlace& place,
                 double* out);

}  // namespace carom
