// Friction of joints against closed forms: of the given step (to rounding), and of continuous time (with the order of
// the method).

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "case_runner.hpp"
#include "elements/joints/joint_coordinate.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "integrators/common/failure.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double g = 9.81;
const char* const methods[] = {"nsga_decoupled", "moreau_jean"};

const JointInfo& joint_of(Case& c) { return c.model().joints.front(); }

/// The model of one rigid body and joints, with the rest of the file.
Case machine(const std::string& body, const std::string& joints, double h, double duration,
             const std::string& method = "nsga_decoupled", const std::string& gravity = "[0, 0, -9.81]",
             const std::string& more = "") {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": {}, "bodies": [{}], "joints": [{}], {}
    "integrator": {{"type": "{}", "step": {:.17g}, "duration": {:.17g}}}}})",
                                     gravity, body, joints, more, method, h, duration));
}

/// The multipliers of friction are in their discs at both levels, after every step; friction takes energy.
class LawCheck {
 public:
  explicit LawCheck(Case& c) : before_(c.state().lambda), energy_(c.energy()), scale_(std::abs(energy_)) {}
  void see(const StepView& v) {
    const System& system = v.system;
    const State& s = v.state;
    const double h = s.last_h, t_n = s.t - h;
    const bool decoupled = v.integrator.info().exact_positions;
    for (int row = system.bilateral(); row < system.rows(); ++row) {
      if (system.row_kind(row) != RowKind::joint_friction || system.row_place(row).row != 0) continue;
      const int n = system.row_block(row).rows();
      const auto check = [&](const Vector& multipliers, double start, double end, double duration, double t) {
        Vector total(multipliers.begin(), multipliers.begin() + system.bilateral());
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += start * before_[i] + end * s.lambda[i];
        const double limit = system.friction_limit(row, s.q, total, duration, t);
        double square = 0;
        for (int k = 0; k < n; ++k) square += multipliers[at(row + k)] * multipliers[at(row + k)];
        if (limit > 0) outside = std::max(outside, std::sqrt(square) / limit - 1);
      };
      if (decoupled) {
        check(s.nu, h * h / 3, h * h / 6, h * h / 2, t_n + h / 3);
        check(s.impulse, h / 2, h / 2, h, t_n + h / 2);
      } else {
        check(s.impulse, 0, 0, h, t_n + h / 2);
      }
    }
    before_ = s.lambda;
    const Energies e = system.energies(s.q, s.v, s.t);
    const double now = e.kinetic + e.elastic + e.potential;
    scale_ = std::max({scale_, e.kinetic, std::abs(now)});
    gain = std::max(gain, (now - energy_) / scale_);
    energy_ = now;
  }
  double outside = 0;  ///< |s| - R over R, at most
  double gain = 0;     ///< of the energy in a step, over its largest value

 private:
  Vector before_;
  double energy_, scale_;
};

/// For machine().
const char* const located = R"(nsga_decoupled", "impact": "located)";

const char* const wheel = R"({"name": "wheel", "type": "rigid", "mass": 2, "inertia": [0.01, 0.02, 0.01],
  "angular_velocity": [0, 10, 0]})";
std::string bearing(const std::string& friction) {
  return R"({"name": "bearing", "type": "revolute", "of": ["ground", "wheel"], "axis": [0, 1, 0], "friction": )" +
         friction + "}";
}

}  // namespace

TEST_CASE("wheel on a bearing: it slows down as the step's closed form says, stops, and stays") {
  const double M = 0.004 * 2 * g, J = 0.02, rate = M / J;
  for (const char* method : methods)
    for (const double h : {1.0 / 97, 1.0 / 388, 0.3}) {
      Case c = machine(wheel, bearing(R"({"coefficient": 0.2, "radius": 0.02})"), h, std::ceil(3 / h) * h, method);
      LawCheck law(c);
      long n = 0;
      double worst = 0, at_stop = 0, creep = 0;
      REQUIRE(c.run([&](const StepView& v) {
        law.see(v);
        ++n;
        const double w = c.angular_velocity("wheel").y(), expected = 10 - static_cast<double>(n) * h * rate;
        if (expected > 0) worst = std::max(worst, std::abs(w - expected));
        CoordinateState s;
        const JointCoordinate& angle = *joint_of(c).angle;
        evaluate_coordinate(angle, nullptr, NodeKind::frame, v.state.q.data(), NodeKind::frame, CoordinateOrder::value,
                            s);
        if (expected < -h * rate) creep = std::max(creep, std::abs(std::remainder(s.value - at_stop, 4 * M_PI)));
        if (expected >= -h * rate) at_stop = s.value;
        if (expected < 0) CHECK(std::abs(w) < 1e-12);
      }) == RunStatus::completed);
      CHECK(worst < 1e-11);
      CHECK(creep < 1e-12);
      CHECK(law.outside < 1e-10);
      CHECK(law.gain < 1e-14);
      const double whole = 10 / (h * rate), f = whole - std::floor(whole);
      // the stop lies within a step
      const double error = std::string(method) == "nsga_decoupled" ? h * h * rate * (std::max(0.0, f - 0.5) - f * f / 2)
                                                                   : h * h * rate * f * (1 - f) / 2;
      CHECK(std::abs(std::remainder(at_stop - 12.74209990 - error, 4 * M_PI)) < 2e-8);
      CHECK(c.state().closed.front() == 1);
    }
}

TEST_CASE("rod on a bearing: falls from the horizontal at second order") {
  double before = 0;
  const double largest[] = {1.6e-3, 4.1e-4, 1.1e-4, 2.7e-5};
  int i = 0;
  for (const double h : {1.0 / 50, 1.0 / 100, 1.0 / 200, 1.0 / 400}) {
    Case c = machine(R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.08333333333333333,
        0.08333333333333333], "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]}]})",
                     R"({"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
        "friction": {"coefficient": 0.5, "radius": 0.2}})",
                     h, 0.5);
    LawCheck law(c);
    double first = 0;
    REQUIRE(c.run([&](const StepView& v) {
      law.see(v);
      if (first == 0) first = c.angular_velocity("rod").y() / h;
    }) == RunStatus::completed);
    const Vec3 x = c.position("rod");
    const double error = std::atan2(x.z(), x.x()) + 1.43025651;
    CHECK(std::abs(error) < largest[i++]);
    if (before != 0) CHECK(error / before == doctest::Approx(0.25).epsilon(0.1));
    CHECK(std::abs(c.angular_velocity("rod").y() - 4.21573319) < 12 * h * h + 2e-3);
    if (i == 4) CHECK(first == doctest::Approx(13.8494118).epsilon(2e-3));
    CHECK(law.outside < 1e-10);
    CHECK(law.gain < 1e-13);
    before = error;
  }
}

TEST_CASE("torsion oscillator with a constant torque: the amplitude falls by 4 T/k in a turn, and the rest lasts") {
  const double k = 2, J = 0.02, T = 0.3, w = std::sqrt(k / J), amplitude = 1.7;
  for (const char* method : methods) {
    double before = 0;
    for (const double h : {2e-3, 1e-3}) {
      Case c = machine(R"({"name": "wheel", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02]})",
                       fmt::format(R"({{"name": "bearing", "type": "revolute", "of": ["ground", "wheel"],
          "axis": [0, 1, 0], "angle_at_start": {}, "spring": {{"stiffness": {}}}, "friction": {{"torque": {}}}}})",
                                   amplitude, k, T),
                       h, 2, method);
      LawCheck law(c);
      const auto angle = [&] {
        CoordinateState s;
        evaluate_coordinate(*joint_of(c).angle, nullptr, NodeKind::frame, c.state().q.data(), NodeKind::frame,
                            CoordinateOrder::value, s);
        return s.value;
      };
      double error = 0;
      REQUIRE(c.run([&](const StepView& v) {
        law.see(v);
        // half turns about +-T/k
        double a = amplitude, t = c.t();
        int half = 0;
        while (t > M_PI / w && a > T / k) {
          t -= M_PI / w;
          a -= 2 * T / k;
          ++half;
        }
        const double x = a > T / k ? T / k + (a - T / k) * std::cos(w * t) : a;
        error = std::max(error, std::abs(angle() - (half % 2 == 0 ? x : -x)));
      }) == RunStatus::completed);
      // amplitudes 1.7, 1.4, 1.1, 0.8, 0.5, 0.2, and there -0.1 is within T/k
      CHECK(std::abs(angle() + 0.1) < (h == 1e-3 ? 3e-3 : 6e-3));
      CHECK(c.angular_velocity("wheel").norm() < 1e-12);
      CHECK(law.outside < 1e-10);
      // in the step of a reversal the force of its end acts on a motion that begins the other way
      CHECK(law.gain < 10 * h * h);
      if (before > 0) CHECK(error < 0.7 * before);
      before = error;
    }
  }
}

TEST_CASE("block on a rail: friction holds it, or it slides with g (sin a - mu cos a)") {
  for (const char* method : methods)
    for (const bool rigid : {true, false}) {
      const std::string body = rigid ? R"({"name": "m", "type": "rigid", "mass": 3, "inertia": [1, 2, 2.5]})"
                                     : R"({"name": "m", "type": "point_mass", "mass": 3})";
      const double s = 0.5 / std::sqrt(1.25), across = 1 / std::sqrt(1.25);
      const std::string gravity = fmt::format("[{:.17g}, 0, {:.17g}]", g * s, -g * across);
      for (const double mu : {0.6, 0.3}) {
        Case c = machine(body,
                         fmt::format(R"({{"name": "rail", "type": "prismatic", "of": ["ground", "m"],
            "axis": [1, 0, 0], "friction": {{"coefficient": {}}}}})",
                                     mu),
                         1e-2, 1, method, gravity);
        LawCheck law(c);
        REQUIRE(c.run([&](const StepView& v) { law.see(v); }) == RunStatus::completed);
        const double a = mu > 0.5 ? 0 : g * (s - mu * across);
        CHECK(std::abs(c.position("m").x() - 0.5 * a) < 1e-11);
        CHECK(std::abs(c.velocity("m").x() - a) < 1e-11);
        CHECK(law.outside < 1e-10);
        CHECK(law.gain < 1e-13);
        CHECK(c.state().closed.front() == (mu > 0.5 ? 1 : 2));
      }
    }
}

TEST_CASE("slider under an eccentric force: the couple at the ends of its bearing counts") {
  // P = 12 at e = 2 a across the rail: pads at +-a press with P e/a in all, above m g
  for (const char* method : methods) {
    Case c = machine(R"({"name": "m", "type": "rigid", "mass": 1, "inertia": [1, 1, 1],
        "points": [{"name": "top", "at": [0, 0, 0.2]}]})",
                     R"({"name": "rail", "type": "prismatic", "of": ["ground", "m"], "axis": [1, 0, 0],
        "friction": {"coefficient": 0.2, "length": 0.2}})",
                     1e-2, 1, method, "[0, 0, -9.81]",
                     R"("loads": [{"name": "P", "type": "force", "on": "m.top", "value": [12, 0, 0]}],)");
    LawCheck law(c);
    REQUIRE(c.run([&](const StepView& v) { law.see(v); }) == RunStatus::completed);
    CHECK(c.velocity("m").x() == doctest::Approx(7.2).epsilon(1e-11));
    CHECK(law.outside < 1e-10);
  }
}

TEST_CASE("spherical joint: a ball in its socket spins down about any axis") {
  const double rate = 0.3 * 0.05 * 2 * g / 0.02;
  for (const char* method : methods) {
    Case c = machine(R"({"name": "ball", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
        "angular_velocity": [6, -3, 6], "orientation": {"axis": [1, 2, 3], "angle": 0.7}})",
                     R"({"name": "socket", "type": "spherical", "of": ["ground", "ball"],
        "friction": {"coefficient": 0.3, "radius": 0.05}})",
                     1e-2, 0.7, method);
    LawCheck law(c);
    long n = 0;
    double worst = 0;
    REQUIRE(c.run([&](const StepView& v) {
      law.see(v);
      const double w = std::max(0.0, 9 - static_cast<double>(++n) * 1e-2 * rate);
      worst = std::max(worst, (c.angular_velocity("ball") - w * Vec3(6, -3, 6) / 9).norm());
    }) == RunStatus::completed);
    CHECK(worst < 1e-10);
    CHECK(law.outside < 1e-10);
    CHECK(law.gain < 1e-13);
    CHECK(c.state().closed.front() == 1);
  }
}

TEST_CASE("spherical joint: friction holds a pendulum that leans little") {
  // m g l sin(a) against mu r m g
  for (const double angle : {0.19, 0.21}) {
    Case c = machine(fmt::format(R"({{"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.01],
        "position": [{:.17g}, 0, {:.17g}], "orientation": {{"axis": [0, 1, 0], "angle": {:.17g}}},
        "points": [{{"name": "pin", "at": [0, 0, 1]}}]}})",
                                 -std::sin(angle), -std::cos(angle), angle),
                     R"({"name": "socket", "type": "spherical", "of": ["ground", "rod.pin"],
        "friction": {"coefficient": 0.4, "radius": 0.5}})",
                     1e-2, 1);
    const Vec3 start = c.position("rod");
    LawCheck law(c);
    REQUIRE(c.run([&](const StepView& v) { law.see(v); }) == RunStatus::completed);
    const double moved = (c.position("rod") - start).norm();
    if (std::sin(angle) < 0.2)
      CHECK(moved < 1e-12);
    else
      CHECK(moved > 1e-3);
    CHECK(law.outside < 1e-10);
  }
}

TEST_CASE("cylindrical joint: sliding and turning share one disc") {
  // with J = m r^2 both slow down alike
  const double r = 0.1, slip = 0.5;
  for (const char* method : methods) {
    Case c = machine(R"({"name": "ring", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
        "velocity": [0.3, 0, 0], "angular_velocity": [4, 0, 0]})",
                     R"({"name": "shaft", "type": "cylindrical", "of": ["ground", "ring"], "axis": [1, 0, 0],
        "friction": {"coefficient": 0.1, "radius": 0.1}})",
                     1e-2, 0.6, method);
    LawCheck law(c);
    long n = 0;
    double worst = 0;
    REQUIRE(c.run([&](const StepView& v) {
      law.see(v);
      const double now = std::max(0.0, slip - static_cast<double>(++n) * 1e-2 * 0.1 * g);
      worst = std::max({worst, std::abs(c.velocity("ring").x() - 0.6 * now),
                        std::abs(r * c.angular_velocity("ring").x() - 0.8 * now)});
    }) == RunStatus::completed);
    CHECK(worst < 1e-11);
    CHECK(law.outside < 1e-10);
    CHECK(law.gain < 1e-13);
  }
}

TEST_CASE("the collar of a bearing takes the force along the axis") {
  Case c = machine(R"({"name": "wheel", "type": "rigid", "mass": 2, "inertia": [0.01, 0.01, 0.02],
      "angular_velocity": [0, 0, 10]})",
                   R"({"name": "bearing", "type": "revolute", "of": ["ground", "wheel"], "axis": [0, 0, 1],
      "friction": {"coefficient": 0.2, "radius": 0.02, "thrust_radius": 0.05}})",
                   1e-2, 0.5);
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.angular_velocity("wheel").z() == doctest::Approx(10 - 0.5 * 0.2 * 0.05 * 2 * g / 0.02).epsilon(1e-12));
}

TEST_CASE("friction follows the impulse of an impact, in joints that strike a stop and an obstacle") {
  for (const char* method : {R"(nsga_decoupled", "impact": "published)", "moreau_jean", located})
    for (const double e : {0.0, 0.7}) {
      Case c = machine(R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.08333333333333333,
          0.08333333333333333], "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]},
          {"name": "tip", "at": [0.5, 0, 0]}]})",
                       R"({"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
          "friction": {"coefficient": 0.3, "radius": 0.1}})",
                       1e-3, 1, method, "[0, 0, -9.81]",
                       fmt::format(R"("contacts": [{{"name": "floor", "on": "rod.tip", "restitution": {},
          "friction": 0.2, "obstacle": {{"type": "plane", "point": [0, 0, -0.4], "normal": [0, 0, 1]}}}}],)",
                                   e));
      LawCheck law(c);
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
      EnergyLedger ledger;
      Simulation simulation(c.model().system, c.integrator(), c.state(), c.model().simulation);
      simulation.add_observer(ledger);
      REQUIRE(simulation.run() == RunStatus::completed);
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
      CoordinateState s;
      evaluate_coordinate(*joint_of(c).angle, nullptr, NodeKind::frame, c.state().q.data(), NodeKind::frame,
                          CoordinateOrder::value, s);
      const bool rests = duration > 1;  // a stop lasts to the end of its step
      CHECK(std::abs(s.value - a) < (rests ? h * h * rate : 1e-12));
      CHECK(std::abs(c.angular_velocity("wheel").y() - w) < 1e-12);
      CHECK(ledger.balance().friction == doctest::Approx(friction).epsilon(1e-11));
      CHECK(ledger.balance().impacts == doctest::Approx(impacts).epsilon(1e-11));
      CHECK(std::abs(ledger.balance().closure) < 1e-12);
      if (rests) CHECK(c.state().closed[at(joint_of(c).friction.front() - c.model().system.bilateral())] == 1);
    }
}

namespace {

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
            R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.08333333333333333,
            0.08333333333333333], "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]},
            {"name": "tip", "at": [0.5, 0, 0]}]})",
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

TEST_CASE("coupled methods: wheel, brake and rod move as in the decoupled method") {
  for (const char* method : {"nsga_coupled", "nsga_monolithic", "nsga_pva"}) {
    INFO(std::string(method));
    // of any step: constant deceleration, rest
    for (const double h : {1.0 / 97, 0.3}) {
      const auto angle = [&](const char* of) {
        Case c = machine(wheel, bearing(R"({"coefficient": 0.2, "radius": 0.02, "torque": 0.05})"), h,
                         std::ceil(3 / h) * h, of);
        LawCheck law(c);
        REQUIRE(c.run([&](const StepView& v) { law.see(v); }) == RunStatus::completed);
        CHECK(c.angular_velocity("wheel").norm() < 1e-12);
        CHECK(c.state().closed.front() == 1);
        CHECK(law.gain < 1e-13);
        if (of != std::string("nsga_pva")) CHECK(law.outside < 1e-10);
        CoordinateState s;
        evaluate_coordinate(*joint_of(c).angle, nullptr, NodeKind::frame, c.state().q.data(), NodeKind::frame,
                            CoordinateOrder::value, s);
        return s.value;
      };
      CHECK(std::abs(std::remainder(angle(method) - angle("nsga_decoupled"), 4 * M_PI)) < 1e-10);
    }
    // at second order
    double before = 0;
    for (const double h : {1.0 / 100, 1.0 / 200}) {
      Case c = machine(R"({"name": "rod", "type": "rigid", "mass": 1, "inertia": [0.001, 0.08333333333333333,
          0.08333333333333333], "position": [0.5, 0, 0], "points": [{"name": "pin", "at": [-0.5, 0, 0]}]})",
                       R"({"name": "pin", "type": "revolute", "of": ["ground", "rod.pin"], "axis": [0, 1, 0],
          "friction": {"coefficient": 0.5, "radius": 0.2}})",
                       h, 0.5, method);
      REQUIRE(c.run() == RunStatus::completed);
      const Vec3 x = c.position("rod");
      const double error = std::atan2(x.z(), x.x()) + 1.43025651;
      CHECK(std::abs(error) < (h > 0.007 ? 6e-4 : 1.5e-4));
      if (before != 0) CHECK(std::abs(error / before) < 0.35);
      before = error;
    }
    // a disc of two rows, and one of three
    Case ring = machine(R"({"name": "ring", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
        "velocity": [0.3, 0, 0], "angular_velocity": [4, 0, 0]})",
                        R"({"name": "shaft", "type": "cylindrical", "of": ["ground", "ring"], "axis": [1, 0, 0],
        "friction": {"coefficient": 0.1, "radius": 0.1}})",
                        1e-2, 0.4, method);
    const RunStatus ring_status = ring.run();
    INFO(ring.last_report().failed);
    REQUIRE(ring_status == RunStatus::completed);
    CHECK(std::abs(ring.velocity("ring").x() - 0.6 * (0.5 - 0.4 * 0.1 * g)) < 1e-11);
    Case ball = machine(R"({"name": "ball", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02],
        "angular_velocity": [6, -3, 6], "orientation": {"axis": [1, 2, 3], "angle": 0.7}})",
                        R"({"name": "socket", "type": "spherical", "of": ["ground", "ball"],
        "friction": {"coefficient": 0.3, "radius": 0.05}})",
                        1e-2, 0.3, method);
    REQUIRE(ball.run() == RunStatus::completed);
    CHECK((ball.angular_velocity("ball") - (9 - 0.3 * 0.3 * 0.05 * 2 * g / 0.02) * Vec3(6, -3, 6) / 9).norm() < 1e-9);
  }
}

TEST_CASE("the answer does not depend on units, nor on which body comes first") {
  const auto run = [](double length, double time, double mass, bool turned) {
    const double J = mass * length * length;
    const std::string of = turned ? R"(["rod.pin", "ground"])" : R"(["ground", "rod.pin"])";
    Case c =
        machine(fmt::format(R"({{"name": "rod", "type": "rigid", "mass": {}, "inertia": [{}, {}, {}],
        "position": [{:.17g}, 0, 0], "points": [{{"name": "pin", "at": [{:.17g}, 0, 0]}}]}})",
                            mass, 0.001 * J, J / 12, J / 12, 0.5 * length, -0.5 * length),
                fmt::format(R"({{"name": "pin", "type": "revolute", "of": {}, "axis": [0, 1, 0],
        "friction": {{"coefficient": 0.5, "radius": {:.17g}, "torque": {:.17g}}}}})",
                            of, 0.2 * length, 0.1 * J / (time * time)),
                0.01 * time, 0.5 * time, "nsga_decoupled", fmt::format("[0, 0, {:.17g}]", -g * length / (time * time)));
    REQUIRE(c.run() == RunStatus::completed);
    return Vec3(c.position("rod") / length);
  };
  const Vec3 expected = run(1, 1, 1, false);
  CHECK((run(1, 1, 1, true) - expected).norm() < 1e-10);
  CHECK((run(1000, 1, 1, false) - expected).norm() < 1e-9);
  CHECK((run(1, 1e-3, 1e3, false) - expected).norm() < 1e-9);
  CHECK((run(1e-3, 1e3, 1e-6, true) - expected).norm() < 1e-9);
}

TEST_CASE("wheel: any step stops it, and the ledger has all of its energy as friction") {
  for (const double h : {1e-5, 0.1, 10.0, 1e4}) {
    Case c = machine(wheel, bearing(R"({"coefficient": 0.2, "radius": 0.02, "torque": 0.05})"), h, 30 * h);
    EnergyLedger ledger;
    Simulation simulation(c.model().system, c.integrator(), c.state(), c.model().simulation);
    simulation.add_observer(ledger);
    REQUIRE(simulation.run() == RunStatus::completed);
    const double left = std::max(0.0, 10 - 30 * h * (0.004 * 2 * g + 0.05) / 0.02);
    CHECK(std::abs(c.angular_velocity("wheel").y() - left) < 1e-10);
    CHECK(ledger.balance().friction == doctest::Approx(0.5 * 0.02 * (left * left - 100)).epsilon(1e-10));
    CHECK(std::abs(ledger.balance().closure) < 1e-12);
  }
}

TEST_CASE("brake: its torque is a function of time, and holds the wheel against a load up to its size") {
  Case c =
      machine(wheel, bearing(R"({"torque": "t < 1 ? 0 : 0.5"})"), 1e-2, 2, "nsga_decoupled", "[0, 0, 0]",
              R"("loads": [{"name": "M", "type": "torque", "on": "wheel", "value": [0, "t < 1.6 ? 0 : 0.4", 0]}],)");
  REQUIRE(c.run_for(1) == RunStatus::completed);
  CHECK(c.angular_velocity("wheel").y() == doctest::Approx(10).epsilon(1e-12));
  REQUIRE(c.run_for(1) == RunStatus::completed);
  CHECK(std::abs(c.angular_velocity("wheel").y()) < 1e-12);
  CHECK(c.force(joint_of(c).friction.front()) == doctest::Approx(-0.4).epsilon(1e-6));
}

TEST_CASE("a mechanism in its dead point: the load of a bearing is not known, and the run ends") {
  // a parallelogram whose bars lie on one line press on each other by a force that nothing determines
  for (const bool loaded : {false, true})
    for (const bool follows : {true, false}) {
      const double a = 0.3, x = std::cos(a), z = std::sin(a);
      Case c =
          machine(fmt::format(R"({{"name": "a", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.1],
              "position": [{0:.17g}, 0, {1:.17g}], "orientation": {{"axis": [0, 1, 0], "angle": {2}}},
              "points": [{{"name": "o", "at": [-0.5, 0, 0]}}, {{"name": "tip", "at": [0.5, 0, 0]}}]}},
            {{"name": "b", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.1],
              "position": [{3:.17g}, 0, {1:.17g}], "orientation": {{"axis": [0, 1, 0], "angle": {2}}},
              "points": [{{"name": "o", "at": [-0.5, 0, 0]}}, {{"name": "tip", "at": [0.5, 0, 0]}}]}},
            {{"name": "c", "type": "rigid", "mass": 1, "inertia": [0.1, 0.1, 0.1],
              "position": [{4:.17g}, 0, {5:.17g}],
              "points": [{{"name": "l", "at": [-0.5, 0, 0]}}, {{"name": "r", "at": [0.5, 0, 0]}}]}})",
                              0.5 * x, 0.5 * z, -a, 1 + 0.5 * x, 0.5 + x, z),
                  fmt::format(R"({{"name": "crank", "type": "revolute", "of": ["ground", "a.o"], "axis": [0, 1, 0]}},
            {{"name": "bearing", "type": "revolute", "of": ["ground.P", "b.o"], "axis": [0, 1, 0],
              "friction": {}}},
            {{"name": "left", "type": "spherical", "of": ["a.tip", "c.l"]}},
            {{"name": "right", "type": "cylindrical", "of": ["b.tip", "c.r"], "axis": [0, 1, 0]}})",
                              follows ? R"({"coefficient": 0.2, "radius": 0.05})" : R"({"torque": 0.2})"),
                  1e-3, 0.1, "nsga_decoupled", loaded ? "[9.81, 0, 0]" : "[0, 0, 0]",
                  R"("ground": [{"name": "P", "at": [1, 0, 0]}],)");
      c.state().q = {0.5, 0, 0, 1, 0, 0, 0, 1.5, 0, 0, 1, 0, 0, 0, 1.5, 0, 0, 1, 0, 0, 0};
      StepReport report;
      reset(report, c.integrator().info().subproblems);
      REQUIRE(c.integrator().initialise(c.state(), c.h(), report));
      CAPTURE(loaded);
      const RunStatus status = c.run();
      CHECK((status == RunStatus::completed) == !follows);
      if (!follows) continue;
      CHECK(c.last_report().reason == FailureReason::unclear_friction);
      CHECK(c.last_report().failed_item == "bearing friction");
    }
}
