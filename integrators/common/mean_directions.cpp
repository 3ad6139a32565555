#include "integrators/common/mean_directions.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int most_changes = 4;  // of the impulse of joints with the set of pressing contacts: the set must settle

}  // namespace

void JointTurn::begin(const System& system, bool on) {
  on_ = on && system.bilateral() > 0;
  moved_ = known_ = false;
  changes_ = 0;
}

void JointTurn::add(const System& system, In q, double t, const StepStart& start, double share, In s, Out reaction) {
  if (!on_) return;
  const std::size_t n_b = at(system.bilateral());
  if (moved_ && changes_ < most_changes) {
    pressing_.resize(s.size() - n_b);
    std::transform(s.begin() + system.bilateral(), s.end(), pressing_.begin(),
                   [](double x) { return static_cast<std::uint8_t>(x != 0 ? 1 : 0); });
    if (!known_ || pressing_ != pressed_) {
      impulse_.assign(reaction.size(), 0.0);
      multipliers_.assign(s.size(), 0.0);
      axpy(1 - share, s.first(n_b), Out(multipliers_).first(n_b));
      system.add_reactions({start.q, q.size()}, start.t, multipliers_, bilateral_rows, impulse_, &start);
      scale_into(-1.0, In(multipliers_), multipliers_);
      system.add_reactions(q, t, multipliers_, bilateral_rows, impulse_, &start);
      std::swap(pressing_, pressed_);
      known_ = true;
      ++changes_;
    }
  }
  if (known_) axpy(1.0, impulse_, reaction);
}

// Tangential rows go with their contact; friction of joints has no mean directions.
bool StayedRows::find(const System& system, const std::vector<std::uint8_t>& active) {
  const int n_b = system.bilateral();
  bool any = false;
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const int row = n_b + static_cast<int>(i);
    const bool contact = system.row_kind(row) != RowKind::joint_friction;
    flags_[i] = contact && active[at(system.normal_row(row) - n_b)] != 0 ? 1 : 0;
    known_[i] = 0;
    any = any || flags_[i] != 0;
  }
  return any;
}

const SparseRow& StayedRows::at_start(const System& system, int row, In q_n, const StepStart& start) {
  const std::size_t i = at(row - system.bilateral());
  if (known_[i] == 0) {
    // all rows of the contact at once
    const System::RowPlace place = system.row_place(row);
    const std::size_t count = at(system.row_block(row).rows()), first = i - at(place.row);
    std::array<int, most_contact_rows> rows{};
    std::iota(rows.begin(), rows.end(), row - place.row);
    const auto gradients = std::span(gradients_).subspan(first, count);
    system.row_gradients(std::span(rows).first(count), q_n, start.t, nullptr, false, gradients, gradients, &start);
    std::fill_n(known_.begin() + static_cast<std::ptrdiff_t>(first), count, std::uint8_t{1});
  }
  return gradients_[i];
}

void MeanDirections::split(const System& system, In q, double t, Out s, Out at_start) const {
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    if (!has_mean(row - system.bilateral()) || s[at(row)] == 0) continue;
    if (!at_start.empty()) {
      const TangentPair pair = tangent_pair(system, row, q, t, start);
      at_start[at(row)] += (1 - share) * pair.c * s[at(row)];
      if (pair.s != 0) at_start[at(pair.partner)] += (1 - share) * pair.s * s[at(row)];
    }
    s[at(row)] *= share;
  }
}

// The gradients at both ends have the same equations in the same order.
void MeanDirections::take_mean(const System& system, int row, In q, double t, SparseRow& gradient) const {
  const TangentPair pair = tangent_pair(system, row, q, t, start);
  for (double& value : gradient.value) value *= share;
  const auto add = [&](int other, double c) {
    if (other < 0 || c == 0) return;
    const SparseRow& before = rows->at_start(system, other, {start.q, q.size()}, start);
    for (std::size_t i = 0; i < before.value.size(); ++i) gradient.value[i] += (1 - share) * c * before.value[i];
  };
  add(row, pair.c);
  add(pair.partner, pair.s);
}

}  // namespace carom
