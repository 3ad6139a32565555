// Restart: the same bytes as without interruption, also with a later end or other output.
#include <doctest/doctest.h>

#include <csignal>
#include <fstream>

#include "tests/cli/restart_runs.hpp"
#include "tests/support/many_bodies.hpp"

using namespace carom::cli_test;

// ---- the same bytes

TEST_CASE("restart: an interrupted run goes on to the same bytes") {
  const TemporaryDirectory directory;
  const Words settings = {"--until", "0.8"};
  REQUIRE(run_carom(directory, chain("whole", settings)).code == 0);
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    fs::remove_all(directory / "r");
    Process process(directory, chain("r", settings));
    REQUIRE(wait_for(directory / "r/vtu/bead_chain_000003.vtu", process));
    process.send(signal);
    REQUIRE(process.wait().code == 130);
    CHECK(read_json(directory / "r/status.json")["status"] == "interrupted");
    const double stopped = read_json(directory / "r/summary.json")["time"]["end"];
    CHECK(stopped < 0.8);
    CHECK(series_times(directory / "r").back() == stopped);

    const Outcome rest = run_carom(directory, joined(chain("r", settings), {"--restart", "last"}));
    CHECK(rest.code == 0);
    CHECK(rest.err.empty());
    CHECK(read_json(directory / "r/status.json")["status"] == "completed");
    CHECK(contains(read_json(directory / "r/summary.json")["restarted_from"], "r/checkpoint/"));
    check_same_results(directory / "whole", directory / "r");
  }
}

TEST_CASE("restart: a later end gives the same bytes as if it had been meant from the start") {
  const TemporaryDirectory directory;
  const Words settings = {"--set", "/output/energy={\"every\": 3}", "--set", "/output/vtu/every=7",
                          "--set", "/output/probes_every=4"};
  for (const std::string name : {"bead_chain", "heavy_top", "elastic_bar"}) {
    CAPTURE(name);
    const auto run = [&](const std::string& results, const Words& more) {
      return run_carom(directory, joined(joined({"run", model_path(name), "-q", "-o", name + results}, settings), more))
          .code;
    };
    REQUIRE(run("_whole", {"--until", "0.6"}) == 0);
    REQUIRE(run("_r", {"--until", "0.2"}) == 0);
    REQUIRE(run("_r", {"--until", "0.45", "--restart", "last"}) == 0);
    REQUIRE(run("_r", {"--until", "0.6", "--restart", "last"}) == 0);
    check_same_results(directory / (name + "_whole"), directory / (name + "_r"));
  }
}

// Without gravity and velocities the time that the model names gives the scale of speeds.
TEST_CASE("restart: scales do not depend on where a run ends") {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(directory, joined({"run", model_path("whip"), "-q", "-o", results}, more)).code;
  };
  REQUIRE(run("whole", {"--until", "0.05"}) == 0);
  REQUIRE(run("r", {"--until", "0.01"}) == 0);
  REQUIRE(run("r", {"--until", "0.05", "--restart", "last"}) == 0);
  check_same_results(directory / "whole", directory / "r");
  REQUIRE(run_carom(directory, {"run", "whole/run.json", "-q", "-o", "again"}).code == 0);
  CHECK(read(directory / "again/probes.csv") == read(directory / "whole/probes.csv"));
}

TEST_CASE("restart: a path of equilibria and the account of impacts in a linear system go on to the same bytes") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "row.json") << R"({"format": 1, "bodies": [
      {"name": "a", "type": "point_mass", "mass": 0.759, "radius": 0.05, "position": [0, 0, 0], "velocity": [0.2, 0, 0]},
      {"name": "b", "type": "point_mass", "mass": 0.224, "radius": 0.05, "position": [0.1, 0, 0], "velocity": [-1, 0, 0]},
      {"name": "c", "type": "point_mass", "mass": 0.852, "radius": 0.05, "position": [0.2, 0, 0], "velocity": [0.8, 0, 0]},
      {"name": "d", "type": "point_mass", "mass": 87.3, "radius": 0.05, "position": [0.3, 0, 0], "velocity": [-0.3, 0, 0]}],
    "contacts": [{"name": "ab", "between": ["a", "b"], "restitution": 0},
                 {"name": "bc", "between": ["b", "c"], "restitution": 0},
                 {"name": "cd", "between": ["c", "d"], "restitution": 1}],
    "output": {"vtu": {"every": 500}, "energy": {"every": 10}},
    "integrator": {"type": "nsga_coupled", "step": 1e-3, "duration": 6}})";
  for (const std::string& model : {model_path("lee_frame"), std::string("row.json")}) {
    CAPTURE(model);
    const auto run = [&](const std::string& results, const Words& more) {
      // without a speed its scale would be the length over the end of the first run
      const Words words = {"run", model, "-q", "-o", results, "--set", "/expect=[]", "--set", "/scales={\"speed\": 1}"};
      return run_carom(directory, joined(words, more)).code;
    };
    for (const char* results : {"whole", "r"}) fs::remove_all(directory / results);
    REQUIRE(run("whole", {"--until", "6"}) == 0);
    REQUIRE(run("r", {"--until", "2"}) == 0);
    REQUIRE(run("r", {"--until", "4", "--restart", "last"}) == 0);
    REQUIRE(run("r", {"--until", "6", "--restart", "last"}) == 0);
    check_same_results(directory / "whole", directory / "r");
    if (model != "row.json") continue;
    const auto growth = [&](const char* results) {
      return read_json(directory / results / "summary.json")["energy"]["growth"].get<double>();
    };
    CHECK(growth("whole") > 0.05);
    CHECK(growth("r") == growth("whole"));
  }
}

TEST_CASE("restart: spheres whose rows are bound to near pairs go on to the same bytes") {
  const TemporaryDirectory directory;
  nlohmann::json model = carom::test::spheres_in_box(48, 1e-3, 0.2);
  // so that near pairs are others at every restart
  for (int i = 0; i < 48; ++i)
    model["bodies"][static_cast<std::size_t>(i)]["velocity"] = {0.5 * (i * 7 % 5 - 2), 0.5 * (i * 3 % 7 - 3), 0};
  std::ofstream(directory / "spheres.json") << model;
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(directory, joined({"run", "spheres.json", "-q", "-o", results}, more)).code;
  };
  REQUIRE(run("whole", {}) == 0);
  REQUIRE(run("r", {"--until", "0.08"}) == 0);
  REQUIRE(run("r", {"--until", "0.13", "--restart", "last"}) == 0);
  REQUIRE(run("r", {"--until", "0.2", "--restart", "last"}) == 0);
  check_same_results(directory / "whole", directory / "r");
}

TEST_CASE("restart: solids whose factors come from earlier steps go on to the same bytes") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "crank.json") << R"({"format": 1,
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7850}],
    "bodies": [
      {"name": "crank", "type": "solid", "material": "steel", "law": "neo_hookean",
       "mesh": {"type": "box", "size": [0.15, 0.02, 0.04], "divisions": [16, 3, 3]}, "position": [0, 0, 0.075],
       "orientation": {"axis": [0, 1, 0], "angle": -1.5707963267948966}, "velocity": [1.5, 0, 0],
       "angular_velocity": [0, 20, 0]},
      {"name": "rod", "type": "solid", "material": "steel", "law": "neo_hookean",
       "mesh": {"type": "box", "size": [0.4, 0.02, 0.025], "divisions": [16, 3, 3]},
       "position": [0.1854049621773916, 0, 0.075], "orientation": {"axis": [0, 1, 0], "angle": 0.384396774495639},
       "velocity": [3, 0, 0]},
      {"name": "slider", "type": "rigid", "mass": 0.3, "inertia": [1e-4, 1e-4, 1e-4],
       "position": [0.3708099243547832, 0, 0], "velocity": [3, 0, 0]}],
    "ground": [{"name": "bearing", "at": [0, 0, 0]}],
    "joints": [
      {"name": "main", "type": "revolute", "of": ["ground.bearing", "crank.left"], "axis": [0, 1, 0]},
      {"name": "pin", "type": "revolute", "of": ["crank.right", "rod.left"], "axis": [0, 1, 0]},
      {"name": "knee", "type": "revolute", "of": ["rod.right", "slider"], "axis": [0, 1, 0]},
      {"name": "rail", "type": "prismatic", "of": ["ground.bearing", "slider"], "axis": [1, 0, 0],
       "stops": {"upper": 0.4, "restitution": 0}}],
    "output": {"energy": {"every": 1}},
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.02, "rho_infinity": 0.8}})";
  // the stop is not met, or met, after which the bars oscillate and old factors are of no use for a while
  for (const char* stop : {"0.5", "0.4"}) {
    CAPTURE(stop);
    const auto run = [&](const std::string& results, const Words& more) {
      const Words words = {
          "run", "crank.json", "-q", "-o", results, "--set", std::string("/joints/3/stops/upper=") + stop};
      return run_carom(directory, joined(words, more)).code;
    };
    for (const char* results : {"whole", "r"}) fs::remove_all(directory / results);
    REQUIRE(run("whole", {}) == 0);
    REQUIRE(run("r", {"--until", "0.004"}) == 0);
    for (const char* until : {"0.005", "0.011", "0.02"})
      REQUIRE(run("r", {"--until", until, "--restart", "last"}) == 0);
    check_same_results(directory / "whole", directory / "r");
    const auto linear = read_json(directory / "whole/summary.json")["linear"];
    CHECK(linear["factors_built"] > 0);
    if (std::string(stop) == "0.5") CHECK(linear["factor_matrices"] > 4 * linear["factors_built"].get<int>());
  }
}

// With contacts that bounce, rest, are carried and are redundant.
// The columns of contacts with friction serve several steps: a restart finds them again, and does not count them.
TEST_CASE("restart: a solid that slides on many nodes goes on to the same bytes") {
  const TemporaryDirectory directory;
  const auto run = [&](const std::string& results, const Words& more) {
    const Words words = {"run",   model_path("flexible_cube_sliding"),  "-q",    "-o",        results,
                         "--set", "/bodies/0/mesh/divisions=[6, 6, 6]", "--set", "/expect=[]"};
    const Outcome outcome = run_carom(directory, joined(words, more));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
  };
  run("whole", {"--until", "0.04"});
  run("r", {"--until", "0.018"});
  run("r", {"--until", "0.026", "--restart", "last"});
  run("r", {"--until", "0.04", "--restart", "last"});
  check_same_results(directory / "whole", directory / "r");
  const auto linear = [&](const char* results) { return read_json(directory / results / "summary.json")["linear"]; };
  CHECK(linear("whole") == linear("r"));
  // 147 columns of 49 nodes for each of two matrices; every iteration has found its own: 11 606
  CHECK(linear("whole")["cg_solves"] < 800);
}

TEST_CASE("restart: columns of contact rows on two solids that nothing connects do not depend on each other") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "materials": [{"name": "m", "type": "saint_venant_kirchhoff", "young": 1e8, "poisson": 0.3, "density": 1000}],
    "bodies": [{"name": "s", "type": "solid", "material": "m", "position": [0, 0, 0.1], "velocity": [0.26, 0.45, 0],
                "mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "divisions": [4, 4, 4]}},
               {"name": "r", "type": "rigid", "mass": 0.5, "inertia": [0.01, 0.01, 0.01], "position": [0.25, 0, 0.1],
                "velocity": [0.26, 0.45, 0]},
               {"name": "t", "type": "solid", "material": "m", "position": [-0.3, 0, 0.1], "velocity": [0.26, 0.45, 0],
                "mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "divisions": [4, 4, 4]}}],
    "joints": [{"name": "j", "type": "spherical", "of": ["s.right", "r"]}],
    "contacts": [{"name": "f", "on": ["s.bottom", "t.bottom"], "friction": 0.1,
                  "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "output": {"vtu": {"enabled": false}, "energy": {"every": 1}, "probes": [{"name": "E", "quantity": "energy.total"}]},
    "integrator": {"type": "moreau_jean", "step": 1e-3, "duration": 0.016}})");
  const auto run = [&](const std::string& results, const Words& more) {
    const Outcome outcome = run_carom(directory, joined({"run", "m.json", "-q", "-o", results}, more));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
  };
  run("whole", {});
  for (const auto& ends : {std::pair{"0.008", "0.012"}, {"0.001", "0.015"}}) {
    CAPTURE(ends.first);
    fs::remove_all(directory / "r");
    run("r", {"--until", ends.first});
    run("r", {"--until", ends.second, "--restart", "last"});
    run("r", {"--restart", "last"});
    check_same_results(directory / "whole", directory / "r");
  }
}

TEST_CASE("restart: boxes that have flown before they fall on a floor go on to the same bytes") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "a", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.1, 0.2, 0.3]},
                "position": [0, 0, 0.5], "angular_velocity": [-5, 11, 2]},
               {"name": "b", "type": "rigid", "mass": 2, "shape": {"type": "box", "size": [0.2, 0.2, 0.1]},
                "position": [1, 0, 0.6], "angular_velocity": [7, 1, -7]}],
    "contacts": [{"name": "c", "on": ["a.vertices", "b.vertices"], "restitution": 0.3, "friction": 0.2,
                  "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "output": {"vtu": {"enabled": false}, "energy": {"every": 1}, "probes": [{"name": "a", "quantity": "position", "of": "a"}]},
    "integrator": {"type": "nsga_monolithic", "step": 1e-3, "duration": 0.4}})");
  for (const std::string method : {"nsga_monolithic", "nsga_coupled", "nsga_decoupled"})
    for (const char* middle : {"0.005", "0.05", "0.2"}) {
      CAPTURE(method);
      CAPTURE(middle);
      const auto run = [&](const std::string& results, const Words& more) {
        return run_carom(directory,
                         joined({"run", "m.json", "-q", "-o", results, "--set", "/integrator/type=" + method}, more))
            .code;
      };
      for (const char* results : {"whole", "r"}) fs::remove_all(directory / results);
      REQUIRE(run("whole", {}) == 0);
      REQUIRE(run("r", {"--until", middle}) == 0);
      REQUIRE(run("r", {"--restart", "last"}) == 0);
      check_same_results(directory / "whole", directory / "r");
    }
}

TEST_CASE("restart: strides that follow from the duration stay those of the first start") {
  const TemporaryDirectory directory;
  const Words settings = {"--set", "/output/vtu={}", "--set", "/integrator/step=1e-5"};
  REQUIRE(run_carom(directory, brick("r", joined(settings, {"-q", "--until", "0.03"}))).code == 0);
  REQUIRE(run_carom(directory, brick("r", joined(settings, {"-q", "--until", "0.06", "--restart", "last"}))).code == 0);
  const Table energy = read_csv(directory / "r/energy.csv");
  REQUIRE(energy.rows.size() == 2001);  // every third step
  CHECK(energy.rows.back()[0] - energy.rows[1999][0] == doctest::Approx(3e-5).epsilon(1e-6));
  CHECK(series_times(directory / "r").size() == 401);
}

TEST_CASE("restart: a run that had reached its end changes nothing") {
  const TemporaryDirectory directory;
  for (const char* until : {"0.1", "0.1003", "0"}) {
    CAPTURE(until);
    fs::remove_all(directory / "r");
    fs::remove_all(directory / "whole");
    const Words settings = {"--until", until, "--set", "/output/energy={\"every\": 7}"};
    REQUIRE(run_carom(directory, chain("r", settings)).code == 0);
    fs::copy(directory / "r", directory / "whole", fs::copy_options::recursive);
    for (int i = 0; i < 2; ++i)
      CHECK(run_carom(directory, joined(chain("r", settings), {"--restart", "last"})).code == 0);
    check_same_results(directory / "whole", directory / "r");
  }
}

TEST_CASE("restart: the number of threads may change") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, chain("whole", {"--until", "0.3", "--set", "/output/energy={\"every\": 2}"})).code == 0);
  const Words settings = {"--set", "/output/energy={\"every\": 2}"};
  REQUIRE(run_carom(directory, joined(chain("r", settings), {"--until", "0.15", "--threads", "2"})).code == 0);
  REQUIRE(run_carom(directory, joined(chain("r", settings), {"--until", "0.3", "--restart", "last"})).code == 0);
  check_same_results(directory / "whole", directory / "r");
}

namespace {

void check_checkpoint_at_every_step(const std::vector<std::string>& names) {
  const TemporaryDirectory directory;
  for (const std::string& name : names) {
    CAPTURE(name);
    // the bar's steps are less than a microsecond
    Words run = {"run", model_path(name), "-q", "--until", name == "impacting_bar" ? "5e-5" : "0.1"};
    if (!is_static_model(name) && !is_explicit_model(name))
      run = joined(run, {"--set", "/integrator/newton/method=modified"});
    REQUIRE(run_carom(directory, joined(run, {"-o", name, "--set", "/output/checkpoint/enabled=false"})).code == 0);
    REQUIRE(run_carom(directory, joined(run, {"-o", name + "_every", "--set", "/output/checkpoint/every=1"})).code ==
            0);
    CHECK(fs::is_empty(directory / (name + "/checkpoint")));
    check_same_results(directory / name, directory / (name + "_every"));
  }
}

}  // namespace

// Of points, rigid bodies with joints, beams and solids, and a path of equilibria.
TEST_CASE("checkpoints: one at every step changes no byte of the results") {
  check_checkpoint_at_every_step({"bouncing_ball", "four_bar", "pendulum_beam", "cube", "cantilever_on_obstacle",
                                  "brick_sliding", "conveyor", "rolling_ball", "braked_wheel"});
}
TEST_CASE("checkpoints: one at every step changes no byte of any model's results" * doctest::test_suite("long")) {
  check_checkpoint_at_every_step(model_names());
}

TEST_CASE("SIGUSR1 writes a checkpoint and a picture, and the run goes on with the same tables") {
  const TemporaryDirectory directory;
  const Words settings = {"--until", "0.8", "--set", "/output/checkpoint/enabled=false"};
  REQUIRE(run_carom(directory, chain("whole", settings)).code == 0);
  Process process(directory, chain("r", settings));
  REQUIRE(wait_for(directory / "r/vtu/bead_chain_000002.vtu", process));
  process.send(SIGUSR1);
  CHECK(process.wait().code == 0);
  for (const char* name : {"probes.csv", "events.csv", "energy.csv"})
    CHECK((read(directory / "r" / name) == read(directory / "whole" / name)));
  const std::size_t frames = series_times(directory / "whole").size();
  const std::size_t more = series_times(directory / "r").size();
  CHECK(more >= frames);  // equal if the step had a picture
  CHECK(more <= frames + 1);
  newest(directory / "r");

  // this checkpoint can be continued
  CHECK(run_carom(directory, joined(chain("r", settings), {"--restart", "last"})).code == 0);
  for (const char* name : {"probes.csv", "events.csv", "energy.csv"})
    CHECK((read(directory / "r" / name) == read(directory / "whole" / name)));
}

TEST_CASE("a second signal ends the program at once, and the files are readable") {
  const TemporaryDirectory directory;
  Process process(directory, chain("r", {"--set", "/integrator/step=1e-6"}));
  REQUIRE(wait_for(directory / "r/vtu/bead_chain_000001.vtu", process));
  // both signals arrive before the first step
  for (const int signal : {SIGSTOP, SIGINT, SIGTERM, SIGCONT}) process.send(signal);
  const int code = process.wait().code;
  CHECK((code == 128 + SIGINT || code == 128 + SIGTERM));
  CHECK(!fs::exists(directory / "r/summary.json"));
  CHECK(read_json(directory / "r/status.json")["status"] == "running");
  CHECK(series_times(directory / "r").size() >= 2);
}

TEST_CASE("status.json can be read at any time, and says how the run ended") {
  const TemporaryDirectory directory;
  {
    Process process(directory, chain("r", {"--until", "0.6"}));
    REQUIRE(wait_for(directory / "r/status.json", process));
    int looks = 0;
    while (process.running()) {
      const nlohmann::json status = read_json(directory / "r/status.json");
      const std::string word = status["status"];
      CHECK((word == "running" || word == "completed"));
      CHECK(status["time"]["end"] == 0.6);
      ++looks;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(looks > 0);
    CHECK(process.wait().code == 0);
  }
  const nlohmann::json status = read_json(directory / "r/status.json");
  CHECK(status["status"] == "completed");
  CHECK(status["share"] == 1);
  CHECK(status["steps"] == 3000);
  CHECK(status["seconds_left"] == 0);
}

// ---- other output

TEST_CASE("restart: with other probes the earlier table is kept beside, also after a kill, and never overwritten") {
  const TemporaryDirectory directory;
  const std::string other = "/output/probes=[{\"name\": \"z\", \"of\": \"bead_3\", \"quantity\": \"position.z\"}]";
  const std::string third = "/output/probes=[{\"name\": \"x\", \"of\": \"bead_4\", \"quantity\": \"position.x\"}]";
  REQUIRE(run_carom(directory, chain("r", {"--until", "0.1"})).code == 0);
  const std::string before = read(directory / "r/probes.csv");
  fs::copy(directory / "r/checkpoint", directory / "kept", fs::copy_options::recursive);

  const Words again = {"--until", "0.2", "--restart", "last", "--set", other};
  const Outcome outcome =
      run_carom(directory, joined({"run", model_path("bead_chain"), "-o", "r", "--set", "/expect=[]"}, again));
  REQUIRE(outcome.code == 0);
  CHECK(contains(outcome.err, "note: /output/probes/0/name is now \"z\", was \"first\"\n"));
  CHECK((read(directory / "r/probes.before.csv") == before));
  const Table table = read_csv(directory / "r/probes.csv");
  CHECK(table.names == Words{"t", "z"});
  REQUIRE(table.rows.size() == 501);
  CHECK(table.rows.front()[0] == doctest::Approx(0.1).epsilon(1e-12));
  const std::string after = read(directory / "r/probes.csv");

  // killed before its first checkpoint: only the old checkpoint is present
  fs::remove_all(directory / "r/checkpoint");
  fs::copy(directory / "kept", directory / "r/checkpoint");
  REQUIRE(run_carom(directory, chain("r", again)).code == 0);
  CHECK((read(directory / "r/probes.csv") == after));
  CHECK((read(directory / "r/probes.before.csv") == before));

  // and other intervals once more
  REQUIRE(run_carom(directory, chain("r", {"--until", "0.3", "--restart", "last", "--set", third})).code == 0);
  CHECK((read(directory / "r/probes.before.csv") == before));
  CHECK((read(directory / "r/probes.before2.csv") == after));
}

TEST_CASE("restart: a probe that means something else by the same name begins a new table") {
  const TemporaryDirectory directory;
  const auto probe = [](const std::string& of, const std::string& quantity) {
    return "/output/probes=[{\"name\": \"z\", \"of\": \"" + of + "\", \"quantity\": \"" + quantity + "\"}]";
  };
  REQUIRE(run_carom(directory, chain("r", {"--until", "0.1", "--set", probe("bead_3", "position.z")})).code == 0);
  std::string before = read(directory / "r/probes.csv"), kept = "r/probes.before.csv";
  double end = 0.1;
  for (const std::string& changed : {probe("bead_3", "velocity.z"), probe("bead_4", "velocity.z")}) {
    CAPTURE(changed);
    const std::string until = std::to_string(end + 0.1);
    REQUIRE(run_carom(directory, chain("r", {"--until", until, "--restart", "last", "--set", changed})).code == 0);
    CHECK((read(directory / kept) == before));
    const Table table = read_csv(directory / "r/probes.csv");
    CHECK(table.rows.front()[0] == doctest::Approx(end).epsilon(1e-12));
    before = read(directory / "r/probes.csv");
    kept = "r/probes.before2.csv";
    end += 0.1;
  }
}

TEST_CASE("restart: into another directory leaves the first alone and writes what follows") {
  const TemporaryDirectory directory;
  REQUIRE(run_carom(directory, chain("whole", {"--until", "0.2"})).code == 0);
  REQUIRE(run_carom(directory, chain("r", {"--until", "0.1"})).code == 0);
  // the directory contains a longer earlier run: its checkpoints do not belong to this run
  REQUIRE(run_carom(directory, chain("other", {"--until", "0.5"})).code == 0);
  const auto before = snapshot(directory / "r");
  const std::string file = newest(directory / "r").string();
  REQUIRE(run_carom(directory, chain("other", {"--until", "0.2", "--restart", file})).code == 0);
  CHECK((snapshot(directory / "r") == before));
  CHECK(newest(directory / "other").filename() == "000000001000.cbor");

  const auto whole = lines_of(read(directory / "whole/probes.csv")),
             rest = lines_of(read(directory / "other/probes.csv"));
  REQUIRE(whole.size() == 1002);
  REQUIRE(rest.size() == 502);
  CHECK(rest[0] == whole[0]);
  CHECK(std::equal(rest.begin() + 1, rest.end(), whole.begin() + 501));
}

TEST_CASE("restart: from an older checkpoint the newer ones go, since the tables are cut behind them") {
  const TemporaryDirectory directory;
  const Words settings = {"--set", "/output/checkpoint/every=100", "--set", "/output/checkpoint/keep=3",
                          "--set", "/output/energy={\"every\": 1}"};
  REQUIRE(run_carom(directory, joined(chain("whole", settings), {"--until", "0.1"})).code == 0);
  REQUIRE(run_carom(directory, joined(chain("r", settings), {"--until", "0.1"})).code == 0);
  REQUIRE(run_carom(directory,
                    joined(chain("r", settings), {"--until", "0.07", "--restart", "r/checkpoint/000000000300.cbor"}))
              .code == 0);
  CHECK(newest(directory / "r").filename() == "000000000350.cbor");
  REQUIRE(run_carom(directory, joined(chain("r", settings), {"--until", "0.1", "--restart", "last"})).code == 0);
  check_same_results(directory / "whole", directory / "r");
}

TEST_CASE("restart: expectations are kept over it, and a new one behind its time is not invented") {
  const TemporaryDirectory directory;
  const auto expect = [](const std::string& probe, double value, double time) {
    return "/expect=[{\"probe\": \"" + probe + "\", \"value\": " + std::to_string(value) +
           ", \"tolerance\": 1e-3, \"time\": " + std::to_string(time) + "}]";
  };
  // free fall from 0.25 by g t^2/2
  const std::string good = expect("middle.z", 0.25 - 0.5 * 9.81 * 0.0049 * 0.0049, 0.0049);
  const std::string late = expect("first.z", 7, 0.0049);
  REQUIRE(run_carom(directory, chain("r", {"--until", "0.01", "--set", good})).code == 0);
  const Words on = {"run", model_path("bead_chain"), "-o", "r", "--restart", "last", "--until", "0.02", "--set"};
  CHECK(run_carom(directory, joined(on, {good})).code == 0);
  CHECK(read_json(directory / "r/summary.json")["expectations"][0]["status"] == "met");
  const Outcome outcome = run_carom(directory, joined(on, {late}));
  CHECK(outcome.code == 0);
  CHECK(read_json(directory / "r/summary.json")["expectations"][0]["status"] == "not reached");
  CHECK(contains(outcome.err, "before the restart"));
}

TEST_CASE("restart: the summary's energies are those of the whole run, with a ledger and without") {
  const TemporaryDirectory directory;
  for (const char* enabled : {"true", "false"}) {
    CAPTURE(enabled);
    const Words settings = {"--set", std::string("/output/energy/enabled=") + enabled};
    const std::string whole = std::string("whole_") + enabled, r = std::string("r_") + enabled;
    REQUIRE(run_carom(directory, joined(chain(whole, settings), {"--until", "0.2"})).code == 0);
    REQUIRE(run_carom(directory, joined(chain(r, settings), {"--until", "0.1"})).code == 0);
    REQUIRE(run_carom(directory, joined(chain(r, settings), {"--until", "0.2", "--restart", "last"})).code == 0);
    CHECK(read_json(directory / r / "summary.json")["energy"]["initial"] ==
          read_json(directory / whole / "summary.json")["energy"]["initial"]);
  }
}

TEST_CASE("restart: tolerances follow from the duration that the model names, not from another end") {
  // only a stretched spring moves the model: its scale of speed is its length over the duration
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1,
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 0]},
               {"name": "b", "type": "point_mass", "mass": 1, "position": [1, 0, 0]}],
    "springs": [{"name": "s", "of": ["a", "b"], "stiffness": 10, "natural_length": 0.8}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.1}})");
  const auto speed = [&](const Words& more) {
    CHECK(run_carom(directory, joined({"run", "m.json", "-q", "-o", "r"}, more)).code == 0);
    return read_json(directory / "r/summary.json")["scales"]["speed"].get<double>();
  };
  const double first = speed({});
  CHECK(speed({"--until", "0.3", "--restart", "last"}) == first);
  CHECK(speed({"--until", "0.4", "--restart", "last"}) == first);
  CHECK(speed({"--until", "0.4"}) == first);
  CHECK(speed({"--set", "/integrator/duration=0.4"}) == doctest::Approx(first / 4).epsilon(0.5));
}
