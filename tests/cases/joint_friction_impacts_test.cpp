// Friction of joints beside impacts: at the ends of steps, and at their instants, against closed forms and an
// independent solution.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/index.hpp"
#include "energy_account.hpp"
#include "joint_friction_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double g = 9.81;

constexpr const char* rod_with_tip = R"({"name": "rod", "type": "rigid", "mass": 1,
  "inertia": [0.001, 0.08333333333333333, 0.08333333333333333], "position": [0.5, 0, 0],
  "points": [{"name": "pin", "at": [-0.5, 0, 0]}, {"name": "tip", "at": [0.5, 0, 0]}]})";

// A rod of mass 1 and length 1 on a bearing, angle a from the horizontal, a'' = moment of gravity and friction.
struct Pendulum {
  double mu_r;
  double acceleration(double a, double w) const {
    // the friction depends on the reaction, and this on the acceleration
    double alpha = 0;
    for (int i = 0; i < 60; ++i) {
      const double radial = -0.5 * w * w + g * std::sin(a), across = 0.5 * alpha + g * std::cos(a);
      alpha = 3 * (-0.5 * g * std::cos(a) - std::copysign(mu_r * std::hypot(radial, across), w));
    }
    return alpha;
  }
  void step(double& a, double& w, double h) const {
    const double k_1 = acceleration(a, w), k_2 = acceleration(a + 0.5 * h * w, w + 0.5 * h * k_1),
                 w_2 = w + 0.5 * h * k_1, w_3 = w + 0.5 * h * k_2, k_3 = acceleration(a + 0.5 * h * w_2, w_3),
                 w_4 = w + h * k_3, k_4 = acceleration(a + h * w_3, w_4);
    a += h / 6 * (w + 2 * w_2 + 2 * w_3 + w_4);
    w += h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4);
  }
  // Reflected at the angle `stop`, which it reaches from above.
  void move(double& a, double& w, double time, double stop, double e) const {
    const double h = 1e-4;
    for (double left = time; left > 0;) {
      double step_now = std::min(h, left), a_1 = a, w_1 = w;
      step(a_1, w_1, step_now);
      const bool strikes = a_1 < stop;
      for (int i = 0; strikes && i < 30 && std::abs(a_1 - stop) > 1e-15; ++i) {
        step_now -= (a_1 - stop) / w_1;
        a_1 = a;
        w_1 = w;
        step(a_1, w_1, step_now);
      }
      a = a_1;
      w = strikes ? -e * w_1 : w_1;
      left -= step_now;
    }
  }
};

}  // namespace

TEST_CASE("friction follows the impulse of an impact, in joints that strike a stop and an obstacle") {
  for (const char* method : {R"(nsga_decoupled", "impact": "published)", "moreau_jean", located})
    for (const double e : {0.0, 0.7}) {
      Case c = machine(rod_with_tip,
                       R"({"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
          "friction": {"coefficient": 0.3, "radius": 0.1}})",
                       1e-3, 1, method, "[0, 0, -9.81]",
                       fmt::format(R"("contacts": [{{"name": "floor", "on": "rod.tip", "restitution": {},
          "friction": 0.2, "obstacle": {{"type": "plane", "point": [0, 0, -0.4], "normal": [0, 0, 1]}}}}],)",
                                   e));
      JointLawCheck law(c);
      double largest = 0;
      const int row = joint_of(c).friction.front();
      REQUIRE(c.run([&](const StepView& v) {
        if (method != located) law.see(v);
        largest = std::max(largest, std::abs(c.impulse(row)));
      }) == RunStatus::completed);
      CHECK(law.outside < 1e-9);
      CHECK(c.statistics().impacts > 0);
      // far above that of the weight in a step; with e = 0 floor and friction share the stop in no unique way
      if (e > 0) CHECK(largest > 20 * 0.03 * g * 1e-3);
    }
}

TEST_CASE("impacts at their instants: a braked wheel between stops moves as its closed form says") {
  // a constant torque between the stops, which bring no load to the bearing
  const double J = 0.02, rate = (0.004 * 2 * g + 0.03) / J, e = 0.8, upper = 2, lower = -1;
  for (const double duration : {0.6, 2.0})
    for (const double h : {1.0 / 100, 1.0 / 370}) {
      Case c = machine(wheel,
                       fmt::format(R"({{"name": "bearing", "type": "revolute", "of": ["ground", "wheel"],
          "axis": [0, 1, 0], "friction": {{"coefficient": 0.2, "radius": 0.02, "torque": 0.03}},
          "stops": {{"lower": {}, "upper": {}, "restitution": {}}}}})",
                                   lower, upper, e),
                       h, duration, located);
      const Account run = account(c);
      REQUIRE(run.status == RunStatus::completed);
      const EnergyBalance& balance = run.balance;
      double a = 0, w = 10, left = c.t(), friction = 0, impacts = 0;
      for (;;) {
        const double way = w > 0 ? upper - a : a - lower, square = w * w - 2 * rate * way;
        const double reach = square > 0 ? (std::abs(w) - std::sqrt(square)) / rate : INFINITY;
        const double time = std::min({left, reach, std::abs(w) / rate}), before = w * w;
        a += std::copysign(std::abs(w) * time - 0.5 * rate * time * time, w);
        w = std::copysign(std::abs(w) - rate * time, w);
        friction += 0.5 * J * (w * w - before);
        if (time != reach) break;
        left -= time;
        impacts += 0.5 * J * (e * e - 1) * w * w;
        w *= -e;
      }
      const bool rests = duration > 1;  // a stop lasts to the end of its step
      CHECK(std::abs(angle_of_joint(c) - a) < (rests ? h * h * rate : 1e-12));
      CHECK(std::abs(c.angular_velocity("wheel").y() - w) < 1e-12);
      CHECK(balance.friction == doctest::Approx(friction).epsilon(1e-11));
      CHECK(balance.impacts == doctest::Approx(impacts).epsilon(1e-11));
      CHECK(std::abs(balance.closure) < 1e-12);
      if (rests) CHECK(c.state().closed[at(joint_of(c).friction.front() - c.model().system.bilateral())] == 1);
    }
}

TEST_CASE("impacts at their instants: a pendulum on a bearing rebounds from an obstacle at second order") {
  const double stop = -std::asin(0.8);
  // the motion goes up after the impact; the obstacle loads the bearing, the stop of the joint does not
  for (const bool obstacle : {true, false}) {
    double a = 0, w = 0;
    const Pendulum exact{0.03};
    exact.move(a, w, 0.6, stop, 0.8);
    REQUIRE(w > 0.5);
    double errors[3] = {};
    int i = 0;
    for (const double h : {4e-3, 2e-3, 1e-3}) {
      // over several phases of the impact in the step
      for (const double phase : {1.0, 1.003, 1.007, 1.011}) {
        const double steps = std::round(0.6 / (h * phase));
        Case c = machine(
            rod_with_tip,
            fmt::format(R"({{"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"],
            "axis": [0, 1, 0], "friction": {{"coefficient": 0.3, "radius": 0.1}}{}}})",
                        obstacle ? "" : fmt::format(R"(, "stops": {{"upper": {:.17g}, "restitution": 0.8}})", -stop)),
            0.6 / steps, 0.6, located, "[0, 0, -9.81]",
            obstacle ? R"("contacts": [{"name": "floor", "on": "rod.tip", "restitution": 0.8,
              "obstacle": {"type": "plane", "point": [0, 0, -0.8], "normal": [0, 0, 1]}}],)"
                     : "");
        REQUIRE(c.run() == RunStatus::completed);
        CHECK(c.statistics().impacts == 1);
        const Vec3 x = c.position("rod");
        errors[i] = std::max(
            {errors[i], std::abs(std::atan2(x.z(), x.x()) - a), 0.1 * std::abs(-c.angular_velocity("rod").y() - w)});
      }
      ++i;
    }
    INFO(errors[0], " ", errors[1], " ", errors[2]);
    CHECK(errors[2] < 2e-5);
    CHECK(errors[1] < 0.32 * errors[0]);
    CHECK(errors[2] < 0.32 * errors[1]);
  }
}

TEST_CASE("impacts at their instants: friction that stops a joint before the obstacle prevents the impact") {
  // the wheel comes to rest 1e-4 before its stop, within a step whose motion without friction goes on to it
  const double rate = 0.3 / 0.02, angle = 100 / (2 * rate) + 1e-4;
  for (const double h : {1.0 / 97, 1.0 / 30}) {
    Case c = machine(wheel,
                     fmt::format(R"({{"name": "bearing", "type": "revolute", "of": ["ground", "wheel"],
        "axis": [0, 1, 0], "friction": {{"torque": 0.3}}, "stops": {{"upper": {:.17g}, "restitution": 0.5}}}})",
                                 angle),
                     h, std::ceil(1 / h) * h, located);
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.angular_velocity("wheel").norm() < 1e-12);
    CHECK(std::abs(c.impulse(c.model().system.bilateral())) < 1e-12);
  }
}
