#include "contact/law/friction_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();  // of the rows of a cone problem
constexpr int reserved_rows = 24;
}  // namespace

FrictionSet::FrictionSet(const System& system) : first_(system.bilateral()) {
  const int count = system.conditional();
  for (int i = 0; i < count; ++i) {
    const int row = first_ + i;
    if (system.row_kind(row) == RowKind::unilateral)
      contacts_.push_back({i, 0, system.contact_parameters(row).friction});
    else if (system.row_kind(row) == RowKind::tangential)
      ++contacts_.back().rows;
  }
  flags_.assign(at(count), 0);
  for (Vector* x : {&multipliers_, &p_}) x->assign(at(count), 0.0);
  for (std::vector<int>* x : {&working_rows_, &active_rows_}) x->reserve(at(count));
  const int few = std::min(count, reserved_rows);
  cone_.reserve(few);
  discs_.reserve(at(few));
  for (Vector* x : {&q_, &s_}) x->reserve(at(few));
}

void FrictionSet::begin(const Flags* candidates, const Flags* held, const Flags* frictionless) {
  candidates_ = candidates;
  held_ = held;
  for (Contact& c : contacts_) {
    c.working = false;
    c.frictionless = frictionless != nullptr && (*frictionless)[at(c.row)] != 0;
  }
  std::fill(flags_.begin(), flags_.end(), std::uint8_t{0});
  set_zero(multipliers_);
  set_zero(p_);
  working_rows_.clear();
  active_rows_.clear();
  updates_ = 0;
  failed_row_ = -1;
  refined_ = guessed_ = false;
}

void FrictionSet::guess(In multipliers, double factor) {
  guessed_ = true;
  guess_.resize(multipliers.size());
  scale_into(factor, multipliers, guess_);
}

int FrictionSet::update(In c, double penalty, double band) {
  const bool first = updates_++ == 0;
  penalty_ = penalty;
  int changed = 0;
  bool grown = false;
  for (Contact& contact : contacts_) {
    const std::size_t i = at(contact.row);
    const bool candidate = candidates_ == nullptr || (*candidates_)[i] != 0;
    const bool was_closed = held_ != nullptr && (*held_)[i] != 0;
    const double roundoff = p(contact.row, penalty) * band * weight(contact.row);
    const double threshold = was_closed && first ? -roundoff : was_closed || contact.working ? 0 : roundoff;
    const double sigma = multipliers_[i] - p(contact.row, penalty) * c[i];
    const bool wanted = candidate && sigma > threshold;
    if (wanted && !contact.working) contact.working = grown = true;
    if (wanted != (flags_[i] != 0)) ++changed;
    flags_[i] = wanted ? 1 : 0;
    if (!contact.working)
      for (int k = 0; k <= contact.rows; ++k) multipliers_[i + at(k)] = 0;
    for (int k = 1; k <= contact.rows; ++k) {
      SlipState state = SlipState::open;
      if (wanted) {
        double square = 0;
        for (int j = 1; j <= contact.rows; ++j) {
          const double s = multipliers_[i + at(j)] - p(contact.row + j, penalty) * c[i + at(j)];
          square += s * s;
        }
        const double R = contact.frictionless ? 0.0 : contact.friction * std::max(0.0, sigma);
        state = square <= R * R ? SlipState::stick : SlipState::slip;
      }
      flags_[i + at(k)] = static_cast<std::uint8_t>(state);
    }
  }
  if (grown) {
    working_rows_.clear();
    for (const Contact& contact : contacts_)
      for (int k = 0; contact.working && k <= tangential(contact); ++k)
        working_rows_.push_back(first_ + contact.row + k);
  }
  active_rows_.clear();
  for (const Contact& contact : contacts_)
    for (int k = 0; flags_[at(contact.row)] != 0 && k <= contact.rows; ++k)
      active_rows_.push_back(first_ + contact.row + k);
  return changed;
}

// Of a conditional row.
const FrictionSet::Contact& FrictionSet::contact_of(int row) const {
  return *(
      std::upper_bound(contacts_.begin(), contacts_.end(), row, [](int r, const Contact& c) { return r < c.row; }) - 1);
}

void FrictionSet::augmented(In c, Out s) const {
  set_zero(s);
  for (const Contact& contact : contacts_) {
    const std::size_t i = at(contact.row);
    if (!contact.working) continue;
    s[i] = std::max(0.0, multipliers_[i] - p(contact.row, penalty_) * c[i]);
    if (tangential(contact) == 0) continue;
    double square = 0;
    for (int k = 1; k <= contact.rows; ++k) {
      s[i + at(k)] = multipliers_[i + at(k)] - p(contact.row + k, penalty_) * c[i + at(k)];
      square += s[i + at(k)] * s[i + at(k)];
    }
    const double a = std::sqrt(square), R = contact.friction * s[i];
    for (int k = 1; k <= contact.rows && a > R; ++k) s[i + at(k)] *= R / a;
  }
}

void FrictionSet::defects(In c, Out defects) const {
  std::size_t place = 0;
  for (const Contact& contact : contacts_) {
    if (!contact.working) continue;
    const std::size_t i = at(contact.row);
    const double p_N = p(contact.row, penalty_);
    defects[place++] = (multipliers_[i] - std::max(0.0, multipliers_[i] - p_N * c[i])) / p_N;
    const int m = tangential(contact);
    double sigma[2] = {0, 0};
    for (int k = 0; k < m; ++k)
      sigma[k] = multipliers_[i + 1 + at(k)] - p(contact.row + 1 + k, penalty_) * c[i + 1 + at(k)];
    const double a = std::hypot(sigma[0], sigma[1]), R = contact.friction * std::max(0.0, multipliers_[i]);
    for (int k = 0; k < m; ++k)
      defects[place++] =
          (multipliers_[i + 1 + at(k)] - (a > R ? R / a : 1) * sigma[k]) / p(contact.row + 1 + k, penalty_);
  }
}

bool FrictionSet::creeps(In defects, double tolerance) {
  if (refined_) return false;
  for (std::size_t k = 0; k < working_rows_.size() && !refined_; ++k) {
    const int row = working_rows_[k] - first_;
    refined_ = contact_of(row).row != row && std::abs(defects[k]) > tolerance;
  }
  return refined_;
}

bool FrictionSet::solve(std::span<const std::size_t> rows, In D, In b, Out l) {
  const std::size_t n = rows.size();
  for (Vector* x : {&q_, &s_}) x->resize(n);
  for (std::size_t k = 0; k < n; ++k) s_[k] = multipliers_[at(working_rows_[rows[k]] - first_)];
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += D[k * n + j] * s_[j];
    q_[k] = -b[k] - sum;
    largest = std::max(largest, std::abs(q_[k]));
  }
  // tangential rows follow their normal row, unless nothing moves
  discs_.clear();
  int normal = -1;
  for (std::size_t k = 0; k < n;) {
    const int row = working_rows_[rows[k]] - first_;
    const Contact* const contact = &contact_of(row);
    if (row == contact->row) {
      normal = static_cast<int>(k++);
      continue;
    }
    ConeProblem::Disc disc;
    disc.first = static_cast<int>(k);
    disc.rows = 0;
    for (; k < n && working_rows_[rows[k]] - first_ <= contact->row + contact->rows &&
           working_rows_[rows[k]] - first_ > contact->row;
         ++k)
      ++disc.rows;
    const bool has_source = normal >= 0 && working_rows_[rows[at(normal)]] - first_ == contact->row;
    disc.source = has_source ? normal : -1;
    disc.friction = has_source ? contact->friction : 0;
    discs_.push_back(disc);
  }
  cone_.set(static_cast<int>(n), discs_);
  for (std::size_t k = 0; k < n && guessed_; ++k) s_[k] = guess_[at(working_rows_[rows[k]] - first_)];
  const ConeProblem::Result result = cone_.solve(D, q_, std::max(tolerance_, rounding * largest), s_);
  if (result.solved)
    ++stages_[at(result.stage)];
  else
    failed_row_ = first_ + contact_of(working_rows_[rows[at(std::max(0, result.worst))]] - first_).row;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = at(working_rows_[rows[k]] - first_);
    l[k] = s_[k] - multipliers_[i];
    p_[i] = cone_.penalty(static_cast<int>(k));
  }
  return result.solved;
}

void FrictionSet::add_increment(In increments) {
  guessed_ = false;
  for (std::size_t k = 0; k < working_rows_.size(); ++k) multipliers_[at(working_rows_[k] - first_)] += increments[k];
}

}  // namespace carom
