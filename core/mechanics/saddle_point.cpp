#include "core/mechanics/saddle_point.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

// conjugate gradients: from how many operations per entry on, iterations they may take, failures until they stay out
constexpr double cg_operations_per_entry = 40;
constexpr int cg_least_limit = 200, cg_largest_limit = 5000, cg_patience = 3;
constexpr double cg_entries_per_iteration = 10;  // of a factorisation's operations; it runs faster
constexpr double direct_operations_per_entry = 3000;

}  // namespace

void SaddlePoint::analyse(const System& system, MatrixProperties properties, Vector* scratch, double length,
                          bool scaled) {
  system_ = &system;
  pattern_ = &system.saddle_pattern();
  resize(1);
  if (scaled && n_b_ > 0) set_units(length);

  // worth iterating? the shortest row excludes small models at once
  const bool possible = scratch != nullptr && n_b_ == 0 && properties.positive_definite;
  if (possible && pattern_->nonzeros() > 20L * n_) {
    std::vector<int> node(at(n_));
    Vector weight;
    for (int i = 0; i < n_; ++i) node[at(i)] = system.equation_node(i);
    for (const DofMap::Frame& f : system.dofs().rotating_frames()) {
      if (weight.empty()) weight.assign(at(n_), 1.0);
      for (int c = 0; c < 3; ++c) weight[at(f.equation + c)] = 1 / length;
    }
    cg_.analyse(*pattern_, node, std::move(weight), system.threads());
    const SparsePattern graph = cg_.node_graph();
    const double unknowns_per_node = static_cast<double>(n_) / graph.rows;
    const double operations = std::pow(unknowns_per_node, 3) * factorisation_operations(graph);
    const double per_entry = operations / pattern_->nonzeros();
    iterative_ = per_entry > cg_operations_per_entry;
    direct_affordable_ = per_entry < direct_operations_per_entry;
    cg_limit_ = static_cast<int>(
        std::clamp(per_entry / cg_entries_per_iteration, 1.0 * cg_least_limit, 1.0 * cg_largest_limit));
  }
  symmetrised_ = iterative_ && !properties.symmetric;
  properties_.symmetric = properties.symmetric || symmetrised_;
  properties_.positive_definite = properties.positive_definite && properties_.symmetric;
  if (iterative_) {
    scratch_ = scratch;
    scratch_->resize(at(pattern_->nonzeros()));
  } else {
    cg_ = {};
    scratch_ = nullptr;
    values_.assign(at(pattern_->nonzeros()), 0.0);
    analyse_direct();
  }
}

void SaddlePoint::resize(int parts) {
  parts_ = parts;
  n_ = parts * system_->size();
  rows_of_part_ = system_->bilateral();
  n_b_ = parts * rows_of_part_;
  row_scale_.assign(at(parts), 1.0);
  unit_.clear();
  for (Vector* x : {&rhs_, &residual_, &correction_, &previous_, &rhs_scratch_}) x->assign(at(n_ + n_b_), 0.0);
  diagonal_.clear();
  for (int i = 0; i < n_b_; ++i) diagonal_.push_back(pattern_->find(n_ + i, n_ + i));
  factorised_ = regularised_ = direct_known_ = direct_ = iterative_ = false;

  // room for a few active rows; more allocate when they become active for the first time
  const std::size_t few = std::min<std::size_t>(16, at(parts * system_->conditional()));
  active_.resize(few);
  for (ActiveRow& row : active_) {
    row.column.reserve(at(n_ + n_b_));
    row.parts.reserve(2);
    for (SparseRow* r : {&row.G, &row.F}) {
      r->equation.reserve(16);
      r->value.reserve(16);
    }
  }
  condensed_.reserve(few);
  d_rhs_.reserve(few);
  cg_rows_.reserve(few);
  place_.assign(at(parts * system_->rows()), -1);
  delassus_ = {};
}

void SaddlePoint::analyse_direct() {
  if (direct_known_) return;
  // the system's pattern, which outlives this, is not copied
  solver_.analyse(std::shared_ptr<const SparsePattern>(std::shared_ptr<const SparsePattern>(), pattern_), properties_);
  direct_known_ = true;
}

bool SaddlePoint::factorise(const Linearisation& request) {
  assemble(request);
  row_scale_[0] = request.row_scale;
  for (ActiveRow& row : active_) row.kept = false;
  delassus_known_ = projected_ = false;
  if (!iterative_) return factorise_directly();

  // conjugate gradients are tried anew when the step changes
  const Linearisation& last = kept_.numbers;
  if (request.c_M != last.c_M || request.c_C != last.c_C || request.c_K != last.c_K || request.c_s != last.c_s)
    cg_failures_ = 0;
  kept_.keep(*system_, request);
  direct_ = gave_up_ || cg_failures_ >= cg_patience;
  gave_up_ = false;
  if (!direct_ && !cg_.prepare(values())) {
    if (!direct_affordable_) return factorised_ = false;
    direct_ = true;
  }
  if (!direct_) {
    ++cg_counters_.cg_matrices;
    return factorised_ = true;
  }
  ++cg_counters_.fallbacks;
  analyse_direct();
  return factorise_directly();
}

void SaddlePoint::assemble(const Linearisation& request) {
  Vector& values = this->values();
  Linearisation wanted = request;
  wanted.symmetrised = symmetrised_;
  system_->assemble(wanted, values);
  if (request.frame_blocks.empty()) {
    to_units(values);
    return;
  }
  std::size_t entry = 0;
  for (const DofMap::Frame& f : system_->dofs().rotating_frames())
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j, ++entry)
        if (const int k = pattern_->find(f.equation + i, f.equation + j); k >= 0)
          values[at(k)] += request.frame_blocks[entry];
  to_units(values);
}

LinearCounters SaddlePoint::counters() const {
  LinearCounters sum = solver_.counters();
  return sum += cg_counters_;
}

ProjectedCg::Status SaddlePoint::run_cg(In r, In c, Accuracy accuracy, Out dx, Out dl) {
  const ProjectedCg::Status status = cg_.solve(r, c, accuracy.relative, accuracy.enough, cg_limit_, dx, dl);
  ++cg_counters_.cg_solves;
  cg_counters_.cg_iterations += cg_.iterations();
  const bool failed = status == ProjectedCg::Status::indefinite || status == ProjectedCg::Status::slow;
  failure_ = status == ProjectedCg::Status::indefinite ? Failure::indefinite
             : status == ProjectedCg::Status::slow     ? Failure::slow
                                                       : Failure::not_finite;
  gave_up_ = failed && direct_affordable_;
  cg_failures_ = gave_up_ ? cg_failures_ + 1 : 0;
  return status;
}

bool SaddlePoint::solve(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy) {
  if (gave_up_) return false;
  if (projected_) return run_cg(r, c_A, accuracy, dx, dl_A) == ProjectedCg::Status::converged;
  // the base system without the active rows
  bool zero = true;
  for (int i = 0; i < n_; ++i) {
    rhs_[at(i)] = -r[at(i)];
    zero = zero && r[at(i)] == 0;
  }
  for (int i = 0; i < n_b_; ++i) {
    rhs_[at(n_ + i)] = row_scale(i) * c_b[at(i)];
    zero = zero && c_b[at(i)] == 0;
  }
  constraint_inconsistency_ = 0;
  if (!zero && !base_solve(rhs_)) return false;
  if (!zero && regularised_)
    for (int i = 0; i < n_b_; ++i)
      constraint_inconsistency_ = std::max(constraint_inconsistency_, std::abs(residual_[at(n_ + i)]) / row_scale(i) *
                                                                          (unit_.empty() ? 1.0 : unit_[at(n_ + i)]));

  // the active rows through their Delassus operator
  if (n_A_ > 0) {
    if (!delassus_known_) {
      condensed_.clear();
      for (int i = 0; i < n_A_; ++i) condensed_.push_back(&active_[at(i)]);
      delassus_known_ = delassus_.factorise(condensed_);
      if (!delassus_known_) return false;
    }
    d_rhs_.resize(at(n_A_));
    for (int i = 0; i < n_A_; ++i) {
      const SparseRow& G = active_[at(i)].G;
      double sum = -c_A[at(i)];
      for (std::size_t k = 0; k < G.equation.size(); ++k) sum -= G.value[k] * rhs_[at(G.equation[k])];
      d_rhs_[at(i)] = sum;
    }
    delassus_.solve(d_rhs_);
    for (int i = 0; i < n_A_; ++i) {
      delassus_.add_column(active_[at(i)], d_rhs_[at(i)], rhs_);
      dl_A[at(i)] = d_rhs_[at(i)];
    }
  }
  for (int i = 0; i < n_; ++i) dx[at(i)] = rhs_[at(i)];
  for (int i = 0; i < n_b_; ++i) dl_b[at(i)] = row_scale(i) * rhs_[at(n_ + i)];
  return all_finite(rhs_);
}

}  // namespace carom
