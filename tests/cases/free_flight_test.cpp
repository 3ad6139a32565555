// Free flight of the spinning parallelepiped of data/models/brick.json: accuracy of the smooth motion.

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "case_runner.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// Largest relative deviations in the quarters of a long flight.
struct Drift {
  std::array<double, 4> momentum{}, energy{}, mean_energy{};
};

Drift long_flight(double h, double rho) {
  const double duration = 20;
  Case c("brick", {set("/integrator/step", h), set("/integrator/rho_infinity", rho),
                   set("/integrator/duration", duration), "/contacts=[]", "/output/probes=[]"});
  const Vec3 J = brick_reference().J;
  const auto spin = [&] { return Vec3(c.rotation("brick") * J.cwiseProduct(c.angular_velocity("brick"))); };
  const Vec3 L = spin();
  const double E = c.energy(), steps = duration / h;
  Drift drift;
  double k = 0;
  c.run([&](const StepView&) {
    const std::size_t quarter = static_cast<std::size_t>(4 * k / steps);
    k += 1;
    const double dE = c.energy() / E - 1;
    drift.momentum[quarter] = std::max(drift.momentum[quarter], (spin() - L).norm() / L.norm());
    drift.energy[quarter] = std::max(drift.energy[quarter], std::abs(dE));
    drift.mean_energy[quarter] += 4 * dE / steps;
  });
  return drift;
}

TEST_CASE("free flight: the reference motion is that of the independent implementation") {
  // independent implementation: Omega(0.4) of the parallelepiped, E_0 = 2284.308 J
  RigidReference brick = brick_reference();
  CHECK(brick.energy() == doctest::Approx(2284.308).epsilon(1e-12));
  brick.advance_to(0.4);
  CHECK((brick.Omega - Vec3(62.39858048, 54.67492735, -21.40068315)).norm() < 2e-8);
  CHECK(brick.energy() == doctest::Approx(2284.308).epsilon(1e-11));
}

TEST_CASE("free flight: angular velocity and rotation are of second order") {
  RigidReference reference = brick_reference();
  reference.advance_to(0.4);
  std::vector<double> steps, Omega, rotation;
  for (const double h : {1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5}) {
    Case c("brick", {set("/integrator/step", h), "/integrator/duration=0.4"});
    REQUIRE(c.run() == RunStatus::completed);
    steps.push_back(h);
    Omega.push_back((c.angular_velocity("brick") - reference.Omega).norm());
    rotation.push_back(angle_between(c.rotation("brick"), reference.R()));
    // a free fall is exact: its acceleration is constant
    CHECK(std::abs(c.position("brick").z() - reference.x.z()) < 1e-12);
    CHECK(c.position("brick").x() == doctest::Approx(1.2).epsilon(1e-13));
  }
  CHECK(fitted_order(steps, Omega) > 1.95);
  CHECK(fitted_order(steps, Omega) < 2.05);
  CHECK(fitted_order(steps, rotation) > 1.95);
  CHECK(fitted_order(steps, rotation) < 2.05);

  // two steps and Richardson's extrapolation of an error in h^2 give the reference
  Case coarse("brick", {"/integrator/step=1.25e-4", "/integrator/duration=0.4"});
  Case fine("brick", {"/integrator/step=6.25e-5", "/integrator/duration=0.4"});
  coarse.run();
  fine.run();
  const Vec3 limit = (4 * fine.angular_velocity("brick") - coarse.angular_velocity("brick")) / 3;
  CHECK((limit - reference.Omega).norm() < 1e-5);
}

TEST_CASE("free flight: energy and spatial angular momentum oscillate with h^2 and do not grow") {
  const double h = 1e-3;
  const Drift coarse = long_flight(h, 1.0), fine = long_flight(h / 2, 1.0);
  for (const Drift* d : {&coarse, &fine}) {
    // rho = 1 has no damping: the last quarter resembles the first
    CHECK(d->momentum[3] < 1.02 * d->momentum[0]);
    CHECK(d->energy[3] < 1.02 * d->energy[0]);
  }
  CHECK(coarse.momentum[3] / fine.momentum[3] == doctest::Approx(4).epsilon(0.03));
  CHECK(coarse.energy[3] / fine.energy[3] == doctest::Approx(4).epsilon(0.03));
}

TEST_CASE("free flight: rho below 1 loses energy at a rate of third order") {
  // the damping of the generalized-alpha method at frequencies w with w h << 1 is of order (w h)^3 per radian
  const double h = 1e-3;
  const Drift coarse = long_flight(h, 0.8), fine = long_flight(h / 2, 0.8);
  const double lost = coarse.mean_energy[0] - coarse.mean_energy[3],
               lost_fine = fine.mean_energy[0] - fine.mean_energy[3];
  CHECK(lost > 0);
  CHECK(lost / lost_fine == doctest::Approx(8).epsilon(0.05));
  CHECK(coarse.momentum[3] / fine.momentum[3] == doctest::Approx(4).epsilon(0.05));
}

}  // namespace
