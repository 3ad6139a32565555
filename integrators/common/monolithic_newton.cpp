#include "integrators/common/monolithic_newton.hpp"

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "integrators/common/coupled_friction.hpp"

namespace carom {

namespace {

constexpr double smallest_share = 1.0 / 256;  // of a correction, where forces are not finite beyond
constexpr std::size_t many_rows = 64;         // cost more solves than the iterations that a new matrix saves
constexpr double slow = 0.5;                  // decrease of the residuals by an iteration: asks for a new matrix
constexpr double friction_share = 0.1;        // of the tolerance of rows, for the law on the linearised rows

void append(const SparseRow& row, int shift, SparseRow& to) {
  for (const int e : row.equation) to.equation.push_back(shift + e);
  to.value.insert(to.value.end(), row.value.begin(), row.value.end());
}

}  // namespace

MonolithicNewton::MonolithicNewton(const System& system, std::span<MixedNewton* const> parts, double length)
    : system_(&system), parts_(parts.begin(), parts.end()) {
  const std::size_t k = parts_.size(), n = at(system.size()), n_b = at(system.bilateral());
  saddle_.analyse_coupled(system, static_cast<int>(k), length);
  blocks_.resize(k * k);
  given_.resize(k * k);
  for (Vector* x : {&r_, &dx_}) x->assign(k * n, 0.0);
  for (Vector* x : {&c_b_, &ds_b_}) x->assign(k * n_b, 0.0);
}

bool MonolithicNewton::solve(CoupledProblem& problem, std::span<const ProblemScales> scales, StepReport& report) {
  for (;;) {
    bool converged = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const PartTimer timer(report, parts_[i]->sub(report));
      const MixedNewton::Test state = parts_[i]->test(problem.part(static_cast<int>(i)), scales[i], report);
      if (state == MixedNewton::Test::failed) return false;
      converged = converged && state == MixedNewton::Test::converged;
    }
    if (converged) return true;
    if (!correct(problem, scales, report)) return false;
  }
}

bool MonolithicNewton::correct(CoupledProblem& problem, std::span<const ProblemScales> scales, StepReport& report) {
  const PartTimer timer(report, parts_[0]->sub(report));
  const std::size_t n = at(system_->size()), n_b = at(system_->bilateral());
  linearise(problem, scales);
  CoupledFriction* const law = problem.friction_law();
  bool found = keeps_matrix(report) || saddle_.factorise(given_);
  if (found) {
    gather_active(problem);
    saddle_.set_active(rows_, std::span(G_).first(rows_.size()), std::span(F_).first(rows_.size()), law != nullptr);
    if (law != nullptr) {
      // rows over their tolerances times the first of these are comparable
      double tolerance = 0;
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (parts_[i]->friction_ && tolerance == 0) {
          tolerance = scales[i].row_tolerance;
          law->begin(friction_share * tolerance, scales[i].penalty);
        }
      for (std::size_t i = 0; i < parts_.size(); ++i)
        if (const MixedNewton& part = *parts_[i]; part.friction_)
          law->add_part(part.solved_rows(), *part.friction_, tolerance / scales[i].row_tolerance);
    }
    c_A_.clear();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const MixedNewton& part = *parts_[i];
      copy(part.r_, Out(r_).subspan(i * n, n));
      copy(In(part.c_).first(n_b), Out(c_b_).subspan(i * n_b, n_b));
      for (const int row : part.solved_rows()) c_A_.push_back(part.c_[at(row)]);
    }
    ds_A_.resize(c_A_.size());
    found = saddle_.solve(r_, c_b_, c_A_, dx_, ds_b_, ds_A_, {}, law);
    if (!found && saddle_.failure() == SaddlePoint::Failure::law) {
      // no_friction_solution, of the part and the contact that are worst
      const int place = std::max(0, law->failed_place()), row = rows_[at(place)];
      parts_[at(row / system_->rows())]->fail(report, FailureReason::no_friction_solution);
      report.worst_row = row % system_->rows();
      return false;
    }
  }
  if (!found) return parts_[0]->fail(report, FailureReason::singular_matrix);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    ++parts_[i]->sub(report).iterations;
    if (parts_[i]->light_.any()) parts_[i]->measure_correction(In(dx_).subspan(i * n, n));
  }

  double share = 1;
  move(problem, share);
  for (bool finite = problem.update(); !finite && share > smallest_share;) {
    share *= 0.5;
    move(problem, -share);
    finite = problem.update();
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    MixedNewton& part = *parts_[i];
    copy(In(ds_b_).subspan(i * n_b, n_b), part.ds_b_);
    copy(In(ds_A_).subspan(first, part.active()), Out(part.ds_A_).first(part.active()));
    first += part.active();
    part.apply(share);
  }
  return true;
}

// The rows are those of the last iteration.
bool MonolithicNewton::keeps_matrix(StepReport& report) const {
  if (!saddle_.factorised() || rows_.size() < many_rows) return false;
  if (parts_.front()->options_.method != NewtonMethod::automatic) return false;
  return std::ranges::all_of(parts_, [&](const MixedNewton* part) {
    const SubproblemReport& sub = part->sub(report);
    if (sub.attempt_iterations() == 0) return false;
    const double now = sub.history_at(sub.iterations);
    return now <= 1 || now < slow * sub.history_at(sub.iterations - 1);
  });
}

void MonolithicNewton::linearise(CoupledProblem& problem, std::span<const ProblemScales> scales) {
  const std::size_t k = parts_.size();
  for (std::size_t i = 0; i < k; ++i) {
    MixedNewton& part = *parts_[i];
    Linearisation& own = blocks_[i * k + i];
    own = {};
    part.linearise(problem.part(static_cast<int>(i)), scales[i], own);
    for (std::size_t j = 0; j < k; ++j) {
      Linearisation& block = blocks_[i * k + j];
      given_[i * k + j] = &block;
      if (j == i) continue;
      block = {};
      block.t = own.t;
      block.row_scale = own.row_scale;
      block.start = own.start;
      block.s = own.s;
      if (!problem.couple(static_cast<int>(i), static_cast<int>(j), part.s_linearised_, block))
        given_[i * k + j] = nullptr;
    }
  }
}

// Gradients of the active rows of all parts by all unknowns, and the directions in which they act on their own part.
void MonolithicNewton::gather_active(CoupledProblem& problem) {
  const std::size_t k = parts_.size();
  const int n = system_->size();
  rows_.clear();
  for (std::size_t i = 0; i < k; ++i) {
    const MeanDirections* const mean = problem.part(static_cast<int>(i)).row_point().mean;
    for (const int row : parts_[i]->solved_rows()) {
      const Linearisation& own = *given_[i * k + i];
      // where x moves places, tangential rows are slip displacements, whose gradient is not that of the slip velocity
      const bool slips = own.rows_through_T && friction_rows.has(system_->row_kind(row));
      const std::size_t place = rows_.size();
      rows_.push_back(static_cast<int>(i) * system_->rows() + row);
      if (place == G_.size()) {
        G_.emplace_back();
        F_.emplace_back();
      }
      for (SparseRow* x : {&G_[place], &F_[place]}) {
        x->equation.clear();
        x->value.clear();
      }
      for (std::size_t j = 0; j < k; ++j) {
        if (given_[i * k + j] == nullptr) continue;
        const Linearisation& by = *given_[i * k + j];
        if (slips) {
          const In q(by.q, system_->initial_configuration().size());
          system_->row_gap_gradient(row, q, by.t, by.rows_through_T ? by.T : nullptr, derivative_, by.start);
          for (double& value : derivative_.value) value *= by.c_row;
        } else {
          system_->row_linearisation(row, by, derivative_);
        }
        append(derivative_, static_cast<int>(j) * n, G_[place]);
      }
      const In q(own.q, system_->initial_configuration().size());
      system_->row_gradient(row, q, own.t, nullptr, derivative_, own.start);
      if (mean != nullptr && mean->has_mean(row - system_->bilateral()))
        mean->take_mean(*system_, row, q, own.t, derivative_);
      append(derivative_, static_cast<int>(i) * n, F_[place]);
    }
  }
}

void MonolithicNewton::move(CoupledProblem& problem, double share) {
  const std::size_t n = at(system_->size());
  for (std::size_t i = 0; i < parts_.size(); ++i)
    problem.part(static_cast<int>(i)).move(share, In(dx_).subspan(i * n, n));
}

}  // namespace carom
