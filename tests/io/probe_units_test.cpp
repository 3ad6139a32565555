#include "io/results/probes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "io/model/model.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

TEST_CASE("probes: the stop of an angle has gaps in rad and moments, that of a displacement has lengths and forces") {
  ModelRun run = ModelRun::of_text(R"({"format": 1,
    "bodies": [{"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]},
               {"name": "b", "type": "rigid", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "hinge", "type": "revolute", "of": ["ground", "a"], "axis": [0, 0, 1],
                "stops": {"upper": 1}},
               {"name": "slide", "type": "prismatic", "of": ["ground", "b"], "axis": [0, 0, 1],
                "stops": {"upper": 1}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})");
  for (const auto& [stop, units] : {std::pair{"hinge.upper", std::vector<std::string>{"rad", "rad/s", "N m", "N m s"}},
                                    std::pair{"slide.upper", std::vector<std::string>{"m", "m/s", "N", "N s"}}}) {
    std::vector<std::string> found;
    run.model->output.probes.clear();
    for (const char* quantity : {"gap", "gap_velocity", "contact_force", "contact_impulse"})
      run.model->output.probes.push_back({.name = quantity, .of = stop, .quantity = quantity, .pointer = ""});
    ModelIssues issues;
    for (const Probe& probe : make_probes(*run.model, issues)) found.push_back(probe.unit);
    CHECK(issues.empty());
    CHECK(found == units);
  }
}
