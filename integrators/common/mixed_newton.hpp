// MixedNewton: the semi-smooth Newton iteration of every implicit method.
//
// An iteration evaluates the active set of the conditional rows by the augmented multipliers (ContactSet), tests the
// residuals, solves
//
//   S dx - G_b^T ds_b - F_A^T ds_A = -r,   G_b dx = -c_b,   G_A dx = -c_A
//
// (with tangential rows, and in a pile whose active set still changes after eight iterations: the law of all
// contacts at hand in the place of G_A dx = -c_A, solved to its end, see FrictionSet) by a SaddlePoint whose matrix is
// constant, kept or new (NewtonControl), and moves by a share of dx. The share is one, unless the forces were not
// finite there (it is halved), a limit on motion or rotation is set, or the problem asks for Deuflhard's natural
// monotonicity test ("Newton Methods for Nonlinear Problems", 2004, section 3.3): the share is halved until the
// simplified correction, of the same matrix at the new place, shrinks. Where the matrix is singular (rigid motions that
// only contacts hold, slack bars) the iteration may go on with S + sigma M, sigma falling with the residual:
// pseudo-transient continuation (Kelley, Keyes 1998).
//
// Rows are measured as lengths (row_weights), in matrix and tests. Nothing allocates after the first steps. Floors and
// tolerances come with ProblemScales (step_scales.hpp).
#pragma once

#include <csignal>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "contact/law/contact_set.hpp"
#include "contact/law/friction_set.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/light_parts.hpp"
#include "integrators/common/mixed_problem.hpp"
#include "integrators/common/newton.hpp"
#include "integrators/common/step_report.hpp"
#include "integrators/common/step_scales.hpp"

namespace carom {

enum class StepLength { full, monotone };

/// Fixed for a sub-problem of a method.
struct MixedSetup {
  const char* name = "";               ///< for reports: "smooth"
  RowSelection rows = bilateral_rows;  ///< bilateral rows take part always
  MatrixProperties matrix{};           ///< of S, and positive definite without bilateral rows
  bool linear = false;                 ///< r and c are linear in x: one matrix per h, one iteration per active set
  bool constant_matrix = false;        ///< S alone is constant
  bool free_of_step = false;           ///< where S is constant: the same for all h
  bool fixed_places = false;           ///< q does not change: S changes only where forces depend on v
  bool curved_rows = false;            ///< gaps are not linear in q: linear systems are solved carefully
  bool solved_at_rest = false;         ///< without bilateral and active rows the first x is the solution
  bool keep_old_matrix = false;        ///< the first iteration may use the matrix of the step before
  bool augmented_tangent = true;       ///< D(F^T s) with s - p c in place of s
  StepLength step_length = StepLength::full;
  double largest_move = std::numeric_limits<double>::infinity();  ///< of a node in an iteration, times the length scale
  double largest_turn = std::numeric_limits<double>::infinity();  ///< of a frame in an iteration, rad
  bool transient = false;                                         ///< a singular S is shifted by sigma M
  /// The floor of r is rounding of stiff forces that loads may be far below: it only counts where the last correction
  /// was rounding too.
  bool floor_when_settled = false;
  /// Other sub-problems move between two corrections of this one, so that corrections shrink slowly.
  bool in_turn = false;
  /// The factor of a load is an unknown too, and a solve makes at least one correction (MixedProblem::path_load).
  bool follows_path = false;
};

class MixedNewton {
 public:
  /// Symbolic work and all memory. `index`: place of the sub-problem in StepReport::subproblems. `scratch`: one matrix
  /// that the sub-problems share which conjugate gradients may solve; null: direct solvers only. The system outlives
  /// this.
  MixedNewton(const System& system, const NewtonOptions& options, const MixedSetup& setup, const Scales& scales,
              int index, Vector* scratch);

  /// Where a solve begins; spans and pointers must live as long as the solve.
  struct Start {
    In multipliers = {};                                    ///< rows() entries; empty: zero
    const std::vector<std::uint8_t>* held = nullptr;        ///< conditional rows that were closed before; null: none
    const std::vector<std::uint8_t>* candidates = nullptr;  ///< those that may close; null: all
    const std::vector<std::uint8_t>* fixed = nullptr;       ///< those that are equations; null: none
    /// Those that are active at first, if they are many (ContactSet::begin_with), or with friction at hand; null: none.
    const std::vector<std::uint8_t>* first = nullptr;
    /// Multipliers of the step before, rows() entries: where contacts with friction and the sweeps over a pile start.
    In guess = {};
    double guess_scale = 1;                                   ///< factor of these
    const std::vector<std::uint8_t>* frictionless = nullptr;  ///< contacts whose friction is left out; null: none
    const Vector* offsets = nullptr;  ///< of multipliers where the active set is evaluated (ContactSet::offset_by)
    int max_iterations = 0;           ///< of this solve, if fewer than the options allow; 0: as these
    bool full_steps = false;          ///< no monotonicity test in this solve
    /// Another start is left: this one ends where the first corrections leave residuals as large as their terms.
    bool other_start = false;
    /// The first x is no solution even without rows (MixedSetup::solved_at_rest does not hold in this solve).
    bool moved = false;
  };
  void begin(StepReport& report, const Start& start);
  /// What a bilateral row measures from now on (row_weights), for rows that change during the run.
  void measure_row(int row, double weight);
  /// By which a row is divided to be a length or a speed: other than 1 for angles.
  double weight(int row) const { return weights_.empty() ? 1.0 : weights_[static_cast<std::size_t>(row)]; }
  /// Solves fail before their next correction while *flag is not zero; null: never.
  void stop_on(const volatile std::sig_atomic_t* flag) {
    stop_ = flag;
    saddle_.stop_on(flag);
    if (law_) law_->stop_on(flag);
  }
  /// Iterates to the end; false if that fails, and the report says why.
  bool solve(MixedProblem& problem, const ProblemScales& scales, StepReport& report);

  // For methods that iterate several problems in turn (as one system: monolithic_newton.hpp): active set and residual,
  // then one correction. A correction may do nothing but ask for another test, when the linear solver was changed.
  enum class Test { converged, open, failed };
  Test test(MixedProblem& problem, const ProblemScales& scales, StepReport& report);
  /// Rows and residual for a correction after another problem has moved; the active set stays.
  void evaluate(MixedProblem& problem);
  bool correct(MixedProblem& problem, const ProblemScales& scales, StepReport& report);

  /// Between two solves: a matrix S of this step, at the present x if the last solve needed none. False if singular.
  bool prepare(MixedProblem& problem, const ProblemScales& scales, const StepReport& report);
  /// S dx - G_b^T ds_b = f, G_b dx = 0 with this matrix; f and dx: size() entries. False if dx is not finite.
  bool respond(MixedProblem& problem, const ProblemScales& scales, In f, Out dx);

  const MixedSetup& setup() const { return setup_; }
  /// The last solve went on with S + sigma M, because S was singular.
  bool transient() const { return transient_; }
  In multipliers() const { return s_; }  ///< rows() entries, physical; zero where open
  std::span<const int> active_rows() const { return friction_ ? friction_->active_rows() : set_.active_rows(); }
  /// Per conditional row: 1 if the row is active; of tangential rows the SlipState.
  const std::vector<std::uint8_t>& flags() const { return friction_ ? friction_->flags() : set_.flags(); }
  /// The friction of a sub-problem with tangential rows; null: none.
  const FrictionSet* friction() const { return has_friction_ ? friction_ : nullptr; }
  In row_values() const { return c_; }     ///< of the last test
  double terms() const { return terms_; }  ///< of the last test (MixedProblem::residual)
  /// |c| over bilateral and active rows, divided by their weights.
  double largest_row() const { return largest_row_; }

  /// After a failure: r, and the rows that were to hold (zero elsewhere).
  In residual() const { return r_; }
  In row_residual() const { return row_residual_; }
  void clear_residual();

  /// Solves may begin with the matrix of the step before, which a checkpoint therefore has to keep.
  bool may_begin_with_old_matrix() const {
    return keeps_matrix() && !setup_.linear && control_.may_begin_with_old(saddle_.iterative());
  }
  void forget_matrix() { saddle_.forget(); }
  bool redundant() const { return current().regularised(); }
  SaddlePoint& saddle() { return saddle_; }
  LinearCounters counters() const;
  /// Pivots and the matrices that the next step depends on.
  void save(NamedArrays& record) const;
  void restore(const NamedArrays& record);

 private:
  friend class MonolithicNewton;
  SaddlePoint& current() { return transient_ ? *shifted_ : saddle_; }
  const SaddlePoint& current() const { return transient_ ? *shifted_ : saddle_; }
  SubproblemReport& sub(StepReport& report) const { return report.subproblems[at(index_)]; }
  bool stopped() const { return stop_ != nullptr && *stop_ != 0; }
  /// The rows that linear systems contain.
  std::span<const int> solved_rows() const { return friction_ ? friction_->working_rows() : set_.active_rows(); }
  std::size_t active() const { return solved_rows().size(); }
  void set_rows(const RowPoint& point, const ProblemScales& scales, bool keep);
  bool pile() const;
  bool law_of_pile() const { return friction_ != nullptr && !has_friction_; }
  void make_law();
  void take_law(In guess);
  bool keeps_matrix() const;
  bool other_step(const ProblemScales& scales) const;  // than that of the matrix, which depends on it
  void begin_pile(const RowPoint& point, const ProblemScales& scales);
  void gather_active();
  void find_limits(MixedProblem& problem);
  void measure_residual(MixedProblem& problem);
  void measure_correction(In dx);
  bool neglects_light(const SubproblemReport& sub, const ProblemScales& scales) const;
  bool stalls(const SubproblemReport& sub, const ProblemScales& scales);
  bool find_direction(MixedProblem& problem, const ProblemScales& scales, StepReport& report, bool set_changed);
  bool factorise(MixedProblem& problem, const ProblemScales& scales, double sigma);
  void linearise(MixedProblem& problem, const ProblemScales& scales, Linearisation& request);
  bool follow(MixedProblem& problem, const Accuracy& accuracy);
  void go_transient(const MixedProblem& problem, const SubproblemReport& sub);
  double excess() const;
  double longest_step() const;
  bool search(MixedProblem& problem, double share);
  void apply(double share);
  bool fail(StepReport& report, FailureReason reason);

  const System* system_;
  NewtonOptions options_;
  MixedSetup setup_;
  Scales scales_;
  int index_;
  const volatile std::sig_atomic_t* stop_ = nullptr;
  NewtonControl control_;
  SaddlePoint saddle_;
  std::unique_ptr<SaddlePoint> shifted_;  // with sigma M; analysed when first needed
  ContactSet set_;
  std::unique_ptr<FrictionSet> law_;
  FrictionSet* friction_ = nullptr;                        // law_ in solves where it replaces set_; null otherwise
  bool has_friction_ = false;                              // rows of friction take part: law_ always replaces set_
  const std::vector<std::uint8_t>* candidates_ = nullptr;  // Start::candidates
  bool may_take_law_ = false;  // the solve has neither fixed rows nor offsets, which FrictionSet does not support
  std::vector<SparseRow> row_G_, row_F_;  // of the rows of linear systems where F is not G
  In guess_;                              // Start::guess
  double guess_scale_ = 1;
  const std::vector<std::uint8_t>* held_ = nullptr;
  int most_ = 0;                   // iterations of this solve
  std::size_t n_b_ = 0, n_c_ = 0;  // bilateral rows, conditional rows that take part
  double factor_h_ = 0;            // of the present matrix
  int last_change_ = 0, transient_start_ = 0;
  bool path_lost_ = false;  // MixedProblem::path_change found no finite change
  bool in_use_ = false;     // the last solve made corrections
  bool transient_ = false, full_steps_ = false, other_start_ = false, starts_moved_ = false;
  double sigma_ = 0, wish_ = 0;  // wish_: last correction with sigma M, over the motion allowed in an iteration
  double norm_ = 0, terms_ = 0, floor_ = 0, largest_row_ = 0, before_ = 0, moved_ = 0, turned_ = 0;
  double rows_before_ = 0;                         // largest_row_ of the test before
  double correction_ = 0, correction_before_ = 0;  // the last two: lengths, rad
  LightParts light_;

  Vector weights_;  // of all rows (row_weights); empty: 1
  Vector no_rows_;  // zeros
  Vector s_, s_linearised_, s_base_, c_, c_A_, rows_, r_, dx_, dx_next_;
  Vector ds_b_, ds_A_, ds_b_next_, ds_A_next_, row_residual_, swept_;
};

}  // namespace carom
