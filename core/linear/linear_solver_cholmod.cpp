// CHOLMOD: supernodal LL^T for symmetric positive definite matrices with much fill (solids), ordered by nested
// dissection. [Chen, Davis, Hager & Rajamanickam, ACM TOMS 35 (2008) 22]
//
// CHOLMOD reads the lower triangle of compressed columns, which is the upper triangle of our compressed rows: no copy.
#include <cholmod.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/base/index.hpp"
#include "core/linear/blas.hpp"
#include "core/linear/linear_solver.hpp"
#include "core/linear/supernodal_factors.hpp"

namespace carom::detail {
namespace {

// CHOLMOD asks for four threads, whatever the program was told; its parallel loops are far too short for that.
class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : levels_(omp_get_max_active_levels()) { omp_set_max_active_levels(0); }
  ~OneThread() { omp_set_max_active_levels(levels_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int levels_;
#endif
};

class Cholmod final : public Factorisation {
 public:
  Cholmod(SharedPattern pattern, bool quick) : pattern_(std::move(pattern)) {
    use_blas();
    cholmod_start(&common_);
    common_.print = 0;
    common_.error_handler = nullptr;
    common_.supernodal = CHOLMOD_SUPERNODAL;
    common_.final_ll = 1;
    common_.nmethods = 1;
    common_.method[0].ordering = quick ? CHOLMOD_AMD : CHOLMOD_METIS;
    common_.postorder = 1;
    common_.quick_return_if_not_posdef = 1;

    const auto n = static_cast<std::size_t>(pattern_->rows);
    matrix_.nrow = matrix_.ncol = n;
    matrix_.nzmax = pattern_->column.size();
    matrix_.p = const_cast<int*>(pattern_->row_start.data());
    matrix_.i = const_cast<int*>(column_indices(*pattern_));
    matrix_.stype = -1;
    matrix_.itype = CHOLMOD_INT;
    matrix_.xtype = CHOLMOD_PATTERN;
    matrix_.dtype = CHOLMOD_DOUBLE;
    matrix_.sorted = matrix_.packed = 1;
    factor_ = cholmod_analyze(&matrix_, &common_);
    check();
    facts_.fill = common_.lnz;
    for (std::size_t i = 0; i < n; ++i) diagonal_.push_back(pattern_->find(static_cast<int>(i), static_cast<int>(i)));
  }
  ~Cholmod() override {
    cholmod_free_dense(&x_, &common_);
    cholmod_free_dense(&y_, &common_);
    cholmod_free_dense(&e_, &common_);
    cholmod_free_factor(&factor_, &common_);
    cholmod_finish(&common_);
  }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    facts_.reciprocal_condition = 0;
    facts_.suspicious_row = -1;
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!std::isfinite(values[k])) {
        const auto& start = pattern_->row_start;
        facts_.suspicious_row =
            static_cast<int>(std::upper_bound(start.begin(), start.end(), static_cast<int>(k)) - start.begin()) - 1;
        return Outcome::singular;
      }
    ++counters.factorisations;
    for (const int k : diagonal_)
      if (k < 0 || !(values[static_cast<std::size_t>(k)] > 0)) return Outcome::unsuitable;
    rounded_.clear();
    matrix_.x = const_cast<double*>(values.data());
    matrix_.xtype = CHOLMOD_REAL;
    {
      [[maybe_unused]] const OneThread one_thread;
      cholmod_factorize(&matrix_, factor_, &common_);
    }
    matrix_.x = nullptr;
    matrix_.xtype = CHOLMOD_PATTERN;
    if (common_.status == CHOLMOD_NOT_POSDEF) return Outcome::unsuitable;
    check();

    // The pivots are the squares of the diagonal of L; their scale is the diagonal of the matrix.
    const auto* const super = static_cast<const int*>(factor_->super);
    const auto* const rows = static_cast<const int*>(factor_->pi);
    const auto* const start = static_cast<const int*>(factor_->px);
    const auto* const l = static_cast<const double*>(factor_->x);
    const auto* const order = static_cast<const int*>(factor_->Perm);
    double smallest = 1;
    for (std::size_t s = 0; s < factor_->nsuper; ++s) {
      const std::ptrdiff_t stride = rows[s + 1] - rows[s] + 1;
      for (int j = super[s]; j < super[s + 1]; ++j) {
        const double root = l[start[s] + (j - super[s]) * stride];
        const double own = values[static_cast<std::size_t>(diagonal_[static_cast<std::size_t>(order[j])])];
        const double relative = root * root / own;
        if (!(relative >= smallest)) smallest = relative;
      }
    }
    facts_.reciprocal_condition = smallest >= 0 ? smallest : 0;
    if (!(smallest > singular_tolerance)) return Outcome::unsuitable;  // UMFPACK names the row
    return Outcome::ok;
  }

  void solve(double* b, int columns) override {
    if (!rounded_.empty()) {
      rounded_.solve(b, columns);
      return;
    }
    const auto n = static_cast<std::size_t>(pattern_->rows), m = static_cast<std::size_t>(columns);
    cholmod_dense rhs{};
    rhs.nrow = rhs.d = n;
    rhs.ncol = m;
    rhs.nzmax = n * m;
    rhs.x = b;
    rhs.xtype = CHOLMOD_REAL;
    rhs.dtype = CHOLMOD_DOUBLE;
    cholmod_solve2(CHOLMOD_A, factor_, &rhs, nullptr, &x_, nullptr, &y_, &e_, &common_);
    check();
    std::copy_n(static_cast<const double*>(x_->x), n * m, b);
  }

  // The factors leave CHOLMOD, which keeps their pattern.
  void round(int threads) {
    const auto* const l = static_cast<const double*>(factor_->x);
    values_.assign(l, l + factor_->xsize);
    cholmod_change_factor(CHOLMOD_PATTERN, 1, 1, 1, 1, factor_, &common_);
    check();
    rounded_.set(supernodes(), values_, threads);
  }
  std::string_view name() const override { return "cholmod"; }

 private:
  Supernodes supernodes() const {
    const auto array = [](const void* values) { return static_cast<const int*>(values); };
    return {static_cast<int>(factor_->nsuper),
            pattern_->rows,
            array(factor_->super),
            array(factor_->pi),
            array(factor_->px),
            array(factor_->s),
            array(factor_->Perm)};
  }

  void check() const {
    if (common_.status >= CHOLMOD_OK) return;
    if (common_.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
    throw std::runtime_error("CHOLMOD failed with status " + std::to_string(common_.status));
  }

  SharedPattern pattern_;
  cholmod_common common_{};
  cholmod_sparse matrix_{};
  cholmod_factor* factor_ = nullptr;
  cholmod_dense *x_ = nullptr, *y_ = nullptr, *e_ = nullptr;  // kept between solves
  std::vector<int> diagonal_;
  std::vector<float> values_;  // of rounded_
  SupernodalFactors rounded_;
};

}  // namespace

Backend make_cholmod(SharedPattern pattern, bool quick) { return std::make_unique<Cholmod>(std::move(pattern), quick); }

void round_factors(Factorisation& cholmod, int threads) { dynamic_cast<Cholmod&>(cholmod).round(threads); }

}  // namespace carom::detail
