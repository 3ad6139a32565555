#include "io/results/line_values.hpp"

#include "core/base/index.hpp"

namespace carom {

void value_along(const std::vector<LineElement>& line, const double* middles, int components, const LinePlace& place,
                 double* out) {
  const int e = place.element, last = static_cast<int>(line.size()) - 1;
  const bool before = e > 0 && !line[at(e)].corner, after = e < last && !line[at(e + 1)].corner;
  // the neighbour on the side of the place, and at an end or a corner the other one
  const bool back = place.share < 0.5;
  const int other = back ? (before ? e - 1 : after ? e + 1 : e) : (after ? e + 1 : before ? e - 1 : e);
  double share = 0;
  if (other != e) {
    const double distance = 0.5 * (line[at(e)].length + line[at(other)].length);
    share = (other > e ? 1 : -1) * (place.share - 0.5) * line[at(e)].length / distance;
  }
  for (int c = 0; c < components; ++c) {
    const double mine = middles[components * e + c];
    out[c] = mine + share * (middles[components * other + c] - mine);
  }
}

}  // namespace carom
