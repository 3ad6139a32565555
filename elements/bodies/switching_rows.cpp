#include "elements/bodies/switching_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/formula/pole.hpp"

namespace carom {

namespace {

constexpr double rank_tolerance = 1e-12;       // of the eigenvalues of G C G^T with rows of unit length
constexpr double smooth_joint = 1e-3;          // sine of an angle of modes that join smoothly: no branch
constexpr double largest_disagreement = 1e-6;  // of neighbouring modes on their surface, of the length
constexpr int places_between = 4;              // of a step, where a mode might be left and entered again

Topology topology_of(const std::vector<int>& nodes) { return {1, std::vector<Slot>(nodes.size(), Slot{0, 1}), nodes}; }

ConstraintTraits traits_of() {
  ConstraintTraits t;
  t.has_formulas = true;
  return t;
}

// B with B^T D B = 1 and B^+ with B^+ B = 1; rows that depend on others drop out. size: of the rows, without the
// persistent constraints, which redundant rows are compared with.
struct Basis {
  Eigen::MatrixXd B, inverse;
  Basis(const Eigen::MatrixXd& D, const Eigen::VectorXd& size) {
    const Eigen::VectorXd e = size.unaryExpr([](double x) { return x > 0 ? x : 1.0; });
    const Eigen::VectorXd unit = e.cwiseInverse();
    const Eigen::MatrixXd scaled = unit.asDiagonal() * (0.5 * (D + D.transpose())) * unit.asDiagonal();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scaled);
    const Eigen::VectorXd& values = eigen.eigenvalues();
    Eigen::Index first = 0;  // ascending
    while (first < values.size() && !(values[first] > rank_tolerance)) ++first;
    const Eigen::Index rank = values.size() - first;
    const Eigen::MatrixXd V = eigen.eigenvectors().rightCols(rank);
    const Eigen::VectorXd root = values.tail(rank).cwiseSqrt();
    B = unit.asDiagonal() * V * root.cwiseInverse().asDiagonal();
    inverse = root.asDiagonal() * V.transpose() * e.asDiagonal();
  }
};

}  // namespace

SwitchingRowBlock::SwitchingRowBlock(std::string body, const std::vector<int>& nodes, std::vector<SwitchingMode> modes,
                                     const CoordinateMassBlock& masses, std::vector<FormulaRow> persistent)
    : SwitchingBlock(std::move(body), topology_of(nodes), static_cast<int>(modes.front().constraints.size()),
                     traits_of()),
      n_(nodes.size()),
      modes_(std::move(modes)),
      masses_(masses),
      persistent_(std::move(persistent)) {}

void SwitchingRowBlock::set_mode(int mode) {
  mode_ = mode;
  old_ = -1;
  show_old_ = false;
}

void SwitchingRowBlock::gather(const ConstraintInput& in, Coordinates& q) const {
  for (std::size_t i = 0; i < n_; ++i) q[i] = *configuration(in, 0, static_cast<int>(i));
}

void SwitchingRowBlock::measure(const ConstraintInput& in, double* weights) const {
  Coordinates q, g;
  gather(in, q);
  for (std::size_t k = 0; k < at(rows()); ++k) {
    modes_[at(mode_)].constraints[k].formula.gradient({q.data(), n_}, {g.data(), n_});
    double largest = 0;
    for (std::size_t i = 0; i < n_; ++i) largest = std::max(largest, std::abs(g[i]));
    weights[k] = largest > 0 && std::isfinite(largest) ? largest : 1.0;
  }
}

double SwitchingRowBlock::condition(int mode, const ConstraintInput& in) const {
  Coordinates q;
  gather(in, q);
  return modes_[at(mode)].condition.formula.value({q.data(), n_});
}

// ---- rows

void SwitchingRowBlock::evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const {
  if (range.size() == 0) return;
  Coordinates q, g;
  std::array<double, at(most_coordinates) * at(most_coordinates)> h;
  gather(in, q);
  const bool second = in.v != nullptr && (values.bias != nullptr || values.rate_gradient != nullptr);
  for (std::size_t k = 0; k < at(rows()); ++k) {
    const Formula& f = modes_[at(mode_)].constraints[k].formula;
    const double gap = second ? f.hessian({q.data(), n_}, {g.data(), n_}, {h.data(), n_ * n_})
                              : f.gradient({q.data(), n_}, {g.data(), n_});
    if (values.gap != nullptr) values.gap[k] = gap;
    if (values.gradient != nullptr) std::copy_n(g.begin(), n_, values.gradient + n_ * k);
    if (values.gap_gradient != nullptr) std::copy_n(g.begin(), n_, values.gap_gradient + n_ * k);
    if (in.v == nullptr) continue;
    double rate = 0, bias = 0;
    for (std::size_t i = 0; i < n_; ++i) rate += g[i] * in.v[i];
    if (values.rate != nullptr) values.rate[k] = rate;
    if (!second) continue;
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n_; ++j) sum += h[i * n_ + j] * in.v[j];
      if (values.rate_gradient != nullptr) values.rate_gradient[n_ * k + i] = sum;
      bias += sum * in.v[i];
    }
    if (values.bias != nullptr) values.bias[k] = bias;
  }
}

void SwitchingRowBlock::add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const {
  if (range.size() == 0) return;
  Coordinates q, g;
  gather(in, q);
  const std::size_t m = at(rows());
  const auto add = [&](int mode, const std::vector<double>* A) {
    for (std::size_t k = 0; k < m; ++k) {
      double share = A == nullptr ? s[k] : 0.0;
      for (std::size_t l = 0; A != nullptr && l < m; ++l) share += (*A)[k * m + l] * s[l];
      if (share == 0) continue;
      modes_[at(mode)].constraints[k].formula.gradient({q.data(), n_}, {g.data(), n_});
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
  Coordinates q, g;
  std::array<double, at(most_coordinates) * at(most_coordinates)> h;
  gather(in, q);
  const std::size_t m = at(rows());
  const auto add = [&](int mode, const std::vector<double>* W) {
    for (std::size_t k = 0; k < m; ++k) {
      double share = W == nullptr ? s[k] : 0.0;
      for (std::size_t l = 0; W != nullptr && l < m; ++l) share += (*W)[k * m + l] * s[l];
      if (share == 0) continue;
      modes_[at(mode)].constraints[k].formula.hessian({q.data(), n_}, {g.data(), n_}, {h.data(), n_ * n_});
      for (std::size_t i = 0; i < n_ * n_; ++i) A[i] += c * share * h[i];
    }
  };
  if (old_ < 0) return add(mode_, nullptr);
  add(old_, &A_old_);
  add(mode_, &A_new_);
}

void SwitchingRowBlock::direction(const ConstraintInput& in, double* F) const {
  std::array<double, at(most_coordinates)> unit{};
  const std::size_t m = at(rows());
  std::fill_n(F, m * n_, 0.0);
  for (std::size_t k = 0; k < m; ++k) {
    unit[k] = 1;
    add_reaction({0, 1}, in, unit.data(), F + k * n_);
    unit[k] = 0;
  }
}

std::string SwitchingRowBlock::undefined_formula(const ConstraintInput& start, const ConstraintInput& end) const {
  Coordinates q_0, q_1, g;
  std::array<double, 2 * at(most_coordinates)> work;
  gather(start, q_0);
  gather(end, q_1);
  const auto undefined = [&](const NamedFormula& f) {
    const double value = f.formula.gradient({q_1.data(), n_}, {g.data(), n_});
    if (!std::isfinite(value) ||
        !std::all_of(g.begin(), g.begin() + static_cast<long>(n_), [](double x) { return std::isfinite(x); }))
      return true;
    return has_pole(f.formula, {q_0.data(), n_}, {q_1.data(), n_}, {work.data(), 2 * n_}, {g.data(), n_});
  };
  // the other modes may be undefined where they do not hold
  const SwitchingMode& mode = modes_[at(mode_)];
  for (const NamedFormula& f : mode.constraints)
    if (undefined(f)) return f.name;
  for (const SwitchingMode& any : modes_)
    if (!std::isfinite(any.condition.formula.value({q_1.data(), n_}))) return any.condition.name;
  return {};
}

// ---- crossings

int SwitchingRowBlock::mode_behind(int from, const Coordinates& q, std::string& fault) const {
  int found = -1;
  for (int i = 0; i < modes(); ++i) {
    if (i == from || !(modes_[at(i)].condition.formula.value({q.data(), n_}) > 0)) continue;
    if (found >= 0) fault = "the modes " + mode_name(found) + " and " + mode_name(i) + " overlap";
    found = i;
  }
  if (found < 0) fault = "no mode holds behind " + mode_name(from);
  return found;
}

SwitchingBlock::Crossing SwitchingRowBlock::find_crossing(int from, const ConstraintInput& start,
                                                          const ConstraintInput& end, double length) const {
  Crossing crossing;
  Coordinates q_0, q_1, q;
  gather(start, q_0);
  gather(end, q_1);
  const Formula& z = modes_[at(from)].condition.formula;
  const auto place = [&](double s) {
    for (std::size_t i = 0; i < n_; ++i) q[i] = (1 - s) * q_0[i] + s * q_1[i];
  };
  const auto value = [&](double s) {
    place(s);
    return z.value({q.data(), n_});
  };
  crossing.left = value(1) < 0;
  double inside = 0, outside = 1;  // around the first root
  for (int k = 1; k <= places_between; ++k)
    if (const double s = static_cast<double>(k) / (places_between + 1); value(s) < 0) {
      outside = s;
      crossing.inside = !crossing.left;
      break;
    } else {
      inside = s;
    }
  if (!crossing.left) return crossing;
  for (int k = 0; k < 60; ++k) {
    const double s = 0.5 * (inside + outside);
    (value(s) < 0 ? outside : inside) = s;
  }
  place(outside);
  const Coordinates on_surface = q;
  // a little behind the root, where z of the next mode is positive beyond rounding
  place(std::min(1.0, outside + 1e-3 * (1 - outside) + 1e-9));
  crossing.next = mode_behind(from, q, crossing.fault);
  if (crossing.fault.empty()) crossing.fault = disagreement(from, crossing.next, on_surface, end.t, length);
  return crossing;
}

// Where g_from = z_from = g_b = 0, the constraints of the next mode must hold too.
std::string SwitchingRowBlock::disagreement(int from, int to, Coordinates q, double t, double length) const {
  const std::size_t m = at(rows()), m_b = persistent_.size();
  Matrix J(static_cast<Eigen::Index>(m + 1 + m_b), static_cast<Eigen::Index>(n_));
  Eigen::VectorXd r(J.rows());
  std::array<double, at(most_coordinates) + 1> x{};
  for (int iteration = 0; iteration < 12; ++iteration) {
    J << gradients(from, q), surface(from, q), persistent_gradients(q, t);
    Eigen::Index k = 0;
    for (const NamedFormula& g : modes_[at(from)].constraints) r[k++] = g.formula.value({q.data(), n_});
    r[k++] = modes_[at(from)].condition.formula.value({q.data(), n_});
    std::copy_n(q.begin(), n_, x.begin());
    x[n_] = t;
    for (const FormulaRow& g : persistent_) r[k++] = g.gap.formula.value({x.data(), n_ + 1});
    const Eigen::VectorXd d = J.completeOrthogonalDecomposition().solve(r);
    for (std::size_t i = 0; i < n_; ++i) q[i] -= d[static_cast<Eigen::Index>(i)];
    if (d.norm() <= 1e-13 * length) break;
  }
  const Matrix G = gradients(to, q);
  for (std::size_t k = 0; k < m; ++k) {
    const double gap = modes_[at(to)].constraints[k].formula.value({q.data(), n_});
    const double size = G.row(static_cast<Eigen::Index>(k)).norm();
    if (std::abs(gap) <= largest_disagreement * length * size) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", gap);
    return "the modes " + mode_name(from) + " and " + mode_name(to) + " disagree on their surface: there " +
           modes_[at(to)].constraints[k].name + " is " + text;
  }
  return {};
}

// ---- switches

SwitchingRowBlock::Matrix SwitchingRowBlock::gradients(int mode, const Coordinates& q) const {
  Matrix G(rows(), static_cast<Eigen::Index>(n_));
  Coordinates g;
  for (int k = 0; k < rows(); ++k) {
    modes_[at(mode)].constraints[at(k)].formula.gradient({q.data(), n_}, {g.data(), n_});
    for (std::size_t i = 0; i < n_; ++i) G(k, static_cast<Eigen::Index>(i)) = g[i];
  }
  return G;
}

SwitchingRowBlock::Matrix SwitchingRowBlock::persistent_gradients(const Coordinates& q, double t) const {
  Matrix G(static_cast<Eigen::Index>(persistent_.size()), static_cast<Eigen::Index>(n_));
  std::array<double, at(most_coordinates) + 1> x{}, g{};
  std::copy_n(q.begin(), n_, x.begin());
  x[n_] = t;
  for (Eigen::Index k = 0; k < G.rows(); ++k) {
    persistent_[static_cast<std::size_t>(k)].gap.formula.gradient({x.data(), n_ + 1}, {g.data(), n_ + 1});
    for (std::size_t i = 0; i < n_; ++i) G(k, static_cast<Eigen::Index>(i)) = g[i];
  }
  return G;
}

Eigen::RowVectorXd SwitchingRowBlock::surface(int mode, const Coordinates& q) const {
  Coordinates g;
  modes_[at(mode)].condition.formula.gradient({q.data(), n_}, {g.data(), n_});
  return Eigen::Map<const Eigen::RowVectorXd>(g.data(), static_cast<Eigen::Index>(n_));
}

double SwitchingRowBlock::crossing_rate(int from, const ConstraintInput& in) const {
  Coordinates q;
  gather(in, q);
  return -surface(from, q).dot(Eigen::Map<const Eigen::RowVectorXd>(in.v, static_cast<Eigen::Index>(n_)));
}

bool SwitchingRowBlock::set_switch(int from, int to, const ConstraintInput& in, double E) {
  Coordinates q;
  gather(in, q);
  const auto n = static_cast<Eigen::Index>(n_);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> M(n, n);
  masses_.mass_matrix(q.data(), M.data());
  const Eigen::LLT<Matrix> factor(M);
  if (factor.info() != Eigen::Success) return false;
  const Matrix G_old = gradients(from, q), G_new = gradients(to, q), G_b = persistent_gradients(q, in.t);

  // rows in coordinates in which M = 1; the part along the persistent ones is taken away twice
  const auto whiten = [&](const Matrix& G) -> Matrix { return factor.matrixL().solve(G.transpose()); };
  const Matrix w_old = whiten(G_old), w_new = whiten(G_new);
  Matrix p_old = w_old, p_new = w_new;
  if (G_b.rows() > 0) {
    Matrix b = whiten(G_b);
    for (Eigen::Index k = 0; k < b.cols(); ++k)
      if (const double size = b.col(k).norm(); size > 0) b.col(k) /= size;
    Eigen::ColPivHouseholderQR<Matrix> qr(b);
    qr.setThreshold(1e-10);
    const Matrix Q = Matrix(qr.householderQ()).leftCols(qr.rank());
    for (int twice = 0; twice < 2; ++twice) {
      p_old -= Q * (Q.transpose() * p_old);
      p_new -= Q * (Q.transpose() * p_new);
    }
  }
  const Basis b_old(p_old.transpose() * p_old, w_old.colwise().norm().transpose()),
      b_new(p_new.transpose() * p_new, w_new.colwise().norm().transpose());
  const Matrix u_old = p_old * b_old.B, u_new = p_new * b_new.B;
  // as many constraints in both modes, but some may depend on the persistent ones
  if (u_old.cols() != u_new.cols()) return false;
  const Eigen::JacobiSVD<Matrix> svd(u_old.transpose() * u_new, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Matrix &Y = svd.matrixU(), &Z = svd.matrixV();
  const Eigen::VectorXd& c = svd.singularValues();
  const Eigen::Index pairs = c.size();
  double sine = 0;  // of the largest angle, the last pair
  if (pairs > 0) sine = (u_new * Z.col(pairs - 1) - c[pairs - 1] * (u_old * Y.col(pairs - 1))).norm();

  const auto interpolate = [&](double share, double sign, Matrix& A_old, Matrix& A_new) {
    Eigen::VectorXd s = Eigen::VectorXd::Ones(pairs);
    if (pairs > 0) s[pairs - 1] = sign;
    A_new = share * b_new.B * b_new.inverse;
    A_old = (1 - share) * b_old.B * Y * s.asDiagonal() * Z.transpose() * b_new.inverse;
  };
  Matrix A_old, A_new;
  // the jump of E = 1/2 crosses the surface, as the motion before
  const auto crosses = [&](double sign) {
    interpolate(0.5, sign, A_old, A_new);
    const Matrix F = p_old * A_old + p_new * A_new;
    const Eigen::VectorXd v = M.template selfadjointView<Eigen::Lower>() * Eigen::Map<const Eigen::VectorXd>(in.v, n);
    const Eigen::VectorXd w = factor.matrixL().solve(v);  // L^T v
    const Eigen::VectorXd z = factor.matrixL().solve(surface(from, q).transpose());
    const Matrix D = b_new.B.transpose() * (p_new.transpose() * F) * b_new.B;
    const Eigen::JacobiSVD<Matrix> d(D, Eigen::ComputeFullU | Eigen::ComputeFullV);
    if (d.singularValues().size() > 0 && d.singularValues().minCoeff() < 1e-8) return false;
    const Eigen::VectorXd rhs = -(b_new.B.transpose() * (w_new.transpose() * w));
    const Eigen::VectorXd jump = F * (b_new.B * d.solve(rhs));
    return z.dot(w) * z.dot(w + jump) > 0;
  };
  double sign = 1;
  if (E < 1 && pairs > 0 && !crosses(1)) {
    if (!(sine > smooth_joint) || !crosses(-1)) return false;
    sign = -1;
  }
  interpolate(E, sign, A_old, A_new);
  mode_ = to;
  old_ = from;
  cosine_ = pairs > 0 ? sign * std::min(1.0, c[pairs - 1]) : 1.0;
  const std::size_t m = at(rows());
  A_old_.resize(m * m);
  A_new_.resize(m * m);
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t l = 0; l < m; ++l) {
      const auto i = static_cast<Eigen::Index>(k), j = static_cast<Eigen::Index>(l);
      A_old_[k * m + l] = A_old(i, j);
      A_new_[k * m + l] = A_new(i, j);
    }
  return true;
}

}  // namespace carom
