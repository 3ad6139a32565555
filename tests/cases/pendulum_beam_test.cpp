// The bouncing flexible pendulum: Cosimo et al. 2020, section 4.3 ([DS20]), and Bruels, Acary, Cardona 2018, section
// 6.2 ([PVA18]). Figures without another source: REFERENCE section 3, from an independent implementation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

const std::vector<std::string> paper_test = {"/integrator/newton/test=paper", "/integrator/newton/predictor=zero",
                                             "/integrator/newton/tolerance=1e-5"};

Case pendulum(double h, double duration, std::vector<std::string> overrides = {}) {
  overrides.push_back(set("/integrator/step", h));
  overrides.push_back(set("/integrator/duration", duration));
  overrides.emplace_back("/output/probes=[]");
  overrides.emplace_back("/expect=[]");
  return Case("pendulum_beam", overrides);
}

double tip(const Case& c) { return c.position("arm.end").y(); }

// Steps with contact in the first phase: of those before t = 0.36.
struct FirstPhase {
  double first = 0, last = 0, impulse = 0, first_impulse = 0;
};
FirstPhase first_phase(Case& c) {
  FirstPhase phase;
  const int wall = c.rows("wall").front();
  REQUIRE(c.run([&](const StepView&) {
    const double impulse = c.impulse(wall);
    if (impulse <= 0) return;
    if (phase.first == 0) phase.first = c.t(), phase.first_impulse = impulse;
    phase.last = c.t();
    phase.impulse += impulse;
  }) == RunStatus::completed);
  return phase;
}

}  // namespace

TEST_CASE("flexible pendulum: the tip falls as published to the converged digits, at second order of the step") {
  // converged: -0.073369 and -0.607223 +- 2e-6 for h <= 1e-4
  Case fine = pendulum(1e-4, 0.1);
  REQUIRE(fine.run() == RunStatus::completed);
  CHECK(std::abs(tip(fine) + 0.073369) < 2e-6);
  REQUIRE(fine.run_for(0.2) == RunStatus::completed);
  CHECK(std::abs(tip(fine) + 0.607223) < 2e-6);

  std::vector<double> steps, error;
  Case reference = pendulum(5e-5, 0.3);
  REQUIRE(reference.run() == RunStatus::completed);
  const double exact = tip(reference) + (tip(reference) - tip(fine)) / 3;
  for (const double h : {4e-3, 2e-3, 1e-3, 5e-4}) {
    Case c = pendulum(h, 0.3);
    REQUIRE(c.run() == RunStatus::completed);
    steps.push_back(h);
    error.push_back(std::abs(tip(c) - exact));
    MESSAGE("h " << h << ": tip off by " << error.back());
  }
  CHECK(fitted_order(steps, error) > 1.8);
}

TEST_CASE("flexible pendulum: the first contact phase has the published times and impulse") {
  for (const double h : {1e-4, 5e-5}) {
    Case c = pendulum(h, 0.36);
    const FirstPhase phase = first_phase(c);
    MESSAGE("h " << h << ": contact " << phase.first << " to " << phase.last << ", impulse " << phase.impulse
                 << ", first impulse " << phase.first_impulse);
    CHECK(phase.first > 0.33022);
    CHECK(phase.first <= 0.33022 + h + 1e-5);
    CHECK(std::abs(phase.last - 0.3470) <= 0.0005);
    CHECK(std::abs(phase.impulse - 2.93) <= 0.04);
    // that of the tip's effective mass, whatever the step
    CHECK(phase.first_impulse == doctest::Approx(0.0908).epsilon(0.01));
  }
}

TEST_CASE("flexible pendulum, 4 elements and g = 10: the first contact phase of [PVA18]") {
  // the paper prints [0.327, 0.348]
  Case c("pendulum_beam_pva18", {"/integrator/duration=0.36", "/output/probes=[]", "/expect=[]"});
  const FirstPhase phase = first_phase(c);
  MESSAGE("contact " << phase.first << " to " << phase.last);
  CHECK(phase.first == doctest::Approx(0.327025).epsilon(1e-5 / 0.327));
  CHECK(std::abs(phase.last - 0.3465) < 0.0005);
}

TEST_CASE("flexible pendulum: every step size of the paper finishes, contacts hold, energy is only lost") {
  for (const double h : {1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4}) {
    Case c = pendulum(h, 0.5);
    const int wall = c.rows("wall").front();
    double gap = 0, rate = 0, penetration = 0, highest = 0;
    REQUIRE(c.run([&](const StepView&) {
      penetration = std::max(penetration, -c.gap(wall));
      highest = std::max(highest, c.energy());
      if (c.impulse(wall) == 0) return;
      gap = std::max(gap, std::abs(c.gap(wall)));
      rate = std::max(rate, std::abs(c.gap_velocity(wall)));
    }) == RunStatus::completed);
    const RunStatistics& s = c.statistics();
    MESSAGE("h " << h << ": smooth " << s.mean_iterations(0) << " (" << s.iterations[0].max << "), position "
                 << s.mean_iterations(1) << " (" << s.iterations[1].max << "), velocity " << s.mean_iterations(2)
                 << " (" << s.iterations[2].max << "), subdivided " << s.subdivided_steps << ", highest energy "
                 << highest);
    CHECK(gap < 1e-10);
    CHECK(rate < 1e-9);
    CHECK(penetration < 1e-10);
    if (h <= 5e-3) CHECK(s.subdivided_steps == 0);
    // of 7.65 J fallen in 1 m
    CHECK(highest < 1e-3);
  }
}

TEST_CASE("flexible pendulum: iterations of the paper's test") {
  // h = 1e-3: 2.23 mean, 8 at most; 1e-4: 1.16 and 5
  struct Figures {
    double h, mean;
    int most;
  };
  for (const Figures& f : {Figures{1e-3, 2.23, 8}, Figures{1e-4, 1.16, 5}}) {
    Case c = pendulum(f.h, 0.5, paper_test);
    REQUIRE(c.run() == RunStatus::completed);
    const RunStatistics& s = c.statistics();
    double sum = 0;
    int most = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += s.mean_iterations(i), most = std::max(most, s.iterations[i].max);
    MESSAGE("h " << f.h << ": mean " << s.mean_iterations(0) << " + " << s.mean_iterations(1) << " + "
                 << s.mean_iterations(2) << ", most " << s.iterations[0].max << ", " << s.iterations[1].max << ", "
                 << s.iterations[2].max);
  }
}

TEST_CASE("flexible pendulum: without the force corrections (DSn) h = 1e-3 fails in contact") {
  Case c = pendulum(1e-3, 0.5, {"/integrator/force_corrections=false"});
  const RunStatus status = c.run();
  MESSAGE("DSn ended at " << c.t() << ", tip " << tip(c) << ", subdivided " << c.statistics().subdivided_steps);
  CHECK(status == RunStatus::failed);
}
