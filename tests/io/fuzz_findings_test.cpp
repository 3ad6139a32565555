// Inputs that once crashed, hung or were wrongly accepted: findings of libFuzzer (tests/fuzz/findings), and large
// inputs whose time and memory grew faster than the text.

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/results/prepared_run.hpp"
#include "io/schema/json_source.hpp"
#include "tests/fuzz/set_lines.hpp"

namespace {

using carom::ModelDocument;

/// A model with one point mass, or with the given text in place of "bodies".
std::string model_with(const std::string& keys,
                       const std::string& bodies = R"({"name":"a","type":"point_mass","mass":1})") {
  return R"({"format":1,"integrator":{"type":"nsga_decoupled","step":1e-3,"duration":1},"bodies":[)" + bodies + "]" +
         keys + "}";
}

/// Items i = 0 to n-1, separated by commas, with # replaced by i.
std::string repeated(int n, const std::string& item) {
  std::string out;
  for (int i = 0; i < n; ++i) {
    if (i > 0) out += ',';
    for (const char c : item) out += c == '#' ? std::to_string(i) : std::string(1, c);
  }
  return out;
}

/// Processor time in seconds for reading, building and reporting.
double seconds(const std::string& text, std::size_t& errors) {
  const std::clock_t begin = std::clock();
  const carom::PreparedRun run = carom::prepare_run(carom::parse_model(text, "model.json"));
  (void)run.issues.report();
  errors = run.issues.size();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("reader: every finding of the fuzzer is read without a crash, and accepted or refused as its name says") {
  const std::filesystem::path folder = std::filesystem::path(CAROM_SOURCE_DIR) / "tests/fuzz/findings";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const auto& file : files) {
    CAPTURE(file.filename().string());
    const std::string name = file.filename().string();
    const bool is_valid = name.starts_with("valid-");
    REQUIRE((is_valid || name.starts_with("wrong-")));
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::string_view rest = text;
    const std::vector<std::string> overrides = carom::fuzz::take_set_lines(rest);
    const carom::PreparedRun run = carom::prepare_run(carom::parse_model(text, file.string(), overrides));
    const std::string report = run.issues.report();
    CAPTURE(report);
    CHECK(run.ok() == is_valid);
    CHECK(report.empty() == is_valid);
    CHECK(carom::is_utf8(report));
    CHECK((is_valid ? run.integrator != nullptr : true));
  }
}

TEST_CASE("reader: the time for a wrong model grows with its size, not with its square") {
  // Each input once took minutes; now less than a second, or some seconds with sanitizers.
  struct Large {
    const char* what;
    std::string text;
    std::size_t errors;
  };
  const std::string bodies = repeated(10000, R"({"name":"b#","type":"point_mass","mass":1})");
  const std::vector<Large> models = {
      {"30000 wrong types", model_with("", repeated(30000, R"({"name":"b#","type":"rigidd"})")), 30000},
      {"10000 wrong names among 10000",
       model_with(
           R"(,"output":{"probes":[)" + repeated(10000, R"({"name":"p#","of":"bb#","quantity":"position.x"})") + "]}",
           bodies),
       10000},
      {"1000 parameters that name each other",
       model_with(R"(,"parameters":{)" +
                  repeated(
                      1000, "\"p#\":\"=" +
                                [] {
                                  std::string sum = "0";
                                  for (int i = 0; i < 1000; ++i) sum += "+p" + std::to_string(i);
                                  return sum;
                                }() +
                                "\"") +
                  "}"),
       1},
  };
  for (const Large& large : models) {
    CAPTURE(large.what);
    std::size_t errors = 0;
    CHECK(seconds(large.text, errors) < 20);
    CHECK(errors == large.errors);
  }
}

TEST_CASE("reader: keys and repeated keys are bounded, since every message names their path") {
  const auto message = [](const std::string& text) {
    const ModelDocument document = carom::parse_model(text, "model.json");
    return document.ok() ? std::string() : document.issues()[0].message;
  };
  CHECK(message("{\"" + std::string(1001, 'k') + "\": 1}") == "a key of more than 1000 characters");
  CHECK(message("{\"a\":0," + repeated(1001, "\"a\":0") + "}") == "more than 1000 keys occur a second time");
  CHECK(message("{\"a\":0," + repeated(1000, "\"a\":0") + "}") ==
        "this key occurs a second time; it is first in line 1");
}

TEST_CASE("reader: more elements than memory bears are an error of the body that exceeds") {
  const std::string bar = R"({"name":"b#","type":"bar","from":[0,0,0],"to":[1,0,0],"elements":400000,)"
                          R"("material":"m","section":"s"})";
  const std::string parts = R"(,"materials":[{"name":"m","type":"linear_elastic","young":1,"density":1}],)"
                            R"("sections":[{"name":"s","type":"area","area":1}])";
  const ModelDocument document = carom::parse_model(model_with(parts, repeated(3, bar)), "model.json");
  REQUIRE(document.issues().size() == 1);
  CHECK(document.issues()[0].pointer == "/bodies/2/elements");
  CHECK(document.issues()[0].message == "expected at most 1000000 elements in all bodies, got 1200000 up to this one");
}

TEST_CASE("builder: more points of contacts than memory bears are an error of the contact") {
  const std::string bar = R"({"name":"b","type":"bar","from":[0,0,0],"to":[1,0,0],"elements":1000000,)"
                          R"("material":"m","section":"s"})";
  const std::string parts =
      R"(,"materials":[{"name":"m","type":"linear_elastic","young":1,"density":1}],)"
      R"("sections":[{"name":"s","type":"area","area":1}],"contacts":[)" +
      repeated(2, R"({"name":"c#","on":"b.nodes","obstacle":{"type":"plane","normal":[0,0,1]}})") + "]";
  const ModelDocument document = carom::parse_model(model_with(parts, bar), "model.json");
  carom::ModelIssues issues = document.issues();
  CHECK(carom::build_model(document, {}, issues) == nullptr);
  REQUIRE(issues.size() == 1);
  CHECK(issues[0].pointer == "/contacts/1");
  CHECK(issues[0].message ==
        "expected at most 2000000 points and pairs that may touch, got 2000002 up to this contact");
}
