#include "integrators/common/coupled_friction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/index.hpp"

namespace carom {

namespace {
constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();  // of the rows of a cone problem
}

void CoupledFriction::begin(double tolerance) {
  tolerance_ = tolerance;
  failed_ = -1;
  rows_.clear();
  multipliers_.clear();
  scales_.clear();
}

void CoupledFriction::add_part(std::span<const int> rows, In multipliers, double scale) {
  for (const int row : rows) {
    rows_.push_back(row);
    multipliers_.push_back(multipliers[at(row - system_->bilateral())] * scale);
    scales_.push_back(scale);
  }
}

bool CoupledFriction::solve(std::span<const std::size_t> places, In D, In b, Out l) {
  const std::size_t n = places.size();
  W_.resize(n * n);
  for (Vector* x : {&q_, &s_}) x->resize(n);
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) s_[i] = multipliers_[places[i]];
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = scales_[places[i]];
    q_[i] = -b[i] * scale;
    for (std::size_t j = 0; j < n; ++j) {
      W_[i * n + j] = D[i * n + j] * scale / scales_[places[j]];
      q_[i] -= W_[i * n + j] * s_[j];
    }
    largest = std::max(largest, std::abs(q_[i]));
  }
  // tangential rows follow their normal row in the same part, unless nothing moves this row
  discs_.clear();
  std::size_t normal = n;
  for (std::size_t i = 0; i < n;) {
    const int row = rows_[places[i]];
    if (system_->row_kind(row) == RowKind::unilateral) {
      normal = i++;
      continue;
    }
    const ContactParameters law = system_->contact_parameters(row);
    const int contact = row - system_->row_place(row).row;
    const bool has_source =
        normal < n && rows_[places[normal]] == contact && places[i] - places[normal] == at(system_->row_place(row).row);
    ConeProblem::Disc disc{static_cast<int>(i), 0, has_source ? static_cast<int>(normal) : -1,
                           has_source ? law.friction : 0, 0};
    const std::size_t first = i;
    while (i < n && places[i] - places[first] == i - first && rows_[places[i]] - row == static_cast<int>(i - first) &&
           system_->contact_parameters(rows_[places[i]]).disc == law.disc)
      ++i;
    disc.rows = static_cast<int>(i - first);
    discs_.push_back(disc);
  }
  cone_.set(static_cast<int>(n), discs_);
  const ConeProblem::Result result = cone_.solve(W_, q_, std::max(tolerance_, rounding * largest), s_);
  if (!result.solved) {
    const std::size_t worst = places[at(std::max(0, result.worst))];
    failed_ = static_cast<int>(worst) - system_->row_place(rows_[worst]).row;
  }
  for (std::size_t i = 0; i < n; ++i) l[i] = (s_[i] - multipliers_[places[i]]) / scales_[places[i]];
  return result.solved;
}

}  // namespace carom
