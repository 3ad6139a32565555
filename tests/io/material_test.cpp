// Materials by law, and "law" of a solid as another name for the law.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/model_run.hpp"

namespace {

using namespace carom;
using namespace carom::test;

// A cube of one element, stretched along x by a tenth.
struct Stretched {
  explicit Stretched(const std::string& type, const std::string& law = "")
      : run(ModelRun::of_text(R"({"format": 1, "materials": [{"name": "m", "type": ")" + type +
                              R"(", "young": 100, "poisson": 0.3, "density": 1}],
            "bodies": [{"name": "cube", "type": "solid", "material": "m",)" +
                              (law.empty() ? "" : R"( "law": ")" + law + "\",") +
                              R"( "mesh": {"type": "box", "size": [1, 1, 1], "divisions": [1, 1, 1]}}],
            "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})")) {
    for (std::size_t i = 0; i < run.state().q.size(); i += 3) run.state().q[i] *= 1.1;
  }
  double energy() { return run.system().energies(run.state().q, run.state().v, 0).elastic; }
  ModelRun run;
};

TEST_CASE("material: each law has its own energy, by the type of the material and by the law of the solid") {
  // F = diag(1.1, 1, 1), volume 1
  const double lambda = 100 * 0.3 / (1.3 * 0.4), mu = 100 / 2.6, J = 1.1;
  const double E = 0.5 * (J * J - 1), e = J - 1;
  const double green = 0.5 * lambda * E * E + mu * E * E, small = 0.5 * lambda * e * e + mu * e * e,
               neo = 0.5 * mu * (J * J - 1) - mu * std::log(J) + 0.5 * lambda * std::log(J) * std::log(J);
  struct Case {
    std::string law;
    double energy;
  };
  for (const Case& c : {Case{"saint_venant_kirchhoff", green}, {"corotational", small}, {"neo_hookean", neo}}) {
    INFO(c.law);
    CHECK(Stretched(c.law).energy() == doctest::Approx(c.energy).epsilon(1e-12));
    CHECK(Stretched("linear_elastic", c.law).energy() == doctest::Approx(c.energy).epsilon(1e-12));
  }
  CHECK(Stretched("linear_elastic").energy() == doctest::Approx(green).epsilon(1e-12));
}

}  // namespace
