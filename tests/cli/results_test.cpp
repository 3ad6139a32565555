// Files of a run, and bitwise repetition of a run.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
namespace fs = std::filesystem;

TEST_CASE("run: results go to results/<model>, the account to stdout") {
  const TemporaryDirectory directory;
  const Outcome outcome = run_carom(directory, {"run", model_path("brick"), "--until", "0.05"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("completed; results in results/brick\n"));
  for (const char* row : {"steps ", "wall time", "iterations", "constraints", "impacts", "energy"})
    CHECK(outcome.out.find(row) != std::string::npos);
  CHECK(outcome.err.find("completed") == std::string::npos);
  for (const char* name : {"brick.pvd", "vtu/brick_000000.vtu", "probes.csv", "summary.json", "run.json"})
    CHECK(fs::exists(directory / (std::string("results/brick/") + name)));
}

TEST_CASE("run: -q prints nothing, -v sizes and scales on stderr") {
  const TemporaryDirectory directory;
  const Outcome quiet = run_carom(directory, {"run", model_path("brick"), "--until", "0.05", "-q"});
  CHECK(quiet.code == 0);
  CHECK(quiet.out.empty());
  CHECK(quiet.err.empty());
  CHECK(fs::exists(directory / "results/brick/summary.json"));
  const Outcome verbose = run_carom(directory, {"run", model_path("brick"), "--until", "0.05", "-v"});
  CHECK(verbose.code == 0);
  CHECK(verbose.err.find("6 equations") != std::string::npos);
  CHECK(verbose.err.find("scales") != std::string::npos);
}

TEST_CASE("run: several --set count, and -o says where") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"run", model_path("bouncing_ball"), "-o", "deep/er", "-q", "--set", "/integrator/step=1e-2",
                            "--set", "/integrator/duration=0.2", "--set", "/output/vtu/enabled=false", "--set",
                            "/parameters/z_0=2", "--set", "/bodies/0/name=ball", "--set", "/gravity=[0, 0, -5]"});
  CHECK(outcome.code == 0);
  CHECK(!fs::exists(directory / "results"));
  CHECK(!fs::exists(directory / "deep/er/vtu"));
  const Table probes = read_csv(directory / "deep/er/probes.csv");
  REQUIRE(probes.rows.size() == 21);
  CHECK(probes.names[0] == "t");
  CHECK(probes.names[1] == "z");
  // free fall, which the method integrates exactly: z = 2 - 5 t^2/2
  CHECK(probes.rows.back()[0] == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(probes.rows.back()[1] == doctest::Approx(2 - 0.5 * 5 * 0.04).epsilon(1e-12));
}

TEST_CASE("run: heads of tables name units in brackets, or names alone if the model wants none; numbers are the same") {
  const TemporaryDirectory directory;
  const auto head = [&](const std::string& file) {
    const std::string text = read(directory / file);
    return text.substr(0, text.find('\n'));
  };
  const Words words = {"run", model_path("incline"), "-q", "--until", "0.1", "-o"};
  REQUIRE(run_carom(directory, joined(words, {"r"})).code == 0);
  REQUIRE(run_carom(directory, joined(words, {"bare", "--set", "/output/units=none"})).code == 0);
  CHECK(head("r/energy.csv").starts_with("t [s],kinetic [J],"));
  CHECK(head("r/energy.csv").ends_with(",friction [J]"));
  CHECK(head("r/events.csv").starts_with("t [s],step,event,contact,x [m],y [m],z [m],normal_x,"));
  CHECK(head("r/events.csv").ends_with(",slip_velocity [m/s],friction_impulse [N s],friction_work [J]"));
  CHECK(head("r/iterations.csv").starts_with("t [s],steps,rejected,smooth.mean,"));
  for (const char* table : {"probes", "energy", "events", "iterations"}) {
    CAPTURE(table);
    const std::string with = std::string("r/") + table + ".csv", without = std::string("bare/") + table + ".csv";
    CHECK(head(without).find('[') == std::string::npos);
    if (table == std::string("events")) continue;
    const Table a = read_csv(directory / with), b = read_csv(directory / without);
    CHECK(a.names == b.names);
    CHECK(a.rows == b.rows);
  }
}

TEST_CASE("run: a restart with other units in the heads begins a new table and keeps the old one") {
  const TemporaryDirectory directory;
  const Words words = {"run", model_path("brick"), "-q", "-o", "r", "--until"};
  REQUIRE(run_carom(directory, joined(words, {"0.1"})).code == 0);
  const std::string before = read(directory / "r/probes.csv");
  REQUIRE(run_carom(directory, joined(words, {"0.15", "--restart", "last"})).code == 0);
  CHECK(read(directory / "r/probes.csv").starts_with(before));
  REQUIRE(run_carom(directory, joined(words, {"0.2", "--restart", "last", "--set", "/output/units=none"})).code == 0);
  CHECK(read(directory / "r/probes.csv").starts_with("t,x.x,"));
  CHECK(read(directory / "r/probes.before.csv").starts_with(before));
}

TEST_CASE("run: --until 0 writes the initial state") {
  const TemporaryDirectory directory;
  CHECK(run_carom(directory, {"run", model_path("brick"), "--until", "0", "-q", "-o", "r"}).code == 0);
  CHECK(read_json(directory / "r/summary.json")["steps"] == 0);
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 1);
  CHECK(series_times(directory / "r") == std::vector<double>{0});
}

TEST_CASE("run: a second run into the same directory replaces the first") {
  const TemporaryDirectory directory;
  CHECK(run_carom(directory, {"run", model_path("brick"), "--until", "0.1", "-q", "-o", "r"}).code == 0);
  CHECK(series_times(directory / "r").size() == 21);
  CHECK(run_carom(directory, {"run", model_path("brick"), "--until", "0.05", "-q", "-o", "r"}).code == 0);
  CHECK(series_times(directory / "r").size() == 11);
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 51);
  CHECK(!fs::exists(directory / "r/vtu/brick_000011.vtu"));
}

TEST_CASE("run: what an earlier run wrote and this one does not is removed, and nothing else") {
  const TemporaryDirectory directory;
  const Words arguments = {"run", model_path("brick"), "--until", "0.02", "-q", "-o", "r", "--set", "/expect=[]"};
  REQUIRE(run_carom(directory, arguments).code == 0);
  for (const char* own : {"r/notes.csv", "r/other.pvd", "r/vtu/brick_sketch.vtu"}) write(directory / own, "mine");
  REQUIRE(run_carom(directory, joined(arguments, {"--set",
                                                  "/output={\"vtu\": {\"enabled\": false}, \"events\": "
                                                  "{\"enabled\": false}, \"energy\": {\"enabled\": false}}"}))
              .code == 0);
  Words files;
  for (const auto& entry : fs::recursive_directory_iterator(directory / "r"))
    if (entry.is_regular_file() && entry.path().extension() != ".cbor")
      files.push_back(fs::relative(entry.path(), directory / "r").string());
  std::sort(files.begin(), files.end());
  CHECK(files == Words{"iterations.csv", "notes.csv", "other.pvd", "run.json", "status.json", "summary.json",
                       "vtu/brick_sketch.vtu"});
}

TEST_CASE("run: pictures of another model in the same directory are removed, and no other file") {
  const TemporaryDirectory directory;
  const auto run = [&](const char* model) {
    return run_carom(directory, {"run", model_path(model), "-q", "-o", "r", "--until", "0.01"}).code;
  };
  REQUIRE(run("bead_chain") == 0);
  write(directory / "r/mine.pvd", "not of this program");
  CHECK(std::filesystem::exists(directory / "r/vtu/bead_chain_000000.vtu"));
  REQUIRE(run("heavy_top") == 0);
  CHECK_FALSE(std::filesystem::exists(directory / "r/bead_chain.pvd"));
  CHECK_FALSE(std::filesystem::exists(directory / "r/vtu/bead_chain_000000.vtu"));
  CHECK(std::filesystem::exists(directory / "r/heavy_top.pvd"));
  CHECK(read(directory / "r/mine.pvd") == "not of this program");
}

TEST_CASE("run: a model that lies where the results go is never overwritten, with 2") {
  const TemporaryDirectory directory;
  const std::string model = read(model_path("bouncing_ball"));
  fs::create_directories(directory / "same/postmortem");
  for (const char* name : {"run.json", "summary.json", "status.json", "probes.csv", "same.pvd", "postmortem/m.json"}) {
    CAPTURE(name);
    const std::string file = std::string("same/") + name;
    write(directory / file, model);
    const Outcome outcome = run_carom(directory, {"run", file, "-o", "same", "--until", "0.01"});
    CHECK(outcome.code == 2);
    CHECK(outcome.err.starts_with("carom run: the results in same would overwrite the model " + file + ": "));
    CHECK((read(directory / file) == model));
    fs::remove(directory / file);
    fs::remove(directory / "same/postmortem");
    CHECK(fs::is_empty(directory / "same"));
    fs::create_directories(directory / "same/postmortem");
  }
  // a run may be repeated in its own directory while its model stays the same
  REQUIRE(run_carom(directory, {"run", model_path("bouncing_ball"), "-q", "-o", "r", "--until", "0.1"}).code == 0);
  const std::string repeated = read(directory / "r/run.json");
  CHECK(run_carom(directory, {"run", "r/run.json", "-q", "-o", "r"}).code == 0);
  CHECK((read(directory / "r/run.json") == repeated));
  CHECK(run_carom(directory, {"run", "r/run.json", "-q", "-o", "r", "--until", "0.2"}).code == 2);
  CHECK((read(directory / "r/run.json") == repeated));
  CHECK(!repeated.empty());
  CHECK(!contains(repeated, "$schema"));
}

TEST_CASE("run: the last state is in the series though the stride passes it by") {
  const TemporaryDirectory directory;
  CHECK(run_carom(directory,
                  {"run", model_path("brick"), "--until", "0.05", "-q", "-o", "r", "--set", "/output/vtu/every=7"})
            .code == 0);
  const std::vector<double> times = series_times(directory / "r");
  CHECK(times.size() == 9);
  CHECK(times.back() == doctest::Approx(0.05).epsilon(1e-12));
}

TEST_CASE("run: a table replaces a symbolic link of its name, and the file at its end stays") {
  const TemporaryDirectory directory;
  write(directory / "mine", "my own text\n");
  fs::create_directory(directory / "r");
  const Words run = {"run", model_path("bead_chain"), "-q", "--set", "/expect=[]", "-o", "r", "--until"};
  for (const char* name : {"probes.csv", "events.csv", "energy.csv", "run.json", "bead_chain.pvd"})
    fs::create_symlink("../mine", directory / "r" / name);
  REQUIRE(run_carom(directory, joined(run, {"0.01"})).code == 0);
  CHECK(read(directory / "mine") == "my own text\n");
  CHECK(fs::is_regular_file(fs::symlink_status(directory / "r/probes.csv")));
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 51);

  // neither does a restart follow a link, nor a file that is not yet complete
  fs::rename(directory / "r/probes.csv", directory / "table");
  fs::create_symlink("../table", directory / "r/probes.csv");
  const std::string table = read(directory / "table");
  const Outcome restart = run_carom(directory, joined(run, {"0.02", "--restart", "last"}));
  CHECK(restart.code == 5);
  CHECK(restart.err == "carom: cannot write r/probes.csv: it is a symbolic link\n");
  CHECK(read(directory / "table") == table);
  fs::create_symlink("../mine", directory / "r/summary.json.tmp");
  CHECK(run_carom(directory, joined(run, {"0.01"})).err ==
        "carom: cannot write r/summary.json: it is a symbolic link\n");
  CHECK(read(directory / "mine") == "my own text\n");
}

TEST_CASE("run: a name of the model with a line end, quotes and brackets makes a list of pictures that XML can read") {
  const TemporaryDirectory directory;
  const std::string name = "a\nb\t<\"&'>";
  write(directory / (name + ".json"), read(model_path("bouncing_ball")));
  REQUIRE(run_carom(directory, {"run", name + ".json", "-q", "--set", "/expect=[]", "-o", "r", "--until", "0"}).code ==
          0);
  const std::string list = read(directory / "r" / (name + ".pvd"));
  CHECK(contains(list, "file=\"vtu/a&#10;b&#9;&lt;&quot;&amp;'&gt;_000000.vtu\""));
  CHECK(fs::exists(directory / "r/vtu" / (name + "_000000.vtu")));
}

TEST_CASE("run: run.json repeats the run byte for byte") {
  const TemporaryDirectory directory;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const std::string setting = is_static_model(name) || is_explicit_model(name) ? "/integrator/max_subdivisions=8"
                                                                                 : "/integrator/rho_infinity=0.7";
    REQUIRE(
        run_carom(directory, {"run", model_path(name), "--until", "0.05", "-q", "-o", name, "--set", setting}).code ==
        0);
    const Outcome again = run_carom(directory, {"run", name + "/run.json", "-q", "-o", name + "_again"});
    CHECK(again.code == 0);
    CHECK(again.err.empty());
    CHECK(read(directory / (name + "/probes.csv")) == read(directory / (name + "_again/probes.csv")));
    CHECK(read(directory / (name + "/run.json")) == read(directory / (name + "_again/run.json")));
  }
}

TEST_CASE("run.json: the values of all parameters can be read from it, also of those that only formulas used") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"_({"format": 1,
    "parameters": {"rpm": 900, "ecc": 0.01, "omega": "=2*pi*rpm/60"},
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1, "radius": "=ecc", "position": [0, 0, 1]}],
    "loads": [{"name": "push", "type": "force", "on": "a", "value": ["sin(omega*t)", 0, 0]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.01}})_");
  const auto parameters = [&](const std::string& folder) {
    const nlohmann::json model = read_json(directory / folder / "run.json");
    nlohmann::json all = model["inserted_parameters"];
    CHECK(model["parameters"].size() == 1);
    all.update(model["parameters"]);
    return all;
  };
  const double turn = 2 * 3.141592653589793;
  REQUIRE(run_carom(directory, {"run", "m.json", "-q", "-o", "r", "--set", "/parameters/rpm=1200"}).code == 0);
  CHECK(parameters("r").size() == 3);
  CHECK(parameters("r")["rpm"] == 1200);
  CHECK(parameters("r")["ecc"] == 0.01);
  CHECK(parameters("r")["omega"].get<double>() == doctest::Approx(20 * turn).epsilon(1e-15));
  // the file is a model, and its own run.json is the same
  REQUIRE(run_carom(directory, {"run", "r/run.json", "-q", "-o", "again"}).code == 0);
  CHECK(read(directory / "r/run.json") == read(directory / "again/run.json"));
}

TEST_CASE("probes: a quaternion turns continuously through full turns") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"_({"format": 1,
    "bodies": [{"name": "top", "type": "rigid", "mass": 1, "inertia": [1, 2, 3], "angular_velocity": [0, 0, 10]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1.5},
    "output": {"probes": [{"name": "q", "of": "top", "quantity": "quaternion"},
                          {"name": "w", "of": "top", "quantity": "quaternion.w"}]},
    "expect": [{"probe": "q.z", "value": "=sin(7.5)", "tolerance": 1e-9}]})_");
  REQUIRE(run_carom(directory, {"run", "m.json", "-q", "-o", "r"}).code == 0);
  const Table table = read_csv(directory / "r/probes.csv");
  CHECK(table.names == Words{"t", "q.w", "q.x", "q.y", "q.z", "w"});
  REQUIRE(table.rows.size() == 1501);
  // rotation about a principal axis: q = (cos(w t/2), 0, 0, sin(w t/2)), here over 2.4 turns
  for (const auto& row : table.rows) {
    CHECK(row[1] == doctest::Approx(std::cos(5 * row[0])).epsilon(1e-9));
    CHECK(row[4] == doctest::Approx(std::sin(5 * row[0])).epsilon(1e-9));
    CHECK(row[5] == row[1]);
  }
}

TEST_CASE("probes: joint_angle counts full turns at every step, also over restarts") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"_({"format": 1,
    "scales": {"length": 1, "speed": 10, "mass": 1},
    "bodies": [{"name": "wheel", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "hub", "type": "revolute", "of": ["ground", "wheel"], "axis": [0, 0, 1],
                "driver": {"angle": "-50*t*(1 - t)"}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 2},
    "output": {"vtu": {"enabled": false}, "probes_every": 250, "checkpoint": {"every": 10},
               "probes": [{"name": "a", "of": "hub", "quantity": "joint_angle"}]},
    "expect": [{"probe": "a", "value": 100, "tolerance": 1e-8}]})_");
  const auto run = [&](const std::string& folder, const Words& more) {
    return run_carom(directory, joined({"run", "m.json", "-q", "-o", folder}, more)).code;
  };
  REQUIRE(run("whole", {}) == 0);
  const Table table = read_csv(directory / "whole/probes.csv");
  REQUIRE(table.rows.size() == 9);
  // two turns back, then 18 forward: up to 33 rad from one row to the next, far more than the 4 pi that a state tells
  // apart
  for (const auto& row : table.rows) CHECK(row[1] == doctest::Approx(-50 * row[0] * (1 - row[0])).epsilon(1e-8));

  REQUIRE(run("r", {"--until", "0.333"}) == 0);
  REQUIRE(run("r", {"--until", "1.777", "--restart", "last"}) == 0);
  REQUIRE(run("r", {"--restart", "last"}) == 0);
  CHECK(read(directory / "r/probes.csv") == read(directory / "whole/probes.csv"));
  // into another directory the count goes on too
  const std::string checkpoint = (directory / "r/checkpoint/000000001990.cbor").string();
  REQUIRE(run("other", {"--restart", checkpoint}) == 0);
  CHECK(read_csv(directory / "other/probes.csv").rows.back() == table.rows.back());
}

// A point on a floor is pulled slowly against a spring with a damper until it slips by 1 N over 200 N/m.
TEST_CASE("run: slips that positions and velocities tell differently are remarked, and only those") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "point.json") << R"x({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "a", "type": "point_mass", "mass": 1e-3, "position": [0, 0, 0]}],
    "ground": [{"name": "g", "at": [-1, 0, 0]}],
    "springs": [{"name": "s", "of": ["ground.g", "a"], "stiffness": 200, "damping": 4}],
    "loads": [{"name": "press", "type": "force", "on": "a", "value": [0, 0, -4]},
              {"name": "pull", "type": "force", "on": "a", "value": ["3*min(1, t)", 0, 0]}],
    "contacts": [{"name": "floor", "on": "a", "friction": 0.5, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "output": {"probes_every": 100, "probes": [{"name": "x", "of": "a", "quantity": "position.x"}]},
    "integrator": {"type": "nsga_decoupled", "step": 0.05, "duration": 1.2}})x";
  const auto run = [&](const std::string& results, const Words& more) {
    return run_carom(directory, joined({"run", "point.json", "-o", results}, more));
  };
  const auto slip = [&](const std::string& results, const char* key) {
    return read_json(directory / (results + "/summary.json"))["slip"][key].get<double>();
  };
  const auto x = [&](const std::string& results) {
    return read_csv(directory / (results + "/probes.csv")).rows.back()[1];
  };
  const std::string remark = "friction is not resolved; use a smaller step";

  // h^2 N/(2 m) = 5: the smooth motion, which knows no contact, carries the point far through the floor and turns the
  // spring
  const Outcome coarse = run("coarse", {});
  REQUIRE(coarse.code == 0);
  CHECK(contains(coarse.out + coarse.err, remark));
  CHECK(std::abs(x("coarse") - 0.005) > 0.001);
  CHECK(slip("coarse", "mismatch") > 0.5 * slip("coarse", "way"));
  REQUIRE(run("r", {"--until", "0.9"}).code == 0);
  REQUIRE(run("r", {"--until", "1.2", "--restart", "last"}).code == 0);
  CHECK(slip("r", "mismatch") == slip("coarse", "mismatch"));
  CHECK(slip("r", "way") == slip("coarse", "way"));

  const Outcome fine = run("fine", {"--set", "/integrator/step=2e-3"});
  REQUIRE(fine.code == 0);
  CHECK_FALSE(contains(fine.out + fine.err, remark));
  CHECK(x("fine") == doctest::Approx(0.005).epsilon(1e-5));
  CHECK(slip("fine", "mismatch") < 1e-4 * slip("fine", "way"));

  const std::string without = "without force corrections dampers feel the motion through obstacles";
  CHECK_FALSE(contains(fine.out + fine.err, without));
  const Outcome dsn = run("dsn", {"--set", "/integrator/force_corrections=false"});
  REQUIRE(dsn.code == 0);
  CHECK(contains(dsn.out + dsn.err, without));

  const Outcome other = run("other", {"--set", "/integrator/type=\"moreau_jean\""});
  REQUIRE(other.code == 0);
  CHECK_FALSE(contains(other.out + other.err, remark));
  CHECK(x("other") == doctest::Approx(0.005).epsilon(0.03));
}

// A collar that sticks to an arm, which turns by 0.006 rad in a step: friction holds it in the directions of the middle
// of the step, in which no velocity at an end of the step is zero along the arm.
TEST_CASE("run: a joint that creeps while it sticks is remarked") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81], "ground": [{"name": "o", "at": [0, 0, 0]}],
    "bodies": [{"name": "base", "type": "rigid", "mass": 3, "inertia": [1, 1, 1], "angular_velocity": [0, 0, 6]},
               {"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0, 0],
                "velocity": [0, 3, 0], "angular_velocity": [0, 0, 6]}],
    "joints": [{"name": "d", "type": "revolute", "of": ["ground.o", "base"], "axis": [0, 0, 1],
                "driver": {"angle": "6*t"}},
               {"name": "j", "type": "prismatic", "of": ["base", "b"], "axis": [1, 0, 0],
                "friction": {"coefficient": 3}}],
    "output": {"vtu": {"enabled": false}},
    "integrator": {"type": "moreau_jean", "step": 1e-3, "duration": 0.5}})");
  const auto remarked = [&](const char* setting) {
    const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r", "--set", setting});
    REQUIRE(outcome.code == 0);
    return contains(outcome.err, "note: joints slip by ");
  };
  CHECK(remarked("/integrator/type=\"moreau_jean\""));
  CHECK_FALSE(remarked("/integrator/type=\"nsga_decoupled\""));
}

TEST_CASE("run: the closing table fits 80 columns, and --verbose adds rows") {
  const TemporaryDirectory directory;
  for (const char* name : {"mixed", "whip", "pendulum_beam", "brick_sliding"}) {
    const Words words = {"run", model_path(name), "--until", "0.01", "--set", "/expect=[]"};
    const Outcome outcome = run_carom(directory, words), verbose = run_carom(directory, joined(words, {"-v"}));
    REQUIRE(outcome.code == 0);
    CHECK(contains(outcome.out, "  work of"));
    CHECK_FALSE(contains(outcome.out, "factorisations"));
    CHECK(contains(verbose.out, "  linear systems "));
    CHECK(contains(verbose.out, " factorisations, "));
    for (const std::string& text : {outcome.out, verbose.out}) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() < 80);
      }
    }
  }
}

namespace {

void check_threads(const std::vector<std::string>& names) {
  const TemporaryDirectory directory;
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::vector<std::string> arguments = {"run", model_path(name), "--until", "0.2", "-q", "-o"};
    std::vector<std::string> one = arguments, two = arguments;
    one.insert(one.end(), {name + "_1", "--threads", "1"});
    two.insert(two.end(), {name + "_2", "--threads", "2"});
    REQUIRE(run_carom(directory, one).code == 0);
    REQUIRE(run_carom(directory, two).code == 0);
    CHECK(read(directory / (name + "_1/probes.csv")) == read(directory / (name + "_2/probes.csv")));
  }
}

}  // namespace

// The largest matrices, which are assembled in parallel, and small ones.
TEST_CASE("run: two threads give the same bits as one") {
  check_threads({"cube", "mixed", "landing_plate", "whip", "bead_chain"});
}

TEST_CASE("run: two threads give the same bits as one in every model" * doctest::test_suite("long")) {
  check_threads(model_names());
}
