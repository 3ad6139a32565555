// Coulomb friction of bodies that stand on several points: these share the load in many ways, which must neither let a
// body creep nor turn it elsewhere.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "friction_checks.hpp"

using namespace carom;
using namespace carom::cases;

// The contacts share the load in many ways, which turn the plate differently.
TEST_CASE("a plate that slides on four vertices and turns ends where all methods and steps say") {
  const auto end = [](const std::string& method, double h) {
    Case c = Case::from_text(fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "plate", "type": "rigid", "mass": 1.3, "shape": {{"type": "box", "size": [0.4, 0.3, 0.1]}},
                    "position": [0, 0, 0.05],
                    "points": [{{"name": "p", "at": [0.2, 0.1, 0.05]}}, {{"name": "q", "at": [-0.2, -0.1, 0.05]}}]}}],
        "ground": [{{"name": "p", "at": [1, 0.2, 0.3]}}, {{"name": "q", "at": [-1, -0.3, 0.2]}}],
        "springs": [
          {{"name": "s", "of": ["ground.p", "plate.p"], "stiffness": 640, "damping": 67}},
          {{"name": "r", "of": ["ground.q", "plate.q"], "stiffness": 6, "damping": 0.02}}],
        "loads": [{{"name": "f", "type": "force", "on": "plate",
                   "value": ["6.6*sin(4.7*t)", "3*sin(10*t)", -2.75]}}],
        "contacts": [{{"name": "floor", "on": "plate", "friction": 0.2,
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "{}", "step": {}, "duration": 0.5}}}})x",
        method, h));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.statistics().friction_fallbacks == 0);
    const Vec3 corner = c.rotation("plate") * Vec3(0.2, 0.1, 0.05), place = c.position("plate");
    return Vec3(place.x(), place.y(), std::atan2(corner.y(), corner.x()));
  };
  const Vec3 right = end("nsga_decoupled", 5e-4);
  CHECK(std::abs(right[2] - std::atan2(0.1, 0.2)) > 0.02);  // the plate has turned
  for (const char* const method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva"})
    for (const double h : {1e-2, 5e-3, 2e-3}) {
      INFO(method, ", h = ", h);
      CHECK((end(method, h) - right).norm() < 0.2 * h);
    }
  // at velocity level, where rounding of a gap must not let one vertex sink and the others carry from then on
  for (const char* const method : {"moreau_jean", "cd_lagrange"})
    for (const double h : {2e-3, 1e-3, 5e-4, 2.5e-4}) {
      INFO(method, ", h = ", h);
      CHECK((end(method, h) - right).norm() < 0.2 * h);
    }
}

// The loads' work is all the energy there is, and the error of its sum over the steps is of its size.
// Redundant rows contradict each other by rounding. Beside the loads of small steps that is not small.
TEST_CASE("a box that slides on four loaded vertices ends alike with small steps, and no vertex opens") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva"})
    for (const auto& run : {std::pair{1e-3, 1e-11}, {1e-4, 1e-11}, {2e-5, 1e-11}, {1e-4, 1e-14}, {1e-4, 1e-6}}) {
      const double h = run.first, tolerance = run.second;
      Case c = Case::from_text(fmt::format(
          R"x({{"format": 1, "gravity": [0, 0, -9.81],
          "bodies": [{{"name": "b", "type": "rigid", "mass": 2, "inertia": [0.05, 0.06, 0.04], "position": [0, 0, 0.25],
                      "velocity": [-0.15, 0, 0], "angular_velocity": [0, 0, -0.3],
                      "points": [{{"name": "v0", "at": [-0.15, -0.2, -0.25]}}, {{"name": "v1", "at": [0.15, -0.2, -0.25]}},
                                 {{"name": "v2", "at": [-0.15, 0.2, -0.25]}}, {{"name": "v3", "at": [0.15, 0.2, -0.25]}},
                                 {{"name": "q", "at": [0.15, 0.2, 0.25]}}]}}],
          "contacts": [{{"name": "f", "on": ["b.v0", "b.v1", "b.v2", "b.v3"], "friction": 0.3,
                        "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
          "loads": [{{"name": "F", "type": "force", "on": "b.q", "value": [-1.76, 1.88, 3.2]}}],
          "integrator": {{"type": "{}", "step": {}, "duration": 0.2, "newton": {{"constraint_tolerance": {}}}}}}})x",
          method, h, tolerance));
      CAPTURE(method);
      CAPTURE(h);
      CAPTURE(tolerance);
      REQUIRE(c.run() == RunStatus::completed);
      // of the equation of motion of the box with equal springs under its vertices
      CHECK(c.angular_velocity("b").z() == doctest::Approx(0.35956).epsilon(2e-3));
      CHECK(c.statistics().impacts <= 4);
    }
}

// The rows of the joint are rigid beside the springs under the vertices.
TEST_CASE("two boxes that a prismatic joint connects slide alike in all methods and steps") {
  for (const char* method :
       {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean", "cd_lagrange"})
    for (const double h : {2e-3, 2.5e-4}) {
      Case c = Case::from_text(fmt::format(
          R"x({{"format": 1, "gravity": [0, 0, -9.81], "bodies": [
          {{"name": "a", "type": "rigid", "mass": 1000, "shape": {{"type": "box", "size": [1, 1, 1]}},
            "position": [0, 0, 0.5], "velocity": [1, 0.3, 0]}},
          {{"name": "b", "type": "rigid", "mass": 1000, "shape": {{"type": "box", "size": [1, 1, 1]}},
            "position": [1.2, 0, 0.5], "velocity": [1, 0.3, 0]}}],
          "joints": [{{"name": "j", "type": "prismatic", "of": ["a", "b"], "axis": [1, 0, 0]}}],
          "contacts": [{{"name": "floor", "on": ["a", "b"], "friction": 0.3,
                        "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
          "integrator": {{"type": "{}", "step": {}, "duration": 0.3}}}})x",
          method, h));
      CAPTURE(method);
      CAPTURE(h);
      REQUIRE(c.run() == RunStatus::completed);
      CHECK((c.position("a") - Vec3(0.190553, 0.052683, 0.5)).norm() < 3e-5);
      CHECK((c.position("b") - Vec3(1.356091, 0.050403, 0.5)).norm() < 3e-5);
    }
}

TEST_CASE("a block that sticks under changing loads stays with explicit steps of any size") {
  for (const double h : {2e-3, 5e-4, 1e-4}) {
    Case c = Case::from_text(fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "block", "type": "rigid", "mass": 1.3, "shape": {{"type": "box", "size": [0.4, 0.3, 0.1]}},
                    "position": [0, 0, 0.05], "points": [{{"name": "p", "at": [0.2, 0.1, 0.05]}}]}}],
        "ground": [{{"name": "p", "at": [1, 0.2, 0.3]}}],
        "springs": [{{"name": "s", "of": ["ground.p", "block.p"], "stiffness": 640, "damping": 1}}],
        "loads": [{{"name": "f", "type": "force", "on": "block", "value": ["6*sin(5*t)", "3*sin(10*t)", -3]}}],
        "contacts": [{{"name": "floor", "on": "block", "friction": 0.8,
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "cd_lagrange", "step": {}, "duration": 0.5}}}})x",
        h));
    INFO("h = ", h);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.position("block") - Vec3(0, 0, 0.05)).norm() < 1e-9);
  }
}

// Reactions and impacts of an explicit step are told apart by a second solution of the law, in which many points may
// share the load in another way.
TEST_CASE("a body that sticks on twelve points stays with explicit steps of any size") {
  std::string points, names;
  for (int k = 0; k < 12; ++k) {
    const double angle = 2 * M_PI * k / 12 + 0.1;
    points += fmt::format(R"({{"name": "p{}", "at": [{:.17g}, {:.17g}, -0.05]}}, )", k, 0.2 * std::cos(angle),
                          0.2 * std::sin(angle));
    names += fmt::format(R"({}"b.p{}")", k > 0 ? ", " : "", k);
  }
  for (const double h : {2e-3, 1e-3, 1e-4}) {
    Case c = Case::from_text(fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "b", "type": "rigid", "mass": 4.8, "shape": {{"type": "box", "size": [0.3, 0.3, 0.1]}},
                    "position": [0, 0, 0.05], "points": [{}{{"name": "p", "at": [0.034, -0.086, 0.0315]}}]}}],
        "loads": [{{"name": "f", "type": "force", "on": "b.p",
                   "value": ["46.044*sin(6*t+0.5)", "17.076*sin(6*t+0.5)", "-34.662*cos(3*t)"]}}],
        "contacts": [{{"name": "floor", "on": [{}], "friction": 0.8687,
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "cd_lagrange", "step": {}, "duration": 0.4}}}})x",
        points, names, h));
    INFO("h = ", h);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.position("b") - Vec3(0, 0, 0.05)).norm() < 1e-9);
  }
}

// At rest on the floor there is no energy to compare errors with, and bodies lift by what the tolerance lets them sink.
TEST_CASE("a body that is pushed but sticks stays near its place with a coarse tolerance") {
  const double tolerance = 1e-3;
  Case c = Case::from_text(fmt::format(
      R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 8.0636, "shape": {{"type": "box", "size": [0.3, 0.3, 0.1]}},
                  "position": [0, 0, 0.05],
                  "points": [{{"name": "p0", "at": [0.199, 0.02, -0.05]}}, {{"name": "p1", "at": [-0.02, 0.199, -0.05]}},
                             {{"name": "p2", "at": [-0.199, -0.02, -0.05]}}, {{"name": "p3", "at": [0.02, -0.199, -0.05]}},
                             {{"name": "p", "at": [-0.0482, 0.0023, -0.0095]}}]}}],
      "loads": [{{"name": "f", "type": "force", "on": "b.p",
                 "value": ["44.9*sin(4*t+2.523)", "-31.1*sin(4*t+2.523)", "-3.332*cos(3*t)"]}}],
      "contacts": [{{"name": "floor", "on": ["b.p0", "b.p1", "b.p2", "b.p3"], "friction": 0.8755,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 0.4,
                     "newton": {{"constraint_tolerance": {}}}}}}})x",
      tolerance));
  double height = 0, slip = 0;
  REQUIRE(c.run([&](const StepView&) {
    const Vec3 d = c.position("b") - Vec3(0, 0, 0.05);
    height = std::max(height, std::abs(d.z()));
    slip = std::max(slip, std::hypot(d.x(), d.y()));
  }) == RunStatus::completed);
  const double bound = tolerance * c.scales().length;
  CHECK(height < bound);
  CHECK(slip < 2 * bound);  // what the steps miss adds up as long as the load pushes to one side
  CHECK(c.statistics().subdivided_steps == 0);
}

TEST_CASE("brick: it slides on three feet, turns, and rests") {
  Case c("brick_sliding", {"/output/probes=[]", "/expect=[]"});
  ContactLawCheck law;
  REQUIRE(c.run([&](const StepView&) { law.see(c); }) == RunStatus::completed);
  const Mat3 R = c.rotation("brick");
  CHECK(std::abs(c.position("brick").x() - 0.19048917) < 6e-5);
  CHECK(std::abs(c.position("brick").y() - 0.05086522) < 1.2e-4);
  CHECK(std::abs(std::atan2(R(1, 0), R(0, 0)) - 1.09932444) < 1.4e-3);
  CHECK(c.velocity("brick").norm() < 1e-11);
  CHECK(law.outside < 1e-10);
}

TEST_CASE("brick on an incline: held by four corners it does not creep") {
  Case c = Case::from_text(R"({"format": 1, "title": "t", "gravity": [4.387165, 0, -8.77433],
    "bodies": [{"name": "box", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.1, 0.06]},
                "position": [0, 0, 0.03]}],
    "contacts": [{"name": "floor", "on": "box.vertices", "friction": 0.6,
                  "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 10}})");
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.position("box").head<2>().norm() < 1e-13);
  CHECK((c.rotation("box") - Mat3::Identity()).norm() < 1e-13);
}
