// Dense factorisations with storage fixed by analyse(): LU with partial pivoting, and LDL^T with Bunch-Kaufman pivoting
// for symmetric matrices. [Golub & Van Loan, Matrix Computations, 4th ed., algorithms 3.4.1 and 4.4.2]
//
// Columns of factors are stored contiguously with a leading dimension padded to the lane width, and are zero where a
// factor is, so that every inner loop runs over whole lanes. Sizes up to 12 are compiled with n known.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "core/linear/linear_solver.hpp"
#include "core/linear/linear_solver_lanes.hpp"

namespace carom::detail {
namespace {

// Largest |x| where weight is 1 (it is 0 elsewhere) over `size` entries, whole lanes, and its place; branch-free.
[[gnu::always_inline]] inline std::pair<double, int> largest_entry(const double* x, const double* weight, int size) {
  Lanes best{-1, -1, -1, -1}, place{}, here{0, 1, 2, 3};
  for (int j = 0; j < size; j += lane_count, here += lane_count) {
    const Lanes size_here = magnitude(lanes(x + j) * lanes(weight + j));
    place = size_here > best ? here : place;
    best = larger(size_here, best);
  }
  const int a = best[1] > best[0] ? 1 : 0, b = best[3] > best[2] ? 3 : 2, c = best[b] > best[a] ? b : a;
  const double largest = best[c];
  return {largest, static_cast<int>(place[c])};
}

// The same for a handful of entries, where branches are cheaper.
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
      for (int k = p.row_start[static_cast<std::size_t>(i)]; k < p.row_start[static_cast<std::size_t>(i) + 1]; ++k)
        target_.push_back(i * ld + p.column[static_cast<std::size_t>(k)]);
  }
  [[gnu::always_inline]] void operator()(const double* values, double* rows, int n) const {
    if (full_) {
      const int ld = padded(n);
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) rows[i * ld + j] = values[i * n + j];
        for (int j = n; j < ld; ++j) rows[i * ld + j] = 0;
      }
    } else {
      for (int i = 0; i < n * ld_; i += lane_count) lanes(rows + i) = Lanes{};
      for (std::size_t k = 0; k < target_.size(); ++k) rows[target_[k]] = values[k];
    }
  }

 private:
  bool full_;
  int n_, ld_;
  std::vector<int> target_;
};

// A C P = L U: row k of the eliminated matrix chooses its largest entry as pivot (partial pivoting of A^T), so that a
// vanishing row is the first one that depends on rows before it. C divides columns by their largest entry. Columns are
// not exchanged but marked, and the factors are compressed to elimination order at the end.
class DenseLu final : public Factorisation {
 public:
  explicit DenseLu(const SparsePattern& p)
      : n_(p.rows),
        ld_(padded(n_)),
        scatter_(p, ld_),
        a_(size(n_ * ld_)),
        l_(size(n_ * ld_)),
        u_(size(n_ * ld_)),
        inverse_(size(ld_)),
        column_scale_(size(ld_)),
        free_(size(ld_)),
        row_scale_(size(ld_)),
        work_(size(ld_)),
        pivot_(size(ld_)) {
    facts_.fill = static_cast<double>(n_) * n_;
    factor_ = choose_factor(n_);
    solve_ = choose_solve(n_);
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    return (this->*factor_)(values.data(), counters);
  }
  void solve(double* b, int columns, bool transposed) override {
    for (int c = 0; c < columns; ++c, b += n_) (this->*solve_)(b, transposed);
  }
  std::string_view name() const override { return "dense"; }

 private:
  using Factor = Outcome (DenseLu::*)(const double*, LinearCounters&);
  using Solve = void (DenseLu::*)(double*, bool);
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  template <int N>
  Outcome factor(const double* values, LinearCounters& counters) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const a = a_.data();
    scatter_(values, a, n);

    // Divide columns by their largest entry; a sum of zeros finds values that are not finite.
    double* const scale = column_scale_.data();
    double* const unused = free_.data();
    Lanes zeros{};
    for (int j = 0; j < ld; j += lane_count) {
      Lanes largest{};
      for (int i = 0; i < n; ++i) {
        const Lanes x = lanes(a + i * ld + j), size = x < 0 ? -x : x;
        largest = size > largest ? size : largest;
        zeros += x * 0.0;
      }
      lanes(scale + j) = 1.0 / (largest >= DBL_MIN ? largest : largest * 0.0 + 1.0);
      lanes(unused + j) = Lanes{1, 1, 1, 1};
    }
    if (!((zeros[0] + zeros[2]) + (zeros[1] + zeros[3]) == 0)) return report_non_finite();
    ++counters.factorisations;
    for (int j = n; j < ld; ++j) unused[j] = 0;

    double* const row_scale = row_scale_.data();
    for (int i = 0; i < n; ++i) {
      Lanes largest{};
      for (int j = 0; j < ld; j += lane_count) {
        const Lanes x = lanes(a + i * ld + j) * lanes(scale + j), size = x < 0 ? -x : x;
        lanes(a + i * ld + j) = x;
        largest = size > largest ? size : largest;
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
      pivot_[static_cast<std::size_t>(k)] = p;
      const double inverse = 1.0 / row[p];
      inverse_[static_cast<std::size_t>(k)] = inverse;
      double* const l = l_.data() + k * ld;
      for (int i = k + 1; i < n; ++i) {
        const double factor = a[i * ld + p] * inverse;
        l[i] = factor;
        subtract(a + i * ld, factor, row, 0, n);
      }
    }

    // Upper factor in elimination order, by columns.
    for (int k = 0; k < n; ++k)
      for (int m = k + 1; m < n; ++m) u_[size(m * ld + k)] = a[k * ld + pivot_[size(m)]];
    facts_.reciprocal_condition = smallest;
    facts_.suspicious_row = -1;
    return Outcome::ok;
  }

  // A = L U (C P)^-1.
  template <int N>
  void solve_one(double* b, bool transposed) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const y = work_.data();
    const double* const inverse = inverse_.data();
    const int* const pivot = pivot_.data();
    if (!transposed) {
      for (int i = 0; i < n; ++i) y[i] = b[i];
      for (int k = 0; k + 1 < n; ++k) subtract(y, y[k], l_.data() + k * ld, k + 1, n);
      for (int m = n - 1; m >= 0; --m) {
        const double x = y[m] * inverse[m];
        b[pivot[m]] = x * column_scale_[size(pivot[m])];
        subtract(y, x, u_.data() + m * ld, 0, m);
      }
    } else {
      for (int m = 0; m < n; ++m) y[m] = b[pivot[m]] * column_scale_[size(pivot[m])];
      for (int m = 0; m < n; ++m) y[m] = (y[m] - dot(u_.data() + m * ld, y, 0, m)) * inverse[m];
      for (int k = n - 2; k >= 0; --k) y[k] -= dot(l_.data() + k * ld, y, k + 1, n);
      for (int i = 0; i < n; ++i) b[i] = y[i];
    }
  }

  // Row of the first value that is not finite.
  Outcome report_non_finite() {
    facts_.reciprocal_condition = 0;
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < n_; ++j)
        if (!std::isfinite(a_[size(i * ld_ + j)])) {
          facts_.suspicious_row = i;
          return Outcome::singular;
        }
    return Outcome::singular;
  }

  static Factor choose_factor(int n) {
    switch (n) {
      case 1:
        return &DenseLu::factor<1>;
      case 2:
        return &DenseLu::factor<2>;
      case 3:
        return &DenseLu::factor<3>;
      case 4:
        return &DenseLu::factor<4>;
      case 5:
        return &DenseLu::factor<5>;
      case 6:
        return &DenseLu::factor<6>;
      case 12:
        return &DenseLu::factor<12>;
      default:
        return &DenseLu::factor<0>;
    }
  }
  static Solve choose_solve(int n) {
    switch (n) {
      case 1:
        return &DenseLu::solve_one<1>;
      case 2:
        return &DenseLu::solve_one<2>;
      case 3:
        return &DenseLu::solve_one<3>;
      case 4:
        return &DenseLu::solve_one<4>;
      case 5:
        return &DenseLu::solve_one<5>;
      case 6:
        return &DenseLu::solve_one<6>;
      case 12:
        return &DenseLu::solve_one<12>;
      default:
        return &DenseLu::solve_one<0>;
    }
  }

  int n_, ld_;
  Scatter scatter_;
  std::vector<double> a_, l_, u_, inverse_, column_scale_, free_, row_scale_, work_;
  std::vector<int> pivot_;
  Factor factor_;
  Solve solve_;
};

// S A S = P L D L^T P^T with blocks of D of size 1 and 2. A matrix expected to be positive definite is tried without
// scaling and pivoting first (S = P = 1).
class DenseLdl final : public Factorisation {
 public:
  DenseLdl(const SparsePattern& p, bool positive_definite)
      : n_(p.rows),
        ld_(padded(n_)),
        positive_definite_(positive_definite),
        scatter_(p, ld_),
        a_(size(n_ * ld_)),
        inverse_(size(ld_)),
        coupling_(size(ld_)),
        scale_(size(ld_)),
        work_(size(ld_)),
        permutation_(size(ld_)) {
    facts_.fill = 0.5 * n_ * (n_ + 1);
  }

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    const auto load = [&] { scatter_(values.data(), a_.data(), n_); };
    facts_ = {0, facts_.fill, -1, -1};
    load();
    pivoted_ = false;
    if (positive_definite_) {
      ++counters.factorisations;
      if (n_ == 6 ? factor_definite<6>() : n_ == 3 ? factor_definite<3>() : factor_definite<0>()) return Outcome::ok;
      load();
    }
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j <= i; ++j)
        if (!std::isfinite(at(j, i)) || !std::isfinite(at(i, j))) {
          if (positive_definite_) --counters.factorisations;
          facts_.suspicious_row = i;
          return Outcome::singular;
        }
    if (positive_definite_) ++counters.fallbacks;
    ++counters.factorisations;
    pivoted_ = true;
    return factor_pivoted();
  }

  void solve(double* b, int columns, bool) override {
    for (int c = 0; c < columns; ++c, b += n_)
      if (pivoted_)
        solve_pivoted(b);
      else if (n_ == 6)
        solve_definite<6>(b);
      else if (n_ == 3)
        solve_definite<3>(b);
      else
        solve_definite<0>(b);
  }
  std::string_view name() const override { return "dense"; }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
  // Entry (i, j), i >= j, of the lower triangle; columns are contiguous.
  double& at(int i, int j) { return a_[size(j * ld_ + i)]; }
  double* column(int j) { return a_.data() + j * ld_; }

  template <int N>
  bool factor_definite() {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const a = a_.data();
    double smallest = 1;
    for (int k = 0; k < n; ++k) inverse_[size(k)] = a[k * ld + k];
    for (int k = 0; k < n; ++k) {
      double* const c = a + k * ld;
      const double d = c[k], relative = d / inverse_[size(k)];
      if (!(d > 0 && relative > singular_tolerance && d <= DBL_MAX)) return false;
      smallest = std::min(smallest, relative);
      const double inverse = 1.0 / d;
      inverse_[size(k)] = inverse;
      // The column is zero down to its diagonal and in the padding: solves run over whole lanes.
      for (int i = 0; i <= k; ++i) c[i] = 0;
      for (int i = n; i < ld; ++i) c[i] = 0;
      for (int j = k + 1; j < n; ++j) subtract(a + j * ld, c[j] * inverse, c, j, n);
      for (int i = k + 1; i < n; ++i) c[i] *= inverse;
    }
    facts_.reciprocal_condition = smallest;
    facts_.negative_pivots = 0;
    return true;
  }

  template <int N>
  void solve_definite(double* b) {
    const int n = N ? N : n_, ld = N ? padded(N) : ld_;
    double* const y = work_.data();
    for (int i = 0; i < n; ++i) y[i] = b[i];
    for (int k = 0; k + 1 < n; ++k) subtract(y, y[k], a_.data() + k * ld, k + 1, n);
    for (int k = 0; k < n; ++k) y[k] *= inverse_[size(k)];
    for (int k = n - 2; k >= 0; --k) y[k] -= dot(a_.data() + k * ld, y, k + 1, n);
    for (int i = 0; i < n; ++i) b[i] = y[i];
  }

  // Symmetric equilibration: largest entry of every row within a factor of 30 of 1, or three passes towards it.
  void equilibrate() {
    std::ranges::fill(scale_, 1.0);
    for (int pass = 0; pass < 3; ++pass) {
      std::ranges::fill(work_, 0.0);
      for (int j = 0; j < n_; ++j)
        for (int i = j; i < n_; ++i) {
          const double x = std::fabs(at(i, j));
          work_[size(i)] = std::max(work_[size(i)], x);
          work_[size(j)] = std::max(work_[size(j)], x);
        }
      bool even = true;
      for (int i = 0; i < n_; ++i) even &= work_[size(i)] > 1.0 / 30 && work_[size(i)] < 30;
      if (even) return;
      for (int i = 0; i < n_; ++i) {
        work_[size(i)] = work_[size(i)] >= DBL_MIN ? 1 / std::sqrt(work_[size(i)]) : 1;
        scale_[size(i)] *= work_[size(i)];
      }
      for (int j = 0; j < n_; ++j)
        for (int i = j; i < n_; ++i) at(i, j) *= work_[size(i)] * work_[size(j)];
    }
  }

  // Exchanges rows and columns p < q of the matrix left, and the rows of L.
  void exchange(int p, int q) {
    for (int c = 0; c < p; ++c) std::swap(at(p, c), at(q, c));
    for (int j = p + 1; j < q; ++j) std::swap(at(j, p), at(q, j));
    for (int i = q + 1; i < n_; ++i) std::swap(at(i, p), at(i, q));
    std::swap(at(p, p), at(q, q));
    std::swap(permutation_[size(p)], permutation_[size(q)]);
  }

  Outcome factor_pivoted() {
    constexpr double alpha = 0.6403882032022076;  // (1 + sqrt 17) / 8
    equilibrate();
    for (int i = 0; i < n_; ++i) permutation_[size(i)] = i;
    double smallest = 1;
    int smallest_at = -1, negative = 0;
    const auto note = [&](double pivot, int k) {
      if (!(pivot >= smallest)) smallest = pivot, smallest_at = k;
    };
    for (int k = 0; k < n_;) {
      // Pivot: the diagonal entry, another diagonal entry, or a block of two.
      int r = k;
      double off = 0;
      for (int i = k + 1; i < n_; ++i)
        if (std::fabs(at(i, k)) > off) off = std::fabs(at(i, k)), r = i;
      const double diagonal = std::fabs(at(k, k));
      int width = 1, exchanged = k;
      if (diagonal < alpha * off) {
        double off_r = 0;
        for (int j = k; j < r; ++j) off_r = std::max(off_r, std::fabs(at(r, j)));
        for (int i = r + 1; i < n_; ++i) off_r = std::max(off_r, std::fabs(at(i, r)));
        if (diagonal * off_r < alpha * off * off) {
          exchanged = r;
          if (std::fabs(at(r, r)) < alpha * off_r) width = 2;
        }
      }
      const int last = k + width - 1;
      if (exchanged != last && !(width == 1 && exchanged == k)) exchange(last, exchanged);

      double* const c = column(k);
      if (width == 1) {
        const double d = c[k];
        note(std::fabs(d), k);
        if (!(std::fabs(d) > singular_tolerance)) break;
        negative += d < 0;
        const double inverse = 1.0 / d;
        inverse_[size(k)] = inverse;
        coupling_[size(k)] = 0;
        c[k] = 0;
        for (int j = k + 1; j < n_; ++j) {
          const double w = c[j] * inverse;
          subtract(column(j), w, c, j, n_);
          c[j] = w;
        }
      } else {
        double* const e = column(k + 1);
        const double d11 = c[k], d21 = c[k + 1], d22 = e[k + 1], det = d11 * d22 - d21 * d21;
        note(std::fabs(det) / std::max({std::fabs(d11), std::fabs(d21), std::fabs(d22)}), k + 1);
        if (!(smallest > singular_tolerance)) break;
        negative += det < 0 ? 1 : (d11 < 0 ? 2 : 0);
        const double i11 = d22 / det, i21 = -d21 / det, i22 = d11 / det;
        inverse_[size(k)] = i11;
        inverse_[size(k + 1)] = i22;
        coupling_[size(k)] = i21;
        coupling_[size(k + 1)] = 0;
        c[k] = c[k + 1] = e[k + 1] = 0;
        for (int j = k + 2; j < n_; ++j) {
          const double w1 = i11 * c[j] + i21 * e[j], w2 = i21 * c[j] + i22 * e[j];
          subtract(column(j), w1, c, j, n_);
          subtract(column(j), w2, e, j, n_);
          c[j] = w1;
          e[j] = w2;
        }
      }
      k += width;
    }
    facts_.reciprocal_condition = smallest;
    if (!(smallest > singular_tolerance)) {
      facts_.suspicious_row = permutation_[size(smallest_at)];
      return Outcome::singular;
    }
    facts_.negative_pivots = negative;
    // Clear above the diagonal for whole-lane solves.
    for (int k = 0; k < n_; ++k) {
      std::fill(column(k), column(k) + k + 1, 0.0);
      std::fill(column(k) + n_, column(k) + ld_, 0.0);
    }
    return Outcome::ok;
  }

  void solve_pivoted(double* b) {
    double* const y = work_.data();
    for (int i = 0; i < n_; ++i) y[i] = b[permutation_[size(i)]] * scale_[size(permutation_[size(i)])];
    for (int k = 0; k + 1 < n_; ++k) subtract(y, y[k], column(k), k + 1, n_);
    for (int k = 0; k < n_; ++k) {
      const double below = coupling_[size(k)];
      if (below != 0) {
        const double y0 = y[k], y1 = y[k + 1];
        y[k] = inverse_[size(k)] * y0 + below * y1;
        y[k + 1] = below * y0 + inverse_[size(k + 1)] * y1;
        ++k;
      } else {
        y[k] *= inverse_[size(k)];
      }
    }
    for (int k = n_ - 2; k >= 0; --k) y[k] -= dot(column(k), y, k + 1, n_);
    for (int i = 0; i < n_; ++i) b[permutation_[size(i)]] = y[i] * scale_[size(permutation_[size(i)])];
  }

  int n_, ld_;
  bool positive_definite_, pivoted_ = false;
  Scatter scatter_;
  std::vector<double> a_, inverse_, coupling_, scale_, work_;
  std::vector<int> permutation_;
};

}  // namespace

Backend make_dense(const SparsePattern& pattern, MatrixProperties properties) {
  if (pattern.rows > 40000) throw std::length_error("LinearSolver: too large for a dense matrix");
  if (properties.symmetric) return std::make_unique<DenseLdl>(pattern, properties.positive_definite);
  return std::make_unique<DenseLu>(pattern);
}

}  // namespace carom::detail
