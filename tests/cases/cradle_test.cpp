// Newton's cradle with e = 1: closed forms of Newton's impact law for equal balls in a line.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "case_runner.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

std::array<double, 5> velocities(const Case& cradle) {
  std::array<double, 5> v{};
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = cradle.velocity("ball_" + std::to_string(i + 1)).x();
  return v;
}

}  // namespace

TEST_CASE("cradle: with gaps the last ball leaves with the whole speed, one impact after the other") {
  for (const double h : {1e-3, 7e-3, 2e-2}) {
    CAPTURE(h);
    Case cradle("cradle", {set("/integrator/step", h)});
    std::vector<double> impact_times;
    double worst_energy = 0, worst_momentum = 0;
    REQUIRE(cradle.run([&](const StepView& view) {
      if (view.report.impacts > 0) impact_times.push_back(cradle.t());
      worst_energy = std::max(worst_energy, std::abs(cradle.energy() - 0.5));
      worst_momentum = std::max(worst_momentum, (cradle.momenta().linear - Vec3(1, 0, 0)).norm());
    }) == RunStatus::completed);

    const auto v = velocities(cradle);
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(v[i]) < 1e-14);
    CHECK(std::abs(v[4] - 1) < 1e-14);
    CHECK(worst_energy < 1e-14);
    CHECK(worst_momentum < 1e-14);

    // gaps of 0.1 at speed 1; each impact is detected at the end of its step, which delays the next impact by up to h
    REQUIRE(impact_times.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const double k = static_cast<double>(i + 1);
      CHECK(impact_times[i] > 0.1 * k - 1e-9);
      CHECK(impact_times[i] < 0.1 * k + k * h + 1e-9);
    }
  }
}

TEST_CASE("cradle: when all balls touch, Newton's law gives (-3, 2, 2, 2, 2)/5") {
  // Momentum is conserved, and v_{i+1} - v_i after the impact is -e times its value before in all four contacts: -(0 -
  // 1) = 1 in the first, 0 in the others.
  Case cradle("cradle", {"/parameters/gap=0"});
  const double expected[] = {-0.6, 0.4, 0.4, 0.4, 0.4};
  double worst_energy = 0, worst_momentum = 0, worst_velocity = 0;
  REQUIRE(cradle.run([&](const StepView&) {
    const auto v = velocities(cradle);
    for (std::size_t i = 0; i < v.size(); ++i) worst_velocity = std::max(worst_velocity, std::abs(v[i] - expected[i]));
    worst_energy = std::max(worst_energy, std::abs(cradle.energy() - 0.5));
    worst_momentum = std::max(worst_momentum, (cradle.momenta().linear - Vec3(1, 0, 0)).norm());
  }) == RunStatus::completed);
  CHECK(worst_velocity < 1e-14);  // from the first step on: one impact, then free motion
  CHECK(worst_energy < 1e-14);
  CHECK(worst_momentum < 1e-14);
  CHECK(cradle.statistics().impacts == 4);
  CHECK(cradle.statistics().subdivided_steps == 0);
}

TEST_CASE("cradle: balls that hang and touch are struck together, in every method and at every step") {
  // pendulums of 0.3 m, of which the first one falls from 0.6 rad: v_1 = (1 - 4 e)/5 v and (1 + e)/5 v for the others
  const double e = 0.9;
  for (const std::string method : {"nsga_decoupled", "nsga_coupled", "moreau_jean"})
    for (const double h : {5e-3, 1e-3, 4e-4}) {
      CAPTURE(method);
      CAPTURE(h);
      std::string bodies, joints, names;
      for (int i = 0; i < 5; ++i) {
        const double angle = i == 0 ? 0.6 : 0;
        bodies += fmt::format(
            R"({}{{"name": "b{}", "type": "rigid", "mass": 0.2, "shape": {{"type": "sphere", "radius": 0.02}},
          "position": [{}, 0, {}], "orientation": {{"axis": [0, 1, 0], "angle": {}}},
          "points": [{{"name": "t", "at": [0, 0, 0.3]}}]}})",
            i == 0 ? "" : ", ", i, 0.04 * i - 0.3 * std::sin(angle), 0.3 * (1 - std::cos(angle)), angle);
        joints +=
            fmt::format(R"({}{{"name": "j{}", "type": "revolute", "of": ["ground", "b{}.t"], "axis": [0, 1, 0]}})",
                        i == 0 ? "" : ", ", i, i);
        names += fmt::format(R"({}"b{}")", i == 0 ? "" : ", ", i);
      }
      Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81], "bodies": [{}], "joints": [{}],
        "contacts": [{{"name": "c", "between": [{}], "restitution": {}}}],
        "integrator": {{"type": "{}", "step": {}, "duration": 0.3}}}})",
                                           bodies, joints, names, e, method, h));
      REQUIRE(c.run() == RunStatus::completed);
      // shortly after the impact at 0.2812 s, with the speed of 1.013
      CHECK(c.velocity("b0").x() == doctest::Approx((1 - 4 * e) / 5 * 1.013).epsilon(0.04));
      CHECK(c.velocity("b4").x() == doctest::Approx((1 + e) / 5 * 1.013).epsilon(0.04));
    }
}

TEST_CASE("cradle: touching balls with any restitution keep the momentum and obey Newton's law in every contact") {
  // v_1 = (1 - 4 e)/5 and (1 + e)/5 for the others, from the same two conditions
  for (const double e : {0.0, 0.25, 0.5, 0.9}) {
    CAPTURE(e);
    Case cradle("cradle", {"/parameters/gap=0", set("/contacts/0/restitution", e), "/integrator/duration=0.01"});
    REQUIRE(cradle.run() == RunStatus::completed);
    const auto v = velocities(cradle);
    CHECK(v[0] == doctest::Approx((1 - 4 * e) / 5).epsilon(1e-13));
    for (std::size_t i = 1; i < v.size(); ++i) CHECK(v[i] == doctest::Approx((1 + e) / 5).epsilon(1e-13));
  }
}
