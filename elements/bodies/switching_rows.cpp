#include "elements/bodies/switching_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/formula/pole.hpp"

namespace carom {

namespace {

Topology topology_of(const std::vector<int>& nodes) { return {1, std::vector<Slot>(nodes.size(), Slot{0, 1}), nodes}; }

std::size_t most_rows(const std::vector<SwitchingMode>& modes) {
  std::size_t most = 0;
  for (const SwitchingMode& mode : modes) most = std::max(most, mode.constraints.size());
  return most;
}

ConstraintTraits traits_of(const std::vector<SwitchingMode>& modes, std::size_t n) {
  ConstraintTraits t;
  t.has_formulas = true;
  for (const SwitchingMode& mode : modes)
    for (const NamedFormula& g : mode.constraints) t.moving = t.moving || g.formula.depends_on(n);
  return t;
}

}  // namespace

SwitchingRowBlock::SwitchingRowBlock(std::string body, const std::vector<int>& nodes, std::vector<SwitchingMode> modes,
                                     const CoordinateMassBlock& masses, std::vector<FormulaRow> persistent)
    : SwitchingBlock(std::move(body), topology_of(nodes), static_cast<int>(most_rows(modes)),
                     traits_of(modes, nodes.size())),
      n_(nodes.size()),
      modes_(std::move(modes)),
      masses_(masses),
      persistent_(std::move(persistent)) {}

void SwitchingRowBlock::set_mode(int mode) {
  mode_ = mode;
  old_ = -1;
  show_old_ = false;
}

void SwitchingRowBlock::gather(const ConstraintInput& in, Point& x) const {
  for (std::size_t i = 0; i < n_; ++i) x[i] = *configuration(in, 0, static_cast<int>(i));
  x[n_] = in.t;
}

void SwitchingRowBlock::measure(const ConstraintInput& in, double, double* weights) const {
  Point x, g;
  gather(in, x);
  std::fill_n(weights, rows(), 1.0);
  for (std::size_t k = 0; k < at(count(mode_)); ++k) {
    gradient(modes_[at(mode_)].constraints[k].formula, x, g);
    double largest = 0;
    for (std::size_t i = 0; i < n_; ++i) largest = std::max(largest, std::abs(g[i]));
    if (largest > 0 && std::isfinite(largest)) weights[k] = largest;
  }
}

double SwitchingRowBlock::condition(int mode, const ConstraintInput& in) const {
  Point x;
  gather(in, x);
  return value(modes_[at(mode)].condition.formula, x);
}

// ---- rows

void SwitchingRowBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  if (range.size() == 0) return;
  Point x, g;
  std::array<double, most * most> h;
  gather(in, x);
  const std::size_t m = n_ + 1;
  const bool second = in.v != nullptr && (values.bias != nullptr || values.rate_gradient != nullptr);
  // vacant rows
  const std::size_t filled = at(count(mode_)), all = at(rows());
  for (double* const row : {values.gap, values.rate, values.bias})
    if (row != nullptr) std::fill(row + filled, row + all, 0.0);
  for (double* const row : {values.gradient, values.gap_gradient, values.rate_gradient})
    if (row != nullptr) std::fill(row + n_ * filled, row + n_ * all, 0.0);
  for (std::size_t k = 0; k < filled; ++k) {
    const Formula& f = modes_[at(mode_)].constraints[k].formula;
    const double gap = second ? f.hessian({x.data(), m}, {g.data(), m}, {h.data(), m * m}) : gradient(f, x, g);
    if (values.gap != nullptr) values.gap[k] = gap;
    if (values.gradient != nullptr) std::copy_n(g.begin(), n_, values.gradient + n_ * k);
    if (values.gap_gradient != nullptr) std::copy_n(g.begin(), n_, values.gap_gradient + n_ * k);
    if (in.v == nullptr) continue;
    double rate = g[n_];
    for (std::size_t i = 0; i < n_; ++i) rate += g[i] * in.v[i];
    if (values.rate != nullptr) values.rate[k] = rate;
    if (!second) continue;
    // D(G v + g_t), and with it h = D(G v + g_t) v + D(g_t) v + g_tt
    double bias = h[n_ * m + n_];
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = h[i * m + n_];
      for (std::size_t j = 0; j < n_; ++j) sum += h[i * m + j] * in.v[j];
      if (values.rate_gradient != nullptr) values.rate_gradient[n_ * k + i] = sum;
      bias += (sum + h[i * m + n_]) * in.v[i];
    }
    if (values.bias != nullptr) values.bias[k] = bias;
  }
}

void SwitchingRowBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  if (range.size() == 0) return;
  Point x, g;
  gather(in, x);
  const std::size_t m = at(rows());
  const auto add = [&](int mode, const std::vector<double>* A) {
    for (std::size_t k = 0; k < at(count(mode)); ++k) {
      double share = A == nullptr ? s[k] : 0.0;
      for (std::size_t l = 0; A != nullptr && l < m; ++l) share += (*A)[k * m + l] * s[l];
      if (share == 0) continue;
      gradient(modes_[at(mode)].constraints[k].formula, x, g);
      for (std::size_t i = 0; i < n_; ++i) f[i] += share * g[i];
    }
  };
  if (old_ < 0 || show_old_) return add(old_ < 0 ? mode_ : old_, nullptr);
  add(old_, &A_old_);
  add(mode_, &A_new_);
}

void SwitchingRowBlock::add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                                              double* A) const {
  if (range.size() == 0) return;
  Point x, g;
  std::array<double, most * most> h;
  gather(in, x);
  const std::size_t m = at(rows()), n = n_ + 1;
  const auto add = [&](int mode, const std::vector<double>* W) {
    for (std::size_t k = 0; k < at(count(mode)); ++k) {
      double share = W == nullptr ? s[k] : 0.0;
      for (std::size_t l = 0; W != nullptr && l < m; ++l) share += (*W)[k * m + l] * s[l];
      if (share == 0) continue;
      modes_[at(mode)].constraints[k].formula.hessian({x.data(), n}, {g.data(), n}, {h.data(), n * n});
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < n_; ++j) A[i * n_ + j] += c * share * h[i * n + j];
    }
  };
  if (old_ < 0) return add(mode_, nullptr);
  add(old_, &A_old_);
  add(mode_, &A_new_);
}

void SwitchingRowBlock::direction(const ConstraintInput& in, double* F) const {
  Point unit{};
  const std::size_t m = at(rows());
  std::fill_n(F, m * n_, 0.0);
  for (std::size_t k = 0; k < m; ++k) {
    unit[k] = 1;
    add_reaction({0, 1}, in, unit.data(), F + k * n_);
    unit[k] = 0;
  }
}

std::string SwitchingRowBlock::undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const {
  Point x_0, x_1, g;
  std::array<double, 2 * most> work;
  gather(start, x_0);
  gather(end, x_1);
  const std::size_t n = n_ + 1;
  const auto undefined = [&](const NamedFormula& f) {
    const double value = gradient(f.formula, x_1, g);
    if (!std::isfinite(value) ||
        !std::all_of(g.begin(), g.begin() + static_cast<long>(n), [](double y) { return std::isfinite(y); }))
      return true;
    return has_pole(f.formula, {x_0.data(), n}, {x_1.data(), n}, {work.data(), 2 * n}, {g.data(), n});
  };
  // the other modes may be undefined where they do not hold
  for (std::size_t k = 0; k < at(count(mode_)); ++k)
    if (const NamedFormula& f = modes_[at(mode_)].constraints[k]; undefined(f)) return f.name;
  for (const SwitchingMode& any : modes_)
    if (!std::isfinite(value(any.condition.formula, x_1))) return any.condition.name;
  return {};
}

// ---- crossings

SwitchingBlock::Crossing SwitchingRowBlock::find_crossing(int from, const ConstraintInput& start,
                                                          const ConstraintInput& end, double length) const {
  Point x_0, x_1, x;
  gather(start, x_0);
  gather(end, x_1);
  const Formula& z = modes_[at(from)].condition.formula;
  const auto place = [&](double s) {
    for (std::size_t i = 0; i <= n_; ++i) x[i] = (1 - s) * x_0[i] + s * x_1[i];
  };
  Crossing crossing = find_root(from, start, end, length, [&](double s) {
    place(s);
    return value(z, x);
  });
  if (!crossing.left) return crossing;
  place(crossing.share);
  const Point on_surface = x;
  // a little behind the root, where z of the next mode is positive beyond rounding
  place(std::min(1.0, crossing.share + 1e-3 * (1 - crossing.share) + 1e-9));
  crossing.next = mode_behind(from, x, crossing.fault);
  if (crossing.fault.empty()) crossing.fault = disagreement(from, crossing.next, on_surface, length);
  return crossing;
}

// ---- switches

SwitchingRowBlock::Matrix SwitchingRowBlock::gradients(int mode, const Point& x, Column* rates) const {
  const int m = count(mode);
  Matrix G(m, static_cast<Eigen::Index>(n_));
  if (rates != nullptr) rates->resize(m);
  Point g;
  for (int k = 0; k < m; ++k) {
    gradient(modes_[at(mode)].constraints[at(k)].formula, x, g);
    for (std::size_t i = 0; i < n_; ++i) G(k, static_cast<Eigen::Index>(i)) = g[i];
    if (rates != nullptr) (*rates)[k] = g[n_];
  }
  return G;
}

SwitchingRowBlock::Matrix SwitchingRowBlock::persistent_gradients(const Point& x) const {
  Matrix G(static_cast<Eigen::Index>(persistent_.size()), static_cast<Eigen::Index>(n_));
  Point g;
  for (Eigen::Index k = 0; k < G.rows(); ++k) {
    gradient(persistent_[static_cast<std::size_t>(k)].gap.formula, x, g);
    for (std::size_t i = 0; i < n_; ++i) G(k, static_cast<Eigen::Index>(i)) = g[i];
  }
  return G;
}

Eigen::RowVectorXd SwitchingRowBlock::surface(int mode, const Point& x, double* rate) const {
  Point g;
  gradient(modes_[at(mode)].condition.formula, x, g);
  if (rate != nullptr) *rate = g[n_];
  return Eigen::Map<const Eigen::RowVectorXd>(g.data(), static_cast<Eigen::Index>(n_));
}

double SwitchingRowBlock::crossing_rate(int from, const ConstraintInput& in) const {
  Point x;
  gather(in, x);
  double rate = 0;
  const Eigen::RowVectorXd Z = surface(from, x, &rate);
  return -(Z.dot(Eigen::Map<const Eigen::RowVectorXd>(in.v, static_cast<Eigen::Index>(n_))) + rate);
}

bool SwitchingRowBlock::set_switch(int from, int to, const ConstraintInput& in, double E, SwitchMetric* metric) {
  Point x;
  gather(in, x);
  const auto n = static_cast<Eigen::Index>(n_);
  SwitchedRows rows;
  Column rates;  // g_t of the new rows
  double surface_rate = 0;
  const Matrix G_old = gradients(from, x), G_new = gradients(to, x, &rates), Z = surface(from, x, &surface_rate);
  const Eigen::Map<const Column> v(in.v, n);
  rows.new_rates = G_new * v + rates;
  rows.surface_rate = (Z * v)[0] + surface_rate;
  rows.E = E;
  rows.may_hold_surface = modes_[at(from)].next == to;
  if (metric == nullptr ? !measure_alone(x, G_old, G_new, Z, rows)
                        : !metric->measure(*this, G_old, rows.old_rows) ||
                              !metric->measure(*this, G_new, rows.new_rows) || !metric->measure(*this, Z, rows.surface))
    return false;
  const auto found = intermediate_gradient(rows);
  if (!found) return false;
  mode_ = to;
  old_ = from;
  holds_surface_ = found->holds_surface;
  cosine_ = found->cosine;
  const std::size_t m = at(this->rows());
  A_old_.assign(m * m, 0.0);
  A_new_.assign(m * m, 0.0);
  const auto store = [m](const Matrix& A, std::vector<double>& to_rows) {
    for (Eigen::Index i = 0; i < A.rows(); ++i)
      for (Eigen::Index j = 0; j < A.cols(); ++j)
        to_rows[static_cast<std::size_t>(i) * m + static_cast<std::size_t>(j)] = A(i, j);
  };
  store(found->A_old, A_old_);
  store(found->A_new, A_new_);
  return true;
}

// In the metric of the body and its own constraints alone: rows in coordinates in which M = 1; the part along the
// persistent ones is taken away twice.
bool SwitchingRowBlock::measure_alone(const Point& x, const Matrix& G_old, const Matrix& G_new, const Matrix& Z,
                                      SwitchedRows& rows) const {
  const auto n = static_cast<Eigen::Index>(n_);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> M(n, n);
  masses_.mass_matrix(x.data(), M.data());
  const Eigen::LLT<Matrix> factor(M);
  if (factor.info() != Eigen::Success) return false;
  const auto whiten = [&](const Matrix& G) -> Matrix {
    if (G.rows() == 0) return Matrix(n, 0);
    return factor.matrixL().solve(G.transpose());
  };
  Matrix p_old = whiten(G_old), p_new = whiten(G_new), p_z = whiten(Z);
  const auto lengths = [](const Matrix& w) -> Column { return w.colwise().norm().transpose(); };
  rows.old_rows.length = lengths(p_old);
  rows.new_rows.length = lengths(p_new);
  rows.surface.length = lengths(p_z);
  const Matrix G_b = persistent_gradients(x);
  if (G_b.rows() > 0) {
    Matrix b = whiten(G_b);
    for (Eigen::Index k = 0; k < b.cols(); ++k)
      if (const double size = b.col(k).norm(); size > 0) b.col(k) /= size;
    Eigen::ColPivHouseholderQR<Matrix> qr(b);
    qr.setThreshold(1e-10);
    const Matrix Q = Matrix(qr.householderQ()).leftCols(qr.rank());
    for (int twice = 0; twice < 2; ++twice)
      for (Matrix* p : {&p_old, &p_new, &p_z}) *p -= Q * (Q.transpose() * *p);
  }
  rows.old_rows.x = rows.old_rows.y = p_old;
  rows.new_rows.x = rows.new_rows.y = p_new;
  rows.surface.x = rows.surface.y = p_z;
  return true;
}

}  // namespace carom
