// Contacts between the ends of a step: bodies turn on the way, obstacles move.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/cases/case_runner.hpp"

using namespace carom;
using carom::cases::Case;

namespace {

// An arm of 10 m that turns by 10 rad/s meets an obstacle and springs back.
double rate_at_end(const std::string& method, double h, const char* obstacle) {
  Case c = Case::from_text(fmt::format(R"x({{"format": 1,
    "bodies": [{{"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "angular_velocity": [0, 0, 10],
                "points": [{{"name": "tip", "at": [10, 0, 0]}}]}}],
    "joints": [{{"name": "j", "type": "revolute", "of": ["ground", "a"], "axis": [0, 0, 1]}}],
    "contacts": [{{"name": "c", "on": "a.tip", "restitution": 1, "obstacle": {}}}],
    "integrator": {{"type": "{}", "step": {}, "duration": 0.2}}}})x",
                                       obstacle, method, h));
  REQUIRE(c.run() == RunStatus::completed);
  return c.angular_velocity("a").z();
}

}  // namespace

TEST_CASE("an arm sweeps through no ball between the ends of a step") {
  // on the circle of the tip, where the chord passes it by
  constexpr const char* ball = R"({"type": "sphere", "center": [4.3095, 9.0235, 0], "radius": 0.05})";
  for (const char* method :
       {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven", "moreau_jean", "cd_lagrange"})
    for (const double h : {0.0285, 0.025, 0.02, 0.01}) {
      CAPTURE(method);
      CAPTURE(h);
      CHECK(rate_at_end(method, h, ball) == doctest::Approx(-10).epsilon(5e-3));
    }
}

// Where the law takes the rate at the start of the step, an impact that grazes the floor gains energy.
TEST_CASE("an arm dips into no floor between the ends of a step") {
  // 5 cm below the top of the circle
  constexpr const char* floor = R"({"type": "plane", "point": [0, 9.95, 0], "normal": [0, -1, 0]})";
  for (const char* method : {"nsga_decoupled", "event_driven"})
    for (const double h : {0.0285, 0.025, 0.02, 0.01})
      CHECK(rate_at_end(method, h, floor) == doctest::Approx(-10).epsilon(1e-6));
}

TEST_CASE("an obstacle on a circle goes through no body between the ends of a step") {
  for (const double h : {0.2, 0.1, 0.05, 0.01}) {
    CAPTURE(h);
    Case c = Case::from_text(fmt::format(R"x({{"format": 1,
      "bodies": [{{"name": "a", "type": "point_mass", "mass": 1, "position": [0.0207948, 0.9997838, 0]}}],
      "contacts": [{{"name": "c", "on": "a", "restitution": 1,
                    "obstacle": {{"type": "sphere", "center": [1, 0, 0], "radius": 0.05,
                                 "motion": {{"rotation": {{"axis": [0, 0, 1], "angle": "10*t"}}}}}}}}],
      "integrator": {{"type": "nsga_decoupled", "step": {}, "duration": 0.2}}}})x",
                                         h));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.velocity("a") - Vec3(-19.973, 0.915, 0)).norm() < 0.1);
  }
}
