// MonolithicNewton: several coupled problems solved as one system by semi-smooth Newton.
//
// The problems are those of MixedNewton, one for each of its solvers, but residual and rows of one may depend on the
// unknowns of all. Every iteration tests all problems (MixedNewton::test: active set, tolerances, floors, limits) and
// solves, unless all have converged,
//
//   sum_j S_ij dx_j - G_i^T ds_i = -r_i,      sum_j G_ij dx_j = -c_i
//
// for the bilateral and active rows of every part i, with all coupling terms. Every iteration has a new matrix, unless
// residuals fall fast and many rows are active, since each active row costs a solve with a new matrix. A correction to
// where forces are not finite is halved.
#pragma once

#include <span>
#include <vector>

#include "integrators/common/mixed_newton.hpp"

namespace carom {

class CoupledFriction;

class CoupledProblem {
 public:
  CoupledProblem() = default;
  virtual ~CoupledProblem() = default;
  CoupledProblem(const CoupledProblem&) = delete;
  CoupledProblem& operator=(const CoupledProblem&) = delete;

  /// Part i; its linearise() is the diagonal block, its move() need not evaluate forces.
  virtual MixedProblem& part(int i) = 0;
  /// Derivatives of residual and rows of part i by the unknowns of part j != i, as coefficients (c_row, c_rate and
  /// rows_through_T say those of the rows). `s`: the multipliers of part i for D(F^T s). Time, row scale and start of
  /// the step are set already. False: zero.
  virtual bool couple(int i, int j, In s, Linearisation& request) = 0;
  /// The law of all parts together; null without friction.
  virtual CoupledFriction* friction_law() { return nullptr; }
  /// Called when all parts have moved. False if forces are not finite there.
  virtual bool update() = 0;
};

class MonolithicNewton {
 public:
  /// `parts`: one solver for every problem, in their order, which outlive this; at least one. `length`: of the model.
  MonolithicNewton(const System& system, std::span<MixedNewton* const> parts, double length);

  /// Iterates to the end; false if that fails, and the report says why. Every part has begun (MixedNewton::begin).
  bool solve(CoupledProblem& problem, std::span<const ProblemScales> scales, StepReport& report);

  SaddlePoint& saddle() { return saddle_; }
  LinearCounters counters() const { return saddle_.counters(); }
  void save(NamedArrays& record) const { saddle_.save(record, "monolithic ", false); }
  void restore(const NamedArrays& record) { saddle_.restore(record, "monolithic "); }

 private:
  bool correct(CoupledProblem& problem, std::span<const ProblemScales> scales, StepReport& report);
  bool keeps_matrix(StepReport& report) const;
  void linearise(CoupledProblem& problem, std::span<const ProblemScales> scales);
  void gather_active(CoupledProblem& problem);
  void move(CoupledProblem& problem, double share);

  const System* system_;
  std::vector<MixedNewton*> parts_;
  SaddlePoint saddle_;
  std::vector<Linearisation> blocks_;  // row by row
  std::vector<const Linearisation*> given_;
  std::vector<int> rows_;  // active rows of all parts, numbered part * rows() + row
  std::vector<SparseRow> G_, F_;
  SparseRow derivative_;
  Vector r_, c_b_, c_A_, dx_, ds_b_, ds_A_;
};

}  // namespace carom
