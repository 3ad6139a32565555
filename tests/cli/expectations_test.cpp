// The list "expect" of a model: messages and exit code if results differ.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
namespace fs = std::filesystem;

namespace {

// A point falls from z = 1 with x = 3 t, which the method integrates exactly; steps of 0.1 s to t = 0.5.
std::string falling(const std::string& expect) {
  return R"({
  "format": 1, "gravity": [0, 0, -10],
  "bodies": [{"name": "stone", "type": "point_mass", "mass": 2, "position": [0, 0, 1], "velocity": [3, 0, 0]}],
  "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 0.5},
  "output": {"vtu": {"enabled": false}, "probes": [{"name": "x", "of": "stone", "quantity": "position"},
             {"name": "height", "of": "stone", "quantity": "position.z", "every": 3}]},
  "expect": [)" +
         expect + "]\n}\n";
}

Outcome run_expecting(const TemporaryDirectory& directory, const std::string& expect,
                      std::vector<std::string> arguments = {}) {
  write(directory / "model.json", falling(expect));
  arguments.insert(arguments.begin(), {"run", "model.json", "-o", "r"});
  return run_carom(directory, arguments);
}

nlohmann::json entries(const TemporaryDirectory& directory) {
  return read_json(directory / "r/summary.json")["expectations"];
}

}  // namespace

TEST_CASE("expect: what is found within the tolerance ends with 0, and the account says so") {
  const TemporaryDirectory directory;
  // z = 1 - 5 t^2: at the end -0.25, at 0.2 s 0.8; x = 3 t
  const Outcome outcome = run_expecting(directory,
                                        R"({"probe": "height", "value": -0.25, "tolerance": 1e-12},
                                           {"probe": "x.z", "value": 0.8, "tolerance": 1e-12, "time": 0.2},
                                           {"probe": "x.y", "value": 0, "tolerance": 0, "time": 0.3},
                                           {"probe": "x.x", "value": 0, "tolerance": 1e-12, "time": 0})");
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "");
  CHECK(outcome.out.find("4 met, 0 missed") != std::string::npos);
  const nlohmann::json list = entries(directory);
  REQUIRE(list.size() == 4);
  for (const nlohmann::json& e : list) CHECK(e["status"] == "met");
  CHECK(list[0]["time"] == 0.5);
  CHECK(list[0]["found"].get<double>() == doctest::Approx(-0.25).epsilon(1e-13));
}

TEST_CASE("expect: what is missed ends with 6, and every miss is a line, also with -q") {
  const TemporaryDirectory directory;
  for (const bool quiet : {false, true}) {
    const Outcome outcome = run_expecting(directory,
                                          R"({"probe": "x.z", "value": 0.5, "tolerance": 1e-3},
                         {"probe": "x.x", "value": 1.5, "tolerance": 1e-9},
                         {"probe": "x.x", "value": 0.7, "tolerance": 0.05, "time": 0.2})",
                                          quiet ? std::vector<std::string>{"-q"} : std::vector<std::string>{});
    CHECK(outcome.code == 6);
    CHECK(outcome.err ==
          "carom: /expect/0: expected x.z = 0.5 within 0.001 at t = 0.5, found -0.25\n"
          "carom: /expect/2: expected x.x = 0.7 within 0.05 at t = 0.2, found 0.6\n");
    CHECK(outcome.out.empty() == quiet);
    CHECK(entries(directory)[0]["status"] == "missed");
    CHECK(entries(directory)[1]["status"] == "met");
  }
  // all results are written
  CHECK(read_json(directory / "r/summary.json")["status"] == "completed");
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 6);
}

TEST_CASE("expect: between steps the value is interpolated") {
  const TemporaryDirectory directory;
  // z(0.2) = 0.8, z(0.3) = 0.55: the straight line gives 0.65 at 0.26
  CHECK(run_expecting(directory, R"({"probe": "x.z", "value": 0.65, "tolerance": 1e-12, "time": 0.26})").code == 0);
  // the parabola would give 0.662
  CHECK(run_expecting(directory, R"({"probe": "x.z", "value": 0.662, "tolerance": 1e-3, "time": 0.26})").code == 6);
  // in the shorter last step: z(0.5) = -0.25, z(0.55) = -0.5125
  CHECK(run_expecting(directory, R"({"probe": "x.z", "value": -0.355, "tolerance": 1e-12, "time": 0.52})",
                      {"--until", "0.55"})
            .code == 0);
}

TEST_CASE("expect: a time after the end is a note, and the run ends with 0") {
  const TemporaryDirectory directory;
  const std::string expect = R"({"probe": "x.z", "value": 7, "tolerance": 1, "time": 0.8})";
  const Outcome outcome = run_expecting(directory, expect);
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "note: /expect/0: x.z is expected at t = 0.8, after the end of the run\n");
  CHECK(entries(directory)[0]["status"] == "not reached");
  CHECK(!entries(directory)[0].contains("found"));
  CHECK(run_expecting(directory, expect, {"-q"}).err == "");
  // a longer run reaches this time: 1 - 5 0.64 = -2.2 is not 7
  CHECK(run_expecting(directory, expect, {"-q", "--until", "0.8"}).code == 6);
}

TEST_CASE("expect: without a time it is the end of the run, wherever that is") {
  const TemporaryDirectory directory;
  const std::string expect = R"({"probe": "x.x", "value": 1.2, "tolerance": 1e-12})";
  CHECK(run_expecting(directory, expect, {"-q"}).code == 6);
  CHECK(run_expecting(directory, expect, {"-q", "--until", "0.4"}).code == 0);
}

TEST_CASE("expect: a column that no probe has is an error with the nearest name, for run and check") {
  const TemporaryDirectory directory;
  struct Wrong {
    const char *expect, *message;
  };
  for (const Wrong& wrong : {
           Wrong{R"({"probe": "hieght", "value": 0, "tolerance": 1})",
                 "error at /expect/0/probe: no probe with a column \"hieght\"; did you mean \"height\"?\n"},
           // a vector has three columns
           Wrong{R"({"probe": "x", "value": 0, "tolerance": 1})",
                 "error at /expect/0/probe: no probe with a column \"x\"; allowed are \"x.x\", \"x.y\", \"x.z\" and "
                 "\"height\"\n"},
           Wrong{R"({"probe": "height.z", "value": 0, "tolerance": 1})", "no probe with a column \"height.z\""},
           Wrong{R"({"probe": "x.z", "value": 0, "tolerance": -1})", "error at /expect/0/tolerance: "},
           Wrong{R"({"probe": "x.z", "value": 0, "tolerance": 1, "time": -1})",
                 "error at /expect/0/time: expected a time not before the start of the run"},
           Wrong{R"({"probe": "x.z", "tolerance": 1})", "error at /expect/0: "},
       }) {
    CAPTURE(std::string(wrong.expect));
    write(directory / "model.json", falling(wrong.expect));
    for (const char* command : {"run", "check"}) {
      const Outcome outcome = run_carom(directory, {command, "model.json"});
      CHECK(outcome.code == 3);
      CAPTURE(outcome.err);
      CHECK(outcome.err.find(wrong.message) != std::string::npos);
    }
  }
  CHECK(!fs::exists(directory / "results"));
}

TEST_CASE("expect: a restart keeps what was found, whatever was added to the list since") {
  const TemporaryDirectory directory;
  const std::string early = R"({"probe": "x.z", "value": 0.65, "tolerance": 1e-2, "time": 0.26})",
                    late = R"({"probe": "x.x", "value": 1.2, "tolerance": 1e-12, "time": 0.4})",
                    other = R"({"probe": "x.x", "value": 99, "tolerance": 1, "time": 0.26})";
  // the first run ends between the two times
  CHECK(run_expecting(directory, early + "," + late, {"-q", "--until", "0.3"}).code == 0);
  Outcome outcome = run_expecting(directory, early + "," + late, {"-q", "--restart", "last"});
  CHECK(outcome.err == "");
  CHECK(outcome.code == 0);
  nlohmann::json list = entries(directory);
  CHECK(list[0]["found"].get<double>() == doctest::Approx(0.65).epsilon(1e-12));
  CHECK(list[1]["found"].get<double>() == doctest::Approx(1.2).epsilon(1e-12));

  // an expectation added for a past time has no value; the others keep their values in any order
  CHECK(run_expecting(directory, early + "," + late, {"-q", "--until", "0.3"}).code == 0);
  outcome = run_expecting(directory, other + "," + late + "," + early, {"--restart", "last"});
  CHECK(outcome.code == 0);
  CHECK(
      outcome.err.find("note: /expect/0: x.x is expected at t = 0.26, before the restart, and was not noted then\n") !=
      std::string::npos);
  list = entries(directory);
  CHECK(list[0]["status"] == "not reached");
  CHECK(list[1]["found"].get<double>() == doctest::Approx(1.2).epsilon(1e-12));
  CHECK(list[2]["found"].get<double>() == doctest::Approx(0.65).epsilon(1e-12));

  // between two steps: the last value before the time comes from the checkpoint
  const std::string between = R"({"probe": "x.z", "value": 0.34, "tolerance": 1e-12, "time": 0.36})";
  CHECK(run_expecting(directory, between, {"-q", "--until", "0.3"}).code == 0);
  CHECK(run_expecting(directory, between, {"-q", "--restart", "last"}).code == 0);
  CHECK(entries(directory)[0]["status"] == "met");
}

TEST_CASE("models: every one certifies itself and holds its constraints at both levels") {
  const TemporaryDirectory directory;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const Outcome outcome =
        run_carom(directory, {"run", model_path(name), "-q", "-o", name, "--set", "/output/vtu/enabled=false"});
    CHECK(outcome.err == "");
    CHECK(outcome.code == 0);
    const nlohmann::json summary = read_json(directory / (name + "/summary.json"));
    REQUIRE(!summary["expectations"].empty());
    for (const nlohmann::json& e : summary["expectations"]) CHECK(e["status"] == "met");
    CHECK(summary["status"] == "completed");
    CHECK(summary["residuals"]["velocity"].get<double>() < 1e-10);
    if (!is_explicit_model(name)) {
      CHECK(summary["residuals"]["position"].get<double>() < 1e-10);
      CHECK(summary["max_penetration"].get<double>() <= 1e-10 * summary["scales"]["length"].get<double>());
      // the plate shows many contacts at a step that does not resolve its waves
      CHECK(summary["warnings"].size() == (name == "landing_plate" ? 2 : 0));
    }
    if (is_static_model(name)) continue;
    CHECK(std::abs(summary["energy"]["closure"].get<double>()) < 1e-10 * summary["energy"]["scale"].get<double>());
  }
}
