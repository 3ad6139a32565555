#include "contact/law/friction_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();  // of the rows of a cone problem
constexpr int reserved_rows = 24;
constexpr double settled_limit = 1e-11;  // relative
constexpr double edge = 1e-9;            // of a radius: less slip, times the penalty, is rounding
constexpr int most_moves = 8;
constexpr int moving_updates = 4;  // after which multipliers stay if they solve the law of many rows
}  // namespace

FrictionSet::FrictionSet(const System& system) : first_(system.bilateral()) {
  const int count = system.conditional();
  for (int i = 0; i < count; ++i) {
    const int row = first_ + i;
    if (system.row_kind(row) == RowKind::unilateral) {
      Contact contact{};
      contact.row = i;
      contacts_.push_back(contact);
    } else if (system.row_kind(row) == RowKind::joint_friction) {
      const int behind = system.row_place(row).row;
      if (behind > 0) {
        ++contacts_.back().rows;
        ++contacts_.back().of[0].rows;
        continue;
      }
      Contact contact{};
      contact.row = i;
      contact.of[0] = {i, 1, 0};
      contact.count = 1;
      contact.joint = static_cast<int>(joint_rows_.size());
      contacts_.push_back(contact);
      joint_rows_.push_back(row);
    } else if (system.row_kind(row) == RowKind::tangential) {
      Contact& contact = contacts_.back();
      ++contact.rows;
      const ContactParameters law = system.contact_parameters(row);
      if (law.disc >= contact.count) contact.of[at(contact.count++)] = {i, 0, law.friction};
      ++contact.of[at(contact.count - 1)].rows;
    }
  }
  limits_.assign(joint_rows_.size(), 0.0);
  used_.resize(joint_rows_.size());
  flags_.assign(at(count), 0);
  for (Vector* x : {&multipliers_, &p_}) x->assign(at(count), 0.0);
  for (std::vector<int>* x : {&working_rows_, &active_rows_}) x->reserve(at(count));
  const int few = std::min(count, reserved_rows);
  cone_.reserve(few);
  discs_.reserve(at(few));
  for (Vector* x : {&q_, &s_, &present_}) x->reserve(at(few));
}

void FrictionSet::begin(const Flags* candidates, const Flags* held, const Flags* frictionless, const Flags* first) {
  candidates_ = candidates;
  held_ = held;
  first_flags_ = first;
  for (Contact& c : contacts_) {
    const auto has = [&](const Flags* flags) { return flags == nullptr || (*flags)[at(c.row)] != 0; };
    c.working = c.joint < 0 && first != nullptr && has(first) && has(candidates);
    c.frictionless = frictionless != nullptr && c.joint < 0 && (*frictionless)[at(c.row)] != 0;
    // the rows of a disc have one penalty, without which slip would not have the direction of the multipliers
    for (int k = 1; c.joint >= 0 && k <= c.rows && !weights_.empty(); ++k)
      weights_[at(c.row + k)] = weights_[at(c.row)];
  }
  used_.begin();
  std::fill(flags_.begin(), flags_.end(), std::uint8_t{0});
  set_zero(multipliers_);
  set_zero(p_);
  active_rows_.clear();
  gather_working();
  updates_ = 0;
  failed_row_ = -1;
  approximate_ = final_ = false;
  inconsistency_ = 0;
  refined_ = guessed_ = false;
  moves_ = 0;
}

void FrictionSet::guess(In multipliers, double factor) {
  guessed_ = true;
  guess_.resize(multipliers.size());
  scale_into(factor, multipliers, guess_);
}

void FrictionSet::find_limits() { used_.advance(limits_); }

bool FrictionSet::limits_move() {
  if (moves_ == most_moves) return false;
  const bool moves = std::ranges::any_of(contacts_, [&](const Contact& c) {
    if (c.joint < 0 || !c.at_limit) return false;
    const double limit = limits_[at(c.joint)];
    return std::abs(limit - used_.before()[at(c.joint)]) > settled_limit * limit;
  });
  moves_ += moves ? 1 : 0;
  return moves;
}

int FrictionSet::update(In c, double penalty, double band) {
  const bool first = updates_++ == 0;
  penalty_ = penalty;
  int changed = 0;
  bool grown = false;
  for (Contact& contact : contacts_) {
    const std::size_t i = at(contact.row);
    if (contact.joint >= 0) {
      if (!contact.working) contact.working = grown = true;
      const Disc& disc = contact.of[0];
      double sigma[3];
      const double size = augmented(disc, c, penalty, sigma), limit = limits_[at(contact.joint)];
      contact.at_limit = size > limit;
      const bool slips = contact.at_limit && moves(disc, sigma, limit);
      for (int k = 0; k < disc.rows; ++k)
        flags_[at(disc.first + k)] = static_cast<std::uint8_t>(slips ? SlipState::slip : SlipState::stick);
      continue;
    }
    const bool candidate = candidates_ == nullptr || (*candidates_)[i] != 0;
    const bool was_closed = held_ != nullptr && (*held_)[i] != 0;
    const double roundoff = p(contact.row, penalty) * band * weight(contact.row);
    const double threshold = was_closed && first ? -roundoff : was_closed || contact.working ? 0 : roundoff;
    const double sigma = multipliers_[i] - p(contact.row, penalty) * c[i];
    const bool wanted = candidate && sigma > threshold;
    const bool at_hand = candidate && first_flags_ != nullptr && (*first_flags_)[i] != 0;
    if ((wanted || at_hand) && !contact.working) contact.working = grown = true;
    // candidates of the coupled methods change with the positions
    if (!candidate && contact.working) {
      contact.working = false;
      grown = true;
    }
    if (wanted != (flags_[i] != 0)) ++changed;
    flags_[i] = wanted ? 1 : 0;
    if (!contact.working)
      for (int k = 0; k <= contact.rows; ++k) multipliers_[i + at(k)] = 0;
    for (const Disc& disc : std::span(contact.of).first(at(contact.count))) {
      SlipState state = SlipState::open;
      if (wanted) {
        double tangential[3];
        const double R = radius(contact, disc, sigma);
        const bool slips = augmented(disc, c, penalty, tangential) > R && moves(disc, tangential, R);
        state = slips ? SlipState::slip : SlipState::stick;
      }
      for (int k = 0; k < disc.rows; ++k) flags_[at(disc.first + k)] = static_cast<std::uint8_t>(state);
    }
  }
  if (grown) gather_working();
  active_rows_.clear();
  for (const Contact& contact : contacts_)
    for (int k = 0; flags_[at(contact.row)] != 0 && k <= contact.rows; ++k)
      active_rows_.push_back(first_ + contact.row + k);
  return changed;
}

void FrictionSet::gather_working() {
  working_rows_.clear();
  for (const Contact& contact : contacts_)
    for (int k = 0; contact.working && k <= tangential(contact); ++k) working_rows_.push_back(first_ + contact.row + k);
}

// Of a conditional row.
const FrictionSet::Contact& FrictionSet::contact_of(int row) const {
  return *(
      std::upper_bound(contacts_.begin(), contacts_.end(), row, [](int r, const Contact& c) { return r < c.row; }) - 1);
}

double FrictionSet::augmented(const Disc& disc, In c, double penalty, double* sigma) const {
  double square = 0;
  for (int k = 0; k < disc.rows; ++k) {
    const std::size_t i = at(disc.first + k);
    sigma[k] = multipliers_[i] - p(disc.first + k, penalty) * c[i];
    square += sigma[k] * sigma[k];
  }
  return std::sqrt(square);
}

// At the edge of the disc rounding would decide, where something else holds the rest of the load.
bool FrictionSet::moves(const Disc& disc, const double* sigma, double radius) const {
  double square = 0;
  for (int k = 0; k < disc.rows; ++k) square += std::pow(sigma[k] - multipliers_[at(disc.first + k)], 2);
  return std::sqrt(square) > edge * radius;
}

void FrictionSet::augmented(In c, Out s) const {
  set_zero(s);
  for (const Contact& contact : contacts_) {
    const std::size_t i = at(contact.row);
    if (!contact.working) continue;
    if (contact.joint < 0) s[i] = std::max(0.0, multipliers_[i] - p(contact.row, penalty_) * c[i]);
    for (const Disc& disc : contact.discs()) {
      const std::size_t f = at(disc.first);
      const double R = radius(contact, disc, s[i]), a = augmented(disc, c, penalty_, &s[f]);
      for (int k = 0; k < disc.rows && a > R; ++k) s[f + at(k)] *= R / a;
    }
  }
}

void FrictionSet::defects(In c, Out defects) const {
  std::size_t place = 0;
  for (const Contact& contact : contacts_) {
    if (!contact.working) continue;
    const std::size_t i = at(contact.row);
    if (contact.joint < 0) {
      const double p_N = p(contact.row, penalty_);
      defects[place++] = (multipliers_[i] - std::max(0.0, multipliers_[i] - p_N * c[i])) / p_N;
    }
    for (const Disc& disc : contact.discs()) {
      double sigma[3] = {0, 0, 0};
      const double a = augmented(disc, c, penalty_, sigma), R = radius(contact, disc, multipliers_[i]);
      for (int k = 0; k < disc.rows; ++k)
        defects[place++] =
            (multipliers_[at(disc.first + k)] - (a > R ? R / a : 1) * sigma[k]) / p(disc.first + k, penalty_);
    }
  }
}

bool FrictionSet::may_act(In c, double band) const {
  const auto moves = [&](int i) { return std::abs(c[at(i)]) > band * weight(i); };
  for (const Contact& contact : contacts_) {
    if (!contact.working) continue;
    if (contact.joint < 0 && flags_[at(contact.row)] != 0 && moves(contact.row)) return true;
    for (const Disc& disc : contact.discs())
      for (int k = 0; k < disc.rows; ++k)
        if (radius(contact, disc, multipliers_[at(contact.row)]) > 0 && moves(disc.first + k)) return true;
  }
  return false;
}

bool FrictionSet::creeps(In defects, double tolerance) {
  if (refined_ || final_) return false;
  for (std::size_t k = 0; k < working_rows_.size() && !refined_; ++k) {
    const int row = working_rows_[k] - first_;
    const Contact& contact = contact_of(row);
    const double unit = contact.joint >= 0 ? weight(row) : 1;
    refined_ = (contact.joint >= 0 || contact.row != row) && std::abs(defects[k]) > tolerance * unit;
  }
  return refined_;
}

bool FrictionSet::follows(std::size_t row) const {
  const int i = working_rows_[row] - first_;
  return contact_of(i).row != i;
}

// D with the levers of joints, which it finds, and their least compliance: tolerances of lengths are none of angles.
In FrictionSet::with_levers(std::span<const std::size_t> rows, In D, const SparsePattern* pattern) {
  const std::size_t n = rows.size();
  levers_.assign(n, 1.0);
  const auto own = [&](std::size_t k) {
    return pattern == nullptr ? k * n + k : at(pattern->find(static_cast<int>(k), static_cast<int>(k)));
  };
  const double least = ConeProblem::least_compliance(penalty_);
  bool any = false;
  for (std::size_t k = 0; k < n && has_joints(); ++k) {
    const int i = working_rows_[rows[k]] - first_;
    if (!of_joint(i)) continue;
    levers_[k] = 1 / weight(i);
    any = any || levers_[k] != 1 || !(D[own(k)] * levers_[k] * levers_[k] > least);
  }
  if (!any) return D;
  W_.resize(D.size());
  for (std::size_t k = 0; k < n; ++k)
    if (pattern == nullptr)
      for (std::size_t j = 0; j < n; ++j) W_[k * n + j] = levers_[k] * D[k * n + j] * levers_[j];
    else
      for (std::size_t j = at(pattern->row_start[k]); j < at(pattern->row_start[k + 1]); ++j)
        W_[j] = levers_[k] * D[j] * levers_[at(pattern->column[j])];
  for (std::size_t k = 0; k < n; ++k)
    if (of_joint(working_rows_[rows[k]] - first_)) W_[own(k)] = std::max(W_[own(k)], least);
  return W_;
}

bool FrictionSet::solve(std::span<const std::size_t> rows, In D, const SparsePattern* pattern, In b, Out l) {
  const std::size_t n = rows.size();
  const In W = with_levers(rows, D, pattern);
  for (Vector* x : {&q_, &s_, &present_}) x->resize(n);
  for (std::size_t k = 0; k < n; ++k)
    present_[k] = s_[k] = multipliers_[at(working_rows_[rows[k]] - first_)] / levers_[k];
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    if (pattern == nullptr)
      for (std::size_t j = 0; j < n; ++j) sum += W[k * n + j] * s_[j];
    else
      for (std::size_t j = at(pattern->row_start[k]); j < at(pattern->row_start[k + 1]); ++j)
        sum += W[j] * s_[at(pattern->column[j])];
    q_[k] = -b[k] * levers_[k] - sum;
    largest = std::max(largest, std::abs(q_[k]));
    free_ = std::max(free_, std::abs(q_[k]) / (levers_[k] * weight(working_rows_[rows[k]] - first_)));
  }
  // tangential rows follow their normal row, unless nothing moves
  discs_.clear();
  int normal = -1;
  for (std::size_t k = 0; k < n;) {
    const int row = working_rows_[rows[k]] - first_;
    const Contact* const contact = &contact_of(row);
    if (row == contact->row && contact->joint < 0) {
      normal = static_cast<int>(k++);
      continue;
    }
    const auto part = std::find_if(contact->of.begin(), contact->of.end(),
                                   [row](const Disc& d) { return row >= d.first && row < d.first + d.rows; });
    ConeProblem::Disc disc;
    disc.first = static_cast<int>(k);
    disc.rows = 0;
    for (; k < n && working_rows_[rows[k]] - first_ < part->first + part->rows; ++k) ++disc.rows;
    const bool has_source =
        contact->joint < 0 && normal >= 0 && working_rows_[rows[at(normal)]] - first_ == contact->row;
    disc.source = has_source ? normal : -1;
    disc.friction = has_source ? part->friction : 0;
    if (contact->joint >= 0) disc.radius = used_.x()[at(contact->joint)] / levers_[at(disc.first)];
    discs_.push_back(disc);
  }
  cone_.set(static_cast<int>(n), discs_, pattern, true);
  for (std::size_t k = 0; k < n && guessed_; ++k) s_[k] = guess_[at(working_rows_[rows[k]] - first_)] / levers_[k];
  // solutions within the tolerance may follow each other without end
  const bool keep = pattern != nullptr || updates_ > moving_updates;
  const ConeProblem::Result result =
      cone_.solve(W, q_, std::max(tolerance_, rounding * largest), s_, exact_ ? In() : In(present_), keep);
  // a solution of the splitting method, or an unsolved problem: the same linear system again gives no better solution
  final_ = final_ || (exact_ && pattern != nullptr && (!result.solved || result.stage == ConeProblem::splitting_stage));
  if (!result.solved)
    failed_row_ = first_ + contact_of(working_rows_[rows[at(std::max(0, result.worst))]] - first_).row;
  approximate_ = approximate_ || result.approximate;
  if (!result.solved) inconsistency_ = std::max(inconsistency_, result.defect);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = at(working_rows_[rows[k]] - first_);
    l[k] = s_[k] * levers_[k] - multipliers_[i];
    p_[i] = cone_.penalty(static_cast<int>(k)) * levers_[k] * levers_[k];
  }
  // what an interruption has cut short is no solution, though near enough: a restart would go on with other bits
  return (result.solved || result.approximate) && !cone_.stopped();
}

void FrictionSet::add_increment(In increments) {
  guessed_ = false;
  for (std::size_t k = 0; k < working_rows_.size(); ++k) multipliers_[at(working_rows_[k] - first_)] += increments[k];
}

}  // namespace carom
