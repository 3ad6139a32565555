// Mass damping of built models.

#include <doctest/doctest.h>

#include <cmath>

#include "core/base/index.hpp"
#include "core/mechanics/system.hpp"
#include "io/results/prepared_run.hpp"

using namespace carom;

TEST_CASE("solids: mass damping has the mass matrix of the method, lumped or consistent") {
  struct {
    const char *method, *mass;
    bool lumped;
  } const cases[] = {
      {R"("cd_lagrange")", "consistent", true},     {R"("paoli_schatzman")", "consistent", true},
      {R"("carpenter")", "consistent", true},       {R"("carpenter", "implicit": true)", "consistent", false},
      {R"("nsga_decoupled")", "consistent", false}, {R"("nsga_decoupled")", "lumped", true}};
  for (const auto& c : cases) {
    CAPTURE(c.method);
    const ModelDocument document = parse_model(
        R"({"format": 1, "materials": [{"name": "s", "type": "corotational", "young": 1e6, "poisson": 0.3, "density": 1000}],
            "bodies": [{"name": "b", "type": "solid", "material": "s", "mass": ")" +
            std::string(c.mass) +
            R"(", "mesh": {"type": "box", "size": [0.2, 0.3, 0.4], "divisions": [1, 2, 1]}, "damping": {"mass": 1.5},
              "velocity": [1, 0, 0], "angular_velocity": [0, 0, 2]}],
            "integrator": {"step": 1e-4, "duration": 1, "type": )" +
            c.method + "}}",
        "test.json");
    ModelIssues issues = document.issues();
    const auto model = build_model(document, {}, issues);
    REQUIRE_MESSAGE(issues.empty(), issues.report());
    const System& system = model->system;
    const std::size_t n = at(system.size());
    std::vector<double> damping(n, 0.0), momentum(n, 0.0), other(n, 0.0);
    system.forces(model->state.q, model->state.v, 0, force_damping, damping);
    system.mass_times(model->state.q, model->state.v, momentum);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      error = std::max(error, std::abs(damping[i] + 1.5 * momentum[i]));
      size = std::max(size, std::abs(damping[i]));
    }
    CHECK(size > 1);
    CHECK(error < 1e-13 * size);
    // a corner moves with its own mass only where that is lumped
    system.mass_times(model->state.q, model->state.v, other, MassKind::lumped);
    double difference = 0;
    for (std::size_t i = 0; i < n; ++i) difference = std::max(difference, std::abs(other[i] - momentum[i]));
    CHECK((difference < 1e-13 * size) == c.lumped);
  }
}
