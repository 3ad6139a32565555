// Newton's method in the sub-problems of a step: when an iteration has converged, when it needs another matrix, and how
// exactly its linear systems are solved.
//
// `automatic` is full Newton where matrices are factorised. Where conjugate gradients solve the systems (SaddlePoint),
// assembling a matrix costs more than the iterations it saves near the solution: a matrix is kept as long as the gain
// of the last iteration says that going on with it takes few iterations more than with a new one. The smooth motion
// begins with the last matrix of the step before, which is no worse than one at the predicted motion. With the matrix
// of the iteration before the next error is about twice its gain times the error, with a new one it falls by the square
// of that gain (Newton-Kantorovich; Deuflhard, "Newton Methods for Nonlinear Problems", 2004, section 2.1). Conjugate
// gradients reduce a residual by no more than the next one will fall anyway (inexact Newton).
#pragma once

#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/step_report.hpp"

namespace carom {

enum class NewtonMethod { automatic, full, modified };
enum class ConvergenceTest { scaled, paper };  ///< paper: one norm with tol_r = tol_f, [DS20] eq. 51
enum class Predictor { previous, zero };       ///< of v~' in a step; zero is the paper's

struct NewtonOptions {
  NewtonMethod method = NewtonMethod::automatic;
  int max_iterations = 50;
  double tolerance = 1e-10;             ///< of dynamics rows, relative to the sum of their terms
  double constraint_tolerance = 1e-11;  ///< of constraint rows, times length and speed scales
  ConvergenceTest test = ConvergenceTest::scaled;
  Predictor predictor = Predictor::previous;
};

/// Of one sub-problem.
class NewtonControl {
 public:
  NewtonControl() = default;
  /// `weight`: a force by which the paper's tol_f is measured. `linear`: the matrix stays the same.
  NewtonControl(const NewtonOptions& options, double weight, bool linear)
      : options_(options), weight_(weight), linear_(linear) {}

  /// An attempt begins, the first one or another; `with_old`: the matrix of the step before may do for a start.
  void begin(SubproblemReport& report, bool with_old = false) {
    report.attempt_start = report.iterations;
    matrix_of_ = -1;
    old_ = with_old;
  }
  /// Whether such an attempt does begin with the old matrix; it may then end otherwise with a new one.
  bool may_begin_with_old(bool iterative) const { return iterative && options_.method == NewtonMethod::automatic; }

  /// Sets the report's scaled residuals and history; true if both are at most 1. `residual` and `terms` are norms of
  /// the dynamics rows and of what they are the sum of, `floor` the roundoff in them; `unit` turns forces into the unit
  /// of the dynamics rows, `row_scale` the constraints.
  bool test(SubproblemReport& report, double residual, double terms, double floor, double unit, double row_scale,
            In constraints, double constraint_tolerance) const;

  /// A new matrix for the iteration to come; one of an earlier step may be at hand in the first.
  /// `columns`: solves that it costs beside itself.
  bool needs_matrix(const SubproblemReport& report, bool iterative, bool set_changed, int columns = 0) const;
  /// The same for many contacts of bodies: places hardly move while the active set is found.
  bool needs_matrix_of_pile(const SubproblemReport& report, bool set_changed) const;
  void took_matrix(const SubproblemReport& report) { matrix_of_ = report.iterations; }
  /// For the conjugate gradients of the iteration to come; `floor` is that of the last test().
  Accuracy accuracy(const SubproblemReport& report, bool set_changed, double terms, double floor) const;

 private:
  double expected_gain(const SubproblemReport& report, bool new_matrix) const;

  NewtonOptions options_;
  double weight_ = 1;
  bool linear_ = false, old_ = false;
  int matrix_of_ = -1;  // the iteration whose matrix is in use; -1: one from before the attempt
};

}  // namespace carom
