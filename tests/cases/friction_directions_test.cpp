// Directions of reactions in the course of a step, at its end or in the mean, where contacts slide on curves or stick
// while bodies turn.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "core/lie/so3.hpp"
#include "energy_account.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// A bead falls from the rim along a bowl: the angle where it is at t = 0.6, without and with friction.
constexpr double frictions[] = {0, 0.3}, exact_angles[] = {-1.53518949, -1.83276871};

Case bead_in_bowl(double friction, const char* method, const char* directions, double h) {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "m", "type": "point_mass", "mass": 1, "position": [-1, 0, 0]}}],
    "contacts": [{{"name": "bowl", "on": "m", "friction": {},
      "obstacle": {{"type": "sphere", "side": "inside", "center": [0, 0, 0], "radius": 1}}}}],
    "integrator": {{"type": {}, "step": {}, "duration": 0.6, "reaction_directions": "{}"}}}})",
                                     friction, method, h, directions));
}

// Methods that have mean directions, as in a model.
constexpr const char* methods[] = {R"("nsga_decoupled")", R"("nsga_coupled")", R"("nsga_monolithic")",
                                   R"("nsga_pva", "strategy": 2)"};

}  // namespace

TEST_CASE("bead in a bowl with directions of the end: of first order in the step, with and without friction") {
  for (int i = 0; i < 2; ++i) {
    double before = 0;
    for (const double h : {1e-2, 5e-3, 2.5e-3}) {
      Case c = bead_in_bowl(frictions[i], methods[0], "end", h);
      REQUIRE(c.run() == RunStatus::completed);
      const Vec3 x = c.position("m");
      const double error = std::atan2(x.z(), x.x()) - exact_angles[i];
      CHECK(std::abs(x.y()) < 1e-12);
      CHECK(x.norm() == doctest::Approx(1).epsilon(1e-12));
      CHECK(error < 0);
      CHECK(error > -2.2 * h);
      if (before != 0) CHECK(error / before == doctest::Approx(0.5).epsilon(0.05));
      before = error;
    }
  }
}

TEST_CASE("bead in a bowl with mean directions: of second order, with and without friction") {
  const double largest[] = {8e-5, 4.5e-5};
  for (const char* method : methods)
    for (int i = 0; i < 2; ++i) {
      CAPTURE(method);
      double before = 0;
      for (const double h : {1e-2, 5e-3, 2.5e-3}) {
        Case c = bead_in_bowl(frictions[i], method, "mean", h);
        REQUIRE(c.run() == RunStatus::completed);
        const Vec3 x = c.position("m");
        const double error = std::atan2(x.z(), x.x()) - exact_angles[i];
        CHECK(x.norm() == doctest::Approx(1).epsilon(1e-12));
        // the monolithic method solves a step's cone problem with all tangential rows to the tolerance of rows
        CHECK(std::abs(x.y()) < (std::string(method) == R"("nsga_monolithic")" ? 1e-10 : 1e-12));
        CHECK(std::abs(error) < largest[i] * (h / 1e-2) * (h / 1e-2));
        if (before != 0) CHECK(error / before == doctest::Approx(0.25).epsilon(0.05));
        before = error;
      }
    }
}

TEST_CASE("a rod pivots about its sticking end: mean directions keep its energy to second order") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic"}) {
    CAPTURE(method);
    const auto gain = [method](double h, const char* directions) {
      Case c = Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.0833333333, 0.0833333333],
        "position": [0.3, 0, 0.4], "orientation": {{"axis": [0, 1, 0], "angle": -0.9272952180016122}},
        "points": [{{"name": "end", "at": [-0.5, 0, 0]}}]}}],
      "contacts": [{{"name": "floor", "on": "rod.end", "friction": 2,
        "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "integrator": {{"type": "{}", "step": {}, "duration": 0.2, "reaction_directions": "{}"}}}})",
                                           method, h, directions));
      const double before = c.energy();
      REQUIRE(c.run() == RunStatus::completed);
      CHECK(c.position("rod.end").norm() < 1e-10);
      return c.energy() - before;
    };
    const double end[] = {gain(2e-3, "end"), gain(1e-3, "end")}, mean[] = {gain(2e-3, "mean"), gain(1e-3, "mean")};
    CHECK(end[1] / end[0] == doctest::Approx(0.5).epsilon(0.1));
    CHECK(mean[1] / mean[0] == doctest::Approx(0.25).epsilon(0.1));
    CHECK(std::abs(mean[0]) < 0.02 * std::abs(end[0]));
  }
}

TEST_CASE("two hinged rods, one of which stands on the floor: the hinge has mean directions, too") {
  // the end that sticks is a hinge in the reference
  const double a = -0.8, b = 0.3, duration = 0.2;
  const auto velocity = [a, b, duration](const char* method, int steps, const char* keys, bool hinged) {
    const double x = 0.5 * std::cos(a), z = -0.5 * std::sin(a);
    Case c = Case::from_text(fmt::format(
        R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
        "bodies": [
          {{"name": "a", "type": "rigid", "mass": 1, "inertia": [0.002, 0.08, 0.08], "position": [{}, 0, {}],
            "orientation": {{"axis": [0, 1, 0], "angle": {}}},
            "points": [{{"name": "l", "at": [-0.5, 0, 0]}}, {{"name": "r", "at": [0.5, 0, 0]}}]}},
          {{"name": "b", "type": "rigid", "mass": 1, "inertia": [0.002, 0.08, 0.08], "position": [{}, 0, {}],
            "orientation": {{"axis": [0, 1, 0], "angle": {}}}, "points": [{{"name": "l", "at": [-0.5, 0, 0]}}]}}],
        "joints": [{}{{"name": "hinge", "type": "revolute", "of": ["a.r", "b.l"], "axis": [0, 1, 0]}}],
        {}
        "integrator": {{"type": {}, "step": {}, "duration": {}{}}}}})",
        x, z, a, 2 * x + 0.5 * std::cos(b), 2 * z - 0.5 * std::sin(b), b,
        hinged ? R"({"name": "foot", "type": "revolute", "of": ["ground", "a.l"], "axis": [0, 1, 0]}, )" : "",
        hinged ? "" : R"("contacts": [{"name": "floor", "on": "a.l", "friction": 3,
                     "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],)",
        method, duration / steps, duration, keys));
    const Account run = account(c);
    REQUIRE(run.status == RunStatus::completed);
    CHECK(std::abs(run.balance.closure) < 1e-12);
    return c.velocity("b");
  };
  const Vec3 exact = velocity(R"("nsga_decoupled")", 4000, "", true);
  for (const char* method : methods) {
    CAPTURE(method);
    const auto error = [&](int steps, const char* directions) {
      return (velocity(method, steps, directions, false) - exact).norm();
    };
    constexpr const char *mean = R"(, "reaction_directions": "mean")", *end = R"(, "reaction_directions": "end")";
    const double errors[] = {error(100, mean), error(200, mean)};
    CHECK(errors[0] < 3e-6);
    CHECK(errors[1] / errors[0] == doctest::Approx(0.25).epsilon(0.05));
    CHECK(error(200, end) > 100 * errors[1]);
  }
}

// The centre of a ball that rolls inside a vertical cylinder oscillates up and down with the square of the angular
// frequency (2/7) W^2, W: rate of the way round; the spin about the normal, which drives that, comes and goes with it.
TEST_CASE("a ball rolls inside a vertical cylinder: spin about a normal that turns is no slip") {
  constexpr double gravity = 9.81, W = 8, duration = 0.7, square = 2.0 / 7 * W * W;
  const double exact = -5.0 / 7 * gravity / square * (1 - std::cos(std::sqrt(square) * duration));
  for (const char* method : methods) {
    CAPTURE(method);
    double before = 0;
    for (const double h : {2e-3, 1e-3}) {
      Case c = Case::from_text(fmt::format(R"x({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "b", "type": "rigid", "mass": 0.3, "shape": {{"type": "sphere", "radius": 0.05}},
          "position": [0.45, 0, 0], "velocity": [0, 3.6, 0], "angular_velocity": [0, 0, -72]}}],
        "contacts": [{{"name": "c", "on": "b", "friction": 2, "obstacle": {{"type": "cylinder", "center": [0, 0, 0],
          "axis": [0, 0, 1], "radius": 0.5, "side": "inside"}}}}],
        "integrator": {{"type": {}, "step": {}, "duration": {}, "reaction_directions": "mean"}}}})x",
                                           method, h, duration));
      const double start = c.energy();
      REQUIRE(c.run() == RunStatus::completed);
      const double error = c.position("b").z() - exact;
      CHECK(std::abs(error) < 1e-3 * (h / 1e-3) * (h / 1e-3));
      if (before != 0) CHECK(error / before == doctest::Approx(0.25).epsilon(0.1));
      before = error;
      CHECK(std::abs(c.energy() - start) < 2e-3 * (h / 1e-3) * (h / 1e-3));
      CHECK((c.rotation("b") * c.angular_velocity("b")).z() == doctest::Approx(-72).epsilon(2e-3));
    }
  }
}

TEST_CASE("balls with spin about the normal on a ball, and on a plane that rocks: of second order in the step") {
  const char* const models[] = {
      R"x("bodies": [{"name": "b", "type": "rigid", "mass": 0.3, "shape": {"type": "sphere", "radius": 0.05},
            "position": [0.10926813193728367, 0, 0.539036617812683], "velocity": [0, 0.5, 0],
            "angular_velocity": [2.1194940692912567, 0, 60.790687978425105]},
           {"name": "B", "type": "rigid", "mass": 50, "shape": {"type": "sphere", "radius": 0.5},
            "fixed": ["translation"]}],
          "contacts": [{"name": "c", "between": ["b", "B"], "friction": 1.5}])x",
      R"x("bodies": [{"name": "b", "type": "rigid", "mass": 0.3, "shape": {"type": "sphere", "radius": 0.05},
            "position": [0.2, 0, 0.05], "angular_velocity": [0, 0, 60]}],
          "contacts": [{"name": "c", "on": "b", "friction": 1.5, "rolling_resistance": 1e-4, "pivoting_resistance": 1e-4,
            "obstacle": {"type": "plane", "normal": [0, 0, 1],
                         "motion": {"rotation": {"axis": [0, 1, 0], "angle": "0.1*(1-cos(10*t))"}}}}])x"};
  for (const char* model : models) {
    const auto place = [model](double h) {
      Case c = Case::from_text(fmt::format(
          R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81], {}, "integrator": {{"type": "nsga_decoupled",
            "step": {}, "duration": 0.4}}}})",
          model, h));
      REQUIRE(c.run() == RunStatus::completed);
      return c.position("b");
    };
    const Vec3 x[] = {place(4e-3), place(2e-3), place(1e-3)};
    CHECK((x[2] - x[1]).norm() / (x[1] - x[0]).norm() == doctest::Approx(0.25).epsilon(0.15));
  }
}

namespace {

// A point that is held in y, on a plane that turns about z.
Case point_on_turntable(const std::string& integrator, double h) {
  return Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "b", "type": "point_mass", "mass": 1, "position": [0.5, 0, 0], "fixed": ["y"]}}],
    "contacts": [{{"name": "table", "on": "b", "restitution": 0, "friction": 0.3,
      "obstacle": {{"type": "plane", "normal": [0, 0, 1],
                    "motion": {{"rotation": {{"axis": [0, 0, 1], "angle": "10*t"}}}}}}}}],
    "integrator": {{"type": {}, "step": {}, "duration": 1}}}})",
                                     integrator, h));
}

// A point in a drum that turns about its own axis y, where friction and weight are in balance.
Case point_in_drum(const std::string& integrator, double speed, double h) {
  return Case::from_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81], "parameters": {{"mu": 0.4}},
    "bodies": [{{"name": "b", "type": "point_mass", "mass": 1, "position": ["=-sin(atan(mu))", 0, "=-cos(atan(mu))"]}}],
    "contacts": [{{"name": "drum", "on": "b", "restitution": 0, "friction": "=mu",
      "obstacle": {{"type": "cylinder", "center": [0, 0, 0], "axis": [0, 1, 0], "radius": 1, "side": "inside",
                    "motion": {{"rotation": {{"axis": [0, 1, 0], "angle": "{}*t"}}}}}}}}],
    "integrator": {{"type": {}, "step": {}, "duration": 1}}}})x",
                                     speed, integrator, h));
}

}  // namespace

TEST_CASE("friction keeps the direction of the slip on an obstacle that turns about the normal") {
  for (const char* method : {R"("cd_lagrange")", R"("moreau_jean")"}) {
    CAPTURE(method);
    Case c = point_on_turntable(method, 1e-2);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.position("b").x() == doctest::Approx(0.5).epsilon(1e-12));
  }
  for (const char* method : methods) {
    CAPTURE(method);
    for (const double h : {1e-2, 5e-3}) {
      Case c = point_on_turntable(std::string(method) + R"(, "reaction_directions": "mean")", h);
      REQUIRE(c.run() == RunStatus::completed);
      const double error = std::abs(c.position("b").x() - 0.5);
      CHECK(error < 10 * h * h);
    }
  }
}

TEST_CASE("a drum that turns about its own axis, slowly or fast, moves nothing along it") {
  for (const char* method : {R"("cd_lagrange")", R"("moreau_jean")", R"("nsga_decoupled")"})
    for (const double speed : {5.0, 50.0, 300.0}) {
      CAPTURE(method);
      CAPTURE(speed);
      Case c = point_in_drum(method, speed, 1e-2);
      const Vec3 start = c.position("b");
      double subdivided = 0;
      REQUIRE(c.run([&](const StepView& v) { subdivided += v.nominal ? 0 : 1; }) == RunStatus::completed);
      CHECK(subdivided == 0);
      CHECK(std::abs(c.position("b").y()) < 1e-9);
      CHECK((c.position("b") - start).norm() < 0.02);
    }
}

TEST_CASE("the impact law reflects slip in its direction, where tangential directions turn in the step") {
  // where positions are corrected, friction has carried the body along in the step, by 0.01, before it leaves
  for (const auto& run :
       {std::pair(R"("moreau_jean")", 1e-9), std::pair(R"("cd_lagrange")", 1e-9),
        std::pair(R"("nsga_decoupled")", 1e-9), std::pair(R"("nsga_decoupled", "impact": "published")", 0.0201),
        std::pair(R"("nsga_coupled")", 0.0201), std::pair(R"("nsga_monolithic")", 0.0201)}) {
    CAPTURE(run.first);
    Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, 0],
      "bodies": [{{"name": "b", "type": "point_mass", "mass": 1, "position": [0.5, 0, 0.05], "velocity": [0, 0, -1]}}],
      "contacts": [{{"name": "table", "on": "b", "restitution": 0.5, "friction": 9, "tangential_restitution": 1,
        "obstacle": {{"type": "plane", "normal": [0, 0, 1],
                      "motion": {{"rotation": {{"axis": [0, 0, 1], "angle": "2*t"}}}}}}}}],
      "integrator": {{"type": {}, "step": 0.01, "duration": 0.09}}}})",
                                         run.first));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.velocity("b") - Vec3(0, 2, 0.5)).norm() < run.second);
  }
}

// The slip up to touch-down is measured in the directions at the place of the smooth motion, but corrected in those of
// the end: components in other directions are another slip, as the model happens to be turned.
TEST_CASE("a ball falls with spin on a ball: turned as a whole the model moves as before") {
  for (const char* method : methods) {
    CAPTURE(method);
    Vec3 there[2];
    for (int turned = 0; turned < 2; ++turned) {
      const Mat3 R = turned == 0 ? Mat3(Mat3::Identity()) : so3::exp(Vec3(1.1, -2.0, 0.7));
      const auto text = [&R](const Vec3& x) {
        const Vec3 y = R * x;
        return fmt::format("[{}, {}, {}]", y.x(), y.y(), y.z());
      };
      // the axes of the body turn with the model
      Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": {},
        "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "shape": {{"type": "sphere", "radius": 0.1}},
                    "position": {}, "velocity": {}, "angular_velocity": {}}}],
        "contacts": [{{"name": "c", "on": "b", "friction": 0.9, "restitution": 0,
                      "obstacle": {{"type": "sphere", "center": {}, "radius": 0.5}}}}],
        "integrator": {{"type": {}, "step": 0.02, "duration": 0.24}}}})",
                                           text({0, 0, -9.81}), text({-0.3, 0.01, 0.25}), text({3, 0, -1.5}),
                                           text({10, -20, 5}), text({0, 0, -0.5}), method));
      REQUIRE(c.run() == RunStatus::completed);
      there[turned] = R.transpose() * c.position("b");
    }
    CHECK((there[1] - there[0]).norm() < 1e-12);
  }
}
