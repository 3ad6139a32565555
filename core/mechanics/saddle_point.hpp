// SaddlePoint: the linear systems of one sub-problem.
//
//   S dx - G_b^T dl_b - F_A^T dl_A = -r        bilateral rows b are part of the factorised matrix,
//   G_b dx = -c_b,   G_A dx = -c_A             active conditional rows A are condensed onto themselves:
//   D = G_A B^-1 F_A^T  (Delassus operator),  B = [[S, -k G_b^T], [-k G_b, 0]]
//
// so a change of the active set needs solves for new rows and no factorisation. Delassus factorises D island by island.
// Redundant active rows (a box resting flat) make D singular, and D is then regularised proximally. Redundant bilateral
// rows: B is regularised the same way on its multiplier diagonal. Rows are scaled by k inside B only; everything passed
// in and out is physical.
//
// Systems most of whose equations belong to solids, and whose factorisation would take many more operations than the
// matrix has entries (solids from about 4^3 hexahedra on), are solved by conjugate gradients instead (ProjectedCg), if
// the caller corrects the solution as Newton's method does: the matrix of the solids is then symmetrised and single
// precision and the residual falls only as far as asked. Active rows of single nodes are projected and cost nothing;
// joints, bodies, beams and all other rows are exact in the preconditioner. Stiff and slender solids get multigrid or
// factors of their own in the preconditioner. Where the matrix turns out to be indefinite, or too many iterations are
// needed, the direct solver takes over, counted as a fallback, after three in a row until the coefficients of the
// request change; where that would take several thousand times as long as an iteration (from about 15^3 on) the solve
// fails instead, so that the step is taken in halves. All this follows from counts.
#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include "core/linear/delassus.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/proximal.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

/// How far the conjugate gradients reduce the residual: by a factor, or to a size (the norm of System::force_norm).
struct Accuracy {
  double relative = 1e-12;
  double enough = 0;
};

/// What rows measure, one weight per row, 1 for gaps of places: the largest part of its gradient at the start that
/// belongs to the translation or, over `length`, to the rotation of a node. A row over its weight is a length, whether
/// it holds places or angles, in any axes.
Vector row_weights(const System& system, double length);

class ProjectedCg;

class SaddlePoint {
 public:
  SaddlePoint();
  ~SaddlePoint();
  SaddlePoint(const SaddlePoint&) = delete;
  SaddlePoint& operator=(const SaddlePoint&) = delete;

  /// Symbolic analysis, once per system, which outlives this. `scratch`, if given, says that solutions are corrected,
  /// so that conjugate gradients may be chosen; it holds the matrix while it is assembled and may be shared with other
  /// saddle points. `length` divides torques in the norm of residuals.
  /// Without symmetry `positive_definite` is that of the symmetrised matrix. With `scaled`, rotations are multiplied by
  /// the length and rows divided by their weights inside the matrix, so that rank and regularisation do not depend on
  /// the unit of length; all factors are powers of two, which round nothing. With `careful`, conjugate gradients are
  /// chosen only where factors of the solids make their solutions nearly exact: what they leave in soft motions may be
  /// large, and rows with curved gaps then lead astray.
  void analyse(const System& system, MatrixProperties properties, Vector* scratch = nullptr, double length = 1,
               bool scaled = false, bool careful = false);
  /// Several parts, which all have the unknowns and bilateral rows of the system, as one saddle point: first the
  /// unknowns of all parts, then their rows. Solved directly.
  void analyse_coupled(const System& system, int parts, double length);

  /// Assembles and factorises; false if the matrix is singular beyond repair.
  bool factorise(const Linearisation& request);
  /// The same for coupled parts: blocks[i * parts + j] holds the derivatives of part i by the unknowns of part j; null:
  /// zero. Rows act as reactions in their own part only.
  bool factorise(std::span<const Linearisation* const> blocks);
  bool factorised() const { return factorised_; }
  void forget() { factorised_ = false; }
  /// What a bilateral row measures from now on (row_weights); forgets the factors if its unit changes.
  void measure_row(int row, double weight);

  /// Starts a solve with the given active conditional rows, those of contacts and of friction (global row numbers):
  /// their G (through T if given) and F at (q, t), and the columns B^-1 F^T, which are kept while the factorisation and
  /// the linear row stay the same. With `keep`, all rows that are known for this factorisation stay as they are: the
  /// configuration is the same, or near enough.
  void set_active(std::span<const int> rows, In q, double t, const TangentOperators* T,
                  const StepStart* start = nullptr, bool keep = false);
  /// The same with gradients G and directions F that the caller has computed, one of each for every row (switching
  /// constraints with intermediate gradients, contacts with friction). With `condensed` the rows are not given to the
  /// conjugate gradients, but have columns, which a law of solve() needs.
  void set_active(std::span<const int> rows, std::span<const SparseRow> G, std::span<const SparseRow> F,
                  bool condensed = false);

  /// dx, dl_b and dl_A (in the order of set_active). r, c_b, c_A as above; a zero r and c_b cost no solve.
  /// Returns false if the result is not finite, or if gave_up().
  /// With a law, the active rows need not vanish: the law decides dl_A island by island. The rows were then set active
  /// as `condensed`.
  bool solve(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy = {}, CondensedLaw* law = nullptr);
  /// dl_A becomes a guess of the solution with dl_A >= 0 and G_A dx >= -c_A, one of which vanishes in each row, by
  /// sweeps from the given dl_A; negative where a row opens (Delassus::sweep). False if there is none, or if conjugate
  /// gradients have the rows.
  bool sweep(In r, In c_b, In c_A, Out dl_A);
  /// Rows by the hundred depended on each other in the last sweep().
  bool swept_sparse() const { return delassus_.swept_sparse(); }
  /// The conjugate gradients failed in the last solve: factorise() again, which is then direct, and so on.
  bool gave_up() const { return gave_up_; }
  /// The columns of rows are not found, and the next solve fails, while *flag is not zero; null: never.
  void stop_on(const volatile std::sig_atomic_t* flag) { stop_ = flag; }
  /// Why the last solve failed.
  enum class Failure { not_finite, singular, indefinite, slow, law };
  Failure failure() const { return failure_; }
  /// The present matrix is solved by conjugate gradients.
  bool iterative() const { return iterative_ && !direct_; }
  /// Columns that conjugate gradients have found for this matrix: a new matrix would cost as many solves.
  int costly_columns() const;
  /// These columns do not depend on each other, and may serve later steps. They are found alone, which would cost too
  /// many solves where bodies are many.
  bool columns_last() const;
  /// The next solve finds its columns anew.
  void drop_columns() {
    for (ActiveRow& row : active_) row.columned = false;
  }

  /// How the present matrix is solved: "conjugate gradients", "conjugate gradients, multigrid", "conjugate gradients,
  /// factors" or a method of LinearSolver; empty before analyse().
  std::string method_name() const;
  LinearCounters counters() const;
  /// What the last solve left of G_b dx + c_b, over the weights of the rows where they are scaled: redundant rows
  /// contradict each other a little where positions fit only nearly, and are then solved in the sense of least squares,
  /// with multipliers near those of least norm.
  double constraint_inconsistency() const { return constraint_inconsistency_; }
  /// Bilateral rows are known to be redundant, although a state nearby may hide it.
  void expect_redundant();
  bool redundant() const;
  /// Redundant rows, bilateral or active ones, were met in the last solve.
  bool regularised() const;

  /// What later solves depend on besides their input, under names with the prefix: pivots, known redundancies and, with
  /// `factors`, the matrix that is kept: its values, or, where conjugate gradients were chosen, the request it comes
  /// from, which is far smaller. restore() follows analyse(); std::invalid_argument if it does not fit.
  void save(NamedArrays& record, const std::string& prefix, bool factors) const;
  void restore(const NamedArrays& record, const std::string& prefix);

  /// Row of the last singular matrix: an equation, or size() + a bilateral row; -1 if unknown.
  int suspicious_row() const { return solver_.suspicious_row(); }

 private:
  enum class Regularisation { none, rows, largest };
  struct ActiveRow : CondensedRow {
    int row = -1;
    bool kept = false;      // gradients valid for the present factorisation, and the column unless it is projected
    bool columned = false;  // with kept, of a row with gradients of the caller: the column is that of F
  };

  // A request and what its pointers point to; empty: null.
  struct KeptRequest {
    Linearisation numbers;  // with null pointers
    Vector q_M, q, v, a, s, frame_blocks, start_q, start_v;
    StepStart start;
    TangentOperators T;

    void keep(const System& system, const Linearisation& request);
    /// Valid as long as this is neither changed nor copied to.
    Linearisation request();
    void save(NamedArrays& record, const std::string& prefix, bool arrays) const;
    void restore(const System& system, const NamedArrays& record, const std::string& prefix, bool arrays);
  };

  // What factors of solids have cost since they were built, in iterations of conjugate gradients.
  struct FactorAccount {
    bool kept = false;     // they may serve later matrices
    bool present = false;  // they are those of the present matrix
    int matrices = 0;      // served, before the present one
    long iterations = 0;   // with them
    long last = 0;         // with the present one
    int pause = 0;         // matrices that get factors of their own, since old ones were not worth their iterations
    int next_pause = 2;

    void fail();
  };

  void resize(int parts);
  void set_units(double length);
  void to_units(Vector& values) const;
  void scale_by_units(Vector& b) const;
  double row_scale(int row) const { return row_scale_[parts_ == 1 ? 0 : at(row / rows_of_part_)]; }
  Vector& values() { return scratch_ != nullptr ? *scratch_ : values_; }
  void assemble(const Linearisation& request);
  void choose_iteration();
  SparsePattern node_graph() const;
  void analyse_direct();
  bool factorise_directly();
  void set_regularisation(Regularisation by);
  bool base_solve(Vector& b, bool separate = false);
  bool project_active(std::span<const int> rows, In q, double t, const TangentOperators* T, const StepStart* start);
  bool project_rows(bool directions);
  bool solve_base(In r, In c_b);
  void find_row_residuals(In c_A);
  void list_active();
  void place_rows(std::span<const int> rows);
  void find_columns();
  bool outgrows_sweeps(long iterations) const;
  bool leave_sweeps();
  bool run_cg(In r, In c, Accuracy accuracy, double reference, Out x, Out dl);
  bool prepare_iteration(bool old_factors);
  bool keep_factors();
  void note_factors();
  void restore_factors(const NamedArrays& record, const std::string& prefix);
  void save_columns(NamedArrays& record, const std::string& prefix) const;
  void restore_columns(const NamedArrays& record, const std::string& prefix);
  void rigid_motions(In q, Vector& motions) const;
  bool solve_iteratively(In r, In c_b, In c_A, Out dx, Out dl_b, Out dl_A, Accuracy accuracy);

  LinearSolver solver_;
  const System* system_ = nullptr;
  const SparsePattern* pattern_ = nullptr;
  Vector unit_;  // of equations and rows of the matrix, powers of two; empty: all are 1
  Vector values_, rhs_, residual_;
  ProximalRefinement refinement_;
  int n_ = 0, n_b_ = 0, n_A_ = 0;  // of all parts
  int parts_ = 1, rows_of_part_ = 0;
  Vector row_scale_;  // of every part
  double constraint_inconsistency_ = 0;
  bool factorised_ = false, regularised_ = false, delassus_known_ = false;
  Regularisation used_ = Regularisation::rows;  // of the present matrix, if it is regularised
  std::vector<int> diagonal_;                   // positions of the multiplier diagonal
  std::vector<ActiveRow> active_;               // the first n_A_ are in use
  std::vector<int> place_;                      // of a row in active_; -1 between calls
  Delassus delassus_;
  std::vector<CondensedRow*> condensed_;  // rows that a call is about
  bool columns_known_ = true;             // of the active rows
  long columns_found_ = 0;                // by conjugate gradients with the present matrix and its preconditioner
  bool may_leave_sweeps_ = true;
  const volatile std::sig_atomic_t* stop_ = nullptr;
  Vector d_rhs_, change_, size_;

  // conjugate gradients
  bool iterative_ = false;  // they were chosen
  bool symmetrised_ = false;
  bool direct_ = false;  // the direct solver has the present matrix
  bool gave_up_ = false;
  bool projected_ = false;  // the active rows are the conjugate gradients'
  bool direct_known_ = false;
  Failure failure_ = Failure::not_finite;
  int factors_in_sweeps_ = 0;  // price of factors, in iterations of sweeps
  int cg_failures_ = 0, cg_limit_ = 0;
  bool direct_affordable_ = true, factors_affordable_ = false;
  MatrixProperties properties_;
  Vector* scratch_ = nullptr;
  KeptRequest kept_;          // of the present matrix
  bool direct_next_ = false;  // conjugate gradients gave up, and no other preconditioner was a way out
  Vector motions_;
  bool careful_ = false;
  bool whole_ = false;  // multigrid or factors in the place of sweeps, which were slow or are not careful
  FactorAccount account_;
  KeptRequest factored_;  // where the factors come from, if account_.kept
  std::unique_ptr<ProjectedCg> cg_;
  LinearCounters cg_counters_;
  std::vector<const SparseRow*> cg_G_, cg_F_;
  std::vector<SparseRow> cg_scaled_;  // where the matrix has units of its own
  double length_ = 1;

  // coupled parts
  std::shared_ptr<const SparsePattern> coupled_;
  Vector block_values_;
  std::vector<std::vector<int>> block_places_;  // of the entries of a block in the coupled matrix; -1: upper rows of
                                                // another part
};

}  // namespace carom
