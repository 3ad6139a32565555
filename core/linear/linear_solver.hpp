// Direct solution of A x = b and A^T x = b for a fixed pattern and changing values.
//
// analyse() once per pattern, factorise() whenever the values change, solve() as often as wanted. Values are in the CSR
// order of the pattern. The saddle points of the integrators, [[S, -G^T], [-G, 0]] with zero diagonal blocks and
// possibly singular S (massless nodes), are welcome as unsymmetric or symmetric matrices.
//
// What `automatic` chooses follows from counts of the pattern only, never from a clock:
//   1. symmetric positive definite of half bandwidth w <= 8, in the given order or after reverse Cuthill-McKee if
//      narrower, and n > 24 or (n > 6 and 4 w <= n): banded LDL^T without pivoting;
//   2. n <= 24, or n <= 128 and half of the factors predicted to fill: dense; LDL^T (Bunch-Kaufman) when symmetric,
//      else LU with partial pivoting;
//   3. consecutive unknowns in blocks of 3 to 12 on average that couple to the next block only (beams), where
//      multipliers of joints join a block or, up to 8, border the rest: block-tridiagonal LU;
//   4. minimum degree (AMD, behind block triangular form) predicts fewer than 40 operations per entry of the factors:
//      KLU;
//   5. symmetric positive definite: CHOLMOD supernodal LL^T; else UMFPACK, both with nested dissection (METIS).
// A matrix announced positive definite that is not goes to KLU (from banded), UMFPACK (from CHOLMOD) or Bunch-Kaufman
// (from dense), a chain that needs pivots from other blocks to KLU, counted as a fallback; after three fallbacks in a
// row the replacement stays until the next analyse().
//
// Singular means: a pivot is below 1e-14 of its scale. The scale is the largest entry of the row after every column has
// been divided by its largest entry (dense symmetric: after equilibration; without pivoting: the diagonal entry), so
// the verdict does not depend on units, and multipliers may be scaled badly by ten orders of magnitude. Non-finite
// values are singular too.
//
// Nothing is allocated by factorise() and solve() with dense, banded, block chain (but for the first factorisation with
// a border) and (from the second factorisation on, unless
// pivots must be chosen anew) KLU. One object serves one thread at a time. Same input, same history, same bits.
// The first CHOLMOD or UMFPACK analysis sets OpenBLAS, where it is the BLAS, to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/named_arrays.hpp"
#include "core/linear/sparse.hpp"

namespace carom {

enum class LinearMethod { automatic, dense, banded, block_chain, klu, umfpack, cholmod };

// Values symmetric in exact arithmetic (only one triangle may be read); expected to be positive definite.
struct MatrixProperties {
  bool symmetric = false;
  bool positive_definite = false;
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

  // Takes effect at the next analyse(). A method that cannot take the matrix (banded without symmetry, CHOLMOD without
  // symmetry, block chain on another pattern) is replaced by KLU or UMFPACK; method_name() tells.
  void set_method(LinearMethod method);
  // Symbolic work for a square pattern; std::invalid_argument if it is not square. The first form copies the pattern.
  void analyse(const SparsePattern& pattern, MatrixProperties properties);
  void analyse(std::shared_ptr<const SparsePattern> pattern, MatrixProperties properties);
  // `values` has nonzeros() entries. Never throws for a singular matrix; std::bad_alloc when memory does not suffice.
  FactorStatus factorise(std::span<const double> values);
  // b (column-major, n x columns) becomes A^-1 b or A^-T b. std::logic_error unless the last factorise() was ok.
  void solve(std::span<double> b, int columns = 1);
  void solve_transposed(std::span<double> b, int columns = 1);

  // Smallest pivot of the last factorisation against its scale (see above), in [0, 1]: an order of magnitude at best.
  double reciprocal_condition() const;
  // After `singular`: the row of the smallest pivot; with dense LU, KLU and UMFPACK a row that depends on rows
  // eliminated before it. Else, and for non-finite values, -1 and the row of the first such value.
  int suspicious_row() const;
  // Number of negative eigenvalues where the method knows it (banded and dense LDL^T, CHOLMOD), else -1.
  int negative_pivots() const;
  // "dense", "banded", "block_chain", "klu", "umfpack" or "cholmod": the method of the last factorisation, or the one
  // chosen.
  std::string method_name() const;
  // Entries of the factors, L and U (or L alone when symmetric); predicted before the first factorisation.
  double fill() const;
  const LinearCounters& counters() const;

  // What the next factorisations depend on besides their values: pivots that were chosen once, methods that gave up.
  // Names begin with `prefix`. restore() into a freshly analysed solver of the same pattern makes it go on bit for bit;
  // `values` are those of the last factorisation, empty if it will not be used any more. std::invalid_argument if the
  // record does not fit the pattern.
  void save(NamedArrays& record, const std::string& prefix) const;
  void restore(const NamedArrays& record, const std::string& prefix, std::span<const double> values);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Multiplications that LDL^T of a symmetric square pattern takes in minimum-degree order.
double factorisation_operations(const SparsePattern& pattern);

// What the files linear_solver_*.cpp implement and linear_solver.cpp chooses from; not for other code.
namespace detail {

inline constexpr double singular_tolerance = 1e-14;

enum class Outcome { ok, singular, unsuitable };  // unsuitable: not positive definite, another method must decide

// Facts about the last factorisation.
struct FactorFacts {
  double reciprocal_condition = 0, fill = 0;
  int suspicious_row = -1, negative_pivots = -1;
};

class Factorisation {
 public:
  virtual ~Factorisation() = default;
  virtual Outcome factorise(std::span<const double> values, LinearCounters& counters) = 0;
  virtual void solve(double* b, int columns, bool transposed) = 0;
  virtual std::string_view name() const = 0;
  // The values for which the pivots in use were chosen, where they outlive a factorisation; empty otherwise.
  virtual std::span<const double> pivot_values() const { return {}; }
  // The last factorisation chose the pivots.
  virtual bool chose_pivots() const { return false; }
  const FactorFacts& facts() const { return facts_; }

 protected:
  FactorFacts facts_;
};

// Scale against which pivots of an unsymmetric factorisation are judged: a pivot of row i, already divided by
// column[its column], is to be compared with row[i].
struct PivotScale {
  std::vector<double> column, row;
  int bad_row = -1;  // first row with a non-finite value, else a row without any value, else -1
  bool compute(const SparsePattern& pattern, std::span<const double> values);  // false: bad_row found
};

using SharedPattern = std::shared_ptr<const SparsePattern>;
using Backend = std::unique_ptr<Factorisation>;

Backend make_dense(const SparsePattern& pattern, MatrixProperties properties);
// Half bandwidth of the pattern in the order `order` (order[new] = old; empty: natural).
int half_bandwidth(const SparsePattern& pattern, std::span<const int> order);
std::vector<int> reverse_cuthill_mckee(const SparsePattern& pattern);
Backend make_banded(const SparsePattern& pattern, std::span<const int> order);
// Null if the pattern is no chain of blocks, or if they have fewer rows than this on average.
Backend make_block_chain(SharedPattern pattern, int least_mean_size);
// KLU, and the operations per entry of the factors that its ordering predicts.
Backend make_klu(SharedPattern pattern, double& operations_per_entry);
Backend make_umfpack(SharedPattern pattern);
Backend make_cholmod(SharedPattern pattern);
// The column indices, not null when there are none: SuiteSparse takes no null pointer.
const int* column_indices(const SparsePattern& pattern);
// One BLAS thread where the BLAS is OpenBLAS.
void limit_blas_threads();

}  // namespace detail
}  // namespace carom
