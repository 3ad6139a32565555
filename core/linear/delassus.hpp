// Delassus: D = G B^-1 F^T of condensed rows, island by island.
//
//   B x - F^T l = b,  G x = -c    =>    D l = -c - G B^-1 b,   x = B^-1 b + (B^-1 F^T) l
//
// The components of B are the connected parts of its pattern. A solution does not couple two components: the column
// B^-1 F^T of a row is zero outside of the components that F touches, and rows of different components share a solve.
// Rows that touch a common component, directly or through other rows, form an island. D is block diagonal by island,
// and each island is factorised on its own: as a dense matrix with up to 128 rows, or if a third of the entries may be
// nonzero; else as a sparse matrix, where D_ij is zero unless rows i and j touch a common component.
//
// Rows are scaled to a unit diagonal of D. Redundant rows (a box that rests on four corners) make an island singular.
// The island is then regularised proximally, D + eps 1 with refinement, which gives in the limit the multipliers of
// least norm; sparse islands always are. All orders follow from the order of the rows, and no pivots are kept from one
// factorisation to the next: the same rows give the same bits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/linear/dense_lu.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

/// The connected parts of a square matrix, numbered by their first equations.
class Components {
 public:
  Components() = default;
  explicit Components(const SparsePattern& pattern);

  int count() const { return static_cast<int>(first_.size()) - 1; }
  int of(int equation) const { return component_[static_cast<std::size_t>(equation)]; }
  std::span<const int> of_equations() const { return component_; }
  /// Number of an equation among those of its component.
  std::size_t place(int equation) const { return place_[static_cast<std::size_t>(equation)]; }
  /// Ascending.
  std::span<const int> equations(int component) const {
    const std::size_t c = static_cast<std::size_t>(component);
    return std::span(equations_).subspan(first_[c], first_[c + 1] - first_[c]);
  }

 private:
  std::vector<int> component_, equations_;
  std::vector<std::size_t> place_, first_{0};  // first_: of a component in equations_
};

/// A row and its column B^-1 F^T.
struct CondensedRow {
  /// The part of the column in one component, with one value per equation of the component.
  struct Part {
    int component;
    std::size_t first;  ///< in `column`
  };
  SparseRow G, F;
  std::vector<Part> parts;  ///< where the column is not zero
  Vector column;
};

/// A law that decides the multipliers of the rows of an island (contact with friction) in the place of G x = -c.
class CondensedLaw {
 public:
  CondensedLaw() = default;
  virtual ~CondensedLaw() = default;
  CondensedLaw(const CondensedLaw&) = delete;
  CondensedLaw& operator=(const CondensedLaw&) = delete;
  /// rows: places of the island's rows in Delassus::Rows, ascending. D: their operator, row-major, or the values of
  /// `pattern` if this is not null; b: -c - G B^-1 b of the rows, so that the values of the rows become D l - b. l: the
  /// increments of their multipliers. False without solution.
  virtual bool solve(std::span<const std::size_t> rows, In D, const SparsePattern* pattern, In b, Out l) = 0;
  /// Whether a row belongs to the contact of the row before it: such rows then have one pattern. Without an answer
  /// operators are dense.
  virtual bool follows(std::size_t row) const { return (void)row, false; }
  virtual bool takes_sparse() const { return false; }
};

class Delassus {
 public:
  using Rows = std::span<CondensedRow* const>;

  /// Finds the components of B, once per pattern, and reserves memory for some rows.
  void analyse(const SparsePattern& base, std::size_t rows);
  const Components& components() const { return components_; }

  /// Replaces a right-hand side by the solution with B; false if there is none.
  using BaseSolve = std::function<bool(Vector&)>;
  /// Finds the columns of rows that have their F. False if a solve failed. `alone`: a solve is that of one column in
  /// one component, so that the column does not depend on the other rows where solutions are iterative.
  bool find_columns(Rows rows, const BaseSolve& solve, bool alone = false);
  /// x += B^-1 F^T l
  void add_column(const CondensedRow& row, double l, Out x) const;

  /// Factorises D of rows that have G, F and columns. False if D cannot be inverted.
  bool factorise(Rows rows);
  /// b (one entry per row) becomes D^-1 b.
  void solve(Out b);
  /// The same with a law in the place of D l = b, and without factorise(). False if the law has no solution.
  bool solve(Rows rows, CondensedLaw& law, Out b);
  /// Sweeps towards l >= 0 with w = D l - b >= 0 and l w = 0, from the given l: a guess of the rows that carry, at a
  /// small part of the cost of a factorisation. l < 0: the row opens; 0: it touches without a force, or nearly.
  /// Projected Gauss-Seidel accelerated by nonlinear conjugate gradients [Silcowitz-Hansen, Niebles & Erleben, The
  /// Visual Computer 26 (2010) 893].
  void sweep(Rows rows, In b, Out l);
  /// An island of the last sweep() has so many rows that its operator is sparse.
  bool swept_sparse() const { return swept_sparse_; }
  /// The last factorisation met redundant rows.
  bool regularised() const { return regularised_; }
  int islands() const { return island_count_; }

 private:
  // equations of an island's components, per row, whose columns are laid out side by side
  static constexpr std::size_t beside_share = 16;

  struct SparseIsland {
    SparsePattern pattern;
    Vector values, shifted;
    LinearSolver solver;
    bool reusable = false;  // the analysis serves a matrix of the same pattern
  };
  struct Island {
    std::size_t first = 0, last = 0;  // of order_
    std::size_t values = 0;           // of a dense island: in values_, row after row
    bool sparse = false, regularised = false;
    DenseLu lu;
    std::unique_ptr<SparseIsland> large;
    std::size_t size() const { return last - first; }
  };
  // Consecutive equations of a row's G in one component.
  struct Segment {
    int component;
    std::size_t first, last;
  };
  // A part of a column, or, with equation >= 0, a column of the inverse of a component.
  struct Job {
    int component, equation, turn;
    std::size_t row, part;
  };

  void list_jobs(Rows rows, bool alone);
  void apply_inverse(CondensedRow& row) const;
  void list_segments(Rows rows);
  void find_islands(Rows rows);
  void lay_out(const CondensedRow& column);
  void clear_away(const CondensedRow& column);
  double entry(const SparseRow& G, std::size_t row) const;
  std::span<const int> touched(std::size_t row) const {
    return std::span(touched_).subspan(touched_first_[row], touched_first_[row + 1] - touched_first_[row]);
  }
  void list_rows_of_components(const Island& island);
  bool is_sparse(const Island& island);
  bool factorise_dense(Island& island, Rows rows);
  void find_law_pattern(const Island& island, const CondensedLaw& law);
  bool factorise_sparse(Island& island, Rows rows);
  void find_pattern(const Island& island, SparsePattern& pattern) const;
  void scale_rows(const Island& island, Rows rows);
  void find_values(const Island& island, Rows rows, const SparsePattern& pattern, bool scaled, Out values);
  void find_dense_values(const Island& island, Rows rows, bool scaled, double* values);
  bool lay_out_beside(const Island& island, Rows rows);
  void clear_numbers(const Island& island);
  void sweep_island(std::size_t rows);
  void solve_island(Island& island);

  Components components_;
  bool regularised_ = false, swept_sparse_ = false;

  // columns
  std::vector<Job> jobs_, ordered_;
  std::vector<std::size_t> turn_first_;
  std::vector<int> columns_of_, turns_;  // per component: columns and solves that it needs; zero between calls
  Vector rhs_, inverse_;
  std::vector<std::ptrdiff_t> inverse_first_;  // per component: of its inverse, column by column; -1: none
  std::vector<const double*> laid_out_;        // per component: the part of the column at hand; null: none
  std::vector<std::size_t> next_;              // per row of a pattern: its next value
  Vector columns_;                             // of an island, side by side

  // islands
  int island_count_ = 0;
  std::vector<Island> islands_;       // the first island_count_ are in use
  std::vector<int> parent_, number_;  // per component, of the union-find, and its island, or the place of its first
                                      // equation in columns_; reset between calls
  SparsePattern law_pattern_;
  std::vector<int> touched_;                         // components of all rows, row after row
  std::vector<std::size_t> touched_first_;           // of a row
  std::vector<Segment> segments_;                    // of G of all rows, row after row
  std::vector<std::size_t> segment_first_;           // of a row; empty: not listed yet
  std::vector<int> island_of_;                       // per row
  std::vector<std::size_t> order_;                   // rows, island after island
  std::vector<std::vector<int>> rows_of_component_;  // their numbers in the island at hand
  Vector values_, scale_;                            // scale_: in the order of order_
  Vector b_, residual_, correction_, product_;

  // sweeps
  SparsePattern sweep_pattern_;
  Vector sweep_values_;
};

}  // namespace carom
