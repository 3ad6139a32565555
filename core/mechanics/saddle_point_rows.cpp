// SaddlePoint: the active unilateral rows, as columns B^-1 F^T or as projections of the conjugate gradients.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <functional>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {
constexpr long columns_price = 3;  // of factors, in the iterations that are as costly as a factorisation
constexpr int few_components = 4;  // whose columns do not share solves by conjugate gradients
}  // namespace

// Gives the active rows to the conjugate gradients; false if they cannot take them.
bool SaddlePoint::project_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                                 const StepStart* start) {
  n_A_ = static_cast<int>(rows.size());
  if (rows.size() > active_.size()) active_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    const ConstraintBlock& block = *system_->constraints()[at(system_->row_place(rows[i]).block)];
    a.kept = a.kept && a.row == rows[i] && block.traits().linear;
    a.columned = false;
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
                             const StepStart* start, bool keep) {
  if (iterative()) {
    projected_ = project_active(rows, q, t, T, start);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  if (!keep)
    for (ActiveRow& a : active_)
      a.kept = a.kept && system_->constraints()[at(system_->row_place(a.row).block)]->traits().linear;
  place_rows(rows);
  condensed_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    if (a.kept) continue;
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

void SaddlePoint::set_active(std::span<const int> rows, std::span<const SparseRow> G, std::span<const SparseRow> F,
                             bool condensed) {
  projected_ = false;
  if (iterative() && !condensed) {
    n_A_ = static_cast<int>(rows.size());
    if (rows.size() > active_.size()) active_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      active_[i].row = rows[i];
      active_[i].kept = false;
      active_[i].G = G[i];
      active_[i].F = F[i];
    }
    projected_ = project_rows(true);
    if (projected_) return;
    for (ActiveRow& row : active_) row.kept = false, row.row = -1;
  }
  place_rows(rows);
  condensed_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ActiveRow& a = active_[i];
    a.G = G[i];
    // a column of conjugate gradients costs as much as an iteration, and one of coupled parts a solve of their size
    if ((iterative() || parts_ > 1) && a.kept && a.columned && a.F.equation == F[i].equation && a.F.value == F[i].value)
      continue;
    a.F = F[i];
    condensed_.push_back(&a);
    a.kept = a.columned = true;
  }
  delassus_known_ = false;
  find_columns();
}

bool SaddlePoint::columns_last() const { return iterative() && delassus_.components().count() <= few_components; }

int SaddlePoint::costly_columns() const {
  if (!iterative()) return 0;
  return static_cast<int>(std::ranges::count_if(active_, [](const ActiveRow& a) { return a.kept && a.columned; }));
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

// Whether columns have cost many times what factors cost.
bool SaddlePoint::outgrows_sweeps(long iterations) const {
  return may_leave_sweeps_ && iterative() && factors_affordable_ && cg_->by_blocks() && cg_->may_be_whole() &&
         iterations > columns_price * long{factors_in_sweeps_};
}

// Factors of the present matrix, and of the matrices that follow. False where K has none: sweeps go on.
bool SaddlePoint::leave_sweeps() {
  whole_ = true;
  assemble(kept_.request());
  if (prepare_iteration(false)) {
    ++cg_counters_.factor_matrices;
    return true;
  }
  whole_ = false;
  prepare_iteration(false);
  return false;
}

// B^-1 [F^T; 0] of condensed_
void SaddlePoint::find_columns() {
  columns_known_ = true;
  if (condensed_.empty()) return;
  delassus_known_ = false;
  if (delassus_.components().count() == 0) delassus_.analyse(*pattern_, active_.size());
  const long before = cg_counters_.cg_iterations;
  bool tried = false, left = false;
  auto solve = [&](Vector& b) {
    if (stop_ != nullptr && *stop_ != 0) return false;
    if (!tried && outgrows_sweeps(cg_counters_.cg_iterations - before)) {
      tried = true;
      left = leave_sweeps();
      if (left) return false;
    }
    if (!base_solve(b, true)) return false;
    ++columns_found_;
    return true;
  };
  columns_known_ = delassus_.find_columns(condensed_, std::ref(solve), columns_last());  // without an allocation
  if (!columns_known_ && left) {
    // all columns come from one preconditioner: a restart finds them again with the same bits
    for (ActiveRow& row : active_) row.kept = false;
    columns_found_ = 0;
    condensed_.clear();
    for (ActiveRow& row : std::span(active_).first(at(n_A_))) {
      row.kept = true;
      condensed_.push_back(&row);
    }
    columns_known_ = delassus_.find_columns(condensed_, std::ref(solve), columns_last());
  }
  if (columns_known_) return;
  for (CondensedRow* const row : condensed_) static_cast<ActiveRow*>(row)->kept = false;
}

}  // namespace carom
