// The interior-point method of ConeProblem (cone_problem.hpp, stage 4).
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/law/cone_problem.hpp"
#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {

constexpr int interior_iterations = 60;
constexpr double interior_share = 0.99;   // of the way to the boundary of the cones
constexpr double interior_balance = 0.3;  // eps over what y misses, both relative, at least
constexpr double least_measure = 1e-14;   // of both: rounding

// Second-order cones x_0 >= |(x_1, x_2)|.

using ConeVector = std::array<double, 3>;

double cone_product(const ConeVector& x, const ConeVector& y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }

double cone_determinant(const ConeVector& x) {
  const double a = std::hypot(x[1], x[2]);
  return (x[0] - a) * (x[0] + a);
}

// The symmetric matrix Theta that leaves the cone as it is and has Theta x = y, row by row.
std::array<double, 9> nesterov_todd(const ConeVector& x, const ConeVector& y) {
  const double d_x = std::sqrt(cone_determinant(x)), d_y = std::sqrt(cone_determinant(y));
  const double g = 2 * std::sqrt(0.5 * (1 + cone_product(x, y) / (d_x * d_y)));
  ConeVector w;
  for (std::size_t k = 0; k < 3; ++k) w[k] = (y[k] / d_y + (k == 0 ? x[k] : -x[k]) / d_x) / g;
  std::array<double, 9> theta{};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t l = 0; l < 3; ++l)
      theta[3 * k + l] = (2 * w[k] * w[l] + (k != l ? 0.0 : k == 0 ? -1.0 : 1.0)) * d_y / d_x;
  return theta;
}

// What a direction misses of x o y = eps 1 in second order, for P^-1 dy = -P x - P dx: P times the quotient of
// P dx o P^-1 dy by P x, P = Theta^(1/2) [Mehrotra, On the implementation of a primal-dual interior point method, SIAM
// J. Optim. 2 (1992) 575].
ConeVector second_order_term(const ConeVector& x, const ConeVector& y, const ConeVector& dx) {
  const double d_x = std::sqrt(cone_determinant(x)), d_y = std::sqrt(cone_determinant(y));
  const double g = 2 * std::sqrt(0.5 * (1 + cone_product(x, y) / (d_x * d_y)));
  ConeVector w;
  for (std::size_t k = 0; k < 3; ++k) w[k] = (y[k] / d_y + (k == 0 ? x[k] : -x[k]) / d_x) / g;
  const double scale = std::sqrt(d_y / d_x);
  const auto P = [&](const ConeVector& v) {
    const double along = w[1] * v[1] + w[2] * v[2], share = v[0] + along / (1 + w[0]);
    return ConeVector{scale * (w[0] * v[0] + along), scale * (v[1] + share * w[1]), scale * (v[2] + share * w[2])};
  };
  const ConeVector lambda = P(x), a = P(dx);
  ConeVector b;
  for (std::size_t k = 0; k < 3; ++k) b[k] = -lambda[k] - a[k];
  const ConeVector v{cone_product(a, b), a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]};
  ConeVector z;
  z[0] = (lambda[0] * v[0] - lambda[1] * v[1] - lambda[2] * v[2]) / cone_determinant(lambda);
  for (std::size_t k = 1; k < 3; ++k) z[k] = (v[k] - z[0] * lambda[k]) / lambda[0];
  return P(z);
}

// The largest a with x + a d in the cone.
double way_to_boundary(const ConeVector& x, const ConeVector& d) {
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2],
               c = cone_determinant(x);
  double way = std::numeric_limits<double>::max();
  if (const double square = b * b - a * c; a != 0 && square >= 0)
    for (const double sign : {-1.0, 1.0})
      if (const double root = (-b + sign * std::sqrt(square)) / a; root > 0) way = std::min(way, root);
  if (d[0] < 0) way = std::min(way, -x[0] / d[0]);
  return way;
}

}  // namespace

bool ConeProblem::has_interior() const {
  // units_ holds every disc once: with its source, or alone
  return std::all_of(units_.begin(), units_.end(), [&](const Unit& unit) {
    return unit.normal >= 0 &&
           (unit.disc < 0 || (discs_[at(unit.disc)].rows <= 2 && discs_[at(unit.disc)].radius == 0 &&
                              discs_[at(unit.disc)].friction > 0));
  });
}

bool ConeProblem::interior_point(In W, In q, double tolerance, Out s) {
  const std::size_t count = units_.size();
  points_.resize(count);
  directions_.resize(count);
  scalings_.resize(count);
  J_.resize(W.size());
  const auto friction = [&](const Unit& unit) { return unit.disc >= 0 ? discs_[at(unit.disc)].friction : 1.0; };
  const auto rows = [&](const Unit& unit) { return unit.disc >= 0 ? at(discs_[at(unit.disc)].rows) : std::size_t{0}; };
  const auto row = [&](const Unit& unit, std::size_t k) {
    return k == 0 ? at(unit.normal) : at(discs_[at(unit.disc)].first) + k - 1;
  };

  // starts in the middle of the cones
  double scale_y = 0, scale_p = 0;
  for (const Unit& unit : units_) {
    for (std::size_t k = 0; k <= rows(unit); ++k)
      scale_y = std::max(scale_y, std::abs(q[row(unit, k)]) / (k == 0 ? friction(unit) : 1));
    scale_p += 1 / p_[at(unit.normal)] / static_cast<double>(count);
  }
  if (!(scale_y > 0)) return false;
  const double scale_x = scale_y / scale_p;
  for (ConePoint& point : points_) point = {{scale_x, 0, 0}, {scale_y, 0, 0}};

  for (int iteration = 0; iteration < interior_iterations && !stopped(); ++iteration) {
    // the point, and what y misses: c(s) - y, in shifted_q_
    double gap = 0, missing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Unit& unit = units_[i];
      const ConePoint& point = points_[i];
      for (std::size_t k = 0; k <= rows(unit); ++k) s[row(unit, k)] = k == 0 ? point.x[0] / friction(unit) : point.x[k];
      gap += cone_product(point.x, point.y) / static_cast<double>(count);
    }
    if (!all_finite(s)) return false;
    rates(W, q, s, u_);
    if (natural_defect(s, u_) <= tolerance) return true;
    for (std::size_t i = 0; i < count; ++i) {
      const Unit& unit = units_[i];
      const ConePoint& point = points_[i];
      const double slip = std::hypot(point.y[1], point.y[2]);
      for (std::size_t k = 0; k <= rows(unit); ++k) {
        const std::size_t r = row(unit, k);
        shifted_q_[r] = (k == 0 ? u_[r] / friction(unit) + slip : u_[r]) - point.y[k];
        missing = std::max(missing, std::abs(shifted_q_[r]) / scale_y);
      }
    }
    const double rest = gap / (scale_x * scale_y);
    if (std::max(missing, rest) < least_measure) return false;

    ++iterations_;
    // rows of the matrix: W + F^-1 Theta F^-1, F = diag(1/friction, 1, 1); the normal row with |c_T|
    for (std::size_t i = 0; i < count; ++i) {
      const Unit& unit = units_[i];
      const ConePoint& point = points_[i];
      const double mu = friction(unit), slip = std::hypot(point.y[1], point.y[2]);
      scalings_[i] = nesterov_todd(point.x, point.y);
      for (std::size_t k = 0; k <= rows(unit); ++k) {
        const std::size_t r = row(unit, k);
        std::copy_n(W.data() + first(r), entries(r), J_.data() + first(r));
        for (std::size_t l = 1; k == 0 && l <= rows(unit) && slip > 0; ++l) {
          const double tau = point.y[l] / slip;
          for (std::size_t j = 0; j < entries(r); ++j) J_[first(r) + j] += mu * tau * W[first(row(unit, l)) + j];
          shifted_q_[r] += tau * shifted_q_[row(unit, l)];
        }
        for (std::size_t l = 0; l <= rows(unit); ++l)
          J_[place(r, row(unit, l))] += (k == 0 ? mu : 1) * (l == 0 ? mu : 1) * scalings_[i][3 * k + l];
      }
    }
    if (!lu_.factorise(J_, n_, pattern_)) return false;
    // directions for x o y = eps 1, and the way to the boundary; with the second-order terms of the direction at hand
    const auto find_directions = [&](double eps, double second_order) {
      for (std::size_t i = 0; i < count; ++i) {
        const Unit& unit = units_[i];
        const ConePoint& point = points_[i];
        ConePoint& d = directions_[i];
        const double share = eps / cone_determinant(point.x);
        ConeVector base;
        for (std::size_t k = 0; k < 3; ++k) base[k] = -point.y[k] + (k == 0 ? share : -share) * point.x[k];
        if (second_order > 0) {
          const ConeVector second = second_order_term(point.x, point.y, d.x);
          for (std::size_t k = 0; k < 3; ++k) base[k] -= second_order * second[k];
        }
        d.y = base;
        for (std::size_t k = 0; k <= rows(unit); ++k)
          ds_[row(unit, k)] = (k == 0 ? friction(unit) : 1) * (base[k] - shifted_q_[row(unit, k)]);
      }
      lu_.solve(ds_);
      double way = std::numeric_limits<double>::max();
      for (std::size_t i = 0; i < count; ++i) {
        const Unit& unit = units_[i];
        ConePoint& d = directions_[i];
        const std::size_t size = rows(unit) + 1;
        d.x = {0, 0, 0};
        for (std::size_t k = 0; k < size; ++k) d.x[k] = (k == 0 ? friction(unit) : 1) * ds_[row(unit, k)];
        for (std::size_t k = size; k < 3; ++k) d.y[k] = 0;
        for (std::size_t k = 0; k < size; ++k)
          for (std::size_t l = 0; l < size; ++l) d.y[k] -= scalings_[i][3 * k + l] * d.x[l];
        way = std::min({way, way_to_boundary(points_[i].x, d.x), way_to_boundary(points_[i].y, d.y)});
      }
      return way;
    };
    double way = std::min(1.0, find_directions(0, 0));
    double predicted = 0;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 3; ++k)
        predicted += (points_[i].x[k] + way * directions_[i].x[k]) * (points_[i].y[k] + way * directions_[i].y[k]) /
                     static_cast<double>(count);
    const double ratio = std::max(0.0, predicted / gap);
    double centre = std::clamp(ratio * ratio * ratio, 1e-4, 1.0);
    if (way < 0.1) centre = std::max(centre, 0.3);
    if (rest < interior_balance * missing) centre = 1;
    way = std::min(1.0, interior_share * find_directions(centre * gap, way * way));
    if (!(way > 0)) return false;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 3; ++k) {
        points_[i].x[k] += way * directions_[i].x[k];
        points_[i].y[k] += way * directions_[i].y[k];
      }
  }
  return false;
}

}  // namespace carom
