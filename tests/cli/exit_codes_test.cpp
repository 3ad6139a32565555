// Messages and exit codes of the program: docs/user_guide.md, "Exit codes".

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
namespace fs = std::filesystem;

namespace {

constexpr const char* wrong_model = R"({
  "format": 1,
  "gravity": [0, -9.81, 0],
  "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "density": 7800}],
  "sections": [{"name": "square", "type": "rectangle",
      "width": "thick", "height": 0.01}],
  "bodies": [{"name": "arm", "type": "bar", "material": "steel", "section": "square", "from": [0, 0, 0], "to": [1, 0, 0]},
    {"name": "load", "type": "point_mass", "mass": 1, "position": [2, 0, 0]}],
  "joints": [{"name": "link", "type": "rigid_link", "of": ["load", "amr.end"]}],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}
}
)";

bool wait_for(const fs::path& path, Process& process) {
  for (int i = 0; i < 6000 && process.running(); ++i) {
    if (fs::exists(path)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// True while a carom_gmsh process works on this file.
bool is_meshed(const fs::path& file) {
  for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
    std::ifstream stream(process.path() / "cmdline", std::ios::binary);
    std::string program, argument;
    if (std::getline(stream, program, '\0') && std::getline(stream, argument, '\0') && program == "carom_gmsh" &&
        argument == file.string())
      return true;
  }
  return false;
}

bool becomes(bool wanted, const fs::path& file) {
  for (int i = 0; i < 2000; ++i) {
    if (is_meshed(file) == wanted) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("command line: help and version are answers, on stdout") {
  const TemporaryDirectory directory;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"run", "--help"}, {"check", "--help"}, {"schema", "--help"}, {"--version"}}) {
    const Outcome outcome = run_carom(directory, arguments);
    CAPTURE(arguments.back());
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(!outcome.out.empty());
  }
  const std::string help = run_carom(directory, {"--help"}).out;
  for (const char* command : {"run", "check", "schema"}) CHECK(help.find(command) != std::string::npos);
  const std::string run = run_carom(directory, {"run", "--help"}).out;
  for (const char* option : {"--output", "--set", "--until", "--threads", "--quiet", "--verbose"})
    CHECK(run.find(option) != std::string::npos);
}

TEST_CASE("command line: what cannot be understood ends with 2, and nothing is written") {
  const TemporaryDirectory directory;
  const std::string ball = model_path("bouncing_ball");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"frobnicate"},
           {"run"},
           {"run", "--frobnicate"},
           {"run", ball, "--frobnicate"},
           {"run", ball, "another.json"},
           {"run", ball, "-q", "-v"},
           {"run", ball, "--threads", "0"},
           {"run", ball, "--threads", "two"},
           {"run", ball, "--until", "soon"},
           {"run", ball, "--set"},
           {"check"},
           {"check", ball, "-o", "x"},
           {"schema", "/integrator/stpe"},
           {"schema", "/integrator", "--markdown"},
       }) {
    const Outcome outcome = run_carom(directory, arguments);
    std::string line;
    for (const std::string& word : arguments) line += " " + word;
    CAPTURE(line);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(!outcome.err.empty());
  }
  CHECK(!fs::exists(directory / "results"));
}

TEST_CASE("wrong model: all its errors at once, each with place, pointer and what is allowed, and 3") {
  const TemporaryDirectory directory;
  write(directory / "model.json", wrong_model);
  const std::string expected =
      "model.json:6:16: error at /sections/0/width: expected a length > 0, got \"thick\"\n"
      "model.json:9:68: error at /joints/0/of/1: no body named \"amr\"; did you mean \"arm\"?\n"
      "2 errors. See: carom schema /sections\n";
  for (const char* command : {"run", "check"}) {
    const Outcome outcome = run_carom(directory, {command, "model.json"});
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == expected);
  }
  CHECK(!fs::exists(directory / "results"));
}

TEST_CASE("wrong model: an empty file, broken JSON and another kind of value end with 3") {
  const TemporaryDirectory directory;
  const auto message = [&](const std::string& text) {
    write(directory / "model.json", text);
    const Outcome outcome = run_carom(directory, {"run", "model.json"});
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(message("").starts_with("model.json:1:1: error: the file is empty; expected a JSON object\n"));
  CHECK(message("[]").starts_with("model.json:1:1: error: "));
  CHECK(message("{\n  \"format\" 1\n}").starts_with("model.json:2:12: error: "));
  CHECK(message("{").starts_with("model.json:1:"));
  CHECK(!message("{}").empty());
}

TEST_CASE("files: a name too long for the file system ends with 5") {
  const TemporaryDirectory directory;
  const std::string name(300, 'x');
  for (const std::string& command : {std::string("run"), std::string("converge")}) {
    Words words = {command, model_path("bouncing_ball"), "-o", name};
    if (command == "converge") words = joined(words, {"--steps", "1e-2,5e-3"});
    const Outcome outcome = run_carom(directory, words);
    CHECK(outcome.code == 5);
    CHECK(contains(outcome.err, "carom: cannot create " + name + ": File name too long\n"));
  }
  CHECK(run_carom(directory, {"run", model_path("bouncing_ball"), "--restart", name}).code == 5);
}

TEST_CASE("files: a named pipe as the model is refused at once, the pipe of a shell is read") {
  const TemporaryDirectory directory;
  const auto shell = [&](const std::string& command) {
    return WEXITSTATUS(std::system(("cd '" + directory.path().string() + "' && " + command + " 2> err").c_str()));
  };
  REQUIRE(shell("mkfifo pipe") == 0);
  const std::string carom = "timeout 20 '" CAROM_PROGRAM "' ";
  for (const char* word : {"run", "check"}) {
    CHECK(shell(carom + word + " pipe") == 5);
    CHECK(read(directory / "err") == "carom: cannot read pipe: it is no regular file\n");
  }
  const std::string model = model_path("bouncing_ball");
  CHECK(shell("cat '" + model + "' | " + carom + "run /dev/stdin -q -o r --until 0.01") == 0);
  CHECK(fs::exists(directory / "r/summary.json"));
}

TEST_CASE("files: a stdout that cannot be written ends with 5") {
  for (const char* arguments : {"schema", "schema --markdown", "check ball.json", "check ball.json --json", "--help",
                                "--version", "completion bash", "run ball.json --until 0.01"}) {
    CAPTURE(arguments);
    const TemporaryDirectory directory;
    write(directory / "ball.json", read(model_path("bouncing_ball")));
    const std::string command = "cd '" + directory.path().string() + "' && '" CAROM_PROGRAM "' " + arguments;
    const int status = std::system((command + " > /dev/full 2> err").c_str());
    CHECK(WEXITSTATUS(status) == 5);
    CHECK(contains(read(directory / "err"), "carom: cannot write to stdout: No space left on device\n"));
  }
}

TEST_CASE("command line: -- ends the options, and help is a command too") {
  const TemporaryDirectory directory;
  write(directory / "-dash.json", read(model_path("bouncing_ball")));
  CHECK(run_carom(directory, {"run", "-q", "--until", "0.01", "--", "-dash.json"}).code == 0);
  CHECK(fs::exists(directory / "results/-dash/summary.json"));
  CHECK(run_carom(directory, {"help"}).out == run_carom(directory, {"--help"}).out);
  CHECK(contains(run_carom(directory, {"help"}).out, "Example: "));
  for (const char* command : {"run", "converge"})
    CHECK(contains(run_carom(directory, {"help", command}).out, "Threads (default: 1; same results for any number)"));
  CHECK(run_carom(directory, {"help", "run"}).out == run_carom(directory, {"run", "--help"}).out);
  // 80 columns, and an example for every command
  for (const char* command :
       {"run", "check", "converge", "compare", "sweep", "plot", "report", "cite", "schema", "completion", "--help"}) {
    const std::string help = run_carom(directory, {"help", command}).out;
    CAPTURE(command);
    CHECK(contains(help, "Example"));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 80, line);
  }
  CHECK(run_carom(directory, {"help", "rnu"}).code == 2);
}

TEST_CASE("--set: wrong pointers and values end with 3 and name the option, what is no pointer and value with 2") {
  const TemporaryDirectory directory;
  const auto message = [&](const std::string& set) {
    const Outcome outcome = run_carom(directory, {"run", model_path("bouncing_ball"), "--set", set});
    CHECK(outcome.code == 3);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  for (const char* text : {"step", "integrator/step=1", "/integrator/step", "=1", "/=1"}) {
    const Outcome outcome = run_carom(directory, {"run", model_path("bouncing_ball"), "--set", text});
    CHECK(outcome.code == 2);
    CHECK(outcome.err == "carom run: --set: expected /json/pointer=value, as in /integrator/step=1e-4, got \"" +
                             std::string(text) + "\"\nSee: carom run --help\n");
  }
  CHECK(message("/integrator/step=-1").starts_with("--set /integrator/step=-1: error at /integrator/step: "));
  CHECK(message("/integrator/stpe=1").find("did you mean \"step\"?") != std::string::npos);
  CHECK(message("/bodies/7/mass=1").starts_with("--set /bodies/7/mass=1: error"));
  CHECK(message("/bodies/0/mass/x=1").starts_with("--set /bodies/0/mass/x=1: error"));
  CHECK(!fs::exists(directory / "results"));
}

TEST_CASE("--until before the start is an error of the model") {
  const TemporaryDirectory directory;
  const Outcome outcome = run_carom(directory, {"run", model_path("bouncing_ball"), "--until", "-1"});
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("--until") != std::string::npos);
}

TEST_CASE("files: a missing model, a directory, and a place that cannot be written end with 5") {
  const TemporaryDirectory directory;
  for (const char* command : {"run", "check"}) {
    CHECK(run_carom(directory, {command, "missing.json"}).code == 5);
    CHECK(run_carom(directory, {command, "missing.json"}).err ==
          "carom: cannot read missing.json: No such file or directory\n");
    CHECK(run_carom(directory, {command, "."}).code == 5);
    CHECK(run_carom(directory, {command, "."}).err == "carom: cannot read .: it is a directory\n");
  }
  write(directory / "occupied", "");
  for (const char* place : {"occupied/results", "occupied"}) {
    const Outcome outcome = run_carom(directory, {"run", model_path("bouncing_ball"), "-o", place});
    CAPTURE(place);
    CHECK(outcome.code == 5);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.starts_with("carom: cannot "));
  }
}

TEST_CASE("no convergence: 4, and everything before is complete and readable") {
  // the brick's impact at t = 0.4153, at the end of its step, needs four iterations of the position correction
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"run", model_path("brick"), "-o", "r", "--set", "/integrator/max_subdivisions=0", "--set",
                            "/integrator/newton/max_iterations=3", "--set", "/integrator/impact=\"published\""});
  CHECK(outcome.code == 4);
  CHECK(outcome.err.find("no convergence at t = 0.415") != std::string::npos);
  CHECK(outcome.err.find("position") != std::string::npos);

  const nlohmann::json summary = read_json(directory / "r/summary.json");
  CHECK(summary["status"] == "failed");
  CHECK(summary["steps"] == 415);
  CHECK(summary["time"]["end"].get<double>() == doctest::Approx(0.415).epsilon(1e-12));
  CHECK(summary["failure"]["subproblem"] == "position");
  CHECK(summary["rejected_steps"] == 1);

  const Table probes = read_csv(directory / "r/probes.csv");
  CHECK(probes.rows.size() == 416);
  CHECK(probes.rows.back()[0] == summary["time"]["end"].get<double>());
  const std::vector<double> times = series_times(directory / "r");
  CHECK(times.size() == 84);
  CHECK(times.back() == doctest::Approx(0.415).epsilon(1e-12));
}

TEST_CASE(
    "event-driven: a start that penetrates and approaches, and impacts that accumulate, end with 4 and a way out") {
  const TemporaryDirectory directory;
  const auto stops = [&](const std::string& ball, const std::string& method, const std::string& reason,
                         const std::string& hint) {
    write(directory / "model.json", R"({"format": 1, "gravity": [0, 0, -10],
      "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, )" +
                                        ball + R"(}],
      "contacts": [{"name": "floor", "on": "ball", "restitution": 0.5,
                    "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
      "integrator": {"type": "event_driven", )" +
                                        method + R"("step": 0.01, "duration": 1}})");
    const Outcome outcome = run_carom(directory, {"run", "model.json", "-q", "-o", "r"});
    CAPTURE(outcome.err);
    CHECK(outcome.code == 4);
    CHECK(lines_of(outcome.err).size() == 3);  // the reason, a hint, the post-mortem's place
    CHECK(contains(outcome.err, reason + ", worst: floor)"));
    CHECK(contains(outcome.err, "hint: " + hint));
    CHECK(contains(read_json(directory / "r/summary.json")["failure"]["reason"], reason));
  };
  stops(R"("position": [0, 0, -0.01], "velocity": [0, 0, -1])", "", "a contact penetrates and approaches at the start",
        "floor must not penetrate at the start");
  stops(R"("position": [0, 0, 0.18])", R"("max_events": 5, )", "impacts accumulate",
        "impacts of floor follow each other in ever shorter times");
}

TEST_CASE("a body that turns too far in the first half step of cd_lagrange: the step is what is wrong") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "bodies": [{"name": "b", "type": "rigid", "mass": 1,
    "inertia": [2, 3, 4], "angular_velocity": [60, 60, 0]}],
    "integrator": {"type": "cd_lagrange", "step": 1, "duration": 10}})");
  const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("error at /integrator/step: expected a step in which no body turns") != std::string::npos);
}

TEST_CASE("a step whose end is not finite is refused") {
  const TemporaryDirectory directory;
  write(directory / "m.json", R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e300, "duration": 1e300}})");
  const Outcome outcome = run_carom(directory, {"run", "m.json", "-o", "r"});
  CHECK(outcome.code == 4);
  CHECK(contains(outcome.err, "the state is not finite"));
}

TEST_CASE("a step that does not converge is repeated in halves, which the summary counts") {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_carom(directory, {"run", model_path("brick"), "-o", "r", "-q", "--set", "/integrator/newton/max_iterations=3",
                            "--set", "/integrator/impact=\"published\"", "--set", "/expect=[]"});
  CHECK(outcome.code == 0);
  const nlohmann::json summary = read_json(directory / "r/summary.json");
  CHECK(summary["status"] == "completed");
  CHECK(summary["steps"] == 1000);
  CHECK(summary["subdivided_steps"] >= 1);
  CHECK(summary["rejected_steps"] >= summary["subdivided_steps"]);
  CHECK(summary["substeps"] > 1000);
  CHECK(read_csv(directory / "r/probes.csv").rows.size() == 1001);
}

TEST_CASE("interruption: while Gmsh is at work carom ends at once, and Gmsh with it") {
  const TemporaryDirectory directory;
  const fs::path script = directory / "slow.geo";
  write(script, "For i In {1:1000000000}\nEndFor\n");
  struct Case {
    Words command;
    int signal, code;
  };
  for (const Case& c : {Case{{"run"}, SIGINT, 130}, Case{{"run"}, SIGTERM, 130},
                        Case{{"check"}, SIGTERM, 128 + SIGTERM}, Case{{"check"}, SIGKILL, 128 + SIGKILL}}) {
    CAPTURE(c.command);
    CAPTURE(c.signal);
    Process process(directory,
                    joined(c.command, {model_path("cube_gmsh"), "--set", "/bodies/0/mesh/file=" + script.string()}));
    REQUIRE(becomes(true, script));
    process.send(c.signal);
    CHECK(process.wait().code == c.code);
    CHECK(becomes(false, script));
    CHECK(!fs::exists(directory / "results"));
  }
}

TEST_CASE("interruption: the step is finished, all files are complete, and 130") {
  const TemporaryDirectory directory;
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    fs::remove_all(directory / "r");
    Process process(directory,
                    {"run", model_path("bouncing_ball"), "-o", "r", "--set", "/integrator/step=1e-5", "--until", "1e4",
                     "--set", "/output/vtu/every=1000", "--set", "/output/probes_every=100"});
    REQUIRE(wait_for(directory / "r/vtu/bouncing_ball_000002.vtu", process));
    process.send(signal);
    const Outcome outcome = process.wait();
    CHECK(outcome.code == 130);
    CHECK(outcome.out.find("interrupted; results in r") != std::string::npos);

    const nlohmann::json summary = read_json(directory / "r/summary.json");
    CHECK(summary["status"] == "interrupted");
    const double end = summary["time"]["end"];
    CHECK(end >= 0.02);
    CHECK(end == doctest::Approx(1e-5 * summary["steps"].get<double>()).epsilon(1e-9));
    CHECK(!read_csv(directory / "r/probes.csv").rows.empty());
    CHECK(series_times(directory / "r").back() == end);
  }
}
