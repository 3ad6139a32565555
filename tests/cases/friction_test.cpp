// Coulomb friction of single points, blocks, balls and rods against closed forms: of the given step size (to rounding),
// of continuous time (with the order of the method), and of motions that do not depend on either.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "energy_account.hpp"
#include "friction_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double g = 9.81;

Case incline(double slope, double friction, double v_0, double h, const std::string& method = "nsga_decoupled") {
  std::vector<std::string> settings = {set("/parameters/slope", slope),
                                       set("/parameters/friction", friction),
                                       set("/parameters/v_0", v_0),
                                       set("/integrator/step", h),
                                       "/output/probes=[]",
                                       "/expect=[]"};
  if (method != "nsga_decoupled") {
    settings.push_back("/integrator={\"type\":\"" + method + "\",\"step\":1e-3,\"duration\":1}");
    settings.push_back(set("/integrator/step", h));
  }
  return Case("incline", settings);
}

}  // namespace

TEST_CASE("incline: a block that sticks does not creep, and friction carries it") {
  for (const double h : {1e-2, 1e-3}) {
    Case c = incline(0.5, 0.6, 0, h);
    ContactLawCheck law;
    REQUIRE(c.run([&](const StepView&) { law.see(c); }) == RunStatus::completed);
    const int row = c.rows("incline")[0];
    CHECK(std::abs(c.position("block").x()) < 1e-13);
    CHECK(std::hypot(c.force(row + 1), c.force(row + 2)) == doctest::Approx(4.387165).epsilon(1e-6));
    CHECK(law.outside < 1e-10);
    CHECK(c.state().closed[1] == 1);
  }
}

TEST_CASE("incline: with friction equal to the slope a block slides on at its speed") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "moreau_jean"}) {
    Case c = incline(0.5, 0.5, 1, 1e-2, method);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.position("block").x() == doctest::Approx(1).epsilon(1e-12));
    CHECK(c.velocity("block").x() == doctest::Approx(1).epsilon(1e-12));
    CHECK(c.state().closed[1] == 2);
  }
}

TEST_CASE("incline: up, stop and back, of first order in the step") {
  const double exact = 0.574010196468;
  double before = 0;
  // steps that divide the time of the stop differently: the error is the rest of the step of the stop
  for (const double h : {1.0 / 97, 1.0 / 389, 1.0 / 1499}) {
    Case c = incline(0.5, 0.3, -1, h);
    REQUIRE(c.run() == RunStatus::completed);
    const double error = std::abs(c.position("block").x() - exact);
    CHECK(error < 1.6 * h);
    if (before > 0) CHECK(error < before);
    before = error;
  }
}

TEST_CASE("a block slides to rest where the step's closed form says") {
  for (const double h : {1.0 / 97, 1.0 / 388}) {
    Case c = incline(0, 0.3, 1, h);
    REQUIRE(c.run() == RunStatus::completed);
    const double whole = 1 / (h * 0.3 * g), f = whole - std::floor(whole);
    const double error = h * h * 0.3 * g * (std::max(0.0, f - 0.5) - f * f / 2);
    CHECK(c.velocity("block").x() == doctest::Approx(0));
    CHECK(std::abs(c.position("block").x() - 1 / (2 * 0.3 * g) - error) < 1e-12);
  }
}

TEST_CASE("a block that is pushed to and fro sticks and slips at second order") {
  const double exact = 0.6561904268, tolerance[] = {1.1e-3, 3.2e-4, 7e-5};
  const double steps[] = {1.0 / 97, 1.0 / 194, 1.0 / 388};
  for (int i = 0; i < 3; ++i) {
    Case c("incline", {"/parameters/slope=0", "/parameters/friction=0.3", "/parameters/v_0=0", "/integrator/duration=3",
                       set("/integrator/step", steps[i]), "/output/probes=[]", "/expect=[]",
                       R"(/loads=[{"name":"push","type":"force","on":"block","value":["4*sin(2*pi*t) + 1.5",0,0]}])"});
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(std::abs(c.position("block").x() - exact) < tolerance[i]);
  }
}

TEST_CASE("an oscillator on a belt") {
  Case c = Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "m", "type": "point_mass", "mass": 1}}],
    "ground": [{{"name": "wall", "at": [-1, 0, 0]}}],
    "springs": [{{"name": "k", "of": ["ground.wall", "m"], "stiffness": 100}}],
    "loads": [{{"name": "push", "type": "force", "on": "m", "value": ["sin(7*t)*6", 0, 0]}}],
    "contacts": [{{"name": "belt", "on": "m", "friction": 0.3,
      "obstacle": {{"type": "plane", "normal": [0, 0, 1], "surface_velocity": [0.2, 0, 0]}}}}],
    "integrator": {{"type": "nsga_decoupled", "step": {}, "duration": 3}}}})",
                                       1.0 / 401));
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(std::abs(c.position("m").x() - 0.10990352) < 1e-5);
  CHECK(std::abs(c.velocity("m").x() - 0.06157281) < 4e-3);
}

TEST_CASE("turntable: a block is carried around") {
  Case c = Case::from_text(R"({"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{"name": "m", "type": "point_mass", "mass": 1, "position": [0.5, 0, 0], "velocity": [0, 1, 0]}],
    "contacts": [{"name": "table", "on": "m", "friction": 0.5,
      "obstacle": {"type": "plane", "normal": [0, 0, 1],
                   "motion": {"rotation": {"axis": [0, 0, 1], "angle": "2*t"}}}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 2}})");
  REQUIRE(c.run() == RunStatus::completed);
  const Vec3 x = c.position("m");
  CHECK(x.head<2>().norm() == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(std::abs(x.x() - 0.5 * std::cos(4)) < 1e-12);
  CHECK(std::abs(x.y() - 0.5 * std::sin(4)) < 1e-12);
}

TEST_CASE("conveyor: a parcel is carried away, and the ledger tells where the belt's work goes") {
  Case c("conveyor", {"/output/probes=[]", "/expect=[]"});
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.velocity("parcel").x() == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(std::abs(c.position("parcel").x() - 0.5 * (1 - 0.5 * 0.5 / (0.4 * g))) < 1e-6);
  CHECK((c.rotation("parcel") - Mat3::Identity()).norm() < 1e-12);
}

TEST_CASE("ball: backspin ends in the impact, and the ball rolls") {
  for (const char* method : {"nsga_decoupled", "moreau_jean"}) {
    std::vector<std::string> settings = {"/output/probes=[]", "/expect=[]"};
    if (std::string(method) != "nsga_decoupled")
      settings.push_back(R"(/integrator={"type":"moreau_jean","step":2e-3,"duration":3})");
    Case c("spinning_ball", settings);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.velocity("ball").x() == doctest::Approx(5.0 / 14).epsilon(1e-12));
    CHECK(c.angular_velocity("ball").norm() == doctest::Approx(50.0 / 7).epsilon(1e-12));
    if (std::string(method) == "nsga_decoupled") {
      // the impact is at its instant, and the slip displacement counts from there
      CHECK(std::abs(c.position("ball").x() - 0.4915125843) < 1e-10);
      CHECK(std::abs(c.position("ball").z() - 0.05) < 1e-12);
    }
  }
}

// Contacts of laws at velocity level are closed up to a gap of rounding, which has nothing to do with tolerances.
TEST_CASE("a ball touches at the same place whatever the tolerance of constraints is") {
  const auto end = [](double tolerance) {
    Case c = Case::from_text(fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "ball", "type": "rigid", "mass": 1, "shape": {{"type": "sphere", "radius": 0.1}},
                    "position": [0, 0, 0.3]}}],
        "contacts": [{{"name": "floor", "on": "ball", "restitution": 0.5, "friction": 0.3,
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "moreau_jean", "step": 1e-3, "duration": 0.6,
                       "newton": {{"constraint_tolerance": {}}}}}}})x",
        tolerance));
    REQUIRE(c.run() == RunStatus::completed);
    return c.position("ball").z();
  };
  const double z = end(1e-11);
  for (const double tolerance : {1e-6, 1e-3}) CHECK(end(tolerance) == doctest::Approx(z).epsilon(1e-12));
}

TEST_CASE("disc in a groove of 90 degrees: rolls and spins to rest") {
  Case c = Case::from_text(R"({"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{"name": "disc", "type": "rigid", "mass": 1, "inertia": [0.005, 0.005, 0.005],
                "position": [0.02, 0, 0.3], "velocity": [0.5, 0, 0], "angular_velocity": [0, -20, 0]}],
    "contacts": [{"name": "left", "on": "disc", "radius": 0.1, "friction": 0.9,
                  "obstacle": {"type": "plane", "normal": [1, 0, 1]}},
                 {"name": "right", "on": "disc", "radius": 0.1, "friction": 0.9,
                  "obstacle": {"type": "plane", "normal": [-1, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 2e-3, "duration": 2}})");
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.angular_velocity("disc").norm() < 1e-10);
  const Mat3 R = c.rotation("disc");
  // converged: 3.6579
  CHECK(std::atan2(R(2, 0), R(0, 0)) + 2 * M_PI == doctest::Approx(3.6578).epsilon(1e-5));
  CHECK(c.position("disc").x() == doctest::Approx(0));
  CHECK(c.position("disc").z() == doctest::Approx(0.1 * std::sqrt(2)).epsilon(1e-10));
}

TEST_CASE("Painleve's rod jams by an impulse that does not vanish with the step") {
  const double s = std::sin(65 * M_PI / 180), c_ = std::cos(65 * M_PI / 180);
  for (const double h : {1e-3, 1e-4}) {
    Case c("painleve_rod",
           {set("/integrator/step", h), "/output/probes=[]", "/expect=[]", "/integrator/impact=\"published\""});
    double first = 0;
    ContactLawCheck law;
    REQUIRE(c.run([&](const StepView&) {
      if (first == 0) first = c.impulse(c.rows("floor")[0]);
      law.see(c);
    }) == RunStatus::completed);
    CHECK(first == doctest::Approx(6 * s * c_ / 4).epsilon(h == 1e-3 ? 0.02 : 0.002));
    if (h == 1e-3) CHECK(first == doctest::Approx(0.58173).epsilon(2e-5));
    CHECK(law.outside < 1e-10);
  }
}

TEST_CASE("Kane's paradox: restitutions that differ may raise the energy, and the ledger says by how much") {
  // a rod that strikes the floor with its end while this end slides
  const double angle = 0.9108427801300619;
  Case c = Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, 0],
    "bodies": [{{"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.3333333333333333, 0.3333333333333333],
      "position": [{}, 0, {}], "velocity": [0.5037520128752924, 0, -1],
      "orientation": {{"axis": [0, 1, 0], "angle": {}}}, "points": [{{"name": "end", "at": [-1, 0, 0]}}]}}],
    "contacts": [{{"name": "floor", "on": "rod.end", "friction": 1.0738628478496797, "restitution": 1,
      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "nsga_decoupled", "step": 1e-4, "duration": 2e-3}}}})",
                                       std::cos(angle), std::sin(angle) + 1e-3, -angle));
  const double before = c.energy();
  const Account a = account(c);
  REQUIRE(a.status == RunStatus::completed);
  const double gain = c.energy() - before;
  // the impact has the directions of the end of its step: an error of O(h)
  CHECK(gain / before == doctest::Approx(0.18425057577243473).epsilon(2e-4));
  CHECK(a.balance.friction_gain == doctest::Approx(gain).epsilon(1e-9));
  CHECK(std::abs(a.balance.closure) < 1e-13 * before);
}

TEST_CASE("a ball that turns by more than half a turn in a step rolls on") {
  // the step is halved: the slip displacement takes rotations on the shorter way
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic"}) {
    CAPTURE(method);
    Case c = Case::from_text(std::string(R"({"format": 1, "title": "t", "gravity": [0, 0, -9.81],
      "bodies": [{"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
                  "position": [0, 0, 0.1], "velocity": [10, 0, 0], "angular_velocity": [0, 100, 0]}],
      "contacts": [{"name": "floor", "on": "b", "restitution": 0, "friction": 0.3,
                    "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
      "integrator": {"type": ")") +
                             method + R"(", "step": 0.05, "duration": 1}})");
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.position("b") - Vec3(10, 0, 0.1)).norm() < 1e-9);
    CHECK((c.velocity("b") - Vec3(10, 0, 0)).norm() < 1e-9);
  }
}
