// io/schema as a separate library: a declaration without mechanics.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/errors.hpp"
#include "io/schema/documentation.hpp"
#include "io/schema/spec.hpp"

namespace {

using namespace carom::spec;
using nlohmann::json;

constexpr int a_book = 7, a_shelf = 8;

Node library() {
  const Node book = tagged("book", {{"paper",
                                     "a book to hold",
                                     {
                                         required("name", name(), "name of the book"),
                                         preset("pages", integer().at_least(1), 100, "its length"),
                                         optional("mass", number("mass").above(0), "what it weighs"),
                                         optional("shelf", reference("shelf", a_shelf), "where it stands"),
                                     }},
                                    {"audio",
                                     "a book to hear",
                                     {
                                         required("name", name(), "name of the recording"),
                                         required("reads", reference("book", a_book), "the book that is read"),
                                     }}});
  return object("library", {required("books", list("books", book).nonempty(), "what can be borrowed"),
                            preset("open", choice({{"always", "day and night"}, {"never", "by letter only"}}), "always",
                                   "when one may come")});
}

}  // namespace

TEST_CASE("schema: a document is completed, and its references come back with the caller's numbers") {
  const json document = {{"books",
                          {{{"type", "paper"}, {"name", "a"}, {"mass", "=2*m"}, {"shelf", "left"}},
                           {{"type", "audio"}, {"name", "b"}, {"reads", "a"}}}}};
  const Outcome outcome = resolve(library(), document, {{"m", 0.25}});
  CHECK(outcome.problems.empty());
  CHECK(outcome.value == json({{"open", "always"},
                               {"books",
                                {{{"type", "paper"}, {"name", "a"}, {"pages", 100}, {"mass", 0.5}, {"shelf", "left"}},
                                 {{"type", "audio"}, {"name", "b"}, {"reads", "a"}}}}}));
  CHECK(outcome.used_parameters == std::set<std::string>{"m"});
  REQUIRE(outcome.references.size() == 2);
  CHECK(outcome.references[0].pointer == "/books/0/shelf");
  CHECK(outcome.references[0].text == "left");
  CHECK(outcome.references[0].target == a_shelf);
  CHECK(outcome.references[1].pointer == "/books/1/reads");
  CHECK(outcome.references[1].target == a_book);
}

TEST_CASE("schema: every wrong value is a problem at its place, with what is allowed") {
  const json document = {{"books", {{{"type", "paper"}, {"nmae", "a"}, {"pages", 0}}}}, {"open", "alwasy"}};
  const Outcome outcome = resolve(library(), document, {});
  std::string problems;
  for (const Problem& p : outcome.problems) problems += p.pointer + ": " + p.message + "\n";
  CHECK(problems ==
        "/books/0/nmae: unknown key \"nmae\" of type \"paper\"; did you mean \"name\"?\n"
        "/books/0: missing key \"name\": expected a name (letters, digits, _ and -, beginning with a letter or "
        "_)\n"
        "/books/0/pages: expected an integer >= 1, got 0\n"
        "/open: expected \"always\" or \"never\", got \"alwasy\"; did you mean \"always\"?\n");
}

TEST_CASE("schema: JSON Schema, manual and tables are those of the declaration that is given") {
  const json schema = carom::json_schema(library(), "libraries");
  CHECK(schema["title"] == "libraries");
  CHECK(schema["required"] == json({"books"}));
  CHECK(schema["properties"]["open"]["enum"] == json({"always", "never"}));

  CHECK(carom::manual(library(), "books/mass") ==
        "/books/paper/mass\n"
        "  what it weighs\n"
        "  a mass > 0 [kg]; optional\n"
        "  Example:\n"
        "    \"mass\": 2\n");
  CHECK(carom::manual(library(), "books/audio")
            .ends_with("  Example:\n    {\"type\": \"audio\", \"name\": \"name\", \"reads\": \"book\"}\n"));
  CHECK_THROWS_WITH_AS(carom::manual(library(), "boks"), "no key \"boks\" in a library; did you mean \"books\"?",
                       carom::ModelError);

  const std::string tables = carom::markdown_tables(library());
  CHECK(tables.find("### /books, type `audio`\n\nA book to hear.\n") != std::string::npos);
  CHECK(tables.find("| `pages` | an integer >= 1 |  | `100` | its length |\n") != std::string::npos);
  CHECK(carom::markdown_cell("a|b") == "a\\|b");
}
