// The work of obstacles and joints that move, in every method.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "energy_account.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr const char* rigid_methods[] = {"nsga_decoupled", "nsga_coupled",    "nsga_monolithic", "nsga_pva",
                                         "moreau_jean",    "paoli_schatzman", "carpenter",       "cd_lagrange"};

Account run(const std::string& model) {
  Case c = Case::from_text(model);
  const Account a = account(c);
  REQUIRE(a.status == RunStatus::completed);
  return a;
}

}  // namespace

// The guard, which counts the impulses of some methods as forces, measures the powers only beside a spring.
TEST_CASE("ledger: a plate that lifts a mass gives its weight times the way, in every method") {
  for (const char* method : rigid_methods)
    for (const bool spring : {false, true}) {
      CAPTURE(method);
      CAPTURE(spring);
      const Account a = run(fmt::format(
          R"({{"format": 1, "gravity": [0, 0, -9.81], "ground": [{{"name": "o", "at": [3, 0, 2]}}],
          "bodies": [{{"name": "a", "type": "point_mass", "mass": 6, "velocity": [0, 0, 0.5]}},
                     {{"name": "b", "type": "point_mass", "mass": 1e-3, "position": [3, 0, 0]}}],
          {}
          "contacts": [{{"name": "c", "on": ["a"], "obstacle": {{"type": "plane", "normal": [0, 0, 1],
            "motion": {{"translation": [0, 0, "0.5*t"]}}}}}}],
          "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.4}}}})",
          spring ? R"("springs": [{"name": "s", "of": ["ground.o", "b"], "stiffness": 0.1}],)" : "", method));
      CHECK(a.balance.drivers == doctest::Approx(6 * 9.81 * 0.2).epsilon(1e-9));
      CHECK(std::abs(a.balance.closure) < 1e-12 * a.balance.scale);
      CHECK(a.statistics.growth < 1e-3);
    }
}

TEST_CASE("ledger: a driven distance that lifts a mass gives its weight times the way, in every method") {
  for (const char* method : rigid_methods) {
    CAPTURE(method);
    const Account a = run(fmt::format(
        R"({{"format": 1, "gravity": [0, 0, -9.81], "ground": [{{"name": "o", "at": [0, 0, 2]}}],
        "bodies": [{{"name": "a", "type": "point_mass", "mass": 6, "velocity": [0, 0, 0.5]}}],
        "joints": [{{"name": "d", "type": "distance", "of": ["ground.o", "a"], "length": "2-0.5*t"}}],
        "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.4}}}})",
        method));
    CHECK(a.balance.drivers == doctest::Approx(6 * 9.81 * 0.2).epsilon(1e-6));
    CHECK(std::abs(a.balance.numerical) < 1e-5);
    CHECK(a.statistics.growth < 1e-3);
  }
}

// A paddle throws a ball up; paoli_schatzman takes several steps for an impact, the first of which takes energy that
// the next gives back.
TEST_CASE("ledger: methods at position level throw a ball from a moving obstacle without growth") {
  for (const char* method : {"paoli_schatzman", "carpenter"})
    for (const double e : {0.0, 0.5, 0.9}) {
      if (std::string(method) == "carpenter" && e > 0) continue;
      for (const char* motion : {"-0.5*t", "0.05*sin(20*t)", "0.3*sin(3*t)"}) {
        CAPTURE(method);
        CAPTURE(e);
        CAPTURE(motion);
        const Account a = run(fmt::format(
            R"({{"format": 1, "gravity": [0, 0, -9.81],
            "bodies": [{{"name": "a", "type": "point_mass", "mass": 6, "velocity": [0, 0, 0.5]}}],
            "contacts": [{{"name": "c", "on": ["a"], "restitution": {}, "obstacle": {{"type": "plane",
              "normal": [0, 0, 1], "motion": {{"translation": [0, 0, "{}"]}}}}}}],
            "integrator": {{"type": "{}", "step": 1e-3, "duration": 2}}}})",
            e, motion, method));
        CHECK(a.statistics.growth < 0.05);
        CHECK(std::abs(a.balance.closure) < 1e-12 * a.balance.scale);
      }
    }
}

// x'' = -4 (x - 1): the largest stable step is 1, and T + V of the highest motion varies by 1/(1 - h^2).
TEST_CASE("explicit methods run with steps right below the stable one") {
  for (const char* method : {"cd_lagrange", "paoli_schatzman", "carpenter"})
    for (const double h : {0.8, 0.9, 0.99, 0.9999}) {
      CAPTURE(method);
      CAPTURE(h);
      Case c = Case::from_text(fmt::format(
          R"({{"format": 1, "ground": [{{"name": "o", "at": [0, 0, 0]}}],
          "bodies": [{{"name": "a", "type": "point_mass", "mass": 2, "position": [1, 0, 0], "velocity": [0.01, 0, 0]}}],
          "springs": [{{"name": "s", "of": ["ground.o", "a"], "stiffness": 8, "natural_length": 1}}],
          "integrator": {{"type": "{}", "step": {}, "duration": 400}}}})",
          method, h));
      CHECK(c.run() == RunStatus::completed);
    }
}

// A rough bearing whose stop is hit: friction of the same step as an impact dissipates, too.
TEST_CASE("ledger: friction of a joint that hits its stop is what its rates and impulses tell, in every method") {
  double first = 0;
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean"}) {
    CAPTURE(method);
    const Account a = run(fmt::format(
        R"({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "a", "type": "rigid", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [0.5, 0, 0],
                     "points": [{{"name": "p", "at": [-0.5, 0, 0]}}]}}],
        "joints": [{{"name": "j", "type": "revolute", "of": ["ground", "a.p"], "axis": [0, 1, 0],
                     "stops": {{"upper": 0.7, "restitution": 0.6}}, "friction": {{"coefficient": 0.3, "radius": 0.05}}}}],
        "integrator": {{"type": "{}", "step": 1e-4, "duration": 0.6}}}})",
        method));
    CHECK(a.balance.friction < -0.1);
    if (first == 0) first = a.balance.friction;
    CHECK(a.balance.friction == doctest::Approx(first).epsilon(0.01));
    CHECK(std::abs(a.balance.closure) < 1e-9 * a.balance.scale);
  }
}

// Directions of the end of a step would let it slip at the start.
TEST_CASE("ledger: friction of what sticks to an arm or a table that turns has no work") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva"}) {
    CAPTURE(method);
    const Account arm = run(fmt::format(
        R"({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "base", "type": "rigid", "mass": 3, "inertia": [1, 1, 1], "angular_velocity": [0, 0, 6]}},
                   {{"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0, 0],
                     "velocity": [0, 3, 0], "angular_velocity": [0, 0, 6]}}],
        "joints": [{{"name": "d", "type": "revolute", "of": ["ground", "base"], "axis": [0, 0, 1],
                     "driver": {{"angle": "6*t"}}}},
                   {{"name": "j", "type": "prismatic", "of": ["base", "b"], "axis": [1, 0, 0],
                     "friction": {{"coefficient": 3}}}}],
        "integrator": {{"type": "{}", "step": 1e-2, "duration": 0.5}}}})",
        method));
    CHECK(std::abs(arm.balance.friction) < 1e-9);
    CHECK(std::abs(arm.balance.closure) < 1e-9 * arm.balance.scale);
    const Account table = run(fmt::format(
        R"({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "p", "type": "point_mass", "mass": 1, "position": [0.5, 0, 0], "velocity": [0, 3, 0]}}],
        "contacts": [{{"name": "c", "on": "p", "friction": 3,
                       "obstacle": {{"type": "plane", "normal": [0, 0, 1],
                                     "motion": {{"rotation": {{"axis": [0, 0, 1], "angle": "6*t"}}}}}}}}],
        "integrator": {{"type": "{}", "step": 1e-2, "duration": 0.5}}}})",
        method));
    CHECK(std::abs(table.balance.friction) < 1e-9);
    CHECK(std::abs(table.balance.drivers) < 1e-9);
    CHECK(std::abs(table.balance.closure) < 1e-9 * table.balance.scale);
  }
}
