#include "integrators/common/mean_directions.hpp"

namespace carom {

// Tangential rows go with their contact; joints have no mean directions.
void MeanDirections::find_stayed(const System& system, const std::vector<std::uint8_t>& active,
                                 std::vector<std::uint8_t>& stayed) {
  const int n_b = system.bilateral();
  for (std::size_t i = 0; i < stayed.size(); ++i) {
    const int row = n_b + static_cast<int>(i);
    const bool contact = system.row_kind(row) != RowKind::joint_friction;
    const int normal = row - system.row_place(row).row;
    stayed[i] = contact && active[at(normal - n_b)] != 0 ? 1 : 0;
  }
}

MeanDirections::Pair MeanDirections::turn(const System& system, int row, In q, double t) const {
  if (system.row_kind(row) != RowKind::tangential) return {};
  const int k = system.row_place(row).row;
  if (k == most_contact_rows - 1) return {};  // pivoting, about the normal
  const ConstraintBlock::Turn turn = system.tangent_turn(row, q, t, start);
  const bool first = k % 2 == 1;
  return {turn.c, first ? turn.s : -turn.s, first ? row + 1 : row - 1};
}

void MeanDirections::split(const System& system, In q, double t, Out s, Out at_start) const {
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    if (!of(row - system.bilateral()) || s[at(row)] == 0) continue;
    if (!at_start.empty()) {
      const Pair pair = turn(system, row, q, t);
      at_start[at(row)] += (1 - share) * pair.c * s[at(row)];
      if (pair.s != 0) at_start[at(pair.partner)] += (1 - share) * pair.s * s[at(row)];
    }
    s[at(row)] *= share;
  }
}

// The gradients at both ends have the same equations in the same order.
void MeanDirections::take_mean(const System& system, int row, In q, double t, SparseRow& gradient,
                               SparseRow& start_row) const {
  const Pair pair = turn(system, row, q, t);
  for (double& value : gradient.value) value *= share;
  const auto add = [&](int other, double c) {
    if (other < 0 || c == 0) return;
    system.row_gradient(other, {start.q, q.size()}, start.t, nullptr, start_row, &start);
    for (std::size_t i = 0; i < start_row.value.size(); ++i) gradient.value[i] += (1 - share) * c * start_row.value[i];
  };
  add(row, pair.c);
  add(pair.partner, pair.s);
}

}  // namespace carom
