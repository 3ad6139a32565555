// The examples of `carom schema KEY` are values that the reader accepts.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "io/model/model_spec.hpp"
#include "io/schema/documentation.hpp"
#include "io/schema/spec.hpp"

using namespace carom;
using nlohmann::json;

namespace {

std::string problems(const spec::Node& node, const json& value) {
  std::string out;
  for (const spec::Problem& p : spec::resolve(node, value, {}).problems) out += p.pointer + ": " + p.message + "\n";
  return out;
}

bool in_rules(const spec::Node& object, const std::string& key) {
  for (const spec::KeyRule& rule : object.rules)
    for (const auto& alternative : rule.alternatives)
      for (const std::string& name : alternative)
        if (name == key) return true;
  return false;
}

int examples = 0;

/// Examples of an object, and of the same with each further key. `tagged`: null for an object without types.
void check_object(const spec::Node& object, const spec::Node* tagged, const json& value, const std::string& path);

void check_node(const spec::Node& node, const std::string& path) {
  const spec::Node* inner = &node;
  while (!inner->item.empty()) inner = &inner->item[0];
  if (inner->variants.empty())
    check_object(*inner, nullptr, json(example(*inner)), path);
  else
    for (const spec::Variant& variant : inner->variants)
      check_object(variant.object, inner, json(example(variant)), path + "/" + variant.type);
}

void check_object(const spec::Node& object, const spec::Node* tagged, const json& value, const std::string& path) {
  if (object.keys.empty()) return;
  CAPTURE(path);
  CAPTURE(value.dump());
  ++examples;
  CHECK(problems(tagged != nullptr ? *tagged : object, value) == "");
  CHECK(manual(model_spec(), path).find("Example:") != std::string::npos);
  for (const spec::Key& key : object.keys) {
    if (!key.is_required && !in_rules(object, key.name)) {
      json more = value;
      more[key.name] = json(example(key.value));
      CAPTURE(key.name);
      CAPTURE(more.dump());
      ++examples;
      CHECK(problems(tagged != nullptr ? *tagged : object, more) == "");
    }
    check_node(key.value, path + "/" + key.name);
  }
}

}  // namespace

TEST_CASE("examples: every key and every type of a model has an example, which the reader accepts") {
  examples = 0;
  for (const spec::Key& key : model_spec().keys) check_node(key.value, "/" + key.name);
  CHECK(examples > 300);
}

TEST_CASE("examples: short ones stand on a line, long ones are indented") {
  CHECK(example_text({{"a", {1, 2}}}, 0, 0) == R"({"a": [1, 2]})");
  const std::string word(60, 'x');
  CHECK(example_text({{"a", word}, {"b", {word}}}, 2, 2) ==
        "{\n    \"a\": \"" + word + "\",\n    \"b\": [\"" + word + "\"]\n  }");
}
