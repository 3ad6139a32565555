// SwitchingJointBlock: which mode follows, where a step meets its surface, and what is wrong with modes before a run
// begins.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "elements/joints/switching_joints.hpp"

namespace carom {

namespace {

constexpr double largest_misfit = 1e-6;    // of the joints of the next mode, of the length or of a radian
constexpr double surface_rounding = 1e-9;  // of the same
constexpr int path_places = 512;           // of the path along which modes are tried at the start

// The cubic with values and slopes at the ends of [0, 1], or a line without slopes.
double interpolate(double s, double x_0, double x_1, bool slopes, double d_0, double d_1) {
  if (!slopes) return (1 - s) * x_0 + s * x_1;
  const double r = 1 - s;
  return r * r * ((1 + 2 * s) * x_0 + s * d_0) + s * s * ((1 + 2 * r) * x_1 - r * d_1);
}

}  // namespace

int SwitchingJointBlock::next(int mode) const { return modes_[at(mode)].next; }

// The size of a row's gradient: translations times the length, and rotations.
double SwitchingJointBlock::size(const double* G, double length) const {
  double square = 0;
  for (int k = 0; k < topology().local_size; ++k) {
    const double x = k % components < 3 ? length * G[k] : G[k];
    square += x * x;
  }
  return std::sqrt(square);
}

double SwitchingJointBlock::rounding(int mode, const ConstraintInput& in, double length) const {
  return surface_rounding * size(formula_gradient(modes_[at(mode)].condition, in).data(), length);
}

int SwitchingJointBlock::mode_behind(int from, const Vector& x, std::string& fault) const {
  return SwitchingBlock::mode_behind(
      from, [&](int mode) { return value(modes_[at(mode)].condition, x); }, fault);
}

// The first row of a mode whose value is not zero, with this value.
std::string SwitchingJointBlock::misfit(int mode, const Vector& gaps, const ConstraintInput& in, double length) const {
  const Matrix G = gradients(mode, in);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows_of_G = G;
  Eigen::Index k = 0;
  for (int row = 0; row < rows(); ++row) {
    if (!holds(mode, row)) continue;
    const double most = largest_misfit * size(rows_of_G.row(k++).data(), length);
    if (std::abs(gaps[at(row)]) <= most) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.3g", gaps[at(row)]);
    return row_name(0, row) + " is off by " + text;
  }
  return {};
}

SwitchingBlock::Crossing SwitchingJointBlock::find_crossing(int from, const ConstraintInput& start,
                                                            const ConstraintInput& end, double length) const {
  const Point p_0 = measures(start);
  Point p_1 = measures(end);
  const bool slopes = !p_0.rates.empty() && !p_1.rates.empty();
  const double h = end.t - start.t;
  for (std::size_t i = 0; i < measures_.size(); ++i)
    if (measures_[i].kind == JointCoordinate::Kind::angle)
      p_1.x[i] -= 4 * std::numbers::pi * std::round((p_1.x[i] - p_0.x[i]) / (4 * std::numbers::pi));
  Vector x(p_0.x.size());
  const auto place = [&](double s) {
    for (std::size_t i = 0; i < measures_.size(); ++i)
      x[i] = interpolate(s, p_0.x[i], p_1.x[i], slopes, slopes ? h * p_0.rates[i] : 0, slopes ? h * p_1.rates[i] : 0);
    x.back() = (1 - s) * start.t + s * end.t;
  };
  Crossing crossing = find_root(from, start, end, length, [&](double s) {
    place(s);
    return value(modes_[at(from)].condition, x);
  });
  if (!crossing.left) return crossing;
  // a little behind the root, where z of the next mode is positive beyond rounding
  place(std::min(1.0, crossing.share + 1e-3 * (1 - crossing.share) + 1e-9));
  crossing.next = mode_behind(from, x, crossing.fault);
  if (!crossing.fault.empty()) return crossing;
  // whether the joints of the next mode fit there
  const std::size_t m = at(rows());
  Vector g_0(m), g_1(m), rate_0(m, 0.0), rate_1(m, 0.0);
  ConstraintValues wanted;
  wanted.gap = g_0.data();
  wanted.rate = rate_0.data();
  fill(crossing.next, start, wanted);
  wanted.gap = g_1.data();
  wanted.rate = rate_1.data();
  fill(crossing.next, end, wanted);
  for (std::size_t k = 0; k < m; ++k)
    g_0[k] = interpolate(crossing.share, g_0[k], g_1[k], slopes, h * rate_0[k], h * rate_1[k]);
  ConstraintInput there = end;
  there.v = nullptr;
  if (const std::string found = misfit(crossing.next, g_0, there, length); !found.empty())
    crossing.fault = "the modes " + mode_name(from) + " and " + mode_name(crossing.next) +
                     " disagree on their surface: there " + found;
  return crossing;
}

// Whether joints fit is only known where the motion of the whole system leads; conditions are tried along the path of
// constant rates of the measures, up to the first surface.
std::string SwitchingJointBlock::find_fault(const ConstraintInput& start, double duration, double length) const {
  ConstraintInput in = start;
  in.v = nullptr;
  Vector gaps(at(rows()));
  ConstraintValues wanted;
  wanted.gap = gaps.data();
  fill(mode_, in, wanted);
  if (const std::string off = misfit(mode_, gaps, in, length); !off.empty())
    return "the start is off the mode " + mode_name(mode_) + ": there " + off;
  const Point p = measures(start);
  if (p.rates.empty()) return {};
  Vector x = p.x;
  const auto move = [&](double tau) {
    for (std::size_t i = 0; i < measures_.size(); ++i) x[i] = p.x[i] + tau * p.rates[i];
    x.back() = p.x.back() + tau;
    // angles begin anew beyond
    for (std::size_t i = 0; i < measures_.size(); ++i)
      if (measures_[i].kind == JointCoordinate::Kind::angle && std::abs(x[i]) > 2 * std::numbers::pi) return false;
    return true;
  };
  const auto z = [&](int mode) { return value(modes_[at(mode)].condition, x); };
  const double tau = duration / path_places;
  for (int k = 0; k < path_places; ++k) {
    if (!move(k * tau)) return {};
    for (int j = 0; j < modes() && !named(mode_); ++j)
      if (j != mode_ && !named(j) && z(j) > surface_rounding && z(mode_) > surface_rounding)
        return "the modes " + mode_name(mode_) + " and " + mode_name(j) + " overlap";
    if (!move((k + 1) * tau)) return {};
    if (!(z(mode_) < 0)) continue;
    double inside = k * tau, outside = (k + 1) * tau;
    for (int halving = 0; halving < 50; ++halving) {
      const double middle = 0.5 * (inside + outside);
      move(middle);
      (z(mode_) < 0 ? outside : inside) = middle;
    }
    move(outside + 1e-3 * tau);
    std::string fault;
    mode_behind(mode_, x, fault);
    return fault;
  }
  return {};
}

}  // namespace carom
