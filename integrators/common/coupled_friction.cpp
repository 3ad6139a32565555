#include "integrators/common/coupled_friction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"

namespace carom {

namespace {
constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();          // of the rows of a cone problem
constexpr double rounding_of_terms = 4 * std::numeric_limits<double>::epsilon();  // of their sums
constexpr int most_sweeps = 30;
constexpr double endless = 1e300;  // radius
// Linearised rows of redundant contacts contradict each other by an error of second order. The law is then solved with
// a larger tolerance; the next Newton correction is smaller and removes the error.
constexpr double tolerance_factors[] = {1, 100, 1e4};
}  // namespace

void CoupledFriction::begin(double tolerance, double penalty) {
  tolerance_ = tolerance;
  least_ = penalty > 0 ? ConeProblem::least_compliance(penalty) : 0;
  failed_ = -1;
  rows_.clear();
  multipliers_.clear();
  starts_.clear();
  scales_.clear();
  rate_scales_.clear();
  radii_.clear();
  part_of_.clear();
  parts_ = 0;
  linearised_ = false;
}

void CoupledFriction::guess(int part, In multipliers, double factor) { guess_[part] = {multipliers, factor}; }

void CoupledFriction::add_part(std::span<const int> rows, const FrictionSet& set, double scale) {
  for (const int row : rows) {
    const bool joint = system_->row_kind(row) == RowKind::joint_friction;
    const double lever = joint ? set.lever(row) : 1;
    rows_.push_back(row);
    scales_.push_back(scale / lever);
    rate_scales_.push_back(scale * lever);
    multipliers_.push_back(set.multipliers()[at(row - system_->bilateral())] * scales_.back());
    radii_.push_back(joint ? set.joint_radius(row) * scales_.back() : 0);
    starts_.push_back(multipliers_.back());
    part_of_.push_back(parts_);
  }
  ++parts_;
  linearised_ = true;
}

void CoupledFriction::add_rows(std::span<const int> rows, In start) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows_.push_back(rows[i]);
    multipliers_.push_back(0);
    radii_.push_back(0);
    starts_.push_back(start[i]);
    scales_.push_back(1);
    rate_scales_.push_back(1);
    part_of_.push_back(parts_);
  }
  ++parts_;
}

bool CoupledFriction::solve(std::span<const std::size_t> places, In D, const SparsePattern*, In b, Out l) {
  const std::size_t n = places.size();
  W_.resize(n * n);
  for (Vector* x : {&q_, &s_}) x->resize(n);
  find_levers(places, D);
  double largest = 0;
  bool known = false;
  for (std::size_t i = 0; i < n; ++i) {
    s_[i] = starts_[places[i]] / levers_[i];
    known = known || s_[i] != 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = rate_scales_[places[i]] * levers_[i];
    q_[i] = -b[i] * scale;
    for (std::size_t j = 0; j < n; ++j) {
      W_[i * n + j] = D[i * n + j] * scale / (scales_[places[j]] / levers_[j]);
      if (i == j && system_->row_kind(rows_[places[i]]) == RowKind::joint_friction)
        W_[i * n + j] = std::max(W_[i * n + j], least_);
      q_[i] -= W_[i * n + j] * multipliers_[places[j]];
    }
    largest = std::max(largest, std::abs(q_[i]));
  }
  for (std::size_t i = 0; i < n && !known; ++i)
    if (const Guess& guess = guess_[part_of_[places[i]]]; !guess.multipliers.empty())
      s_[i] = guess.factor * scales_[places[i]] * guess.multipliers[at(rows_[places[i]])];
  start_ = s_;
  // the rows are differences of what their multipliers make, of light bodies beside heavy ones large
  double terms = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += std::abs(W_[i * n + j] * s_[j]);
    terms = std::max(terms, sum);
  }
  const double floor = std::max(rounding * largest, rounding_of_terms * terms);
  int worst = -1;
  for (const double factor : tolerance_factors) {
    const double tolerance = factor * std::max(tolerance_, floor);
    s_ = start_;
    if (solve_in_turn(places, tolerance, worst)) break;
    s_ = start_;
    worst = solve_block(places, 0, n, tolerance);
    if (worst < 0) break;
  }
  if (worst >= 0) {
    const std::size_t place = places[at(worst)];
    failed_ = static_cast<int>(place) - system_->row_place(rows_[place]).row;
  }
  for (std::size_t i = 0; i < n; ++i) l[i] = (s_[i] - multipliers_[places[i]]) / scales_[places[i]] * levers_[i];
  return worst < 0;
}

// Rates of bilateral rows have other units than those of contacts, such as rad/s: they count with the levers that make
// their entries on the diagonal as large as the mean of the contacts' entries. Levers of all other rows are 1.
void CoupledFriction::find_levers(std::span<const std::size_t> places, In D) {
  const std::size_t n = places.size();
  levers_.assign(n, 1.0);
  const auto bilateral = [&](std::size_t i) { return system_->row_kind(rows_[places[i]]) == RowKind::bilateral; };
  double sum = 0;
  std::size_t contacts = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (bilateral(i)) continue;
    sum += D[i * n + i];
    ++contacts;
  }
  if (contacts == 0 || contacts == n || !(sum > 0)) return;
  for (std::size_t i = 0; i < n; ++i)
    if (bilateral(i) && D[i * n + i] > 0) levers_[i] = std::sqrt(sum / static_cast<double>(contacts) / D[i * n + i]);
}

// Part after part with the multipliers of the others, which move the rows of a part little; false if that has no end.
bool CoupledFriction::solve_in_turn(std::span<const std::size_t> places, double tolerance, int& worst) {
  const std::size_t n = places.size();
  std::size_t first[3] = {0, n, n};
  for (std::size_t i = 1; i < n; ++i)
    if (part_of_[places[i]] != part_of_[places[i - 1]]) {
      first[1] = i;
      break;
    }
  if (first[1] == n) return false;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    before_ = s_;
    for (int k = 0; k < 2; ++k)
      if (worst = solve_block(places, first[k], first[k + 1], tolerance); worst >= 0) return false;
    // the rows of the first part, after the second one
    double largest = 0;
    for (std::size_t i = 0; i < first[1]; ++i) {
      double change = 0;
      for (std::size_t j = first[1]; j < n; ++j) change += W_[i * n + j] * (s_[j] - before_[j]);
      largest = std::max(largest, std::abs(change));
    }
    if (largest <= tolerance) return true;
  }
  return false;
}

// Rows first to last with the multipliers of all others as they are; -1, or the worst row if there is no solution. Rows
// of parts are linearised at their present multipliers: many of them contradict each other by the error of the
// linearisation, and an approximate solution leads to the next one. Nothing linearises those of add_rows() again.
int CoupledFriction::solve_block(std::span<const std::size_t> places, std::size_t first, std::size_t last,
                                 double tolerance) {
  const std::size_t n = places.size(), m = last - first;
  list_discs(places.subspan(first, m));
  block_W_.resize(m * m);
  for (Vector* x : {&block_q_, &block_s_, &block_present_}) x->resize(m);
  for (std::size_t i = 0; i < m; ++i) {
    block_q_[i] = q_[first + i];
    block_s_[i] = s_[first + i];
    block_present_[i] = multipliers_[places[first + i]];
    for (std::size_t j = 0; j < n; ++j)
      if (j >= first && j < last)
        block_W_[i * m + j - first] = W_[(first + i) * n + j];
      else
        block_q_[i] += W_[(first + i) * n + j] * s_[j];
  }
  cone_.set(static_cast<int>(m), discs_, nullptr, true);
  const ConeProblem::Result result =
      cone_.solve(block_W_, block_q_, tolerance, block_s_, linearised_ ? In(block_present_) : In());
  if (!result.solved && !(linearised_ && result.approximate))
    return static_cast<int>(first) + std::max(0, result.worst);
  std::copy(block_s_.begin(), block_s_.end(), s_.begin() + static_cast<std::ptrdiff_t>(first));
  return -1;
}

// Tangential rows follow their normal row in the same part, unless nothing moves this row.
void CoupledFriction::list_discs(std::span<const std::size_t> places) {
  const std::size_t n = places.size();
  discs_.clear();
  std::size_t normal = n;
  for (std::size_t i = 0; i < n;) {
    const int row = rows_[places[i]];
    if (system_->row_kind(row) == RowKind::unilateral) {
      normal = i++;
      continue;
    }
    if (system_->row_kind(row) == RowKind::bilateral) {
      discs_.push_back({static_cast<int>(i++), 1, -1, 0, endless});
      continue;
    }
    const ContactParameters law = system_->contact_parameters(row);
    const int contact = system_->normal_row(row);
    const bool has_source = system_->row_kind(row) == RowKind::tangential && normal < n &&
                            rows_[places[normal]] == contact && places[i] - places[normal] == at(row - contact);
    ConeProblem::Disc disc{static_cast<int>(i), 0, has_source ? static_cast<int>(normal) : -1,
                           has_source ? law.friction : 0, radii_[places[i]]};
    const std::size_t first = i;
    const auto belongs = [&](std::size_t k) {
      const int other = rows_[places[k]];
      return places[k] - places[first] == k - first && other - row == static_cast<int>(k - first) &&
             (k == first || system_->row_place(other).row > 0) && system_->row_kind(other) == system_->row_kind(row) &&
             system_->contact_parameters(other).disc == law.disc;
    };
    while (i < n && belongs(i)) ++i;
    disc.rows = static_cast<int>(i - first);
    discs_.push_back(disc);
  }
}

}  // namespace carom
