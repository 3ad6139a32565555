// More than twenty spheres `between` each other: rows belong to the pairs that are near, the others have none.

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "io/model/model.hpp"
#include "io/results/probes.hpp"
#include "io/studies/inventory.hpp"

using namespace carom;
using nlohmann::json;

namespace {

// Balls a and b of radius 0.1 at x = 0 and x = 1 that move along x, and held balls with gaps of 0.8 from x = 10 on.
json balls(int count) {
  json model = {{"format", 1}, {"integrator", {{"type", "nsga_decoupled"}, {"step", 1e-3}, {"duration", 1}}}};
  json& contact = model["contacts"][0] = {{"name", "touch"}};
  for (int i = 0; i < count; ++i) {
    const std::string name = i == 0 ? "a" : i == 1 ? "b" : "held_" + std::to_string(i);
    contact["between"].push_back(name);
    model["bodies"].push_back({{"name", name},
                               {"type", "point_mass"},
                               {"mass", i == 0 ? 1 : 3},
                               {"radius", 0.1},
                               {"position", {i < 2 ? i : 8 + i, 0, 0}},
                               {"fixed", i < 2 ? json{"y", "z"} : json{"x", "y", "z"}}});
  }
  return model;
}

struct Built {
  ModelDocument document;
  ModelIssues issues;
  std::unique_ptr<Model> model;
  explicit Built(const json& text)
      : document(parse_model(text.dump(), "test.json")),
        issues(document.issues()),
        model(build_model(document, {}, issues)) {}
};

double x_of(const Model& model, int body) {
  return model.state.q[at(model.system.dofs().configuration_offset(model.bodies[at(body)].nodes[0]))];
}

}  // namespace

TEST_CASE("near pairs: a projection that moves a ball into one that was not near pushes that one away") {
  // the joint moves a to x = 0.85, 0.15 before b; the impulse of the contact moves b, whose mass is held by nothing
  for (const int count : {2, 22}) {
    CAPTURE(count);
    json model = balls(count);
    model["ground"] = {{{"name", "h"}, {"at", {0.95, 0, 0}}}};
    model["joints"] = {{{"name", "pull"}, {"type", "distance"}, {"of", {"ground.h", "a"}}, {"length", 0.1}}};
    model["initial_state"] = {{"project", "all"}};
    const Built built(model);
    REQUIRE_MESSAGE(built.issues.empty(), built.issues.report());
    CHECK(x_of(*built.model, 0) == doctest::Approx(0.85).epsilon(1e-12));
    CHECK(x_of(*built.model, 1) == doctest::Approx(1.05).epsilon(1e-12));
  }
}

TEST_CASE("near pairs: a projection that can only move balls into each other is refused") {
  // a is pulled to the place of b, which is held
  for (const int count : {2, 22}) {
    CAPTURE(count);
    json model = balls(count);
    model["bodies"][1]["fixed"] = {"x", "y", "z"};
    model["ground"] = {{{"name", "h"}, {"at", {0.95, 0, 0}}}};
    model["joints"] = {{{"name", "pull"}, {"type", "distance"}, {"of", {"ground.h", "a"}}, {"length", 0.1}}};
    model["initial_state"] = {{"project", "positions"}};
    const Built built(model);
    REQUIRE(!built.issues.empty());
    CHECK(built.issues.report().find("/initial_state/project") != std::string::npos);
    if (count > 2) CHECK(built.issues.report().find("touch[a,b]") != std::string::npos);
  }
}

TEST_CASE("near pairs: the inventory shows the nearest pair, near or not, and no row without a pair") {
  json model = balls(22);
  Inventory::Contact far = inspect_model(*Built(model).model, Built(model).document).contacts[0];
  CHECK(far.smallest_gap == doctest::Approx(0.8));
  CHECK(far.touching == 0);
  model["bodies"][1]["position"][0] = 0.2;
  const Built built(model);
  REQUIRE_MESSAGE(built.issues.empty(), built.issues.report());
  const Inventory::Contact touching = inspect_model(*built.model, built.document).contacts[0];
  CHECK(touching.nearest == "touch[a,b]");
  CHECK(std::abs(touching.smallest_gap) < 1e-15);
  CHECK(touching.touching == 1);
}

TEST_CASE("near pairs: a probe of one row is refused, since rows go from pair to pair") {
  json model = balls(22);
  model["output"]["probes"] = {{{"name", "g"}, {"of", "touch[3]"}, {"quantity", "gap"}}};
  Built built(model);
  REQUIRE_MESSAGE(built.issues.empty(), built.issues.report());
  make_probes(*built.model, built.issues);
  CHECK(built.issues.report().find("its rows belong to the pairs that are near") != std::string::npos);
  CHECK(built.issues.report().find("/output/probes/0/of") != std::string::npos);
}
