#include "integrators/common/touching_contacts.hpp"

#include <cmath>

#include "core/base/index.hpp"

namespace carom {

// Marks the bodies that the normal force of a contact turns, or finds whether one of the contact's bodies is marked.
bool TouchingContacts::turns_bodies(const System& system, int row, const State& state, const StepStart& start,
                                    double closed_gap, bool marks) {
  system.row_gradient(row, state.q, state.t, nullptr, gradient_, &start);
  bool found = false;
  for (std::size_t k = 0; k < gradient_.value.size(); ++k) {
    const int equation = gradient_.equation[k], node = system.equation_node(equation);
    const int rotation = system.dofs().equation(node, 3);
    if (marks && rotation >= 0 && equation >= rotation && std::abs(gradient_.value[k]) > closed_gap)
      turned_[at(node)] = 1;
    found = found || turned_[at(node)] != 0;
  }
  return found;
}

void TouchingContacts::find(const System& system, const State& state, const StepStart& start, double closed_gap) {
  touching = state.active;
  gaps.assign(touching.size(), 0.0);
  idle_.clear();
  const int n_b = system.bilateral();
  const auto has_friction = [&](int row) {
    return row + 1 < system.rows() && system.row_kind(row) == RowKind::unilateral &&
           system.row_kind(row + 1) == RowKind::tangential;
  };
  for (int row = n_b; row < system.rows(); ++row) {
    const std::size_t i = at(row - n_b);
    if (touching[i] != 0 || !has_friction(row)) continue;
    gaps[i] = system.row_gap(row, state.q, state.t, &start);
    if (gaps[i] <= closed_gap) idle_.push_back(row);
  }
  if (idle_.empty()) return;
  turned_.assign(at(system.dofs().nodes()), 0);
  for (const int row : idle_) turns_bodies(system, row, state, start, closed_gap, true);
  for (int row = n_b; row < system.rows(); ++row)
    if (touching[at(row - n_b)] != 0 && has_friction(row)) turns_bodies(system, row, state, start, closed_gap, true);
  for (const int row : idle_)
    touching[at(row - n_b)] = turns_bodies(system, row, state, start, closed_gap, false) ? 1 : 0;
}

}  // namespace carom
