#include "core/linear/free_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr std::size_t most_changed = 48;   // rows of the border
constexpr std::size_t most_added = 12;     // at once: their solutions cost as much as a factorisation
constexpr double largest_residual = 1e-8;  // over the right-hand side
constexpr double round_off = 1e-15;        // of the terms of a row
constexpr int most_corrections = 3;

}  // namespace

void FreeRows::set_matrix(const SparsePattern& pattern, std::span<const double> values) {
  if (pattern.row_start != pattern_.row_start || pattern.column != pattern_.column) {
    pattern_ = pattern;
    solver_.set_method(LinearMethod::cholmod_quick);
    solver_.analyse(pattern_, {true, true});
  }
  values_.assign(values.begin(), values.end());
  diagonal_.resize(n());
  for (int i = 0; i < pattern_.rows; ++i) diagonal_[at(i)] = values_[at(pattern_.find(i, i))];
  has_factors_ = false;
}

bool FreeRows::select(std::span<const std::uint8_t> free) {
  free_.assign(free.begin(), free.end());
  if (!has_factors_) return factorise();
  std::size_t kept = 0;
  for (std::size_t k = 0; k < changed_.size(); ++k) {
    const int row = changed_[k];
    if (free_[at(row)] == factorised_[at(row)]) continue;
    if (kept < k) copy(column(k), column(kept));
    changed_[kept++] = row;
  }
  changed_.resize(kept);
  added_.clear();
  for (int i = 0; i < pattern_.rows; ++i)
    if (free_[at(i)] != factorised_[at(i)] && std::ranges::find(changed_, i) == changed_.end()) added_.push_back(i);
  if (added_.size() > most_added || kept + added_.size() > most_changed) return factorise();
  return (add_columns(added_) && make_schur()) || factorise();
}

bool FreeRows::factorise() {
  changed_.clear();
  factorised_ = free_;
  matrix_.resize(values_.size());
  for (int i = 0; i < pattern_.rows; ++i)
    for (int k = pattern_.row_start[at(i)]; k < pattern_.row_start[at(i) + 1]; ++k) {
      const int j = pattern_.column[at(k)];
      matrix_[at(k)] = i == j || (is_factorised(i) && is_factorised(j)) ? values_[at(k)] : 0.0;
    }
  solver_.renew();
  return has_factors_ = solver_.factorise(matrix_) == FactorStatus::ok;
}

bool FreeRows::add_columns(std::span<const int> rows) {
  if (rows.empty()) return true;
  const std::size_t before = changed_.size();
  changed_.insert(changed_.end(), rows.begin(), rows.end());
  columns_.resize(std::max(columns_.size(), changed_.size() * n()));
  const auto columns = std::span(columns_).subspan(before * n(), rows.size() * n());
  set_zero(columns);
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const int row = rows[a];
    const auto c = column(before + a);
    if (is_factorised(row)) {
      c[at(row)] = 1;
      continue;
    }
    for (int k = pattern_.row_start[at(row)]; k < pattern_.row_start[at(row) + 1]; ++k)
      if (const int j = pattern_.column[at(k)]; is_factorised(j)) c[at(j)] = values_[at(k)];
  }
  solver_.solve(columns, static_cast<int>(rows.size()));
  return all_finite(columns);
}

// Row of [K_A E_B]' x.
double FreeRows::factorised_row(int row, std::span<const double> x) const {
  if (is_factorised(row)) return x[at(row)];
  double sum = 0;
  for (int k = pattern_.row_start[at(row)]; k < pattern_.row_start[at(row) + 1]; ++k)
    if (const int j = pattern_.column[at(k)]; is_factorised(j)) sum += values_[at(k)] * x[at(j)];
  return sum;
}

// [K_AA 0; 0 0] - [K_A E_B]' K^-1 [K_A E_B]
bool FreeRows::make_schur() {
  const std::size_t m = changed_.size();
  if (m == 0) return true;
  schur_.resize(m * m);
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b < m; ++b) {
      const int k =
          is_factorised(changed_[a]) || is_factorised(changed_[b]) ? -1 : pattern_.find(changed_[a], changed_[b]);
      schur_[a * m + b] = (k < 0 ? 0.0 : values_[at(k)]) - factorised_row(changed_[a], column(b));
    }
  return schur_lu_.factorise(schur_, static_cast<int>(m)) > 0;
}

bool FreeRows::solve_bordered(std::span<double> x) {
  border_.clear();
  for (const int row : changed_) border_.push_back(is_factorised(row) ? 0.0 : std::exchange(x[at(row)], 0.0));
  solver_.solve(x);
  for (std::size_t a = 0; a < border_.size(); ++a) border_[a] -= factorised_row(changed_[a], x);
  schur_lu_.solve(border_);
  for (std::size_t a = 0; a < border_.size(); ++a) axpy(-border_[a], column(a), x);
  for (std::size_t a = 0; a < border_.size(); ++a) x[at(changed_[a])] = is_factorised(changed_[a]) ? 0.0 : border_[a];
  return all_finite(x);
}

bool FreeRows::solve(std::span<double> x) {
  for (std::size_t i = 0; i < n(); ++i)
    if (free_[i] == 0) x[i] = 0;
  if (!changed_.empty()) {
    given_.assign(x.begin(), x.end());
    correction_ = given_;
    residual_.resize(n());
    set_zero(x);
    const double small = largest_residual * max_abs(given_);
    for (int k = 0; k < most_corrections && solve_bordered(correction_); ++k) {
      axpy(1.0, correction_, x);
      multiply(pattern_, values_, x, residual_);
      double largest = 0;
      for (std::size_t i = 0; i < n(); ++i) {
        residual_[i] = free_[i] != 0 ? given_[i] - residual_[i] : 0.0;
        largest = std::max(largest, std::abs(diagonal_[i] * x[i]));
      }
      if (max_abs(residual_) <= std::max(small, round_off * largest)) return true;
      correction_ = residual_;
    }
    copy(given_, x);
    if (!factorise()) return false;
  }
  solver_.solve(x);
  return all_finite(x);
}

}  // namespace carom
