// Notes on the energy of a run: what tells that the step does not resolve the motion, and what does not.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;

namespace {

// Whether a run of m.json with these overrides, which must end well, says this on stderr.
bool says(const TemporaryDirectory& directory, const Words& overrides, const char* text) {
  Words arguments = {"run", "m.json", "-o", "r"};
  for (const std::string& value : overrides) arguments.insert(arguments.end(), {"--set", value});
  const Outcome outcome = run_carom(directory, arguments);
  CHECK(outcome.code == 0);
  return contains(outcome.err, text);
}

}  // namespace

TEST_CASE("run: impacts that give energy, or take it although restitution is 1, are remarked") {
  // a ball with little play in a container, which it crosses in about a step
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "a", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.999},
                "position": [0, 0, -0.0005], "velocity": [0.325, 0.544, -0.773]}],
    "contacts": [{"name": "c", "on": "a", "restitution": 1,
                  "obstacle": {"type": "sphere", "center": [0, 0, 0], "radius": 1, "side": "inside"}}],
    "integrator": {"type": "nsga_pva", "step": 1e-3, "duration": 0.5}})");
  const Outcome gains = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(gains.code == 0);
  CHECK(read_json(directory / "r/summary.json")["energy"]["impacts"] > 0.2);
  CHECK(contains(gains.err, "note: impacts gave "));
  const Outcome keeps = run_carom(directory, {"run", "m.json", "-o", "s", "--set", "/integrator/type=nsga_decoupled"});
  CHECK(keeps.code == 0);
  CHECK_FALSE(contains(keeps.err, "note: impacts"));
  const Outcome takes = run_carom(directory, {"run", "m.json", "-o", "t", "--set", "/integrator/type=nsga_decoupled",
                                              "--set", "/integrator/impact=published"});
  CHECK(takes.code == 0);
  CHECK(contains(takes.err, "note: impacts took "));
}

// A driver that gives and takes by turns passes much work through the model, beside which the growth of the energy is
// small: 1400 J for 43 J.
TEST_CASE("run: energy that a method gives to driven beams is remarked") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1,
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 7870}],
    "sections": [{"name": "rod", "type": "circle", "radius": 0.003}],
    "bodies": [{"name": "crank", "type": "rigid", "mass": 0.1, "inertia": [1e-3, 1e-3, 1e-3], "position": [0.0762, 0, 0],
                "points": [{"name": "hub", "at": [-0.0762, 0, 0]}, {"name": "pin", "at": [0.0762, 0, 0]}]},
               {"name": "rod", "type": "beam", "material": "steel", "section": "rod", "elements": 8,
                "from": [0.1524, 0, 0], "to": [0.4572, 0, 0]},
               {"name": "slider", "type": "rigid", "mass": 0.0335, "inertia": [1e-5, 1e-5, 1e-5],
                "position": [0.4572, 0, 0]}],
    "joints": [{"name": "drive", "type": "revolute", "of": ["ground", "crank.hub"], "axis": [0, 0, 1],
                "driver": {"angle": "124.8*t"}},
               {"name": "pin", "type": "revolute", "of": ["crank.pin", "rod.start"], "axis": [0, 0, 1]},
               {"name": "knee", "type": "spherical", "of": ["rod.end", "slider"]},
               {"name": "rail", "type": "prismatic", "of": ["ground", "slider"], "axis": [1, 0, 0]}],
    "initial_state": {"project": "velocities"}, "output": {"vtu": {"enabled": false}},
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.1}})");
  const auto told = [](const std::string& err) {
    return contains(err, "itself gave ") || contains(err, "vibrations that change their sign");
  };
  for (const char* const step : {"5e-4", "8e-4", "1.2e-3", "2e-3"}) {
    CAPTURE(step);
    const Outcome run =
        run_carom(directory, {"run", "m.json", "-o", "r", "--set", std::string("/integrator/step=") + step});
    const nlohmann::json energy = read_json(directory / "r/summary.json")["energy"];
    CHECK((run.code == 4 || told(run.err)) == (energy["max"] > 50));
    if (step == std::string("5e-4")) CHECK(energy["given"] < 0.02 * energy["explained"].get<double>());
  }

  // J. C. Simo, L. Vu-Quoc, J. Appl. Mech. 53 (1986) 855: with too large a step the beam ends with 8230 J for 7200 J
  write(directory / "m.json", R"({"format": 1,
    "sections": [{"name": "s", "type": "general",
                  "stiffness": [[2.8e7, 0, 0, 0, 0, 0], [0, 1e7, 0, 0, 0, 0], [0, 0, 1e7, 0, 0, 0],
                                [0, 0, 0, 1e4, 0, 0], [0, 0, 0, 0, 1.4e4, 0], [0, 0, 0, 0, 0, 1.4e4]],
                  "mass": [[1.2, 0, 0, 0, 0, 0], [0, 1.2, 0, 0, 0, 0], [0, 0, 1.2, 0, 0, 0],
                           [0, 0, 0, 1.2e-3, 0, 0], [0, 0, 0, 0, 6e-4, 0], [0, 0, 0, 0, 0, 6e-4]]}],
    "bodies": [{"name": "b", "type": "beam", "section": "s", "elements": 4, "from": [0, 0, 0], "to": [10, 0, 0]}],
    "joints": [{"name": "hub", "type": "revolute", "of": ["ground", "b.start"], "axis": [0, 0, 1],
                "driver": {"angle": "t < 15 ? 0.2*t^2 + 0.4*(7.5/pi)^2*(cos(2*pi*t/15) - 1) : 6*t - 45"}}],
    "output": {"vtu": {"enabled": false}},
    "integrator": {"type": "nsga_decoupled", "step": 0.04, "duration": 20}})");
  CHECK(told(run_carom(directory, {"run", "m.json", "-o", "s"}).err));
  CHECK_FALSE(told(run_carom(directory, {"run", "m.json", "-o", "s", "--set", "/integrator/step=0.02"}).err));
}

TEST_CASE(
    "run: what passes through a driven model, or is corrected in the first step, is no energy that a method gives") {
  const TemporaryDirectory directory;
  const auto silent = [&](const char* model) {
    write(directory / "m.json", model);
    const Outcome run = run_carom(directory, {"run", "m.json", "-q", "-o", "r", "--set", "/output/vtu/enabled=false"});
    CHECK(run.code == 0);
    const nlohmann::json summary = read_json(directory / "r/summary.json");
    for (const auto& warning : summary["warnings"]) CHECK_FALSE(contains(warning, "itself gave"));
    return summary["energy"];
  };
  // a light slider that a driver moves against a load: 200 J pass through the model, which has 2 mJ
  const nlohmann::json pump = silent(R"x({"format": 1,
    "bodies": [{"name": "a", "type": "rigid", "mass": 0.01, "inertia": [1e-4, 1e-4, 1e-4]}],
    "joints": [{"name": "d", "type": "prismatic", "of": ["ground", "a"], "axis": [1, 0, 0],
                "driver": {"displacement": "0.1*sin(2*pi*t)"}}],
    "loads": [{"name": "L", "type": "force", "on": "a", "value": ["-50*tanh(10*cos(2*pi*t))", 0, 0]}],
    "initial_state": {"project": "velocities"},
    "integrator": {"type": "nsga_decoupled", "step": 0.025, "duration": 10}})x");
  CHECK(pump["through"] > 100 * pump["explained"].get<double>());
  // a rotor that its driver sets in motion at once
  for (const char* method : {"event_driven", "cd_lagrange"}) {
    const std::string rotor = R"x({"format": 1,
    "bodies": [{"name": "w", "type": "rigid", "mass": 1, "inertia": [1e-3, 1e-3, 1e-3]}],
    "joints": [{"name": "d", "type": "revolute", "of": ["ground", "w"], "axis": [0, 0, 1], "driver": {"angle": "2*pi*t"}}],
    "integrator": {"type": ")x";
    silent((rotor + method + R"x(", "step": 0.01, "duration": 1}})x").c_str());
  }
  // a method of first order gives a little in every turn of a crank, which the driver takes out again
  silent(R"x({"format": 1,
    "bodies": [{"name": "crank", "type": "rigid", "mass": 0.5, "inertia": [2.5e-5, 4.17e-4, 4.17e-4],
                "position": [0.05, 0, 0],
                "points": [{"name": "a", "at": [-0.05, 0, 0]}, {"name": "b", "at": [0.05, 0, 0]}]},
               {"name": "rod", "type": "rigid", "mass": 0.3, "inertia": [1.35e-4, 2.25e-3, 2.25e-3],
                "position": [0.25, 0, 0],
                "points": [{"name": "a", "at": [-0.15, 0, 0]}, {"name": "b", "at": [0.15, 0, 0]}]},
               {"name": "s", "type": "rigid", "mass": 0.4, "inertia": [1e-4, 1e-4, 1e-4], "position": [0.4, 0, 0]}],
    "joints": [{"name": "motor", "type": "revolute", "of": ["ground", "crank.a"], "axis": [0, 0, 1],
                "driver": {"angle": "2*pi*t"}},
               {"name": "pin", "type": "revolute", "of": ["crank.b", "rod.a"], "axis": [0, 0, 1]},
               {"name": "knee", "type": "revolute", "of": ["rod.b", "s"], "axis": [0, 0, 1]},
               {"name": "rail", "type": "prismatic", "of": ["ground", "s"], "axis": [1, 0, 0],
                "spring": {"stiffness": 200}}],
    "initial_state": {"project": "velocities"},
    "integrator": {"type": "moreau_jean", "step": 0.05, "duration": 20}})x");
}

TEST_CASE("run: energy that the method takes is remarked") {
  const TemporaryDirectory directory;
  const auto note = [&](const nlohmann::json& integrator) {
    write_hinged_solid(directory / "m.json", {1, 0.1, 0.1}, {6, 2, 2}, integrator);
    return says(directory, {}, "note: moreau_jean itself took ");
  };
  CHECK(note({{"type", "moreau_jean"}, {"theta", 0.6}, {"step", 5e-3}, {"duration", 1.2}}));
  CHECK_FALSE(note({{"type", "moreau_jean"}, {"theta", 0.5}, {"step", 1e-3}, {"duration", 0.3}}));
  CHECK_FALSE(note({{"type", "nsga_decoupled"}, {"step", 5e-3}, {"duration", 1.2}}));
}

// A steel block that falls flat: its waves give 0.72 of the velocity back, of which large steps leave 0.06.
TEST_CASE("run: rebounds of solids whose waves the step does not resolve are remarked") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7800}],
    "bodies": [{"name": "block", "type": "solid", "material": "steel", "law": "saint_venant_kirchhoff",
                "mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "divisions": [2, 2, 2]},
                "position": [0, 0, 0.1001], "velocity": [0, 0, -1]}],
    "contacts": [{"name": "floor", "on": "block.bottom", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-4, "duration": 1e-3, "rho_infinity": 0.8},
    "output": {"vtu": {"enabled": false}}})");
  const auto note = [&](const char* step) {
    return says(directory, {step}, "vibrations that impacts cause, and rebounds are not right");
  };
  CHECK(note("/integrator/step=1e-4"));
  const Outcome stops = run_carom(directory, {"run", "m.json", "-o", "q", "--set", "/integrator/step=1e-3", "--set",
                                              "/output/energy/enabled=false", "--until", "6e-3"});
  CHECK(stops.code == 0);
  CHECK(contains(stops.err, "note: nodes of bars, beams or solids lost 0.9"));
  CHECK_FALSE(std::filesystem::exists(directory / "q/energy.csv"));
  CHECK_FALSE(note("/integrator/step=2e-6"));
  const Outcome gives = run_carom(
      directory,
      {"run", "m.json", "-o", "s", "--set", R"(/integrator={"type": "moreau_jean", "step": 1e-3, "duration": 5e-3})"});
  CHECK(gives.code == 0);
  CHECK(contains(gives.err, "note: impacts took 7"));
  CHECK(contains(gives.err, "and moreau_jean itself gave 6"));

  // a method without damping leaves the energy of the waves in vibrations that change their sign from step to step
  const auto vibrates = [&](const char* integrator) {
    return says(directory, {"/contacts/0/restitution=1", integrator},
                "note: vibrations that change their sign from step to step hold 0.");
  };
  CHECK(vibrates(R"(/integrator={"type": "event_driven", "rho_infinity": 1, "step": 1e-3, "duration": 0.06})"));
  CHECK(read_json(directory / "r/summary.json")["energy"]["alternating"] > 1);
  CHECK_FALSE(vibrates(R"(/integrator={"type": "event_driven", "rho_infinity": 1, "step": 1e-5, "duration": 1e-3})"));
}

// The first step of what rests has no impact, and what flies without forces has no forces to which rounding compares.
TEST_CASE("run: bodies at rest, and in flight without forces, have no note") {
  const TemporaryDirectory directory;
  const auto notes = [&](const std::string& bodies, const char* rest, const char* integrator) {
    write(directory / "m.json", R"({"format": 1, "bodies": [)" + bodies + "], " + rest + R"(,
      "integrator": )" + integrator +
                                    R"(, "output": {"vtu": {"enabled": false}}})");
    const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
    CHECK(outcome.code == 0);
    return contains(outcome.err, "note:");
  };
  const std::string ball = R"({"name": "b", "type": "rigid", "mass": 2, "shape": {"type": "sphere", "radius": 0.1},
    "position": [0, 0, 0.1]})",
                    bar = R"({"name": "b", "type": "bar", "from": [0, 0, 0], "to": [1, 0, 0], "elements": 50,
    "material": "m", "section": "s", "velocity": [-10, 0, 0], "kinematics": "nonlinear"})";
  const char* const floor = R"("gravity": [0, 0, -9.81],
    "contacts": [{"name": "c", "on": "b", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}])";
  const char* const stuff = R"("gravity": [0, 0, 0],
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e4, "poisson": 0, "density": 1}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}])";
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean"}) {
    CAPTURE(method);
    const std::string integrator = std::string(R"({"type": ")") + method + R"(", "step": 1e-2, "duration": 0.5})";
    CHECK_FALSE(notes(ball, floor, integrator.c_str()));
  }
  CHECK_FALSE(notes(bar, stuff, R"({"type": "nsga_decoupled", "step": 2e-4, "duration": 0.02})"));
}

// The impacts of central differences take two steps, as the ball happens to meet the floor within them.
TEST_CASE("run: what impacts of central differences take is not taken by the method, at any step") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "p", "type": "point_mass", "mass": 1, "position": [0, 0, 1.0007]}],
    "contacts": [{"name": "f", "on": "p", "restitution": 0, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "output": {"vtu": {"enabled": false}}, "integrator": {"type": "carpenter", "step": 1e-4, "duration": 0.6}})");
  for (const char* step : {"/integrator/step=1e-2", "/integrator/step=1e-3", "/integrator/step=1e-4"})
    CHECK_FALSE(says(directory, {step}, "itself took"));
}

// A free rotor at 0.4 rad per step while it falls: its fall has 60 times the energy of its rotation.
TEST_CASE("run: energy that bodies in free flight gain is remarked, whatever the speed of their flight") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1,
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e10, "poisson": 0.3, "density": 2000}],
    "sections": [{"name": "s", "type": "rectangle", "width": 0.02, "height": 0.03}],
    "bodies": [{"name": "b", "type": "beam", "material": "m", "section": "s", "elements": 4,
                "shape": {"type": "polyline", "points": [[0, 0, 0], [0.5, 0, 0]]},
                "velocity": [0, 0, 0], "angular_velocity": [3, 15, 12]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 1.5},
    "output": {"vtu": {"enabled": false}}})");
  const auto note = [&](const char* gravity, const char* velocity, const char* step) {
    return says(directory, {gravity, velocity, step}, "note: bodies gained ");
  };
  const char *no_gravity = "/gravity=[0, 0, 0]", *gravity = "/gravity=[0, 0, -9.81]", *slow = "/bodies/0/velocity/0=0",
             *fast = "/bodies/0/velocity/0=50", *coarse = "/integrator/step=1e-2", *fine = "/integrator/step=5e-4";
  CHECK(note(no_gravity, slow, coarse));
  CHECK(note(no_gravity, fast, coarse));
  CHECK(note(gravity, slow, coarse));
  CHECK_FALSE(note(gravity, fast, fine));
}

// A solid that flies through a viscous medium: what the trapezoidal rule does not know of the dampers' work is no gain.
TEST_CASE("run: damping of a body that only flies is no gain of its vibrations") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -10],
    "materials": [{"name": "s", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 1000}],
    "bodies": [{"name": "b", "type": "solid", "material": "s", "velocity": [3, 0, 0], "damping": {"mass": 5},
                "mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "divisions": [2, 2, 2]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.2},
    "output": {"vtu": {"enabled": false}}})");
  for (const char* step : {"/integrator/step=1e-2", "/integrator/step=1e-3"}) {
    CAPTURE(step);
    CHECK_FALSE(says(directory, {step}, "note: bodies gained "));
  }
}

// A point on a spring, near the largest stable step: its swing feeds the vibration of the spring without bound.
TEST_CASE("run: energy that an explicit method gives near its largest stable step is remarked") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81], "ground": [{"name": "g", "at": [0, 0, 0]}],
    "bodies": [{"name": "p", "type": "point_mass", "mass": 1,
                "position": [0.29133431565139234, 0, 0.30985325504950134], "velocity": [0, 1.2708179900134384, 0]}],
    "springs": [{"name": "s", "of": ["ground.g", "p"], "stiffness": 1032.8366932115807}],
    "integrator": {"type": "cd_lagrange", "step": 0.06160973786622027, "duration": 4.0},
    "output": {"vtu": {"enabled": false}}})");
  const char* const note = "note: cd_lagrange itself gave ";
  CHECK(says(directory, {}, note));
  CHECK_FALSE(says(directory, {"/integrator/step=0.01"}, note));
}

// A point between two plates, whose way takes less than a step; a ball whose bounces accumulate.
TEST_CASE(
    "run: bodies that go between contacts within a few steps are remarked where impacts act at the end of steps") {
  const TemporaryDirectory directory;
  const auto note = [&](const char* method, const char* step) {
    return says(directory, {method, step}, "note: bodies came back to ");
  };
  const char* const methods[] = {R"(/integrator/impact="published")",    R"(/integrator/type="nsga_coupled")",
                                 R"(/integrator/type="nsga_pva")",       R"(/integrator/type="moreau_jean")",
                                 R"(/integrator/type="nsga_decoupled")", R"(/integrator/type="event_driven")"};
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 2e-4], "velocity": [0, 0, 10]}],
    "contacts": [{"name": "lo", "on": "a", "restitution": 0.999, "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
                 {"name": "hi", "on": "a", "restitution": 0.999,
                  "obstacle": {"type": "plane", "normal": [0, 0, -1], "point": [0, 0, 5e-4]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.02},
    "output": {"vtu": {"enabled": false}}})");
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(note(methods[i], "/integrator/step=4e-3") == (i < 4));
    CHECK(note(methods[i], "/integrator/step=2e-4") == (i < 4));
    if (i < 4) CHECK_FALSE(note(methods[i], "/integrator/step=5e-6"));
  }
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 1]}],
    "contacts": [{"name": "c", "on": "a", "restitution": 0.97, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 30},
    "output": {"vtu": {"enabled": false}}})");
  for (const char* method : methods)
    for (const char* step : {"/integrator/step=1e-2", "/integrator/step=1e-3"})
      if (std::string(method).find("event_driven") == std::string::npos) CHECK_FALSE(note(method, step));
}

// The only step ends below the floor, whose contact no step has closed.
TEST_CASE("notes: a method at velocity level tells that its last step went deep into an obstacle") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0.1]}],
    "contacts": [{"name": "f", "on": "b", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "moreau_jean", "step": 1, "duration": 1}})");
  const auto told = [&](const char* step) {
    const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r", "--set", step});
    CHECK(outcome.code == 0);
    return (outcome.out + outcome.err).find("obstacles are penetrated by up to 48 of") != std::string::npos;
  };
  CHECK(told("/integrator/step=1"));
  CHECK_FALSE(told("/integrator/step=1e-3"));
}

TEST_CASE("notes: a body that turns far in a step is told in models without contacts, too") {
  const TemporaryDirectory directory;
  const auto told = [&](const char* step) {
    const Outcome outcome =
        run_carom(directory, {"run", model_path("heavy_top"), "-o", "r", "--set", "/expect=[]", "--set", step});
    CHECK(outcome.code == 0);
    return (outcome.out + outcome.err).find("a body turned by 3 rad in a step") != std::string::npos;
  };
  CHECK(told("/integrator/step=0.02"));
  CHECK_FALSE(told("/integrator/step=2e-3"));
}
