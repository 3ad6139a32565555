// The key "until": runs that end early, as completed.
#include <doctest/doctest.h>

#include "tests/cli/restart_runs.hpp"

using namespace carom::cli_test;

namespace {

const Words ball = {"run", model_path("bouncing_ball"), "-q", "--set", "/expect=[]"};

}  // namespace

TEST_CASE("until: a run ends with exit code 0 when a criterion holds, and the summary says which") {
  const TemporaryDirectory directory;
  struct Case {
    std::string criterion, words;
    double t;
  };
  // free fall from 1 m: v = 9.81 t, T = 48.1 t^2; from t = 4.07 on the ball rests
  for (const Case& c : {Case{R"([{"type": "formula", "probes": ["v"], "formula": "v < -2"}])", "v < -2", 2 / 9.81},
                        Case{R"([{"type": "formula", "probes": [], "formula": "t >= z_0/4"}])", "t >= z_0/4", 0.25},
                        Case{R"([{"type": "kinetic_energy", "below": 1e-4, "for": 0.1}])", "kinetic energy", 4.17},
                        Case{R"([{"type": "kinetic_energy", "below": 1e-4, "after": 5.5}, {"type": "inertial_impulse",
                    "below": 0.01, "damping": 1, "for": 0.1}])",
                             "inertial impulse", 4.17}}) {
    CAPTURE(c.criterion);
    for (const std::string method : {"nsga_decoupled", "cd_lagrange", "moreau_jean"}) {
      CAPTURE(method);
      const std::string integrator = R"(/integrator={"type": ")" + method + R"(", "step": 1e-3, "duration": 6})";
      const Outcome run =
          run_carom(directory, joined(ball, {"-o", "r", "--set", integrator, "--set", "/until=" + c.criterion}));
      CHECK(run.code == 0);
      const nlohmann::json summary = read_json(directory / "r/summary.json");
      CHECK(summary["status"] == "completed");
      REQUIRE(summary.contains("ended_by"));
      CHECK(contains(summary["ended_by"]["criterion"], c.words));
      CHECK(contains(summary["ended_by"]["key"], "/until/"));
      CHECK(std::abs(summary["time"]["end"].get<double>() - c.t) < (c.t > 4 ? 0.15 : 1.1e-3));
    }
  }
}

TEST_CASE("until: friction of joints is no force of a contact") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "ground": [{"name": "o", "at": [0, 0, 0]}],
    "bodies": [{"name": "w", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "angular_velocity": [0, 0, 10],
                "points": [{"name": "c", "at": [0, 0, 0]}]}],
    "joints": [{"name": "j", "type": "revolute", "axis": [0, 0, 1], "of": ["ground.o", "w.c"],
                "friction": {"coefficient": 0.5, "radius": 0.1, "torque": 10}}],
    "until": [{"type": "inertial_impulse", "below": 10, "damping": 1}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 0.2}})");
  REQUIRE(run_carom(directory, {"run", "m.json", "-q", "-o", "r"}).code == 0);
  CHECK(!read_json(directory / "r/summary.json").contains("ended_by"));
}

TEST_CASE("until: without a criterion that holds a run goes to its end, and the table names the one that does") {
  const TemporaryDirectory directory;
  const Words set = {"--set", R"(/until=[{"type": "formula", "probes": ["z"], "formula": "z > 2"}])"};
  REQUIRE(run_carom(directory, joined(joined(ball, {"-o", "r"}), set)).code == 0);
  const nlohmann::json summary = read_json(directory / "r/summary.json");
  CHECK_FALSE(summary.contains("ended_by"));
  CHECK(summary["time"]["end"] == 5);
  const Outcome shown =
      run_carom(directory, {"run", model_path("bouncing_ball"), "-o", "s", "--set", "/expect=[]", "--set",
                            R"(/until=[{"type": "formula", "probes": ["z"], "formula": "z < 0.5"}])"});
  CHECK(contains(shown.out, "ended by"));
  CHECK(contains(shown.out, "z < 0.5"));
}

TEST_CASE("until: a formula without a value counts as not fulfilled, and the run tells") {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& formula) {
    return run_carom(directory, {"run", model_path("bouncing_ball"), "-o", "r", "--set", "/expect=[]", "--set",
                                 "/integrator/duration=0.5", "--set",
                                 R"(/until=[{"type": "formula", "probes": ["v"], "formula": ")" + formula + "\"}]"});
  };
  // v < 0 from the start on
  for (const char* formula : {"log(v - 1) < -3", "!(sqrt(v - 1) > 0)", "0/(v - v) > 1"}) {
    CAPTURE(formula);
    const Outcome outcome = run(formula);
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.err, "/until/0: the formula had no value at"));
    CHECK(read_json(directory / "r/summary.json")["time"]["end"] == 0.5);
  }
  // only what is evaluated counts
  const Outcome guarded = run("v < -1 || (v > 1 && log(v - 1) < -3)");
  CHECK_FALSE(contains(guarded.err, "had no value"));
  CHECK(read_json(directory / "r/summary.json")["time"]["end"].get<double>() < 0.2);
  // a number is a formula too
  const Outcome number = run_carom(directory, {"run", model_path("bouncing_ball"), "-o", "r", "--set", "/expect=[]",
                                               "--set", R"(/until=[{"type": "formula", "probes": [], "formula": 1}])"});
  CHECK(number.code == 0);
  CHECK(read_json(directory / "r/summary.json")["time"]["end"].get<double>() < 0.1);
}

TEST_CASE("until: a restart goes on to the same bytes, also while a criterion is being held") {
  const TemporaryDirectory directory;
  const Words settings = {"--set", R"(/until=[{"type": "kinetic_energy", "below": 1e-4, "for": 0.5}])",
                          "--set", "/integrator/duration=6",
                          "--set", R"(/output/energy={"every": 3})",
                          "--set", "/output/vtu/every=50"};
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(directory, joined(joined(joined(ball, {"-o", results}), settings), more)).code;
  };
  REQUIRE(run("whole", {}) == 0);
  REQUIRE(run("r", {"--until", "4.3"}) == 0);
  REQUIRE(run("r", {"--restart", "last", "--until", "6"}) == 0);
  const nlohmann::json whole = read_json(directory / "whole/summary.json");
  REQUIRE(whole.contains("ended_by"));
  check_same_results(directory / "whole", directory / "r");
}
