// The worked example of CONTRIBUTING.md: a joint with a new kind of row, which is compiled and run here from the text
// of that page.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "elements/joints/screw.hpp"
#include "io/model/types/registry.hpp"
#include "tests/contract/constraint_contract.hpp"
#include "tests/support/model_run.hpp"

namespace carom {
JointType screw_type();
}

namespace {

using namespace carom;
using namespace carom::test;

// What a line of registry.cpp does for types of carom.
[[maybe_unused]] const bool added = (add_joint_type(screw_type()), true);

std::string text_of_file(const std::string& name) {
  std::ifstream file(std::string(CAROM_SOURCE_DIR) + "/" + name, std::ios::binary);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("screw: CONTRIBUTING.md shows the very text that is compiled here") {
  const std::string page = text_of_file("CONTRIBUTING.md");
  for (const char* name : {"elements/joints/screw.hpp", "elements/joints/screw.cpp", "io/model/types/screw.cpp"}) {
    INFO(name);
    const std::string text = text_of_file(std::string("tests/example/") + name);
    CHECK(page.find("`" + std::string(name) + "`:\n\n```cpp\n" + text + "```\n") != std::string::npos);
  }
}

TEST_CASE("screw: the contract of constraints") {
  const auto build = [](System& system) {
    std::vector<Screw> items;
    for (const double lead : {0.4, 1.7}) {
      JointCoordinate s, phi;
      const double q[7] = {0, 0, 0, 1, 0, 0, 0};
      s.node_a = phi.node_a = system.add_node(NodeKind::frame, q, "a");
      s.node_b = phi.node_b = system.add_node(NodeKind::frame, q, "b");
      s.offset_a = Vec3(0.2, -0.15, 0.1);
      s.offset_b = Vec3(-0.1, 0.05, 0.25);
      s.axis = Vec3(1, 2, -1).normalized();
      phi.kind = JointCoordinate::Kind::angle;
      set_angle_frames(phi, s.axis, {1, 0, 0, 0}, {1, 0, 0, 0});
      items.push_back({"screw", s, phi, lead});
    }
    system.add(std::make_unique<ScrewBlock>(std::move(items)));
  };
  // a moment acts beside the force: the place is not that of a force alone
  const ConstraintCase screw{"screws", build, Reaction::none, [](const System& system, Random& random, Motion& m) {
                               // no relative rotation near pi about an axis across, where the angle is undefined
                               for (int node = 0; node < system.dofs().nodes(); ++node) {
                                 double* q = m.q.data() + system.dofs().configuration_offset(node);
                                 const Quaternion p = so3::exp_quaternion(Vec3(0.5 * random.direction()));
                                 for (int i = 0; i < 4; ++i) q[3 + i] = p[i];
                               }
                             }};
  for (const auto& check :
       {check_gradient, check_rate, check_bias, check_rate_gradient, check_reaction, check_reaction_gradient,
        check_constraint_traits, check_zero_multipliers, check_constraint_ranges, check_constraint_accumulation,
        check_single_values, check_constraint_no_allocation})
    check(screw);
}

// A nut on a vertical screw that stands: phi = 2 pi z/p, so that (m + J (2 pi/p)^2) z'' = -m g.
TEST_CASE("screw: a nut falls with the inertia of its turning") {
  const double m = 2, J = 0.03, p = 0.5, g = 9.81, t = 0.5;
  ModelRun nut = ModelRun::of_text(R"({
    "format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "nut", "type": "rigid", "mass": 2, "inertia": [0.01, 0.02, 0.03]}],
    "joints": [{"name": "thread", "type": "screw", "of": ["ground", "nut"], "axis": [0, 0, 1], "lead": 0.5}],
    "output": {"vtu": {"enabled": false}},
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5}
  })");
  REQUIRE(nut.run() == RunStatus::completed);
  const double ratio = 2 * M_PI / p, a = -m * g / (m + J * ratio * ratio), z = nut.position("nut")[2];
  CHECK(z == doctest::Approx(0.5 * a * t * t).epsilon(1e-9));
  // the angle is z 2 pi/p, and energy is kept: m g z + 1/2 (m + J ratio^2) z'^2 = 0
  const double* q = nut.model->state.q.data();
  CHECK(2 * std::atan2(q[6], q[3]) == doctest::Approx(ratio * z).epsilon(1e-9));
  CHECK(nut.model->state.v[5] == doctest::Approx(ratio * a * t).epsilon(1e-9));
}

TEST_CASE("screw: messages and the schema know the new type") {
  const std::string model = R"({
    "format": 1,
    "bodies": [{"name": "nut", "type": "rigid", "mass": 2, "inertia": [0.01, 0.02, 0.03]}],
    "joints": [{"name": "thread", "type": "screw", "of": ["ground", "nut"], "axis": [0, 0, 1], "lead": -1}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5}
  })";
  const ModelDocument document = parse_model(model, "test.json", {});
  REQUIRE(document.issues().size() == 1);
  CHECK(document.issues()[0].pointer == "/joints/0/lead");
  CHECK(document.issues()[0].message == "expected a length > 0, got -1");
}

}  // namespace
