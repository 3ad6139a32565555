// Resultants along beams and bars: exact for linear courses, second order for smooth ones, and the pictures of a
// cantilever against its closed form.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/index.hpp"
#include "io/results/line_values.hpp"
#include "io/results/vtu_output.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;

namespace {

std::vector<LineElement> line_of(const std::vector<double>& lengths) {
  std::vector<LineElement> line;
  for (const double length : lengths) line.push_back({length});
  return line;
}

double start_of(const std::vector<LineElement>& line, int element) {
  double x = 0;
  for (int e = 0; e < element; ++e) x += line[at(e)].length;
  return x;
}

template <class F>
std::vector<double> middles_of(const std::vector<LineElement>& line, F f) {
  std::vector<double> middles;
  for (int e = 0; e < static_cast<int>(line.size()); ++e)
    middles.push_back(f(start_of(line, e) + 0.5 * line[at(e)].length));
  return middles;
}

double value(const std::vector<LineElement>& line, const std::vector<double>& middles, LinePlace place) {
  double out = 0;
  value_along(line, middles.data(), 1, place, &out);
  return out;
}

}  // namespace

TEST_CASE("line values: a linear course is met everywhere, by elements of different lengths") {
  const std::vector<LineElement> line = line_of({0.1, 0.3, 0.2, 0.05});
  const auto f = [](double x) { return 3 - 7 * x; };
  const std::vector<double> middles = middles_of(line, f);
  for (int e = 0; e < 4; ++e)
    for (const double share : {0.0, 0.2, 0.5, 0.9, 1.0})
      CHECK(value(line, middles, {e, share}) ==
            doctest::Approx(f(start_of(line, e) + share * line[at(e)].length)).epsilon(1e-12));
}

TEST_CASE("line values: the middles keep the values of their elements, and neighbours agree at their node") {
  const std::vector<LineElement> line = line_of({0.1, 0.3, 0.2});
  const std::vector<double> middles = {4, -1, 2.5};
  for (int e = 0; e < 3; ++e) CHECK(value(line, middles, {e, 0.5}) == middles[at(e)]);
  for (int e = 0; e < 2; ++e) CHECK(value(line, middles, {e, 1}) == doctest::Approx(value(line, middles, {e + 1, 0})));
}

TEST_CASE("line values: nothing is smeared over a corner, and a side of one element is constant") {
  std::vector<LineElement> line = line_of({0.1, 0.1, 0.1, 0.1});
  line[2].corner = line[3].corner = true;
  const std::vector<double> middles = {1, 2, 10, 20};
  CHECK(value(line, middles, {0, 0}) == doctest::Approx(0.5));
  CHECK(value(line, middles, {1, 1}) == doctest::Approx(2.5));  // goes on from the first side
  for (const double share : {0.0, 0.5, 1.0}) {
    CHECK(value(line, middles, {2, share}) == 10);
    CHECK(value(line, middles, {3, share}) == 20);
  }
}

TEST_CASE("line values: the error of a smooth course falls with the square of the elements, ends included") {
  const auto f = [](double x) { return std::sin(2 * x) + x * x; };
  double before = 0;
  for (const int n : {10, 20, 40}) {
    const std::vector<LineElement> line = line_of(std::vector<double>(at(n), 1.0 / n));
    const std::vector<double> middles = middles_of(line, f);
    double error = 0;
    for (int e = 0; e < n; ++e)
      for (const double share : {0.0, 0.25, 0.75, 1.0})
        error = std::max(error, std::abs(value(line, middles, {e, share}) - f((e + share) / n)));
    if (before > 0) CHECK(before / error == doctest::Approx(4).epsilon(0.1));
    before = error;
  }
}

TEST_CASE("pictures: the bending moment of a cantilever under an end force is F (L - x) at every drawn section") {
  // a small force: the closed form of the undeformed beam
  test::ModelRun run = test::ModelRun::of_text(R"json({"format": 1,
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2e11, "poisson": 0.3, "density": 7800}],
    "sections": [{"name": "wire", "type": "circle", "radius": 0.01}],
    "bodies": [{"name": "arm", "type": "beam", "material": "steel", "section": "wire", "elements": 5,
      "from": [0, 0, 0], "to": [2, 0, 0], "fixed": [{"on": "start"}]}],
    "loads": [{"name": "pull", "type": "force", "on": "arm.end", "value": [0, 0, -1]}],
    "integrator": {"type": "static", "step": 1}})json");
  run.run();
  VtuOutput output(*run.model, "unused", "unused");
  StepReport report;
  const VtuPiece& piece = output.fill({run.system(), *run.integrator, run.state(), report, run.h(), true});
  const auto& moment =
      std::ranges::find(piece.point_fields, std::string("section_moment"), &VtuPiece::Field::name)->values;
  const auto& force =
      std::ranges::find(piece.point_fields, std::string("section_force"), &VtuPiece::Field::name)->values;
  const BodyInfo& arm = run.model->bodies[0];
  REQUIRE(arm.mesh_places.size() == arm.mesh.points.size());
  for (std::size_t i = 0; i < arm.mesh_places.size(); ++i) {
    const double x = 0.4 * (arm.mesh_places[i].element + arm.mesh_places[i].share);
    CHECK(std::hypot(moment[3 * i + 1], moment[3 * i + 2]) == doctest::Approx(2 - x).scale(1).epsilon(1e-3));
    CHECK(std::hypot(force[3 * i + 1], force[3 * i + 2]) == doctest::Approx(1).epsilon(1e-3));
  }
}
