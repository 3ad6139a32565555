// Loads far below the roundoff of stiff members bend them like larger ones.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// The end of a steel cantilever of 10 mm x 10 mm and 1 m under a sudden load across it, over the load.
std::vector<double> flexibility(const std::string& type, int elements, double step, double load) {
  ModelRun run = ModelRun::of_text(
      R"({"format": 1,
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7800}],
    "sections": [{"name": "square", "type": "rectangle", "width": 0.01, "height": 0.01}],
    "bodies": [{"name": "b", "type": "beam", "material": "steel", "section": "square", "from": [0, 0, 0],
                "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "P", "type": "force", "on": "b.end", "value": [0, 0, 0]}],
    "integrator": {"step": 1}})",
      {"/integrator/type=" + type, "/integrator/step=" + std::to_string(step),
       "/integrator/duration=" + std::to_string(50 * step), "/bodies/0/elements=" + std::to_string(elements),
       "/loads/0/value/2=" + std::to_string(load * 1e9) + "e-9"});
  std::vector<double> z;
  REQUIRE(run.run([&](const StepView&) { z.push_back(run.position("b.end").z() / load); }) == RunStatus::completed);
  CHECK(run.statistics.subdivided_steps == 0);
  CHECK(run.statistics.mean_iterations(0) <= 3);
  return z;
}

}  // namespace

TEST_CASE("small loads: a stiff beam vibrates under 1e-8 N as under 1 N") {
  for (const char* const type : {"nsga_decoupled", "moreau_jean"})
    for (const int elements : {8, 64})
      for (const double step : {1e-3, 1e-5}) {
        CAPTURE(type);
        CAPTURE(elements);
        CAPTURE(step);
        const std::vector<double> large = flexibility(type, elements, step, 1);
        double largest = 0;
        for (const double z : large) largest = std::max(largest, std::abs(z));
        for (const double load : {1e-2, 1e-5, 1e-8}) {
          CAPTURE(load);
          const std::vector<double> small = flexibility(type, elements, step, load);
          REQUIRE(small.size() == large.size());
          double difference = 0;
          for (std::size_t i = 0; i < small.size(); ++i)
            difference = std::max(difference, std::abs(small[i] - large[i]));
          // large deflections under 1 N are of the order (P L^2/EI)^2, the rounding of places under 1e-8 N 1e-3
          CHECK(difference < 1e-4 * largest);
        }
      }
}
