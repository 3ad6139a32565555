// SaddlePoint: direct solves of the matrix and of the Delassus operator, regularised where rows are redundant.

#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "core/linear/projected_cg.hpp"

namespace carom {

namespace {

constexpr double proximal = 1e-8;         // eps of the regularisations, relative to the largest diagonal entry
constexpr double rank_tolerance = 1e-10;  // pivots of the Delassus operator below this mean redundant rows
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

bool SaddlePoint::base_solve(Vector& b) {
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
  // corrections that come again in every sweep belong to rows that contradict each other: their multipliers hardly move
  // anything, and would only grow
  double change = 0, size = 0;
  for (std::size_t i = at(n_); i < at(n_ + n_b_); ++i) {
    size += correction_[i] * correction_[i];
    change += (correction_[i] - previous_[i]) * (correction_[i] - previous_[i]);
  }
  if (change < 0.01 * size) {
    axpy(-refinements, correction_, b);
    multiply(*pattern_, values_, correction_, rhs_scratch_);
    axpy(refinements, rhs_scratch_, residual_);
  }
  turn(b);
  for (std::size_t i = 0; i < unit_.size(); ++i) residual_[i] /= unit_[i];
  return true;
}

bool SaddlePoint::factorise_delassus() {
  if (delassus_known_) return true;
  const int n = n_A_;
  D_.resize(at(n * n));
  d_rhs_.resize(at(n));
  d_residual_.resize(at(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const SparseRow& G = active_[at(i)].G;
      const Vector& column = active_[at(j)].column;
      double sum = 0;
      for (std::size_t k = 0; k < G.equation.size(); ++k) sum += G.value[k] * column[at(G.equation[k])];
      D_[at(i * n + j)] = sum;
    }
  // rows of bodies of very different mass are no redundant rows: judge rank with a unit diagonal
  d_scale_.resize(at(n));
  for (int i = 0; i < n; ++i) {
    const double d = std::abs(D_[at(i * n + i)]);
    d_scale_[at(i)] = d > 0 ? 1 / std::sqrt(d) : 1.0;
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) D_[at(i * n + j)] *= d_scale_[at(i)] * d_scale_[at(j)];
  delassus_regularised_ = !(D_lu_.factorise(D_, n) > rank_tolerance);
  delassus_known_ = true;
  if (!delassus_regularised_) return true;
  delassus_known_ = D_lu_.factorise(D_, n, proximal) > 0;
  return delassus_known_;
}

void SaddlePoint::solve_delassus(Vector& b) {
  const int n = n_A_;
  for (int i = 0; i < n; ++i) b[at(i)] *= d_scale_[at(i)];
  solve_scaled_delassus(b);
  for (int i = 0; i < n; ++i) b[at(i)] *= d_scale_[at(i)];
}

void SaddlePoint::solve_scaled_delassus(Vector& b) {
  const int n = n_A_;
  if (!delassus_regularised_) {
    D_lu_.solve(b);
    return;
  }
  d_residual_ = b;
  std::fill(b.begin(), b.end(), 0.0);
  d_correction_.resize(at(n));
  for (int k = 0; k < refinements; ++k) {
    d_correction_ = d_residual_;
    D_lu_.solve(d_correction_);
    for (int i = 0; i < n; ++i) {
      b[at(i)] += d_correction_[at(i)];
      for (int j = 0; j < n; ++j) d_residual_[at(i)] -= D_[at(i * n + j)] * d_correction_[at(j)];
    }
  }
}

}  // namespace carom
