// Friction of joints is the same with every method, in all units, with the bodies in another order, and in steps of any
// size.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "energy_account.hpp"
#include "joint_friction_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double g = 9.81;

}  // namespace

TEST_CASE("coupled methods: wheel, brake and rod move as in the decoupled method") {
  for (const char* method : {"nsga_coupled", "nsga_monolithic", "nsga_pva"}) {
    INFO(std::string(method));
    // of any step: constant deceleration, rest
    for (const double h : {1.0 / 97, 0.3}) {
      const auto angle = [&](const char* of) {
        Case c = machine(wheel, bearing(R"({"coefficient": 0.2, "radius": 0.02, "torque": 0.05})"), h,
                         std::ceil(3 / h) * h, of);
        JointLawCheck law(c);
        REQUIRE(c.run([&](const StepView& v) { law.see(v); }) == RunStatus::completed);
        CHECK(c.angular_velocity("wheel").norm() < 1e-12);
        CHECK(c.state().closed.front() == 1);
        CHECK(law.gain < 1e-13);
        if (of != std::string("nsga_pva")) CHECK(law.outside < 1e-10);
        return angle_of_joint(c);
      };
      CHECK(std::abs(std::remainder(angle(method) - angle("nsga_decoupled"), 4 * M_PI)) < 1e-10);
    }
    // at second order
    double before = 0;
    for (const double h : {1.0 / 100, 1.0 / 200}) {
      Case c = machine(rod, pin, h, 0.5, method);
      REQUIRE(c.run() == RunStatus::completed);
      const Vec3 x = c.position("rod");
      const double error = std::atan2(x.z(), x.x()) - rod_angle;
      CHECK(std::abs(error) < (h > 0.007 ? 6e-4 : 1.5e-4));
      if (before != 0) CHECK(std::abs(error / before) < 0.35);
      before = error;
    }
    // a disc of two rows, and one of three
    Case sliding = machine(ring, shaft, 1e-2, 0.4, method);
    const RunStatus status = sliding.run();
    INFO(sliding.last_report().failed);
    REQUIRE(status == RunStatus::completed);
    CHECK(std::abs(sliding.velocity("ring").x() - 0.6 * (0.5 - 0.4 * 0.1 * g)) < 1e-11);
    Case spinning = machine(ball, socket, 1e-2, 0.3, method);
    REQUIRE(spinning.run() == RunStatus::completed);
    CHECK((spinning.angular_velocity("ball") - (9 - 0.3 * 0.3 * 0.05 * 2 * g / 0.02) * Vec3(6, -3, 6) / 9).norm() <
          1e-9);
  }
}

TEST_CASE("the answer does not depend on units, nor on which body comes first") {
  const auto run = [](double length, double time, double mass, bool turned, const char* method = "nsga_decoupled") {
    const double J = mass * length * length;
    const std::string of = turned ? R"(["rod.pin", "ground"])" : R"(["ground", "rod.pin"])";
    Case c = machine(fmt::format(R"({{"name": "rod", "type": "rigid", "mass": {}, "inertia": [{}, {}, {}],
        "position": [{:.17g}, 0, 0], "points": [{{"name": "pin", "at": [{:.17g}, 0, 0]}}]}})",
                                 mass, 0.001 * J, J / 12, J / 12, 0.5 * length, -0.5 * length),
                     fmt::format(R"({{"name": "pin", "type": "revolute", "of": {}, "axis": [0, 1, 0],
        "friction": {{"coefficient": 0.5, "radius": {:.17g}, "torque": {:.17g}}}}})",
                                 of, 0.2 * length, 0.1 * J / (time * time)),
                     0.01 * time, 0.5 * time, method, fmt::format("[0, 0, {:.17g}]", -g * length / (time * time)));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.statistics().subdivided_steps == 0);
    return Vec3(c.position("rod") / length);
  };
  const Vec3 expected = run(1, 1, 1, false);
  CHECK((run(1, 1, 1, true) - expected).norm() < 1e-10);
  CHECK((run(1000, 1, 1, false) - expected).norm() < 1e-9);
  CHECK((run(1, 1e-3, 1e3, false) - expected).norm() < 1e-9);
  CHECK((run(1e-3, 1e3, 1e-6, true) - expected).norm() < 1e-9);
  // micrometres, milliseconds and milligrams; nanometres
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean"}) {
    CAPTURE(method);
    const Vec3 in_metres = run(1, 1, 1, false, method);
    CHECK((run(1e6, 1e3, 1e6, false, method) - in_metres).norm() < 1e-9);
    CHECK((run(1e9, 1, 1, true, method) - in_metres).norm() < 1e-9);
    CHECK((run(1e-6, 1, 1, false, method) - in_metres).norm() < 1e-9);
  }
}

TEST_CASE("wheel: any step stops it, and the ledger has all of its energy as friction") {
  for (const double h : {1e-5, 0.1, 10.0, 1e4}) {
    Case c = machine(wheel, bearing(R"({"coefficient": 0.2, "radius": 0.02, "torque": 0.05})"), h, 30 * h);
    const Account a = account(c);
    REQUIRE(a.status == RunStatus::completed);
    const double left = std::max(0.0, 10 - 30 * h * (0.004 * 2 * g + 0.05) / 0.02);
    CHECK(std::abs(c.angular_velocity("wheel").y() - left) < 1e-10);
    CHECK(a.balance.friction == doctest::Approx(0.5 * 0.02 * (left * left - 100)).epsilon(1e-10));
    CHECK(std::abs(a.balance.closure) < 1e-12);
  }
}
