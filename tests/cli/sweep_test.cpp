// carom sweep as users call it: tables, failing points, kills, samples, scripts of jobs.

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A ball is thrown up; the force sqrt(until - t) has no value after `until`, so that a run beyond fails.
json ball() {
  return json::parse(R"json({
    "format": 1, "gravity": [0, 0, -10], "parameters": {"until": 100, "speed": 5},
    "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "position": [0, 0, 0], "velocity": [0, 0, "=speed"]}],
    "loads": [{"name": "side", "type": "force", "on": "ball", "value": ["0*sqrt(until - t)", 0, 0]}],
    "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 1},
    "output": {"probes": [{"name": "place", "of": "ball", "quantity": "position"},
                          {"name": "speed", "of": "ball", "quantity": "velocity.z"}]},
    "expect": [{"probe": "place.z", "value": 0, "tolerance": 1e-9}]})json");
}

/// Rows of a CSV file by the names of its head.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> out;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted)
        cells.emplace_back();
      else if (c != '"')
        cells.back() += c;
    }
    if (names.empty()) {
      names = cells;
      continue;
    }
    REQUIRE(cells.size() == names.size());
    out.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) out.back()[names[i]] = cells[i];
  }
  return out;
}

int shell(const TemporaryDirectory& directory, const std::string& command) {
  const int status = std::system(("cd '" + directory.path().string() + "' && " + command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("sweep: the table has the values of closed forms, and a row with the reason for points that fail") {
  const TemporaryDirectory directory;
  write(directory / "ball.json", ball().dump());
  const Outcome outcome = run_carom(directory, {"sweep", "ball.json", "--vary", "speed=2:8:3", "--vary",
                                                "until=100,0.3", "--vary", "/bodies/0/mass=2,-1", "--jobs", "3"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "12 points: 3 completed, 3 failed, 6 invalid; table in results/ball-sweep/table.csv\n");
  CHECK(
      contains(outcome.err, "point 2: invalid (3): --set /bodies/0/mass=-1: error at /bodies/0/mass: expected a mass"));
  const auto rows = rows_of(read(directory / "results/ball-sweep/table.csv"));
  REQUIRE(rows.size() == 12);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = rows[i];
    CAPTURE(i);
    CHECK(row["point"] == std::to_string(i + 1));
    const double v = std::stod(row["speed"]);
    CHECK(v == 2 + 3 * static_cast<double>(i / 4));
    const bool invalid = row["/bodies/0/mass [kg]"] == "-1", fails = row["until"] == "0.3";
    CHECK(row["status"] == (invalid ? "invalid" : fails ? "failed" : "completed"));
    CHECK(row["exit_code"] == (invalid ? "3" : fails ? "4" : "0"));
    CHECK(row["reason"].empty() == (!invalid && !fails));
    CHECK(row["place.z:max [m]"].empty() == (invalid || fails));
    if (invalid || fails) continue;
    // z = v t - 5 t^2 on steps of 0.01, whose largest is that at v/10
    CHECK(std::stod(row["place.z:max [m]"]) == doctest::Approx(v * v / 20).epsilon(1e-12));
    CHECK(std::stod(row["place.z:min [m]"]) == doctest::Approx(std::min(0.0, v - 5)).epsilon(1e-12));
    CHECK(std::stod(row["place.z:last [m]"]) == doctest::Approx(v - 5).epsilon(1e-12));
    CHECK(std::stod(row["speed:min [m/s]"]) == doctest::Approx(v - 10).epsilon(1e-12));
    CHECK(row["steps"] == "100");
    CHECK(row["end [s]"] == "1");
    CHECK(row["impacts"] == "0");
  }
  // a point is a run of its own, and no pictures are written
  CHECK(read_csv(directory / "results/ball-sweep/points/0001/probes.csv").rows.size() == 101);
  CHECK_FALSE(fs::exists(directory / "results/ball-sweep/points/0001/vtu"));
  const json run = read_json(directory / "results/ball-sweep/points/0005/run.json");
  CHECK(run["bodies"][0]["velocity"][2] == 5);
}

TEST_CASE("sweep: killed in the middle and started again it writes the same table, and solves no point twice") {
  const TemporaryDirectory directory;
  json model = ball();
  model["integrator"]["step"] = 1e-4;
  model["output"]["checkpoint"] = {{"every", 500}};
  write(directory / "ball.json", model.dump());
  const Words words = {"sweep",     "ball.json", "--random",    "24",     "--vary",
                       "speed=1:9", "--vary",    "until=0.1:4", "--jobs", "2"};
  REQUIRE(run_carom(directory, joined(words, {"-o", "whole", "-q"})).code == 0);
  const std::string whole = read(directory / "whole/table.csv");
  CHECK(contains(whole, ",completed,0,"));
  CHECK(contains(whole, ",failed,4,"));
  std::size_t before = 0;
  for (int kills = 0; kills < 3; ++kills) {
    Process process(directory, joined(words, {"-o", "killed", "-q"}));
    // until some more points are done
    for (std::size_t done = before; done < before + 4 && process.running();) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      done = 0;
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(directory / "killed/points", error))
        done += fs::exists(entry.path() / "point.json", error) ? 1 : 0;
    }
    process.send(SIGKILL);
    CHECK(process.wait().code == 128 + SIGKILL);
    CHECK_FALSE(fs::exists(directory / "killed/table.csv"));
    const std::size_t now =
        static_cast<std::size_t>(shell(directory, "n=$(ls killed/points/*/point.json | wc -l); exit $n"));
    CHECK(now > before);
    before = now;
  }
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::directory_iterator(directory / "killed/points"))
    if (fs::exists(entry.path() / "point.json"))
      times[entry.path().string()] = fs::last_write_time(entry.path() / "point.json");
  const Outcome resumed = run_carom(directory, joined(words, {"-o", "killed"}));
  CHECK(resumed.code == 0);
  CHECK(contains(resumed.err, "note: goes on: " + std::to_string(before) + " of 24 points are done\n"));
  for (const auto& [path, time] : times) CHECK(fs::last_write_time(fs::path(path) / "point.json") == time);
  CHECK(read(directory / "killed/table.csv") == whole);
  // a sweep that is done is not solved again
  CHECK(run_carom(directory, joined(words, {"-o", "killed"})).code == 0);
  CHECK(read(directory / "killed/table.csv") == whole);
}

TEST_CASE("sweep: SIGTERM lets the runs finish their steps, and no process stays behind") {
  const TemporaryDirectory directory;
  json model = ball();
  model["integrator"]["duration"] = 1e5;
  model["output"]["probes"] = json::array();
  model.erase("expect");
  model["parameters"]["until"] = 1e9;
  write(directory / "ball.json", model.dump());
  Process process(directory, {"sweep", "ball.json", "--vary", "speed=1:9:9", "--jobs", "2"});
  const fs::path point = directory / "results/ball-sweep/points/0002/status.json";
  while (process.running() && !fs::exists(point)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  process.send(SIGTERM);
  const Outcome outcome = process.wait();
  CHECK(outcome.code == 130);
  CHECK(contains(outcome.out, "9 points: 9 missing"));
  const json status = read_json(point);
  CHECK(status["status"] == "interrupted");
  CHECK(kill(status["pid"].get<pid_t>(), 0) != 0);
  CHECK(fs::exists(directory / "results/ball-sweep/points/0002/checkpoint"));
}

TEST_CASE("sweep: jobs of Slurm and of GNU parallel solve all points, and the same command then writes the table") {
  const TemporaryDirectory directory;
  write(directory / "my ball's.json", ball().dump());
  const Words words = {"sweep", "my ball's.json",          "--latin",  "9",          "--vary", "speed=1:9",
                       "--set", "/title=it's, \"quoted\"", "--result", "place.z:max"};
  REQUIRE(run_carom(directory, joined(words, {"-q", "-o", "direct"})).code == 0);
  const std::string table = read(directory / "direct/table.csv");
  CHECK(table.starts_with("point,speed,status,exit_code,place.z:max [m],reason\n"));

  REQUIRE(run_carom(directory, joined(words, {"-q", "-o", "array", "--script", "slurm"})).code == 0);
  CHECK(shell(directory, "for i in $(seq 9); do SLURM_ARRAY_TASK_ID=$i bash array/sweep.slurm || exit 1; done") == 0);
  CHECK_FALSE(fs::exists(directory / "array/table.csv"));
  CHECK(contains(run_carom(directory, joined(words, {"-o", "array"})).err, "note: goes on: 9 of 9 points are done\n"));
  CHECK(read(directory / "array/table.csv") == table);

  // what GNU parallel does with the function of the script
  REQUIRE(run_carom(directory, joined(words, {"-q", "-o", "side", "--script", "parallel"})).code == 0);
  fs::create_directory(directory / "bin");
  write(directory / "bin/parallel", "#!/bin/bash\nwhile read -r i; do bash -c \"solve $i\" || exit 1; done\n");
  CHECK(shell(directory, "chmod +x bin/parallel && PATH=$PWD/bin:$PATH bash side/sweep.sh") == 0);
  CHECK(contains(run_carom(directory, joined(words, {"-o", "side"})).err, "note: goes on: 9 of 9 points are done\n"));
  CHECK(read(directory / "side/table.csv") == table);
}

TEST_CASE("sweep: files that are not kept are not needed for the table, unless it has other results") {
  const TemporaryDirectory directory;
  write(directory / "ball.json", ball().dump());
  const Words words = {"sweep", "ball.json", "--vary", "until=100,0.5", "-q"};
  REQUIRE(run_carom(directory, joined(words, {"--keep", "failed", "--result", "speed:min"})).code == 0);
  CHECK_FALSE(fs::exists(directory / "results/ball-sweep/points/0001/probes.csv"));
  CHECK(fs::exists(directory / "results/ball-sweep/points/0002/postmortem/report.txt"));
  const std::string table = read(directory / "results/ball-sweep/table.csv");
  REQUIRE(run_carom(directory, joined(words, {"--result", "speed:min", "--table", "again.csv"})).code == 0);
  CHECK(read(directory / "again.csv") == table);
  CHECK_FALSE(fs::exists(directory / "results/ball-sweep/points/0001/probes.csv"));
  // another result: the point without files is solved again
  REQUIRE(run_carom(directory, joined(words, {"--result", "energy.potential:max"})).code == 0);
  const auto rows = rows_of(read(directory / "results/ball-sweep/table.csv"));
  REQUIRE(rows.size() == 2);
  CHECK(std::stod(rows[0].at("energy.potential:max [J]")) == doctest::Approx(12.5).epsilon(1e-12));
}

TEST_CASE("sweep: a directory with another sweep is refused, unless it is to begin anew") {
  const TemporaryDirectory directory;
  write(directory / "ball.json", ball().dump());
  REQUIRE(run_carom(directory, {"sweep", "ball.json", "--vary", "speed=1,2", "-q"}).code == 0);
  const Outcome other = run_carom(directory, {"sweep", "ball.json", "--vary", "speed=1,3", "-q"});
  CHECK(other.code == 2);
  CHECK(
      other.err ==
      "carom sweep: results/ball-sweep holds a sweep that differs in the keys and values: expected another directory, "
      "with -o, or --anew, which deletes its points\nSee: carom sweep --help\n");
  json changed = ball();
  changed["gravity"] = {0, 0, -20};
  write(directory / "ball.json", changed.dump());
  CHECK(contains(run_carom(directory, {"sweep", "ball.json", "--vary", "speed=1,2", "-q"}).err,
                 "differs in the content of the model file: "));
  REQUIRE(run_carom(directory, {"sweep", "ball.json", "--vary", "speed=1,2", "-q", "--anew"}).code == 0);
  const auto rows = rows_of(read(directory / "results/ball-sweep/table.csv"));
  CHECK(std::stod(rows[1].at("place.z:last [m]")) == doctest::Approx(-8).epsilon(1e-12));
}

TEST_CASE("sweep: all points fail: exit code 4; impossible keys: exit code 3 before the first run") {
  const TemporaryDirectory directory;
  write(directory / "ball.json", ball().dump());
  CHECK(run_carom(directory, {"sweep", "ball.json", "--vary", "until=0.1,0.2", "-q"}).code == 4);
  const Outcome wrong = run_carom(directory, {"sweep", "ball.json", "--vary", "/bodies/0/mas=1,2", "-o", "wrong"});
  CHECK(wrong.code == 3);
  CHECK(contains(wrong.err, "error at /bodies/0/mas"));
  CHECK_FALSE(fs::exists(directory / "wrong"));
}
