// A carrier that is handed from one arm to the other, written in coordinates and as rigid bodies with a joint that
// changes its partner, against one independent solution.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "switching_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// What depends on E: the rate behind the switch, and at t = 1 the energy and the angle alpha of the joint.
struct Solution {
  double E, rate, energy, alpha;
};
constexpr Solution solutions[] = {{0, 2.845476276, 6.614975445, 1.570375932},
                                  {0.25, 2.824876033, 6.531721319, 1.558619394},
                                  {0.5, 2.804425467, 6.449670441, 1.546910386},
                                  {1, 2.763966885, 6.289100641, 1.523635560}};

Case with_events(const char* model, double E) {
  return Case(model, {integrator_of(R"("type": "event_driven", "rho_infinity": 1, "duration": 1, "step": 1e-3)"
                                    R"(, "intermediate_gradient": )" +
                                    std::to_string(E))});
}

// A run of the decoupled method, whose constraints hold.
Case run_and_watch(const char* model, double E, double h) {
  Case machine(model, {gradient(E), set("/integrator/step", h)});
  Watch watch;
  REQUIRE(machine.run(std::ref(watch)) == RunStatus::completed);
  CHECK(watch.position < 1e-10);
  CHECK(watch.velocity < 1e-9);
  return machine;
}

// Runs a case of with_events() and checks its switch; `rate` is the component of the velocity that belongs to alpha.
// Returns the change of the kinetic energy.
double run_and_check_switch(Case& located, std::size_t rate, const Solution& solution) {
  double before = 0, behind = 0, t = 0, change = 0;
  Watch watch;
  REQUIRE(located.run([&](const StepView& view) {
    watch(view);
    for (const Stage& stage : view.integrator.stages())
      if (stage.switches) {
        t = stage.t_1;
        before = stage.v_0[rate];
        behind = stage.v_1[rate];
        change = kinetic_change(view, stage);
      }
  }) == RunStatus::completed);
  CHECK(t == doctest::Approx(0.523443652).epsilon(3e-6));
  CHECK(before == doctest::Approx(2.294120824).epsilon(1e-5));
  CHECK(behind == doctest::Approx(solution.rate).epsilon(1e-5));
  CHECK(watch.position < 1e-9);
  CHECK(watch.velocity < 1e-9);
  return change;
}

TEST_CASE("carrier: handed from one arm to the other in space, against an independent solution") {
  for (const Solution& c : solutions) {
    CAPTURE(c.E);
    Case located = with_events("carrier", c.E);
    run_and_check_switch(located, 0, c);
    CHECK(located.energy() == doctest::Approx(c.energy).epsilon(1e-5));
    CHECK(located.state().q[0] == doctest::Approx(c.alpha).epsilon(1e-5));

    // of first order, with a factor that depends on where in its step the switch lies
    for (const double h : {8e-3, 4e-3, 2e-3, 1e-3}) {
      CAPTURE(h);
      const Case machine = run_and_watch("carrier", c.E, h);
      CHECK(std::abs(machine.state().q[0] - c.alpha) < h);
      CHECK(std::abs(machine.energy() - c.energy) < 10 * h);
    }
  }
}

TEST_CASE("carrier_arms: a joint of rigid bodies changes its partner, as the same machine in coordinates") {
  const double hubs = -0.6 * 9.81;  // potential of the second arm's mass
  for (const Solution& c : solutions) {
    CAPTURE(c.E);
    Case located = with_events("carrier_arms", c.E);
    const double change = run_and_check_switch(located, 5, c);
    CHECK(located.energy() - hubs == doctest::Approx(c.energy).epsilon(1e-5));
    if (c.E == 0.5) CHECK(std::abs(change) < 1e-12);

    // the same motion by both descriptions, and of first order through the switch
    for (const double h : {4e-3, 1e-3}) {
      CAPTURE(h);
      const Case arms = run_and_watch("carrier_arms", c.E, h);
      CHECK(std::abs(arms.energy() - hubs - c.energy) < 10 * h);
    }
  }
}

TEST_CASE("carrier_arms: modes whose joints do not fit where the surface is met are refused") {
  // the second arm has turned by another angle when the carrier comes
  Case late("carrier_arms",
            {R"(/switching/0/modes/0/condition="0.2 - alpha")", R"(/switching/0/modes/1/condition="alpha - 0.2")"});
  CHECK(late.run() != RunStatus::completed);
  CHECK(late.last_report().failed_item.find("disagree on their surface: there pin_b") != std::string::npos);
}

}  // namespace
