// Bricard's linkage of data/models/bricard.json against the closed form of its angles and the motion of its one degree
// of freedom.

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "case_runner.hpp"
#include "core/mechanics/row_rank.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

std::vector<int> all_rows(const Case& c) {
  std::vector<int> rows;
  for (const char* joint : {"p0", "p1", "p2", "p3", "p4", "p5"})
    for (const int row : c.rows(joint)) rows.push_back(row);
  return rows;
}

test::Matrix gradient(const Case& c, const std::vector<int>& rows) {
  test::Matrix G = test::Matrix::Zero(static_cast<int>(rows.size()), c.system().size());
  SparseRow row;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    c.system().row_gradient(rows[i], c.state().q, c.t(), nullptr, row);
    for (std::size_t k = 0; k < row.equation.size(); ++k) G(static_cast<int>(i), row.equation[k]) = row.value[k];
  }
  return G;
}

// The angle at a vertex: between a rod and the extension of the preceding rod.
double angle(const Vec3& before, const Vec3& after, const Vec3& axis) {
  return std::atan2(before.cross(after).dot(axis), before.dot(after));
}

// Angles at the six vertices from the positions of the rods' ends and the axes of the joints in the rods.
std::array<double, 6> angles(const Case& c) {
  const std::array<Vec3, 6> P = {c.position("rod1.start"), c.position("rod1.end"), c.position("rod2.end"),
                                 c.position("rod3.end"),   c.position("rod4.end"), c.position("rod5.end")};
  const std::array<Vec3, 6> axes = {Vec3(0, -1, 0),
                                    c.rotation("rod1") * Vec3(0, 0, -1),
                                    c.rotation("rod2") * Vec3(-1, 0, 0),
                                    c.rotation("rod3") * Vec3(0, -1, 0),
                                    c.rotation("rod4") * Vec3(0, 0, -1),
                                    Vec3(-1, 0, 0)};
  std::array<double, 6> result{};
  for (std::size_t i = 0; i < 6; ++i) {
    // the last axis belongs to the ground and to rod5
    const Vec3 axis = i == 5 ? Vec3(c.rotation("rod5") * axes[i]) : axes[i];
    result[i] = angle(P[i] - P[(i + 5) % 6], P[(i + 1) % 6] - P[i], axis);
  }
  return result;
}

// The motion in terms of one coordinate: positions and rotations of the rods as functions of the angle alpha at p0, p2,
// p4, with beta at p1, p3, p5 on the branch through 0.
struct Chain {
  std::array<Vec3, 5> center;
  std::array<Mat3, 5> R;
};

Chain chain(double alpha, double beta) {
  Chain k;
  Vec3 place = Vec3::Zero(), direction(0, 0, -1), axis(0, -1, 0);
  for (std::size_t i = 0; i < 5; ++i) {
    direction = so3::exp(Vec3((i % 2 == 0 ? alpha : beta) * axis)) * direction;
    k.center[i] = place + 0.5 * direction;
    k.R[i] << direction, axis, direction.cross(axis);
    place += direction;
    // alternating twists of +90 and -90 degrees
    axis = so3::exp(Vec3((i % 2 == 0 ? 1 : -1) * M_PI / 2 * direction)) * axis;
  }
  return k;
}

TEST_CASE("Bricard: its angles obey the closed form of the threefold-symmetric linkage at every step") {
  for (const double h : {1e-3, 5e-3}) {
    CAPTURE(h);
    Case c("bricard", {set("/integrator/step", h)});
    double closed_form = 0, symmetry = 0, moved = 0;
    const RunStatus status = c.run([&](const StepView&) {
      const auto a = angles(c);
      closed_form = std::max(closed_form, std::abs(std::cos(a[0]) + std::cos(a[1]) + std::cos(a[0]) * std::cos(a[1])));
      for (const std::size_t i : {2u, 3u, 4u, 5u}) symmetry = std::max(symmetry, std::abs(a[i] - a[i % 2]));
      moved = std::max(moved, std::abs(a[0] - M_PI / 2));
    });
    CHECK(status == RunStatus::completed);
    CHECK(closed_form < 1e-9);
    CHECK(symmetry < 1e-9);
    CHECK(moved > 0.5);
    CHECK(c.statistics().subdivided_steps == 0);
  }
}

TEST_CASE("Bricard: thirty rows of rank 29 in every position, all held at both levels") {
  Case c("bricard");
  const std::vector<int> rows = all_rows(c);
  REQUIRE(rows.size() == 30);
  const RowRank rank = row_rank(c.system(), c.state().q, 0, rows);
  CHECK(rank.rank == 29);
  CHECK(c.system().size() == 30);
  double gap = 0, rate = 0;
  int steps = 0;
  c.run(
      [&](const StepView&) {
        if (steps++ % 100 == 0) {
          const Eigen::VectorXd values = Eigen::JacobiSVD<test::Matrix>(gradient(c, rows)).singularValues();
          CAPTURE(c.t());
          CAPTURE(values.transpose());
          CHECK(values[29] < 1e-8);
          CHECK(values[28] > 1e-2);
        }
        for (const int row : rows) {
          gap = std::max(gap, std::abs(c.gap(row)));
          rate = std::max(rate, std::abs(c.gap_velocity(row)));
        }
      },
      true);
  CHECK(gap < 1.1e-11 * c.scales().length);
  CHECK(rate < 1.1e-11 * std::max(c.scales().speed, 10.0));
  for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 6);
}

TEST_CASE("Bricard: it falls as the one degree of freedom that it is, and keeps its energy to second order") {
  // reference: m(x) x'' + m' x'^2/2 + V' = 0 of a parameter x = alpha, with m and V of the chain; beta stays in
  // [90, 120] degrees in this motion
  const auto beta_of = [](double a) { return std::acos(-std::cos(a) / (1 + std::cos(a))); };
  const auto at = [&](double a) { return chain(a, beta_of(a)); };
  const auto inertia = [&](double a) {
    const double e = 1e-4;
    const Chain up = at(a + e), down = at(a - e);
    double m = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      m += ((up.center[i] - down.center[i]) / (2 * e)).squaredNorm();
      const Vec3 w = so3::log(Mat3(down.R[i].transpose() * up.R[i])) / (2 * e);  // axes: along the rod first
      m += w[0] * w[0] / 600 + (w[1] * w[1] + w[2] * w[2]) / 12;
    }
    return m;
  };
  const auto potential = [&](double a) {
    double V = 0;
    const Chain x = at(a);
    for (std::size_t i = 0; i < 5; ++i) V += 9.81 * x.center[i].y();
    return V;
  };
  const auto acceleration = [&](double a, double w) {
    const double e = 2e-4, m = inertia(a);
    const double dm = (inertia(a + e) - inertia(a - e)) / (2 * e), dV = (potential(a + e) - potential(a - e)) / (2 * e);
    return -(0.5 * dm * w * w + dV) / m;
  };
  double a = M_PI / 2, w = 0;
  const double end = 1.2, dt = 1e-3;
  for (int k = 0; k < 1200; ++k) {  // Runge-Kutta of fourth order
    const double w1 = acceleration(a, w), a1 = w, w2 = acceleration(a + 0.5 * dt * a1, w + 0.5 * dt * w1),
                 a2 = w + 0.5 * dt * w1, w3 = acceleration(a + 0.5 * dt * a2, w + 0.5 * dt * w2),
                 a3 = w + 0.5 * dt * w2, w4 = acceleration(a + dt * a3, w + dt * w3), a4 = w + dt * w3;
    a += dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    w += dt / 6 * (w1 + 2 * w2 + 2 * w3 + w4);
  }

  std::vector<double> steps, errors, energies;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    Case c("bricard", {set("/integrator/step", h)});
    const double start = c.energy();
    double worst = 0;
    c.run_for(end, [&](const StepView&) { worst = std::max(worst, std::abs(c.energy() - start)); });
    steps.push_back(h);
    errors.push_back(std::abs(angles(c)[0] - a));
    energies.push_back(worst);
  }
  CHECK(errors.back() < 2e-5);
  CHECK(fitted_order(steps, errors) > 1.8);
  CHECK(fitted_order(steps, energies) > 1.8);
}

}  // namespace
