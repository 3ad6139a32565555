// SaddlePoint: direct solves of the matrix, regularised where rows are redundant.

#include "core/mechanics/saddle_point.hpp"

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

bool SaddlePoint::factorise_directly() {
  Vector& values = this->values();
  // redundant bilateral rows were met before: regularise at once
  if (!regularised_) {
    factorised_ = solver_.factorise(values) == FactorStatus::ok;
    if (factorised_ || n_b_ == 0 || !all_finite(values)) return factorised_;
    regularised_ = true;
  }
  // if shifts by the entries of a row are lost in rounding, shift by the largest entry
  for (const Regularisation by : {Regularisation::rows, Regularisation::largest}) {
    set_regularisation(by);
    used_ = by;
    factorised_ = solver_.factorise(values) == FactorStatus::ok;
    if (factorised_) break;
  }
  set_regularisation(Regularisation::none);
  return factorised_;
}

void SaddlePoint::set_regularisation(Regularisation by) {
  const bool on = by != Regularisation::none;
  Vector& values = this->values();
  const int n = n_ / parts_;
  std::vector<ProximalRefinement::Shifts::Entry> entries;
  for (int p = 0; p < parts_; ++p) {
    ProximalRefinement::Shifts shifts;
    for (int i = p * n; on && i < (p + 1) * n; ++i) shifts.see(values[at(pattern_->find(i, i))]);
    for (int row = p * rows_of_part_; on && row < (p + 1) * rows_of_part_; ++row) {
      entries.clear();
      for (int k = pattern_->row_start[at(n_ + row)]; k < pattern_->row_start[at(n_ + row + 1)]; ++k)
        if (const int j = pattern_->column[at(k)]; p * n <= j && j < (p + 1) * n)
          entries.push_back({values[at(k)], values[at(pattern_->find(j, j))]});
      shifts.add_row(entries);
    }
    for (int row = 0; row < rows_of_part_; ++row)
      values[at(diagonal_[at(p * rows_of_part_ + row)])] = on ? -shifts.of(row, by == Regularisation::rows) : 0.0;
  }
}

// separate: b holds right-hand sides of different components, which must not depend on each other.
bool SaddlePoint::base_solve(Vector& b, bool separate) {
  if (iterative()) {
    // the active rows are condensed: conjugate gradients solve without them, to full accuracy
    scale_into(-1.0, b, residual_);
    projected_ = false;
    if (!cg_->set_rows({})) return false;
    scale_by_units(residual_);
    if (!run_cg(residual_, {}, {}, system_->force_norm(In(residual_).first(at(n_)), length_), b, {})) return false;
    scale_by_units(b);
    return true;
  }
  scale_by_units(b);
  if (!regularised_) {
    solver_.solve(b);
    scale_by_units(b);
    return true;
  }
  // dropped contradictions of one component must not depend on the others
  const Components& components = delassus_.components();
  if (separate && components.count() > 1)
    refinement_.solve(solver_, *pattern_, values(), n_, b, components.of_equations(), components.count());
  else
    refinement_.solve(solver_, *pattern_, values(), n_, b);
  scale_by_units(b);
  for (std::size_t i = 0; i < unit_.size(); ++i) refinement_.residual()[i] /= unit_[i];
  return true;
}

}  // namespace carom
