// Light bodies beside heavy ones: residuals are measured for all bodies together, and must not hide the light ones.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// A pendulum of 1 g and 1 cm beside a free mass that does not touch it.
Vec3 end_of_pendulum(const char* method, double mass, double h) {
  ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "p", "type": "point_mass", "mass": 1e-3, "position": [0.01, 0, 0]}},
               {{"name": "big", "type": "point_mass", "mass": {:.17g}, "position": [1, 0, 5]}}],
    "ground": [{{"name": "o", "at": [0, 0, 0]}}],
    "joints": [{{"name": "rod", "type": "distance", "of": ["ground.o", "p"]}}],
    "integrator": {{"type": "{}", "step": {:.17g}, "duration": 0.1}}}})x",
                                               mass, method, h));
  REQUIRE(run.run() == RunStatus::completed);
  return run.position("p");
}

}  // namespace

TEST_CASE("a light pendulum moves alike beside masses of any size") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "moreau_jean"})
    for (const double h : {1e-3, 1e-4}) {
      CAPTURE(method);
      CAPTURE(h);
      const Vec3 alone = end_of_pendulum(method, 1e-3, h);
      CHECK((end_of_pendulum(method, 1, h) - alone).norm() < 1e-9);
      CHECK((end_of_pendulum(method, 1e3, h) - alone).norm() < 1e-9);
      CHECK((end_of_pendulum(method, 1e6, h) - alone).norm() < 1e-8);
    }
}

TEST_CASE("a light pendulum on a heavy body that is held moves like one on the ground") {
  const double h = 1e-4;
  const Vec3 alone = end_of_pendulum("nsga_decoupled", 1e-3, h);
  ModelRun run = ModelRun::of_text(R"x({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "p", "type": "point_mass", "mass": 1e-3, "position": [0.01, 0, 0]},
               {"name": "big", "type": "rigid", "mass": 1e6, "inertia": [1e6, 1e6, 1e6], "position": [0, 0, 0]}],
    "joints": [{"name": "held", "type": "fixed", "of": ["ground", "big"]},
               {"name": "rod", "type": "distance", "of": ["big", "p"]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-4, "duration": 0.1}})x");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK((run.position("p") - alone).norm() < 1e-7);
}

TEST_CASE("a light ball bounces alike beside masses of any size") {
  const auto end = [](const char* method, double mass) {
    ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "point_mass", "mass": 1e-3, "position": [0, 0, 0.1]}},
                 {{"name": "big", "type": "point_mass", "mass": {:.17g}, "position": [1, 0, 5]}}],
      "contacts": [{{"name": "c", "on": "b", "restitution": 0.5, "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.28}}}})x",
                                                 mass, method));
    REQUIRE(run.run() == RunStatus::completed);
    return run.position("b").z();
  };
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean"}) {
    CAPTURE(method);
    CHECK(end(method, 1e7) == doctest::Approx(end(method, 1e-3)).epsilon(1e-9));
  }
}

// A body without forces but its weight; Euler's equations give w(1) = (-0.51510, 9.98083, 0.46289).
TEST_CASE("a small body tumbles alike, alone and beside a body far away, at any step") {
  const auto rate = [](const char* method, double scale, const char* companion, double h) {
    ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "top", "type": "rigid", "mass": {:.17g}, "inertia": [{:.17g}, {:.17g}, {:.17g}],
                  "angular_velocity": [0.1, 10, 0.1]}}{}],
      "integrator": {{"type": "{}", "step": {:.17g}, "duration": 1}}}})x",
                                                 1e5 * scale, scale, 2 * scale, 2.5 * scale, companion, method, h));
    REQUIRE(run.run() == RunStatus::completed);
    const int first = run.system().dofs().equation(0, 3);
    return Vec3(Eigen::Map<const Vec3>(run.state().v.data() + first));
  };
  const Vec3 exact(-0.51510122, 9.98083193, 0.46288596);
  const char* const far =
      R"(, {"name": "far", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [100, 0, 0]})";
  const char* const heavy =
      R"(, {"name": "heavy", "type": "rigid", "mass": 10, "inertia": [1, 1, 1], "position": [1, 0, 0]})";
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "generalized_alpha",
                             "event_driven", "moreau_jean"}) {
    CAPTURE(method);
    const Vec3 alone = rate(method, 1e-6, "", 1e-3);
    CHECK((alone - exact).norm() < 1e-4);
    CHECK((rate(method, 1e-6, far, 1e-3) - alone).norm() < 1e-9);
    CHECK((rate(method, 1e-9, heavy, 1e-3) - alone).norm() < 1e-9);
  }
  // smaller steps leave less of the moments in a step than the norm of all residuals sees
  CHECK((rate("nsga_decoupled", 1e-8, "", 1e-5) - exact).norm() < 1e-7);
  CHECK((rate("nsga_decoupled", 1e-6, far, 1e-4) - exact).norm() < 1e-6);
}

// Conjugate gradients solve beside a solid.
TEST_CASE("a small body tumbles beside a solid as alone") {
  const auto rate = [](const char* method, bool solid) {
    ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81]{},
      "bodies": [{{"name": "top", "type": "rigid", "mass": 1e-3, "inertia": [1e-9, 2e-9, 2.5e-9], "position": [5, 0, 0],
                  "angular_velocity": [0.1, 10, 0.1]}}{}],
      "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.2}}}})x",
                                                 solid ? R"(, "materials": [{"name": "m", "type": "linear_elastic",
        "young": 1e7, "poisson": 0.3, "density": 1000}])"
                                                       : "",
                                                 solid ? R"(, {"name": "cube", "type": "solid", "material": "m",
        "mesh": {"type": "box", "size": [0.5, 0.5, 0.5], "divisions": [4, 4, 4]}})"
                                                       : "",
                                                 method));
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.integrator->solvers()[0]->saddle().iterative() == solid);
    const int first = run.system().dofs().equation(0, 3);
    return Vec3(Eigen::Map<const Vec3>(run.state().v.data() + first));
  };
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "generalized_alpha", "moreau_jean"}) {
    CAPTURE(method);
    const Vec3 alone = rate(method, false);
    CHECK(alone[0] == doctest::Approx(0.02886).epsilon(1e-3));
    CHECK((rate(method, true) - alone).norm() < 1e-6);
  }
}

TEST_CASE("a light pendulum beside a heavy body moves alike in the monolithic method, too") {
  const auto angle_rate = [](const char* method) {
    ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 1e-3, "inertia": [1.1e-8, 1.1e-8, 1.1e-8],
                  "position": [0.01, 0, 0], "points": [{{"name": "a", "at": [-0.01, 0, 0]}}]}},
                 {{"name": "q", "type": "rigid", "mass": 1000, "inertia": [1000, 1000, 1000], "position": [10, 0, 0]}}],
      "joints": [{{"name": "j", "type": "revolute", "of": ["ground", "b.a"], "axis": [0, 1, 0]}}],
      "integrator": {{"type": "{}", "step": 1e-4, "duration": 0.5}}}})x",
                                                 method));
    REQUIRE(run.run() == RunStatus::completed);
    return run.state().v[at(run.system().dofs().equation(0, 4))];
  };
  CHECK(angle_rate("nsga_monolithic") == doctest::Approx(angle_rate("nsga_decoupled")).epsilon(1e-4));
}

// Two thin beams, a spherical and a universal joint: the rotary inertia of their nodes is 1e-12 of what a mass in a
// distance of the length scale, 1.7 km, would have.
TEST_CASE("thin beams in joints move alike, alone and beside a mass far away") {
  const auto end = [](const char* method, bool companion) {
    const std::string text = fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "materials": [{{"name": "m", "type": "linear_elastic", "young": 2e7, "density": 1000}}],
      "sections": [{{"name": "s", "type": "circle", "radius": 0.02}}],
      "bodies": [{{"name": "b0", "type": "beam", "material": "m", "section": "s", "elements": 3, "damping": 0.002,
                  "from": [0, 0, 1], "to": [0.48, -0.28, 1.1]}},
                 {{"name": "b1", "type": "beam", "material": "m", "section": "s", "elements": 3, "damping": 0.002,
                  "from": [0.48, -0.28, 1.1], "to": [-0.05, 0.07, 1.2]}}{}],
      "ground": [{{"name": "g", "at": [0, 0, 1]}}],
      "joints": [{{"name": "j0", "type": "spherical", "of": ["ground.g", "b0.start"]}},
                 {{"name": "j1", "type": "universal", "of": ["b0.end", "b1.start"], "axis": [0.56, 0.35, 0.31],
                  "second_axis": [0.18, -0.17, -0.13322580645161291]}}],
      "contacts": [{{"name": "c", "on": "b0.nodes",
                    "obstacle": {{"type": "plane", "point": [0, 0, 0.315], "normal": [0.33, 0.21, 1]}}}}],
      "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.6}}}})x",
        companion ? R"(, {"name": "far", "type": "point_mass", "mass": 1, "position": [1000, 1000, 1000]})" : "",
        method);
    ModelRun run = ModelRun::of_text(text);
    REQUIRE(run.run() == RunStatus::completed);
    return run.position("b1.end");
  };
  for (const char* method : {"nsga_decoupled", "moreau_jean"}) {
    CAPTURE(method);
    CHECK((end(method, true) - end(method, false)).norm() < 2e-4);
  }
}

namespace {

constexpr const char *steel = R"(, {"name": "steel", "type": "linear_elastic", "young": 2e11, "poisson": 0.3,
                                     "density": 7800})",
                     *thick = R"(, {"name": "thick", "type": "rectangle", "width": 0.4, "height": 0.4})",
                     *hinge = R"({"name": "j", "type": "revolute", "of": ["ground", "p.start"], "axis": [0, 1, 0]})",
                     *clamp = R"(, "fixed": [{"on": "start"}])";

// A soft pendulum of 0.1 m and 78 mg, in statics a cantilever, alone or beside a steel beam or block, and its end at
// the end.
Vec3 end_of_soft_beam(const std::string& integrator, const std::string& beside, const std::string& loads = "") {
  const bool alone = beside.empty(), hinged = integrator.find("static") == std::string::npos,
             beam = beside.find("beam") != std::string::npos;
  ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
    "materials": [{{"name": "soft", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 1000}}{}],
    "sections": [{{"name": "thin", "type": "circle", "radius": 0.0005}}{}],
    "bodies": [{{"name": "p", "type": "beam", "material": "soft", "section": "thin", "from": [0, 0, 0],
                "to": [0.1, 0, 0], "elements": 6{}}}{}],
    "joints": [{}], "loads": [{}],
    "integrator": {}}})x",
                                               alone ? "" : steel, beam ? thick : "", hinged ? "" : clamp,
                                               alone ? "" : ", " + beside, hinged ? hinge : "", loads, integrator));
  REQUIRE(run.run() == RunStatus::completed);
  return run.position("p.end");
}

constexpr const char* steel_beam = R"({"name": "s", "type": "beam", "material": "steel", "section": "thick",
  "from": [0, 3, 0], "to": [2, 3, 0], "elements": 8, "fixed": [{"on": "start"}]})";
constexpr const char* steel_block = R"({"name": "s", "type": "solid", "material": "steel", "position": [0, 1, 0],
  "mesh": {"type": "box", "size": [1, 0.1, 0.1], "divisions": [8, 4, 4]}, "fixed": [{"on": "left"}]})";

}  // namespace

// The rounding of the forces of the steel exceeds the weight of the pendulum.
TEST_CASE("a soft beam moves alike, alone and beside steel, loaded or not") {
  const std::string load = R"x({"name": "F", "type": "force", "on": "s.end", "value": [0, "1e5*sin(30*t)", 0]})x";
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "moreau_jean", "generalized_alpha"}) {
    CAPTURE(method);
    const std::string integrator = fmt::format(R"({{"type": "{}", "step": 4e-3, "duration": 0.2}})", method);
    const Vec3 alone = end_of_soft_beam(integrator, "");
    CHECK((end_of_soft_beam(integrator, steel_beam) - alone).norm() < 1e-7);
    CHECK((end_of_soft_beam(integrator, steel_beam, load) - alone).norm() < 1e-7);
    CHECK((end_of_soft_beam(integrator, steel_block) - alone).norm() < 1e-5);
  }
}

TEST_CASE("statics bend a soft beam alike, alone and beside steel under ten million newton") {
  constexpr const char* integrator = R"({"type": "static", "step": 1})";
  const std::string load = R"({"name": "F", "type": "force", "on": "s.end", "value": [0, 1e7, 0]})";
  const Vec3 alone = end_of_soft_beam(integrator, "");
  CHECK((end_of_soft_beam(integrator, steel_beam, load) - alone).norm() < 1e-7);
}

TEST_CASE("a soft cable on a spring moves alike, held by the ground and by a block of steel") {
  const auto end = [](bool ground) {
    const std::string block = R"(, {"name": "s", "type": "solid", "material": "steel", "position": [0.5, 0, 0.1],
      "mesh": {"type": "box", "size": [1, 0.1, 0.1], "divisions": [8, 4, 4]}, "fixed": [{"on": "left"}]})";
    ModelRun run =
        ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "materials": [{{"name": "soft", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 1000}}{}],
      "sections": [{{"name": "thin", "type": "circle", "radius": 0.0005}}],
      "bodies": [{{"name": "p", "type": "bar", "material": "soft", "section": "thin", "from": [1, -0.05, 0],
                  "to": [1.1, -0.05, 0], "elements": 4}}{}],
      "ground": [{{"name": "g", "at": [1, -0.05, 0.05]}}],
      "springs": [{{"name": "k", "of": ["{}", "p.start"], "stiffness": 1.5707963}}],
      "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 0.1}}}})x",
                                      ground ? "" : steel, ground ? "" : block, ground ? "ground.g" : "s.node.8"));
    REQUIRE(run.run() == RunStatus::completed);
    return run.position("p.end");
  };
  // the end of the block swings by 0.1 mm
  CHECK((end(false) - end(true)).norm() < 2e-4);
}
