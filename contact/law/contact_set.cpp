#include "contact/law/contact_set.hpp"

#include <algorithm>

namespace carom {

namespace {
constexpr int free_repeats = 2;           // sets met again before the careful rule
constexpr double careful_factor = 1e-6;   // of the penalty then
constexpr std::ptrdiff_t many_rows = 64;  // that an update makes active at once at first
}  // namespace

void ContactSet::resize(int first, int count) {
  first_ = first;
  flags_.assign(static_cast<std::size_t>(count), 0);
  multipliers_.assign(static_cast<std::size_t>(count), 0.0);
  active_rows_.clear();
  active_rows_.reserve(static_cast<std::size_t>(count));
  seen_.reserve(256);
}

void ContactSet::resize(const System& system, RowSelection selection) {
  resize(system.bilateral(), selection.has(RowKind::unilateral) ? system.conditional() : 0);
  unilateral_.clear();
  for (std::size_t i = 0; i < flags_.size(); ++i)
    unilateral_.push_back(system.row_kind(first_ + static_cast<int>(i)) == RowKind::unilateral ? 1 : 0);
  if (std::find(unilateral_.begin(), unilateral_.end(), 0) == unilateral_.end()) unilateral_.clear();
}

void ContactSet::reset() {
  for (int row : active_rows_) flags_[static_cast<std::size_t>(row - first_)] = 0;
  for (double& m : multipliers_) m = 0;
  active_rows_.clear();
  candidates_ = fixed_ = first_rows_ = nullptr;
  offsets_ = nullptr;
  seen_.clear();
  repeats_ = updates_ = pending_ = 0;
}

void ContactSet::begin_with(const std::vector<std::uint8_t>* flags, bool near) {
  near_ = near;
  const bool many = flags != nullptr && std::count(flags->begin(), flags->end(), std::uint8_t{1}) >= many_rows;
  first_rows_ = many ? flags : nullptr;
}

int ContactSet::update(In c, double penalty, double band, const std::vector<std::uint8_t>* held) {
  const bool careful = repeats_ > free_repeats, first = updates_++ == 0;
  const double p = effective(penalty);
  int changed = 0;
  pending_ = 0;
  double reach = 0;
  for (std::size_t i = 0; first && near_ && first_rows_ != nullptr && i < flags_.size(); ++i)
    reach = std::max(reach, -c[i]);
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const bool candidate =
        (candidates_ == nullptr || (*candidates_)[i] != 0) && (unilateral_.empty() || unilateral_[i] != 0);
    const bool was_closed = held != nullptr && (*held)[i] != 0;
    const double roundoff = weights_.empty() ? p * band : p * band / weights_[i];
    const double threshold = was_closed && first ? -roundoff : was_closed || flags_[i] != 0 ? 0 : roundoff;
    const double offset = offsets_ != nullptr ? (*offsets_)[i] : 0.0;
    const bool fixed = fixed_ != nullptr && (*fixed_)[i] != 0;
    const bool begins = first && first_rows_ != nullptr && ((*first_rows_)[i] != 0 || c[i] < reach);
    const bool wanted = fixed || (candidate && (begins || offset + augmented(i, c[i], p) > threshold));
    if (wanted == (flags_[i] != 0)) continue;
    if (careful && changed > 0) {
      ++pending_;
      continue;
    }
    flags_[i] = wanted ? 1 : 0;
    ++changed;
  }
  // multipliers of an earlier solve, with which this one began
  if (first)
    for (std::size_t i = 0; i < flags_.size(); ++i)
      if (flags_[i] == 0) multipliers_[i] = 0;
  if (changed > 0) {
    active_rows_.clear();
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      if (flags_[i] != 0) {
        active_rows_.push_back(first_ + static_cast<int>(i));
        hash = (hash ^ i) * 1099511628211U;
      } else {
        multipliers_[i] = 0;
      }
    }
    if (std::find(seen_.begin(), seen_.end(), hash) != seen_.end()) ++repeats_;
    if (seen_.size() < seen_.capacity()) seen_.push_back(hash);
  }
  return changed;
}

void ContactSet::drop_idle(In multipliers) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < active_rows_.size(); ++k) {
    const int row = active_rows_[k];
    if (!(multipliers[k] < 0) || (fixed_ != nullptr && (*fixed_)[static_cast<std::size_t>(row - first_)] != 0))
      active_rows_[kept++] = row;
    else
      flags_[static_cast<std::size_t>(row - first_)] = 0;
  }
  active_rows_.resize(kept);
}

double ContactSet::effective(double penalty) const {
  return repeats_ > free_repeats ? careful_factor * penalty : penalty;
}

void ContactSet::add_increment(In increments) {
  for (std::size_t k = 0; k < active_rows_.size(); ++k)
    multipliers_[static_cast<std::size_t>(active_rows_[k] - first_)] += increments[k];
}

}  // namespace carom
