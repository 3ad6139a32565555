// carom compare and carom cite as users call them: figures, files, exit codes.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A mass at the end of a rigid bar: |x| = 1 is the only constraint.
constexpr const char* pendulum = R"({
  "format": 1, "gravity": [0, 0, -9.81], "parameters": {"rho": 0.9},
  "bodies": [{"name": "bob", "type": "point_mass", "mass": 2, "position": [1, 0, 0], "fixed": ["y"]}],
  "ground": [{"name": "pivot", "at": [0, 0, 0]}],
  "joints": [{"name": "bar", "type": "distance", "of": ["ground.pivot", "bob"]}],
  "scales": {"length": 2, "speed": 4},
  "integrator": {"type": "nsga_decoupled", "step": 4e-3, "duration": 0.4, "rho_infinity": "=rho"},
  "output": {"probes": [{"name": "x", "of": "bob", "quantity": "position"},
                        {"name": "v", "of": "bob", "quantity": "velocity"},
                        {"name": "a", "of": "bob", "quantity": "acceleration"},
                        {"name": "energy", "quantity": "energy.total"}]}
}
)";

const json& method(const json& comparison, const std::string& label) {
  for (const json& m : comparison["methods"])
    if (m["label"] == label) return m;
  throw std::runtime_error("no method " + label);
}

/// The longest line of a text.
std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) width = std::max(width, line.size());
  return width;
}

}  // namespace

TEST_CASE("compare: errors and orders of three methods are those that converge finds for each of them") {
  struct Case {
    std::string model, duration, steps, window;
  };
  for (const Case& c : {Case{"brick", "0.6", "4e-3,2e-3", "0.1,0.5"}, Case{"elastic_bar", "0.8", "8e-3,4e-3", ""}}) {
    CAPTURE(c.model);
    const TemporaryDirectory directory;
    const std::string duration = "/integrator/duration=" + c.duration;
    run_carom(directory,
              {"run", model_path(c.model), "-q", "-o", "fine", "--set", duration, "--set", "/integrator/step=5e-4"});
    Words shared = {"--steps", c.steps, "--reference", "fine/probes.csv", "--set", duration};
    if (!c.window.empty()) shared = joined(shared, {"--window", c.window});
    const Outcome outcome =
        run_carom(directory, joined({"compare", model_path(c.model), "-o", "compared", "--integrators",
                                     "DS=nsga_decoupled,DSn=nsga_decoupled:force_corrections=false,MJ=moreau_jean"},
                                    shared));
    CHECK(outcome.code == 0);
    const json comparison = read_json(directory / "compared/comparison.json");
    CHECK(comparison["status"] == "completed");
    // the integrator of the model itself, changed as the list says
    const json own = method(comparison, "DS")["integrator"];
    json moreau = {{"type", "moreau_jean"}, {"step", 1e-3}, {"duration", std::stod(c.duration)}};
    if (own.contains("start_time")) moreau["start_time"] = own["start_time"];
    for (const auto& run : {std::pair<std::string, std::string>{"DS", "/integrator/force_corrections=true"},
                            {"DSn", "/integrator/force_corrections=false"},
                            {"MJ", "/integrator=" + moreau.dump()}}) {
      const std::string& label = run.first;
      CAPTURE(label);
      const Words words = joined({"converge", model_path(c.model), "-q", "-o", label}, shared);
      REQUIRE(run_carom(directory, joined(words, {"--set", run.second})).code == 0);
      const json study = read_json(directory / label / "convergence.json");
      const json& compared = method(comparison, label);
      REQUIRE(compared["runs"].size() == 2);
      for (const json& probe : study["probes"])
        for (std::size_t i = 0; i < 2; ++i) {
          const json& mine = compared["runs"][i]["errors"][probe["name"].get<std::string>()];
          for (const char* norm : {"mean", "max", "end", "order", "interpolated_steps"})
            CHECK(mine[norm] == probe["errors"][i][norm]);
          CHECK(compared["fitted_orders"][probe["name"].get<std::string>()] == probe["fitted_order"]);
        }
      for (std::size_t i = 0; i < 2; ++i) CHECK(compared["runs"][i]["iterations"] == study["runs"][i]["iterations"]);
    }
  }
}

TEST_CASE("compare: work, residuals and energies are those of the run alone, the acceleration level by hand") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const Outcome outcome =
      run_carom(directory, {"compare", "model.json", "--integrators", "nsga_decoupled,moreau_jean:theta=0.6"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("[3/3] reference nsga_decoupled, step 0.001: 400 steps") != std::string::npos);
  const json comparison = read_json(directory / "results/model-compare/comparison.json");
  CHECK(comparison["reference"] == "nsga_decoupled, step 0.001");
  const json& ds = method(comparison, "nsga_decoupled")["runs"][0];
  const json& mj = method(comparison, "moreau_jean:theta=0.6")["runs"][0];
  // shared keys come from the model, others from the list
  CHECK(method(comparison, "nsga_decoupled")["integrator"]["rho_infinity"] == 0.9);
  CHECK(method(comparison, "moreau_jean:theta=0.6")["integrator"]["theta"] == 0.6);
  CHECK(!method(comparison, "moreau_jean:theta=0.6")["integrator"].contains("rho_infinity"));

  run_carom(directory, {"run", "model.json", "-q", "-o", "alone"});
  const json summary = read_json(directory / "alone/summary.json");
  CHECK(ds["residuals"]["position"] == summary["residuals"]["position"]);
  CHECK(ds["residuals"]["velocity"] == summary["residuals"]["velocity"]);
  CHECK(ds["linear"]["factorisations"] == summary["linear"]["factorisations"]);
  CHECK(ds["linear"]["solves"] == summary["linear"]["solves"]);
  CHECK(ds["iterations"] == summary["iterations"]);
  CHECK(ds["energy"]["final"].get<double>() ==
        doctest::Approx(summary["energy"]["final"].get<double>()).epsilon(1e-12));

  // g = |x| - 1, g'' = (x . a + v . v - (x . v/|x|)^2)/|x|, over speed^2/length = 8
  const Table table = read_csv(directory / "alone/probes.csv");
  double largest = 0, kinetic = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& r = table.rows[i];
    const double length = std::hypot(r[1], r[2], r[3]);
    const auto dot = [&](std::size_t a, std::size_t b) {
      return r[a] * r[b] + r[a + 1] * r[b + 1] + r[a + 2] * r[b + 2];
    };
    if (i > 0) largest = std::max(largest, std::abs(dot(1, 7) + dot(4, 4) - std::pow(dot(1, 4) / length, 2)) / length);
    kinetic = std::max(kinetic, dot(4, 4));  // half the mass is 1
  }
  REQUIRE(largest > 1e-6);
  CHECK(ds["residuals"]["acceleration"].get<double>() == doctest::Approx(largest / 8).epsilon(1e-6));
  // Moreau-Jean knows no acceleration, and drifts: |x| - 1 at the end, over the length 2
  CHECK(mj["residuals"]["acceleration"].is_null());
  CHECK(ds["drift"].get<double>() < 1e-12);
  run_carom(directory, {"run", "model.json", "-q", "-o", "mj", "--set",
                        R"(/integrator={"type":"moreau_jean","theta":0.6,"step":4e-3,"duration":0.4})"});
  const Table drifting = read_csv(directory / "mj/probes.csv");
  const auto& end = drifting.rows.back();
  CHECK(mj["drift"].get<double>() ==
        doctest::Approx(std::abs(std::hypot(end[1], end[2], end[3]) - 1) / 2).epsilon(1e-9));
  // at the start the bob is at rest at height 0: kinetic energy and the loss of height are the same but for the error
  const double initial = table.rows.front().back(), change = table.rows.back().back() - initial;
  CHECK(ds["energy"]["change"].get<double>() == doctest::Approx(change / (2 * kinetic)).epsilon(0.01));
}

TEST_CASE("compare: with several steps a study of a smooth motion shows order two beside order one, and expects them") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const Words words = {"compare",       "model.json",
                       "--integrators", "DS=nsga_decoupled,MJ=moreau_jean:theta=0.6",
                       "--steps",       "2e-3,8e-3,4e-3",
                       "--reference",   "DS:step=2e-4",
                       "--probe",       "x"};
  const Outcome outcome = run_carom(directory, joined(words, {"--expect", "x@DS=2+-0.1", "--expect", "x@MJ=1+-0.1"}));
  CHECK(outcome.code == 0);
  CHECK(width_of(outcome.out) <= 100);
  const fs::path results = directory / "results/model-compare";
  const json comparison = read_json(results / "comparison.json");
  CHECK(comparison["reference"] == "DS, step 0.0002");
  CHECK(method(comparison, "DS")["runs"][0]["step"] == 8e-3);
  CHECK(method(comparison, "DS")["runs"][2]["step"] == 2e-3);
  const Outcome missed = run_carom(directory, joined(words, {"-q", "--expect", "x@MJ=2+-0.1"}));
  CHECK(missed.code == 6);
  CHECK(missed.out.empty());
  CHECK(missed.err.starts_with("carom compare: expected the order 2 within 0.1 for x@MJ, found 1.0"));

  const std::string csv = read(results / "comparison.csv");
  CHECK(csv.starts_with("method,type,step [s],x.mean_error,x.mean_order,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  std::istringstream lines(csv);
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);)
    CHECK(std::count(line.begin(), line.end(), ',') == std::count(csv.begin(), csv.begin() + csv.find('\n'), ','));
  const std::string markdown = read(results / "comparison.md");
  CHECK(markdown.find("| DS | 8e-3 | ") != std::string::npos);
  const std::string latex = read(results / "comparison.tex");
  CHECK(latex.find("DS & $8 \\cdot 10^{-3}$ & ") != std::string::npos);
  CHECK(std::count(latex.begin(), latex.end(), '{') == std::count(latex.begin(), latex.end(), '}'));
  for (const char* picture : {"errors.svg", "work.svg", "probes.svg"}) {
    const std::string svg = read(results / picture);
    CHECK(svg.find("<svg ") != std::string::npos);
    CHECK(svg.find("</svg>") != std::string::npos);
    CHECK(fs::exists(results / (std::string(picture) + ".gp")));
    CHECK(fs::exists(results / (std::string(picture) + ".dat")));
  }
  const std::string probes = read(results / "probes.svg");
  for (const char* name : {"reference<", "DS, step 2e-3<", "MJ, step 2e-3<", "x.z [m]<"})
    CHECK(probes.find(name) != std::string::npos);
  CHECK(read(results / "errors.svg").find("DS, order 2.0") != std::string::npos);
}

TEST_CASE("compare: methods may have steps of their own; the reference has a quarter of the smallest") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const Outcome outcome = run_carom(directory, {"compare", "model.json", "-o", "study", "--integrators",
                                                "nsga_decoupled,moreau_jean:step=1e-3:tolerance=1e-9"});
  CHECK(outcome.code == 0);
  const json comparison = read_json(directory / "study/comparison.json");
  CHECK(comparison["reference"] == "nsga_decoupled, step 0.00025");
  CHECK(method(comparison, "nsga_decoupled")["runs"][0]["step"] == 4e-3);
  const json& mj = method(comparison, "moreau_jean:step=1e-3:tolerance=1e-9");
  CHECK(mj["runs"][0]["steps"] == 400);
  CHECK(mj["integrator"]["newton"]["tolerance"] == 1e-9);
}

TEST_CASE("compare: a method that fails is a row with its reason; if all fail the study ends with 4") {
  const TemporaryDirectory directory;
  const Words words = {
      "compare",      model_path("heavy_top"),          "-o",      "study", "--set",       "/integrator/duration=0.4",
      "--set",        "/integrator/max_subdivisions=0", "--steps", "0.05",  "--reference", "1e-3",
      "--integrators"};
  const Outcome outcome = run_carom(directory, joined(words, {"DS=nsga_decoupled:max_iterations=3,MJ=moreau_jean"}));
  CHECK(outcome.code == 0);
  // a method that fails with large steps may be the reference with small ones
  CHECK(read_json(directory / "study/comparison.json")["reference"] == "DS, step 1e-3");
  CHECK(outcome.err.find("DS, step 0.05: FAILED: no convergence at t = 0") != std::string::npos);
  const Outcome other =
      run_carom(directory, joined(words, {"MJ=moreau_jean:max_iterations=100,DS=nsga_decoupled:max_iterations=3"}));
  CHECK(other.code == 0);
  const json comparison = read_json(directory / "study/comparison.json");
  CHECK(method(comparison, "DS")["runs"][0]["status"] == "failed");
  CHECK(method(comparison, "DS")["runs"][0]["errors"].empty());
  CHECK(method(comparison, "MJ")["runs"][0]["errors"].size() > 2);
  CHECK(other.out.find("\nDS, step 0.05: no convergence at t = 0") != std::string::npos);
  CHECK(read(directory / "study/comparison.md").find("- DS, step 0.05: no convergence") != std::string::npos);
  const Outcome none = run_carom(directory, joined(words, {"DS=nsga_decoupled:max_iterations=3"}));
  CHECK(none.code == 4);
  CHECK(none.err.find("carom compare: no method solved the model\n") != std::string::npos);
  CHECK(read_json(directory / "study/comparison.json")["status"] == "failed");
}

TEST_CASE("compare: a method that does not take the model is a row with the reason, and the others are tried") {
  // event_driven knows no friction
  const TemporaryDirectory directory;
  write(directory / "model.json", R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "p", "type": "point_mass", "mass": 1, "velocity": [1, 0, 0]}],
    "contacts": [{"name": "floor", "on": "p", "friction": 0.3, "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "moreau_jean", "step": 1e-3, "duration": 0.1},
    "output": {"probes": [{"name": "x", "of": "p", "quantity": "position"}]}})");
  const Outcome outcome =
      run_carom(directory, {"compare", "model.json", "-o", "study", "--integrators", "event_driven,moreau_jean"});
  CHECK(outcome.code == 0);
  const std::string reason = "expected 0, because \"event_driven\" takes contacts without friction only";
  CHECK(outcome.err.find("[1/3] event_driven: REFUSED: " + reason) != std::string::npos);
  CHECK(outcome.err.find("[2/3] moreau_jean, step 0.001: 100 steps") != std::string::npos);
  CHECK(outcome.out.find("\nevent_driven: refused: " + reason) != std::string::npos);
  const json refused = method(read_json(directory / "study/comparison.json"), "event_driven");
  CHECK(refused["refused"].get<std::string>().starts_with(reason));
  CHECK(refused["runs"].empty());
  const std::string csv = read(directory / "study/comparison.csv"), head = csv.substr(0, csv.find('\n'));
  const std::string row = csv.substr(head.size() + 1, csv.find(",refused,") - head.size() - 1);
  CHECK(row.starts_with("event_driven,event_driven,,"));
  // all columns before the status are empty
  const std::string before = head.substr(0, head.find(",status"));
  CHECK(std::count(row.begin(), row.end(), ',') == std::count(before.begin(), before.end(), ','));
}

TEST_CASE("compare: an interrupted study keeps the methods that are done, with 130; a busy directory ends with 5") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  Process process(directory, {"compare", "model.json", "-o", "study", "--integrators",
                              "fast=moreau_jean,slow=moreau_jean:step=1e-8"});
  // the second method would take minutes
  const auto done = [&] {
    return fs::exists(directory / ".stderr") && read(directory / ".stderr").find("[1/3]") != std::string::npos;
  };
  while (process.running() && !done()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.send(SIGINT);
  CHECK(process.wait().code == 130);
  const json comparison = read_json(directory / "study/comparison.json");
  CHECK(comparison["status"] == "interrupted");
  CHECK(comparison["reference"].is_null());
  CHECK(method(comparison, "fast")["runs"].size() == 1);
  CHECK(method(comparison, "slow")["runs"].empty());

  write(directory / "file", "");
  const Outcome outcome = run_carom(directory, {"compare", "model.json", "--integrators", "moreau_jean", "-o", "file"});
  CHECK(outcome.code == 5);
  CHECK(outcome.err.starts_with("carom: cannot create file: "));
}

TEST_CASE("compare: the results never replace the model or the reference") {
  const TemporaryDirectory directory;
  write(directory / "comparison.json", pendulum);
  const Outcome outcome =
      run_carom(directory, {"compare", "comparison.json", "--integrators", "moreau_jean", "-o", "."});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("would overwrite comparison.json: expected another directory, with -o") != std::string::npos);
  CHECK(read(directory / "comparison.json") == pendulum);
}

TEST_CASE("converge: words and booleans vary too, against a run with another key; there are errors and no orders") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const Outcome outcome =
      run_carom(directory, {"converge", "model.json", "--vary", "initial_acceleration=consistent,shifted",
                            "--reference", "step=2e-4", "--probe", "x", "-o", "study"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("errors against the run with step 2e-4") != std::string::npos);
  CHECK(outcome.out.find("fitted") == std::string::npos);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(study["varied"] == "/integrator/initial_acceleration");
  REQUIRE(study["runs"].size() == 2);
  CHECK(study["runs"][0]["value"] == "consistent");
  // the same as with the method's label in a comparison
  run_carom(directory, {"compare", "model.json", "--probe", "x", "-o", "compared", "--reference", "2e-4",
                        "--integrators", "a=nsga_decoupled,b=nsga_decoupled:initial_acceleration=shifted"});
  const json comparison = read_json(directory / "compared/comparison.json");
  const json& errors = study["probes"][0]["errors"];
  CHECK(errors[0]["mean"] == method(comparison, "a")["runs"][0]["errors"]["x"]["mean"]);
  CHECK(errors[1]["mean"] == method(comparison, "b")["runs"][0]["errors"]["x"]["mean"]);
  CHECK(errors[1]["mean"] != errors[0]["mean"]);
  CHECK(errors[1]["order"]["mean"].is_null());
  CHECK(read(directory / "study/convergence.csv").find("\nconsistent,") != std::string::npos);
  CHECK(read(directory / "study/convergence.svg").find("shifted") != std::string::npos);
  // the last word is the reference
  run_carom(directory, {"converge", "model.json", "--vary", "force_corrections=true,false", "-o", "study", "-q"});
  CHECK(read_json(directory / "study/convergence.json")["runs"].size() == 1);
  // a key below another one, by its bare name
  run_carom(directory, {"converge", "model.json", "--vary", "tolerance=1e-6,1e-8,1e-12", "-o", "study", "-q"});
  CHECK(read_json(directory / "study/convergence.json")["varied"] == "/integrator/newton/tolerance");
}

TEST_CASE("compare: --vary repeats the methods that have the key, with words, booleans and values of other sections") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const auto compare = [&](const Words& more, const std::string& reference = "2e-4") {
    const Outcome outcome = run_carom(directory, joined({"compare", "model.json", "-o", "study", "-q", "--probe", "x",
                                                         "--steps", "4e-3,2e-3", "--reference", reference},
                                                        more));
    CHECK(outcome.code == 0);
    return read_json(directory / "study/comparison.json");
  };
  const json words =
      compare({"--integrators", "a=nsga_decoupled,moreau_jean", "--vary", "initial_acceleration=consistent,shifted"});
  REQUIRE(words["methods"].size() == 3);  // Moreau-Jean's method has no such key
  const json plain = compare({"--integrators", "a=nsga_decoupled,b=nsga_decoupled:initial_acceleration=shifted"});
  const auto error = [](const json& comparison, const std::string& label) {
    return method(comparison, label)["runs"][1]["errors"]["x"]["mean"];
  };
  CHECK(error(words, "a:initial_acceleration=consistent") == error(plain, "a"));
  CHECK(error(words, "a:initial_acceleration=shifted") == error(plain, "b"));
  CHECK(method(words, "moreau_jean")["runs"].size() == 2);
  // the same by a pointer, and a boolean
  CHECK(error(compare({"--integrators", "a=nsga_decoupled", "--vary",
                       "/integrator/initial_acceleration=consistent,shifted"}),
              "a:/integrator/initial_acceleration=shifted") == error(plain, "b"));
  CHECK(compare({"--integrators", "nsga_decoupled", "--vary", "force_corrections=true,false"})["methods"].size() == 2);
  // a value of another section: twice the mass moves the same, another gravity does not
  const json masses = compare({"--integrators", "a=nsga_decoupled", "--vary", "/bodies/0/mass=2,4"});
  CHECK(error(masses, "a:/bodies/0/mass=4").get<double>() ==
        doctest::Approx(error(plain, "a").get<double>()).epsilon(1e-6));
  CHECK(method(masses, "a:/bodies/0/mass=4")["set"][0] == "/bodies/0/mass=4");
  CHECK(error(compare({"--integrators", "a=nsga_decoupled,moon=nsga_decoupled:/gravity/2=-1.62"}), "moon") > 0.1);
  // the label names the reference
  const json own =
      compare({"--integrators", "a=nsga_decoupled", "--vary", "/gravity/2=-1.62,-9.81"}, "a:/gravity/2=-1.62");
  CHECK(error(own, "a:/gravity/2=-1.62") < 1e-3);
  CHECK(error(own, "a:/gravity/2=-9.81") > 0.1);
  const json fine = compare({"--integrators", "a=nsga_decoupled", "--vary", "/gravity/2=-1.62,-9.81"},
                            "a:/gravity/2=-1.62:step=1e-4");
  CHECK(fine["reference"] == "a:/gravity/2=-1.62, step 0.0001");
  CHECK(error(fine, "a:/gravity/2=-1.62") < 1e-3);
}

TEST_CASE("converge: in a window errors count the steps there only, and the end is the window's") {
  const TemporaryDirectory directory;
  write(directory / "model.json", pendulum);
  const Outcome outcome = run_carom(directory, {"converge", "model.json", "--steps", "8e-3,4e-3", "--reference", "2e-4",
                                                "--probe", "x", "--window", "0.08,0.24", "-o", "study"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("errors against the run with step 2e-4, t = 0.08 to 0.24\n") != std::string::npos);
  const json study = read_json(directory / "study/convergence.json");
  CHECK(study["window"] == json({0.08, 0.24}));
  run_carom(directory, {"run", "model.json", "-q", "-o", "fine", "--set", "/integrator/step=2e-4"});
  run_carom(directory, {"run", "model.json", "-q", "-o", "coarse", "--set", "/integrator/step=8e-3"});
  const Table fine = read_csv(directory / "fine/probes.csv"), coarse = read_csv(directory / "coarse/probes.csv");
  double difference = 0, size = 0, end = 0;
  for (std::size_t i = 10; i <= 30; ++i) {
    const auto &a = coarse.rows[i], &b = fine.rows[40 * i];
    REQUIRE(a[0] == doctest::Approx(b[0]));
    end = std::hypot(a[1] - b[1], a[2] - b[2], a[3] - b[3]);
    difference += end;
    size += std::hypot(b[1], b[2], b[3]);
  }
  const json& errors = study["probes"][0]["errors"][0];
  CHECK(errors["mean"].get<double>() == doctest::Approx(difference / size).epsilon(1e-9));
  CHECK(errors["end"].get<double>() == doctest::Approx(end).epsilon(1e-9));
}

TEST_CASE("cite: the papers of what a model uses, each once") {
  const TemporaryDirectory directory;
  const auto cited = [&](const std::string& model, const Words& more = {}) {
    const Outcome outcome = run_carom(directory, joined({"cite", model_path(model)}, more));
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t i = text.find(part); i != text.npos; i = text.find(part, i + 1)) ++n;
    return n;
  };
  const std::string blade = cited("rotating_blade");
  CHECK(count(blade, "@article{cosimo_2020,") == 1);
  CHECK(count(blade, "@article{sonneville_2014,") == 1);
  CHECK(count(blade, "@article{alart_curnier_1991,") == 1);          // it hits a stop
  CHECK(count(blade, "@article{bruels_cardona_arnold_2012,") == 1);  // named by rigid bodies and by beams
  CHECK(count(blade, "@") == 8);
  const std::string top = cited("heavy_top");
  CHECK(count(top, "alart_curnier") == 0);
  CHECK(count(top, "sonneville") == 0);
  CHECK(count(cited("lee_frame"), "@article{riks_1979,") == 1);
  CHECK(count(cited("lee_frame", {"--set", "/integrator/control=load"}), "riks_1979") == 0);
  const std::string moreau =
      cited("heavy_top", {"--set", R"(/integrator={"type":"moreau_jean","step":1e-3,"duration":1})"});
  CHECK(count(moreau, "@incollection{moreau_1988,") == 1);
  CHECK(count(moreau, "cosimo") == 0);
}
