// carom plot and carom report as users call them: pictures, scripts, pages, exit codes.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A ball falls from z = 1 onto a floor and bounces; its title is text that a page or a script could take for commands.
json ball() {
  return json::parse(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "ball", "type": "point_mass", "mass": 1, "position": [0, 0, 1], "velocity": [0.5, 0, 0]}],
    "contacts": [{"name": "floor", "on": ["ball"], "restitution": 0.5,
                  "obstacle": {"type": "plane", "point": [0, 0, 0], "normal": [0, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 1e-3, "duration": 1},
    "output": {"vtu": {"enabled": false}, "checkpoint": {"enabled": false},
               "probes": [{"name": "place", "of": "ball", "quantity": "position"},
                          {"name": "speed", "of": "ball", "quantity": "velocity.z"}]}})");
}

void solve(const TemporaryDirectory& directory, const std::string& results, const json& model) {
  write(directory / "model.json", model.dump());
  REQUIRE(run_carom(directory, {"run", "model.json", "-q", "-o", results}).code == 0);
}

/// The blocks of a data file: rows of two numbers.
std::vector<std::vector<std::pair<double, double>>> blocks_of(const std::string& text) {
  std::vector<std::vector<std::pair<double, double>>> out(1);
  std::istringstream lines(text);
  int blank = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      if (++blank == 2) out.emplace_back();
      continue;
    }
    blank = 0;
    if (line[0] == '#') continue;
    std::istringstream words(line);
    double x = 0, y = 0;
    REQUIRE((words >> x >> y));
    out.back().emplace_back(x, y);
  }
  return out;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t i = text.find(part); i != std::string::npos; i = text.find(part, i + part.size())) ++n;
  return n;
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator(directory)) out.insert(entry.path().filename().string());
  return out;
}

/// Sets the search path of programs as long as it lives.
class SearchPath {
 public:
  explicit SearchPath(const char* path) : before_(std::getenv("PATH")) { setenv("PATH", path, 1); }
  ~SearchPath() { setenv("PATH", before_.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("plot: the ending says the format, and the numbers beside the picture are those of probes.csv") {
  const TemporaryDirectory directory;
  solve(directory, "r", ball());
  const Outcome outcome = run_carom(directory, {"plot", "r", "place.z", "-o", "z.svg"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out == "z.svg, drawn by z.svg.gp from z.svg.dat\n");
  const std::string svg = read(directory / "z.svg");
  CHECK(contains(svg, "<svg"));
  CHECK(contains(svg, "</svg>"));
  CHECK(contains(svg, ">place.z<"));
  const auto blocks = blocks_of(read(directory / "z.svg.dat"));
  const Table table = read_csv(directory / "r/probes.csv");
  REQUIRE(blocks.size() == 1);
  REQUIRE(blocks[0].size() == table.rows.size());
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    CHECK(blocks[0][i].first == table.rows[i][0]);
    CHECK(blocks[0][i].second == table.rows[i][3]);
  }
  // free fall
  CHECK(blocks[0][400].second == doctest::Approx(1 - 9.81 * 0.4 * 0.4 / 2).epsilon(1e-6));

  CHECK(run_carom(directory, {"plot", "r", "-q", "-o", "all.pdf"}).code == 0);
  CHECK(read(directory / "all.pdf").starts_with("%PDF"));
  CHECK(blocks_of(read(directory / "all.pdf.dat")).size() == 4);  // three components and the speed
  CHECK(run_carom(directory, {"plot", "r", "-q", "-o", "all.png"}).code == 0);
  CHECK(read(directory / "all.png").starts_with("\x89PNG"));
  // without a name the picture lies with the results
  CHECK(run_carom(directory, {"plot", "r", "-q"}).code == 0);
  CHECK(fs::exists(directory / "r/plot.svg"));
}

TEST_CASE("plot: several runs lie over one another, in a window of time, with energies and events") {
  const TemporaryDirectory directory;
  solve(directory, "hard", ball());
  json soft = ball();
  soft["contacts"][0]["restitution"] = 0;
  soft["output"]["probes"].erase(1);
  solve(directory, "soft", soft);
  const Outcome outcome = run_carom(directory, {"plot", "hard", "soft", "place.z", "speed", "--energy", "--events",
                                                "--window", "0.25,0.75", "-o", "p.svg"});
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err, "note: soft has no probe \"speed\"\n"));
  const std::string svg = read(directory / "p.svg"), data = read(directory / "p.svg.dat");
  for (const char* name : {">hard: place.z<", ">soft: place.z<", ">hard: speed<", ">hard: kinetic<", ">soft: impacts<",
                           ">hard: impact<", ">soft: impact<", ">floor<"})
    CHECK(contains(svg, name));
  for (const auto& block : blocks_of(data))
    for (const auto& [t, y] : block) CHECK((t >= 0.25 - 1e-9 && t <= 0.75 + 1e-9));
  CHECK(blocks_of(data)[0].size() == 501);
  // the only impact in the window is that of the fall from 1
  const std::size_t impacts = data.find("contact: hard: impact\n");
  REQUIRE(impacts != std::string::npos);
  CHECK(blocks_of(data.substr(data.find('\n', impacts) + 1))[0][0].first ==
        doctest::Approx(std::sqrt(2 / 9.81)).epsilon(1e-6));
}

TEST_CASE("plot: a window of a run without work shows its energies") {
  const TemporaryDirectory directory;
  json free = ball();
  free["gravity"] = {0, 0, 0};
  free.erase("contacts");
  free["output"]["probes"].erase(1);
  solve(directory, "free", free);
  const Outcome outcome = run_carom(directory, {"plot", "free", "--energy", "--window", "0.25,0.75", "-o", "p.svg"});
  CHECK(outcome.code == 0);
  CHECK(contains(read(directory / "p.svg"), ">kinetic<"));
}

TEST_CASE("plot: a panel is as tall as its legend, of which gnuplot leaves out what has no room") {
  const TemporaryDirectory directory;
  std::vector<std::string> words = {"plot"};
  for (const char* name : {"a", "b", "c"}) {
    solve(directory, name, ball());
    words.emplace_back(name);
  }
  for (const char* word : {"--energy", "-o", "runs.svg", "-q"}) words.emplace_back(word);
  REQUIRE(run_carom(directory, words).code == 0);
  const std::string script = read(directory / "runs.svg.gp"), picture = read(directory / "runs.svg");
  int curves = 0;
  for (std::size_t i = script.find(" title '"); i != std::string::npos; i = script.find(" title '", i + 1), ++curves) {
    const std::string title = script.substr(i + 8, script.find('\'', i + 8) - i - 8);
    CHECK_MESSAGE(contains(picture, ">" + title + "<"), title);
  }
  CHECK(curves > 20);
}

TEST_CASE("plot: what does not exist is an error with the nearest name, and leaves no picture") {
  const TemporaryDirectory directory;
  solve(directory, "r", ball());
  fs::create_directory(directory / "empty");
  const auto refused = [&](const Words& words, int code, const std::string& message) {
    const Outcome outcome = run_carom(directory, joined({"plot"}, joined(words, {"-o", "p.svg"})));
    CAPTURE(outcome.err);
    CHECK(outcome.code == code);
    CHECK(contains(outcome.err, message));
    CHECK(outcome.out.empty());
    CHECK_FALSE(fs::exists(directory / "p.svg"));
  };
  refused({"nowhere"}, 2, "carom plot: no directory \"nowhere\"");
  refused({"model.json"}, 2, "\"model.json\" is no directory");
  refused({"empty"}, 2, "\"empty\" has no results of carom run");
  refused({"r", "plaec"}, 2, "no probe \"plaec\" in \"r\"; did you mean \"place\"?");
  refused({"r", "place.w"}, 2, "no probe \"place.w\" in \"r\"; did you mean \"place.");
  refused({"r", "speed", "--window", "2,3"}, 2, "no row of speed in t = 2 to 3; the results go from t = 0 to 1");
  refused({"r", "speed", "--window", "3,2"}, 2, "--window: ");
  refused({"r", "place.y", "--log", "y"}, 2, "place.y: no positive value for the logarithmic axis");
  refused({"r", "--events", "--window", "0,0.1"}, 2, "there are no events in t = 0 to 0.1");
  const Outcome ending = run_carom(directory, {"plot", "r", "-o", "p.gif"});
  CHECK(ending.code == 2);
  CHECK(contains(ending.err, "expected a name that ends in .svg, .pdf or .png, got \"p.gif\""));
  write(directory / "r/probes.csv", "t,x\n0,1\n1,one\n2,3\n");
  refused({"r", "x"}, 5, "r/probes.csv:3: expected a number for x, got \"one\"");
  const SearchPath nowhere("/nowhere");
  write(directory / "r/probes.csv", "t,x\n0,1\n1,2\n");
  refused({"r", "x"}, 5, "pictures need the program gnuplot, which is not there");
}

TEST_CASE("plot: names and titles reach the picture as text and never run as commands") {
  const TemporaryDirectory directory;
  const std::string hostile = "a'b `touch made_1` $(touch made_2) \u00fc @x {-y_z^w} \"q\" \\";
  fs::create_directory(directory / hostile);
  fs::create_directory(directory / "second");
  // a table of another program: names that carom itself would refuse
  write(directory / hostile / "probes.csv",
        "t,\"c\x07'; system('touch made_3'); plot '<touch made_4' #\",<b>%s%n\n0,1,2\n1,2,4\n");
  write(directory / "second/probes.csv", "t,x\n0,1\n1,2\n");
  write(directory / hostile / "events.csv", "t,event,contact\n0.5,impact,\"'100%d`touch made_5`\xff\"\n");
  const std::string picture = hostile + "/|touch made_6; ' `touch made_7`.svg";
  const Outcome outcome = run_carom(
      directory, {"plot", hostile, "second", "<b>%s%n", "c\x07'; system('touch made_3'); plot '<touch made_4' #",
                  "--events", "--title", "''it's\n!touch made_8\n`touch made_9`", "-o", picture});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  const std::string svg = read(directory / picture);
  CHECK(contains(svg, "&lt;b>%s%n"));
  CHECK(contains(svg, "\u2019\u2019it\u2019s !touch made_8 `touch made_9`"));
  CHECK(contains(svg, "\u2019100%d`touch made_5`\uFFFD"));
  CHECK(contains(svg, "{-y_z^w}"));
  CHECK_FALSE(contains(svg, "<b>"));
  for (const fs::path& folder : {directory.path(), directory / hostile})
    for (const std::string& name : names_in(folder)) CHECK_FALSE(name.starts_with("made_"));
  const Outcome line = run_carom(directory, {"plot", "second", "-o", "a\nb.svg"});
  CHECK(line.code == 2);
  CHECK(contains(line.err, "without control characters"));
}

TEST_CASE("plot: a curve of very many points is drawn by its extremes") {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "r");
  std::string text = "t,x\n";
  for (int i = 0; i < 30000; ++i) text += std::to_string(i) + "," + (i == 12345 ? "7" : i == 23456 ? "" : "1") + "\n";
  write(directory / "r/probes.csv", text);
  CHECK(run_carom(directory, {"plot", "r", "-q", "-o", "p.svg"}).code == 0);
  const std::string data = read(directory / "p.svg.dat");
  CHECK(contains(data, "\n12345 7\n"));
  CHECK(contains(data, "\n23456 NaN\n"));
  CHECK(contains(data, "extremes of 30000 rows"));
  CHECK(std::count(data.begin(), data.end(), '\n') < 6100);
}

TEST_CASE("report: one page that loads nothing, with account, pictures, events and model; its text is escaped") {
  const TemporaryDirectory directory;
  json model = ball();
  model["title"] = "</title><script>alert(1)</script> & more";
  model["expect"] = json::array({{{"probe", "place.x"}, {"time", 1}, {"value", 0.5}, {"tolerance", 1e-9}}});
  solve(directory, "a<i>&b", model);
  const Outcome outcome = run_carom(directory, {"report", "a<i>&b"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out == "a<i>&b/report.html\n");
  const std::string page = read(directory / "a<i>&b/report.html");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(contains(page, "<h1>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; more</h1>"));
  CHECK(contains(page, "a&lt;i&gt;&amp;b"));
  for (const char* never : {"<script", "<i>", "<img", "<link", "<iframe", "src=", "url(http", "@import"})
    CHECK_FALSE(contains(page, never));
  // the only addresses are the names of SVG's languages
  CHECK(count(page, "http") == count(page, "http://www.w3.org/2000/svg") + count(page, "http://www.w3.org/1999/xlink") +
                                   count(page, "http-equiv"));
  CHECK(count(page, "<svg") == 4);
  CHECK(count(page, "</svg>") == 4);
  CHECK(contains(page, "<th>status</th><td>completed</td>"));
  CHECK(contains(page, "<td>place.x</td>"));
  CHECK(contains(page, "<td>impact</td><td>floor</td>"));
  const json summary = read_json(directory / "a<i>&b/summary.json");
  CHECK(contains(page, "<th>impacts</th><td>" + summary["impacts"].dump() + "</td>"));
  // identifiers are unique over all pictures, and all that are used exist
  std::set<std::string> ids;
  for (std::size_t i = page.find(" id='"); i != std::string::npos; i = page.find(" id='", i + 5))
    CHECK(ids.insert(page.substr(i + 5, page.find('\'', i + 5) - i - 5)).second);
  CHECK(ids.size() > 10);
  for (std::size_t i = page.find("href='#"); i != std::string::npos; i = page.find("href='#", i + 7))
    CHECK(ids.count(page.substr(i + 7, page.find('\'', i + 7) - i - 7)) == 1);
}

TEST_CASE("report: a picture of the model stands in the page, from picture.png or from another file") {
  const TemporaryDirectory directory;
  solve(directory, "r", ball());
  const std::string png("\x89PNG\r\n\x1a\n\0\xff~", 11);
  write(directory / "r/picture.png", png);
  REQUIRE(run_carom(directory, {"report", "r"}).code == 0);
  // the text of coreutils' base64
  CHECK(count(read(directory / "r/report.html"), "src=\"data:image/png;base64,iVBORw0KGgoA/34=\"") == 1);
  write(directory / "other.png", png + "ab");
  REQUIRE(run_carom(directory, {"report", "r", "--picture", "other.png"}).code == 0);
  CHECK(count(read(directory / "r/report.html"), "base64,iVBORw0KGgoA/35hYg==\"") == 1);
  write(directory / "r/picture.png", "GIF89a");
  const Outcome wrong = run_carom(directory, {"report", "r"});
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "is no PNG picture"));
  CHECK(run_carom(directory, {"report", "r", "--picture", "none.png"}).code == 5);
}

TEST_CASE("report: a failed run shows why; without gnuplot the page has notes instead of pictures") {
  const TemporaryDirectory directory;
  const Outcome run = run_carom(
      directory, {"run", model_path("brick"), "-q", "-o", "r", "--set", "/integrator/max_subdivisions=0", "--set",
                  "/integrator/newton/max_iterations=3", "--set", "/integrator/impact=\"published\""});
  CHECK(run.code == 4);
  const SearchPath nowhere("/nowhere");
  const Outcome outcome = run_carom(directory, {"report", "r", "-o", "page.html"});
  CHECK(outcome.code == 0);
  CHECK(contains(outcome.err, "note: no picture \"Energy\": pictures need the program gnuplot"));
  const std::string page = read(directory / "page.html");
  CHECK(contains(page, "<td class=\"bad\">failed</td>"));
  const json summary = read_json(directory / "r/summary.json");
  CHECK(contains(page, "<th>subproblem</th><td>" + summary["failure"]["subproblem"].get<std::string>()));
  CHECK(contains(page, "pictures need the program gnuplot"));
  CHECK(count(page, "<svg") == 0);

  const Outcome missing = run_carom(directory, {"report", "nowhere"});
  CHECK(missing.code == 2);
  CHECK(contains(missing.err, "carom report: no directory \"nowhere\""));
  const Outcome ending = run_carom(directory, {"report", "r", "-o", "page.txt"});
  CHECK(ending.code == 2);
  CHECK(contains(ending.err, "expected a name that ends in .html, got \"page.txt\""));
}

TEST_CASE("studies: without gnuplot they are complete but for the picture, whose script and numbers are there") {
  const TemporaryDirectory directory;
  write(directory / "model.json", ball().dump());
  const std::vector<std::pair<Words, Words>> studies = {
      {{"converge", "model.json", "--steps", "8e-3,4e-3", "--window", "0,0.4", "-o", "study"}, {"convergence"}},
      {{"compare", "model.json", "--integrators", "nsga_decoupled,moreau_jean", "-o", "study"},
       {"errors", "work", "probes"}}};
  for (const auto& study : studies) {
    const Words &words = study.first, &pictures = study.second;
    CAPTURE(words[0]);
    const Outcome with = run_carom(directory, words);
    CHECK(with.code == 0);
    CHECK_FALSE(contains(with.err, "note: no picture"));
    for (const std::string& name : pictures)
      CHECK(contains(read(directory.path() / "study" / (name + ".svg")), "<svg"));
    const SearchPath nowhere("/nowhere");
    const Outcome without = run_carom(directory, words);
    CHECK(without.code == 0);
    for (const std::string& name : pictures) {
      CAPTURE(name);
      CHECK(contains(without.err, "note: no picture " + name +
                                      ".svg: pictures need the program gnuplot, which is not there (Debian: "
                                      "gnuplot-nox); its script is " +
                                      name + ".svg.gp\n"));
      CHECK_FALSE(fs::exists(directory.path() / "study" / (name + ".svg")));
      CHECK(fs::exists(directory.path() / "study" / (name + ".svg.gp")));
      CHECK(fs::exists(directory.path() / "study" / (name + ".svg.dat")));
    }
  }
}
