// CD-Lagrange against closed forms and the figures of an independent implementation.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "core/base/vector_ops.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "integrators/methods/cd_lagrange.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::ModelRun;

namespace {

// A mass on a spring and a damper, without contact: x'' + 2 d w x' + w^2 x = 0, w^2 = 40, rest at x = 1.
std::string oscillator(const std::string& integrator, double damping = 0) {
  return R"({"format": 1, "gravity": [0, 0, 0],
    "bodies": [{"name": "m", "type": "point_mass", "mass": 1, "position": [1.5, 0, 0], "fixed": ["y", "z"]}],
    "ground": [{"name": "o", "at": [0, 0, 0]}],
    "springs": [{"name": "s", "of": ["ground.o", "m"], "stiffness": 40, "natural_length": 1, "damping": )" +
         std::to_string(damping) + "}], \"integrator\": " + integrator + "}";
}

// A brick that turns freely about no principal axis.
std::string free_body(double h, double duration) {
  return R"({"format": 1,
    "bodies": [{"name": "b", "type": "rigid", "mass": 2, "inertia": [0.1, 0.2, 0.25], "position": [0.3, 0.1, 0],
                "velocity": [1, 0, 0.5], "angular_velocity": [3, -2, 1.5]}],
    "integrator": {"type": "cd_lagrange", "step": )" +
         std::to_string(h) + ", \"duration\": " + std::to_string(duration) + "}}";
}

}  // namespace

TEST_CASE("CD-Lagrange: without contact it is the central-difference method, to rounding") {
  const double h = 0.05, w2 = 40;
  ModelRun run = ModelRun::of_text(oscillator(R"({"type": "cd_lagrange", "step": 0.05, "duration": 2})"));
  // u_{n+1} = 2 u_n - u_{n-1} - h^2 w^2 u_n from u_{-1} = u_0 + h^2/2 (-w^2 u_0)
  double u = 0.5, before = 0.5 - 0.5 * h * h * w2 * 0.5;
  for (int n = 0; n < 40; ++n) {
    REQUIRE(run.step(run.h()).converged);
    const double next = 2 * u - before - h * h * w2 * u;
    before = u;
    u = next;
    CHECK(run.position("m").x() - 1 == doctest::Approx(u).epsilon(1e-12));
  }
}

TEST_CASE("CD-Lagrange: order 2 without damping, order 1 where damping lags by half a step") {
  const double w = std::sqrt(40.0), T = 1;
  for (const double d : {0.0, 0.1}) {
    std::vector<double> errors;
    for (const char* h : {"4e-3", "2e-3", "1e-3"}) {
      ModelRun run = ModelRun::of_text(
          oscillator(std::string(R"({"type": "cd_lagrange", "duration": 1, "step": )") + h + "}", 2 * d * w));
      REQUIRE(run.run() == RunStatus::completed);
      const double wd = w * std::sqrt(1 - d * d);
      const double exact = 0.5 * std::exp(-d * w * T) * (std::cos(wd * T) + d * w / wd * std::sin(wd * T));
      errors.push_back(std::abs(run.position("m").x() - 1 - exact));
    }
    const double order = std::log2(errors[1] / errors[2]);
    CHECK(order == doctest::Approx(d == 0 ? 2 : 1).epsilon(0.1));
  }
}

TEST_CASE("CD-Lagrange: the motion is stable to the largest step that is found, damped or not, and not beyond") {
  for (const double c : {0.0, 3.0}) {
    ModelRun probe = ModelRun::of_text(oscillator(R"({"type": "cd_lagrange", "step": 0.01, "duration": 1})", c));
    const double found = probe.integrator->find_stable_step(probe.state())->largest;
    // h^2 w^2 + 2 h c/m = 4
    CHECK(found == doctest::Approx((-c + std::sqrt(c * c + 4 * 40)) / 40).epsilon(1e-5));
    for (const double factor : {0.999, 1.02}) {
      ModelRun run = ModelRun::of_text(
          oscillator(R"({"type": "cd_lagrange", "force_step": true, "max_subdivisions": 0, "duration": 100, "step": )" +
                         std::to_string(factor * found) + "}",
                     c));
      const RunStatus status = run.run();
      CHECK((status == RunStatus::completed) == (factor < 1));
      if (factor > 1) CHECK(run.energy() < 1e3);
    }
  }
}

TEST_CASE("CD-Lagrange: a free body keeps its angular momentum and its energy for 100,000 steps") {
  ModelRun run = ModelRun::of_text(free_body(0.02, 2000));
  const Momenta start = run.system().momenta(run.state().q, run.state().v);
  const double energy = run.energy();
  double momentum = 0, drift = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const Momenta now = view.system.momenta(view.state.q, view.state.v);
    momentum = std::max(momentum, (now.angular - start.angular).norm());
    if (view.state.t > 1990) drift = std::max(drift, std::abs(run.energy() - energy));
  }) == RunStatus::completed);
  CHECK(momentum < 1e-10 * start.angular.norm());
  CHECK(drift < 2e-3 * energy);  // it oscillates with h^2 and does not drift
}

TEST_CASE("CD-Lagrange: the rotation of a free body is of order 2") {
  std::vector<Vector> ends;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    ModelRun run = ModelRun::of_text(free_body(h, 2));
    REQUIRE(run.run() == RunStatus::completed);
    Vector end = run.state().q;
    end.insert(end.end(), run.state().v.begin(), run.state().v.end());
    ends.push_back(end);
  }
  double coarse = 0, fine = 0;
  for (std::size_t i = 0; i < ends[0].size(); ++i) {
    coarse += std::pow(ends[0][i] - ends[1][i], 2);
    fine += std::pow(ends[1][i] - ends[2][i], 2);
  }
  CHECK(0.5 * std::log2(coarse / fine) == doctest::Approx(2).epsilon(0.02));
}

// ---- dissipation

namespace {

// Largest |z| of the amplification of u'' = -W^2 u, h = 1:
//   (z - 1)^2 ((1 - a) z + a) + W^2 (b z^2 + (1/2 + g - 2 b) z + 1/2 - g + b) = 0
double spectral_radius(double rho, double W) {
  const double a = (2 * rho - 1) / (1 + rho), g = 1.5 - a, b = (5 - 3 * rho) / ((1 + rho) * (1 + rho) * (2 - rho));
  const double c[4] = {a + W * W * (0.5 - g + b), (1 - a) - 2 * a + W * W * (0.5 + g - 2 * b),
                       a - 2 * (1 - a) + W * W * b, 1 - a};
  std::complex<double> z[3] = {{0.4, 0.9}, {-0.65, 0.72}, {-0.1, -1.1}};
  for (int k = 0; k < 500; ++k)
    for (int i = 0; i < 3; ++i) {
      const std::complex<double> p = ((c[3] * z[i] + c[2]) * z[i] + c[1]) * z[i] + c[0];
      z[i] -= p / (c[3] * (z[i] - z[(i + 1) % 3]) * (z[i] - z[(i + 2) % 3]));
    }
  return std::max({std::abs(z[0]), std::abs(z[1]), std::abs(z[2])});
}

}  // namespace

TEST_CASE("CD-Lagrange: the stability limit with dissipation is where a root of the amplification reaches -1") {
  for (const double rho : {1.0, 0.8, 0.5, 0.3665, 0.1}) {
    CAPTURE(rho);
    const double limit = CdLagrange::stability_limit(rho);
    CHECK(spectral_radius(rho, 0.999 * limit) < 1 + 1e-9);
    CHECK(spectral_radius(rho, 1.001 * limit) > 1 + 1e-6);
    for (double W = 0.05; W < 0.99 * limit; W += 0.05) CHECK(spectral_radius(rho, W) <= 1 + 1e-9);
  }
  CHECK(CdLagrange::stability_limit(1) == doctest::Approx(2));
}

TEST_CASE("CD-Lagrange: vibrations decay by the spectral radius of the dissipation, and the order stays 2") {
  const double rho = 0.5, w = std::sqrt(40.0);
  for (const double h : {0.2, 0.1}) {
    ModelRun run = ModelRun::of_text(oscillator(
        R"({"type": "cd_lagrange", "rho_bifurcation": 0.5, "duration": 1000, "step": )" + std::to_string(h) + "}"));
    double last = 0, first = 0;
    for (int n = 0; n < 60; ++n) {
      REQUIRE(run.step(run.h()).converged);
      const double size = std::hypot(w * (run.position("m").x() - 1), run.state().v[0]);
      if (n >= 20 && n < 40) first = std::max(first, size);
      if (n >= 40) last = std::max(last, size);
    }
    CHECK(std::pow(last / first, 1.0 / 20) == doctest::Approx(spectral_radius(rho, w * h)).epsilon(0.02));
  }
  std::vector<double> errors;
  for (const char* h : {"4e-3", "2e-3", "1e-3"}) {
    ModelRun run = ModelRun::of_text(oscillator(
        std::string(R"({"type": "cd_lagrange", "rho_bifurcation": 0.5, "duration": 1, "step": )") + h + "}"));
    REQUIRE(run.run() == RunStatus::completed);
    errors.push_back(std::abs(run.position("m").x() - 1 - 0.5 * std::cos(w)));
  }
  CHECK(std::log2(errors[1] / errors[2]) == doctest::Approx(2).epsilon(0.1));
}

// ---- contacts

namespace {

// Four balls in a row on springs between two walls, and a box that falls on its face.
const char* const coupled = R"({"format": 1, "gravity": [0, 0, -9.81],
  "bodies": [
    {"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0.4], "velocity": [1, 0, 0]},
    {"name": "b", "type": "point_mass", "mass": 2, "radius": 0.1, "position": [0.25, 0, 0.4]},
    {"name": "c", "type": "point_mass", "mass": 0.5, "radius": 0.1, "position": [0.45, 0.02, 0.4]},
    {"name": "box", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.3, 0.1]},
     "position": [2, 0, 0.2]}],
  "joints": [{"name": "rod", "type": "distance", "of": ["c", "box"]}],
  "contacts": [
    {"name": "ab", "between": ["a", "b"], "restitution": 0.5}, {"name": "bc", "between": ["b", "c"], "restitution": 0.5},
    {"name": "floor", "on": ["a", "b", "c", "box.vertices"], "restitution": 0.2,
     "obstacle": {"type": "plane", "point": [0, 0, 0], "normal": [0, 0, 1]}}],
  "integrator": {"type": "cd_lagrange", "step": 1e-3, "duration": 2}})";

}  // namespace

// Long vectors are divided among threads, here those of 11,475 equations.
TEST_CASE("CD-Lagrange: any number of threads gives the same bits, with dissipation and in contact") {
  for (const char* rho : {"1", "0.6"}) {
    CAPTURE(rho);
    Vector q, v;
    for (const int threads : {1, 2, 3}) {
      ModelRun run = ModelRun::of_file(
          "cube",
          {"/bodies/0/mesh/divisions=[14, 14, 16]", "/bodies/0/position=[0, 0, 0.0505]",
           "/bodies/0/velocity=[0, 0, -1]", "/bodies/0/angular_velocity=[3, 1, 2]",
           std::string(R"(/integrator={"type": "cd_lagrange", "step": 5e-5, "duration": 0.1, "rho_bifurcation": )") +
               rho + "}"},
          threads);
      int impacts = 0;
      for (int k = 0; k < 40; ++k) impacts += run.step(run.h()).impacts;
      if (threads == 1) q = run.state().q, v = run.state().v;
      CHECK(run.system().size() > 8192);
      CHECK(run.state().q == q);
      CHECK(run.state().v == v);
      CHECK(impacts > 0);
    }
  }
}

TEST_CASE("CD-Lagrange: coupled contacts and joints obey the impact law, and the ledger closes") {
  ModelRun run = ModelRun::of_text(coupled);
  const System& system = run.system();
  EnergyLedger ledger;
  double law = 0, pull = 0;
  long closed = 0;
  Vector before = run.state().history[0].values;
  ledger.start({system, *run.integrator, run.state(), run.report, run.h(), true});
  REQUIRE(run.run([&](const StepView& view) {
    const State& s = view.state;
    const Vector& after = s.history[0].values;
    for (int row = 0; row < system.rows(); ++row) {
      const double r = s.impulse[static_cast<std::size_t>(row)];
      const bool contact = row >= system.bilateral();
      if (contact) pull = std::min(pull, r);
      if (contact && !(r > 0)) continue;
      ++closed;
      const double e = system.contact_parameters(row).restitution;
      law = std::max(law, std::abs(system.row_rate(row, s.q, after, s.t) +
                                   e * std::min(0.0, system.row_rate(row, s.q, before, s.t))));
    }
    before = after;
    ledger.after_step(view);
  }) == RunStatus::completed);
  CHECK(closed > 1000);
  CHECK(pull == 0);
  CHECK(law < 1e-11);
  CHECK(ledger.balance().largest_closure < 1e-11 * ledger.balance().scale);
  CHECK(ledger.balance().impacts < 0);
}

TEST_CASE("CD-Lagrange: a driver that presses a body into the floor ends the run, which names the contact") {
  ModelRun run = ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
                "position": [0, 0, 0.15]}],
    "joints": [{"name": "p", "type": "prismatic", "of": ["ground", "b"], "axis": [0, 0, 1],
                "driver": {"displacement": "-0.5*t"}}],
    "initial_state": {"project": "velocities"},
    "contacts": [{"name": "f", "on": "b", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
    "integrator": {"type": "cd_lagrange", "step": 1e-3, "duration": 0.3}})");
  CHECK(run.run() == RunStatus::failed);
  CHECK(run.state().t == doctest::Approx(0.1).epsilon(0.05));
  REQUIRE(run.report.worst_row >= 0);
  CHECK(run.system().row_name(run.report.worst_row).starts_with("f"));
}

TEST_CASE("CD-Lagrange: a driver may start with another rate than its body, and give the work of that") {
  ModelRun run = ModelRun::of_text(R"({"format": 1,
    "bodies": [{"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 2, 3]}],
    "joints": [{"name": "j", "type": "revolute", "of": ["ground", "a"], "axis": [0, 0, 1], "driver": {"angle": "3*t"}}],
    "integrator": {"type": "cd_lagrange", "step": 1e-3, "duration": 0.1}})");
  REQUIRE(run.run() == RunStatus::completed);
  CHECK(run.statistics.subdivided_steps == 0);
  CHECK(run.state().v[5] == doctest::Approx(3).epsilon(1e-12));
  CHECK(run.energy() == doctest::Approx(13.5).epsilon(1e-12));
}

// At rest the energies are zero, and those of one step under loads alone are as large as the variation of T + V.
TEST_CASE("CD-Lagrange: bodies that start at rest on an edge or an end tip over, whatever the step") {
  const char* const bodies[] = {
      R"({"name": "b", "type": "rigid", "mass": 2, "shape": {"type": "box", "size": [0.2, 0.3, 0.4]},
          "position": [0, 0, 0.22061931849125516], "orientation": {"axis": [0, 1, 0], "angle": 0.3}})",
      R"({"name": "b", "type": "rigid", "mass": 1, "inertia": [0.001, 0.03, 0.03],
          "position": [0.04999550020249566, 0, 0.3], "points": [{"name": "p", "at": [-0.02, 0, -0.3]}]})"};
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i);
    const auto height = [&](double h) {
      ModelRun run = ModelRun::of_text(
          std::string(R"({"format": 1, "gravity": [0, 0, -9.81], "bodies": [)") + bodies[i] +
          R"(], "contacts": [{"name": "c", "friction": 2, "on": ")" + (i == 0 ? "b.vertices" : "b.p") +
          R"(", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}], "integrator": {"type": "cd_lagrange", "step": )" +
          std::to_string(h) + R"(, "duration": 0.2}})");
      REQUIRE(run.run() == RunStatus::completed);
      return run.position("b").z();
    };
    const double exact = height(1e-4);
    for (const double h : {2e-2, 1e-2, 4e-3, 1e-3}) CHECK(std::abs(height(h) - exact) < 0.3 * h);
  }
}

// Four tumbling boxes on spherical joints, with many contacts that move each other: the law is solved in every step.
TEST_CASE("cd_lagrange: rates of closed contacts with friction and of joints obey their laws to rounding") {
  std::string bodies, joints;
  for (int i = 0; i < 4; ++i) {
    bodies += fmt::format(R"({}{{"name": "b{}", "type": "rigid", "mass": 1, "position": [{}, 0, 0.08],
                             "shape": {{"type": "box", "size": [0.2, 0.1, 0.1]}}, "velocity": [{}, {}, -0.5],
                             "angular_velocity": [4, 2, 3],
                             "points": [{{"name": "l", "at": [-0.12, 0, 0]}}, {{"name": "r", "at": [0.12, 0, 0]}}]}})",
                          i > 0 ? ", " : "", i, 0.24 * i, 1 + i, 0.5 - i);
    if (i > 0)
      joints += fmt::format(R"({}{{"name": "j{}", "type": "spherical", "of": ["b{}.r", "b{}.l"]}})", i > 1 ? ", " : "",
                            i, i - 1, i);
  }
  ModelRun run = ModelRun::of_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81], "bodies": [{}],
    "joints": [{}], "initial_state": {{"project": "velocities"}},
    "contacts": [{{"name": "c", "on": ["b0.vertices", "b1.vertices", "b2.vertices", "b3.vertices"], "friction": 0.8, "restitution": 0.2,
                  "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "cd_lagrange", "step": 3e-3, "duration": 1}}}})",
                                               bodies, joints));
  double largest = 0;
  REQUIRE(run.run([&](const StepView& view) { largest = std::max(largest, view.report.velocity_residual); }) ==
          RunStatus::completed);
  CHECK(largest < 1e-12);
}

// A mass that is held across the belt rubs along it with the share of its slip: x'' = mu g (1 - x')/hypot(1 - x', 1).
TEST_CASE("cd_lagrange: slip that nothing moves takes its share of the friction") {
  const double mu = 0.3, g = 9.81, end = 1.2;
  double exact = 0;
  constexpr int steps = 4000;  // the midpoint rule
  const double h = end / steps;
  const auto acceleration = [&](double v) { return mu * g * (1 - v) / std::hypot(1 - v, 1); };
  for (int i = 0; i < steps; ++i) exact += h * acceleration(exact + 0.5 * h * acceleration(exact));
  const auto velocity = [&](const char* body) {
    ModelRun run = ModelRun::of_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81], "bodies": [{}],
      "contacts": [{{"name": "belt", "on": "b", "friction": 0.3,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1], "surface_velocity": [1, 1, 0]}}}}],
      "integrator": {{"type": "cd_lagrange", "step": 2e-3, "duration": 1.2}}}})",
                                                 body));
    REQUIRE(run.run() == RunStatus::completed);
    return run.model->state.v[0];
  };
  CHECK(velocity(R"({"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0], "fixed": ["y"]})") ==
        doctest::Approx(exact).epsilon(1e-3));
}

TEST_CASE("cd_lagrange: an obstacle that runs into a body that nothing moves has no solution") {
  for (const std::string fixed : {R"(["x", "y", "z"])", R"(["z"])"})
    for (const std::string friction : {"0", "0.3"}) {
      CAPTURE(fixed);
      CAPTURE(friction);
      ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1,
        "bodies": [{{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0.1], "fixed": {}}}],
        "contacts": [{{"name": "c", "on": "b", "friction": {},
                      "obstacle": {{"type": "plane", "normal": [0, 0, 1], "motion": {{"translation": [0, 0, "0.5*t"]}}}}}}],
        "integrator": {{"type": "cd_lagrange", "step": 1e-2, "duration": 0.5}}}})x",
                                                   fixed, friction));
      CHECK(run.run() == RunStatus::failed);
      CHECK(run.report.reason == FailureReason::no_friction_solution);
      CHECK(run.model->state.t == doctest::Approx(0.2).epsilon(0.02));
    }
}

// The normal rate of the incline is rounding: it is no motion that the point must follow, and nothing to the body
// beside.
TEST_CASE("explicit methods: an incline that moves in its own plane under a body that nothing moves") {
  for (const char* method : {"cd_lagrange", "paoli_schatzman"})
    for (const char* motion : {R"("-0.9*t", "0", "0.3*t")", R"("0.63*t", "0", "-0.21*t")",
                               R"x("-0.9*t*sin(20*t)", "0", "0.3*t*sin(20*t)")x"}) {
      CAPTURE(std::string(method));
      CAPTURE(std::string(motion));
      ModelRun run = ModelRun::of_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 0], "fixed": ["x", "y", "z"]}},
                   {{"name": "b", "type": "point_mass", "mass": 1, "position": [0, 0, 0]}}],
        "contacts": [{{"name": "c", "on": "a", "obstacle": {{"type": "plane", "normal": [0.3, 0.2, 0.9],
                                                            "motion": {{"translation": [{}]}}}}}},
                     {{"name": "f", "on": "b", "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "integrator": {{"type": "{}", "step": 1e-3, "duration": 0.1}}}})x",
                                                   motion, method));
      double fastest = 0, accelerated = 0;
      REQUIRE(run.run([&](const StepView& view) {
        fastest = std::max(fastest, max_abs(view.state.v));
        accelerated = std::max(accelerated, max_abs(view.state.acceleration));
      }) == RunStatus::completed);
      CHECK(fastest < 1e-12);
      if (std::string(method) == "cd_lagrange") CHECK(accelerated < 1e-9);
    }
}
