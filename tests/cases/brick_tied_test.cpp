// The parallelepiped with vertices as separate nodes on rigid links (data/models/brick_tied.json). In this version the
// position correction depends on the forces of the smooth motion ([DS20] 4.1).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

Case tied(double phi, double h, double duration, std::vector<std::string> more = {}) {
  for (std::string s : {set("/parameters/phi", phi), set("/integrator/step", h), set("/integrator/duration", duration),
                        std::string("/output/probes=[]"), std::string("/integrator/impact=\"published\"")})
    more.push_back(std::move(s));
  return Case("brick_tied", more);
}

const std::vector<std::string> paper_test = {"/integrator/newton/test=paper", "/integrator/newton/predictor=zero",
                                             "/integrator/newton/tolerance=1e-5"};

TEST_CASE("tied brick: mass, inertia and energy do not depend on the fraction on the vertices") {
  for (const double phi : {0.0, 0.25, 0.5, 0.75}) {
    CAPTURE(phi);
    Case c = tied(phi, 1e-3, 0);
    CHECK(c.energy() == doctest::Approx(2284.308).epsilon(1e-12));  // independent implementation
    CHECK(c.momenta().linear.x() == doctest::Approx(46.8 * 3).epsilon(1e-13));
    // angular momentum about the origin: J Omega + x x m v
    const Vec3 L(60 * 46.8 * (0.04 + 0.09) / 12, 60 * 46.8 * (0.01 + 0.09) / 12 + 46.8 * 3, 0);
    CHECK((c.momenta().angular - L).norm() < 1e-12 * L.norm());
    CHECK(c.model().warnings.empty());
  }
}

TEST_CASE("tied brick: massless vertices move the body exactly as its own vertices do, through the impact too") {
  // independent implementation: phi = 0 equals the one-body version to 1e-9
  for (const double h : {1e-3, 1e-4}) {
    CAPTURE(h);
    Case one("brick", {set("/integrator/step", h), "/integrator/duration=0.5", "/integrator/impact=\"published\""});
    std::vector<Vec3> x, Omega;
    std::vector<Mat3> R;
    one.run([&](const StepView&) {
      x.push_back(one.position("brick"));
      R.push_back(one.rotation("brick"));
      Omega.push_back(one.angular_velocity("brick"));
    });
    Case c = tied(0, h, 0.5);
    double position = 0, rotation = 0, spin = 0;
    std::size_t k = 0;
    c.run([&](const StepView&) {
      position = std::max(position, (c.position("center") - x[k]).norm());
      rotation = std::max(rotation, angle_between(c.rotation("center"), R[k]));
      spin = std::max(spin, (c.angular_velocity("center") - Omega[k]).norm());
      ++k;
    });
    CHECK(k == x.size());
    CHECK(one.statistics().impacts == 1);
    CHECK(c.statistics().impacts == 1);
    CHECK(position < 1e-9);
    // relative to the rotation in 0.5 s, and to the angular velocity
    CHECK(rotation < 1e-9 * 0.5 * 85);
    CHECK(spin < 1e-9 * 85);
    if (h == 1e-3) CHECK(rotation < 1e-9);
  }
}

TEST_CASE("tied brick: the paper's test and predictor need two, two and one iterations") {
  // Independent implementation: phi = 0.5, h = 1e-3, tolerance 1e-5: mean 5.0 for all sub-problems. The single norm
  // weighs constraint rows by the characteristic mass (k_p = m), which is the mass of the brick; with a ninth of this
  // mass 1.4 position iterations suffice.
  Case c = tied(0.5, 1e-3, 1, paper_test);
  REQUIRE(c.run() == RunStatus::completed);
  const RunStatistics& s = c.statistics();
  CHECK(s.mean_iterations(0) == doctest::Approx(2).epsilon(0.005));
  CHECK(s.mean_iterations(1) == doctest::Approx(2).epsilon(0.005));
  CHECK(s.mean_iterations(2) == doctest::Approx(1).epsilon(0.005));
}

TEST_CASE("tied brick: constraints hold at position and velocity level at the end of every step") {
  for (const double phi : {0.0, 0.5, 0.75})
    for (const double h : {1e-3, 2.5e-4}) {
      CAPTURE(phi);
      CAPTURE(h);
      Case c = tied(phi, h, 1);
      const std::size_t n = static_cast<std::size_t>(c.system().bilateral());
      CHECK(n == 24);
      Vector g(static_cast<std::size_t>(c.system().rows())), rate(g.size());
      double gap = 0, speed = 0, penetration = 0, momentum = 0;
      const RunStatus status = c.run(
          [&](const StepView&) {
            c.system().gaps(c.state().q, c.t(), all_rows, g);
            c.system().rates(c.state().q, c.state().v, c.t(), bilateral_rows, rate);
            for (std::size_t i = 0; i < n; ++i) {
              gap = std::max(gap, std::abs(g[i]));
              speed = std::max(speed, std::abs(rate[i]));
            }
            for (std::size_t i = n; i < g.size(); ++i) penetration = std::max(penetration, -g[i]);
            momentum = std::max(momentum, (c.momenta().linear - Vec3(140.4, 0, 0)).head<2>().norm());
          },
          true);
      CHECK(status == RunStatus::completed);
      CHECK(c.statistics().subdivided_steps == 0);
      CHECK(gap < 1e-10 * c.scales().length);
      CHECK(speed < 1e-10 * c.scales().speed);
      CHECK(penetration < 1e-10 * c.scales().length);
      CHECK(momentum < 1e-10 * 140.4);
    }
}

TEST_CASE("tied brick: free flight is of second order with mass on the vertices") {
  RigidReference reference = brick_reference();
  reference.advance_to(0.4);
  std::vector<double> steps, Omega, rotation;
  for (const double h : {2.5e-4, 1.25e-4, 6.25e-5}) {
    Case c = tied(0.5, h, 0.4);
    c.run();
    steps.push_back(h);
    Omega.push_back((c.angular_velocity("center") - reference.Omega).norm());
    rotation.push_back(angle_between(c.rotation("center"), reference.R()));
  }
  CHECK(fitted_order(steps, Omega) == doctest::Approx(2).epsilon(0.025));
  CHECK(fitted_order(steps, rotation) == doctest::Approx(2).epsilon(0.025));
}

TEST_CASE("tied brick: the velocity after the impact converges to the event-exact motion") {
  RigidReference after = brick_reference();
  const RigidReference::Impact exact = after.advance_to_impact(brick_edges, 0.8, 1);
  after.advance_to(0.5);
  std::vector<double> steps, Omega;
  for (const int n : {400, 800, 1600, 3200}) {
    const double h = exact.t / (n + 0.5);
    Case c = tied(0.5, h, 0.5);
    c.run();
    steps.push_back(h);
    Omega.push_back((c.angular_velocity("center") - after.Omega).norm());
  }
  CHECK(fitted_order(steps, Omega) > 0.9);
  CHECK(fitted_order(steps, Omega) < 1.2);
}

}  // namespace
