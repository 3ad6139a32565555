// Beads on springs fall onto a ball: curved obstacle, many contacts, nonlinear springs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"

using namespace carom;
using namespace carom::cases;

TEST_CASE("bead chain: contacts hold at both levels, momentum changes by weight and contact impulses only") {
  for (const double h : {2e-4, 1e-3, 4e-3}) {
    CAPTURE(h);
    Case chain("bead_chain", {set("/integrator/step", h), "/output/probes=[]", "/integrator/impact=\"published\""});
    const System& system = chain.system();
    const double mass = 15 * 0.01;
    const Vec3 start = chain.momenta().linear;
    Vec3 impulses = Vec3::Zero();
    double gap = 0, rate = 0, penetration = 0, balance = 0;
    bool pushes = true;
    REQUIRE(chain.run([&](const StepView& view) {
      const State& s = view.state;
      for (const int row : chain.rows("ball")) {
        penetration = std::max(penetration, -chain.gap(row));
        const double impulse = chain.impulse(row);
        pushes = pushes && impulse >= 0;
        if (impulse == 0) continue;
        gap = std::max(gap, std::abs(chain.gap(row)));
        rate = std::max(rate, std::abs(chain.gap_velocity(row)));
        impulses += impulse * system.row_contact_place(row, s.q, s.v, s.t).normal;
      }
      const Vec3 expected = start + mass * s.t * Vec3(0, 0, -9.81) + impulses;
      balance = std::max(balance, (chain.momenta().linear - expected).norm());
    }) == RunStatus::completed);

    CHECK(chain.statistics().impacts > 15);
    CHECK(gap < 1e-10 * chain.scales().length);
    CHECK(penetration < 1e-10 * chain.scales().length);
    CHECK(rate < 1e-10 * chain.scales().speed);
    CHECK(pushes);
    CHECK(balance < 1e-9 * mass * chain.scales().speed);
  }
}

TEST_CASE("bead chain: energy does not grow, with inelastic contacts and without dampers") {
  // Between impacts the scheme conserves energy to O(h^2); an impact is detected up to a step late. The work of the
  // weight in a fraction of a step at the speed scale measures both errors.
  for (const double h : {1e-4, 2e-4, 1e-3, 4e-3}) {
    CAPTURE(h);
    Case chain("bead_chain", {set("/integrator/step", h), "/parameters/c=0", "/output/probes=[]",
                              "/integrator/impact=\"published\""});
    const double start = chain.energy();
    double least = start, growth = 0;
    REQUIRE(chain.run([&](const StepView&) {
      const double energy = chain.energy();
      growth = std::max(growth, energy - least);
      least = std::min(least, energy);
    }) == RunStatus::completed);
    CHECK(growth < 0.2 * h * 0.15 * 9.81 * chain.scales().speed);
    // with e = 0 the impacts stop beads that fell 0.05 m, so a large part of the energy is lost
    CHECK(chain.energy() < 0.7 * start);
  }
}
