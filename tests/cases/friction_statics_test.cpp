// Static equilibrium with Coulomb friction along a path of loads, against closed forms.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>

#include "case_runner.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// A box on an incline of slope 0.5, on its four lower corners.
Case box_on_incline(double friction) {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [4.387165, 0, -8.77433],
    "bodies": [{{"name": "box", "type": "rigid", "mass": 1, "shape": {{"type": "box", "size": [0.2, 0.1, 0.06]}},
                "position": [0, 0, 0.03]}}],
    "contacts": [{{"name": "floor", "on": "box.vertices", "friction": {},
                  "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "static", "step": 0.1, "duration": 1}}}})",
                                     friction));
}

// A mass on a floor between a spring and a push; weight 10, friction 0.3, stiffness 100.
Case pushed_mass(const std::string& push, double step) {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -10],
    "bodies": [{{"name": "m", "type": "point_mass", "mass": 1}}],
    "ground": [{{"name": "wall", "at": [-1, 0, 0]}}],
    "springs": [{{"name": "k", "of": ["ground.wall", "m"], "stiffness": 100}}],
    "loads": [{{"name": "push", "type": "force", "on": "m", "value": [{}, 0, 0]}}],
    "contacts": [{{"name": "floor", "on": "m", "friction": 0.3, "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "static", "step": {}, "duration": 2, "ramp": 0}}}})",
                                     push, step));
}

// Tangential and normal force of all points of a contact, and how far a tangential force is outside of its disc.
struct Forces {
  Vec3 sum = Vec3::Zero();
  double normal = 0, outside = 0;
  Forces(const Case& c, const std::string& contact) {
    for (const int row : c.rows(contact)) {
      const System& system = c.system();
      const State& s = c.state();
      normal += c.force(row);
      for (int k = row + 1; k < row + 3; ++k) sum += c.force(k) * system.row_contact_place(k, s.q, s.v, s.t).normal;
      outside = std::max(outside, std::hypot(c.force(row + 1), c.force(row + 2)) -
                                      system.contact_parameters(row).friction * c.force(row));
    }
  }
};

}  // namespace

TEST_CASE("static: a box on an incline is held by friction above the slope, and by none below") {
  for (const double friction : {0.501, 0.6, 2.0}) {
    Case c = box_on_incline(friction);
    REQUIRE(c.run() == RunStatus::completed);
    const Forces f(c, "floor");
    CHECK((c.position("box") - Vec3(0, 0, 0.03)).norm() < 1e-12);
    // by rounding of the gaps, far below the tolerance of rows
    CHECK((c.rotation("box") - Mat3::Identity()).norm() < 1e-12);
    CHECK(f.normal == doctest::Approx(8.77433).epsilon(1e-9));
    CHECK((f.sum - Vec3(-4.387165, 0, 0)).norm() < 1e-9);
    CHECK(f.outside < 1e-9);
  }
  for (const double friction : {0.499, 0.3}) {
    Case c = box_on_incline(friction);
    CHECK(c.run() != RunStatus::completed);
  }
}

TEST_CASE("static: a mass that is pushed to and fro lags behind by the friction") {
  // up to 8 at t = 1, then down to 0: x = (F - 3)/100 while it slides on, stays until F = 8 - 6, and (F + 3)/100 back
  for (const double step : {0.5, 0.1, 0.013}) {
    Case c = pushed_mass("\"8*(1 - abs(1 - t))\"", step);
    REQUIRE(c.run_for(1) == RunStatus::completed);
    CHECK(c.position("m").x() == doctest::Approx(0.05).epsilon(1e-10));
    REQUIRE(c.run_for(0.5) == RunStatus::completed);
    CHECK(c.position("m").x() == doctest::Approx(0.05).epsilon(1e-10));
    const int row = c.rows("floor")[0];
    // the push of 4 is less than the spring's 5: friction has turned round
    CHECK(std::hypot(c.force(row + 1), c.force(row + 2)) == doctest::Approx(1).epsilon(1e-9));
    CHECK(c.state().closed[1] == 1);
    REQUIRE(c.run_for(0.5) == RunStatus::completed);
    CHECK(c.position("m").x() == doctest::Approx(0.03).epsilon(1e-10));
    CHECK(c.state().closed[1] == 2);
  }
}

TEST_CASE("static: slip runs into a chain of masses as far as the pull reaches") {
  // pull F at the first mass, friction 1 each: spring i carries F - (i + 1); back from F by D: 2 of friction each
  std::string bodies, springs, on;
  for (int i = 0; i < 6; ++i) {
    bodies += fmt::format(R"({}{{"name": "m{}", "type": "point_mass", "mass": 0.2, "position": [{}, 0, 0]}})",
                          i > 0 ? "," : "", i, -i);
    on += fmt::format(R"({}"m{}")", i > 0 ? "," : "", i);
    if (i > 0)
      springs +=
          fmt::format(R"({}{{"name": "k{}", "of": ["m{}", "m{}"], "stiffness": 100}})", i > 1 ? "," : "", i, i, i - 1);
  }
  Case c = Case::from_text(fmt::format(R"x({{"format": 1, "title": "t", "gravity": [0, 0, -10],
    "bodies": [{}], "springs": [{}],
    "loads": [{{"name": "pull", "type": "force", "on": "m0", "value": ["4.5*(1 - abs(1 - t))", 0, 0]}}],
    "contacts": [{{"name": "floor", "on": [{}], "friction": 0.5, "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "static", "step": 0.1, "duration": 2, "ramp": 0}}}})x",
                                       bodies, springs, on));
  REQUIRE(c.run_for(1) == RunStatus::completed);
  CHECK(c.position("m0").x() == doctest::Approx(0.08).epsilon(1e-9));
  CHECK(c.position("m3").x() + 3 == doctest::Approx(0.005).epsilon(1e-7));
  CHECK(std::abs(c.position("m4").x() + 4) < 1e-12);
  REQUIRE(c.run_for(1) == RunStatus::completed);
  CHECK(c.position("m0").x() == doctest::Approx(0.05).epsilon(1e-9));
  CHECK(std::abs(c.position("m0").y()) < 1e-12);
  CHECK(c.position("m2").x() + 2 == doctest::Approx(0.02).epsilon(1e-8));
}

// Rubber pressed by 4 on a floor with friction 0.5.
Case pressed_block(double pull, double step) {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, 0],
      "materials": [{{"name": "rubber", "type": "linear_elastic", "young": 1000, "poisson": 0.3, "density": 1}}],
      "bodies": [{{"name": "block", "type": "solid", "material": "rubber", "law": "saint_venant_kirchhoff",
        "mesh": {{"type": "box", "size": [0.4, 0.2, 0.1], "divisions": [3, 2, 1]}}, "position": [0.2, 0, 0.05]}}],
      "loads": [{{"name": "press", "type": "force", "on": "block.top", "value": [0, 0, -4]}},
                {{"name": "pull", "type": "force", "on": "block.right", "value": [{}, 0, 0]}}],
      "contacts": [{{"name": "floor", "on": "block.bottom", "friction": 0.5,
        "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "integrator": {{"type": "static", "step": {}, "duration": 1}}}})",
                                     pull, step));
}

TEST_CASE("static: a pressed elastic block slips at a part of its points, and no friction holds a larger pull") {
  for (const double pull : {0.0, 0.1, 0.5, 1.0, 1.5, 1.9}) {
    CAPTURE(pull);
    Case c = pressed_block(pull, 0.1);
    REQUIRE(c.run_for(0.9) == RunStatus::completed);
    const Vector q_before = c.state().q;
    REQUIRE(c.run_for(0.1) == RunStatus::completed);
    const Forces f(c, "floor");
    CHECK(f.normal == doctest::Approx(4).epsilon(1e-8));
    CHECK((f.sum - Vec3(-pull, 0, 0)).norm() < 1e-7);
    CHECK(f.outside < 1e-8);
    // the law of the last increment at each point
    int sticking = 0, slipping = 0;
    for (const int row : c.rows("floor")) {
      const System& system = c.system();
      const State& s = c.state();
      Vec3 force = Vec3::Zero(), slip = Vec3::Zero();
      for (int k = row + 1; k < row + 3; ++k) {
        const auto now = system.row_contact_place(k, s.q, s.v, s.t);
        const Vec3 moved = now.point - system.row_contact_place(k, q_before, s.v, s.t).point;
        force += c.force(k) * now.normal;
        slip += moved.dot(now.normal) * now.normal;
      }
      if (c.force(row) > 1e-9 && force.norm() < 0.5 * c.force(row) - 1e-7) {
        ++sticking;
        CHECK(slip.norm() < 1e-10);
      } else if (c.force(row) > 1e-9) {
        ++slipping;
        CHECK(slip.dot(force) == doctest::Approx(-slip.norm() * force.norm()).epsilon(1e-6));
      }
    }
    if (pull == 0.5 || pull == 1) {
      CHECK(sticking > 0);
      CHECK(slipping > 0);
    }
  }
  Case c = pressed_block(2.1, 0.2);
  CHECK(c.run() != RunStatus::completed);
}

TEST_CASE("static: a lever on a bearing follows a torque that rises and falls, but for the torque of friction") {
  // friction 0.3 * 0.1 * 10 m g = 3; the spring, 20 N m per rad, holds (M - 3)/20 at M = 9 and (M + 3)/20 at M = 1
  for (const double step : {0.25, 0.05}) {
    Case c = Case::from_text(fmt::format(R"x({{"format": 1, "title": "t", "gravity": [0, 0, -10],
      "bodies": [{{"name": "lever", "type": "rigid", "mass": 10, "inertia": [1, 1, 1]}}],
      "joints": [{{"name": "pin", "type": "revolute", "of": ["ground", "lever"], "axis": [0, 1, 0],
                  "spring": {{"stiffness": 20}}, "friction": {{"coefficient": 0.3, "radius": 0.1}}}}],
      "loads": [{{"name": "M", "type": "torque", "on": "lever", "value": [0, "t < 1 ? 9*t : 9 - 8*(t - 1)", 0]}}],
      "integrator": {{"type": "static", "step": {}, "duration": 2, "ramp": 0}}}})x",
                                         step));
    const auto angle = [&] {
      const Mat3 R = c.rotation("lever");
      return std::atan2(R(0, 2), R(0, 0));
    };
    double work = 0;
    REQUIRE(c.run([&](const StepView& v) {
      work += row_work(v, c.model().joints.front().friction.front());
      const double t = c.t(), M = t < 1 ? 9 * t : 9 - 8 * (t - 1),
                   expected = t < 1 ? std::max(0.0, M - 3) / 20 : std::min(6.0, M + 3) / 20;
      CHECK(angle() == doctest::Approx(expected).epsilon(1e-8));
      CHECK(std::abs(c.force(c.model().joints.front().friction.front())) <= 3 * (1 + 1e-9));
    }) == RunStatus::completed);
    // 0.3 rad up and 0.1 rad back
    CHECK(work == doctest::Approx(-1.2).epsilon(1e-8));
  }
}

TEST_CASE(
    "equilibrium at the start: friction of a bearing holds a rod that leans little, and one that leans more sinks") {
  // m g l sin(a) against mu r N, with l = 1, mu r = 0.2, N = m g
  for (const double start : {0.19, 0.6}) {
    Case c = Case::from_text(fmt::format(R"x({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.01],
        "position": [{:.17g}, 0, {:.17g}], "orientation": {{"axis": [0, 1, 0], "angle": {:.17g}}},
        "points": [{{"name": "pin", "at": [0, 0, 1]}}]}}],
      "joints": [{{"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
                  "spring": {{"stiffness": 4}}, "friction": {{"coefficient": 0.4, "radius": 0.5}}}}],
      "initial_state": {{"equilibrium": true}},
      "integrator": {{"type": "nsga_decoupled", "step": 1e-2, "duration": 0.5}}}})x",
                                         -std::sin(start), -std::cos(start), start));
    const Vec3 x = c.position("rod");
    const double a = std::atan2(-x.x(), -x.z()), held = 9.81 * std::sin(a) + 4 * (a - start);
    if (start < 0.2)
      CHECK(a == doctest::Approx(start).epsilon(1e-10));
    else
      CHECK(held == doctest::Approx(0.2 * 9.81).epsilon(1e-8));
    REQUIRE(c.run() == RunStatus::completed);
    // friction at its limit holds a motion that begins with the accelerations without friction but for O(h^2)
    CHECK((c.position("rod") - x).norm() < (start < 0.2 ? 1e-9 : 1e-5));
  }
}

// Nothing but the floor holds the block. Newton's method with a pseudo-time went over to blocks that stand on an edge,
// or turned by 180 degrees about the vertical.
TEST_CASE("static: an elastic block that stands on a rough floor under its weight stays where it is") {
  for (const char* law : {"saint_venant_kirchhoff", "neo_hookean"})
    for (const double young : {1e6, 1e7, 1e8})
      for (const double step : {0.2, 0.1, 0.07, 0.05}) {
        CAPTURE(law);
        CAPTURE(young);
        CAPTURE(step);
        Case c = Case::from_text(fmt::format(
            R"({{"format": 1, "gravity": [0, 0, -9.81],
            "materials": [{{"name": "m", "type": "{}", "young": {}, "poisson": 0.3, "density": 1000}}],
            "bodies": [{{"name": "b", "type": "solid", "material": "m", "locking": "none", "position": [0, 0, 0.2],
                         "mesh": {{"type": "box", "size": [1, 0.5, 0.4], "divisions": [2, 2, 2]}}}}],
            "contacts": [{{"name": "c", "on": "b.surface", "friction": 0.4,
                           "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
            "integrator": {{"type": "static", "duration": 1, "ramp": 1, "step": {}}}}})",
            law, young, step));
        const double before = c.system().energies(c.state().q, c.state().v, 0).potential;
        const Vec3 corner = c.position("b.node.26");
        REQUIRE(c.run() == RunStatus::completed);
        CHECK((c.position("b.node.26") - corner).norm() < 5e3 / young);
        // half of the work of the weight is elastic
        const Energies after = c.system().energies(c.state().q, c.state().v, 1);
        CHECK(before - after.potential == doctest::Approx(2 * after.elastic).epsilon(0.01));
        double normal = 0;
        for (const int row : c.rows("c")) normal += c.force(row);
        CHECK(normal == doctest::Approx(200 * 9.81).epsilon(1e-9));
      }
}

// Beyond the load under which the column would buckle with a free foot, the matrix of the contact alone is indefinite.
TEST_CASE(
    "static: a column whose foot friction holds bends as one with a pinned foot, beyond the load of a free foot") {
  const auto column = [](bool rough, double step) {
    return Case::from_text(fmt::format(
        R"({{"format": 1, "materials": [{{"name": "m", "type": "linear_elastic", "young": 1e9, "density": 1000}}],
        "sections": [{{"name": "a", "type": "rectangle", "width": 0.02, "height": 0.02}}],
        "bodies": [{{"name": "b", "type": "beam", "material": "m", "section": "a", "elements": 16, "from": [0, 0, 0],
                     "to": [0, 0, 1], "fixed": [{{"on": "end", "directions": ["x", "y", "rotation"]}}]}}],
        "loads": [{{"name": "F", "type": "force", "on": "b.end", "value": [0, 0, -53.84]}},
                  {{"name": "l", "type": "line_force", "on": "b", "value": [0.5, 0, 0]}}], {},
        "integrator": {{"type": "static", "step": {}}}}})",
        rough ? R"("contacts": [{"name": "c", "on": "b.start", "friction": 0.3,
                                 "obstacle": {"type": "plane", "normal": [0, 0, 1]}}])"
              : R"("joints": [{"name": "j", "type": "spherical", "of": ["ground", "b.start"]}])",
        step));
  };
  Case pinned = column(false, 0.1);
  REQUIRE(pinned.run() == RunStatus::completed);
  const Vec3 middle = pinned.position("b.node.8");
  CHECK(middle.x() > 1e-4);
  for (const double step : {1.0, 0.3, 0.1, 0.02}) {
    CAPTURE(step);
    Case c = column(true, step);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.position("b.node.8") - middle).norm() < 1e-9);
    CHECK(c.position("b.start").norm() < 1e-12);
  }
}

// The tangent of the clamped block without the contacts is indefinite soon after it lands.
TEST_CASE("static: a soft block that sags on a rough floor lies there and is not turned over") {
  // normal forces of nsga_decoupled with damping and a load that grows slowly
  const std::map<std::string, double> normal_of = {{"corotational", 1138.80}, {"neo_hookean", 1138.76}};
  for (const std::string law : {"corotational", "neo_hookean"})
    for (const double step : {0.1, 0.05}) {
      CAPTURE(law);
      CAPTURE(step);
      Case c = Case::from_text(fmt::format(
          R"({{"format": 1, "gravity": [0, 0, -9.81],
          "materials": [{{"name": "m", "type": "{}", "young": 2e5, "poisson": 0.3, "density": 1000}}],
          "bodies": [{{"name": "s", "type": "solid", "material": "m", "locking": "none",
                       "mesh": {{"type": "box", "size": [1.5, 0.3, 0.3], "divisions": [8, 1, 1]}},
                       "fixed": [{{"on": "left"}}]}}],
          "contacts": [{{"name": "c", "on": "s.bottom", "friction": 0.3,
                         "obstacle": {{"type": "plane", "point": [0, 0, -0.153], "normal": [0, 0, 1]}}}}],
          "integrator": {{"type": "static", "step": {}}}}})",
          law, step));
      REQUIRE(c.run() == RunStatus::completed);
      CHECK(c.position("s.node.8").x() == doctest::Approx(0.75).epsilon(1e-5));
      CHECK(c.position("s.node.8").z() == doctest::Approx(-0.153).epsilon(1e-9));
      CHECK(Forces(c, "c").normal == doctest::Approx(normal_of.at(law)).epsilon(1e-3));
      CHECK(c.energies().elastic == doctest::Approx(0.70).epsilon(0.01));
    }
}

// A spring that rounding compresses has a negative stiffness of rounding across its line, and the matrix of the contact
// without the contact nearly none.
TEST_CASE("static: a mass that sticks beside a slack spring has its equilibrium at any increment") {
  for (const double friction : {0.3, 0.8})
    for (const double step : {0.1, 0.02, 0.01, 0.005}) {
      CAPTURE(friction);
      CAPTURE(step);
      Case c = Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -10],
        "bodies": [{{"name": "m", "type": "point_mass", "mass": 0.2}}],
        "ground": [{{"name": "a", "at": [-1, 0.3, 0]}}],
        "springs": [{{"name": "k", "of": ["ground.a", "m"], "stiffness": 100}}],
        "loads": [{{"name": "push", "type": "force", "on": "m", "value": ["sin(3*t)*0.42", "cos(5*t)*0.42*t", 0]}}],
        "contacts": [{{"name": "floor", "on": "m", "friction": {},
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "static", "step": {}, "duration": 1, "ramp": 0}}}})",
                                           friction, step));
      REQUIRE(c.run() == RunStatus::completed);
      CHECK(c.position("m").norm() < 1e-10);
    }
}

TEST_CASE("static: the potential of coordinates is no load that grows") {
  for (const double step : {1.0, 0.1}) {
    Case c = Case::from_text(fmt::format(R"({{"format": 1, "title": "t",
      "bodies": [{{"name": "c", "type": "coordinates", "coordinates": [{{"name": "x", "position": 0}}], "masses": [1],
                   "potential": "5*(1 - x)^2"}},
                 {{"name": "f", "type": "coordinate_frame", "of": "c", "position": ["x", 0, 0]}}],
      "ground": [{{"name": "g", "at": [-1, 0, 0]}}],
      "springs": [{{"name": "s", "of": ["ground.g", "f"], "stiffness": 20}}],
      "integrator": {{"type": "static", "step": {}}}}})",
                                         step));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.state().q.front() == doctest::Approx(1.0 / 3).epsilon(1e-9));
  }
}

// At a step of 0.02 Newton's method found the frame upside down under the floor, with no more energy than the load
// gave.
TEST_CASE("static: a portal on rough feet stays upright at any increment") {
  for (const double step : {0.1, 0.05, 0.04, 0.02, 0.01}) {
    CAPTURE(step);
    Case c = Case::from_text(fmt::format(R"({{"format": 1,
      "sections": [{{"name": "s", "type": "general",
        "stiffness": [[2217738.231858868, 0, 0, 0, 0, 0], [0, 739246.0772862894, 0, 0, 0, 0],
          [0, 0, 739246.0772862894, 0, 0, 0], [0, 0, 0, 394.69242478133185, 0, 0], [0, 0, 0, 0, 394.69242478133185, 0],
          [0, 0, 0, 0, 0, 394.69242478133185]],
        "mass": [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 0.001, 0, 0],
          [0, 0, 0, 0, 0.0005, 0], [0, 0, 0, 0, 0, 0.0005]]}}],
      "bodies": [{{"name": "b", "type": "beam", "section": "s", "elements": 12,
        "shape": {{"type": "polyline", "points": [[0, 0, 0], [0, 0, 1], [0.8277299173775758, 0, 1],
                                                [1.2697733256874204, 0, 0]]}},
        "fixed": [{{"on": "nodes", "directions": ["y"]}}]}}],
      "contacts": [{{"name": "left", "on": "b.start", "friction": 0.31414173297397296,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}},
                   {{"name": "right", "on": "b.end", "friction": 0.7151651108696566,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "loads": [{{"name": "v", "type": "force", "on": "b.node.5", "value": [0, 0, "-42.31047397488273*t"]}}],
      "integrator": {{"type": "static", "step": {}, "duration": 1, "ramp": 0}}}})",
                                         step));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.position("b.node.5").z() == doctest::Approx(0.99957).epsilon(1e-5));
    CHECK(c.statistics().snaps == 0);
  }
}

// Beside the equilibrium at hand the law of the contacts, linearised, has solutions by which the box turns over. Runs
// with increments of 0.02 and 0.01 ended there.
TEST_CASE("static: a rough box that springs hold stays flat at any increment") {
  for (const double step : {0.1, 0.05, 0.02, 0.01}) {
    CAPTURE(step);
    Case c = Case::from_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 3.272237582396373,
        "shape": {{"type": "box", "size": [0.2, 0.15, 0.1]}}, "position": [0, 0, 0.05],
        "points": [{{"name": "p0", "at": [0.08, 0.05, -0.05]}}, {{"name": "p1", "at": [-0.08, 0.04, -0.05]}},
                   {{"name": "p2", "at": [0, -0.06, -0.05]}}, {{"name": "p3", "at": [0.05, 0, -0.05]}}]}}],
      "contacts": [{{"name": "floor", "on": "b.vertices", "friction": 0.16308533545601386,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "loads": [{{"name": "l", "type": "force", "on": "b.p3",
                 "value": ["-4.223483009409825*sin(2.5207653554775553*t)", "-8.124508399151011*sin(4.852810721263874*t)",
                           "-1.6249016798302023*sin(4.852810721263874*t)^2"]}}],
      "ground": [{{"name": "g0", "at": [0.4020840225955645, 0.038671083987443775, 0]}},
                 {{"name": "g1", "at": [-0.3955942329458798, 0.41958966133675935, 0]}},
                 {{"name": "g2", "at": [-0.5489040357082132, -0.20639132618590478, 0]}},
                 {{"name": "g3", "at": [0.1566234624216462, -0.3105502064354049, 0]}}],
      "springs": [{{"name": "s0", "of": ["ground.g0", "b.p0"], "stiffness": 2973.772716618637}},
                  {{"name": "s1", "of": ["ground.g1", "b.p1"], "stiffness": 1560.8860093220928}},
                  {{"name": "s2", "of": ["ground.g2", "b.p2"], "stiffness": 68.00269455510772}},
                  {{"name": "s3", "of": ["ground.g3", "b.p3"], "stiffness": 44.670294090594254}}],
      "integrator": {{"type": "static", "step": {}, "duration": 2, "ramp": 0}}}})x",
                                         step));
    double highest = 0;
    REQUIRE(c.run([&](const StepView&) { highest = std::max(highest, c.position("b").z()); }) == RunStatus::completed);
    CHECK(highest == doctest::Approx(0.05).epsilon(1e-6));
    CHECK(c.position("b").x() == doctest::Approx(-0.0025).epsilon(0.1));
    CHECK(c.position("b").y() == doctest::Approx(-0.0069).epsilon(0.1));
  }
}

TEST_CASE("static: two rough boxes and springs between them stay flat at any increment") {
  Case c = Case::from_text(R"x({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [
      {"name": "b0", "type": "rigid", "mass": 0.124388356673733, "shape": {"type": "box", "size": [0.2, 0.15, 0.1]},
       "position": [0, 0, 0.05],
       "points": [{"name": "p0", "at": [0.08, 0.05, -0.05]}, {"name": "p1", "at": [-0.08, 0.04, -0.05]},
                  {"name": "p2", "at": [0, -0.06, -0.05]}, {"name": "p3", "at": [0.05, 0, -0.05]}]},
      {"name": "b1", "type": "rigid", "mass": 3.4846345129308065, "shape": {"type": "box", "size": [0.2, 0.15, 0.1]},
       "position": [0.4, 0, 0.05],
       "points": [{"name": "p0", "at": [0.08, 0.05, -0.05]}, {"name": "p1", "at": [-0.08, 0.04, -0.05]},
                  {"name": "p2", "at": [0, -0.06, -0.05]}, {"name": "p3", "at": [0.05, 0, -0.05]}]}],
    "contacts": [
      {"name": "c0", "on": "b0.vertices", "friction": 0.7279520786988178,
       "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
      {"name": "c1", "on": "b1.vertices", "friction": 0.36351248664456337,
       "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "loads": [
      {"name": "l0", "type": "force", "on": "b0", "value": ["-1.2846748940413795*sin(4.589366766366492*t)",
       "-0.10921447730872956*sin(4.9350376912742115*t)", "-0.021842895461745913*sin(4.9350376912742115*t)^2"]},
      {"name": "l1", "type": "force", "on": "b1", "value": ["-23.294659153255534*sin(6.863831771954325*t)",
       "-15.469613667333524*sin(4.977986037876991*t)", "-3.093922733466705*sin(4.977986037876991*t)^2"]}],
    "ground": [
      {"name": "g00", "at": [0.5365587883144167, 0.4054281745009286, 0]},
      {"name": "g01", "at": [-0.12737078160261348, 0.3547971175810722, 0]},
      {"name": "g02", "at": [-0.4491076548274482, -0.0675694484102813, 0]},
      {"name": "g03", "at": [0.15241030676299078, -0.5347589919025432, 0]},
      {"name": "g10", "at": [0.9330933500345194, 0.1884832555287757, 0]},
      {"name": "g11", "at": [0.09194242483567516, 0.46538042051511835, 0]},
      {"name": "g12", "at": [-0.024174201925397043, -0.24600736335660586, 0]},
      {"name": "g13", "at": [0.7358241625553161, -0.43027046469055563, 0]}],
    "springs": [
      {"name": "s00", "of": ["ground.g00", "b0.p0"], "stiffness": 2201.0445810433243},
      {"name": "s01", "of": ["ground.g01", "b0.p1"], "stiffness": 188.6113980661931},
      {"name": "s02", "of": ["ground.g02", "b0.p2"], "stiffness": 398.4895291289457},
      {"name": "s03", "of": ["ground.g03", "b0.p3"], "stiffness": 947.702587695439},
      {"name": "s10", "of": ["ground.g10", "b1.p0"], "stiffness": 188.7983308657946},
      {"name": "s11", "of": ["ground.g11", "b1.p1"], "stiffness": 1283.6331257529357},
      {"name": "s12", "of": ["ground.g12", "b1.p2"], "stiffness": 353.87680422187384},
      {"name": "s13", "of": ["ground.g13", "b1.p3"], "stiffness": 67.60692500571419},
      {"name": "t1", "of": ["b0.p0", "b1.p1"], "stiffness": 2634.79117948965}],
    "integrator": {"type": "static", "step": 0.1, "duration": 2, "ramp": 0}})x");
  double highest = 0;
  // a whole increment tips the first box at 0.8
  REQUIRE(c.run([&](const StepView&) { highest = std::max(highest, c.position("b0").z()); }) == RunStatus::completed);
  CHECK(c.statistics().snaps == 0);
  CHECK(highest == doctest::Approx(0.05).epsilon(1e-6));
  CHECK(c.position("b0").x() == doctest::Approx(-0.0032).epsilon(0.05));
  CHECK(c.position("b1").x() == doctest::Approx(0.3924).epsilon(0.003));
}
