// Statics of slender beams: few iterations, and the same place whatever the increments and tolerances.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "tests/support/bisect.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::bisect;
using carom::test::ModelRun;

namespace {

// A cantilever of length 1 with EI = 1, EA = slenderness, GA = EA/2, under a load across its end.
ModelRun cantilever(double slenderness, int elements, double load, int increments, const char* tolerance) {
  std::string stiffness, mass;
  const double k[6] = {slenderness, slenderness / 2, slenderness / 2, 1, 1, 1}, m[6] = {1, 1, 1, 2e-3, 1e-3, 1e-3};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      const char* const separator = j > 0 ? "," : i > 0 ? "],[" : "[[";
      stiffness += separator + (i == j ? std::to_string(k[i]) : "0");
      mass += separator + (i == j ? std::to_string(m[i]) : "0");
    }
  return ModelRun::of_text(
      R"({"format": 1,
      "sections": [{"name": "s", "type": "general", "stiffness": )" +
          stiffness + R"(]], "mass": )" + mass + R"(]]}],
      "bodies": [{"name": "b", "type": "beam", "section": "s", "from": [0, 0, 0], "to": [1, 0, 0]}],
      "loads": [{"name": "P", "type": "force", "on": "b.end", "value": [0, 0, 0]}],
      "integrator": {"type": "static"}})",
      {"/bodies/0/fixed=[{\"on\": \"start\"}]", "/bodies/0/elements=" + std::to_string(elements),
       "/loads/0/value/2=" + std::to_string(-load), "/integrator/step=" + std::to_string(1.0 / increments),
       std::string("/integrator/newton/tolerance=") + tolerance});
}

// The tip of the inextensible rod EI theta'' = -P cos(theta), theta(0) = 0 = theta'(1): shooting with Runge-Kutta.
std::pair<double, double> elastica(double P) {
  std::pair<double, double> tip;
  // the curvature at the end for the curvature kappa at the start
  const auto end_curvature = [&](double kappa) {
    constexpr int n = 2000;
    const double ds = 1.0 / n;
    std::array<double, 4> y = {0, kappa, 0, 0};  // theta, theta', x, z
    const auto slope = [&](const std::array<double, 4>& u) {
      return std::array<double, 4>{u[1], -P * std::cos(u[0]), std::cos(u[0]), -std::sin(u[0])};
    };
    const auto moved = [](std::array<double, 4> u, double h, const std::array<double, 4>& du) {
      for (std::size_t i = 0; i < 4; ++i) u[i] += h * du[i];
      return u;
    };
    for (int i = 0; i < n; ++i) {
      const auto a = slope(y), b = slope(moved(y, ds / 2, a)), c = slope(moved(y, ds / 2, b)),
                 d = slope(moved(y, ds, c));
      for (std::size_t k = 0; k < 4; ++k) y[k] += ds / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]);
    }
    tip = {y[2], y[3]};
    return y[1];
  };
  bisect(0, P, end_curvature);
  return tip;
}

}  // namespace

TEST_CASE("statics: cantilevers of any slenderness take few iterations and bend as the elastica says") {
  for (const double P : {0.1, 1.0, 10.0}) {
    const auto [x, z] = elastica(P);
    for (const double slenderness : {1e8, 1e10, 1e12}) {
      CAPTURE(P);
      CAPTURE(slenderness);
      Vec3 coarse, fine;
      for (const int elements : {32, 64}) {
        ModelRun run = cantilever(slenderness, elements, P, 10, "1e-10");
        REQUIRE(run.run() == RunStatus::completed);
        CHECK(run.statistics.subdivided_steps == 0);
        CHECK(run.statistics.iterations[0].max <= 7);
        (elements == 32 ? coarse : fine) = run.position("b.end");
      }
      // the error of the elements is of second order; that of Richardson's extrapolation, and the shear, is below 1e-6
      const Vec3 limit = (4 * fine - coarse) / 3;
      CHECK(limit.x() == doctest::Approx(x).epsilon(1e-6));
      CHECK(std::abs(limit.z() - z) < 1e-6);
    }
  }
}

TEST_CASE("statics: neither increments nor tolerances move the tip of a slender beam") {
  for (const double slenderness : {1e4, 1e9, 1e12}) {
    CAPTURE(slenderness);
    ModelRun reference = cantilever(slenderness, 32, 1, 1, "1e-13");
    REQUIRE(reference.run() == RunStatus::completed);
    const Vec3 tip = reference.position("b.end");
    for (const int increments : {1, 3, 40})
      for (const char* const tolerance : {"1e-8", "1e-13"}) {
        CAPTURE(increments);
        CAPTURE(tolerance);
        ModelRun run = cantilever(slenderness, 32, 1, increments, tolerance);
        REQUIRE(run.run() == RunStatus::completed);
        CHECK((run.position("b.end") - tip).norm() < 1e-9);
      }
  }
}

TEST_CASE("statics: a wire of 0.1 mm and 1 m bends under its weight in few iterations") {
  ModelRun run = ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, -9.81],
    "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7800}],
    "sections": [{"name": "wire", "type": "circle", "radius": 5e-5}],
    "bodies": [{"name": "wire", "type": "beam", "material": "steel", "section": "wire", "from": [0, 0, 0],
                "to": [1, 0, 0], "elements": 64, "fixed": [{"on": "start"}]}],
    "integrator": {"type": "static", "step": 0.02}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.subdivided_steps == 0);
  // w L^3/EI = 12 per increment; at 58 it depends on rounding whether the first increment is found whole
  CHECK(run.statistics.iterations[0].max <= 10);
  CHECK(run.position("wire.end").z() < -0.9);  // w L^3/EI = 583: the wire hangs from its clamp
}

TEST_CASE("statics: a strip bent about its stiff axis and across it has one place for any increments and tolerance") {
  // the Princeton beam (Dowell, Traybar 1975), its load turned by 45 degrees
  const auto tip = [](int increments, const char* tolerance) {
    ModelRun run = ModelRun::of_text(R"({"format": 1,
      "materials": [{"name": "al", "type": "linear_elastic", "young": 7.17e10, "poisson": 0.31, "density": 2700}],
      "sections": [{"name": "strip", "type": "rectangle", "width": 0.0032024, "height": 0.012377}],
      "bodies": [{"name": "b", "type": "beam", "material": "al", "section": "strip", "from": [0, 0, 0],
                  "to": [0.508, 0, 0], "elements": 16, "fixed": [{"on": "start"}]}],
      "loads": [{"name": "P", "type": "force", "on": "b.end", "value": [0, 9.436, -9.436]}],
      "integrator": {"type": "static"}})",
                                     {"/integrator/step=" + std::to_string(1.0 / increments),
                                      std::string("/integrator/newton/tolerance=") + tolerance});
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.statistics.iterations[0].max <= 6);
    return run.position("b.end");
  };
  const Vec3 reference = tip(1, "1e-13");
  CHECK(reference.y() > 0.1);
  for (const int increments : {1, 2, 7, 30})
    for (const char* const tolerance : {"1e-8", "1e-13"}) CHECK((tip(increments, tolerance) - reference).norm() < 1e-9);
}

namespace {

// A strip of 1 m, 50 mm and 5 mm of hexahedra, held at one end.
const char* const solid_strip = R"({"format": 1,
  "materials": [{"name": "m", "type": "saint_venant_kirchhoff", "young": 2.1e11, "poisson": 0.3, "density": 7850}],
  "bodies": [{"name": "b", "type": "solid", "material": "m", "fixed": [{"on": "left"}],
              "mesh": {"type": "box", "size": [1, 0.05, 0.005], "divisions": [40, 2, 1]}}],
  "integrator": {"type": "static"}})";

}  // namespace

TEST_CASE("statics: a strip of solid elements takes few iterations for a large deflection") {
  for (const char* const law : {"saint_venant_kirchhoff", "neo_hookean"}) {
    CAPTURE(law);
    const auto tip = [&](double increment) {
      ModelRun run = ModelRun::of_text(
          solid_strip,
          {std::string("/materials/0/type=\"") + law + "\"", "/integrator/step=" + std::to_string(increment),
           R"(/loads=[{"name": "F", "type": "force", "on": "b.right", "value": [0, 0, 1000]}])"});
      REQUIRE(run.run() == RunStatus::completed);
      CHECK(run.statistics.subdivided_steps == 0);
      CHECK(run.statistics.iterations[0].max <= 10);
      return run.position("b.node.40");
    };
    const Vec3 reference = tip(0.125);
    CHECK(std::abs(reference.z()) > 0.25);
    for (const double increment : {1.0, 0.5}) CHECK((tip(increment) - reference).norm() < 1e-8);
  }
}
