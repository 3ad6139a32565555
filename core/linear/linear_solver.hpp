// Direct solution of A x = b for a fixed pattern and changing values.
//
// analyse() once per pattern, factorise() whenever the values change, solve() for every right-hand side. Values are in
// the CSR order of the pattern. The matrices of the integrators, [[S, -G^T], [-G, 0]] with zero diagonal blocks and
// possibly singular S (massless nodes), are given as unsymmetric or symmetric matrices.
//
// `automatic` chooses by counts of the pattern, never by a clock, so that every run chooses alike. n: rows, w: half
// bandwidth. The first line that applies decides:
//   1. banded LDL^T without pivoting: symmetric positive definite, w <= 8 in the given order or in that of reverse
//      Cuthill-McKee, and n > 24 or (n > 6 and 4 w <= n);
//   2. dense: n <= 24, or n <= 128 and at least half of the factors predicted to fill; LDL^T without pivoting if
//      positive definite, else LU with partial pivoting;
//   3. block-tridiagonal LU (beams): blocks of 3 to 12 consecutive unknowns on average that couple to the next block
//      only; multipliers of joints join a block, at most 8 others form a border;
//   4. KLU: minimum degree (AMD, behind block triangular form) predicts fewer than 40 operations per entry of the
//      factors;
//   5. CHOLMOD's supernodal LL^T if symmetric positive definite, else UMFPACK, both with nested dissection (METIS).
//
// A matrix may turn out not to be positive definite, or a chain of blocks may need pivots from another block. Another
// method then factorises, and a fallback is counted: KLU for banded and block chain, LU for dense, UMFPACK for CHOLMOD
// and frontal. After three fallbacks in a row the other method stays until the next analyse().
//
// A matrix is singular if a pivot is below 1e-14 of its scale. With pivoting the scale is the largest entry of the row
// after every column has been divided by its largest entry; without pivoting the scale is the diagonal entry. The
// verdict therefore does not depend on units, and multipliers may be scaled badly by ten orders of magnitude. Values
// that are not finite are singular too.
//
// factorise() and solve() allocate nothing with dense, banded and block chain (except for the first factorisation with
// a border), nor with KLU from the second factorisation on while its pivots serve. One object serves one thread at a
// time. Same input and same history give the same bits, with the same BLAS (blas.hpp) behind CHOLMOD and UMFPACK.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

/// frontal: multifrontal LU with pivots from within blocks, for patterns with little fill that serve many
/// factorisations, never chosen automatically; UMFPACK replaces it. cholmod_quick: CHOLMOD ordered by minimum degree,
/// for patterns that serve a few factorisations only.
enum class LinearMethod { automatic, dense, banded, block_chain, klu, frontal, umfpack, cholmod, cholmod_quick };

/// symmetric: values are symmetric in exact arithmetic, so one triangle may be read. positive_definite: expected, not
/// required. solids_definite: the block of the nodes of solids, or its symmetric part, is positive definite.
struct MatrixProperties {
  bool symmetric = false;
  bool positive_definite = false;
  bool solids_definite = false;
};

struct LinearCounters {
  long analyses = 0;          // symbolic analyses, also those of fallbacks
  long factorisations = 0;    // numeric factorisations begun, also those given up for a fallback or for new pivots
  long refactorisations = 0;  // those of them that reused the pivots of an earlier one (KLU)
  long solves = 0;            // right-hand sides solved
  long fallbacks = 0;         // factorisations that needed another method than the chosen one
  long cg_solves = 0;         // right-hand sides solved by conjugate gradients (SaddlePoint), not among `solves`
  long cg_iterations = 0;     // their iterations
  long cg_matrices = 0;       // matrices assembled for them
  long gmres_solves = 0;      // those of cg_solves that GMRES went on with, because the matrix was indefinite
  long multigrid = 0;         // those of cg_matrices with multigrid, because sweeps were slow
  long factor_matrices = 0;   // those of cg_matrices with factors of the solids, for the same reason
  long factors_built = 0;     // for them; factors serve several matrices
  long cg_slow = 0;           // those of cg_solves that took too many iterations
  long cg_failed = 0;         // those of cg_solves that found no solution for another reason

  LinearCounters& operator+=(const LinearCounters& other);
};

enum class FactorStatus { ok, singular };

class LinearSolver {
 public:
  LinearSolver();
  ~LinearSolver();
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;
  LinearSolver(LinearSolver&&) noexcept;
  LinearSolver& operator=(LinearSolver&&) noexcept;

  /// Takes effect at the next analyse(). KLU or UMFPACK replace a method that cannot take the matrix (banded or CHOLMOD
  /// without symmetry, block chain on another pattern); method_name() tells.
  void set_method(LinearMethod method);
  /// Symbolic work for a square pattern; std::invalid_argument if it is not square. The first form copies the pattern.
  void analyse(const SparsePattern& pattern, MatrixProperties properties);
  void analyse(std::shared_ptr<const SparsePattern> pattern, MatrixProperties properties);
  /// Forgets pivots and methods that were given up, so that the next factorisation depends on its values only.
  void renew();
  /// `values` has nonzeros() entries. A singular matrix never throws; std::bad_alloc if memory does not suffice.
  FactorStatus factorise(std::span<const double> values);
  /// b (column-major, n x columns) becomes A^-1 b. std::logic_error unless the last factorise() was ok.
  void solve(std::span<double> b, int columns = 1);

  /// Smallest pivot of the last factorisation over its scale (see above), in [0, 1]; an order of magnitude at best.
  double reciprocal_condition() const;
  /// After a singular matrix: the row of the smallest pivot (dense LU, KLU, UMFPACK: a row that depends on rows
  /// eliminated before it), or the row of the first value that is not finite. -1 after a regular matrix.
  int suspicious_row() const;
  /// "dense", "banded", "block_chain", "klu", "frontal", "umfpack" or "cholmod": the method of the last factorisation;
  /// before the first, the chosen method.
  std::string method_name() const;
  /// Entries of L and U, or of L alone for symmetric methods; predicted before the first factorisation.
  double fill() const;
  const LinearCounters& counters() const;

  /// Pivots that were chosen once and methods that were given up: the state, besides the values, on which the next
  /// factorisations depend. Names begin with `prefix`. A freshly analysed solver of the same pattern continues with the
  /// same bits after restore(); `values` are those of the last factorisation, empty if its factors are no longer
  /// needed. std::invalid_argument if the record does not fit the pattern.
  void save(NamedArrays& record, const std::string& prefix) const;
  void restore(const NamedArrays& record, const std::string& prefix, std::span<const double> values);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Multiplications of LDL^T of a symmetric square pattern in minimum-degree order.
double factorisation_operations(const SparsePattern& pattern);

// Implemented by the files linear_solver_*.cpp and used by linear_solver.cpp and node_factors.cpp; not for other code.
namespace detail {

inline constexpr double singular_tolerance = 1e-14;

enum class Outcome { ok, singular, unsuitable };  // unsuitable: another method must factorise

// Facts about the last factorisation.
struct FactorFacts {
  double reciprocal_condition = 0, fill = 0;
  int suspicious_row = -1;
};

class Factorisation {
 public:
  virtual ~Factorisation() = default;
  virtual Outcome factorise(std::span<const double> values, LinearCounters& counters) = 0;
  virtual void solve(double* b, int columns) = 0;
  virtual std::string_view name() const = 0;
  // Makes the next factorisation choose its pivots anew.
  virtual void forget_pivots() {}
  // Of methods that keep pivots for later factorisations: the values for which the pivots were chosen; else empty.
  virtual std::span<const double> pivot_values() const { return {}; }
  // The last factorisation chose the pivots.
  virtual bool chose_pivots() const { return false; }
  const FactorFacts& facts() const { return facts_; }

 protected:
  FactorFacts facts_;
};

// Scales of the pivots of an unsymmetric factorisation: a pivot in row i and column j is judged by
// |pivot| column[j] / row[i].
struct PivotScale {
  std::vector<double> column, row;  // one over the largest entry; largest entry of the scaled row
  // Resets the facts. False: they name the first row with a value that is not finite, else a row without any value.
  bool compute(const SparsePattern& pattern, std::span<const double> values, FactorFacts& facts);
};

using SharedPattern = std::shared_ptr<const SparsePattern>;
using Backend = std::unique_ptr<Factorisation>;

Backend make_dense(const SparsePattern& pattern, MatrixProperties properties);
// Half bandwidth of the pattern in `order` (order[new] = old; empty: natural order).
int half_bandwidth(const SparsePattern& pattern, std::span<const int> order);
std::vector<int> reverse_cuthill_mckee(const SparsePattern& pattern);
Backend make_banded(const SparsePattern& pattern, std::span<const int> order);
// Null if the pattern is no chain of blocks, or if the blocks have fewer rows than `least_mean_size` on average.
Backend make_block_chain(SharedPattern pattern, int least_mean_size);
// `operations_per_entry`: of the factors, predicted by KLU's ordering.
Backend make_klu(SharedPattern pattern, double& operations_per_entry);
// Null if the pattern is not symmetric, or without a diagonal.
Backend make_frontal(SharedPattern pattern);
Backend make_umfpack(SharedPattern pattern);
// quick: minimum degree in place of nested dissection.
Backend make_cholmod(SharedPattern pattern, bool quick = false);
// The column indices; not null for an empty pattern, because SuiteSparse takes no null pointer.
const int* column_indices(const SparsePattern& pattern);

}  // namespace detail
}  // namespace carom
