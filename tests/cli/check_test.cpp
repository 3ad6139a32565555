// carom check: the inventory of a model as a report and as JSON.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;

TEST_CASE("check: report and JSON tell the same of every model") {
  const TemporaryDirectory directory;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const Outcome text = run_carom(directory, {"check", model_path(name)});
    const Outcome json = run_carom(directory, {"check", model_path(name), "--json"});
    CHECK(text.code == 0);
    CHECK(text.err.empty());
    CHECK(text.out.ends_with("valid\n"));
    CHECK(json.code == 0);
    CHECK(json.err.empty());
    const nlohmann::json stock = nlohmann::json::parse(json.out);
    for (const char* key : {"mass", "bodies", "nodes", "elements", "freedom", "joints", "contacts", "projection",
                            "stiffness", "natural_frequencies", "scales", "energy", "momentum", "remarks"})
      CHECK(stock.contains(key));
    CHECK(!stock["bodies"].empty());
    for (const nlohmann::json& body : stock["bodies"])
      if (stock["bodies"].size() <= 20) CHECK(text.out.find(body["name"].get<std::string>()) != std::string::npos);
    for (const nlohmann::json& joint : stock["joints"]["list"]) CHECK(joint["fits"] == true);
    CHECK(stock["freedom"]["degrees_of_freedom"] ==
          stock["freedom"]["equations"].get<int>() - stock["joints"]["rank"].get<int>());
    // the frame of a joint with a solid's side has no mass, nor has that of coordinates
    CHECK(stock["remarks"].size() == (name == "mixed" || name == "crank_drive_solid" || name == "trolley" ? 1 : 0));
    // no line ends with spaces
    CHECK(text.out.find(" \n") == std::string::npos);
  }
}

TEST_CASE("check: says how far the start was projected, and a run says it too") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "initial_state": {"project": "all"},
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1},
               {"name": "b", "type": "point_mass", "mass": 3, "position": [0.4, 0, 0], "velocity": [0, 1, 0]}],
    "joints": [{"name": "j", "type": "spherical", "of": ["a", "b"]}],
    "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.1}})");
  const Outcome check = run_carom(directory, {"check", "m.json"});
  CHECK(check.code == 0);
  CHECK(check.out.find("moved by up to 0.3,") != std::string::npos);
  CHECK(check.out.find("changed by up to 0.75,") != std::string::npos);
  const nlohmann::json stock = nlohmann::json::parse(run_carom(directory, {"check", "m.json", "--json"}).out);
  CHECK(stock["projection"]["positions"]["asked"] == true);
  CHECK(stock["projection"]["positions"]["translation"].get<double>() == doctest::Approx(0.3));
  CHECK(stock["joints"]["list"][0]["fits"] == true);
  const Outcome run = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(run.code == 0);
  CHECK(run.err.find("initial positions were projected") != std::string::npos);
}

TEST_CASE("check: velocities are projected also where nothing else gives the model a speed") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "initial_state": {"project": "velocities"},
    "bodies": [{"name": "rotor", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "j", "type": "revolute", "of": ["ground", "rotor"], "axis": [0, 0, 1],
                "driver": {"angle": "8*t"}}],
    "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.1}})");
  CHECK(contains(run_carom(directory, {"check", "m.json"}).out, "angular by up to 8"));
}

TEST_CASE("check: joints that contradict each other are told from those that the first step closes") {
  const TemporaryDirectory directory;
  const auto check = [&](const char* more) {
    write(directory / "m.json", std::string(R"({"format": 1,
  "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0.5, 0]}],
  "ground": [{"name": "l", "at": [-1, 0, 0]}, {"name": "r", "at": [1, 0, 0]}],
  "joints": [{"name": "jl", "type": "spherical", "of": ["ground.l", "a"]})") +
                                    more + R"(],
  "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.1}})");
    return run_carom(directory, {"check", "m.json"});
  };
  const Outcome one = check(""), two = check(R"(, {"name": "jr", "type": "spherical", "of": ["ground.r", "a"]})");
  CHECK(contains(one.out, "; the first step closes it\n"));
  CHECK(contains(one.out, "nothing uses the point r of the ground\n"));
  CHECK(one.code == 0);
  CHECK(two.code == 3);
  CHECK(two.err.starts_with("m.json:4:76: error at /joints/1: joints or drivers contradict each other: jl x, jr x "));
}

TEST_CASE("check: an initial velocity in a fixed direction is a remark, and a title is one line") {
  const TemporaryDirectory directory;
  const auto check = [&](const char* velocity) {
    write(directory / "m.json", std::string(R"({"format": 1, "title": "a\u001b[31mb\nc",
  "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "fixed": ["x"], "velocity": )") +
                                    velocity + R"(}],
  "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.1}})");
    return run_carom(directory, {"check", "m.json"}).out;
  };
  CHECK(contains(check("[1, 0, 0]"), "the initial velocity of a is left out where it is fixed\n"));
  const std::string right = check("[0, 1, 0]");
  CHECK(!contains(right, "left out"));
  CHECK(right.starts_with("a?[31mb?c\n"));
}

TEST_CASE("check: a start that cannot be projected is an error of the model") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1,
  "initial_state": {"project": "positions"},
  "bodies": [{"name": "a", "type": "point_mass", "mass": 1}],
  "ground": [{"name": "l", "at": [-1, 0, 0]}, {"name": "r", "at": [1, 0, 0]}],
  "joints": [{"name": "jl", "type": "spherical", "of": ["ground.l", "a"]},
             {"name": "jr", "type": "spherical", "of": ["ground.r", "a"]}],
  "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.1}})");
  for (const char* command : {"check", "run"}) {
    const Outcome outcome = run_carom(directory, {command, "m.json"});
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("m.json:2:32: error at /initial_state/project: cannot make the positions fit"));
  }
}

TEST_CASE("check: a mechanism with a spring is shaken about its equilibrium, which check finds first") {
  // Two cranks of length L carry a coupler. phi is the angle below the horizontal start, where the spring is free:
  //   k phi = (m + M) g L cos(phi),   omega^2 = (k + (m + M) g L sin(phi))/((2 m/3 + M) L^2)
  const double k = 30, L = 0.5, m = 1.2, M = 2, weight = (m + M) * 9.81 * L;
  double low = 0, high = 1.5;
  for (int i = 0; i < 60; ++i) {
    const double phi = 0.5 * (low + high);
    (k * phi < weight * std::cos(phi) ? low : high) = phi;
  }
  const double omega = std::sqrt((k + weight * std::sin(low)) / ((2 * m / 3 + M) * L * L));
  const TemporaryDirectory directory;
  const std::string crank = R"("type": "rigid", "mass": 1.2, "inertia": [0.0001, 0.025, 0.025],
    "points": [{"name": "root", "at": [-0.25, 0, 0]}, {"name": "end", "at": [0.25, 0, 0]}]})";
  write(directory / "model.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "ground": [{"name": "o", "at": [0, 0, 0]}, {"name": "p", "at": [0, 0, 0.6]}],
    "bodies": [{"name": "a", "position": [0.25, 0, 0], )" +
                                      crank + R"(, {"name": "b", "position": [0.25, 0, 0.6], )" + crank + R"(,
      {"name": "c", "type": "rigid", "mass": 2, "inertia": [0.06, 0.06, 0.001], "position": [0.5, 0, 0.3],
       "points": [{"name": "low", "at": [0, 0, -0.3]}, {"name": "high", "at": [0, 0, 0.3]}]}],
    "joints": [
      {"name": "h1", "type": "revolute", "of": ["ground.o", "a.root"], "axis": [0, 1, 0], "spring": {"stiffness": 30}},
      {"name": "h2", "type": "revolute", "of": ["ground.p", "b.root"], "axis": [0, 1, 0]},
      {"name": "h3", "type": "revolute", "of": ["a.end", "c.low"], "axis": [0, 1, 0]},
      {"name": "h4", "type": "revolute", "of": ["b.end", "c.high"], "axis": [0, 1, 0]}],
    "initial_state": {"equilibrium": true},
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})");
  CHECK(run_carom(directory, {"check", "model.json"})
            .out.find("natural frequencies of small motions about the equilibrium") != std::string::npos);
  const auto stock = nlohmann::json::parse(run_carom(directory, {"check", "model.json", "--json"}).out);
  const auto& found = stock["natural_frequencies"]["list"];
  REQUIRE(found.size() == 1);
  CHECK(found[0]["angular_frequency"].get<double>() == doctest::Approx(omega).epsilon(1e-7));
}

TEST_CASE("check: --modes writes one series per natural mode, and --json has the frequencies that the report prints") {
  const TemporaryDirectory directory;
  // two masses on springs along x: omega = 2 and 3
  write(directory / "m.json", R"({"format": 1, "ground": [{"name": "o", "at": [0, 0, 0]}],
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [1, 0, 0], "fixed": ["y", "z"]},
               {"name": "b", "type": "point_mass", "mass": 1, "position": [-1, 0, 0], "fixed": ["y", "z"]}],
    "springs": [{"name": "s", "of": ["ground.o", "a"], "stiffness": 9, "natural_length": 1},
                {"name": "r", "of": ["ground.o", "b"], "stiffness": 4, "natural_length": 1}],
    "integrator": {"type": "nsga_decoupled", "step": 0.5, "duration": 1}})");
  const Outcome json = run_carom(directory, {"check", "m.json", "--json", "--modes", "2", "-o", "shapes"});
  CHECK(json.code == 0);
  const nlohmann::json found = nlohmann::json::parse(json.out)["natural_frequencies"];
  REQUIRE(found["list"].size() == 2);
  CHECK(found["free_motions"] == 0);
  CHECK(found["list"][0]["angular_frequency"].get<double>() == doctest::Approx(2));
  CHECK(found["list"][1]["angular_frequency"].get<double>() == doctest::Approx(3));
  for (const char* series : {"shapes/m_mode_1.pvd", "shapes/m_mode_2.pvd"}) {
    CAPTURE(series);
    const std::string list = read(directory / series);
    CHECK(list.find("_000024.vtu") != std::string::npos);
    CHECK(list.find("_000025.vtu") == std::string::npos);
  }
  // fewer modes replace all series of the earlier call
  CHECK(run_carom(directory, {"check", "m.json", "--modes", "1", "-o", "shapes"}).code == 0);
  CHECK(std::filesystem::exists(directory / "shapes/m_mode_1.pvd"));
  CHECK(!std::filesystem::exists(directory / "shapes/m_mode_2.pvd"));
  const Outcome text = run_carom(directory, {"check", "m.json"});
  CHECK(text.out.find("natural frequencies of small motions about the start") != std::string::npos);
  CHECK(text.out.find("not resolved") != std::string::npos);  // 4.2 steps a period
  CHECK(run_carom(directory, {"check", "m.json", "--modes", "0"}).code == 2);
  CHECK(run_carom(directory, {"check", "m.json", "-o", "shapes"}).code == 2);
}
