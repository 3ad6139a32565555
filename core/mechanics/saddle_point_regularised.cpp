// SaddlePoint: direct solves of the matrix, regularised where rows are redundant.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {

constexpr double proximal = 1e-8;  // eps of the regularisation, relative to the largest diagonal entry
constexpr int refinements = 3;

}  // namespace

bool SaddlePoint::factorise_directly() {
  Vector& values = this->values();
  // redundant bilateral rows were met before: regularise at once
  if (!regularised_) {
    factorised_ = solver_.factorise(values) == FactorStatus::ok;
    if (factorised_ || n_b_ == 0 || !all_finite(values)) return factorised_;
    regularised_ = true;
  }
  set_regularisation(true);
  factorised_ = solver_.factorise(values) == FactorStatus::ok;
  set_regularisation(false);
  return factorised_;
}

void SaddlePoint::set_regularisation(bool on) {
  const int n = n_ / parts_;
  for (int p = 0; p < parts_; ++p) {
    double largest = 0;
    if (on)
      for (int i = p * n; i < (p + 1) * n; ++i)
        largest = std::max(largest, std::abs(values_[at(pattern_->find(i, i))]));
    for (int row = p * rows_of_part_; row < (p + 1) * rows_of_part_; ++row)
      values_[at(diagonal_[at(row)])] = on ? -proximal * largest : 0.0;
  }
}

// separate: b holds right-hand sides of different components, which must not depend on each other.
bool SaddlePoint::base_solve(Vector& b, bool separate) {
  if (iterative()) {
    // a right-hand side that is no step of Newton's method, and without rows
    scale_into(-1.0, b, residual_);
    projected_ = false;
    if (!cg_->set_rows({})) return false;
    turn(residual_);
    if (!run_cg(residual_, {}, {}, system_->force_norm(In(residual_).first(at(n_)), length_), b, {})) return false;
    turn(b);
    return true;
  }
  turn(b);
  if (!regularised_) {
    solver_.solve(b);
    turn(b);
    return true;
  }
  // proximal point: refine against the matrix without the regularisation
  copy(b, residual_);
  set_zero(b);
  for (int k = 0; k < refinements; ++k) {
    std::swap(previous_, correction_);
    copy(residual_, correction_);
    solver_.solve(correction_);
    axpy(1.0, correction_, b);
    multiply(*pattern_, values_, correction_, rhs_scratch_);
    axpy(-1.0, rhs_scratch_, residual_);
  }
  drop_contradictions(b, separate);
  turn(b);
  for (std::size_t i = 0; i < unit_.size(); ++i) residual_[i] /= unit_[i];
  return true;
}

// Corrections that come again in every sweep belong to rows that contradict each other: their multipliers hardly move
// anything, and would only grow. Judged for all components together, or for each of them.
void SaddlePoint::drop_contradictions(Vector& b, bool separate) {
  const Components& components = delassus_.components();
  separate = separate && components.count() > 1;
  change_.assign(separate ? at(components.count()) : 1, 0.0);
  size_.assign(change_.size(), 0.0);
  const auto part = [&](std::size_t i) { return separate ? at(components.of(static_cast<int>(i))) : 0; };
  for (std::size_t i = at(n_); i < at(n_ + n_b_); ++i) {
    const double difference = correction_[i] - previous_[i];
    size_[part(i)] += correction_[i] * correction_[i];
    change_[part(i)] += difference * difference;
  }
  bool any = false;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool drop = change_[part(i)] < 0.01 * size_[part(i)];
    any = any || drop;
    if (!drop) correction_[i] = 0;
  }
  if (!any) return;
  axpy(-refinements, correction_, b);
  multiply(*pattern_, values_, correction_, rhs_scratch_);
  axpy(refinements, rhs_scratch_, residual_);
}

}  // namespace carom
