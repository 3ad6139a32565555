// The bouncing ball of data/models/bouncing_ball.json against its closed form: a ball dropped from z_0 = 1 m hits
// the floor after t_1 = sqrt(2 z_0/g), flight k takes 2 e^k sqrt(2 z_0/g), and for e < 1 infinitely many impacts end
// at t_1 (1 + e)/(1 - e).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double g = 9.81;
const double first_impact = std::sqrt(2 / g);

struct Bounces {
  std::vector<double> times, speeds;  ///< times of the impacts; gap velocities after them
  std::vector<double> apexes;         ///< largest heights of the flights between impacts
  double law = 0;                     ///< largest |v_{n+1} + e v_n| of all impacts
  double penetration = 0;
};

Bounces bounce(Case& c, double e, std::size_t most) {
  Bounces b;
  const int row = c.rows("floor")[0];
  double v_n = c.gap_velocity(row), apex = 0;
  c.run([&](const StepView& view) {
    const double v = c.gap_velocity(row);
    b.penetration = std::max(b.penetration, -c.gap(row));
    if (view.report.impacts > 0) {
      b.law = std::max(b.law, std::abs(v + e * v_n));
      if (!b.times.empty() && b.apexes.size() + 1 < most) b.apexes.push_back(apex);
      if (b.times.size() < most) {
        b.times.push_back(c.t());
        b.speeds.push_back(v);
      }
      apex = 0;
    }
    apex = std::max(apex, c.position("ball").z());
    v_n = v;
  });
  return b;
}

Case ball(double h, double e, double duration) {
  return Case("bouncing_ball",
              {set("/integrator/step", h), set("/parameters/restitution", e), set("/integrator/duration", duration),
               "/output/probes=[]", "/integrator/impact=\"published\""});
}

TEST_CASE("ball: impacts come at the times of the closed form and keep the fraction e of the speed") {
  for (const double h : {1e-2, 1e-3, 1e-4})
    for (const double e : {1.0, 0.8, 0.5}) {
      CAPTURE(h);
      CAPTURE(e);
      Case c = ball(h, e, 3);
      const Bounces b = bounce(c, e, 6);
      REQUIRE(b.times.size() >= 3);
      // the first impact is detected at the end of its step
      CHECK(b.times[0] >= first_impact - 1e-12);
      CHECK(b.times[0] <= first_impact + h);
      // so is every later impact, after a flight of 2 v/g with the speed after the previous impact
      for (std::size_t k = 1; k < b.times.size(); ++k) {
        const double expected = b.times[k - 1] + 2 * b.speeds[k - 1] / g;
        CHECK(b.times[k] >= expected - 1e-9);
        CHECK(b.times[k] <= expected + h + 1e-9);
      }
      CHECK(b.law < 1e-11 * c.scales().speed);
      CHECK(b.penetration < 1e-13);
      CHECK(c.statistics().position_residual < 1e-15);
    }
}

TEST_CASE("ball: times of impacts and speeds converge with first order") {
  const double e = 0.8;
  for (const double h : {1e-2, 1e-3, 1e-4, 1e-5}) {
    CAPTURE(h);
    Case c = ball(h, e, 2);
    const Bounces b = bounce(c, e, 4);
    REQUIRE(b.times.size() >= 3);
    // An impact is detected up to h late, and its law uses a speed up to h earlier, which is too small by up to g h. A
    // flight that starts slower by dv is shorter by 2 dv/g. The bounds add up:
    double t = first_impact, v = e * g * first_impact, dt = h, dv = e * g * h;
    for (std::size_t k = 0; k < b.times.size(); ++k) {
      CHECK(std::abs(b.times[k] - t) <= dt + 1e-12);
      CHECK(b.speeds[k] <= v + 1e-12);
      CHECK(b.speeds[k] >= v - dv);
      t += 2 * v / g;
      v *= e;
      dt += h + 2 * dv / g;
      dv = e * (dv + g * h);
    }
  }
}

TEST_CASE("ball: h = 1e-2 gives the discrete values of the method") {
  // exact at t = 0.45, the last time before the impact: 1 - g 0.45^2/2 and v = -4.4145
  Case fall = ball(1e-2, 0.8, 0.45);
  fall.run();
  CHECK(fall.position("ball").z() == doctest::Approx(0.0067375).epsilon(1e-12));

  // the step to 0.46 leaves z = 0 and v = 0.8 4.4145; the first apex on the grid is 36 steps later (independent
  // implementation)
  Case c = ball(1e-2, 0.8, 2);
  CHECK(bounce(c, 0.8, 3).apexes.at(0) == doctest::Approx(0.635688).epsilon(1e-10));

  // e = 1: v = 4.4145 reaches 4.4145^2/(2 g) = 0.9932625 after 45 steps, again and again
  Case elastic = ball(1e-2, 1, 10);
  const Bounces b = bounce(elastic, 1, 20);
  REQUIRE(b.apexes.size() > 8);
  for (const double apex : b.apexes) CHECK(apex == doctest::Approx(0.9932625).epsilon(1e-10));
}

TEST_CASE("ball: without restitution the first impact is the last") {
  for (const double h : {1e-2, 1e-3}) {
    Case c = ball(h, 0, 2);
    const Bounces b = bounce(c, 0, 5);
    CHECK(b.times.size() == 1);
    CHECK(b.times[0] == doctest::Approx(std::ceil(first_impact / h) * h).epsilon(1e-12));
    CHECK(b.speeds[0] == 0);
    CHECK(std::abs(c.gap(c.rows("floor")[0])) < 1e-15);
  }
}

TEST_CASE("ball: passes the accumulation point and rests for a million steps without chatter") {
  const double e = 0.8, end = first_impact * (1 + e) / (1 - e);
  CHECK(end == doctest::Approx(4.0637124).epsilon(2e-7));  // from a rounded first impact
  for (const double h : {1e-2, 1e-3}) {
    CAPTURE(h);
    Case c = ball(h, e, 5);
    const int row = c.rows("floor")[0];
    double last_open = 0;
    c.run([&](const StepView& view) {
      if (view.report.closed == 0) last_open = c.t();
    });
    // every speed is too small by up to e g h/(1 - e), which shortens the following flight: see above
    CHECK(last_open < end);
    CHECK(last_open > end - static_cast<double>(c.statistics().impacts) * 2 * e / (1 - e) * h);

    double speed = 0, force = 0, gap = 0;
    long closed = 0;
    const double seconds = h == 1e-3 ? 1000 : 100;
    c.run_for(seconds, [&](const StepView& view) {
      speed = std::max(speed, std::abs(c.gap_velocity(row)));
      force = std::max(force, std::abs(c.force(row) - g));
      gap = std::max(gap, std::abs(c.gap(row)));
      closed += view.report.closed;
    });
    CHECK(c.statistics().steps == std::lround(seconds / h));
    CHECK(closed == c.statistics().steps);
    CHECK(c.statistics().impacts == 0);  // always closed: no contact opens and closes again
    CHECK(speed < 1e-14);
    CHECK(gap < 1e-15);
    CHECK(force < 1e-12 * g);
  }
}

}  // namespace
