// SwitchingRowBlock: which mode follows, where modes meet, and what is wrong with modes before a run begins.

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "elements/bodies/switching_rows.hpp"

namespace carom {

namespace {

constexpr double largest_disagreement = 1e-6;  // of neighbouring modes on their surface, of the length
constexpr double surface_rounding = 1e-9;      // of the length
constexpr int most_corrections = 12;
constexpr int path_places = 512;  // of the path along which modes are tried at the start
constexpr int most_surfaces = 64;

Eigen::MatrixXd stacked(const Eigen::MatrixXd& above, const Eigen::MatrixXd& below) {
  Eigen::MatrixXd all(above.rows() + below.rows(), above.cols());
  all << above, below;
  return all;
}

}  // namespace

int SwitchingRowBlock::next(int mode) const { return modes_[at(mode)].next; }

double SwitchingRowBlock::rounding(int mode, const ConstraintInput& in, double length) const {
  Point x;
  gather(in, x);
  return surface_rounding * length * surface(mode, x).norm();
}

int SwitchingRowBlock::mode_behind(int from, const Point& x, std::string& fault) const {
  return SwitchingBlock::mode_behind(
      from, [&](int mode) { return value(modes_[at(mode)].condition.formula, x); }, fault);
}

// g of a mode, z if asked for, and g_b
SwitchingRowBlock::Column SwitchingRowBlock::values(int mode, const Point& x, bool with_surface) const {
  Column r(count(mode) + (with_surface ? 1 : 0) + static_cast<Eigen::Index>(persistent_.size()));
  Eigen::Index k = 0;
  for (const NamedFormula& g : modes_[at(mode)].constraints) r[k++] = value(g.formula, x);
  if (with_surface) r[k++] = value(modes_[at(mode)].condition.formula, x);
  for (const FormulaRow& g : persistent_) r[k++] = value(g.gap.formula, x);
  return r;
}

// Moves x, but not t, to where these values are zero.
bool SwitchingRowBlock::find_place(int mode, bool on_surface, double length, Point& x) const {
  for (int iteration = 0; iteration < most_corrections; ++iteration) {
    Matrix J = gradients(mode, x);
    if (on_surface) J = stacked(J, surface(mode, x));
    J = stacked(J, persistent_gradients(x));
    if (J.rows() == 0) return true;
    const Column d = J.completeOrthogonalDecomposition().solve(values(mode, x, on_surface));
    for (std::size_t i = 0; i < n_; ++i) x[i] -= d[static_cast<Eigen::Index>(i)];
    if (!d.allFinite()) return false;
    if (d.norm() <= 1e-13 * length) return true;
  }
  return false;
}

// The first constraint of a mode that does not hold at x, with its value.
std::string SwitchingRowBlock::mismatch(int mode, const Point& x, double length) const {
  const Matrix G = gradients(mode, x);
  for (int k = 0; k < count(mode); ++k) {
    const NamedFormula& g = modes_[at(mode)].constraints[at(k)];
    const double gap = value(g.formula, x);
    if (std::abs(gap) <= largest_disagreement * length * G.row(k).norm()) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", gap);
    return g.name + " is " + text;
  }
  return {};
}

// Where g_from = z_from = g_b = 0, the constraints of the next mode must hold too.
std::string SwitchingRowBlock::disagreement(int from, int to, Point x, double length) const {
  find_place(from, true, length, x);
  const std::string found = mismatch(to, x, length);
  if (found.empty()) return {};
  return "the modes " + mode_name(from) + " and " + mode_name(to) + " disagree on their surface: there " + found;
}

// v with G v + g_t = 0 in a mode, nearest to the given one, and of the given speed where nothing depends on time.
bool SwitchingRowBlock::find_tangent(int mode, const Point& x, double speed, Column& v) const {
  Column rates;
  const Matrix G = stacked(gradients(mode, x, &rates), persistent_gradients(x));
  Column rate = Column::Zero(G.rows());
  rate.head(rates.size()) = rates;
  Point g;
  for (std::size_t k = 0; k < persistent_.size(); ++k) {
    gradient(persistent_[k].gap.formula, x, g);
    rate[rates.size() + static_cast<Eigen::Index>(k)] = g[n_];
  }
  if (G.rows() > 0) v -= G.completeOrthogonalDecomposition().solve(G * v + rate);
  if (rate.size() == 0 || rate.isZero(0)) {
    if (!(v.norm() > 1e-9 * speed)) return false;
    v *= speed / v.norm();
  }
  return v.allFinite();
}

// The path that the motion would follow if it kept its direction and speed. Where its constraints end or a formula has
// no value the path ends without a fault: the motion may never come there.
std::string SwitchingRowBlock::find_fault(const ConstraintInput& start, double duration, double length) const {
  Point x, ahead;
  gather(start, x);
  int mode = mode_, surfaces = 0;
  if (const std::string off = mismatch(mode, x, length); !off.empty())
    return "the start is off the mode " + mode_name(mode) + ": there " + off;
  Column v = Eigen::Map<const Column>(start.v, static_cast<Eigen::Index>(n_));
  const double speed = v.norm(), tau = duration / path_places;
  const auto move = [&](double share) {
    ahead = x;
    for (std::size_t i = 0; i < n_; ++i) ahead[i] += share * tau * v[static_cast<Eigen::Index>(i)];
    ahead[n_] += share * tau;
  };
  for (int k = 0; k < path_places; ++k) {
    if (!find_tangent(mode, x, speed, v)) return {};
    for (int j = 0; j < modes() && !named(mode); ++j) {
      if (j == mode || named(j)) continue;
      const double rounding = surface_rounding * length * surface(j, x).norm(),
                   other = surface_rounding * length * surface(mode, x).norm();
      if (value(modes_[at(j)].condition.formula, x) > rounding && value(modes_[at(mode)].condition.formula, x) > other)
        return "the modes " + mode_name(mode) + " and " + mode_name(j) + " overlap";
    }
    move(1);
    if (!find_place(mode, false, length, ahead)) return {};
    if (!(value(modes_[at(mode)].condition.formula, ahead) < 0)) {
      x = ahead;
      continue;
    }
    // the surface between, and the mode a little behind
    const Formula& z = modes_[at(mode)].condition.formula;
    double inside = 0, outside = 1;
    for (int halving = 0; halving < 50; ++halving) {
      const double s = 0.5 * (inside + outside);
      move(s);
      if (!find_place(mode, false, length, ahead)) return {};
      (value(z, ahead) < 0 ? outside : inside) = s;
    }
    move(outside);
    if (!find_place(mode, true, length, ahead)) return {};
    const Point on_surface = ahead;
    move(outside + 1e-3);
    std::string fault;
    const int next = mode_behind(mode, ahead, fault);
    if (!fault.empty()) return fault;
    // constraints that do not follow from those of the old mode and the surface may be met by the true motion alone
    const Matrix known = stacked(stacked(gradients(mode, on_surface), surface(mode, on_surface)),
                                 persistent_gradients(on_surface)),
                 all = stacked(known, gradients(next, on_surface));
    const auto rank = [](Matrix G) -> Eigen::Index {
      if (G.rows() == 0) return 0;
      for (Eigen::Index i = 0; i < G.rows(); ++i)
        if (const double size = G.row(i).norm(); size > 0) G.row(i) /= size;
      Eigen::ColPivHouseholderQR<Matrix> qr(G.transpose());
      qr.setThreshold(1e-6);
      return qr.rank();
    };
    if (rank(all) > rank(known)) return {};
    if (fault = disagreement(mode, next, on_surface, length); !fault.empty()) return fault;
    const Eigen::RowVectorXd Z = surface(mode, on_surface);
    const Matrix kept = persistent_gradients(on_surface), behind = stacked(gradients(next, on_surface), kept);
    if (modes_[at(mode)].next != next && rank(stacked(kept, Z)) > rank(kept) &&
        rank(stacked(behind, Z)) == rank(behind))
      return "the constraints of the mode " + mode_name(next) + " hold the motion on the surface of the mode " +
             mode_name(mode) + ", which must name the mode that follows: \"next\"";
    x = on_surface;
    if (++surfaces > most_surfaces || !find_tangent(next, x, speed, v) || !(Z.dot(v) < 0)) return {};
    move(1e-3);
    if (!find_place(next, false, length, ahead)) return {};
    x = ahead;
    mode = next;
  }
  return {};
}

}  // namespace carom
