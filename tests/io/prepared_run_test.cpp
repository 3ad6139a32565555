// PreparedRun: the document stays constant; contents of run.json and checkpoints for a run with options.

#include "io/results/prepared_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/model/build_context.hpp"

using namespace carom;
using nlohmann::json;

// a document cannot be changed from outside
static_assert(std::is_same_v<decltype(std::declval<ModelDocument&>().resolved()), const json&>);
static_assert(std::is_same_v<decltype(std::declval<ModelDocument&>().issues()), const ModelIssues&>);
static_assert(std::is_same_v<decltype(build_model),
                             std::unique_ptr<Model>(const ModelDocument&, const RunOptions&, ModelIssues&)>);
static_assert(std::is_same_v<decltype(BuildContext::document), const ModelDocument&>);

namespace {

// A ball that falls from rest, with an expectation at the model's own end, t = 1.
const char* const ball = R"({
  "format": 1, "gravity": [0, 0, -10],
  "bodies": [{"name": "ball", "type": "point_mass", "mass": 2}],
  "integrator": {"type": "nsga_decoupled", "step": 0.125, "duration": 1},
  "output": {"probes": [{"name": "z", "of": "ball", "quantity": "position.z"}]},
  "expect": [{"probe": "z", "value": -5, "tolerance": 0.1}, {"probe": "z", "value": 0, "tolerance": 0.1, "time": 0}]
})";

std::string messages(const ModelIssues& issues) {
  std::string out;
  for (const ModelIssue& issue : issues) out += issue.origin + " " + issue.pointer + ": " + issue.message + "\n";
  return out;
}

// A separate folder with a tetrahedron in STL and its model.
struct Folder {
  Folder() {
    std::filesystem::create_directories(path);
    std::ofstream stl(path / "t.stl");
    stl << "solid t\n";
    for (const char* corners : {"0 0 0 vertex 0 1 0 vertex 1 0 0", "0 0 0 vertex 1 0 0 vertex 0 0 1",
                                "0 0 0 vertex 0 0 1 vertex 0 1 0", "1 0 0 vertex 0 1 0 vertex 0 0 1"})
      stl << "facet normal 0 0 0\nouter loop\nvertex " << corners << "\nendloop\nendfacet\n";
    stl << "endsolid t\n";
    std::ofstream(path / "model.json") << R"({"format": 1,
      "bodies": [{"name": "t", "type": "rigid", "density": 6, "shape": {"type": "mesh", "file": "t.stl"}}],
      "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 1}})";
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path = std::filesystem::temp_directory_path() / "carom_prepared_run";
};

}  // namespace

TEST_CASE("prepared run: it has all that a time loop needs, and runs to the model's end") {
  PreparedRun run = prepare_run(parse_model(ball, "m.json"));
  REQUIRE_MESSAGE(run.ok(), run.issues.report());
  Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
  simulation.add_observer(*run.expectations);
  CHECK(simulation.run() == RunStatus::completed);
  CHECK(run.model->state.t == 1);
  REQUIRE(run.probes.size() == 1);
  CHECK(run.probes[0].columns == std::vector<std::string>{"z"});
  // z = -g t^2/2, exact for a second-order method
  REQUIRE(run.expectations->all().size() == 2);
  CHECK(run.expectations->all()[0].found.value() == doctest::Approx(-5).epsilon(1e-12));
  CHECK(run.expectations->all()[1].found == 0.0);
}

TEST_CASE(
    "prepared run: an end time changes the run, and neither the document nor what is expected at the model's end") {
  const ModelDocument document = parse_model(ball, "m.json");
  const PreparedRun run = prepare_run(document, {.end_time = 0.5});
  REQUIRE(run.ok());
  CHECK(run.document.resolved() == document.resolved());
  CHECK(run.document.resolved()["integrator"]["duration"] == 1);
  CHECK_FALSE(run.document.resolved()["expect"][0].contains("time"));
  CHECK(run.model->simulation.duration == 0.5);
  CHECK(run.expectations->all()[0].time == 1);
  CHECK(run.expectations->all()[1].time == 0);

  // restarts compare this text, and run.json repeats it
  CHECK((*run.resolved)["integrator"]["duration"] == 0.5);
  CHECK((*run.resolved)["expect"][0]["time"] == 1);
  CHECK((*run.resolved)["expect"][1]["time"] == 0);
  const PreparedRun again = prepare_run(parse_model(run.run_text(), "run.json"));
  REQUIRE(again.ok());
  CHECK(again.model->simulation.duration == 0.5);
  CHECK(again.run_text() == run.run_text());
}

TEST_CASE("prepared run: with an end time the loads of a static run still grow over the model's own duration") {
  const std::vector<std::string> as_static = {R"(/integrator={"type": "static", "step": 0.5, "duration": 2})",
                                              R"(/springs=[{"name":"s","of":["ball","ground.o"],"stiffness":10}])",
                                              R"(/ground=[{"name":"o","at":[0,0,1]}])", "/expect=[]"};
  PreparedRun run = prepare_run(parse_model(ball, "m.json", as_static), {.end_time = 1.0});
  REQUIRE_MESSAGE(run.ok(), run.issues.report());
  CHECK((*run.resolved)["integrator"]["ramp"] == 2);
  Simulation simulation(run.model->system, *run.integrator, run.model->state, run.model->simulation);
  REQUIRE(simulation.run() == RunStatus::completed);
  // half of the weight, 2 * 10/2, on a spring of stiffness 10
  CHECK(run.model->state.t == 1);
  CHECK(run.model->state.q[2] == doctest::Approx(-1).epsilon(1e-9));
}

TEST_CASE("prepared run: files are in the document as they were written, in run.json by their absolute paths") {
  const Folder folder;
  const PreparedRun run = prepare_run(load_model((folder.path / "model.json").string()));
  REQUIRE_MESSAGE(run.ok(), run.issues.report());
  const json::json_pointer file("/bodies/0/shape/file");
  CHECK(run.document.resolved()[file] == "t.stl");
  CHECK(json::parse(run.checkpoint_text())[file] == "t.stl");
  json repeatable = json::parse(run.run_text());
  CHECK(repeatable[file] == (folder.path / "t.stl").string());
  // nothing else differs
  repeatable[file] = "t.stl";
  CHECK(repeatable == run.document.resolved());
  // density 6, volume 1/6
  CHECK(run.model->total_mass == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("prepared run: run.json of every model gives the same run.json again") {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(CAROM_SOURCE_DIR) + "/data/models")) {
    CAPTURE(entry.path().string());
    const PreparedRun run = prepare_run(load_model(entry.path().string()));
    REQUIRE_MESSAGE(run.ok(), run.issues.report());
    const bool has_files = !run.model->files.empty();
    CHECK((run.run_text() == run.checkpoint_text()) == !has_files);
    const PreparedRun again = prepare_run(parse_model(run.run_text(), "elsewhere/run.json"));
    REQUIRE_MESSAGE(again.ok(), again.issues.report());
    CHECK(again.run_text() == run.run_text());
    CHECK(again.model->state.q == run.model->state.q);
  }
}

TEST_CASE("prepared run: the scales of the options take the place of the model's") {
  const ModelDocument document = parse_model(ball, "m.json", {"/scales={\"length\":3}"});
  const PreparedRun own = prepare_run(document);
  CHECK(own.model->scales.length == 3);
  const PreparedRun given = prepare_run(document, {.scales = Scales{7, 8, 9}});
  CHECK(given.model->scales.length == 7);
  CHECK(given.model->scales.speed == 8);
  CHECK(given.model->scales.mass == 9);
  CHECK(given.run_text() == own.run_text());
}

TEST_CASE("prepared run: errors of reading, options, building, expectations and integrator are in one list") {
  const auto errors = [](const std::vector<std::string>& set, const RunOptions& options = {}) {
    const PreparedRun run = prepare_run(parse_model(ball, "m.json", set), options);
    CHECK(run.integrator == nullptr);
    return messages(run.issues);
  };
  CHECK(errors({"/integrator/step=-1"}) == "--set /integrator/step=-1 /integrator/step: expected a time > 0, got -1\n");
  CHECK(errors({}, {.end_time = -2.0}) == "--until -2 : expected an end not before the start, t = 0\n");
  CHECK(errors({"/integrator/step=1e-40"}) ==
        "--set /integrator/step=1e-40 /integrator/step: expected a step that is not so small: more than 1e15 steps "
        "would be needed\n");
  CHECK(errors({"/expect/0/time=-1", R"(/bodies/0={"name": "ball", "type": "bar", "material": "m", "section": "s",
                "from": [0, 0, 0], "to": [1, 0, 0]})",
                R"(/materials=[{"name": "m", "type": "linear_elastic", "young": 1, "density": 1}])",
                R"(/sections=[{"name": "s", "type": "area", "area": 1}])", "/output/probes/0/of=ball.node.0"}) ==
        "--set /expect/0/time=-1 /expect/0/time: expected a time not before the start of the run\n");
  const std::string nothing_solved = errors({R"(/integrator={"type": "static", "duration": 0})"});
  CHECK_MESSAGE(nothing_solved.find("/integrator/duration: expected a duration > 0") != std::string::npos,
                nothing_solved);
  const PreparedRun held = prepare_run(parse_model(R"({"format": 1,
    "bodies": [{"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "fixed": ["translation", "rotation"]}],
    "joints": [{"name": "j", "type": "revolute", "of": ["ground", "b"], "axis": [0, 0, 1]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})",
                                                   "m.json", {}),
                                       {});
  CHECK_MESSAGE(messages(held.issues).find("/joints/0: nothing that moves is held by j") != std::string::npos,
                messages(held.issues));
  const std::string singular = errors({"/bodies/0/mass=0"});
  CHECK_MESSAGE(singular.find("/bodies/0: the initial accelerations cannot be computed") != std::string::npos,
                singular);
}

TEST_CASE("prepared run: a column that no probe has is an error of the document, an empty one too") {
  for (const std::string column : {"zz", ""}) {
    const ModelDocument document = parse_model(ball, "m.json", {"/expect/0/probe=\"" + column + "\""});
    REQUIRE(document.issues().size() == 1);
    CHECK(document.issues()[0].pointer == "/expect/0/probe");
  }
}

// 0.1 + 0.2 - 0.3 = 5.6e-17.
TEST_CASE("prepared run: the distance of a point from its obstacle is the length scale, unless it is rounding") {
  const auto length = [](const std::string& z) {
    const PreparedRun run = prepare_run(parse_model(
        R"({"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, )" +
            z + R"(], "velocity": [0, 0, -1]}],
        "contacts": [{"name": "c", "on": "b", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
        "integrator": {"type": "paoli_schatzman", "step": 1e-3, "duration": 1}})",
        "m.json"));
    REQUIRE_MESSAGE(run.ok(), run.issues.report());
    return run.model->scales.length;
  };
  CHECK(length("0.5") == 0.5);
  CHECK(length("1e-6") == 1e-6);
  CHECK(length(R"("=0.1+0.2-0.3")") == 1);
  CHECK(length("1e-12") == 1);
}
