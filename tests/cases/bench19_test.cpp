// The benchmark of Di Stasio, Dureisseix, Gravouil et al., "Benchmark cases for robust explicit time integrators in
// non-smooth transient dynamics" (2019), against closed forms and the figures of an independent implementation [R].

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

namespace {

using namespace carom;
using carom::test::ModelRun;

constexpr double g = 9.81;

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

ModelRun ball(const std::string& method, double h, double e, double duration) {
  return ModelRun::of_file("bouncing_ball", {R"(/integrator={"type": ")" + method + R"(", "step": )" + number(h) +
                                                 ", \"duration\": " + number(duration) + "}",
                                             "/parameters/restitution=" + number(e)});
}

// Height of the ball of the closed form; at rest after the impacts.
double height(double t, double e) {
  double flight = std::sqrt(2 / g), start = -flight, speed = g * flight;
  while (t >= start + 2 * flight) {
    start += 2 * flight;
    flight *= e;
    speed *= e;
    if (flight < 1e-12) return 0;
  }
  return std::max(0.0, speed * (t - start) - 0.5 * g * (t - start) * (t - start));
}

// Largest heights of the flights after the first, second, ... impact.
std::vector<double> apexes(ModelRun& run, std::size_t most, double* deepest = nullptr) {
  std::vector<double> found;
  double apex = 0;
  long impacts = 0;
  REQUIRE(run.run([&](const StepView& view) {
    if (deepest != nullptr) *deepest = std::max(*deepest, -view.state.q[2]);
    if (view.report.impacts > 0) {
      if (impacts++ > 0 && found.size() < most) found.push_back(apex);
      apex = 0;
    }
    apex = std::max(apex, view.state.q[2]);
  }) == RunStatus::completed);
  return found;
}

}  // namespace

TEST_CASE("bouncing ball: free fall is exact in all schemes") {
  // [R] z(0.45) = 0.0067375
  for (const char* method : {"cd_lagrange", "paoli_schatzman", "carpenter", "moreau_jean", "nsga_decoupled"}) {
    CAPTURE(method);
    ModelRun run = ball(method, 1e-2, 0, 0.45);
    REQUIRE(run.run() == RunStatus::completed);
    CHECK(run.state().q[2] == doctest::Approx(0.0067375).epsilon(1e-12));
  }
}

TEST_CASE("bouncing ball: first apexes with e = 0.8 are those of the schemes, and penetrations as stated") {
  // [R] h = 1e-2
  const double h = 1e-2;
  double deepest = 0;
  ModelRun cd = ball("cd_lagrange", h, 0.8, 3);
  CHECK(apexes(cd, 1, &deepest).front() == doctest::Approx(0.629967).epsilon(1e-6));
  CHECK(deepest > 0);
  CHECK(deepest <= h * std::sqrt(2 * g) * 1.001);
  ModelRun paoli = ball("paoli_schatzman", h, 0.8, 3);
  CHECK(apexes(paoli, 1).front() == doctest::Approx(0.662475).epsilon(1e-6));
}

TEST_CASE("bouncing ball: with e = 1 CD-Lagrange returns to its height, Paoli-Schatzman above it every other time") {
  ModelRun cd = ball("cd_lagrange", 1e-2, 1, 10);
  for (const double apex : apexes(cd, 8)) CHECK(apex == doctest::Approx(1).epsilon(1e-13));
  // [R] 1.03116, 1, 1.03116, ...: an impact gives energy, as the paper says
  ModelRun paoli = ball("paoli_schatzman", 1e-2, 1, 10);
  const std::vector<double> found = apexes(paoli, 8);
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == doctest::Approx(i % 2 == 0 ? 1.03116 : 1.0).epsilon(5e-6));
}

TEST_CASE("bouncing ball: infinitely many impacts pass, and the ball rests at the end of the closed form") {
  for (const char* method : {"cd_lagrange", "paoli_schatzman"}) {
    CAPTURE(method);
    ModelRun run = ball(method, 1e-3, 0.8, 5);
    double last_rise = 0;
    REQUIRE(run.run([&](const StepView& view) {
      if (view.state.v[2] > 0.05) last_rise = view.state.t;
    }) == RunStatus::completed);
    CHECK(last_rise == doctest::Approx(4.0637124).epsilon(0.02));
    CHECK(std::abs(run.state().v[2]) < 1e-2);
    CHECK(std::abs(run.state().q[2]) < 5e-3);
    CHECK(run.integrator->row_force(run.state(), 0) == doctest::Approx(g).epsilon(1e-9));
  }
}

TEST_CASE("bouncing ball: errors in the paper's norm fall with order 1 with impacts") {
  for (const char* method : {"cd_lagrange", "paoli_schatzman"}) {
    CAPTURE(method);
    std::vector<double> errors;
    for (const double h : {1e-2, 1e-3, 1e-4}) {
      ModelRun run = ball(method, h, 0.8, 2);
      double error = 0, size = 0;
      const long every = std::lround(1e-2 / h);
      REQUIRE(run.run([&](const StepView& view) {
        if (view.state.step % every != 0) return;
        const double exact = height(view.state.t, 0.8);
        error += std::abs(view.state.q[2] - exact);
        size += exact;
      }) == RunStatus::completed);
      errors.push_back(error / size);
    }
    CHECK(0.5 * std::log10(errors[0] / errors[2]) == doctest::Approx(1).epsilon(0.15));
  }
}

TEST_CASE("Carpenter: a ball without restitution rests without penetration; the implicit variant is unstable") {
  double deepest = 0;
  ModelRun run = ball("carpenter", 1e-2, 0, 1);
  REQUIRE(run.run([&](const StepView& view) { deepest = std::max(deepest, -view.state.q[2]); }) ==
          RunStatus::completed);
  CHECK(deepest < 1e-14);
  CHECK(std::abs(run.state().q[2]) < 1e-14);
  CHECK(run.integrator->row_force(run.state(), 0) == doctest::Approx(g).epsilon(1e-9));
  // "the implicit one is unstable at impact": the next step repeats half of the impact's acceleration. The energy guard
  // refuses that step; in halved steps the ball bounces although e = 0
  for (const int halvings : {0, 10}) {
    ModelRun implicit = ModelRun::of_file(
        "bouncing_ball",
        {R"(/integrator={"type": "carpenter", "implicit": true, "step": 1e-2, "duration": 1, "max_subdivisions": )" +
             std::to_string(halvings) + "}",
         "/parameters/restitution=0"});
    double highest = 0;
    const RunStatus status = implicit.run([&](const StepView& view) {
      if (view.state.t > 0.47) highest = std::max(highest, view.state.q[2]);
    });
    CHECK((status == RunStatus::failed) == (halvings == 0));
    if (halvings == 0) CHECK(implicit.report.reason == FailureReason::unexplained_energy);
    if (halvings == 0) CHECK(implicit.state().t == doctest::Approx(0.46));
    if (halvings > 0) CHECK(highest > 0.3);
  }
}

TEST_CASE("Carpenter, implicit: the impulses of the contact are those that the ball gets") {
  ModelRun run = ModelRun::of_file(
      "bouncing_ball", {R"(/integrator={"type": "carpenter", "implicit": true, "step": 1e-3, "duration": 1})",
                        "/parameters/restitution=0"});
  const double v_0 = run.state().v[2], mass = run.model->system.momenta(run.state().q, Vector{0, 0, 1}).linear.z();
  double impulses = 0;
  REQUIRE(run.run([&](const StepView& view) { impulses += view.nominal ? view.impulse(0) : 0; }) ==
          RunStatus::completed);
  CHECK(impulses > 0.1 * mass * g);
  CHECK(mass * (run.state().v[2] - v_0 + g * run.state().t) == doctest::Approx(impulses).epsilon(1e-9));
}

TEST_CASE("rotating spring: CD-Lagrange keeps the angular momentum to rounding and meets the reference's contacts") {
  ModelRun run = ModelRun::of_file("rotating_spring");
  double change = 0;
  std::vector<std::pair<double, double>> contacts;
  REQUIRE(run.run([&](const StepView& view) {
    change = std::max(change, std::abs(view.system.momenta(view.state.q, view.state.v).angular.z() - 1.6));
    if (view.report.impacts > 0) contacts.emplace_back(view.state.t, view.state.impulse[0]);
  }) == RunStatus::completed);
  CHECK(change < 1e-13);
  // [R] times and impulses of the first two
  REQUIRE(contacts.size() > 2);
  CHECK(contacts[0].first == doctest::Approx(0.4));
  CHECK(contacts[0].second == doctest::Approx(2.9341661).epsilon(1e-7));
  CHECK(contacts[1].first == doctest::Approx(1.5));
  CHECK(contacts[1].second == doctest::Approx(2.4746410).epsilon(1e-7));
}

namespace {

struct BarFigures {
  double first = 0, last = 0, force = 0, impulse = 0, penetration = 0, momentum = 0;
  double oscillation = 0;  ///< rms of the tip's velocity against -v_0 after the release, over v_0
  double balance = 0;      ///< change of momentum less impulses, over the momentum at the start
  int steps = 0;
};

BarFigures bar(const std::vector<std::string>& set) {
  constexpr double v_0 = 5.136, length = 0.254;
  ModelRun run = ModelRun::of_file("impacting_bar", set);
  const double start = run.system().momenta(run.state().q, run.state().v).linear.x();
  BarFigures f;
  double sum = 0;
  int count = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const double r = view.state.impulse[0];
    if (r > 0) {
      if (f.steps++ == 0) f.first = view.state.t;
      f.last = view.state.t;
      f.impulse += r;
    }
    f.penetration = std::max(f.penetration, run.position("bar.end").x() - length);
    if (view.state.t > 1.08e-4 && view.state.t < 1.9e-4) {
      const std::size_t tip = view.state.v.size() - 1;
      sum += std::pow(view.state.v[tip] + v_0, 2);
      ++count;
    }
  }) == RunStatus::completed);
  f.force = f.impulse / (f.last - f.first);
  f.momentum = run.system().momenta(run.state().q, run.state().v).linear.x() / start;
  f.balance = std::abs(f.momentum - 1 + f.impulse / start);
  f.oscillation = std::sqrt(sum / count) / v_0;
  return f;
}

}  // namespace

TEST_CASE("impacting bar: contact lasts as long as the wave needs, with the force of the closed form") {
  constexpr double duration = 9.81987e-5, v_0 = 5.136, h = 6.87e-7;
  const BarFigures f = bar({});
  CHECK(std::abs(f.last - f.first + h - duration) < 2 * h);
  CHECK(f.steps >= 143);
  CHECK(f.steps <= 145);
  CHECK(f.impulse / duration == doctest::Approx(134476).epsilon(0.01));  // [R]
  CHECK(f.penetration == doctest::Approx(h * v_0).epsilon(1e-9));        // [R] h v_0
  CHECK(f.balance < 1e-12);
}

TEST_CASE("impacting bar: dissipation takes oscillations after the release away and leaves impulse and contact") {
  const BarFigures plain = bar({}), damped = bar({"/integrator/rho_bifurcation=0.4"});
  MESSAGE("rms of the tip after the release, over v_0: " << plain.oscillation << " without, " << damped.oscillation
                                                         << " with rho_b = 0.4");
  CHECK(damped.oscillation < plain.oscillation / 3);
  CHECK(std::abs(damped.steps - plain.steps) <= 1);
  CHECK(damped.impulse == doctest::Approx(plain.impulse).epsilon(3e-3));
  CHECK(damped.penetration == doctest::Approx(plain.penetration).epsilon(1e-9));
  // the momentum changes by the impulses alone
  CHECK(damped.balance < 1e-12);
}

TEST_CASE("Van der Pol: the limit cycle with a wall has the period and the impacts of the continuous problem") {
  // [R] period 7.4643236, impacts at -7.636309; the damping lags by half a step: order 1
  std::vector<double> errors;
  for (const double h : {1e-3, 1e-4}) {
    const int cycles = h == 1e-3 ? 40 : 8;
    ModelRun run = ModelRun::of_file(
        "van_der_pol", {"/integrator/duration=" + number(7.5 * (cycles + 2)), "/integrator/step=" + number(h)});
    std::vector<double> times, rates;
    double before = 0;
    REQUIRE(run.run([&](const StepView& view) {
      if (view.report.impacts > 0 && before < -1) {
        times.push_back(view.state.t);
        rates.push_back(before);
      }
      before = view.state.history[0].values[0];
    }) == RunStatus::completed);
    const std::size_t n = static_cast<std::size_t>(cycles);
    REQUIRE(times.size() > n + 1);
    const double period = (times[n + 1] - times[1]) / cycles;
    errors.push_back(std::abs(period - 7.4643236));
    CHECK(rates[n] == doctest::Approx(-7.636309).epsilon(5 * h));
    // every cycle is the same
    for (std::size_t i = 1; i <= n; ++i) CHECK(std::abs(times[i + 1] - times[i] - period) < 3 * h);
  }
  CHECK(errors[0] < 0.05);
  CHECK(std::log10(errors[0] / errors[1]) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("arch: explicit steps with a mass for the step find the equilibrium of the statics and end there") {
  ModelRun run = ModelRun::of_file("arch", {"/until=[]"});
  REQUIRE(run.run() == RunStatus::completed);
  constexpr double heights[] = {-0.02109809, -0.04175661, -0.05684501, -0.06398352, -0.065};  // [R]
  double reaction = 0, penetration = 0;
  for (int row = 0; row < run.system().rows(); ++row) {
    reaction += run.integrator->row_force(run.state(), row);
    penetration = std::max(penetration, -run.system().row_gap(row, run.state().q, run.state().t));
  }
  for (int i = 0; i < 5; ++i)
    for (const int node : {i, 9 - i}) {
      CAPTURE(node);
      const double y = run.state().q[static_cast<std::size_t>(2 * node + 1)];
      CHECK(std::abs(y - heights[i]) < 1e-6 + 1.5 * penetration);
    }
  CHECK(penetration < 1e-3);
  CHECK(reaction == doctest::Approx(9.29525e-5).epsilon(0.02));  // [R] 9.29525e-5 on the two middle nodes
}
