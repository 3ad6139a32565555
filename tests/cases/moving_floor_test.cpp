// Two balls on a floor that moves by z = a sin(omega t): closed forms of the motion of a point above this floor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// the parameters of the model
constexpr double g = 9.81, a = 0.013, frequency = 5, restitution = 0.5;
constexpr double omega = 2 * M_PI * frequency, period = 1 / frequency;

double floor_position(double t) { return a * std::sin(omega * t); }
double floor_velocity(double t) { return a * omega * std::cos(omega * t); }
double floor_acceleration(double t) { return -omega * omega * floor_position(t); }

// The carried ball leaves when the floor's acceleration is -g; the flight ends where the ball meets the floor again.
double leaving_time() { return std::asin(g / (a * omega * omega)) / omega; }
double landing_time() {
  const double t_1 = leaving_time();
  const auto gap = [&](double t) {
    const double s = t - t_1;
    return floor_position(t_1) + floor_velocity(t_1) * s - 0.5 * g * s * s - floor_position(t);
  };
  // the gap is positive first, then negative
  double low = t_1 + 0.05 * period, high = low;
  REQUIRE(gap(low) > 0);
  while (gap(high) > 0) high += 1e-3;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (gap(middle) > 0 ? low : high) = middle;
  }
  return low;
}

std::vector<std::string> with_step(double h) {
  return {set("/integrator/step", h), "/output/probes=[]", "/integrator/impact=\"published\""};
}

}  // namespace

TEST_CASE("moving floor: the carried ball leaves, flies and lands as the closed form says, to O(h)") {
  const double t_1 = leaving_time(), t_2 = landing_time();
  // the ball lands where the floor can carry it, and leaves again one period after the first time
  REQUIRE(t_2 < t_1 + period);
  REQUIRE(floor_acceleration(t_2) > -g);

  for (const double h : {1e-3, 1e-4, 1e-5}) {
    CAPTURE(h);
    Case balls("moving_floor", with_step(h));
    const int row = balls.rows("carry")[0];
    std::vector<double> leaving, landing;
    double force_error = 0, slip = 0, gap = 0, height_error = 0;
    bool closed_before = true;
    REQUIRE(balls.run([&](const StepView& view) {
      const double t = balls.t();
      const bool closed = balls.impulse(row) > 0;
      if (closed_before && !closed) leaving.push_back(t);
      if (!closed_before && closed) landing.push_back(t);
      if (closed) {
        // the ball stays on the floor and has its velocity (e = 0)
        gap = std::max(gap, std::abs(balls.gap(row)));
        slip = std::max(slip, std::abs(balls.velocity("carried").z() - floor_velocity(t)));
        // while the floor carries the ball the force is m (g + floor's acceleration), here in the middle of the step
        if (closed_before)
          force_error = std::max(force_error, std::abs(balls.force(row) - (g + floor_acceleration(t - 0.5 * h))));
      } else if (t > t_1 && t < t_2) {
        const double s = t - t_1;
        height_error = std::max(height_error, std::abs(balls.position("carried").z() - floor_position(t_1) -
                                                       floor_velocity(t_1) * s + 0.5 * g * s * s));
      }
      closed_before = closed;
      CHECK(view.report.smallest_gap > -1e-12);
    }) == RunStatus::completed);

    REQUIRE(leaving.size() == 10);
    REQUIRE(landing.size() == 10);
    for (std::size_t k = 0; k < leaving.size(); ++k) {
      CHECK(std::abs(leaving[k] - (t_1 + static_cast<double>(k) * period)) < 2 * h);
      CHECK(std::abs(landing[k] - (t_2 + static_cast<double>(k) * period)) < 2 * h);
    }
    // the ball leaves up to 2 h late, with an error of O(h^2) in its velocity
    CHECK(height_error < 2 * a * omega * omega * omega * h * h);
    CHECK(force_error < a * omega * omega * omega * h);
    CHECK(gap < 1e-10 * balls.scales().length);
    CHECK(slip < 1e-10 * balls.scales().speed);
  }
}

TEST_CASE("moving floor: the bouncing ball keeps its periodic orbit and obeys the impact law relative to the floor") {
  const double phase = std::acos(0.5 * g * period * (1 - restitution) / ((1 + restitution) * a * omega));
  for (const double h : {1e-3, 1e-4, 1e-5}) {
    CAPTURE(h);
    Case balls("moving_floor", with_step(h));
    const int row = balls.rows("bounce")[0];
    std::vector<double> times, speeds;
    double law = 0, before = balls.gap_velocity(row);
    REQUIRE(balls.run([&](const StepView&) {
      const double after = balls.gap_velocity(row);
      if (balls.impulse(row) > 0) {
        times.push_back(balls.t());
        speeds.push_back(balls.velocity("bouncing").z());
        law = std::max(law, std::abs(after + restitution * before));
      }
      before = after;
    }) == RunStatus::completed);

    REQUIRE(times.size() == 10);
    for (std::size_t k = 0; k < times.size(); ++k) {
      CHECK(std::abs(times[k] - (phase / omega + static_cast<double>(k) * period)) < 4 * h);
      CHECK(std::abs(speeds[k] - 0.5 * g * period) < 4 * h * g);
    }
    CHECK(law < 1e-11 * balls.scales().speed);
  }
}

TEST_CASE("obstacles and drivers that jump end the run, but whole turns of an angle do not") {
  const auto run_of = [](const std::string& rest, const std::string& method) {
    return test::ModelRun::of_text(R"x({"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
                  "position": [0, 0, 0.1]}],)x" +
                                   rest + R"x(, "integrator": {"type": ")x" + method +
                                   R"x(", "step": 1e-2, "duration": 0.8}})x");
  };
  const auto floor = [](const std::string& motion) {
    return R"x("contacts": [{"name": "floor", "on": "b", "restitution": 0,
      "obstacle": {"type": "plane", "normal": [0, 0, 1], "motion": {)x" +
           motion + "}}}]";
  };
  const auto joint = [](const std::string& type, const std::string& driver) {
    return R"x("joints": [{"name": "j", "type": ")x" + type + R"x(", "of": ["ground", "b"], "axis": [0, 0, 1],
      "driver": {)x" +
           driver + "}}]";
  };
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "moreau_jean", "cd_lagrange"}) {
    CAPTURE(method);
    for (const std::string& rest : {floor(R"x("translation": [0, 0, "t < 0.537 ? 0 : 0.05"])x"),
                                    floor(R"x("rotation": {"axis": [0, 0, 1], "angle": "3*t + 0.1*step(t - 0.537)"})x"),
                                    joint("prismatic", R"x("displacement": "t + 0.1*sign(t - 0.537)")x"),
                                    joint("revolute", R"x("angle": "mod(2*t, 1.074)")x")}) {
      CAPTURE(rest);
      test::ModelRun run = run_of(rest, method);
      CHECK(run.run() == RunStatus::failed);
      CHECK(text_of(run.report.reason) == std::string(text_of(FailureReason::jumping_formula)));
      CHECK(run.report.failed_item.starts_with("/"));
      CHECK(run.state().t == doctest::Approx(0.537).epsilon(1e-4));
    }
    // where steps and their parts end
    CHECK(run_of(joint("prismatic", R"x("displacement": "t < 0.5 ? 0 : 0.1")x"), method).run() == RunStatus::failed);
    for (const std::string& rest : {floor(R"x("translation": [0, 0, "smoothstep(0.5, 0.6, t)*0.05"])x"),
                                    floor(R"x("translation": [0, 0, "0.1*max(0, t - 0.537)"])x"),
                                    joint("revolute", R"x("angle": "mod(20*t, 2*pi)")x")}) {
      CAPTURE(rest);
      CHECK(run_of(rest, method).run() == RunStatus::completed);
    }
  }
}

// A floor that stops at once cannot hold what lies on it.
TEST_CASE("a mass flies on where a floor that lifts it stops, or a driven carriage") {
  const std::string table = R"({"times": [0, 0.1, 0.2], "values": [0, 0, 0.1]})";
  for (const char* method : {"event_driven", "nsga_decoupled", "moreau_jean"})
    for (const double h : {1e-2, 1e-3, 1e-4})
      for (const bool driven : {false, true}) {
        CAPTURE(method);
        CAPTURE(h);
        CAPTURE(driven);
        carom::test::ModelRun run = carom::test::ModelRun::of_text(
            R"({"format": 1, "gravity": [0, 0, -9.81],
            "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0.1]},
                       {"name": "heavy", "type": "point_mass", "mass": 1e4, "position": [9, 0, 9]})" +
            (driven ? R"(, {"name": "c", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, -0.5],
                          "shape": {"type": "sphere", "radius": 0.5}}],
            "joints": [{"name": "lift", "type": "prismatic", "of": ["ground", "c"], "axis": [0, 0, 1],
                        "driver": {"displacement": )" +
                          table + R"(}}],
            "contacts": [{"name": "floor", "between": ["c", "a"]}],)"
                    : R"(], "contacts": [{"name": "floor", "on": "a", "obstacle": {"type": "plane",
                        "normal": [0, 0, 1], "motion": {"translation": [0, 0, )" +
                          table + R"(]}}}],)") +
            R"("integrator": {"type": ")" + method + R"(", "step": )" + std::to_string(h) + R"(, "duration": 0.3}})");
        REQUIRE(run.run() == RunStatus::completed);
        CHECK(std::abs(run.position("a").z() - 0.25095) < 0.6 * h + 1e-6);
      }
}
