// Documents that repeat facts of the program must agree with the program.

#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

using namespace carom::cli_test;

namespace {

std::string document(const std::string& path) { return read(std::string(CAROM_SOURCE_DIR) + "/" + path); }

}  // namespace

TEST_CASE("documents: docs/model_reference.md is what the program prints") {
  const TemporaryDirectory directory;
  const bool is_current = run_carom(directory, {"schema", "--markdown"}).out == document("docs/model_reference.md");
  CHECK_MESSAGE(is_current, "write it again with: ./carom build release reference");
}

TEST_CASE("documents: data/schema/carom.schema.json is what the program prints") {
  const TemporaryDirectory directory;
  const bool is_current = run_carom(directory, {"schema"}).out == document("data/schema/carom.schema.json");
  CHECK_MESSAGE(is_current, "write it again with: ./carom build release reference");
}

TEST_CASE("documents: the tables of models name every model") {
  const std::string readme = document("README.md"), data = document("data/README.md");
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    CHECK(readme.find("`" + name + "`") != std::string::npos);
    CHECK(data.find("`" + name + "`") != std::string::npos);
  }
}

TEST_CASE("documents: the user guide explains every key of summary.json") {
  const TemporaryDirectory directory;
  const std::string guide = document("docs/user_guide.md");
  run_carom(directory, {"run", model_path("brick"), "-q", "-o", "r", "--set", "/integrator/max_subdivisions=0", "--set",
                        "/integrator/newton/max_iterations=3"});
  const nlohmann::json summary = read_json(directory / "r/summary.json");
  for (const auto& entry : summary.items()) {
    const auto& key = entry.key();  // clang 14 captures no structured binding
    const auto& value = entry.value();
    CAPTURE(key);
    CHECK(guide.find("`" + key) != std::string::npos);
    if (!value.is_object()) continue;
    for (const auto& inner : value.items()) {
      const auto& part = inner.key();
      CAPTURE(part);
      CHECK(guide.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("documents: the user guide's own model runs") {
  // the first JSON block of the document
  const TemporaryDirectory directory;
  for (const char* path : {"README.md", "docs/user_guide.md"}) {
    CAPTURE(path);
    const std::string text = document(path);
    const std::size_t begin = text.find("```json\n{\n");
    REQUIRE(begin != std::string::npos);
    const std::size_t from = begin + 8;
    write(directory / "my_model.json", text.substr(from, text.find("```", from) - from));
    const Outcome outcome = run_carom(directory, {"run", "my_model.json"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.find("error") == std::string::npos);
    CHECK(outcome.out.starts_with("completed; results in results/my_model\n"));
  }
}
