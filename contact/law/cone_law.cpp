// The law of ConeProblem as a semi-smooth system (cone_problem.hpp): penalties, rates, defects, rho and its matrix.
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

// for the penalties: of the largest entry on the diagonal, and of a disc over that of its normal row
constexpr double least_diagonal = 1e-14, least_tangential = 1e-4;

}  // namespace

double ConeProblem::times(In W, std::size_t row, In s, double sum) const {
  const std::size_t f = first(row), count = entries(row);
  if (pattern_ == nullptr)
    for (std::size_t j = 0; j < count; ++j) sum += W[f + j] * s[j];
  else
    for (std::size_t k = f; k < f + count; ++k) sum += W[k] * s[at(pattern_->column[k])];
  return sum;
}

// Penalties and the shift of the diagonal. Of a body under load that its contacts alone keep from buckling, the
// diagonal has negative entries.
void ConeProblem::prepare(In W) {
  const std::size_t n = at(n_);
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = std::abs(W[place(i, i)]);
    sum += d;
    largest = std::max(largest, d);
  }
  const double least = std::max(least_diagonal * largest, std::numeric_limits<double>::min());
  for (std::size_t i = 0; i < n; ++i)
    if (disc_of_[i] < 0) p_[i] = 1 / std::max(std::abs(W[place(i, i)]), least);
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first);
    double mean = 0;
    for (std::size_t k = f; k < f + at(disc.rows); ++k) mean += std::abs(W[place(k, k)]) / disc.rows;
    if (disc.source >= 0) mean = std::max(mean, least_tangential / p_[at(disc.source)]);
    for (int k = 0; k < disc.rows; ++k) p_[f + at(k)] = 1 / std::max(mean, least);
  }
  shift_ = proximal_share * sum / static_cast<double>(std::max<std::size_t>(1, n));
}

void ConeProblem::rates(In W, In q, In s, Out u) const {
  for (std::size_t i = 0; i < at(n_); ++i) u[i] = q[i] + times(W, i, s);
}

double ConeProblem::natural_defect(In s, In u) {
  double largest = 0;
  worst_ = -1;
  const auto see = [&](int row, double defect) {
    if (defect <= largest) return;
    largest = defect;
    worst_ = row;
  };
  for (int i = 0; i < n_; ++i) {
    const std::size_t r = at(i);
    if (disc_of_[r] >= 0) continue;
    const double defect = std::abs(s[r] - std::max(0.0, s[r] - p_[r] * u[r])) / p_[r];
    if (!(defect <= std::numeric_limits<double>::max())) {
      worst_ = i;
      return std::numeric_limits<double>::infinity();
    }
    see(i, defect);
  }
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first);
    double sigma[3] = {0, 0, 0}, rest[3] = {0, 0, 0};
    for (int k = 0; k < disc.rows; ++k) sigma[k] = s[f + at(k)] - p_[f] * u[f + at(k)];
    const double a = length(sigma, disc.rows), R = radius(disc, disc.source >= 0 ? s[at(disc.source)] : 0);
    const double share = a > R ? R / a : 1;
    for (int k = 0; k < disc.rows; ++k) rest[k] = s[f + at(k)] - share * sigma[k];
    const double defect = length(rest, disc.rows) / p_[f];
    if (!(defect <= std::numeric_limits<double>::max())) {
      worst_ = disc.first;
      return std::numeric_limits<double>::infinity();
    }
    see(disc.first, defect);
  }
  return largest;
}

double ConeProblem::defect(In W, In q, In s) {
  prepare(W);
  rates(W, q, s, u_);
  return natural_defect(s, u_);
}

void ConeProblem::remember(In s, double defect) {
  if (!(defect < least_defect_)) return;
  least_defect_ = defect;
  copy(s, best_);
}

// The defect of s, which is remembered if it is the least.
double ConeProblem::measure(In W, In q, In s) {
  rates(W, q, s, u_);
  const double defect = natural_defect(s, u_);
  remember(s, defect);
  return defect;
}

// rho, and with the matrix J_ = A + B W_r.
void ConeProblem::evaluate(In s, In u, Out rho, In W, bool with_matrix) {
  const auto set_rate_row = [&](std::size_t row) {
    std::copy_n(W.data() + first(row), entries(row), J_.data() + first(row));
    J_[place(row, row)] += shift_;
  };
  const auto set_open = [&](std::size_t row) {
    rho[row] = s[row] / p_[row];
    if (!with_matrix) return;
    std::fill_n(J_.data() + first(row), entries(row), 0.0);
    J_[place(row, row)] = 1 / p_[row];
  };
  const auto set_closed = [&](std::size_t row) {
    rho[row] = u[row];
    if (with_matrix) set_rate_row(row);
  };
  for (std::size_t i = 0; i < at(n_); ++i) {
    if (disc_of_[i] >= 0) continue;
    if (s[i] - p_[i] * u[i] > 0)
      set_closed(i);
    else
      set_open(i);
  }
  for (const Disc& disc : discs_) {
    const std::size_t f = at(disc.first), m = at(disc.rows);
    const double p = p_[f];
    const double sigma_N = disc.source >= 0 ? s[at(disc.source)] - p_[at(disc.source)] * u[at(disc.source)] : 0.0;
    const double R = radius(disc, sigma_N);
    if (!(R > 0)) {
      for (std::size_t k = 0; k < m; ++k) set_open(f + k);
      continue;
    }
    double tau[3] = {0, 0, 0};
    for (std::size_t k = 0; k < m; ++k) tau[k] = s[f + k] - p * u[f + k];
    const double a = length(tau, disc.rows);
    if (a <= R) {
      for (std::size_t k = 0; k < m; ++k) set_closed(f + k);
      continue;
    }
    for (double& x : tau) x /= a;
    for (std::size_t k = 0; k < m; ++k) rho[f + k] = (s[f + k] - R * tau[k]) / p;
    if (!with_matrix) continue;
    const double kappa = R / a;
    const bool follows = disc.source >= 0 && sigma_N > 0;
    const std::size_t N = follows ? at(disc.source) : 0;
    for (std::size_t k = 0; k < m; ++k) {
      // in the pattern that these rows and those of the source share
      const std::size_t row = first(f + k), n = entries(f + k);
      const double along = follows ? disc.friction * tau[k] * p_[N] / p : 0;
      for (std::size_t j = 0; j < n; ++j) J_[row + j] = follows ? along * W[first(N) + j] : 0.0;
      if (follows) J_[place(f + k, N)] += along * shift_ - disc.friction * tau[k] / p;
      J_[place(f + k, f + k)] += 1 / p;
      for (std::size_t l = 0; l < m; ++l) {
        const double part = kappa * ((k == l ? 1.0 : 0.0) - tau[k] * tau[l]);
        if (m == 1) continue;  // a disc of one row has no other direction
        for (std::size_t j = 0; j < n; ++j) J_[row + j] += part * W[first(f + l) + j];
        J_[place(f + k, f + l)] += part * (shift_ - 1 / p);
      }
    }
  }
}

void ConeProblem::linearise(In W, In q, In s, Out rho, Out J) {
  prepare(W);
  J_.resize(W.size());
  rates(W, q, s, u_);
  evaluate(s, u_, rho, W, true);
  copy(J_, J);
}

// Open contacts are decided by sigma_N, never by what rounding has left of s_N, and discs are not left.
void ConeProblem::clean(In W, In q, Out s) {
  rates(W, q, s, u_);
  for (int i = 0; i < n_; ++i)
    if (disc_of_[at(i)] < 0 && !(s[at(i)] - p_[at(i)] * u_[at(i)] > 0 && s[at(i)] > 0)) s[at(i)] = 0;
  for (const Disc& disc : discs_) {
    double* const x = s.data() + disc.first;
    const double R = radius(disc, disc.source >= 0 ? s[at(disc.source)] : 0), a = length(x, disc.rows);
    if (a > R)
      for (int k = 0; k < disc.rows; ++k) x[k] *= R / a;
  }
}

}  // namespace carom
