// Slider-crank mechanisms: with rigid bodies and a stop against the closed form, and data/models/slider_crank.json with
// a flexible rod.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "case_runner.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double r = 0.15, l = 0.3;

double slider_place(double th) { return r * std::cos(th) + std::sqrt(l * l - r * r * std::sin(th) * std::sin(th)); }

// Rigid bodies in the x-y plane; the crank starts at th_0 with speed w. Rows: three revolute joints and a prismatic
// joint have 20 rows, of which 3 are redundant.
std::string rigid(double th, double w, const std::string& motor, const std::string& rail) {
  const Vec3 B = r * Vec3(std::cos(th), std::sin(th), 0), C(slider_place(th), 0, 0);
  const double psi = std::atan2(C.y() - B.y(), C.x() - B.x());
  const double psi_rate = -r * w * std::cos(th) / (l * std::cos(psi));
  const Vec3 v_B = w * r * Vec3(-std::sin(th), std::cos(th), 0);
  const Vec3 v_C = v_B + psi_rate * l * Vec3(-std::sin(psi), std::cos(psi), 0);
  const auto body = [](const std::string& name, double length, double mass, const Vec3& x, double angle, const Vec3& v,
                       double rate) {
    const double J = mass * length * length / 12;
    return fmt::format(
        R"({{"name": "{}", "type": "rigid", "mass": {}, "inertia": [{}, {}, {}], "position": [{:.17g}, {:.17g}, 0],
           "orientation": {{"axis": [0, 0, 1], "angle": {:.17g}}}, "velocity": [{:.17g}, {:.17g}, 0],
           "angular_velocity": [0, 0, {:.17g}],
           "points": [{{"name": "start", "at": [{:.17g}, 0, 0]}}, {{"name": "end", "at": [{:.17g}, 0, 0]}}]}})",
        name, mass, J, J, J, x.x(), x.y(), angle, v.x(), v.y(), rate, -0.5 * length, 0.5 * length);
  };
  return R"({"format": 1, "bodies": [)" + body("crank", r, 0.2, 0.5 * B, th, 0.5 * v_B, w) + ", " +
         body("rod", l, 0.1, 0.5 * (B + C), psi, 0.5 * (v_B + v_C), psi_rate) + ", " +
         body("slider", 0.05, 0.3, C, 0, v_C, 0) + R"(], "ground": [{"name": "o", "at": [0, 0, 0]}], "joints": [
      {"name": "motor", "type": "revolute", "of": ["ground.o", "crank.start"], "axis": [0, 0, 1])" +
         motor + R"(},
      {"name": "pin", "type": "revolute", "of": ["crank.end", "rod.start"], "axis": [0, 0, 1]},
      {"name": "knee", "type": "revolute", "of": ["rod.end", "slider"], "axis": [0, 0, 1]},
      {"name": "rail", "type": "prismatic", "of": ["ground.o", "slider"], "axis": [1, 0, 0])" +
         rail + R"(}],
      "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 1e-3, "duration": 1}})";
}

TEST_CASE("slider-crank: a driven crank moves the slider by the closed form at every step") {
  const double th_0 = 0.7, w = 12;
  for (const double h : {1e-3, 5e-3}) {
    Case c = Case::from_text(rigid(th_0, w, fmt::format(R"(, "driver": {{"angle": "{}*t"}})", w), ""),
                             {set("/integrator/step", h)});
    CHECK(c.system().bilateral() == 21);
    double worst = 0, worst_rate = 0;
    const RunStatus status = c.run([&](const StepView&) {
      const double th = th_0 + w * c.t(), s = std::sin(th);
      worst = std::max(worst, (c.position("slider") - Vec3(slider_place(th), 0, 0)).norm());
      const double rate = -w * r * s * (1 + r * std::cos(th) / std::sqrt(l * l - r * r * s * s));
      worst_rate = std::max(worst_rate, (c.velocity("slider") - Vec3(rate, 0, 0)).norm());
    });
    CHECK(status == RunStatus::completed);
    CHECK(worst < 1e-10);
    CHECK(worst_rate < 1e-8);
  }
}

TEST_CASE("slider-crank: a stop turns the whole mechanism back by its restitution") {
  // one degree of freedom: all velocities are multiplied by -e together with the slider's velocity
  for (const double e : {0.0, 0.4, 1.0}) {
    CAPTURE(e);
    const double stop = 0.4;
    Case c = Case::from_text(
        rigid(M_PI / 2, -5, "", fmt::format(R"(, "stops": {{"upper": {}, "restitution": {}}})", stop, e)));
    double before = c.velocity("slider").x(), before_rate = -5, reach = 0;
    int impacts = 0;
    c.run_for(0.3, [&](const StepView& v) {
      const double after = c.velocity("slider").x(), after_rate = c.angular_velocity("crank").z();
      reach = std::max(reach, c.position("slider").x());
      if (v.report.impacts > 0 && ++impacts == 1) {
        CHECK(before > 0);
        CHECK(after == doctest::Approx(-e * before).epsilon(1e-10));
        // rate of the crank: the same factor, apart from the motion within the step
        CHECK(after_rate == doctest::Approx(-e * before_rate).epsilon(0.03));
      }
      before = after;
      before_rate = after_rate;
    });
    CHECK(impacts >= 1);
    CHECK(reach < stop + 1e-10);
    if (e == 1) CHECK(impacts == 1);
  }
}

TEST_CASE("slider-crank: a steel rod of twenty elements bows out while the slider rests on its stop, without trouble") {
  Case c("slider_crank");
  const double before = 1e-3, omega = 6, end_of_stroke = 0.05 + M_PI / omega;
  const std::vector<int>& stop = c.rows("rail.upper");
  double smallest = 0, bow = 0;
  long impacts = 0;
  const RunStatus status = c.run([&](const StepView& v) {
    smallest = std::min(smallest, c.gap(stop[0]));
    impacts += v.report.impacts;
    const Vec3 chord = 0.5 * (c.position("rod.start") + c.position("rod.end"));
    if (std::abs(c.t() - end_of_stroke) < 0.006) bow = std::max(bow, (c.position("rod.node.10") - chord).norm());
  });
  CHECK(status == RunStatus::completed);
  CHECK(impacts >= 1);
  CHECK(smallest > -1.1e-11);
  CHECK(c.statistics().subdivided_steps == 0);
  for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 15);
  // an inextensible rod in the shape of half a wave: (pi w)^2/(4 l) = before; the rod vibrates about this shape
  const double w = 2 / M_PI * std::sqrt(l * before);
  CHECK(bow > 0.7 * w);
  CHECK(bow < 1.5 * w);
}

}  // namespace
