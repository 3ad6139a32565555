// Many spheres that may all touch each other.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/integrators/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// `count` balls on a loose grid, thrown together without gravity; 435 pairs for 30.
std::string cluster(int count, double restitution) {
  std::string bodies, names;
  for (int i = 0; i < count; ++i) {
    const double x = 0.25 * (i % 3) - 0.25 + 0.011 * std::sin(7.0 * i),
                 y = 0.25 * (i / 3 % 3) - 0.25 + 0.013 * std::cos(5.0 * i), z = 0.25 * (i / 9) - 0.375;
    const std::string name = "b" + std::to_string(i), comma = i == 0 ? "" : ", ";
    bodies += comma + R"({"name": ")" + name + R"(", "type": "rigid", "mass": )" + std::to_string(1 + 0.1 * (i % 7)) +
              R"(, "shape": {"type": "sphere", "radius": 0.1}, "position": [)" + std::to_string(x) + ", " +
              std::to_string(y) + ", " + std::to_string(z) + R"(], "velocity": [)" + std::to_string(-2 * x) + ", " +
              std::to_string(-2 * y) + ", " + std::to_string(-2 * z) + "]}";
    names += comma + "\"" + name + "\"";
  }
  return R"({"format": 1, "bodies": [)" + bodies + R"(], "contacts": [{"name": "pairs", "between": [)" + names +
         R"(], "restitution": )" + std::to_string(restitution) +
         R"(}], "integrator": {"type": "nsga_decoupled", "step": 2e-3, "duration": 0.4, "rho_infinity": 0.8}})";
}

}  // namespace

TEST_CASE("spheres: a cluster thrown together keeps its momenta, never penetrates and needs no smaller step") {
  // up to 18 balls (153 pairs) the matrix holds all geometric terms, beyond only those within a node
  for (const int count : {18, 30}) {
    CAPTURE(count);
    ModelRun run = ModelRun::of_text(cluster(count, 0.3));
    const Momenta before = run.system().momenta(run.state().q, run.state().v);
    const double energy = run.energy();
    REQUIRE(run.run() == RunStatus::completed);
    const Momenta after = run.system().momenta(run.state().q, run.state().v);
    CHECK(run.statistics.subdivided_steps == 0);
    CHECK(run.statistics.impacts > 20);
    CHECK(run.statistics.smallest_gap > -1e-11);
    CHECK(run.statistics.position_residual < 1e-10);
    CHECK(run.statistics.velocity_residual < 1e-10);
    // impulses act along lines through both centres
    CHECK((after.linear - before.linear).norm() < 1e-11);
    // and the position correction moves centres by O(h) at every impact, which turns momentum by as much
    CHECK((after.angular - before.angular).norm() < run.h() * energy);
    CHECK(run.energy() < energy);
  }
}
