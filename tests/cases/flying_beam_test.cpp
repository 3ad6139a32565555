// A beam flies freely after a push: J. C. Simo, L. Vu-Quoc, On the dynamics in space of rods undergoing
// large motions, Comput. Methods Appl. Mech. Engrg. 66 (1988) 125-161, the "flying spaghetti" in space.
#include <doctest/doctest.h>

#include <cmath>

#include "case_runner.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// EA = GA = 1e4, EI = GJ = 500, A rho = 1, rotary inertia 10; from (6, 0, 0) to (0, 8, 0). A force along x and torques
// at the start grow until t = 2.5 and vanish at t = 5: impulse 20, angular impulses -200 about z and -100 about y.
const char* const flying_beam = R"({
  "format": 1,
  "sections": [{"name": "s", "type": "general",
    "stiffness": [[1e4, 0, 0, 0, 0, 0], [0, 1e4, 0, 0, 0, 0], [0, 0, 1e4, 0, 0, 0],
                  [0, 0, 0, 500, 0, 0], [0, 0, 0, 0, 500, 0], [0, 0, 0, 0, 0, 500]],
    "mass": [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0],
             [0, 0, 0, 10, 0, 0], [0, 0, 0, 0, 10, 0], [0, 0, 0, 0, 0, 10]]}],
  "bodies": [{"name": "beam", "type": "beam", "section": "s", "from": [6, 0, 0], "to": [0, 8, 0], "elements": 10}],
  "loads": [
    {"name": "push", "type": "force", "on": "beam.start",
     "value": [{"times": [0, 2.5, 5, 100], "values": [0, 8, 0, 0]}, 0, 0]},
    {"name": "turn", "type": "torque", "on": "beam.start",
     "value": [0, {"times": [0, 2.5, 5, 100], "values": [0, -40, 0, 0]},
               {"times": [0, 2.5, 5, 100], "values": [0, -80, 0, 0]}]}],
  "integrator": {"type": "nsga_decoupled", "step": 0.1, "duration": 5, "rho_infinity": 0.9}
})";

struct Drift {
  double linear = 0, angular = 0, energy = 0;
};

}  // namespace

TEST_CASE("flying beam: momentum is kept, angular momentum and energy to second order of the step") {
  std::vector<double> steps, angular, energy;
  for (const double h : {0.025, 0.0125, 0.00625}) {
    Case c = Case::from_text(flying_beam, {set("/integrator/step", h)});
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.momenta().linear.x() == doctest::Approx(8 * 5.0 / 2).epsilon(1e-5));
    // from here without load; the weighted accelerations of the method forget the load within some steps
    REQUIRE(c.run_for(1) == RunStatus::completed);
    const Momenta start = c.momenta();
    const double start_energy = c.energy();
    CHECK(start.linear.tail<2>().norm() < 1e-10 * 20);
    CHECK(start_energy > 1);

    Drift drift;
    REQUIRE(c.run_for(5, [&](const StepView&) {
      const Momenta now = c.momenta();
      drift.linear = std::max(drift.linear, (now.linear - start.linear).norm());
      drift.angular = std::max(drift.angular, (now.angular - start.angular).norm());
      drift.energy = std::max(drift.energy, std::abs(c.energy() - start_energy));
    }) == RunStatus::completed);
    MESSAGE("h " << h << ": momentum " << drift.linear << ", angular momentum " << drift.angular << " of "
                 << start.angular.norm() << ", energy " << drift.energy << " of " << start_energy);
    CHECK(drift.linear < 1e-9 * start.linear.norm());
    steps.push_back(h);
    angular.push_back(drift.angular / start.angular.norm());
    energy.push_back(drift.energy / start_energy);
  }
  CHECK(angular.back() < 1e-3);
  CHECK(energy.back() < 1e-2);
  CHECK(fitted_order(steps, angular) > 1.8);
  CHECK(fitted_order(steps, energy) > 1.8);
}

TEST_CASE("flying beam: a rigid motion stays one, at any speed of rotation") {
  // rotates about its axis of largest inertia; the stretch by the centrifugal force is small
  Case c =
      Case::from_text(flying_beam, {"/loads=[]", "/bodies/0/velocity=[1,2,3]", "/bodies/0/angular_velocity=[0,0,0.5]",
                                    "/integrator/step=0.02", "/integrator/duration=4"});
  const Momenta start = c.momenta();
  const double length = 10;
  double stretch = 0, out_of_plane = 0;
  REQUIRE(c.run([&](const StepView&) {
    const Vec3 a = c.position("beam.start"), b = c.position("beam.end");
    stretch = std::max(stretch, std::abs((b - a).norm() / length - 1));
    out_of_plane = std::max(out_of_plane, std::abs((b - a).z()));
  }) == RunStatus::completed);
  // N = m omega^2 (L^2/4 - s^2)/2, mean over the length m omega^2 L^2/12: stretch m omega^2 L^2/(12 EA), and twice this
  // value if the load is applied at once
  CHECK(stretch < 2.2 * 0.25 * 100 / (12 * 1e4));
  CHECK(stretch > 0.5 * 0.25 * 100 / (12 * 1e4));
  CHECK(out_of_plane < 1e-9);
  const Momenta end = c.momenta();
  CHECK((end.linear - start.linear).norm() < 1e-9);
  CHECK((end.angular - start.angular).norm() < 1e-4 * start.angular.norm());
}
