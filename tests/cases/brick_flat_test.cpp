// A box falls flat (data/models/brick_flat.json): four vertices close at once, and the rank of their rows is three.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double weight = 46.8 * 9.81;

Case box(double height, double yaw, double restitution, double h = 1e-3) {
  return Case("brick_flat", {set("/parameters/height", height), set("/parameters/yaw", yaw),
                             set("/parameters/restitution", restitution), set("/integrator/step", h),
                             "/output/probes=[]", "/integrator/impact=\"published\""});
}

// Largest deviations from rest over a run.
struct Rest {
  double force = 0, rotation = 0, drift = 0, height = 0, speed = 0, spin = 0;
  long closed_fewer = 0;  ///< steps with fewer than three closed vertices
};

Rest rest(Case& c, double seconds) {
  Rest worst;
  const Mat3 R = c.rotation("box");
  const Vec3 x = c.position("box");
  const RunStatus status = c.run_for(seconds, [&](const StepView& view) {
    double force = 0;
    for (const int row : c.rows("floor")) force += c.force(row);
    worst.force = std::max(worst.force, std::abs(force - weight));
    worst.rotation = std::max(worst.rotation, angle_between(c.rotation("box"), R));
    worst.drift = std::max(worst.drift, (c.position("box") - x).head<2>().norm());
    worst.height = std::max(worst.height, std::abs(c.position("box").z() - 0.15));
    worst.speed = std::max(worst.speed, c.velocity("box").norm());
    worst.spin = std::max(worst.spin, c.angular_velocity("box").norm());
    if (view.report.closed < 3) ++worst.closed_fewer;
  });
  CHECK(status == RunStatus::completed);
  CHECK(c.statistics().subdivided_steps == 0);
  return worst;
}

TEST_CASE("flat box: at rest the contact forces sum to the weight, without rotation or drift, for 1e5 steps") {
  for (const double yaw : {0.0, 0.7}) {
    CAPTURE(yaw);
    Case c = box(0.1, yaw, 0.3);
    REQUIRE(c.run_for(2) == RunStatus::completed);
    const Vec3 x = c.position("box");
    CHECK(x.head<2>().norm() < 1e-12);
    const Rest worst = rest(c, 100);
    CHECK(worst.force < 1e-9 * weight);
    CHECK(worst.rotation < 1e-9);
    CHECK(worst.drift < 1e-12);
    CHECK(worst.height < 1e-14);
    CHECK(worst.speed < 1e-12);
    CHECK(worst.spin < 1e-12);
    CHECK(worst.closed_fewer == 0);
    CHECK(c.statistics().impacts == 0);
  }
}

TEST_CASE("flat box: comes to rest for every restitution below one") {
  // dropped from 0.1 m: bouncing ends before sqrt(2 0.1/g) (1 + e)/(1 - e), as for a ball
  for (const double e : {0.0, 0.3, 0.8})
    for (const double yaw : {0.0, 0.7}) {
      CAPTURE(e);
      CAPTURE(yaw);
      Case c = box(0.1, yaw, e);
      double spin = 0, law = 0;
      Vec3 v_n = c.velocity("box");
      c.run_for(std::sqrt(0.2 / 9.81) * (1 + e) / (1 - e) + 0.1, [&](const StepView& view) {
        spin = std::max(spin, c.angular_velocity("box").norm());
        if (view.report.impacts > 0) law = std::max(law, std::abs(c.velocity("box").z() + e * v_n.z()));
        v_n = c.velocity("box");
      });
      // flat impacts do not rotate the box, and each impact follows the law of a ball
      CHECK(spin < 1e-10);
      CHECK(law < 1e-10);
      const Rest worst = rest(c, 1);
      CHECK(worst.force < 1e-9 * weight);
      CHECK(worst.speed < 1e-12);
    }
}

TEST_CASE("flat box: starts closed and stays") {
  for (const double yaw : {0.0, 0.7}) {
    Case c = box(0, yaw, 0.3);
    const Rest worst = rest(c, 2);
    CHECK(worst.force < 1e-9 * weight);
    CHECK(worst.height < 1e-14);
    CHECK(worst.speed < 1e-12);
    CHECK(worst.rotation < 1e-12);
  }
}

TEST_CASE("flat box: an initial penetration is reported, corrected in the first step and leaves no speed") {
  for (const double yaw : {0.0, 0.7}) {
    Case c = box(-1e-3, yaw, 0.3);
    REQUIRE(c.model().warnings.size() == 1);
    CHECK(c.model().warnings[0].find("the deepest of 4") != std::string::npos);
    REQUIRE(c.run_for(c.h()) == RunStatus::completed);
    CHECK(c.position("box").z() == doctest::Approx(0.15).epsilon(1e-14));
    const Rest worst = rest(c, 2);
    CHECK(worst.force < 1e-9 * weight);
    CHECK(worst.height < 1e-14);
    CHECK(worst.speed < 1e-12);
    CHECK(worst.rotation < 1e-12);
  }
}

}  // namespace
