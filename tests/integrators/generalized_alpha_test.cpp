// Order of the generalized-alpha method on a smooth nonlinear problem, with constant and with changing steps.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::difference;
using carom::test::ModelRun;

namespace {

// A tumbling body and two masses on springs and dampers between frames, points and ground.
const char* const model = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "ground": [{"name": "o", "at": [0, 0, 0]}],
  "bodies": [
    {"name": "body", "type": "rigid", "mass": 2, "inertia": [0.04, 0.05, 0.03, 0.004, 0.002, -0.003],
     "angular_velocity": [3, -2, 4], "velocity": [0.3, 0, 0.2],
     "points": [{"name": "a", "at": [0.2, 0.1, 0]}, {"name": "b", "at": [-0.1, 0.05, 0.2]}]},
    {"name": "m1", "type": "point_mass", "mass": 0.5, "position": [0.7, 0.1, -0.2], "velocity": [0, 1, 0]},
    {"name": "m2", "type": "point_mass", "mass": 0.8, "position": [1.1, 0.3, -0.3]}
  ],
  "springs": [
    {"name": "s1", "of": ["ground.o", "body.b"], "stiffness": 150, "damping": 3, "natural_length": 0.1},
    {"name": "s2", "of": ["body.a", "m1"], "stiffness": 80, "damping": 1.5},
    {"name": "s3", "of": ["m1", "m2"], "stiffness": 60, "damping": 0.5}
  ],
  "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5, "rho_infinity": 0.8}
})";

double order(const std::vector<double>& error) {  // each step is half of the preceding one
  return std::log2(error.front() / error.back()) / static_cast<double>(error.size() - 1);
}

// Integrates with steps pattern[i % n] * h up to the end.
State march(double h, const std::vector<double>& pattern, const std::vector<std::string>& set, bool rescale = true) {
  ModelRun run = ModelRun::of_text(model, set);
  State& s = run.state();
  // the integrator was initialised with the model's step; a_0 = v'_0 is valid for any step
  double sum = 0;
  for (const double p : pattern) sum += p;
  const long rounds = std::lround(0.5 / (h * sum));
  for (long k = 0; k < rounds; ++k)
    for (const double p : pattern) {
      if (!rescale) s.last_h = p * h;  // hides the change of the step, so that a_n does not move
      REQUIRE(run.step(p * h).converged);
    }
  REQUIRE(s.t == doctest::Approx(0.5));
  return s;
}

struct Orders {
  double q, v;
};
Orders orders(const std::vector<double>& pattern, const std::vector<std::string>& set, bool rescale = true) {
  const State exact = march(3.125e-5, {1, 1}, {});
  std::vector<double> q, v;
  for (const double h : {4e-3, 2e-3, 1e-3, 5e-4}) {
    const State s = march(h * 1.25 / 2, pattern, set, rescale);
    q.push_back(difference(s.q, exact.q));
    v.push_back(difference(s.v, exact.v));
  }
  return {order(q), order(v)};
}

}  // namespace

TEST_CASE("generalized-alpha: order two for springs and dampers between frames and points") {
  for (const char* rho : {"/integrator/rho_infinity=0", "/integrator/rho_infinity=0.5", "/integrator/rho_infinity=0.8",
                          "/integrator/rho_infinity=1"})
    for (const char* start :
         {"/integrator/initial_acceleration=consistent", "/integrator/initial_acceleration=shifted"}) {
      CAPTURE(std::string(rho));
      CAPTURE(std::string(start));
      const Orders o = orders({1, 1}, {rho, start});
      CHECK(o.q > 1.95);
      CHECK(o.q < 2.05);
      CHECK(o.v > 1.95);
      CHECK(o.v < 2.05);
    }
}

TEST_CASE("generalized-alpha: order two with changing steps, since a_n moves with the step") {
  const Orders o = orders({1.5, 0.5}, {});
  CHECK(o.q > 1.9);
  CHECK(o.q < 2.1);
  CHECK(o.v > 1.9);
  CHECK(o.v < 2.1);
  // if a_n does not move to its new time the velocity error tends to O(h)
  const Orders wrong = orders({1.5, 0.5}, {}, false);
  CHECK(wrong.q < 1.6);
  CHECK(wrong.v < 1.3);
}

TEST_CASE("generalized-alpha: the initial acceleration is that of the equations of motion or of the time of a_0") {
  // a mass on a spring along x: x'' = -k/m x, so x''(tau) = -k/m x(0) cos(omega tau) + O(tau^3) from rest
  const char* const oscillator = R"({
    "format": 1, "ground": [{"name": "o", "at": [0, 0, 0]}],
    "bodies": [{"name": "m", "type": "point_mass", "mass": 2, "position": [1.5, 0, 0], "velocity": [0.7, 0, 0]}],
    "springs": [{"name": "s", "of": ["ground.o", "m"], "stiffness": 50, "natural_length": 1}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1, "rho_infinity": 0.8}
  })";
  ModelRun consistent = ModelRun::of_text(oscillator);
  CHECK(consistent.state().acceleration[0] == doctest::Approx(-12.5).epsilon(1e-14));
  CHECK(consistent.state().history[0].values[0] == consistent.state().acceleration[0]);

  ModelRun shifted = ModelRun::of_text(oscillator, {"/integrator/initial_acceleration=shifted"});
  CHECK(shifted.state().acceleration[0] == doctest::Approx(-12.5).epsilon(1e-14));
  // x - 1 = 0.5 cos(5 t) + 0.14 sin(5 t); tau = (alpha_m - alpha_f) h = -0.2/1.8 h
  const double tau = -0.2 / 1.8 * 1e-3, omega = 5;
  const double exact = -25 * (0.5 * std::cos(omega * tau) + 0.14 * std::sin(omega * tau));
  CHECK(std::abs(shifted.state().history[0].values[0] - exact) < 1e-9);
  CHECK(std::abs(consistent.state().history[0].values[0] - exact) > 1e-3);
}
