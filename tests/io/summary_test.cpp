// What the program says about a run that has ended.

#include "io/results/summary.hpp"
#include "io/model/stability_remark.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

TEST_CASE("remarks: energy that grew without cause by more than 0.03 of the energies is told") {
  const ModelRun run = ModelRun::of_file("elastic_bar");
  const auto told = [&](double growth) {
    RunStatistics statistics;
    statistics.growth = growth;
    return step_remarks(*run.model, run.integrator->info(), statistics);
  };
  CHECK(told(0).empty());
  CHECK(told(0.03).empty());
  const std::vector<std::string> remarks = told(0.04);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("the energy grew by up to 0.04 of the energies") == 0);
}

TEST_CASE("remarks: a run of so few steps that none confirms another is told, unless it ends early or nothing moves") {
  ModelRun run = ModelRun::of_file("elastic_bar");
  const auto told = [&](long steps, double share, double speed) {
    RunStatistics statistics;
    statistics.steps = steps;
    statistics.largest_speed = speed;
    run.model->state.step = steps;
    run.model->state.t = share * run.model->simulation.duration;
    return step_remarks(*run.model, run.integrator->info(), statistics);
  };
  CHECK(told(4, 1, 1).empty());
  CHECK(told(2, 0.5, 1).empty());
  CHECK(told(2, 1, 0).empty());
  REQUIRE(told(1, 1, 1).size() == 1);
  CHECK(told(1, 1, 1)[0].find("the run has only one step: ") == 0);
  REQUIRE(told(3, 1, 1).size() == 1);
  CHECK(told(3, 1, 1)[0].find("the run has only 3 steps: ") == 0);
}

TEST_CASE("remarks: where drivers work, energy that grew by more than a quarter is told") {
  const ModelRun run = ModelRun::of_file("four_bar");
  RunStatistics statistics;
  statistics.growth = 0.25;
  CHECK(step_remarks(*run.model, run.integrator->info(), statistics).empty());
  statistics.growth = 0.26;
  CHECK(step_remarks(*run.model, run.integrator->info(), statistics).size() == 1);
}

TEST_CASE("remarks: forces below the roundoff of stiff members are told") {
  const ModelRun run = ModelRun::of_file("elastic_bar");
  const auto told = [&](double residual) {
    RunStatistics statistics;
    statistics.stalled_steps = 7;
    statistics.stalled_residual = residual;
    return step_remarks(*run.model, run.integrator->info(), statistics);
  };
  CHECK(told(0.01).empty());
  const std::vector<std::string> remarks = told(0.5);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("rounding left residuals of up to 0.5 of the forces in 7 steps") == 0);
}

// A slender cantilever under 1.15 times Euler's load and a small transverse one. Large increments stay on the branch of
// the straight beam, which is unstable; small ones lead to the elastica, whose end has turned by 60 degrees.
TEST_CASE("remarks: an equilibrium that a small disturbance leaves is told") {
  const std::string text = R"({"format": 1,
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7800}],
    "sections": [{"name": "flat", "type": "rectangle", "width": 0.02, "height": 0.01}],
    "bodies": [{"name": "b", "type": "beam", "material": "steel", "section": "flat", "elements": 30,
                "from": [0, 0, 0], "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "l", "type": "force", "on": "b.end", "value": [-994.613990562778, 0, 0.994613990562778]}],
    "integrator": {"type": "static"}})";
  const auto remark = [&](const char* step, const char* load) {
    ModelRun run =
        ModelRun::of_text(text, {std::string("/integrator/step=") + step, std::string("/loads/0/value/0=") + load});
    REQUIRE(run.run() == RunStatus::completed);
    if (std::string(step) == "0.01") CHECK(run.position("b.end").z() == doctest::Approx(0.594).epsilon(1e-3));
    return stability_remark(*run.model, "end");
  };
  CHECK(remark("0.1", "-994.613990562778").find("the equilibrium at the end is unstable") == 0);
  CHECK(remark("0.01", "-994.613990562778").empty());
  // below and above the critical load, 863.5 N
  CHECK(remark("0.1", "-850").empty());
  CHECK(remark("0.5", "-880").find("largest in b.node.30") != std::string::npos);
}

TEST_CASE("remarks: joints count for the stability of an equilibrium") {
  const auto remark = [](double load) {
    ModelRun run = ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, 0],
      "bodies": [{"name": "p", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1],
                  "points": [{"name": "foot", "at": [0, 0, -1]}]}],
      "ground": [{"name": "foot", "at": [0, 0, 0]}, {"name": "side", "at": [1, 0, 1]}],
      "joints": [{"name": "foot", "type": "revolute", "of": ["ground.foot", "p.foot"], "axis": [0, 1, 0]}],
      "springs": [{"name": "s", "of": ["ground.side", "p"], "stiffness": 10, "natural_length": 1}],
      "loads": [{"name": "l", "type": "force", "on": "p", "value": [0, 0, )" +
                                     std::to_string(load) + R"(]}],
      "integrator": {"type": "static", "step": 1}})");
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.position("p").x() == doctest::Approx(0));
    return stability_remark(*run.model, "end");
  };
  // a pendulum that stands on its head: with the length 1 a spring of 10 N/m holds it up to 10 N
  CHECK(remark(-9.5).empty());
  CHECK(remark(-10.5).find("unstable") != std::string::npos);
}

// A plate on four springs without natural length, turned by 120 degrees: the path leads to the energy's maximum, 180
// degrees from its minimum, where all forces are rounding.
TEST_CASE("remarks: an unstable equilibrium without any load is told, at the end and at the start of a run") {
  std::string text = R"({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "b", "type": "rigid", "mass": 1, "inertia": [0.02, 0.03, 0.04], "points": [)";
  const double corners[4][2] = {{0.3, 0.2}, {-0.3, 0.2}, {-0.3, -0.2}, {0.3, -0.2}};
  std::string ground, springs;
  for (int i = 0; i < 4; ++i) {
    const double x = corners[i][0], y = corners[i][1], c = -0.5, s = std::sqrt(0.75);
    const char* const comma = i > 0 ? ", " : "";
    text += fmt::format(R"({}{{"name": "p{}", "at": [{}, {}, 0]}})", comma, i, x, y);
    ground +=
        fmt::format(R"({}{{"name": "g{}", "at": [{:.17g}, {:.17g}, 1]}})", comma, i, c * x - s * y, s * x + c * y);
    springs += fmt::format(
        R"({}{{"name": "s{}", "of": ["ground.g{}", "b.p{}"], "stiffness": 50, "natural_length": 0}})", comma, i, i, i);
  }
  text += fmt::format(R"(]}}], "ground": [{}], "springs": [{}], "integrator": )", ground, springs);
  ModelRun still = ModelRun::of_text(text + R"({"type": "static"}})", {});
  REQUIRE(still.run() == RunStatus::completed);
  CHECK(stability_remark(*still.model, "end").find("the equilibrium at the end is unstable") == 0);
  const ModelRun moving = ModelRun::of_text(
      text + R"({"type": "nsga_decoupled", "step": 1e-3, "duration": 0.01}, "initial_state": {"equilibrium": true}})",
      {});
  const auto& warnings = moving.model->warnings;
  CHECK(std::ranges::any_of(
      warnings, [](const std::string& w) { return w.find("the equilibrium at the start is unstable") == 0; }));
}

TEST_CASE("remarks: what the method makes of a joint that does not fit, and of a penetration, at the start") {
  const auto told = [](const std::string& method, const char* words) {
    const ModelRun run = ModelRun::of_text(R"({"format": 1,
      "bodies": [{"name": "a", "type": "point_mass", "mass": 1},
                 {"name": "b", "type": "point_mass", "mass": 3, "position": [1, 0, 0]}],
      "joints": [{"name": "j", "type": "distance", "of": ["a", "b"], "length": 1.2}],
      "contacts": [{"name": "c", "on": "a", "obstacle": {"type": "plane", "normal": [0, 0, 1], "point": [0, 0, 0.1]}}],
      "integrator": {"type": ")" + method + R"(", "step": 1e-2, "duration": 1}})",
                                           {});
    const auto& warnings = run.model->warnings;
    return std::ranges::any_of(warnings, [words](const std::string& w) { return w.find(words) != std::string::npos; });
  };
  for (const char* method : {"nsga_decoupled", "paoli_schatzman"}) {
    CHECK(told(method, "largest gap 0.2 (j length); the first step closes it"));
    CHECK(told(method, "penetration of 0.1; the first step has to correct it"));
  }
  for (const char* method : {"moreau_jean", "cd_lagrange"}) {
    CHECK(told(method, "which the method, at velocity level, keeps"));
    CHECK(told(method, "does not move bodies apart"));
    CHECK(!told(method, "the first step closes it"));
  }
}

TEST_CASE("remarks: joint angles may miss turns where a body turns by more than half a turn in a step") {
  const auto told = [](const char* model, double rotation) {
    const ModelRun run = ModelRun::of_file(model);
    RunStatistics statistics;
    statistics.largest_rotation = rotation;
    const std::vector<std::string> remarks = step_remarks(*run.model, run.integrator->info(), statistics);
    return std::ranges::any_of(remarks,
                               [](const std::string& r) { return r.find("whole turns") != std::string::npos; });
  };
  CHECK(told("slider_crank", 3.1));
  CHECK(!told("slider_crank", 2));
  CHECK(!told("brick", 10));
}

// A beam hangs from a dry bearing. Friction of the step before excites its fast vibrations where numerical damping is
// weak. Energy at the end: of moreau_jean with 50 times smaller steps.
TEST_CASE("remarks: vibrations that the friction of a bearing drives are told") {
  const auto text = [](const char* rho) {
    return R"({"format": 1,
      "materials": [{"name": "m", "type": "linear_elastic", "young": 1e9, "poisson": 0.3, "density": 1000}],
      "sections": [{"name": "s", "type": "rectangle", "width": 0.02, "height": 0.02, "shear_factor": 1000}],
      "bodies": [{"name": "arm", "type": "beam", "material": "m", "section": "s", "elements": 4,
                  "from": [0, 0, 0], "to": [1, 0, 0]}],
      "joints": [{"name": "j", "type": "revolute", "of": ["ground", "arm.start"], "axis": [0, 1, 0],
                  "friction": {"coefficient": 0.3, "radius": 0.05}}],
      "gravity": [0, 0, -9.81],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1, "rho_infinity": )" +
           std::string(rho) + "}}";
  };
  const auto told = [&](const char* rho, double& energy) {
    ModelRun run = ModelRun::of_text(text(rho));
    REQUIRE(run.run() == RunStatus::completed);
    energy = run.energy();
    const std::vector<std::string> remarks = step_remarks(*run.model, run.integrator->info(), run.statistics);
    return std::ranges::any_of(
        remarks, [](const std::string& r) { return r.find("a smaller rho_infinity or damping") != std::string::npos; });
  };
  double energy = 0;
  CHECK(told("0.8", energy));
  CHECK_FALSE(told("0.5", energy));
  CHECK(energy == doctest::Approx(-0.27857).epsilon(1e-3));
}

TEST_CASE("remarks: an obstacle that passes between the points of a body") {
  const auto told = [](const std::string& on, const std::string& obstacle) {
    const ModelRun run = ModelRun::of_text(R"({"format": 1,
      "bodies": [{"name": "box", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.3, 0.4]},
                  "position": [0, 0, 2]}],
      "contacts": [{"name": "c", "on": ")" + on +
                                               R"(", "obstacle": )" + obstacle + R"(}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 1}})",
                                           {});
    return std::ranges::any_of(run.model->warnings, [](const std::string& w) {
      return w.find("only points of \"box\" touch, which are 0.2 apart") != std::string::npos;
    });
  };
  const auto sphere = [](const char* radius, const char* side) {
    return std::string(R"({"type": "sphere", "center": [0, 0, 1], "side": ")") + side + R"(", "radius": )" + radius +
           "}";
  };
  CHECK(told("box", sphere("0.05", "outside")));
  CHECK(!told("box", sphere("0.11", "outside")));
  CHECK(!told("box.center", sphere("0.05", "outside")));
  CHECK(!told("box", sphere("1", "inside")));
  CHECK(!told("box", R"({"type": "plane", "normal": [0, 0, 1]})"));
}

TEST_CASE("remarks: bodies at rest, whose energies are rounding, have none") {
  const ModelRun run = ModelRun::of_file("brick");
  EnergyBalance balance;
  balance.scale = 1e-16;
  balance.impacts = -4e-12;
  balance.contacts = 4e-12;
  balance.friction_gain = 1e-16;
  balance.numerical = -1e-16;
  CHECK(balance_remarks(*run.model, run.integrator->info(), balance).empty());
  balance.scale = 1e-3;
  balance.impacts = -4;
  balance.contacts = 4;
  CHECK(!balance_remarks(*run.model, run.integrator->info(), balance).empty());
}
