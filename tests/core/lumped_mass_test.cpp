// The lumped mass and the constraint problem of explicit steps.
#include "core/mechanics/lumped_mass.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "integrators/common/row_impulses.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

const char* const mixed = R"_({"format": 1, "gravity": [0, 0, -9.81],
  "materials": [{"name": "soft", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 500}],
  "sections": [{"name": "square", "type": "rectangle", "width": 0.1, "height": 0.1}],
  "bodies": [
    {"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 2,
     "from": [0, 0, 1], "to": [1, 0, 1]},
    {"name": "box", "type": "rigid", "mass": 3, "shape": {"type": "box", "size": [0.2, 0.3, 0.1]},
     "position": [2, 0, 0.05]},
    {"name": "point", "type": "point_mass", "mass": 0.7, "position": [3, 0, 1]},
    {"name": "double", "type": "coordinates", "coordinates": [{"name": "a", "position": 0.3}, {"name": "b"}],
     "mass_matrix": [["2 + cos(b)", "1 + cos(b)/2"], ["1 + cos(b)/2", 1]]
}],
  "joints": [{"name": "rod", "type": "distance", "of": ["arm.end", "box"]}],
  "contacts": [{"name": "floor", "on": "box.vertices", "restitution": 0,
                "obstacle": {"type": "plane", "point": [0, 0, 0], "normal": [0, 0, 1]}}],
  "integrator": {"type": "cd_lagrange", "step": 1e-5, "duration": 1}})_";

}  // namespace

TEST_CASE("lumped mass: products, solutions and sums agree with the matrix of the system") {
  ModelRun run = ModelRun::of_text(mixed);
  const System& system = run.system();
  LumpedMass mass(system);
  CHECK(mass.massless() == -1);
  const std::size_t n = static_cast<std::size_t>(system.size());
  Vector x(n), y(n), z(n), q = run.state().q;
  for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(1.0 + 3.0 * static_cast<double>(i));
  q.back() = 0.9;  // M of the coordinates depends on the second one
  for (const Vector& place : {run.state().q, q}) {
    REQUIRE(mass.update(place));
    system.mass_times(place, x, y, MassKind::lumped);
    mass.times(x, z);
    for (std::size_t i = 0; i < n; ++i) CHECK(z[i] == doctest::Approx(y[i]).epsilon(1e-13));
    mass.solve(z, z);
    for (std::size_t i = 0; i < n; ++i) CHECK(z[i] == doctest::Approx(x[i]).epsilon(1e-12));
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
    CHECK(mass.product(x, x) == doctest::Approx(sum).epsilon(1e-13));
    // x . M (q' - x) by two sums
    const Vector other(n, 0.25);
    const auto products = mass.products<5>({{{x, x}, {x, other, x}, {other, other}, {other, x, y}, {y, y}}});
    CHECK(products[0] == doctest::Approx(sum).epsilon(1e-13));
    CHECK(products[1] == doctest::Approx(mass.product(x, other) - sum).epsilon(1e-13));
    CHECK(products[2] == doctest::Approx(mass.product(other, other)).epsilon(1e-13));
    CHECK(products[3] == doctest::Approx(mass.product(other, x) - mass.product(other, y)).epsilon(1e-13));
    CHECK(products[4] == doctest::Approx(mass.product(y, y)).epsilon(1e-13));
  }
  // half of the beam's mass is at its middle node, in each of three translations
  CHECK(std::count_if(mass.masses().begin(), mass.masses().end(),
                      [](double m) { return std::abs(m - 0.01 * 500 * 0.5) < 1e-12; }) == 3);
}

TEST_CASE("row impulses: a box that falls on its face, with redundant rows, obeys complementarity") {
  ModelRun run = ModelRun::of_text(mixed);
  const System& system = run.system();
  const LumpedMass mass(system);
  RowImpulses impulses(system, mass);
  std::vector<int> rows;
  for (int row = 0; row < system.rows(); ++row)
    if (row < system.bilateral() || system.row_gap(row, run.state().q, 0) < 1e-12) rows.push_back(row);
  REQUIRE(rows.size() == 5);
  impulses.set_rows(rows, run.state().q, 0, nullptr);
  CHECK_FALSE(impulses.diagonal());
  for (const double spin : {0.0, 3.0, -8.0}) {
    CAPTURE(spin);
    Vector v(static_cast<std::size_t>(system.size()), 0.0), c(rows.size()), r(rows.size(), 0.0);
    const int frame = system.dofs().rotating_frames().back().equation;
    v[static_cast<std::size_t>(frame - 1)] = -1;
    v[static_cast<std::size_t>(frame)] = spin;
    for (std::size_t i = 0; i < rows.size(); ++i) c[i] = impulses.rate(i, v);
    REQUIRE(impulses.solve(c, 1e-15, r));
    impulses.add_velocity(1.0, r, v);
    CHECK(std::abs(impulses.rate(0, v)) < 1e-12);
    double total = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const double rate = impulses.rate(i, v);
      CHECK(rate > -1e-9);
      CHECK(r[i] >= 0);
      CHECK(std::abs(r[i] * rate) < 1e-9);
      total += r[i];
    }
    CHECK(total > 0);
    if (spin == 0) CHECK(impulses.redundant());
  }
}
