// Dense factorisations with storage fixed by analyse(): LU with partial pivoting, and LDL^T without pivoting for
// matrices expected to be positive definite. [Golub & Van Loan, Matrix Computations, 4th ed., algorithms 3.4.1
// and 4.1.2]
//
// Factor and solution, microseconds, AVX2: the kernels below win as long as matrices are small, Eigen's blocked LU wins
// when they are large. Eigen's LL^T is faster than LDL^T from 100 rows on, where dense definite matrices are rare.
//   n                    3     6     12    24    48    64    96    128
//   SmallLu             0.11  0.20  0.43  2.6   13    32    105   256
//   Eigen PartialPivLU  0.21  0.45  0.93  3.6   13    25    62    152
//   Ldl                 0.13  0.28  0.51  1.3   5.4   10    28    99
//   Eigen LLT           0.13  0.29  0.67  1.9   7.5   13    29    51
//
// Columns of factors are stored contiguously with a leading dimension padded to the lane width, and are zero where a
// factor is, so that every inner loop runs over whole lanes. Sizes up to 6 and 12 are compiled with n known.
#include <Eigen/LU>
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/base/index.hpp"
#include "core/base/simd4.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

constexpr int largest_small = 48;  // rows that SmallLu takes

// Largest |x| among `size` entries (whole lanes) of weight 1, and its place; other entries have weight 0. No branches.
[[gnu::always_inline]] inline std::pair<double, int> largest_entry(const double* x, const double* weight, int size) {
  Lanes best{-1, -1, -1, -1}, place{}, here{0, 1, 2, 3};
  for (int j = 0; j < size; j += lane_count, here += lane_count) {
    const Lanes size_here = abs(lanes_at(x + j) * lanes_at(weight + j));
    place = size_here > best ? here : place;
    best = max(size_here, best);
  }
  const int a = best[1] > best[0] ? 1 : 0, b = best[3] > best[2] ? 3 : 2, c = best[b] > best[a] ? b : a;
  const double largest = best[c];
  return {largest, static_cast<int>(place[c])};
}

// The same for a few entries, for which branches are cheaper.
[[gnu::always_inline]] inline std::pair<double, int> largest_entry_of_few(const double* x, const double* weight,
                                                                          int size) {
  double best = -1;
  int place = 0;
  for (int j = 0; j < size; ++j) {
    const double size_here = std::fabs(x[j]) * weight[j];
    if (size_here > best) best = size_here, place = j;
  }
  return {best, place};
}

// Writes CSR values into zeroed rows of leading dimension ld.
class Scatter {
 public:
  Scatter(const SparsePattern& p, int ld) : full_(p.nonzeros() == p.rows * p.rows), n_(p.rows), ld_(ld) {
    if (full_) return;
    for (int i = 0; i < n_; ++i)
      for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) target_.push_back(i * ld + p.column[at(k)]);
  }
  [[gnu::always_inline]] void operator()(const double* values, double* rows, int n) const {
    if (full_) {
      const int ld = padded(n);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) rows[i * ld + j] = values[i * n + j];
        for (int j = n; j < ld; ++j) rows[i * ld + j] = 0;
      }
    } else {
      for (int i = 0; i < n * ld_; i += lane_count) lanes_at(rows + i) = Lanes{};
      for (std::size_t k = 0; k < target_.size(); ++k) rows[target_[k]] = values[k];
    }
  }

 private:
  bool full_;
  int n_, ld_;
  std::vector<int> target_;
};

// A C P = L U. The pivot is the largest entry of row k of the eliminated matrix (partial pivoting of A^T), so that the
// first row without a pivot depends on the rows before it. C divides columns by their largest entry. Columns are marked
// instead of exchanged; the factors are compressed to the order of elimination at the end.
class SmallLu final : public Factorisation {
 public:
  explicit SmallLu(const SparsePattern& p)
      : n_(p.rows),
        ld_(padded(n_)),
        scatter_(p, ld_),
        a_(at(n_ * ld_)),
        l_(at(n_ * ld_)),
        u_(at(n_ * ld_)),
        inverse_(at(ld_)),
        column_scale_(at(ld_)),
        free_(at(ld_)),
        row_scale_(at(ld_)),
        work_(at(ld_)),
        pivot_(at(ld_)) {
    facts_.fill = static_cast<double>(n_) * n_;
    choose_kernels();
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    return (this->*factor_)(values.data(), counters);
  }
  void solve(double* b, int columns) override {
    for (int c = 0; c < columns; ++c, b += n_) (this->*solve_)(b);
  }
  std::string_view name() const override { return "dense"; }

 private:
  using Factor = Outcome (SmallLu::*)(const double*, LinearCounters&);
  using Solve = void (SmallLu::*)(double*);

  template <int N>
  Outcome factor(const double* values, LinearCounters& counters) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const a = a_.data();
    scatter_(values, a, n);

    // Column scales. The sum of x * 0 is zero only if all values are finite.
    double* const scale = column_scale_.data();
    double* const unused = free_.data();
    Lanes zeros{};
    for (int j = 0; j < ld; j += lane_count) {
      Lanes largest{};
      for (int i = 0; i < n; ++i) {
        const Lanes x = lanes_at(a + i * ld + j);
        largest = max(abs(x), largest);
        zeros += x * 0.0;
      }
      lanes_at(scale + j) = 1.0 / (largest >= DBL_MIN ? largest : largest * 0.0 + 1.0);
      lanes_at(unused + j) = Lanes{1, 1, 1, 1};
    }
    if (!(sum(zeros) == 0)) return report_non_finite();
    ++counters.factorisations;
    for (int j = n; j < ld; ++j) unused[j] = 0;

    double* const row_scale = row_scale_.data();
    for (int i = 0; i < n; ++i) {
      Lanes largest{};
      for (int j = 0; j < ld; j += lane_count) {
        const Lanes x = lanes_at(a + i * ld + j) * lanes_at(scale + j);
        lanes_at(a + i * ld + j) = x;
        largest = max(abs(x), largest);
      }
      row_scale[i] = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
    }

    // Eliminate.
    double smallest = 1;
    for (int k = 0; k < n; ++k) {
      double* const row = a + k * ld;
      const auto [best, p] = N ? largest_entry_of_few(row, unused, n) : largest_entry(row, unused, ld);
      const double relative = best / row_scale[k];
      if (!(relative > singular_tolerance)) {
        facts_.reciprocal_condition = row_scale[k] > 0 ? std::max(relative, 0.0) : 0.0;
        facts_.suspicious_row = k;
        return Outcome::singular;
      }
      smallest = std::min(smallest, relative);
      unused[p] = 0;
      pivot_[at(k)] = p;
      const double inverse = 1.0 / row[p];
      inverse_[at(k)] = inverse;
      double* const l = l_.data() + k * ld;
      for (int i = k + 1; i < n; ++i) {
        const double factor = a[i * ld + p] * inverse;
        l[i] = factor;
        subtract(a + i * ld, factor, row, 0, n);
      }
    }

    // Upper factor in elimination order, by columns.
    for (int k = 0; k < n; ++k)
      for (int m = k + 1; m < n; ++m) u_[at(m * ld + k)] = a[k * ld + pivot_[at(m)]];
    facts_.reciprocal_condition = smallest;
    facts_.suspicious_row = -1;
    return Outcome::ok;
  }

  // A = L U (C P)^-1.
  template <int N>
  void solve_one(double* b) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const y = work_.data();
    const double* const inverse = inverse_.data();
    const int* const pivot = pivot_.data();
    for (int i = 0; i < n; ++i) y[i] = b[i];
    for (int k = 0; k + 1 < n; ++k) subtract(y, y[k], l_.data() + k * ld, k + 1, n);
    for (int m = n - 1; m >= 0; --m) {
      const double x = y[m] * inverse[m];
      b[pivot[m]] = x * column_scale_[at(pivot[m])];
      subtract(y, x, u_.data() + m * ld, 0, m);
    }
  }

  // Row of the first value that is not finite.
  Outcome report_non_finite() {
    facts_.reciprocal_condition = 0;
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j)
        if (!std::isfinite(a_[at(i * ld_ + j)])) {
          facts_.suspicious_row = i;
          return Outcome::singular;
        }
    return Outcome::singular;
  }

  template <int N>
  void use() {
    factor_ = &SmallLu::factor<N>;
    solve_ = &SmallLu::solve_one<N>;
  }
  void choose_kernels() {
    switch (n_) {
      case 1:
        return use<1>();
      case 2:
        return use<2>();
      case 3:
        return use<3>();
      case 4:
        return use<4>();
      case 5:
        return use<5>();
      case 6:
        return use<6>();
      case 12:
        return use<12>();
      default:
        return use<0>();
    }
  }

  int n_, ld_;
  Scatter scatter_;
  std::vector<double> a_, l_, u_, inverse_, column_scale_, free_, row_scale_, work_;
  std::vector<int> pivot_;
  Factor factor_ = nullptr;
  Solve solve_ = nullptr;
};

// The same factorisation of a larger matrix by Eigen: P (A C)^T = L U.
class LargeLu final : public Factorisation {
 public:
  explicit LargeLu(const SparsePattern& p)
      : n_(p.rows),
        scatter_(p, padded(n_)),
        rows_(padded(n_), n_),
        lu_(n_),
        column_scale_(n_),
        row_scale_(n_),
        work_(n_) {
    facts_.fill = static_cast<double>(n_) * n_;
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    facts_.reciprocal_condition = 0;
    scatter_(values.data(), rows_.data(), n_);
    auto A_T = rows_.topRows(n_);
    for (int i = 0; i < n_; ++i) {
      if (A_T.col(i).allFinite()) continue;
      facts_.suspicious_row = i;
      return Outcome::singular;
    }
    ++counters.factorisations;
    column_scale_ = A_T.rowwise().lpNorm<Eigen::Infinity>();
    for (double& scale : column_scale_) scale = scale >= DBL_MIN ? 1 / scale : 1;
    A_T.array().colwise() *= column_scale_.array();
    row_scale_ = A_T.colwise().lpNorm<Eigen::Infinity>();
    lu_.compute(A_T);

    double smallest = 1;
    for (int k = 0; k < n_; ++k) {
      const double relative = std::fabs(lu_.matrixLU()(k, k)) / row_scale_[k];
      if (!(relative > singular_tolerance)) {
        facts_.reciprocal_condition = row_scale_[k] > 0 ? std::max(relative, 0.0) : 0.0;
        facts_.suspicious_row = k;
        return Outcome::singular;
      }
      smallest = std::min(smallest, relative);
    }
    facts_.reciprocal_condition = smallest;
    facts_.suspicious_row = -1;
    return Outcome::ok;
  }

  // A C = U^T L^T P
  void solve(double* b, int columns) override {
    for (int c = 0; c < columns; ++c, b += n_) {
      Eigen::Map<Eigen::VectorXd> x(b, n_);
      work_ = x;
      lu_.matrixLU().triangularView<Eigen::Upper>().transpose().solveInPlace(work_);
      lu_.matrixLU().triangularView<Eigen::UnitLower>().transpose().solveInPlace(work_);
      x.noalias() = lu_.permutationP().transpose() * work_;
      x.array() *= column_scale_.array();
    }
  }
  std::string_view name() const override { return "dense"; }

 private:
  int n_;
  Scatter scatter_;
  Eigen::MatrixXd rows_;  // row i of A in column i, below it padding
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  Eigen::VectorXd column_scale_;
  Eigen::RowVectorXd row_scale_;
  Eigen::VectorXd work_;
};

// A = L D L^T without pivoting; a matrix that is not positive definite is left to LU.
class Ldl final : public Factorisation {
 public:
  explicit Ldl(const SparsePattern& p)
      : n_(p.rows), ld_(padded(n_)), scatter_(p, ld_), a_(at(n_ * ld_)), inverse_(at(ld_)), work_(at(ld_)) {
    facts_.fill = 0.5 * n_ * (n_ + 1);
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    ++counters.factorisations;
    scatter_(values.data(), a_.data(), n_);
    const bool definite = n_ == 6 ? factor<6>() : n_ == 3 ? factor<3>() : factor<0>();
    return definite ? Outcome::ok : Outcome::unsuitable;
  }
  void solve(double* b, int columns) override {
    for (int c = 0; c < columns; ++c, b += n_) n_ == 6 ? solve_one<6>(b) : n_ == 3 ? solve_one<3>(b) : solve_one<0>(b);
  }
  std::string_view name() const override { return "dense"; }

 private:
  // Columns of the lower triangle are contiguous.
  template <int N>
  bool factor() {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const a = a_.data();
    double smallest = 1;
    for (int k = 0; k < n; ++k) inverse_[at(k)] = a[k * ld + k];
    for (int k = 0; k < n; ++k) {
      double* const c = a + k * ld;
      const double d = c[k], relative = d / inverse_[at(k)];
      if (!(d > 0 && relative > singular_tolerance && d <= DBL_MAX)) return false;
      smallest = std::min(smallest, relative);
      const double inverse = 1.0 / d;
      inverse_[at(k)] = inverse;
      // The column is zero down to its diagonal and in the padding: solves run over whole lanes.
      for (int i = 0; i <= k; ++i) c[i] = 0;
      for (int i = n; i < ld; ++i) c[i] = 0;
      for (int j = k + 1; j < n; ++j) subtract(a + j * ld, c[j] * inverse, c, j, n);
      for (int i = k + 1; i < n; ++i) c[i] *= inverse;
    }
    facts_.reciprocal_condition = smallest;
    return true;
  }

  template <int N>
  void solve_one(double* b) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const y = work_.data();
    for (int i = 0; i < n; ++i) y[i] = b[i];
    for (int k = 0; k + 1 < n; ++k) subtract(y, y[k], a_.data() + k * ld, k + 1, n);
    for (int k = 0; k < n; ++k) y[k] *= inverse_[at(k)];
    for (int k = n - 2; k >= 0; --k) y[k] -= dot(a_.data() + k * ld, y, k + 1, n);
    for (int i = 0; i < n; ++i) b[i] = y[i];
  }

  int n_, ld_;
  Scatter scatter_;
  std::vector<double> a_, inverse_, work_;
};

}  // namespace

Backend make_dense(const SparsePattern& pattern, MatrixProperties properties) {
  if (pattern.rows > 40000) throw std::length_error("LinearSolver: too large for a dense matrix");
  if (properties.symmetric && properties.positive_definite) return std::make_unique<Ldl>(pattern);
  if (pattern.rows > largest_small) return std::make_unique<LargeLu>(pattern);
  return std::make_unique<SmallLu>(pattern);
}

}  // namespace carom::detail
