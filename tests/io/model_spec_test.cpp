// The reader of model files: text and positions, --set, parameters, defaults, JSON Schema and manual. Wrong values are
// in model_errors_test.cpp.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/spelling.hpp"
#include "core/formula/formula.hpp"
#include "io/model/model_document.hpp"
#include "io/model/model_reference.hpp"
#include "io/model/model_spec.hpp"
#include "io/model/quantities.hpp"
#include "io/schema/documentation.hpp"

namespace {

using carom::load_model;
using carom::ModelDocument;
using carom::parse_model;
using nlohmann::json;

const char* const ball = R"_({
  "format": 1, // the only one
  "parameters": {"b": "=2*a", "a": 0.25, "omega": "=8*a"},
  "bodies": [{"name": "ball", "type": "point_mass", "mass": "=b", "velocity": [0, "= -a", 8]}],
  /* pushed
     around */
  "loads": [{"name": "push", "type": "force", "on": "ball",
             "value": ["sin(omega*t)", "=omega", {"times": [0, "=a"], "values": [1, 2]}]}],
  "contacts": [{"name": "floor", "on": "ball", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}
})_";

/// The only line of a report before its last line.
std::string first_line(const ModelDocument& document) {
  const std::string report = document.report();
  return report.substr(0, report.find('\n'));
}

std::string error_of_text(const std::string& text) {
  const ModelDocument document = parse_model(text, "m.json");
  CHECK(document.issues().size() == 1);
  return first_line(document);
}

std::string manual(const std::string& key) { return carom::manual(carom::model_spec(), key); }

std::string error_of_set(const std::string& set) { return first_line(parse_model(ball, "m.json", {set})); }

}  // namespace

TEST_CASE("model: defaults are filled in and formulas of parameters evaluated") {
  const ModelDocument document = parse_model(ball, "m.json");
  REQUIRE(document.report() == "");
  const json& model = document.resolved();
  CHECK(model["gravity"] == json({0, 0, 0}));
  CHECK(model["bodies"][0]["mass"] == 0.5);
  CHECK(model["bodies"][0]["velocity"] == json({0, -0.25, 8}));
  CHECK(model["bodies"][0]["radius"] == 0);
  CHECK(model["joints"] == json::array());
  CHECK(model["contacts"][0]["on"] == json({"ball"}));
  CHECK(model["contacts"][0]["restitution"] == 0);
  CHECK(model["integrator"]["rho_infinity"] == 0.8);
  CHECK(model["integrator"]["newton"]["max_iterations"] == 50);
  CHECK(model["output"]["vtu"] == json({{"enabled", true}}));

  // Functions of time: formulas are kept, with the parameters that they need.
  const json& value = model["loads"][0]["value"];
  CHECK(value[0] == "sin(omega*t)");
  CHECK(value[1] == 2.0);
  CHECK(value[2] == json({{"times", {0, 0.25}}, {"values", {1, 2}}, {"interpolation", "linear"}}));
  CHECK(document.parameters() == carom::Formula::Parameters{{"omega", 2.0}});
}

TEST_CASE("model: the completed model gives itself again") {
  const ModelDocument first = parse_model(ball, "m.json");
  const ModelDocument again = parse_model(first.resolved().dump(), "run.json");
  CHECK(again.report() == "");
  CHECK(again.resolved() == first.resolved());
}

TEST_CASE("model: a report has all errors, in the order of the file, with places and where to read on") {
  const std::string text = R"({
  "format": 1,
  "integrator": {"type": "nsga_decoupled", "step": 1e-4, "duration": 0.5},
  "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "density": 7800}],
  "sections": [
    {"width": "thick", "height": 0.01, "name": "square", "type": "rectangle"}],
  "bodies": [{"name": "arm", "type": "bar", "material": "steel", "section": "square", "from": [0, 0, 0], "to": [1, 0, 0]}],
  "joints": [{"name": "pivot", "type": "spherical",
    "of": ["ground", "amr"]}]
})";
  const ModelDocument document = parse_model(text, "model.json");
  CHECK(document.report() ==
        "model.json:6:15: error at /sections/0/width: expected a length > 0, got \"thick\"\n"
        "model.json:9:22: error at /joints/0/of/1: no body named \"amr\"; did you mean \"arm\"?\n"
        "2 errors. See: carom schema /sections\n");
}

TEST_CASE("model: unknown keys are shown at the key, missing ones at their object, columns count characters") {
  CHECK(error_of_text(
            "{\"format\": 1, \"titel\": \"\",\n\"bodies\": [{\"name\": \"a\", \"type\": \"point_mass\", \"mass\": 1}],"
            "\"integrator\": {\"type\": \"nsga_decoupled\", \"step\": 1, \"duration\": 1}}") ==
        "m.json:1:15: error at /titel: unknown key \"titel\"; did you mean \"title\"?");
  CHECK(error_of_text("{\"format\": 1,\n\"bodies\": [{\"name\": \"a\", \"type\": \"point_mass\", \"mass\": 1}],\n"
                      "\"integrator\": {\"type\": \"nsga_decoupled\", \"duration\": 1}}") ==
        "m.json:3:15: error at /integrator: missing key \"step\": expected a time > 0");
  CHECK(
      error_of_text(
          "{\"title\": \"\xC3\xA9t\xC3\xA9\", \"format\": 2,\n\"bodies\": [{\"name\": \"a\", \"type\": \"point_mass\", "
          "\"mass\": 1}], \"integrator\": {\"type\": \"nsga_decoupled\", \"step\": 1, \"duration\": 1}}") ==
      "m.json:1:28: error at /format: expected 1, got 2");
}

TEST_CASE("model: errors of syntax are sentences with line and column") {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "m.json:1:1: error: the file is empty; expected a JSON object"},
      {" // nothing\n", "m.json:1:1: error: the file is empty; expected a JSON object"},
      {"{", "m.json:1:1: error: this '{' has no end: expected '}'"},
      {"{\"a\": [1", "m.json:1:7: error: this '[' has no end: expected ']'"},
      {"{\"a\": 1\n \"b\": 2}", "m.json:2:2: error: expected ',' or '}' after the value, got a string"},
      {"{\"a\": [1 2]}", "m.json:1:10: error: expected ',' or ']' after the value, got '2'"},
      {"{\"a\": [1, ]}",
       "m.json:1:11: error: expected a value after ',', got ']'; there is a comma too many before it"},
      {"{\"a\": 1,}", "m.json:1:9: error: expected a key after ',', got '}'; there is a comma too many before it"},
      {"{a: 1}", "m.json:1:2: error: expected a key between double quotes, got 'a'"},
      {"{\"a\" 1}", "m.json:1:6: error: expected ':' after the key \"a\", got '1'"},
      {"{\"a\":", "m.json:1:6: error: expected a value, got the end of the file"},
      {"{\"a\": 'x'}", "m.json:1:7: error: expected a value, got '''; strings stand between double quotes"},
      {"{\"a\": True}", "m.json:1:7: error: expected a value, got 'True'; did you mean true?"},
      {"{\"a\": None}", "m.json:1:7: error: expected a value, got 'None'; a key without value is left out"},
      {"{\"a\": =b}", "m.json:1:7: error: expected a value, got '='; a formula stands between double quotes"},
      {"{\"a\": \"x\n\"}", "m.json:1:7: error: this string has no end: expected '\"' on the same line"},
      {"{\"a\": \"\\x\"}", "m.json:1:8: error: unknown escape '\\x' in a string; a backslash is written '\\\\'"},
      {"{\"a\": \"\\ud800\"}", "m.json:1:8: error: half of a surrogate pair in a string"},
      {"{\"a\": \"\xFF\"}", "m.json:1:8: error: a byte that is not UTF-8 in a string"},
      {"\xFF", "m.json:1:1: error: expected a value, got a byte that is not UTF-8"},
      {"{} {}", "m.json:1:4: error: expected the end of the file after the model, got '{'"},
      {"{} /* x", "m.json:1:4: error: this comment has no end: expected '*/'"},
      {"{\"a\": NaN}", "m.json:1:7: error: expected a value, got 'NaN'; numbers must be finite"},
      {"{\"a\": -Infinity}", "m.json:1:7: error: '-Infinity' is no number: it must be finite"},
      {"{\"a\": +1}", "m.json:1:7: error: '+1' is no number: a number has no leading '+'"},
      {"{\"a\": .5}", "m.json:1:7: error: '.5' is no number: expected a digit at the beginning"},
      {"{\"a\": 01}", "m.json:1:7: error: '01' is no number: a number has no leading zeros"},
      {"{\"a\": 1.}", "m.json:1:7: error: '1.' is no number: expected a digit after the point"},
      {"{\"a\": 1e}", "m.json:1:7: error: '1e' is no number: expected a digit in the exponent"},
      {"{\"a\": 0x10}", "m.json:1:7: error: '0x10' is no number: unexpected 'x'"},
      {"{\"a\": 1e999}",
       "m.json:1:7: error: the number 1e999 is out of range: its magnitude must be between 1e-307 and 1e308, or 0"},
      {"[1, 2]", "m.json:1:1: error: expected an object with the keys of a model, got [1, 2]"},
      {"\"x\"", "m.json:1:1: error: expected an object with the keys of a model, got \"x\""},
  };
  for (const auto& [given, message] : texts) {
    const auto& text = given;  // clang 14 captures no structured binding
    INFO(text);
    CHECK(error_of_text(text) == message);
  }
}

TEST_CASE("model: hostile texts are errors, never crashes") {
  const std::size_t many = 100000;
  CHECK(error_of_text(std::string(many, '[')) == "m.json:1:101: error: more than 100 nested levels");
  std::string objects;
  for (std::size_t i = 0; i < many; ++i) objects += "{\"a\":";
  CHECK(error_of_text(objects) == "m.json:1:501: error: more than 100 nested levels");

  // every beginning of a valid model, and the same with one byte replaced
  const std::string text = ball;
  for (std::size_t n = 0; n < text.size(); ++n) {
    CHECK_FALSE(parse_model(text.substr(0, n), "m.json").ok());
    for (const char c : {'\0', '"', '{', ']', ',', '\xC3', '=', '-'}) {
      std::string changed = text;
      changed[n] = c;
      const ModelDocument document = parse_model(changed, "m.json");
      CHECK(document.ok() == document.report().empty());
    }
  }

  // replace every value by a value of another kind
  const ModelDocument right = parse_model(ball, "m.json");
  const json flat = right.resolved().flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (std::size_t end = pointer.size(); end != std::string::npos && end > 0; end = pointer.rfind('/', end - 1)) {
      for (const char* other : {"null", "true", "-1e300", "\"=\"", "\"=(\"", "[]", "{}", "[[]]", "{\"name\":{}}"}) {
        const ModelDocument document =
            parse_model(right.resolved().dump(), "m.json", {pointer.substr(0, end) + "=" + other});
        CHECK(document.ok() == document.report().empty());
      }
    }
  }
}

TEST_CASE("model: long lists of errors are cut, and control characters do not reach the terminal") {
  json model = json::parse(ball, nullptr, true, true);
  for (int i = 0; i < 150; ++i) model["unknown_" + std::to_string(i)] = 0;
  const std::string report = parse_model(model.dump(), "m.json").report();
  CHECK(report.find("... and 50 more\n150 errors. See: carom schema\n") != std::string::npos);
  CHECK(error_of_set("/a\x1B[2J=1").find('\x1B') == std::string::npos);
}

TEST_CASE("model: a key that occurs twice is an error, and the first counts") {
  CHECK(error_of_text(
            "{\"format\": 1,\n\"bodies\": [{\"name\": \"a\", \"type\": \"point_mass\", \"mass\": 1}],\n\"integrator\": "
            "{\"type\": \"nsga_decoupled\", \"step\": 1, \"duration\": 1},\n \"format\": 2}") ==
        "m.json:4:2: error at /format: this key occurs a second time; it is first in line 1");
}

TEST_CASE("model: --set changes, adds and appends before anything is checked") {
  const ModelDocument document =
      parse_model(ball, "m.json",
                  {"/integrator/step==a/100", "/title=free text", "/output/vtu/every=5", "/bodies/0/velocity/2=9",
                   "/bodies/-={\"name\": \"other\", \"type\": \"point_mass\", \"mass\": 1}", "/bodies/1/mass=3",
                   "/parameters/a=0.5"});
  REQUIRE(document.report() == "");
  CHECK(document.resolved()["integrator"]["step"] == 0.005);
  CHECK(document.resolved()["title"] == "free text");
  CHECK(document.resolved()["output"]["vtu"]["every"] == 5);
  CHECK(document.resolved()["bodies"][0]["velocity"] == json({0, -0.5, 9}));
  CHECK(document.resolved()["bodies"][1]["mass"] == 3);
}

TEST_CASE("model: errors of --set name it") {
  CHECK(error_of_set("/integrator/step=-1") ==
        "--set /integrator/step=-1: error at /integrator/step: expected a time > 0, got -1");
  CHECK(error_of_set("/integrator/stpe=1") ==
        "--set /integrator/stpe=1: error at /integrator/stpe: unknown key \"stpe\" of "
        "type \"nsga_decoupled\"; did you mean \"step\"?");
  CHECK(error_of_set("integrator/step=1") ==
        "--set integrator/step=1: error: expected /json/pointer=value, as in /integrator/step=1e-4");
  CHECK(error_of_set("/integrator/step") ==
        "--set /integrator/step: error at /integrator/step: expected "
        "/json/pointer=value, as in /integrator/step=1e-4");
  CHECK(error_of_set("") == "--set : error: expected /json/pointer=value, as in /integrator/step=1e-4");
  CHECK(
      error_of_set("/bodies/2/mass=1") ==
      "--set /bodies/2/mass=1: error at /bodies/2/mass: expected the number of an entry of /bodies (0), or - for a new "
      "one, got \"2\"");
  CHECK(
      error_of_set("/bodies/x=1") ==
      "--set /bodies/x=1: error at /bodies/x: expected the number of an entry of /bodies (0), or - for a new one, got "
      "\"x\"");
  CHECK(error_of_set("/bodies/00=1") ==
        "--set /bodies/00=1: error at /bodies/00: expected the number of an entry of /bodies (0), or - for a new one, "
        "got "
        "\"00\"");
  CHECK(error_of_set("/format/x=1") ==
        "--set /format/x=1: error at /format/x: there is nothing below /format, which is 1");
  CHECK(error_of_set("/title=\xFF").find("a byte that is not UTF-8") != std::string::npos);
  CHECK(error_of_set("/integrator/step=1e999") ==
        "--set /integrator/step=1e999: error at /integrator/step: expected a time > 0, got \"1e999\"");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "/a";
  CHECK(error_of_set(deep + "=1").find("more than 100 nested levels") != std::string::npos);
}

TEST_CASE("model: an error on the way to a value that --set adds names the option, one in the file its line") {
  CHECK(error_of_set("/output/vtu/evry/x=1")
            .starts_with("--set /output/vtu/evry/x=1: error at /output/vtu/evry: unknown"));
  CHECK(error_of_set("/loads/0/value=[0,0]").starts_with("--set /loads/0/value=[0,0]: error at /loads/0/value: "));
  CHECK(error_of_set("/bodies/0/name=bell").starts_with("m.json:7:53: error at /loads/0/on: "));
}

TEST_CASE("model: on a terminal the line of the file and a caret follow each error") {
  const auto report = [](const std::string& text, std::size_t width) {
    return parse_model(text, "m.json").report(width);
  };
  const std::string text =
      "{\"format\": 2,\n\t\"titel\": \"\", \"bodies\": [],\r\n  \"title\": \"\xC3\xA9\xE6\xA8\xA1\", \"gravity\": 0,\n"
      "\"integrator\": {\"type\": \"nsga_decoupled\", \"step\": 1, \"duration\": 1}}";
  CHECK(report(text, 80) ==
        "m.json:1:12: error at /format: expected 1, got 2\n"
        "    {\"format\": 2,\n"
        "               ^\n"
        "m.json:2:2: error at /titel: unknown key \"titel\"; did you mean \"title\"?\n"
        "    \"titel\": \"\", \"bodies\": [],\n"
        "    ^\n"
        "m.json:2:25: error at /bodies: expected a list of bodies, not empty, got []\n"
        "    \"titel\": \"\", \"bodies\": [],\n"
        "                           ^\n"
        "m.json:3:29: error at /gravity: expected a list of 3 accelerations, got 0\n"
        "    \"title\": \"\xC3\xA9\xE6\xA8\xA1\", \"gravity\": 0,\n"
        "                               ^\n"
        "4 errors. See: carom schema /format\n");
  // no change without a terminal
  CHECK(report(text, 0).find('^') == std::string::npos);

  // errors of syntax too; a blank line and a value from --set show no text
  CHECK(report("{\"a\"\n  \t;}", 80) ==
        "m.json:2:4: error: expected ':' after the key \"a\", got ';'\n    ;}\n    ^\n1 error.\n");
  CHECK(report("{\"a\": \"\x1B\xFF", 80) ==
        "m.json:1:8: error: a control character in a string; a tab is written '\\t'\n"
        "    {\"a\": \"??\n           ^\n1 error.\n");
  CHECK(report("\n", 80) == "m.json:1:1: error: the file is empty; expected a JSON object\n1 error.\n");
  CHECK(parse_model(ball, "m.json", {"/integrator/step=0"}).report(80).find('^') == std::string::npos);
}

TEST_CASE("model: a long line is cut around the place, at the width of the terminal") {
  for (const std::size_t width : {std::size_t{40}, std::size_t{80}, std::size_t{200}}) {
    for (const std::size_t before : {std::size_t{0}, std::size_t{30}, std::size_t{300}}) {
      for (const std::size_t behind : {std::size_t{0}, std::size_t{30}, std::size_t{300}}) {
        CAPTURE(width);
        CAPTURE(before);
        CAPTURE(behind);
        const std::string text =
            "{\"t\": \"" + std::string(before, 'a') + "\", \"f\": ! \"" + std::string(behind, 'b') + "\"}";
        std::istringstream lines(parse_model(text, "m.json").report(width));
        std::string message, line, caret;
        std::getline(lines, message);
        std::getline(lines, line);
        std::getline(lines, caret);
        CHECK(line.size() <= width);
        CHECK((line.find("...") != std::string::npos) == (text.size() + 11 > width));
        REQUIRE(caret.ends_with('^'));
        REQUIRE(caret.size() <= line.size());
        CHECK(line[caret.size() - 1] == '!');
      }
    }
  }
}

TEST_CASE("model: more parameters than allowed are one error") {
  json model = json::parse(ball, nullptr, true, true);
  for (int i = 0; i < 1000; ++i) model["parameters"]["p" + std::to_string(i)] = i;
  const ModelDocument document = parse_model(model.dump(), "m.json");
  REQUIRE(!document.ok());
  CHECK(document.issues()[0].message == "more than 1000 parameters");
}

TEST_CASE("model: a broken parameter is one error, not one per use") {
  const ModelDocument document = parse_model(ball, "m.json", {"/parameters/a=\"=1/c\""});
  REQUIRE(document.issues().size() == 1);
  CHECK(document.issues()[0].message == "in \"=1/c\" at character 4: unknown name 'c'; known are pi e and functions");
}

TEST_CASE("model: the builder's errors are placed at values, or at the nearest ancestor that was written") {
  const ModelDocument document = parse_model(ball, "m.json", {"/gravity=[0,0,1]"});
  REQUIRE(document.ok());
  carom::ModelIssues issues = document.issues();
  issues.add("/gravity/2", "upwards");
  issues.add("/integrator/newton/tolerance", "too small");
  issues.add("/bodies/0/mass", "too light");
  CHECK(issues.report() ==
        "m.json:4:61: error at /bodies/0/mass: too light\n"
        "m.json:10:17: error at /integrator/newton/tolerance: too small\n"
        "--set /gravity=[0,0,1]: error at /gravity/2: upwards\n"
        "3 errors. See: carom schema /bodies\n");
}

TEST_CASE("model: files that cannot be read") {
  const auto folder = std::filesystem::temp_directory_path();
  CHECK_THROWS_WITH_AS(load_model("/no/such/model.json"), "cannot read /no/such/model.json: No such file or directory",
                       carom::FileError);
  CHECK_THROWS_WITH_AS(load_model(folder.string()), ("cannot read " + folder.string() + ": it is a directory").c_str(),
                       carom::FileError);
}

TEST_CASE("schema: declares a key with its range, default and help, and numbers may be formulas") {
  const json schema = carom::json_schema(carom::model_spec(), "a model");
  CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema["required"] == json({"format", "bodies", "integrator"}));
  CHECK(schema["additionalProperties"] == false);
  const json& step = schema["properties"]["integrator"]["allOf"][0]["then"]["properties"]["step"];
  CHECK(step["anyOf"][0] == json({{"type", "number"}, {"exclusiveMinimum", 0}}));
  CHECK(step["anyOf"][1] == json({{"$ref", "#/$defs/formula"}}));
  CHECK(step["description"] == "length of a step [s]");
}

TEST_CASE("schema: the file in data/schema is that of the declarations") {
  std::ifstream file(std::string(CAROM_SOURCE_DIR) + "/data/schema/carom.schema.json");
  REQUIRE_MESSAGE(file, "write it with: ./carom build release reference");
  std::stringstream text;
  text << file.rdbuf();
  const bool is_current = text.str() == carom::model_schema_text();
  CHECK_MESSAGE(is_current, "write it again with: ./carom build release reference");
}

TEST_CASE("manual: keys by pointer or path, by type, with a suggestion for wrong ones") {
  CHECK(manual("/integrator/rho_infinity").starts_with("/integrator/nsga_decoupled/rho_infinity\n"));
  CHECK(manual("/integrator/step")
            .starts_with("/integrator/nsga_decoupled/step\n"
                         "  length of a step\n"
                         "  a time > 0 [s]; required\n"
                         "  Example:\n"
                         "    \"step\": 0.001\n"
                         "\n"
                         "/integrator/nsga_coupled/step\n"));
  // the key "type" alone: a line for each type, no other key
  const std::string types = manual("bodies/type");
  CHECK(types.starts_with("/bodies/type\n"));
  CHECK(types.find("\"rigid\": a rigid body\n") != std::string::npos);
  CHECK(types.find("mass:") == std::string::npos);
  CHECK(manual("bodies/type/bar/elements") == manual("bodies/bar/elements"));
  CHECK(manual("bodies/bar/elements") == manual("/bodies/0/bar/elements"));
  CHECK(manual("integrator/nsga_decoupled/newton/method") ==
        "/integrator/nsga_decoupled/newton/method\n"
        "  when the matrix is computed and factorised\n"
        "  one of \"automatic\", \"full\" or \"modified\"; default \"automatic\"\n"
        "    \"automatic\": as \"full\"; with conjugate gradients only where a new matrix pays\n"
        "    \"full\": a new matrix in every iteration\n"
        "    \"modified\": a matrix is kept while it contracts well\n"
        "  Example:\n"
        "    \"method\": \"automatic\"\n");
  for (const char* key : {"", "contacts/obstacle", "bodies/rigid/shape", "loads/value", "output/probes/quantity"})
    CHECK_FALSE(manual(key).empty());
  CHECK_THROWS_WITH_AS(manual("/integrator/stp"), "no key \"stp\" in /integrator; did you mean \"step\"?",
                       carom::ModelError);
  CHECK_THROWS_WITH_AS(manual("gravity/x"), "/gravity has no keys; see: carom schema /gravity", carom::ModelError);
}

TEST_CASE("declarations: every key has help that fits its sentence, and every default is valid") {
  const std::string text = carom::model_schema_text();
  CHECK(text.find("\"description\": \"\"") == std::string::npos);
  // Every quantity of a probe is found again by its words.
  for (const carom::Quantity& q : carom::quantities()) {
    CHECK(carom::find_quantity(q.name).quantity == &q);
    CHECK(carom::find_quantity(q.name).component == -1);
    CHECK((carom::find_quantity(q.name + ".w").quantity == &q) == (q.components == 4));
    CHECK((carom::find_quantity(q.name + ".z").quantity == &q) == (q.components == 3 || q.components == 4));
    CHECK((carom::find_quantity(q.name + ".yz").quantity == &q) == (q.components == 6));
    CHECK_FALSE(q.help.empty());
  }
}

TEST_CASE("nearest name: few changes, exchanged letters, case, the same beginning, or none") {
  const std::vector<std::string> names = {"young", "poisson", "density", "rho_infinity"};
  CHECK(carom::nearest_name("yuong", names) == "young");
  CHECK(carom::nearest_name("Density", names) == "density");
  CHECK(carom::nearest_name("youngs_modulus", names) == "young");
  CHECK(carom::nearest_name("rho", names) == "rho_infinity");
  CHECK(carom::nearest_name("colour", names).empty());
  CHECK(carom::nearest_name("", names).empty());
  CHECK(carom::nearest_name(std::string(1000, 'y'), names).empty());
}

TEST_CASE("the reference page has a table of every object that a model may hold, of every type") {
  using carom::spec::Node;
  // the first cells of its tables
  std::set<std::vector<std::string>> tables;
  std::vector<std::string> keys;
  std::istringstream page(carom::model_reference());
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `")) {
      keys.push_back(line.substr(3, line.find('`', 3) - 3));
    } else if (!line.starts_with("|--")) {
      tables.insert(keys);
      keys.clear();
    }
  }
  const std::function<void(const Node&, const std::string&)> visit = [&](const Node& node, const std::string& path) {
    std::vector<std::string> expected;
    for (const carom::spec::Key& key : node.keys) {
      expected.push_back(key.name);
      visit(key.value, path + "/" + key.name);
    }
    CAPTURE(path);
    if (!expected.empty()) CHECK(tables.contains(expected));
    for (const Node& item : node.item) visit(item, path);
    for (const carom::spec::Variant& variant : node.variants) visit(variant.object, path + " " + variant.type);
  };
  visit(carom::model_spec(), "");
}

TEST_CASE("model: many spheres with friction among them have a coarser default of the constraint tolerance") {
  const auto tolerance = [](int spheres, double friction, const std::vector<std::string>& overrides = {}) {
    nlohmann::json model = {{"format", 1},
                            {"gravity", {0, 0, -9.81}},
                            {"integrator", {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 1}}}};
    nlohmann::json names = nlohmann::json::array();
    for (int i = 0; i < spheres; ++i) {
      names.push_back("s" + std::to_string(i));
      model["bodies"].push_back({{"name", names.back()},
                                 {"type", "rigid"},
                                 {"mass", 1},
                                 {"shape", {{"type", "sphere"}, {"radius", 0.1}}},
                                 {"position", {0.3 * i, 0, 0}}});
    }
    model["contacts"] = {{{"name", "pile"}, {"between", names}, {"friction", friction}}};
    const ModelDocument document = parse_model(model.dump(), "pile.json", overrides);
    REQUIRE_MESSAGE(document.ok(), document.report());
    // a resolved model resolves to itself
    CHECK(parse_model(document.resolved().dump(), "again.json").resolved() == document.resolved());
    return document.resolved()["integrator"]["newton"]["constraint_tolerance"].get<double>();
  };
  CHECK(tolerance(50, 0.5) == 1e-6);
  CHECK(tolerance(50, 0) == 1e-11);
  CHECK(tolerance(49, 0.5) == 1e-11);
  CHECK(tolerance(50, 0.5, {"/integrator/newton/constraint_tolerance=1e-9"}) == 1e-9);
}
