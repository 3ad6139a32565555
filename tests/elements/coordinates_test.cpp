// Bodies of coordinates in whole models: closed forms, other formulations of the same motion, and the papers' figures.
#include "elements/bodies/coordinates.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "tests/support/counting_allocator.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::AllocationCount;
using carom::test::ModelRun;

namespace {

std::string model(const std::string& bodies, double step, double duration, const std::string& more = "") {
  return R"json({"format": 1, )json" + more + R"json( "bodies": [)json" + bodies +
         R"json(], "integrator": {"type": "nsga_decoupled", "impact": "published", "step": )json" +
         std::to_string(step) + R"json(, "duration": )json" + std::to_string(duration) +
         R"json(, "rho_infinity": 0.9}})json";
}

double value(const ModelRun& run, const std::string& coordinate) {
  const int node = run.model->find_coordinate(coordinate);
  REQUIRE(node >= 0);
  return run.model->state.q[static_cast<std::size_t>(run.system().dofs().configuration_offset(node))];
}

ModelRun completed(const std::string& text) {
  ModelRun run = ModelRun::of_text(text);
  REQUIRE(run.run() == RunStatus::completed);
  return run;
}

// Order of errors whose steps are halved.
double order(const std::vector<double>& errors) {
  return std::log2(errors.front() / errors.back()) / static_cast<double>(errors.size() - 1);
}

// y'' = f(y, y') by the classical Runge-Kutta method with steps far below those of the runs.
template <std::size_t n, class F>
std::array<double, 2 * n> runge_kutta(std::array<double, 2 * n> y, double T, int steps, const F& f) {
  using Y = std::array<double, 2 * n>;
  const double h = T / steps;
  const auto slope = [&](const Y& x) {
    Y s{};
    const std::array<double, n> a = f(x);
    for (std::size_t i = 0; i < n; ++i) s[i] = x[n + i], s[n + i] = a[i];
    return s;
  };
  const auto moved = [](const Y& x, const Y& s, double c) {
    Y z = x;
    for (std::size_t i = 0; i < 2 * n; ++i) z[i] += c * s[i];
    return z;
  };
  for (int k = 0; k < steps; ++k) {
    const Y a = slope(y), b = slope(moved(y, a, h / 2)), c = slope(moved(y, b, h / 2)), d = slope(moved(y, c, h));
    for (std::size_t i = 0; i < 2 * n; ++i) y[i] += h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i]);
  }
  return y;
}

}  // namespace

TEST_CASE("coordinates: an oscillator is linear, and its motion that of the closed form with second order") {
  const double w = 3, T = 1.5;
  const auto oscillator = [&](double h) {
    return model(
        R"json({"name": "o", "type": "coordinates", "coordinates": [{"name": "x", "position": 0.4, "velocity": 2}],
                     "masses": ["m"], "potential": "m*w^2*x^2/2"})json",
        h, T, R"json("parameters": {"m": 1.7, "w": 3},)json");
  };
  std::vector<double> errors, energies;
  for (const double h : {0.01, 0.005, 0.0025}) {
    ModelRun run = completed(oscillator(h));
    CHECK(run.system().linear());
    CHECK(run.system().symmetric());
    CHECK(run.system().constant_mass());
    errors.push_back(std::abs(value(run, "o.x") - (0.4 * std::cos(w * T) + 2 / w * std::sin(w * T))));
    energies.push_back(std::abs(run.energy() - 0.5 * 1.7 * (4 + 9 * 0.16)));
  }
  CHECK(errors.back() < 1e-4);
  CHECK(order(errors) == doctest::Approx(2).epsilon(0.05));
  CHECK(order(energies) > 1.9);
}

TEST_CASE("coordinates: a force that is no polynomial of first degree makes the system nonlinear") {
  for (const auto& [force, linear] : {std::pair{"-3*x + sin(t) - x'", true}, {"-3*x*t", false}, {"-x^3", false}}) {
    const ModelRun run = ModelRun::of_text(
        model(std::string(R"json({"name": "o", "type": "coordinates", "coordinates": [{"name": "x"}], "masses": [1],
                              "forces": [")json") +
                  force + R"json("]})json",
              0.01, 1));
    CHECK(run.system().linear() == linear);
  }
}

TEST_CASE("coordinates: a pendulum in x and y swings with the period of the elliptic integral") {
  // T = 2 pi sqrt(L/g)/M(1, cos(theta_0/2)), M the arithmetic-geometric mean: J. M. Borwein, P. B. Borwein, Pi and the
  // AGM (1987), section 1.2
  const double g = 9.81, L = 0.8, theta_0 = M_PI / 2;
  double a = 1, b = std::cos(theta_0 / 2);
  for (int k = 0; k < 8; ++k) {
    const double mean = 0.5 * (a + b);
    b = std::sqrt(a * b);
    a = mean;
  }
  const double quarter = 0.25 * 2 * M_PI * std::sqrt(L / g) / a;
  std::vector<double> errors;
  for (const int n : {100, 200, 400}) {
    // after a quarter of the period the pendulum passes its lowest place
    ModelRun run = ModelRun::of_text(model(
        R"json({"name": "p", "type": "coordinates", "coordinates": [{"name": "x", "position": 0.8}, {"name": "y"}],
                  "masses": ["m", "m"], "forces": [0, "-m*g"],
                  "constraints": [{"name": "rod", "formula": "(x^2 + y^2 - L^2)/2"}]})json",
        1, 1, R"json("parameters": {"m": 2.3, "g": 9.81, "L": 0.8},)json"));
    for (int k = 0; k < n; ++k) REQUIRE(run.step(quarter / n).converged);
    errors.push_back(std::abs(value(run, "p.x")));
    CHECK(std::hypot(value(run, "p.x"), value(run, "p.y")) == doctest::Approx(L).epsilon(1e-10));
  }
  CHECK(errors.back() < 1e-4);
  CHECK(order(errors) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("coordinates: the pendulum of [PVA18] as a DAE turns to the angle of the ODE, with second order") {
  // theta(5) of REFERENCE: (m L^2 + J) theta'' = -m g L cos(theta); gravity along -y
  const auto exact = runge_kutta<1>({M_PI / 6, 10.0}, 5, 50000, [](const std::array<double, 2>& y) {
    return std::array<double, 1>{-10 * std::cos(y[0]) / 1.1};
  });
  CHECK(exact[0] == doctest::Approx(52.35320287).epsilon(1e-10));
  std::vector<double> errors;
  for (const char* h : {"1e-3", "5e-4", "2.5e-4"}) {
    ModelRun run = ModelRun::of_file("pendulum_dae", {std::string("/integrator/step=") + h});
    REQUIRE(run.run() == RunStatus::completed);
    errors.push_back(std::abs(value(run, "pendulum.theta") - exact[0]));
    Vector g(2);
    run.system().gaps(run.state().q, run.state().t, bilateral_rows, g);
    CHECK(std::max(std::abs(g[0]), std::abs(g[1])) < 1e-11);
  }
  CHECK(errors.back() < 5e-5);
  CHECK(order(errors) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("coordinates: the bouncing pendulum of [PVA18] has the impacts of an independent implementation") {
  // rates before and after the first impact at rho 0.9, h = 1e-3; at rest the hinge and the hurdle carry 10 N each
  ModelRun run = ModelRun::of_file("pendulum_bouncing", {"/integrator/impact=\"published\""});
  const int hurdle = run.system().bilateral();
  double before = 0, after = 0, time = 0, rate = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const double now = view.system.row_rate(hurdle, view.state.q, view.state.v, view.state.t);
    if (time == 0 && view.state.closed[0] != 0) time = view.state.t, before = rate, after = now;
    rate = now;
  }) == RunStatus::completed);
  CHECK(time == doctest::Approx(0.487).epsilon(1e-12));
  CHECK(before == doctest::Approx(-2.961409383).epsilon(1e-9));
  CHECK(after == doctest::Approx(1.776845630).epsilon(1e-9));
  CHECK(run.integrator->row_force(run.state(), 0) == doctest::Approx(-10).epsilon(1e-9));
  CHECK(run.integrator->row_force(run.state(), 1) == doctest::Approx(10).epsilon(1e-9));
  CHECK(run.integrator->row_force(run.state(), hurdle) == doctest::Approx(10).epsilon(1e-9));
  // steps at rest and with constraints do not allocate
  const AllocationCount count;
  for (int k = 0; k < 5; ++k) run.step(1e-3);
  CHECK(count.value() == 0);
}

TEST_CASE("coordinates: a double pendulum in angles moves as one of point masses and rods") {
  const std::string angles = R"json({"name": "a", "type": "coordinates",
      "coordinates": [{"name": "p", "position": 1.9}, {"name": "r", "position": 0.4, "velocity": 2}],
      "mass_matrix": [["(m + n)*a^2", "n*a*b*cos(p - r)"], ["n*a*b*cos(r - p)", "n*b^2"]],
      "potential": "-(m + n)*g*a*cos(p) - n*g*b*cos(r)"})json";
  const std::string points = R"json({"name": "c", "type": "coordinates",
      "coordinates": [{"name": "x", "position": "=a*sin(1.9)"}, {"name": "y", "position": "=-a*cos(1.9)"},
                      {"name": "u", "position": "=a*sin(1.9) + b*sin(0.4)", "velocity": "=2*b*cos(0.4)"},
                      {"name": "w", "position": "=-a*cos(1.9) - b*cos(0.4)", "velocity": "=2*b*sin(0.4)"}],
      "masses": ["m", "m", "n", "n"], "forces": [0, "-m*g", 0, "-n*g"],
      "constraints": [{"name": "upper", "formula": "(x^2 + y^2 - a^2)/2"},
                      {"name": "lower", "formula": "((u - x)^2 + (w - y)^2 - b^2)/2"}]})json";
  const std::string parameters = R"json("parameters": {"m": 1.2, "n": 0.7, "a": 0.9, "b": 0.6, "g": 9.81},)json";
  // both in one model: bodies of coordinates beside each other
  std::vector<double> differences, energies;
  for (const double h : {1e-3, 5e-4, 2.5e-4}) {
    ModelRun run = ModelRun::of_text(model(angles + ", " + points, h, 1.2, parameters));
    CHECK_FALSE(run.system().constant_mass());
    const double start = run.energy();
    REQUIRE(run.run() == RunStatus::completed);
    const double p = value(run, "a.p"), r = value(run, "a.r");
    differences.push_back(std::hypot(0.9 * std::sin(p) + 0.6 * std::sin(r) - value(run, "c.u"),
                                     -0.9 * std::cos(p) - 0.6 * std::cos(r) - value(run, "c.w")));
    // the masses in x and y have no potential in their model
    const double height = 1.2 * value(run, "c.y") + 0.7 * value(run, "c.w"),
                 height_0 = -1.9 * 0.9 * std::cos(1.9) - 0.7 * 0.6 * std::cos(0.4);
    energies.push_back(std::abs(run.energy() + 9.81 * (height - height_0) - start));
  }
  CHECK(differences.back() < 1e-4);
  CHECK(order(differences) == doctest::Approx(2).epsilon(0.1));
  CHECK(energies.back() < 1e-5);
  CHECK(order(energies) > 1.7);
}

TEST_CASE("coordinates: forces of M(q) keep a free particle in polar coordinates on its straight line") {
  std::vector<double> errors;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    ModelRun run = completed(model(
        R"json({"name": "p", "type": "coordinates",
            "coordinates": [{"name": "r", "position": 1}, {"name": "phi", "velocity": 1.5}], "masses": ["m", "m*r^2"]})json",
        h, 1, R"json("parameters": {"m": 2},)json"));
    const double r = value(run, "p.r"), phi = value(run, "p.phi");
    errors.push_back(std::hypot(r * std::cos(phi) - 1, r * std::sin(phi) - 1.5));
  }
  CHECK(errors.back() < 1e-5);
  CHECK(order(errors) == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("coordinates: a bead on a rotating wire leaves as cosh(omega t)") {
  // the constraint depends on t: g_t, g_tt and mixed derivatives
  const double w = 2;
  std::vector<double> errors, multipliers;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    ModelRun run = completed(model(R"json({"name": "bead", "type": "coordinates",
                  "coordinates": [{"name": "x", "position": 0.5}, {"name": "y", "velocity": "=0.5*w"}],
                  "masses": ["m", "m"], "constraints": [{"name": "wire", "formula": "y*cos(w*t) - x*sin(w*t)"
  }]})json",
                                   h, 1, R"json("parameters": {"m": 1.3, "w": 2},)json"));
    const double r = 0.5 * std::cosh(w);
    errors.push_back(std::hypot(value(run, "bead.x") - r * std::cos(w), value(run, "bead.y") - r * std::sin(w)));
    // the wire pushes with 2 m w r' across itself
    multipliers.push_back(std::abs(run.integrator->row_force(run.state(), 0) - 2 * 1.3 * w * 0.5 * w * std::sinh(w)));
  }
  CHECK(errors.back() < 1e-5);
  CHECK(order(errors) == doctest::Approx(2).epsilon(0.05));
  CHECK(multipliers.back() < 1e-3);
}

TEST_CASE("coordinates: a bead on a parabola is the same with M(q) and with a constraint") {
  std::vector<double> differences;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    ModelRun run = completed(model(
        R"json({"name": "a", "type": "coordinates", "coordinates": [{"name": "x", "position": 1}],
            "masses": ["m*(1 + x^2)"], "potential": "m*g*x^2/2"
  },
           {"name": "c", "type": "coordinates", "coordinates": [{"name": "x", "position": 1}, {"name": "y", "position": 0.5}],
            "masses": ["m", "m"], "potential": "m*g*y", "constraints": [{"name": "track", "formula": "y - x^2/2"}]})json",
        h, 1, R"json("parameters": {"m": 1.3, "g": 9.81},)json"));
    differences.push_back(std::abs(value(run, "a.x") - value(run, "c.x")));
  }
  CHECK(differences.back() < 1e-4);
  CHECK(order(differences) == doctest::Approx(2).epsilon(0.1));
}

TEST_CASE("coordinates: an oscillator of van der Pol hits a wall with the period and the rate of the reference") {
  // x'' = 5 (1 - x^2) x' - x with x >= -1, e = 0.5: period 7.4643236, impacts at the rate -7.636309, by integration of
  // the equation with impacts located to rounding
  ModelRun run = ModelRun::of_text(
      model(R"json({"name": "o", "type": "coordinates", "coordinates": [{"name": "x", "position": 1, "velocity": 1}],
                "masses": [1], "forces": ["xi*w*(1 - x^2)*x' - w^2*x"],
                "gaps": [{"name": "wall", "formula": "x + 1", "restitution": 0.5}]})json",
            1e-3, 60, R"json("parameters": {"xi": 5, "w": 1},)json"));
  std::vector<double> times, rates;
  double before = 0;
  bool closed = false;
  REQUIRE(run.run([&](const StepView& view) {
    if (view.state.closed[0] != 0 && !closed) {
      times.push_back(view.state.t);
      rates.push_back(before);
    }
    closed = view.state.closed[0] != 0;
    before = view.state.v[0];
  }) == RunStatus::completed);
  REQUIRE(times.size() >= 7);
  const std::size_t n = times.size();
  CHECK((times[n - 1] - times[1]) / static_cast<double>(n - 2) == doctest::Approx(7.4643236).epsilon(2e-4));
  CHECK(rates.back() == doctest::Approx(-7.636309).epsilon(1e-3));
}

// With a potential or the same force: bodies of coordinates are no elements, whose impacts stay at the end of the step.
TEST_CASE("coordinates: a mass that falls on its gap has its impacts at their instants") {
  for (const char* force : {R"("potential": "2*9.81*z")", R"("forces": ["-2*9.81", "0"])"}) {
    CAPTURE(force);
    ModelRun run = ModelRun::of_text(
        std::string(R"({"format": 1, "bodies": [{"name": "q", "type": "coordinates", "masses": ["2", "2"],
          "coordinates": [{"name": "z", "position": 1}, {"name": "x", "velocity": 1}],
          "gaps": [{"name": "f", "formula": "z", "restitution": 1}], )") +
        force + R"(}], "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 20}})");
    REQUIRE(run.run() == RunStatus::completed);
    const Vector &q = run.state().q, &v = run.state().v;
    CHECK(0.5 * v[0] * v[0] + 9.81 * q[0] == doctest::Approx(9.81).epsilon(1e-11));
    // parabolas between bounces every 2 sqrt(2/9.81) s
    const double half = std::sqrt(2 / 9.81), since = std::remainder(20.0, 2 * half);
    CHECK(q[0] == doctest::Approx(1 - 0.5 * 9.81 * since * since).epsilon(1e-9));
  }
}

TEST_CASE("coordinates: the ledger of energy closes with potentials, forces, constraints and impacts") {
  ModelRun run = ModelRun::of_text(model(R"json({"name": "p", "type": "coordinates",
                "coordinates": [{"name": "x", "position": 1}, {"name": "y"}, {"name": "s", "velocity": 1}],
                "mass_matrix": [["m", 0, "0.2*cos(s)"], [0, "m", 0], ["0.2*cos(s)", 0, "0.4 + 0.1*s^2"]],
                "forces": ["-0.1*x'", "0", "sin(3*t)"], "potential": "m*g*y + 2*s^2",
                "constraints": [{"name": "rod", "formula": "(x^2 + y^2 - 1)/2"}],
                "gaps": [{"name": "wall", "formula": "x + 0.3 + 0.05*sin(t)", "restitution": 0.7},
                         {"name": "stop", "formula": "0.5 - s", "restitution": 1}]})json",
                                         2e-3, 2, R"json("parameters": {"m": 1.3, "g": 9.81},)json"));
  EnergyLedger ledger;
  Simulation simulation(run.model->system, *run.integrator, run.state(), run.model->simulation);
  simulation.add_observer(ledger);
  REQUIRE(simulation.run() == RunStatus::completed);
  const EnergyBalance& b = ledger.balance();
  CHECK(b.impacts != 0);
  CHECK(b.loads != 0);
  CHECK(b.energy.potential != 0);
  CHECK(b.largest_closure < 1e-10 * b.scale);
  CHECK(std::abs(b.numerical) < 0.02 * b.scale);
}

TEST_CASE("coordinates: a formula without a value ends the run and names its place") {
  const auto failing = [](const std::string& keys) {
    ModelRun run = ModelRun::of_text(model(
        R"json({"name": "q", "type": "coordinates", "coordinates": [{"name": "x", "position": 1, "velocity": -1}], )json" +
            keys + "}",
        0.01, 3));
    CHECK(run.run() == RunStatus::failed);
    return std::pair(run.report.reason, run.report.failed_item);
  };
  const std::string f = "/bodies/0/";
  CHECK(failing(R"json("masses": [1], "forces": ["-sqrt(x)"])json") ==
        std::pair(FailureReason::undefined_formula, f + "forces/0 \"-sqrt(x)\""));
  CHECK(failing(R"json("masses": [1e9], "forces": ["1/x"])json") ==
        std::pair(FailureReason::undefined_formula, f + "forces/0 \"1/x\""));
  CHECK(failing(R"json("masses": [1], "potential": "x^1.5")json") ==
        std::pair(FailureReason::undefined_formula, f + "potential \"x^1.5\""));
  CHECK(failing(R"json("masses": [1], "gaps": [{"name": "wall", "formula": "sqrt(x) + 1"}])json") ==
        std::pair(FailureReason::undefined_formula, f + "gaps/0/formula \"sqrt(x) + 1\""));
  // a mass without motion of its own
  ModelRun run = ModelRun::of_text(model(R"json({"name": "q", "type": "coordinates",
                    "coordinates": [{"name": "x", "position": 1, "velocity": -1}, {"name": "y"}],
                    "masses": [1, "0.5 + x"]})json",
                                         0.01, 3));
  CHECK(run.run() == RunStatus::failed);
  CHECK(run.report.reason == FailureReason::indefinite_mass);
  CHECK(run.report.failed_item == "q.y");
  CHECK(run.state().t == doctest::Approx(1.5).epsilon(0.01));
}

TEST_CASE("coordinates: a root of a force, a kink and a jump are no poles") {
  for (const char* force : {"-x", "-x^3", "-abs(x)", "x > 0 ? -1 : 1", "1e6*max(0, -x)^1.5", "-sign(x)"}) {
    CAPTURE(std::string(force));
    ModelRun run = ModelRun::of_text(model(std::string(R"json({"name": "q", "type": "coordinates",
                              "coordinates": [{"name": "x", "position": 1, "velocity": -1}], "masses": [1],
                              "forces": [")json") +
                                               force + R"json("]})json",
                                           1e-3, 3));
    CHECK(run.run() == RunStatus::completed);
  }
}

TEST_CASE("coordinates: a body with x and y is a point of pictures, another body is not drawn") {
  const auto body = [](const char* name, const char* first, const char* second) {
    return std::string(R"json({"name": ")json") + name + R"json(", "type": "coordinates", "masses": [1, 1],
        "coordinates": [{"name": ")json" +
           first + R"json(", "position": 3, "velocity": -1}, {"name": ")json" + second +
           R"json(", "position": 5}], "gaps": [{"name": "wall", "formula": ")json" + first + R"json( - 2"}]})json";
  };
  ModelRun drawn = ModelRun::of_text(model(body("a", "y", "x") + ", " + body("b", "y", "z"), 0.1, 1));
  CHECK(drawn.model->output.vtu);
  CHECK(drawn.model->bodies[0].has_place());
  CHECK_FALSE(drawn.model->bodies[1].has_place());
  const State& s = drawn.state();
  const auto place = [&](int row) { return drawn.system().row_contact_place(row, s.q, s.v, s.t); };
  CHECK(place(0).point == Vec3(5, 3, 0));
  CHECK(place(0).normal == Vec3(0, 1, 0));
  CHECK(place(1).point == Vec3(0, 0, 0));
  CHECK(place(1).normal == Vec3(0, 0, 0));
  CHECK_FALSE(ModelRun::of_text(model(body("b", "p", "r"), 0.1, 1)).model->output.vtu);
}
