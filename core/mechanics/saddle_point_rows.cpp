// SaddlePoint: the active unilateral rows, as columns B^-1 F^T or as projections of the conjugate gradients.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>

#include "core/base/vector_ops.hpp"

namespace carom {

// Gives the active rows to the conjugate gradients; false if they cannot take them.
bool SaddlePoint::project_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                                 const StepStart* start) {
  n_A_ = static_cast<int>(rows.size());
  if (rows.size() > active_.size()) active_.resize(rows.size());
  cg_rows_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(rows[i]).block)];
    a.kept = a.kept && a.row == rows[i] && block.traits().linear;
    if (!a.kept) system_->row_gradient(rows[i], q, t, T, a.G, start);
    a.row = rows[i];
    a.kept = true;
    // T turns rotations, so that the direction of the reaction is another one
    if (T != nullptr && a.G.equation.size() > 3) return false;
    cg_rows_.push_back(&a.G);
  }
  return cg_.set_rows(cg_rows_);
}

void SaddlePoint::set_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                             const StepStart* start) {
  if (iterative()) {
    projected_ = project_active(rows, q, t, T, start);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  place_rows(rows);
  condensed_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(a.row).block)];
    if (a.kept && block.traits().linear) continue;
    system_->row_gradient(a.row, q, t, T, a.G, start);
    if (T != nullptr)
      system_->row_gradient(a.row, q, t, nullptr, a.F, start);
    else
      a.F = a.G;
    condensed_.push_back(&a);
    a.kept = true;
  }
  find_columns();
}

void SaddlePoint::set_active(std::span<const int> rows, std::span<const SparseRow> G, std::span<const SparseRow> F) {
  projected_ = false;
  place_rows(rows);
  condensed_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    a.G = G[i];
    a.F = F[i];
    condensed_.push_back(&a);
    a.kept = true;
  }
  find_columns();
}

// Brings the rows into their places, each with the column that is known of it.
void SaddlePoint::place_rows(std::span<const int> rows) {
  const auto same = [](const ActiveRow& a, int row) { return a.row == row; };
  delassus_known_ = delassus_known_ && at(n_A_) == rows.size();
  n_A_ = static_cast<int>(rows.size());
  if (rows.size() > active_.size()) active_.resize(rows.size());
  if (std::equal(active_.begin(), active_.begin() + n_A_, rows.begin(), same)) return;
  delassus_known_ = false;
  for (std::size_t j = 0; j < active_.size(); ++j)
    if (active_[j].row >= 0 && place_[at(active_[j].row)] < 0) place_[at(active_[j].row)] = static_cast<int>(j);

  // rows that are known come into their places; what then lies in the place of a new row is not wanted
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int j = place_[at(rows[i])];
    if (j < 0 || at(j) == i) continue;
    std::swap(active_[i], active_[at(j)]);
    const int displaced = active_[at(j)].row;
    if (displaced >= 0 && place_[at(displaced)] == static_cast<int>(i)) place_[at(displaced)] = j;
    place_[at(rows[i])] = static_cast<int>(i);
  }
  for (const ActiveRow& a : active_)
    if (a.row >= 0) place_[at(a.row)] = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (active_[i].row == rows[i]) continue;
    active_[i].row = rows[i];
    active_[i].kept = false;
  }
}

// B^-1 [F^T; 0] of condensed_
void SaddlePoint::find_columns() {
  if (condensed_.empty()) return;
  delassus_known_ = false;
  if (delassus_.components().count() == 0) delassus_.analyse(*pattern_, active_.size());
  if (delassus_.find_columns(condensed_, [this](Vector& b) { return base_solve(b, true); })) return;
  for (CondensedRow* const row : condensed_) static_cast<ActiveRow*>(row)->kept = false;
}

}  // namespace carom
