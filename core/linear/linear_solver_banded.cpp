// LDL^T of a symmetric positive definite band without pivoting, in the given or in reverse Cuthill-McKee order.
// [George & Liu, Computer Solution of Large Sparse Positive Definite Systems, chapters 4 and 5]
//
// Inverse pivots are stored, so that solves do not divide. A tridiagonal matrix is eliminated from both ends towards
// the middle: the work is the same, but the processor overlaps two independent recurrences.
#include <algorithm>
#include <cfloat>
#include <cstdlib>
#include <numeric>

#include "core/base/index.hpp"
#include "core/linear/linear_solver.hpp"

namespace carom::detail {
namespace {

// Whether a positive definite matrix can have this pivot; false for NaN and overflow.
inline bool acceptable(double pivot, double diagonal) {
  return pivot > singular_tolerance * diagonal && pivot <= DBL_MAX && diagonal > 0;
}

// Shared by both variants: places of the entries, order of the rows.
class Band : public Factorisation {
 public:
  Band(const SparsePattern& p, std::span<const int> order, int width)
      : n_(p.rows), width_(width), order_(order.begin(), order.end()), work_(order.empty() ? 0 : at(p.rows)) {
    // position_[i * (w + 1) + k]: place of entry (i, i - k) in the values, -1 if the pattern has no such entry.
    position_.assign(at(n_) * at(width_ + 1), -1);
    std::vector<int> new_of(at(n_));
    for (int i = 0; i < n_; ++i) new_of[at(order_.empty() ? i : order_[at(i)])] = i;
    for (int row = 0; row < n_; ++row)
      for (int k = p.row_start[at(row)]; k < p.row_start[at(row) + 1]; ++k) {
        const int i = new_of[at(row)], j = new_of[at(p.column[at(k)])];
        if (i >= j) position_[at(i) * at(width_ + 1) + at(i - j)] = k;
      }
    facts_.fill = static_cast<double>(n_) * (width_ + 1) - 0.5 * width_ * (width_ + 1);
  }

  void solve(double* b, int columns) override {
    for (int c = 0; c < columns; ++c, b += n_) {
      if (order_.empty()) {
        solve_in_order(b);
        continue;
      }
      for (int i = 0; i < n_; ++i) work_[at(i)] = b[order_[at(i)]];
      solve_in_order(work_.data());
      for (int i = 0; i < n_; ++i) b[order_[at(i)]] = work_[at(i)];
    }
  }
  std::string_view name() const override { return "banded"; }

 protected:
  virtual void solve_in_order(double* b) const = 0;
  double value(const double* values, int i, int k) const {
    const int p = position_[at(i) * at(width_ + 1) + at(k)];
    return p < 0 ? 0.0 : values[p];
  }
  // Keeps the facts of a factorisation; `row` is the row at which the factorisation stopped, -1 if it is complete.
  Outcome finish(double smallest, int row) {
    facts_.reciprocal_condition = row < 0 ? smallest : 0;
    facts_.suspicious_row = row < 0 || order_.empty() ? row : order_[at(row)];
    return row < 0 ? Outcome::ok : Outcome::unsuitable;
  }

  int n_, width_;
  std::vector<int> order_, position_;
  std::vector<double> work_;
};

class Tridiagonal final : public Band {
 public:
  Tridiagonal(const SparsePattern& p, std::span<const int> order)
      : Band(p, order, 1), lower_(at(n_)), inverse_(at(n_)), middle_(n_ / 2) {}

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    ++counters.factorisations;
    const double* const v = values.data();
    double smallest = 1;
    int failed = -1;
    // Eliminates row i; returns what is subtracted from the next pivot.
    const auto eliminate = [&](int i, double pivot, double diagonal, double coupling, double& multiplier) {
      if (!acceptable(pivot, diagonal) && failed < 0) failed = i;
      smallest = std::min(smallest, pivot / diagonal);
      inverse_[at(i)] = 1.0 / pivot;
      multiplier = coupling * inverse_[at(i)];
      return multiplier * coupling;
    };
    // lower_[i] couples rows i and i + 1; rows before the middle eliminate downwards, rows behind it upwards.
    const int n = n_, m = middle_, below = n - 1 - m;
    double top = 0, bottom = 0;  // to subtract from the next pivot
    for (int t = 0; t < m; ++t) {
      const double diagonal = value(v, t, 0);
      top = eliminate(t, diagonal - top, diagonal, value(v, t + 1, 1), lower_[at(t)]);
      if (t >= below) continue;
      const int i = n - 1 - t;
      const double diagonal_i = value(v, i, 0);
      bottom = eliminate(i, diagonal_i - bottom, diagonal_i, value(v, i, 1), lower_[at(i) - 1]);
    }
    double unused = 0;
    const double diagonal = value(v, m, 0);
    eliminate(m, diagonal - top - bottom, diagonal, 0, unused);
    return finish(smallest, failed);
  }

 private:
  void solve_in_order(double* b) const override {
    const double* const l = lower_.data();
    const double* const inverse = inverse_.data();
    const int n = n_, m = middle_, below = n - 1 - m;
    // Towards the middle; the upper part has as many rows as the lower part, or one more.
    double top = 0, bottom = 0;
    for (int t = 0; t < below; ++t) {
      const int i = n - 1 - t;
      const double x = b[t] - top, y = b[i] - bottom;
      b[t] = x;
      b[i] = y;
      top = l[t] * x;
      bottom = l[i - 1] * y;
    }
    if (m > below) {
      b[below] -= top;
      top = l[below] * b[below];
    }
    double up = (b[m] - top - bottom) * inverse[m], down = up;
    b[m] = up;
    // Back from the middle.
    if (m > below) {
      up = b[m - 1] * inverse[m - 1] - l[m - 1] * up;
      b[m - 1] = up;
    }
    for (int t = below - 1; t >= 0; --t) {
      const int i = n - 1 - t;
      up = b[t] * inverse[t] - l[t] * up;
      down = b[i] * inverse[i] - l[i - 1] * down;
      b[t] = up;
      b[i] = down;
    }
  }

  std::vector<double> lower_, inverse_;
  int middle_;
};

// Half bandwidth W; W = 0: any. Rows of L hold (i, i - 1) .. (i, i - w). w rows of zeros precede the first row, so that
// loops need no special case.
template <int W>
class General final : public Band {
 public:
  General(const SparsePattern& p, std::span<const int> order, int width)
      : Band(p, order, width),
        lower_(at(n_ + width) * at(width), 0.0),
        inverse_(at(n_ + width), 0.0),
        row_(at(width)) {}

  Outcome factorise(std::span<const double> values, LinearCounters& counters) override {
    ++counters.factorisations;
    const int w = W ? W : width_;
    double* const lower = lower_.data() + at(w) * at(w);
    double* const inverse = inverse_.data() + w;
    double smallest = 1;
    double fixed[W ? W : 1];
    double* const u = W ? fixed : row_.data();  // u[k - 1] = L(i, i - k) D(i - k)
    for (int i = 0; i < n_; ++i) {
      const double diagonal = value(values.data(), i, 0);
      double pivot = diagonal;
      double* const l = lower + static_cast<std::ptrdiff_t>(i) * w;
#pragma GCC unroll 8
      for (int k = w; k >= 1; --k) {
        double s = value(values.data(), i, k);
        const double* const lj = lower + static_cast<std::ptrdiff_t>(i - k) * w;
#pragma GCC unroll 8
        for (int m = w; m > k; --m) s -= u[m - 1] * lj[m - k - 1];
        u[k - 1] = s;
        l[k - 1] = s * inverse[i - k];
        pivot -= s * l[k - 1];
      }
      if (!acceptable(pivot, diagonal)) return finish(0, i);
      smallest = std::min(smallest, pivot / diagonal);
      inverse[i] = 1.0 / pivot;
    }
    return finish(smallest, -1);
  }

 private:
  void solve_in_order(double* b) const override {
    const int w = W ? W : width_;
    const double* const lower = lower_.data() + at(w) * at(w);
    const double* const inverse = inverse_.data() + w;
    if constexpr (W == 0) {
      for (int i = 0; i < n_; ++i) {
        double s = b[i];
        for (int k = std::min(w, i); k >= 1; --k) s -= lower[static_cast<std::ptrdiff_t>(i) * w + k - 1] * b[i - k];
        b[i] = s;
      }
      for (int i = n_ - 1; i >= 0; --i) {
        double s = b[i] * inverse[i];
        for (int k = std::min(w, n_ - 1 - i); k >= 1; --k)
          s -= lower[static_cast<std::ptrdiff_t>(i + k) * w + k - 1] * b[i + k];
        b[i] = s;
      }
    } else {
      // The last W results stay in registers: r[k - 1] belongs to row i - k, in the second pass to row i + k.
      double r[W] = {};
      for (int i = 0; i < n_; ++i) {
        const double* const l = lower + static_cast<std::ptrdiff_t>(i) * W;
        double s = b[i];
        for (int k = W; k >= 1; --k) s -= l[k - 1] * r[k - 1];
        for (int k = W; k >= 2; --k) r[k - 1] = r[k - 2];
        b[i] = r[0] = s;
      }
      for (double& x : r) x = 0;
      const auto step = [&](int i, int reach) {
        double s = b[i] * inverse[i];
        for (int k = reach; k >= 1; --k) s -= lower[static_cast<std::ptrdiff_t>(i + k) * W + k - 1] * r[k - 1];
        for (int k = W; k >= 2; --k) r[k - 1] = r[k - 2];
        b[i] = r[0] = s;
      };
      int i = n_ - 1;
      for (; i >= 0 && n_ - 1 - i < W; --i) step(i, n_ - 1 - i);
      for (; i >= 0; --i) step(i, W);
    }
  }

  std::vector<double> lower_, inverse_, row_;
};

}  // namespace

int half_bandwidth(const SparsePattern& pattern, std::span<const int> order) {
  std::vector<int> new_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) new_of[at(order[i])] = static_cast<int>(i);
  int width = 0;
  for (int i = 0; i < pattern.rows; ++i)
    for (int k = pattern.row_start[at(i)]; k < pattern.row_start[at(i) + 1]; ++k) {
      const int j = pattern.column[at(k)];
      width = std::max(width, order.empty() ? std::abs(i - j) : std::abs(new_of[at(i)] - new_of[at(j)]));
    }
  return width;
}

std::vector<int> reverse_cuthill_mckee(const SparsePattern& p) {
  const int n = p.rows;
  const auto degree = [&](int i) { return p.row_start[at(i) + 1] - p.row_start[at(i)]; };
  std::vector<int> order, mark(at(n), -1), level(at(n));
  order.reserve(at(n));
  std::vector<int> by_degree(at(n));
  std::iota(by_degree.begin(), by_degree.end(), 0);
  std::ranges::stable_sort(by_degree, {}, degree);

  // Breadth-first search: appends all rows reachable from `start` to `order`, neighbours by increasing degree; returns
  // the depth.
  int stamp = 0;
  const auto search = [&](int start) {
    std::size_t head = order.size();
    ++stamp;
    order.push_back(start);
    mark[at(start)] = stamp;
    level[at(start)] = 0;
    for (; head < order.size(); ++head) {
      const int i = order[head];
      const std::size_t first = order.size();
      for (int k = p.row_start[at(i)]; k < p.row_start[at(i) + 1]; ++k) {
        const int j = p.column[at(k)];
        if (mark[at(j)] == stamp) continue;
        mark[at(j)] = stamp;
        level[at(j)] = level[at(i)] + 1;
        order.push_back(j);
      }
      std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
                       [&](int a, int b) { return degree(a) < degree(b); });
    }
    return level[at(order.back())];
  };

  // Each component starts from a pseudo-peripheral node: searches start again from the farthest row while they get
  // deeper.
  for (const int seed : by_degree) {
    if (mark[at(seed)] >= 0) continue;
    const std::size_t first = order.size();
    int depth = search(seed);
    while (true) {
      int far = order.back();
      for (std::size_t k = order.size(); k-- > first && level[at(order[k])] == depth;)
        if (degree(order[k]) < degree(far)) far = order[k];
      order.resize(first);
      const int deeper = search(far);
      if (deeper <= depth) break;
      depth = deeper;
    }
  }
  std::ranges::reverse(order);
  return order;
}

Backend make_banded(const SparsePattern& pattern, std::span<const int> order) {
  const int width = half_bandwidth(pattern, order);
  switch (width) {
    case 0:
    case 1:
      return std::make_unique<Tridiagonal>(pattern, order);
    case 2:
      return std::make_unique<General<2>>(pattern, order, width);
    case 3:
      return std::make_unique<General<3>>(pattern, order, width);
    case 4:
      return std::make_unique<General<4>>(pattern, order, width);
    case 5:
      return std::make_unique<General<5>>(pattern, order, width);
    case 6:
      return std::make_unique<General<6>>(pattern, order, width);
    case 7:
      return std::make_unique<General<7>>(pattern, order, width);
    case 8:
      return std::make_unique<General<8>>(pattern, order, width);
    default:
      return std::make_unique<General<0>>(pattern, order, width);
  }
}

}  // namespace carom::detail
