// SaddlePoint: the active unilateral rows, as columns B^-1 F^T or as projections of the conjugate gradients.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

// Gives the active rows to the conjugate gradients; false if they cannot take them.
bool SaddlePoint::project_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                                 const StepStart* start) {
  n_A_ = static_cast<int>(rows.size());
  if (rows.size() > active_.size()) active_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(rows[i]).block)];
    a.kept = a.kept && a.row == rows[i] && block.traits().linear;
    a.row = rows[i];
    if (a.kept) continue;
    system_->row_gradient(rows[i], q, t, T, a.G, start);
    if (T != nullptr) system_->row_gradient(rows[i], q, t, nullptr, a.F, start);
    a.kept = true;
  }
  return project_rows(T != nullptr);
}

// directions: F is another vector than G
bool SaddlePoint::project_rows(bool directions) {
  const std::size_t count = at(n_A_);
  cg_G_.clear();
  cg_F_.clear();
  if (cg_scaled_.size() < 2 * count && !unit_.empty()) cg_scaled_.resize(2 * count);
  const auto in_units = [&](const SparseRow& row, std::size_t place) {
    if (unit_.empty()) return &row;
    SparseRow& scaled = cg_scaled_[place] = row;
    for (std::size_t k = 0; k < row.equation.size(); ++k) scaled.value[k] *= unit_[at(row.equation[k])];
    return const_cast<const SparseRow*>(&scaled);
  };
  for (std::size_t i = 0; i < count; ++i) {
    cg_G_.push_back(in_units(active_[i].G, 2 * i));
    cg_F_.push_back(directions ? in_units(active_[i].F, 2 * i + 1) : cg_G_.back());
  }
  return cg_->set_rows(cg_G_, cg_F_, row_scale_[0]);
}

void SaddlePoint::set_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                             const StepStart* start) {
  if (iterative()) {
    projected_ = project_active(rows, q, t, T, start);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  begin_rows(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = place_row(i, rows);
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(a.row).block)];
    if (a.kept && block.traits().linear) continue;
    system_->row_gradient(a.row, q, t, T, a.G, start);
    if (T != nullptr)
      system_->row_gradient(a.row, q, t, nullptr, a.F, start);
    else
      a.F = a.G;
    solve_column(a);
  }
}

void SaddlePoint::set_active(std::span<const int> rows, std::span<const SparseRow> G, std::span<const SparseRow> F) {
  projected_ = false;
  if (iterative()) {
    n_A_ = static_cast<int>(rows.size());
    if (rows.size() > active_.size()) active_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      active_[i] = {rows[i], false, G[i], F[i], std::move(active_[i].column)};
    projected_ = project_rows(true);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  begin_rows(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = place_row(i, rows);
    a.G = G[i];
    a.F = F[i];
    solve_column(a);
  }
}

void SaddlePoint::begin_rows(std::size_t count) {
  delassus_known_ = delassus_known_ && at(n_A_) == count;
  n_A_ = static_cast<int>(count);
  if (count > active_.size()) active_.resize(count);
}

// Brings row rows[i] into place i, with the column that is known of it.
SaddlePoint::ActiveRow& SaddlePoint::place_row(std::size_t i, std::span<const int> rows) {
  std::size_t j = i;
  while (j < active_.size() && active_[j].row != rows[i]) ++j;
  if (j == active_.size()) {
    // a new row takes the first place that no wanted row holds
    for (j = i; j + 1 < active_.size(); ++j)
      if (std::find(rows.begin(), rows.end(), active_[j].row) == rows.end()) break;
    active_[j].kept = false;
    active_[j].row = rows[i];
  }
  if (j != i) {
    std::swap(active_[i], active_[j]);
    delassus_known_ = false;
  }
  return active_[i];
}

// B^-1 [F^T; 0]
void SaddlePoint::solve_column(ActiveRow& row) {
  delassus_known_ = false;
  row.column.assign(at(n_ + n_b_), 0.0);
  for (std::size_t k = 0; k < row.F.equation.size(); ++k) row.column[at(row.F.equation[k])] += row.F.value[k];
  row.kept = base_solve(row.column);
}

}  // namespace carom
