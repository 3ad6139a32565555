// KLU: sparse LU for matrices with little fill (chains, mechanisms). Pivots are chosen once and kept until the factors
// lose accuracy. [Davis & Palamadai Natarajan, ACM TOMS 37 (2010) 36]
//
// KLU reads compressed columns, so it sees B = A^T in the CSR arrays of A, and A x = b is KLU's transposed solve.
// Column j of B is row j of A, and a vanishing pivot in column j means that row j of A depends on rows eliminated
// before it.
#include <klu.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

class Klu final : public Factorisation {
 public:
  explicit Klu(SharedPattern pattern)
      : pattern_(std::move(pattern)), relative_(static_cast<std::size_t>(pattern_->rows)) {
    klu_defaults(&common_);
    common_.tol = 0.1;  // same fill as 0.001 on beams and joints, two digits more
    common_.scale = 2;  // rows of B, which are columns of A, by their largest entry
    symbolic_ = klu_analyze(pattern_->rows, start(), column(), &common_);
    if (!symbolic_) throw std::bad_alloc();
    facts_.fill = symbolic_->lnz >= 0 ? symbolic_->lnz + symbolic_->unz - pattern_->rows + symbolic_->nzoff : -1;
  }
  ~Klu() override {
    klu_free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }
  Klu(const Klu&) = delete;
  Klu& operator=(const Klu&) = delete;

  double operations_per_entry() const {
    const double entries = symbolic_->lnz + symbolic_->unz;
    return entries > 0 ? symbolic_->est_flops / entries : 0;
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    if (!scale_.compute(*pattern_, values, facts_)) return Outcome::singular;
    auto* const x = const_cast<double*>(values.data());  // KLU does not write to it

    // Reuse the pivots if they still serve.
    if (numeric_) {
      ++counters.factorisations;
      ++counters.refactorisations;
      if (klu_refactor(start(), column(), x, symbolic_, numeric_, &common_) && common_.status == KLU_OK) {
        judge_pivots();
        if (facts_.reciprocal_condition > singular_tolerance && pivots_serve()) {
          chose_pivots_ = false;
          return Outcome::ok;
        }
      } else if (common_.status < 0) {
        throw std::bad_alloc();
      }
      klu_free_numeric(&numeric_, &common_);
    }

    ++counters.factorisations;
    facts_.suspicious_row = -1;
    numeric_ = klu_factor(start(), column(), x, symbolic_, &common_);
    if (!numeric_) {
      if (common_.status != KLU_SINGULAR) throw std::bad_alloc();
      facts_.reciprocal_condition = 0;
      facts_.suspicious_row = singular_row();
      return Outcome::singular;
    }
    facts_.fill = numeric_->lnz + numeric_->unz - pattern_->rows + numeric_->nzoff;
    const int row = judge_pivots();
    if (!(facts_.reciprocal_condition > singular_tolerance)) {
      facts_.suspicious_row = row;
      klu_free_numeric(&numeric_, &common_);
      return Outcome::singular;
    }
    fresh_ = relative_;
    fresh_largest_ = largest_;
    pivot_values_.assign(values.begin(), values.end());
    chose_pivots_ = true;
    return Outcome::ok;
  }

  void solve(double* b, int columns) override { klu_tsolve(symbolic_, numeric_, pattern_->rows, columns, b, &common_); }
  std::string_view name() const override { return "klu"; }
  void forget_pivots() override { klu_free_numeric(&numeric_, &common_); }
  std::span<const double> pivot_values() const override {
    return numeric_ != nullptr ? std::span<const double>(pivot_values_) : std::span<const double>();
  }
  bool chose_pivots() const override { return numeric_ != nullptr && chose_pivots_; }

 private:
  int* start() const { return const_cast<int*>(pattern_->row_start.data()); }
  int* column() const { return const_cast<int*>(column_indices(*pattern_)); }

  // Divides pivots by their scales, keeps the smallest in the facts, returns its row. KLU holds the pivots of B with
  // every row divided by its largest entry.
  int judge_pivots() {
    const auto* const pivot = static_cast<const double*>(numeric_->Udiag);
    double smallest = 1;
    int row = -1;
    largest_ = 0;
    for (std::size_t k = 0; k < relative_.size(); ++k) {
      const int i = symbolic_->Q[k];
      const double relative = std::fabs(pivot[k]) / scale_.row[static_cast<std::size_t>(i)];
      relative_[k] = relative;
      largest_ = std::max(largest_, relative);
      if (!(relative >= smallest)) smallest = relative, row = i;
    }
    facts_.reciprocal_condition = smallest >= 0 ? smallest : 0;
    return row;
  }
  // L stays bounded: no pivot is much smaller than when the pivots were chosen. The Schur complements did not grow: no
  // pivot is much larger than the largest pivot then.
  bool pivots_serve() const {
    bool serve = largest_ <= 1e3 * fresh_largest_;
    for (std::size_t k = 0; k < relative_.size(); ++k) serve &= relative_[k] >= 1e-3 * fresh_[k];
    return serve;
  }
  int singular_row() const {
    const int row = common_.singular_col;
    return row >= 0 && row < pattern_->rows ? row : -1;
  }

  SharedPattern pattern_;
  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
  PivotScale scale_;
  std::vector<double> relative_, fresh_;  // pivots against their scales: now, when chosen
  double largest_ = 0, fresh_largest_ = 0;
  std::vector<double> pivot_values_;  // for which the pivots were chosen
  bool chose_pivots_ = false;
};

}  // namespace

Backend make_klu(SharedPattern pattern, double& operations_per_entry) {
  auto klu = std::make_unique<Klu>(std::move(pattern));
  operations_per_entry = klu->operations_per_entry();
  return klu;
}

}  // namespace carom::detail
