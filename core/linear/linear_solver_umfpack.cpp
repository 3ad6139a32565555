// UMFPACK: multifrontal LU for unsymmetric or indefinite matrices with much fill (solids), ordered by nested
// dissection, without iterative refinement (Newton's method corrects). [Davis, ACM TOMS 30 (2004) 196]
//
// The CSR arrays of A are the compressed columns of B = A^T: A x = b is the transposed solve.
#include <umfpack.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#include "core/linear/blas.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

// Whether the pattern is symmetric and stores at least nine in ten diagonal entries.
bool prefers_diagonal(const SparsePattern& p) {
  int diagonal = 0;
  for (int i = 0; i < p.rows; ++i)
    for (int k = p.row_start[static_cast<std::size_t>(i)]; k < p.row_start[static_cast<std::size_t>(i) + 1]; ++k) {
      const int j = p.column[static_cast<std::size_t>(k)];
      if (j == i) ++diagonal;
      if (j != i && p.find(j, i) < 0) return false;
    }
  return 10L * diagonal >= 9L * p.rows;
}

class Umfpack final : public Factorisation {
 public:
  explicit Umfpack(SharedPattern pattern)
      : pattern_(std::move(pattern)),
        n_(static_cast<std::size_t>(pattern_->rows)),
        index_(n_),
        work_(n_),
        x_(n_),
        pivot_(n_),
        pivot_row_(n_),
        pivot_column_(n_) {
    use_blas();
    umfpack_di_defaults(control_);
    control_[UMFPACK_ORDERING] = UMFPACK_ORDERING_METIS;
    control_[UMFPACK_PIVOT_TOLERANCE] = 0.5;
    control_[UMFPACK_SYM_PIVOT_TOLERANCE] = 0.1;
    // By default UMFPACK orders A^T A even for the patterns of solids, which costs a third more fill.
    if (prefers_diagonal(*pattern_)) control_[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
    control_[UMFPACK_IRSTEP] = 0;
    control_[UMFPACK_SCALE] = UMFPACK_SCALE_MAX;  // rows of B, which are columns of A
    control_[UMFPACK_PRL] = 0;
    double info[UMFPACK_INFO];
    check(umfpack_di_symbolic(pattern_->rows, pattern_->rows, pattern_->row_start.data(), column_indices(*pattern_),
                              nullptr, &symbolic_, control_, info));
    facts_.fill = info[UMFPACK_LNZ_ESTIMATE] + info[UMFPACK_UNZ_ESTIMATE] - pattern_->rows;
  }
  ~Umfpack() override {
    umfpack_di_free_numeric(&numeric_);
    umfpack_di_free_symbolic(&symbolic_);
  }
  Umfpack(const Umfpack&) = delete;
  Umfpack& operator=(const Umfpack&) = delete;

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    if (!scale_.compute(*pattern_, values, facts_)) return Outcome::singular;
    ++counters.factorisations;
    umfpack_di_free_numeric(&numeric_);
    double info[UMFPACK_INFO];
    const double nothing = 0;
    const int status =
        umfpack_di_numeric(pattern_->row_start.data(), column_indices(*pattern_),
                           values.empty() ? &nothing : values.data(), symbolic_, &numeric_, control_, info);
    if (status != UMFPACK_WARNING_singular_matrix) check(status);
    facts_.fill = info[UMFPACK_LNZ] + info[UMFPACK_UNZ] - pattern_->rows;

    // Pivots of B, whose rows are divided by their largest entries, over the scales of the rows of A.
    int reciprocal = 0;
    check(umfpack_di_get_numeric(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, pivot_row_.data(),
                                 pivot_column_.data(), pivot_.data(), &reciprocal, nullptr, numeric_));
    double smallest = 1;
    int row = -1;
    for (std::size_t k = 0; k < n_; ++k) {
      const double relative = std::fabs(pivot_[k]) / scale_.row[static_cast<std::size_t>(pivot_column_[k])];
      if (!(relative >= smallest)) smallest = relative, row = pivot_column_[k];
    }
    facts_.reciprocal_condition = smallest >= 0 ? smallest : 0;
    if (status == UMFPACK_OK && smallest > singular_tolerance) return Outcome::ok;
    facts_.suspicious_row = row;
    return Outcome::singular;
  }

  void solve(double* b, int columns) override {
    double info[UMFPACK_INFO];
    for (int c = 0; c < columns; ++c, b += n_) {
      // No matrix is passed: only refinement would need one.
      check(umfpack_di_wsolve(UMFPACK_At, nullptr, nullptr, nullptr, x_.data(), b, numeric_, control_, info,
                              index_.data(), work_.data()));
      std::ranges::copy(x_, b);
    }
  }
  std::string_view name() const override { return "umfpack"; }

 private:
  static void check(int status) {
    if (status == UMFPACK_OK) return;
    if (status == UMFPACK_ERROR_out_of_memory) throw std::bad_alloc();
    throw std::runtime_error("UMFPACK failed with status " + std::to_string(status));
  }

  SharedPattern pattern_;
  std::size_t n_;
  double control_[UMFPACK_CONTROL];
  void* symbolic_ = nullptr;
  void* numeric_ = nullptr;
  PivotScale scale_;
  std::vector<int> index_;
  std::vector<double> work_, x_, pivot_;
  std::vector<int> pivot_row_, pivot_column_;
};

}  // namespace

Backend make_umfpack(SharedPattern pattern) { return std::make_unique<Umfpack>(std::move(pattern)); }

}  // namespace carom::detail
