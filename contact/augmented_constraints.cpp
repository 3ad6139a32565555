#include "contact/augmented_constraints.hpp"

namespace carom {

namespace {
constexpr int free_updates = 12;         // updates of the whole set before the careful rule
constexpr double careful_factor = 1e-6;  // of the penalty then
}  // namespace

void AugmentedConstraints::resize(int first, int count) {
  first_ = first;
  flags_.assign(static_cast<std::size_t>(count), 0);
  multipliers_.assign(static_cast<std::size_t>(count), 0.0);
  active_rows_.clear();
  active_rows_.reserve(static_cast<std::size_t>(count));
}

void AugmentedConstraints::reset() {
  for (int row : active_rows_) flags_[static_cast<std::size_t>(row - first_)] = 0;
  for (double& m : multipliers_) m = 0;
  active_rows_.clear();
  candidates_ = nullptr;
  updates_ = changes_ = 0;
}

int AugmentedConstraints::update(In c, double penalty, double band, const std::vector<std::uint8_t>* held) {
  const bool careful = ++updates_ > free_updates;
  const double p = effective(penalty);
  int changed = 0;
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const bool candidate = candidates_ == nullptr || (*candidates_)[i] != 0;
    const bool inside = flags_[i] != 0 || (held != nullptr && (*held)[i] != 0);
    const bool wanted = candidate && augmented(i, c[i], p) > (inside ? 0 : p * band);
    if (wanted == (flags_[i] != 0)) continue;
    if (careful && changed > 0) continue;
    flags_[i] = wanted ? 1 : 0;
    ++changed;
  }
  if (changed > 0) {
    active_rows_.clear();
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      if (flags_[i] != 0)
        active_rows_.push_back(first_ + static_cast<int>(i));
      else
        multipliers_[i] = 0;
    }
    changes_ += changed;
  }
  return changed;
}

double AugmentedConstraints::effective(double penalty) const {
  return updates_ > free_updates ? careful_factor * penalty : penalty;
}

void AugmentedConstraints::add_increment(In increments) {
  for (std::size_t k = 0; k < active_rows_.size(); ++k)
    multipliers_[static_cast<std::size_t>(active_rows_[k] - first_)] += increments[k];
}

}  // namespace carom
