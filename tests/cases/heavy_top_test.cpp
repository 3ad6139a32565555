// The heavy top of data/models/heavy_top.json against Euler's equations about the pin.

#include <doctest/doctest.h>

#include <cmath>

#include "case_runner.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double grid = 1e-4;

// Centre of mass and angular velocity at multiples of `grid` in [0, 1].
struct Motion {
  std::vector<Vec3> x, Omega;
};

const Motion& reference() {
  static const Motion motion = [] {
    const Vec3 X(0, 1, 0);
    RigidReference top;
    // moments of inertia about the pin: J + m (|X|^2 1 - X X^T)
    top.m = 15;
    top.J = Vec3(0.234375, 0.46875, 0.234375) + 15 * Vec3(1, 0, 1);
    top.Omega = Vec3(0, 150, -4.61538);
    top.moment = [X](const Mat3& R) { return Vec3(X.cross(R.transpose() * Vec3(0, 0, -15 * 9.81))); };
    Motion m;
    for (int k = 0; k <= 10000; ++k) {
      top.advance_to(k * grid, 1e-5);
      m.x.push_back(top.R() * X);
      m.Omega.push_back(top.Omega);
    }
    return m;
  }();
  return motion;
}

// [DS20] eq. 52: sum |f_n - f(t_n)| / sum |f(t_n)| with Euclidean norms of the vectors.
struct Errors {
  double x = 0, Omega = 0;
};

Errors errors(Case& c) {
  const std::size_t stride = static_cast<std::size_t>(std::lround(c.h() / grid));
  Errors sum, size;
  std::size_t k = 0;
  c.run(
      [&](const StepView&) {
        const Vec3 &x = reference().x[k], &Omega = reference().Omega[k];
        sum.x += (c.position("top") - x).norm();
        size.x += x.norm();
        sum.Omega += (c.angular_velocity("top") - Omega).norm();
        size.Omega += Omega.norm();
        k += stride;
      },
      true);
  return {sum.x / size.x, sum.Omega / size.Omega};
}

Case top(double h) { return Case("heavy_top", {set("/integrator/step", h), "/integrator/duration=1"}); }

TEST_CASE("heavy top: position and angular velocity are of second order") {
  std::vector<double> steps, x, Omega;
  for (const double h : {1e-3, 5e-4, 2e-4, 1e-4}) {
    Case c = top(h);
    const Errors e = errors(c);
    steps.push_back(h);
    x.push_back(e.x);
    Omega.push_back(e.Omega);
  }
  CHECK(fitted_order(steps, x) > 1.95);
  CHECK(fitted_order(steps, x) < 2.05);
  CHECK(fitted_order(steps, Omega) > 1.95);
  CHECK(fitted_order(steps, Omega) < 2.05);
}

TEST_CASE("heavy top: the error at h = 1e-3 is that of the independent implementation") {
  // independent implementation: 7.9e-4 in x over [0, 1], two digits
  Case shifted("heavy_top", {"/integrator/duration=1", "/integrator/initial_acceleration=shifted"});
  CHECK(std::abs(errors(shifted).x - 7.9e-4) < 0.05e-4);
  // a_0 = v'(0) changes the third digit
  Case consistent("heavy_top", {"/integrator/duration=1"});
  CHECK(errors(consistent).x == doctest::Approx(7.9e-4).epsilon(0.01));
}

TEST_CASE("heavy top: the pin holds at position and velocity level at the end of every step") {
  for (const double h : {1e-2, 1e-3, 5e-4}) {
    CAPTURE(h);
    Case c("heavy_top", {set("/integrator/step", h)});
    const std::vector<int>& rows = c.rows("pivot");
    CHECK(rows.size() == 3);
    double gap = 0, rate = 0;
    const RunStatus status = c.run(
        [&](const StepView&) {
          for (const int row : rows) {
            gap = std::max(gap, std::abs(c.gap(row)));
            rate = std::max(rate, std::abs(c.gap_velocity(row)));
          }
        },
        true);
    CHECK(status == RunStatus::completed);
    CHECK(gap < 1e-12);
    CHECK(rate < 1e-12);
  }
}

TEST_CASE("heavy top: the pin carries the weight and the centripetal force of the reference motion") {
  // m x'' = F + m g, with x'' from central differences of the reference
  Case c = top(1e-4);
  const std::vector<int>& rows = c.rows("pivot");
  const std::vector<Vec3>& x = reference().x;
  double worst = 0, largest = 0;
  std::size_t k = 0;
  c.run([&](const StepView&) {
    if (++k + 1 >= x.size()) return;
    const Vec3 F = 15 * ((x[k + 1] - 2 * x[k] + x[k - 1]) / (grid * grid) - Vec3(0, 0, -9.81));
    Vec3 force;
    for (int i = 0; i < 3; ++i) force[i] = c.force(rows[static_cast<std::size_t>(i)]);
    worst = std::max(worst, (force - F).norm());
    largest = std::max(largest, F.norm());
  });
  CHECK(worst < 1e-3 * largest);
}

}  // namespace
