// Results of a run that does not converge: a report with correct advice, a command that repeats the failure, and a
// state for a restart.

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
namespace fs = std::filesystem;

namespace {

// The brick's impact at t = 0.4153, at the end of its step, needs four iterations of the position correction.
Words failing(const std::string& results, const Words& more = {}) {
  return joined(
      {"run", model_path("brick"), "--set", "/expect=[]", "-o", results, "--set", "/integrator/newton/max_iterations=3",
       "--set", "/integrator/max_subdivisions=0", "--set", "/integrator/impact=\"published\"", "--until", "0.6"},
      more);
}

}  // namespace

TEST_CASE("post-mortem: it tells the place, the residuals by the model's paths, and what to do") {
  const TemporaryDirectory directory;
  const Outcome outcome = run_carom(directory, failing("r"));
  REQUIRE(outcome.code == 4);
  CHECK(read_json(directory / "r/status.json")["status"] == "failed");
  CHECK(contains(outcome.err, "carom: post-mortem: r/postmortem/report.txt\n"));

  const nlohmann::json report = read_json(directory / "r/postmortem/report.json");
  CHECK(report["t"].get<double>() == doctest::Approx(0.415).epsilon(1e-12));
  CHECK(report["h"] == 1e-3);
  CHECK(report["step"] == 416);
  CHECK(report["subproblem"] == "position");
  REQUIRE(report["trials"].size() == 1);
  CHECK(report["trials"][0]["iterations"] == 3);
  const std::vector<double> residuals = report["trials"][0]["residuals"];
  REQUIRE(residuals.size() == 4);
  CHECK(residuals.back() > 1);
  CHECK(residuals.back() < residuals.front());

  // the largest residuals, each with a pointer into the model
  const nlohmann::json& rows = report["largest_residuals"];
  CHECK(!rows.empty());
  CHECK(rows.size() <= 10);
  const nlohmann::json model = read_json(directory / "r/run.json");
  double last = 1;
  for (const nlohmann::json& row : rows) {
    CHECK(model.contains(nlohmann::json::json_pointer(row["pointer"].get<std::string>())));
    CHECK(row["share"].get<double>() <= last);
    last = row["share"];
  }
  CHECK(rows[0]["share"] == 1);

  // both pieces of advice are correct here
  const std::vector<std::string> hints = report["hints"];
  const auto advised = [&](const std::string& words) {
    return std::any_of(hints.begin(), hints.end(), [&](const std::string& h) { return contains(h, words); });
  };
  CHECK(hints.size() == 2);
  CHECK(advised("raise /integrator/newton/max_iterations"));
  CHECK(advised("/integrator/max_subdivisions allows none"));
  const std::string text = read(directory / "r/postmortem/report.txt");
  for (const std::string& hint : hints) {
    CHECK(contains(text, hint));
    CHECK(contains(outcome.err, "carom: hint: " + hint + "\n"));
  }
  CHECK(series_times(directory / "r/postmortem") == std::vector<double>{report["t"].get<double>()});
  CHECK(contains(read(directory / "r/postmortem/vtu/residual_000000.vtu"), "\"constraint_residual\""));
}

TEST_CASE("post-mortem: its hints blame what is at fault, and only that") {
  const TemporaryDirectory directory;
  const auto hints = [&](const std::string& model, const Words& more) {
    const Words run = {"run", model_path(model), "-o", "r", "--set", "/integrator/max_subdivisions=0"};
    const Outcome outcome = run_carom(directory, joined(run, more));
    CHECK(outcome.code == 4);
    std::string text;
    for (const std::string& line : lines_of(outcome.err))
      if (contains(line, "hint: ")) text += line + "\n";
    return text;
  };
  // the top rotates once in 0.04: at a step of 1 the tangent is singular, but neither joint nor mass is the cause
  for (const char* step : {"0.3", "1"}) {
    CAPTURE(step);
    const std::string text = hints("heavy_top", {"--set", std::string("/integrator/step=") + step});
    CHECK(contains(text, "use a smaller"));
    CHECK(!contains(text, "constraints"));
    CHECK(!contains(text, "max_iterations"));
    // the residuals belong to the second attempt at the smooth motion; none was small enough
    const nlohmann::json trial = read_json(directory / "r/postmortem/report.json")["trials"][0];
    CHECK(trial["residuals"].size() == 11);
    CHECK(trial["iterations"] == 20);
    for (const nlohmann::json& residual : trial["residuals"])
      CHECK((residual.is_string() || residual.get<double>() > 1));
  }
  CHECK(run_carom(directory, {"run", model_path("heavy_top"), "-q", "-o", "r", "--until", "0.1"}).code == 0);
  CHECK(!fs::exists(directory / "r/postmortem"));

  // one iteration is not enough for a rotating body, whatever its start
  const std::string deep = hints("brick", {"--set", "/integrator/newton/max_iterations=1", "--until", "0.3"});
  CHECK(contains(deep, "raise /integrator/newton/max_iterations"));
  CHECK(!contains(deep, "penetrat"));
}

TEST_CASE("post-mortem: statics that fail at once have started too far from an equilibrium") {
  const TemporaryDirectory directory;
  // springs without natural length, by which a body hangs when it has moved by 1.5 and turned
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "b", "type": "rigid", "mass": 1, "inertia": [0.02, 0.03, 0.04],
      "points": [{"name": "p0", "at": [-0.219, 0.208, 0.158]}, {"name": "p1", "at": [-0.147, -0.003, -0.03]},
                 {"name": "p2", "at": [0.091, 0.173, -0.244]}, {"name": "p3", "at": [-0.283, 0.201, -0.04]}]}],
    "ground": [{"name": "g0", "at": [0.689, 0.516, 1.131]}, {"name": "g1", "at": [0.023, -0.19, 1.676]},
               {"name": "g2", "at": [-0.047, 0.167, 1.862]}, {"name": "g3", "at": [-0.436, 0.512, 1.428]}],
    "springs": [{"name": "s0", "of": ["ground.g0", "b.p0"], "stiffness": 35.535, "natural_length": 0},
                {"name": "s1", "of": ["ground.g1", "b.p1"], "stiffness": 38.199, "natural_length": 0},
                {"name": "s2", "of": ["ground.g2", "b.p2"], "stiffness": 50.281, "natural_length": 0},
                {"name": "s3", "of": ["ground.g3", "b.p3"], "stiffness": 35.03, "natural_length": 0}],
    "integrator": {"type": "static"}})");
  const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "near the start: give places nearer to equilibrium"));
  CHECK(!contains(outcome.err, "limit point"));
}

TEST_CASE("post-mortem: a formula that loses its value in the run is named, and only that") {
  const TemporaryDirectory directory;
  const auto fails = [&](const std::string& model, const std::string& path, const std::string& formula,
                         const std::string& setting) {
    CAPTURE(path);
    const Outcome outcome =
        run_carom(directory, {"run", model_path(model), "-q", "-o", "r", "--set", "/expect=[]", "--set", setting});
    CHECK(outcome.code == 4);
    const std::string quoted = path + " \"" + formula + "\"";
    CHECK(contains(outcome.err, "a formula has no finite value, worst: " + quoted + ")"));
    CHECK(contains(outcome.err, "hint: " + quoted + " has no finite value at t = "));
    CHECK(outcome.err.find("hint: ") == outcome.err.rfind("hint: "));
    CHECK(!contains(read(directory / "r/probes.csv"), "nan"));
  };
  const auto at = [&](const std::string& model, const std::string& path, const std::string& formula) {
    fails(model, path, formula, path + "=\"" + formula + "\"");
  };
  at("moving_floor", "/contacts/0/obstacle/motion/translation/2", "0.1 * (sqrt(0.3 - t) - sqrt(0.3))");
  at("whip", "/loads/0/value/2", "t < 0.01 ? 1 : log(-t)");
  at("four_bar", "/joints/0/driver/angle", "th + omega * t + (t < 0.25 ? 0 : sqrt(0.25 - t))");
  const std::string rising = "-1e-3 * sqrt(0.3 - t)";
  fails("cantilever_on_obstacle", "/contacts/0/obstacle/motion/translation/2", rising,
        "/contacts/0/obstacle/motion={\"translation\": [0, 0, \"" + rising + "\"]}");
  // of coordinates: at the end of a step, and a pole within
  at("pendulum_bouncing", "/bodies/0/forces/1", "-m*g + 1e-3*sqrt(y + 0.2)");
  at("pendulum_bouncing", "/bodies/0/forces/0", "1e-9/(y + 0.2)");
  at("pendulum_bouncing", "/bodies/0/constraints/1/formula", "y - L*sin(theta) + 0*log(y + 0.2)");
  at("pendulum_bouncing", "/bodies/0/gaps/0/formula", "x - x_min + 0*(y + 0.2)^1.5");
  at("pendulum_dae", "/bodies/0/potential", "m*g*y + 1e-3*sqrt(y + 0.2)");
  at("pendulum_dae", "/bodies/0/masses/0", "m + 1e-3*sqrt(y + 0.2)");
}

TEST_CASE("post-mortem: a mass matrix that loses its sign in the run is named") {
  const TemporaryDirectory directory;
  write(directory / "model.json", R"({"format": 1,
    "bodies": [{"name": "q", "type": "coordinates",
                "coordinates": [{"name": "x", "position": 1, "velocity": -1}, {"name": "y"}],
                "masses": [1, "0.5 + x"]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 3}})");
  const Outcome outcome = run_carom(directory, {"run", "model.json", "-q", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "(a mass matrix is not positive definite, worst: q.y)"));
  CHECK(contains(outcome.err, "hint: the mass matrix is not positive definite at q.y at t = 1.5"));
}

TEST_CASE("post-mortem: what a driver runs into is named") {
  const TemporaryDirectory directory;
  write(directory / "model.json", R"({"format": 1,
    "bodies": [{"name": "cart", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "rail", "type": "prismatic", "of": ["ground", "cart"], "axis": [1, 0, 0],
                "driver": {"displacement": "0.2*t"}}],
    "contacts": [{"name": "wall", "on": "cart", "obstacle": {"type": "plane", "point": [0.05, 0, 0],
                  "normal": [-1, 0, 0]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 1}})");
  const Outcome outcome = run_carom(directory, {"run", "model.json", "-q", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(
      contains(outcome.err, "hint: joints or drivers leave no way to what closes here, or repeat each other: wall\n"));
}

TEST_CASE("post-mortem: drivers that contradict each other in the run are named") {
  const TemporaryDirectory directory;
  const auto model = [&](const char* first, const char* second) {
    write(directory / "model.json", std::string(R"({"format": 1,
    "bodies": [{"name": "rotor", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "hinge", "type": "revolute", "of": ["ground", "rotor"], "axis": [0, 0, 1],
                "driver": {"angle": ")") +
                                        first + R"("}},
               {"name": "other", "type": "revolute", "of": ["ground", "rotor"], "axis": [0, 0, 1],
                "driver": {"angle": ")" +
                                        second + R"("}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.2}})");
    return run_carom(directory, {"run", "model.json", "-q", "-o", "r"});
  };
  CHECK(model("2*t", "2*t").code == 0);
  // they part at t = 0.1: both rest before
  const Outcome outcome = model("t < 0.1 ? 0 : (t - 0.1)^2", "t < 0.1 ? 0 : 2*(t - 0.1)^2");
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "no convergence at t = 0.1"));
  CHECK(contains(outcome.err, "hint: joints or drivers contradict each other: "));
  CHECK(contains(outcome.err, "hinge"));
  CHECK(contains(outcome.err, "other"));
  CHECK(!contains(outcome.err, "constraints are redundant"));
}

TEST_CASE("post-mortem: an element that would be turned inside out is named") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"run", model_path("cube"), "-o", "r", "--set", "/expect=[]", "--set",
                            "/integrator/step=2e-2", "--set", "/integrator/max_subdivisions=0", "--until", "0.34"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "an element is inverted, or turned too far in itself, worst: cube.element."));
  CHECK(contains(outcome.err, "hint: an element would be turned inside out"));
}

TEST_CASE("post-mortem: its command repeats the failure with the same numbers") {
  const TemporaryDirectory directory;
  for (const char* subdivisions : {"0", "3"}) {
    CAPTURE(subdivisions);
    fs::remove_all(directory / "it's r");
    // two iterations: not enough in parts of the step either
    const Words more = {"--set", std::string("/integrator/max_subdivisions=") + subdivisions, "--set",
                        "/integrator/newton/max_iterations=2"};
    REQUIRE(run_carom(directory, failing("it's r", more)).code == 4);
    const nlohmann::json report = read_json(directory / "it's r/postmortem/report.json");
    CHECK(report["trials"].size() == static_cast<std::size_t>(std::stoi(subdivisions)) + 1);

    // split the command as a shell does
    const std::string command = report["command"];
    REQUIRE(command.starts_with("carom "));
    const std::string line = "cd '" + directory.path().string() + "' && " + CAROM_PROGRAM + command.substr(5) +
                             " >/dev/null 2>repeated.err; echo $? >code";
    REQUIRE(std::system(line.c_str()) == 0);
    CHECK(read(directory / "code") == "4\n");
    const nlohmann::json again = read_json(directory / "it's r/repeated/postmortem/report.json");
    for (const char* key : {"t", "h", "step", "subproblem", "reason", "largest_residuals"})
      CHECK(again[key] == report[key]);
    REQUIRE(again["trials"].size() == 1);
    CHECK(again["trials"][0] == report["trials"].back());
    const std::vector<std::string> hints = again["hints"];
    CHECK(std::any_of(hints.begin(), hints.end(), [](const std::string& h) { return contains(h, "allows none"); }) ==
          (std::string(subdivisions) == "0"));
  }
}

TEST_CASE("post-mortem: its state goes on with more iterations or finer parts, in its directory and in another") {
  const TemporaryDirectory directory;
  const auto go_on = [&](const Words& first, const std::string& set, const std::string& results) {
    fs::remove_all(directory / "r");
    REQUIRE(run_carom(directory, failing("r", first)).code == 4);
    const auto failed_at = read_json(directory / "r/summary.json")["steps"].get<std::size_t>();
    const Words restart = {"--restart", "r/postmortem/state.cbor", "--set", set};
    const Outcome outcome = run_carom(directory, failing(results, joined(first, restart)));
    CHECK(outcome.code == 0);
    CHECK(!contains(outcome.err, "hint"));
    nlohmann::json summary = read_json(directory / results / "summary.json");
    CHECK(summary["status"] == "completed");
    CHECK(summary["time"]["end"].get<double>() == doctest::Approx(0.6).epsilon(1e-12));
    CHECK(summary["steps"] == 600);
    const Table probes = read_csv(directory / results / "probes.csv");
    CHECK(probes.rows.back()[0] == doctest::Approx(0.6).epsilon(1e-12));
    CHECK(probes.rows.size() ==
          (results == "r" ? 601 : 601 - failed_at));  // in another directory the table begins with the given state
    CHECK(fs::exists(directory / "r/postmortem") == (results != "r"));
    return summary;
  };
  const auto first = [](const char* subdivisions, const char* iterations) {
    return Words{"--set", std::string("/integrator/max_subdivisions=") + subdivisions, "--set",
                 std::string("/integrator/newton/max_iterations=") + iterations};
  };
  // the failed step is counted once
  const nlohmann::json summary = go_on(first("0", "3"), "/integrator/newton/max_iterations=20", "r");
  CHECK(summary["subdivided_steps"] == 1);
  CHECK(summary["rejected_steps"] == 1);
  go_on(first("0", "3"), "/integrator/max_subdivisions=10", "r");
  go_on(first("2", "2"), "/integrator/newton/max_iterations=20", "r");
  go_on(first("2", "2"), "/integrator/newton/max_iterations=20", "other");

  // inside a subdivided step the restart also continues like a run with more subdivisions from the start
  for (const char* subdivisions : {"1", "2", "3"}) {
    CAPTURE(subdivisions);
    go_on(first(subdivisions, "2"), "/integrator/max_subdivisions=10", "r");
    REQUIRE(run_carom(directory, failing("whole", joined({"-q"}, first("10", "2")))).code == 0);
    for (const char* name : {"probes.csv", "events.csv", "energy.csv"})
      CHECK((read(directory / "r" / name) == read(directory / "whole" / name)));
    CHECK(series_times(directory / "r") == series_times(directory / "whole"));
  }
}

TEST_CASE("post-mortem: statics of a solid that nothing holds say so") {
  const TemporaryDirectory directory;
  for (const char* joint :
       {"[]", R"([{"name": "j", "type": "prismatic", "of": ["ground", "b.left"], "axis": [0, 0, 1]}])"}) {
    CAPTURE(joint);
    write(directory / "m.json", std::string(R"({"format": 1, "gravity": [0, 0, -9.81],
      "materials": [{"name": "m", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 1000}],
      "bodies": [{"name": "b", "type": "solid", "material": "m",
                  "mesh": {"type": "box", "size": [0.2, 0.05, 0.05], "divisions": [3, 1, 1]}}],
      "joints": )") + joint + R"(, "integrator": {"type": "static"}})");
    const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
    CHECK(outcome.code == 4);
    CHECK(contains(outcome.err, "hint: bodies can move without resistance: "));
    CHECK_FALSE(contains(outcome.err, "redundant"));
  }
}

TEST_CASE("post-mortem: a small stiff solid that nsga_monolithic cannot solve is told from redundant constraints") {
  const TemporaryDirectory directory;
  write_hinged_solid(directory / "m.json", {1e-3, 5e-5, 2e-5}, {6, 4, 2},
                     {{"type", "nsga_monolithic"}, {"step", 1e-3}, {"duration", 1e-3}});
  const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "try nsga_coupled"));
  CHECK(run_carom(directory, {"run", "m.json", "-o", "s", "--set", "/integrator/type=nsga_coupled"}).code == 0);
}

TEST_CASE("post-mortem: friction of a bearing that is not found in the iterations allowed asks for more of them") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "w", "type": "rigid", "mass": 1, "inertia": [0.02, 0.03, 0.025], "position": [0.1, 0.05, -0.03],
                "points": [{"name": "c", "at": [-0.1, -0.05, 0.03]}]}],
    "joints": [{"name": "j", "type": "cylindrical", "of": ["ground", "w.c"], "axis": [1, 0, 1],
                "friction": {"coefficient": 0.5, "radius": 0.04, "length": 0.1}}],
    "integrator": {"type": "nsga_decoupled", "step": 5e-3, "duration": 1, "max_subdivisions": 0,
                   "newton": {"max_iterations": 1}}})");
  const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "hint: the friction of joints follows their reactions"));
  CHECK(run_carom(directory, {"run", "m.json", "-o", "s", "--set", "/integrator/newton/max_iterations=50"}).code == 0);
}
