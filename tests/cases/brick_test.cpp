// Impact of a spinning rigid parallelepiped ([DS20] 4.1; data/models/brick.json) against an event-exact solution.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "case_runner.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double e = 0.8;
constexpr double impact_time = 0.415285603;  // independent implementation, event-exact

// The first impact, and the largest violations of constraints and impact law.
struct Run {
  double t = 0, rate_n = 0, impulse = 0, energy_after = 0;
  int vertex = -1;
  long impacts = 0;
  double momentum = 0;  ///< largest change of the momentum along the floor
  double law = 0;       ///< largest |g'_{n+1} + e g'_n| of a row with an impulse
  double gap = 0;       ///< largest |gap| of an active row
};

Run solve(Case& c) {
  Run run;
  const std::vector<int>& rows = c.rows("floor");
  std::array<double, 8> rate_n{};
  const Vec3 momentum = c.momenta().linear;
  c.run(
      [&](const StepView& view) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const double rate = c.gap_velocity(rows[i]);
          if (view.state.step > 0 && c.impulse(rows[i]) > 0) {
            run.law = std::max(run.law, std::abs(rate + e * rate_n[i]));
            run.gap = std::max(run.gap, std::abs(c.gap(rows[i])));
            if (run.vertex < 0) {
              run.t = c.t();
              run.vertex = static_cast<int>(i);
              run.rate_n = rate_n[i];
              run.impulse = c.impulse(rows[i]);
              run.energy_after = c.energy();
            }
          }
          rate_n[i] = rate;
        }
        run.momentum = std::max(run.momentum, (c.momenta().linear - momentum).head<2>().norm());
      },
      true);
  run.impacts = c.statistics().impacts;
  return run;
}

const std::string published = "/integrator/impact=\"published\"";

Case brick(double h, double duration, bool corrections = true) {
  return Case("brick", {set("/integrator/step", h), set("/integrator/duration", duration), "/output/probes=[]",
                        published, std::string("/integrator/force_corrections=") + (corrections ? "true" : "false")});
}

TEST_CASE("brick: the event-exact reference has the figures of the independent implementation") {
  // values of an independent implementation
  RigidReference b = brick_reference();
  const RigidReference::Impact impact = b.advance_to_impact(brick_edges, e, 1);
  CHECK(std::abs(impact.t - impact_time) < 1e-9);
  CHECK(impact.vertex == 5);
  CHECK(std::abs(impact.rate_before + 13.061164) < 1e-6);
  CHECK(std::abs(impact.impulse - 500.757659) < 1e-6);
  CHECK(std::abs(b.energy() - 1630.260229) < 1e-6);
  CHECK(std::abs(b.v.z() - 6.625998) < 1e-6);
  CHECK((b.Omega - Vec3(-20.279995, -25.405483, -30.626666)).norm() < 2e-6);
  CHECK(b.advance_to_impact(brick_edges, e, 1).vertex == -1);
}

TEST_CASE("brick: one impact before t = 1, of vertex 5, in the step that contains its time") {
  for (const double h : {1e-3, 5e-4, 2e-4, 1e-4, 1e-5}) {
    CAPTURE(h);
    Case c = brick(h, h < 5e-5 ? 0.5 : 1);
    const Run run = solve(c);
    CHECK(run.impacts == 1);
    CHECK(run.vertex == 5);
    // the smooth motion has an error of O(h^2), so the impact may be a small part of a step late
    CHECK(run.t > impact_time - 100 * h * h);
    CHECK(run.t <= impact_time + h + 100 * h * h);
    CHECK(run.law < 1e-10 * c.scales().speed);
    CHECK(run.gap < 1e-14);  // roundoff of positions near 1 m
    CHECK(run.momentum < 1e-13 * 46.8 * 3);
    CHECK(c.statistics().subdivided_steps == 0);
    CHECK(c.statistics().position_residual < 1e-10 * c.scales().length);
    CHECK(c.statistics().velocity_residual < 1e-10 * c.scales().speed);
  }
}

TEST_CASE("brick: energy after the impact is that of the independent implementation of the method") {
  // independent implementation: 1723 J at h = 1e-3, 1647 at 1e-4, 1631.5 at 1e-5; event-exact 1630.260229
  const struct {
    double h, energy, tolerance;
  } figures[] = {{1e-3, 1723, 0.5}, {1e-4, 1647, 0.5}, {1e-5, 1631.5, 0.05}};
  for (const auto& f : figures) {
    CAPTURE(f.h);
    Case c = brick(f.h, 0.5);
    c.run();
    CHECK(std::abs(c.energy() - f.energy) < f.tolerance);
  }
}

TEST_CASE("brick: impulse, gap rate and the motion after the impact converge with first order") {
  // The law uses the gap rate at t_n, so the error is proportional to the time from t_n to the impact. Steps that place
  // the impact at the same phase of a step show the order clearly.
  RigidReference after = brick_reference();
  const RigidReference::Impact exact = after.advance_to_impact(brick_edges, e, 1);
  after.advance_to(0.5);
  for (const double phase : {0.25, 0.5, 0.75}) {
    CAPTURE(phase);
    std::vector<double> steps, Omega, impulse, rate, energy, rotation;
    for (const int n : {1600, 3200, 6400, 12800, 25600}) {
      const double h = exact.t / (n + phase);
      Case c = brick(h, 0.5);
      const Run run = solve(c);
      REQUIRE(run.vertex == 5);
      CHECK(run.t == doctest::Approx((n + 1) * h).epsilon(1e-12));
      steps.push_back(h);
      impulse.push_back(std::abs(run.impulse - exact.impulse));
      rate.push_back(std::abs(run.rate_n - exact.rate_before));
      Omega.push_back((c.angular_velocity("brick") - after.Omega).norm());
      rotation.push_back(angle_between(c.rotation("brick"), after.R()));
      energy.push_back(std::abs(c.energy() - after.energy()));
    }
    for (const auto* error : {&Omega, &impulse, &rate, &rotation, &energy}) {
      CHECK(fitted_order(steps, *error) > 0.9);
      CHECK(fitted_order(steps, *error) < 1.15);
    }
  }
}

TEST_CASE("brick: over steps of any phase the order after the impact is about one, with scatter") {
  RigidReference after = brick_reference();
  after.advance_to_impact(brick_edges, e, 1);
  after.advance_to(0.5);
  std::vector<double> steps, Omega;
  for (int n = 0; n < 24; ++n) {
    const double h = 0.5 / std::round(0.5 / (1e-3 * std::pow(10, -n / 12.0)));
    Case c = brick(h, 0.5);
    c.run();
    steps.push_back(h);
    Omega.push_back((c.angular_velocity("brick") - after.Omega).norm());
  }
  CHECK(fitted_order(steps, Omega) > 0.75);
  CHECK(fitted_order(steps, Omega) < 1.25);
}

TEST_CASE("brick: velocities right after the impact converge to the event-exact ones") {
  // value of an independent implementation
  Case c = brick(1e-5, 0.41529);
  const Run run = solve(c);
  REQUIRE(run.vertex == 5);
  CHECK(run.rate_n == doctest::Approx(-13.061164).epsilon(1e-3));
  CHECK(run.impulse == doctest::Approx(500.757659).epsilon(1e-3));
  CHECK(c.velocity("brick").z() == doctest::Approx(6.625998).epsilon(1e-3));
  CHECK((c.angular_velocity("brick") - Vec3(-20.279995, -25.405483, -30.626666)).norm() < 0.05);
}

TEST_CASE("brick: h = 1e-2 converges without subdivision, with and without force corrections") {
  for (const bool corrections : {true, false}) {
    CAPTURE(corrections);
    Case c = brick(1e-2, 1, corrections);
    const Run run = solve(c);
    CHECK(c.statistics().steps == 100);
    CHECK(c.statistics().subdivided_steps == 0);
    CHECK(run.momentum < 1e-13 * 46.8 * 3);
    CHECK(run.law < 1e-10 * c.scales().speed);
  }
}

TEST_CASE("brick: DSn is of first order after the impact too, and solves the velocity jump at once") {
  RigidReference after = brick_reference();
  const RigidReference::Impact exact = after.advance_to_impact(brick_edges, e, 1);
  after.advance_to(0.5);
  std::vector<double> steps, with, without;
  for (const int n : {400, 800, 1600, 3200, 6400, 12800}) {
    const double h = exact.t / (n + 0.5);
    Case ds = brick(h, 0.5), dsn = brick(h, 0.5, false);
    ds.run();
    dsn.run();
    steps.push_back(h);
    with.push_back((ds.angular_velocity("brick") - after.Omega).norm());
    without.push_back((dsn.angular_velocity("brick") - after.Omega).norm());
    // without force corrections the velocity jump is linear
    CHECK(dsn.statistics().iterations[2].max == 1);
  }
  for (const auto* error : {&with, &without}) {
    CHECK(fitted_order(steps, *error) > 0.9);
    CHECK(fitted_order(steps, *error) < 1.15);
  }
}

}  // namespace
