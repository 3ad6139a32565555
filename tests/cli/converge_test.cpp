// carom converge as users call it: orders, files, exit codes.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A mass on a spring: x = 1 + 0.1 cos(10 t) is smooth and known.
constexpr const char* oscillator = R"({
  "format": 1, "parameters": {"rho": 0.9},
  "bodies": [{"name": "mass", "type": "point_mass", "mass": 1, "position": [1.1, 0, 0], "fixed": ["y", "z"]}],
  "ground": [{"name": "origin", "at": [0, 0, 0]}],
  "springs": [{"name": "spring", "of": ["ground.origin", "mass"], "stiffness": 100, "natural_length": 1}],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1, "rho_infinity": "=rho"},
  "output": {"probes": [{"name": "x", "of": "mass", "quantity": "position"},
                        {"name": "v", "of": "mass", "quantity": "velocity.x"},
                        {"name": "still", "of": "mass", "quantity": "position.y"}]}
}
)";

const json& probe(const json& study, const std::string& name) {
  for (const json& p : study["probes"])
    if (p["name"] == name) return p;
  throw std::runtime_error("no probe " + name);
}

}  // namespace

TEST_CASE("converge: the order of the method on a smooth motion is two, in every norm, against an exact table") {
  const TemporaryDirectory directory;
  write(directory / "model.json", oscillator);
  std::string exact = "t,x.x,x.y,x.z,v\n";
  for (int i = 0; i <= 1000; ++i) {
    const double t = 1e-3 * i;
    char row[120];
    std::snprintf(row, sizeof row, "%.17g,%.17g,0,0,%.17g\n", t, 1 + 0.1 * std::cos(10 * t), -std::sin(10 * t));
    exact += row;
  }
  write(directory / "exact.csv", exact);
  const Outcome outcome = run_carom(directory, {"converge", "model.json", "--steps", "1e-2,5e-3,2e-3", "--reference",
                                                "exact.csv", "--probe", "x", "--probe", "v", "--expect", "x=2+-0.02"});
  CHECK(outcome.code == 0);
  const json study = read_json(directory / "results/model-converge/convergence.json");
  CHECK(study["status"] == "completed");
  CHECK(study["reference"] == "the file exact.csv");
  REQUIRE(study["probes"].size() == 2);
  for (const json& p : study["probes"]) {
    for (const char* norm : {"mean", "max", "end"}) CHECK(p["fitted_order"][norm] == doctest::Approx(2).epsilon(0.03));
    for (const json& e : p["errors"]) CHECK(e["interpolated_steps"] == 0);
  }
  // a table with units is one for the same probes, unless a unit is another one
  const Words study_of = {"converge", "model.json", "--steps", "1e-2,5e-3", "--probe",
                          "x",        "-q",         "-o",      "units",     "--reference"};
  const std::string rows = exact.substr(exact.find('\n'));
  write(directory / "metres.csv", "t [s],x.x [m],x.y [m],x.z,v" + rows);
  CHECK(run_carom(directory, joined(study_of, {"metres.csv"})).code == 0);
  write(directory / "millimetres.csv", "t [s],x.x [m],x.y [mm],x.z,v" + rows);
  const Outcome other = run_carom(directory, joined(study_of, {"millimetres.csv"}));
  CHECK(other.code == 2);
  CHECK(other.err.find("--reference: millimetres.csv has \"x.y\" in mm, the model in m") != std::string::npos);
  CHECK(run_carom(directory, joined(study_of, {"millimetres.csv", "--set", "/output/units=none"})).code == 0);
  // [DS20] eq. 52 computed from the results of the run
  run_carom(directory, {"run", "model.json", "-q", "-o", "one", "--set", "/integrator/step=5e-3"});
  const Table table = read_csv(directory / "one/probes.csv");
  double difference = 0, size = 0;
  for (const auto& row : table.rows) {
    const double x = 1 + 0.1 * std::cos(10 * row[0]);
    difference += std::abs(row[1] - x);
    size += std::abs(x);
  }
  CHECK(probe(study, "x")["errors"][1]["mean"].get<double>() == doctest::Approx(difference / size).epsilon(1e-9));
}

TEST_CASE("converge: steps may come in any order, and the reference is a run with a quarter of the smallest") {
  const TemporaryDirectory directory;
  write(directory / "model.json", oscillator);
  const Outcome outcome =
      run_carom(directory, {"converge", "model.json", "--steps", "2.5e-3,1e-2,5e-3", "-o", "study"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("errors against the run with step 0.000625") != std::string::npos);
  CHECK(outcome.out.find("absolute: the reference is zero") != std::string::npos);  // position.y
  CHECK(outcome.err.find("[4/4] step 0.000625: 1600 steps") != std::string::npos);
  const json study = read_json(directory / "study/convergence.json");
  REQUIRE(study["runs"].size() == 3);
  CHECK(study["runs"][0]["value"] == 1e-2);
  CHECK(study["runs"][2]["value"] == 2.5e-3);
  CHECK(study["runs"][1]["steps"] == 200);
  CHECK(study["runs"][1]["iterations"]["smooth"]["max"] == 1);
  // e(h) - e(h/16) over e(h/4) - e(h/16) for order two: log4(16.33) = 2.015
  const json& x = probe(study, "x");
  CHECK(x["fitted_order"]["mean"].get<double>() == doctest::Approx(2.02).epsilon(0.02));
  CHECK(probe(study, "still")["errors"][0]["mean"] == 0);
  CHECK(probe(study, "still")["fitted_order"]["mean"].is_null());

  const std::string csv = read(directory / "study/convergence.csv");
  CHECK(csv.starts_with("step [s],x.mean_error,x.mean_order,x.max_error,x.max_order,x.end_error [m],"));
  CHECK(csv.find(",smooth.iterations_mean,smooth.iterations_max,") != std::string::npos);
  CHECK(csv.find(",still.mean_error [") != std::string::npos);  // absolute, since the reference is zero
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(csv.find("\n0.01,") != std::string::npos);
  CHECK(csv.ends_with(",completed\n"));
  const std::string svg = read(directory / "study/convergence.svg");
  CHECK(svg.find("<svg ") != std::string::npos);
  CHECK(svg.find("order 2") != std::string::npos);
  CHECK(fs::exists(directory / "study/convergence.svg.gp"));
  const std::string data = read(directory / "study/convergence.svg.dat");
  CHECK(data.find("\n0.01 " + csv.substr(csv.find("\n0.01,") + 6, 6)) != std::string::npos);
}

TEST_CASE("converge: a reference that is not beyond the values is refused") {
  const TemporaryDirectory directory;
  for (const char* reference : {"1e-2", "5e-4"}) {
    CAPTURE(reference);
    const Outcome outcome = run_carom(directory, {"converge", model_path("bouncing_ball"), "--steps", "1e-3,5e-4",
                                                  "--reference", reference, "-q", "-o", "study"});
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("--reference: expected a value beyond 5e-4, the last one of step, got ") !=
          std::string::npos);
  }
  write(directory / "ms.csv", "t [ms],z [m]\n0,1\n1000,1\n");
  const Outcome outcome = run_carom(directory, {"converge", model_path("bouncing_ball"), "--steps", "1e-3,5e-4",
                                                "--reference", "ms.csv", "-q", "-o", "study"});
  CHECK(outcome.code != 0);
  CHECK(outcome.err.find("ms.csv:1: expected the time t in s, got \"ms\"") != std::string::npos);
}

TEST_CASE("converge: a reference between whose rows the steps fall is interpolated, and that is said") {
  const TemporaryDirectory directory;
  write(directory / "model.json", oscillator);
  const Outcome outcome = run_carom(directory, {"converge", "model.json", "--steps", "1e-2,5e-3", "--reference", "7e-4",
                                                "--probe", "x", "-o", "study"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("x   (reference interpolated)") != std::string::npos);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(probe(study, "x")["errors"][0]["interpolated_steps"].get<int>() > 50);
  CHECK(probe(study, "x")["fitted_order"]["mean"].get<double>() == doctest::Approx(2).epsilon(0.03));
}

TEST_CASE("converge: numbers of elements converge with the order in their inverse") {
  const TemporaryDirectory directory;
  write(directory / "model.json", R"({
    "format": 1, "gravity": [0, 0, -9.81], "parameters": {"n": 4},
    "materials": [{"name": "m", "type": "linear_elastic", "young": 1e5, "density": 1000}],
    "sections": [{"name": "s", "type": "area", "area": 0.01}],
    "bodies": [{"name": "cable", "type": "bar", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [10, 0, 0], "elements": "=n", "fixed": ["start", "end"]}],
    "integrator": {"type": "static"},
    "output": {"probes": [{"name": "energy", "quantity": "energy.elastic"}]}})");
  const Outcome outcome = run_carom(directory, {"converge", "model.json", "--parameter", "n=4,8,16,32", "--reference",
                                                "512", "--expect", "energy=2+-0.1", "-o", "study"});
  CHECK(outcome.code == 0);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(study["varied"] == "/parameters/n");
  CHECK(study["runs"][0]["iterations"].contains("equilibrium"));
  // the same study by pointer, with the last value as reference
  const Outcome other =
      run_carom(directory, {"converge", "model.json", "--vary", "/bodies/0/elements=4,8,16,512", "-o", "other", "-q",
                            "--set", "/bodies/0/elements=1", "--set", "/parameters={}"});
  CHECK(other.code == 0);
  CHECK(other.out.empty());
  CHECK(other.err.empty());
  const json again = read_json(directory / "other/convergence.json");
  REQUIRE(again["runs"].size() == 3);
  CHECK(again["probes"][0]["errors"][2]["mean"] == study["probes"][0]["errors"][2]["mean"]);
}

TEST_CASE("converge: the heavy top has order two in place and angular velocity") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"converge", model_path("heavy_top"), "--steps", "1e-3,5e-4,2.5e-4", "--reference", "5e-5",
                            "--set", "/integrator/duration=0.1", "--expect", "x=2+-0.1", "--expect", "omega=2+-0.1"});
  CHECK(outcome.code == 0);
}

TEST_CASE("converge: the elastic bar has about order one in its place, and an order that is not met ends with 6") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"converge", model_path("elastic_bar"), "--steps", "4e-3,2e-3,1e-3", "--reference", "1e-4",
                            "--probe", "x_inner", "--set", "/integrator/duration=1.5", "--expect", "x_inner=3+-0.5"});
  CHECK(outcome.code == 6);
  CHECK(outcome.err.find("carom converge: expected the order 3 within 0.5 for x_inner, found ") != std::string::npos);
  const json study = read_json(directory / "results/elastic_bar-converge/convergence.json");
  const double order = study["probes"][0]["fitted_order"]["mean"];
  CHECK(order > 0.8);
  CHECK(order < 2.2);
}

TEST_CASE("converge: a run that does not converge leaves the rest of the study, with 4") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"converge", model_path("heavy_top"), "--steps", "0.2,1e-3,5e-4", "--set",
                            "/integrator/duration=0.2", "--set", "/integrator/max_subdivisions=0", "--set",
                            "/integrator/newton/max_iterations=4", "-o", "study"});
  CHECK(outcome.code == 4);
  CHECK(outcome.err.find("[1/4] step 0.2: FAILED: no convergence at t = 0") != std::string::npos);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(study["status"] == "failed");
  CHECK(study["runs"][0]["status"] == "failed");
  REQUIRE(study["probes"][0]["errors"].size() == 2);
  CHECK(study["probes"][0]["errors"][1]["order"]["mean"].get<double>() == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("converge: an interrupted study keeps the runs that are done, with 130") {
  const TemporaryDirectory directory;
  write(directory / "model.json", oscillator);
  Process process(directory, {"converge", "model.json", "--steps", "1e-2,5e-3,1e-8", "-o", "study"});
  // the last run would take minutes
  const auto done = [&] {
    return fs::exists(directory / ".stderr") && read(directory / ".stderr").find("[2/4]") != std::string::npos;
  };
  while (process.running() && !done()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  CHECK(outcome.code == 130);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(study["status"] == "interrupted");
  CHECK(study["runs"].size() == 2);
  CHECK(study["reference"].is_null());
}
