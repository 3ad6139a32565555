// Impacts at their instants within the step ("impact": "located") against closed forms and event-exact solutions, and
// the order of convergence through impacts.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "case_runner.hpp"
#include "energy_account.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr const char* located = "/integrator/impact=\"located\"";

Case ball(double e, double h, double duration) {
  return Case("bouncing_ball", {located, set("/parameters/restitution", e), set("/integrator/step", h),
                                set("/integrator/duration", duration), "/output/probes=[]", "/expect=[]"});
}

Case brick(double h, double duration, const char* law = "located") {
  return Case("brick", {fmt::format("/integrator/impact=\"{}\"", law), set("/integrator/step", h),
                        set("/integrator/duration", duration), "/output/probes=[]", "/expect=[]"});
}

// A block on two edges of its lower face, tilted about y, which rocks on the floor.
std::string rocking_block(double e) {
  const double phi = 0.15, z = 0.1 * std::sin(phi) + 0.5 * std::cos(phi) + 1e-3;
  return fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "shape": {{"type": "box", "size": [0.2, 0.3, 1]}},
                "position": [0, 0, {}], "orientation": {{"axis": [0, 1, 0], "angle": {}}},
                "angular_velocity": [0, -0.5, 0]}}],
    "contacts": [{{"name": "floor", "on": "b.vertices", "restitution": {},
                  "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 1}}}})",
                     z, phi, e);
}

// A box that falls on a vertex, slides and tumbles.
std::string tumbling_box(double e, double friction, const char* extra = "") {
  return fmt::format(R"({{"format": 1, "title": "t", "gravity": [0, 0, -9.81],
    "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "shape": {{"type": "box", "size": [0.2, 0.3, 0.1]}},
                "position": [0, 0, 0.3], "orientation": {{"axis": [1, 0.3, 0.2], "angle": 0.5}},
                "velocity": [1, 0, 0], "angular_velocity": [1, 2, 0.5]}}],
    "contacts": [{{"name": "floor", "on": "b.vertices", "restitution": {}, "friction": {},
                  "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
    "integrator": {{"type": "nsga_decoupled", "impact": "located", "step": 1e-3, "duration": 1{}}}}})",
                     e, friction, extra);
}

}  // namespace

TEST_CASE("located: a ball with e = 1 keeps its energy over a thousand bounces") {
  Case c = ball(1, 1e-2, 904);
  const double before = c.energy();
  REQUIRE(c.run() == RunStatus::completed);
  CHECK(c.statistics().impacts >= 1000);
  CHECK(std::abs(c.energy() / before - 1) < 1e-12);
}

TEST_CASE("located: impacts of a ball have the instants and speeds of the closed form at a coarse step") {
  const double e = 0.8, g = 9.81, fall = std::sqrt(2 / g);
  Case c = ball(e, 1e-2, 3);
  std::vector<double> times;
  REQUIRE(c.run([&](const StepView& view) {
    for (const Stage& stage : view.integrator.stages())
      if (stage.kind == Stage::Kind::jump && stage.located) times.push_back(stage.t_0);
  }) == RunStatus::completed);
  REQUIRE(times.size() > 5);
  double expected = fall;
  for (std::size_t k = 0; k < 5; ++k) {
    CHECK(std::abs(times[k] - expected) < 1e-13 * 3);
    expected += 2 * fall * std::pow(e, static_cast<double>(k) + 1);
  }
  // accumulated bounces: at rest from sqrt(2/g) (1 + e)/(1 - e) on
  Case rest = ball(0.9, 5e-3, 9);
  double t = 0;
  REQUIRE(rest.run([&](const StepView& view) {
    if (std::abs(rest.velocity("ball").z()) > 1e-9) t = view.state.t;
  }) == RunStatus::completed);
  CHECK(std::abs(t - fall * 1.9 / 0.1) < 2e-2);
}

TEST_CASE("located: the brick's impact comes near the event-exact one, with the square of the step") {
  const double exact = 1630.260229;
  Case coarse = brick(1e-3, 0.5), fine = brick(1e-4, 0.5);
  REQUIRE(coarse.run() == RunStatus::completed);
  REQUIRE(fine.run() == RunStatus::completed);
  CHECK(coarse.energy() - exact == doctest::Approx(-0.84).epsilon(0.01));
  CHECK(fine.energy() - exact == doctest::Approx(-0.0056).epsilon(0.05));
  // the published law is 93 J too high at the first
  Case published = brick(1e-3, 0.5, "published");
  REQUIRE(published.run() == RunStatus::completed);
  CHECK(published.energy() - exact > 90);
}

TEST_CASE("located: at steps that are far too coarse for the published law the brick gains no energy") {
  for (const double h : {1e-2, 5e-3}) {
    Case c = brick(h, 3);
    const double before = c.energy();
    double largest = 0;
    REQUIRE(c.run([&](const StepView&) { largest = std::max(largest, c.energy()); }) == RunStatus::completed);
    CHECK(largest <= before * (1 + 1e-9));
    CHECK(c.statistics().impacts >= 3);
  }
}

TEST_CASE("located: impacts that run through a cradle in one step end as one after the other") {
  Case c = Case::from_text(R"({"format": 1, "title": "t",
    "bodies": [{"name": "a", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.5},
                "position": [0, 0, 0], "velocity": [1, 0, 0]},
               {"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.5},
                "position": [1.01, 0, 0]},
               {"name": "c", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.5},
                "position": [2.02, 0, 0]},
               {"name": "d", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.5},
                "position": [3.03, 0, 0]},
               {"name": "e", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.5},
                "position": [4.04, 0, 0]}],
    "contacts": [{"name": "pairs", "between": ["a", "b", "c", "d", "e"], "restitution": 1}],
    "integrator": {"type": "nsga_decoupled", "impact": "located", "step": 0.07, "duration": 0.07}})");
  REQUIRE(c.run() == RunStatus::completed);
  for (const char* body : {"a", "b", "c", "d"}) CHECK(std::abs(c.velocity(body).x()) < 1e-14);
  CHECK(c.velocity("e").x() == doctest::Approx(1).epsilon(1e-14));
  CHECK(c.statistics().impacts == 4);
}

TEST_CASE("located: the bouncing pendulum has the impacts of the closed form to second order") {
  const double exact[] = {0.4861104, 1.1244839};
  for (const double h : {2.1e-3, 1e-3}) {
    Case c("pendulum_bouncing",
           {located, set("/integrator/step", h), set("/integrator/duration", 3), "/output/probes=[]", "/expect=[]"});
    std::vector<double> times;
    REQUIRE(c.run([&](const StepView& view) {
      for (const Stage& stage : view.integrator.stages())
        if (stage.kind == Stage::Kind::jump && stage.located) times.push_back(stage.t_0);
    }) == RunStatus::completed);
    REQUIRE(times.size() > 2);
    for (std::size_t k = 0; k < 2; ++k) CHECK(std::abs(times[k] - exact[k]) < 3e-5);
    CHECK(std::abs(times.back() - 2.240601) < 2e-3);
  }
}

TEST_CASE("located: a rocking block is integrated with second order through its impacts") {
  for (const double e : {0.0, 0.6}) {
    const auto end = [&](double h) {
      Case c = Case::from_text(rocking_block(e), {located, set("/integrator/step", h)});
      REQUIRE(c.run() == RunStatus::completed);
      return std::pair(c.position("b").z(), c.angular_velocity("b").y());
    };
    const auto exact = end(2e-5);
    // how an impact lies in its step makes errors scatter: over a factor of eight
    const auto coarse = end(2.56e-3), fine = end(3.2e-4);
    CAPTURE(e);
    CHECK(std::abs(fine.second - exact.second) < std::abs(coarse.second - exact.second) / 30);
    CHECK(std::abs(fine.first - exact.first) < std::abs(coarse.first - exact.first) / 30);
    CHECK(std::abs(fine.second - exact.second) < 5e-4);
  }
}

TEST_CASE(
    "automatic: impacts are located in small models of rigid bodies, without elements, switches and massless parts") {
  const auto locates = [](Case c) { return c.integrator().info().events_in_stages; };
  const auto balls = [&](int count, const std::string& contact) {
    std::string bodies, names;
    for (int k = 0; k < count; ++k) {
      bodies +=
          fmt::format(R"({}{{"name": "b{}", "type": "rigid", "mass": 1, "shape": {{"type": "sphere", "radius": 0.1}},
          "position": [{}, 0, 1]}})",
                      k > 0 ? ", " : "", k, k);
      names += fmt::format(R"({}"b{}")", k > 0 ? ", " : "", k);
    }
    return locates(Case::from_text(fmt::format(R"({{"format": 1, "bodies": [{}], "contacts": [{{"name": "c", {}}}],
        "integrator": {{"type": "nsga_decoupled", "step": 1e-3, "duration": 1}}}})",
                                               bodies, fmt::format(fmt::runtime(contact), names))));
  };
  const char *floor = R"("on": [{}], "obstacle": {{"type": "plane", "normal": [0, 0, 1]}})",
             *pairs = R"("between": [{}])";
  CHECK(balls(20, floor));
  CHECK_FALSE(balls(21, floor));
  CHECK(balls(10, pairs));
  CHECK_FALSE(balls(11, pairs));
  CHECK(locates(Case("brick")));
  CHECK(locates(Case("bead_chain")));
  CHECK_FALSE(locates(Case("brick_tied", {"/parameters/phi=0"})));
  for (const char* name : {"pendulum_beam", "mixed", "crank_drive_solid", "carrier"}) {
    CAPTURE(name);
    CHECK_FALSE(locates(Case(name)));
  }
}

TEST_CASE("located: a box that slides and tumbles ends where it does at a step forty times smaller") {
  struct Expected {
    double e, friction, x, y;
  };
  // of h = 1e-4; without restitution Moreau's scheme with h = 2e-5 ends at (0.31995, 0.01595), and the published law at
  // (0.15911, 0.11173)
  for (const Expected& x : {Expected{0, 0.2, 0.31996, 0.01585}, Expected{0.5, 0.2, 0.45033, 0.01549},
                            Expected{0, 0.6, 0.15910, 0.11173}, Expected{0.5, 0.6, 0.1277, 0.14659}}) {
    Case c = Case::from_text(tumbling_box(x.e, x.friction), {set("/integrator/step", 4e-3)});
    double largest_rise = 0, outside = 0, before = c.energy();
    REQUIRE(c.run([&](const StepView&) {
      largest_rise = std::max(largest_rise, c.energy() - before);
      before = c.energy();
      for (const int row : c.rows("floor")) {
        if (c.system().row_kind(row) != RowKind::unilateral) continue;
        outside = std::max(outside, std::hypot(c.impulse(row + 1), c.impulse(row + 2)) - x.friction * c.impulse(row));
      }
    }) == RunStatus::completed);
    CAPTURE(x.e);
    CAPTURE(x.friction);
    CHECK(std::abs(c.position("b").x() - x.x) < 2e-4);
    CHECK(std::abs(c.position("b").y() - x.y) < 2e-4);
    CHECK(c.position("b").z() == doctest::Approx(0.05).epsilon(1e-9));
    CHECK(largest_rise < 1e-5);
    CHECK(outside < 1e-10);
    CHECK(c.velocity("b").norm() < 1e-9);
  }
}

TEST_CASE("located: the ledger tells the losses of impacts at their instants, and closes") {
  Case c = Case::from_text(tumbling_box(0.5, 0.2));
  const Account tumble = account(c);
  REQUIRE(tumble.status == RunStatus::completed);
  const EnergyBalance& b = tumble.balance;
  CHECK(tumble.closure() < 1e-12);
  CHECK(b.impacts < -1);
  CHECK(std::abs(b.numerical) < 1e-2 * b.scale);

  // a ball: (1 - e^2) of its energy in its first impact
  Case bounce = ball(0.8, 1e-2, 0.6);
  const Account of_ball = account(bounce);
  REQUIRE(of_ball.status == RunStatus::completed);
  CHECK(of_ball.balance.impacts == doctest::Approx(-(1 - 0.8 * 0.8) * 9.81).epsilon(1e-12));
}

TEST_CASE("located: contacts of beams and solids keep the published law by `automatic`") {
  for (const char* name : {"cube", "pendulum_beam"}) {
    std::vector<double> energies;
    for (const char* law : {"automatic", "published"}) {
      Case c(name, {fmt::format("/integrator/impact=\"{}\"", law), "/output/probes=[]", "/expect=[]"});
      REQUIRE(c.run_for(std::string(name) == "cube" ? 0.05 : 0.3) == RunStatus::completed);
      energies.push_back(c.energy());
    }
    CHECK(energies[0] == energies[1]);
  }
}

// A box rests on one edge while another edge, whose two vertices strike at once, comes down. Gaps of the smooth motion
// alone, without the reactions of the edge that rests, tell instants that differ; one vertex after the other would
// leave the box rocking.
TEST_CASE(
    "located: an edge that comes down beside an edge that rests strikes with both vertices, and the box lies flat") {
  for (const double h : {1e-2, 2e-3, 1e-3}) {
    CAPTURE(h);
    Case c = Case::from_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 1, "shape": {{"type": "box", "size": [0.1, 0.3, 0.2]}},
                  "position": ["=-0.05*cos(0.3) + 0.1*sin(0.3)", 0, "=0.05*sin(0.3) + 0.1*cos(0.3)"],
                  "orientation": {{"axis": [0, 1, 0], "angle": 0.3}}, "velocity": [0.2, 0.6, 0],
                  "angular_velocity": ["=-3*sin(0.3)", 0, "=3*cos(0.3)"]}}],
      "contacts": [{{"name": "floor", "on": "b.vertices", "restitution": 0,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "integrator": {{"type": "nsga_decoupled", "step": {}, "duration": 0.18}}}})x",
                                         h));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK(c.position("b").z() == doctest::Approx(0.1).epsilon(1e-9));
    CHECK(std::abs(c.angular_velocity("b").y()) < 1e-9);
  }
}

// The reactions of the edge that rests delay the vertices of the other by so little that a share of the delay is less
// than the error of their instants.
TEST_CASE("located: both vertices of an edge strike at once where the edge that rests delays them little") {
  for (const double h : {5e-3, 3e-3, 1e-3, 2.5e-4}) {
    CAPTURE(h);
    Case c = Case::from_text(fmt::format(R"x({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "b", "type": "rigid", "mass": 2, "inertia": [0.05, 0.06, 0.04],
                  "position": [-0.10785557825971784, 0, 0.27086375585940226],
                  "orientation": {{"axis": [0, 1, 0], "angle": 0.16147335992606524}},
                  "angular_velocity": [-0.32154514856425603, 0, 1.9739829577366645],
                  "points": [{{"name": "v0", "at": [-0.15, -0.2, -0.25]}}, {{"name": "v1", "at": [0.15, -0.2, -0.25]}},
                             {{"name": "v2", "at": [-0.15, 0.2, -0.25]}}, {{"name": "v3", "at": [0.15, 0.2, -0.25]}},
                             {{"name": "q", "at": [-0.03926055308971113, 0.2, 0.25]}}]}}],
      "contacts": [{{"name": "floor", "on": ["b.v0", "b.v1", "b.v2", "b.v3"], "restitution": 0.6,
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
      "ground": [{{"name": "o", "at": [-0.23133917846024, 0.41541370007743383, 0.8182979504921595]}}],
      "springs": [{{"name": "s", "of": ["ground.o", "b.q"], "stiffness": 20, "natural_length": 0}}],
      "integrator": {{"type": "nsga_decoupled", "step": {}, "duration": 0.3}}}})x",
                                         h));
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.position("b") - Vec3(-0.1330007448, 0.0956784997, 0.2549077978)).norm() < 3e-5);
  }
}

// A point between two plates 0.5 mm apart, and a heavy ball that squeezes a light one against the floor: the velocities
// of dozens of impacts in a step are products of the restitution, and of an exact recursion.
TEST_CASE("located: contacts that bounce many times in a step keep their restitution") {
  const auto rattle = [](double e, double h) {
    Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, 0],
      "bodies": [{{"name": "a", "type": "point_mass", "mass": 1, "position": [0, 0, 2e-4], "velocity": [1, 0, 10]}}],
      "contacts": [{{"name": "lo", "on": "a", "restitution": {0},
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}},
                   {{"name": "hi", "on": "a", "restitution": {0},
                    "obstacle": {{"type": "plane", "normal": [0, 0, -1], "point": [0, 0, 5e-4]}}}}],
      "integrator": {{"type": "nsga_decoupled", "step": {1}, "duration": 0.02}}}})",
                                         e, h));
    REQUIRE(c.run() == RunStatus::completed);
    return c.velocity("a").z();
  };
  for (const double e : {0.999, 0.99}) {
    double v = 10, t = 3e-4 / v;  // the first impact
    for (; t < 0.02; t += 5e-4 / std::abs(v)) v *= -e;
    for (const double h : {2e-2, 4e-3, 1e-3, 2e-4}) {
      CAPTURE(e);
      CAPTURE(h);
      CHECK(rattle(e, h) == doctest::Approx(v).epsilon(1e-9));
    }
  }

  const auto squeezed = [](double mass, double e, double h) {
    Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, 0],
      "bodies": [{{"name": "light", "type": "point_mass", "mass": 1, "radius": 0.05, "position": [0, 0, 0.053]}},
                 {{"name": "heavy", "type": "point_mass", "mass": {}, "radius": 0.05, "position": [0, 0, 0.156],
                  "velocity": [0, 0, -1]}}],
      "contacts": [{{"name": "f", "on": "light", "restitution": {},
                    "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}},
                   {{"name": "b", "between": ["light", "heavy"], "restitution": {}}}],
      "integrator": {{"type": "nsga_decoupled", "step": {}, "duration": 0.1}}}})",
                                         mass, e, e, h));
    REQUIRE(c.run() == RunStatus::completed);
    return c.velocity("heavy").z();
  };
  // from impact to impact
  const auto exact = [](double mass, double e) {
    double z = 0.003, gap = 0.003, v = 0, w = -1, t = 0;
    for (;;) {
      const double floor = v < 0 ? z / -v : HUGE_VAL, above = v > w ? gap / (v - w) : HUGE_VAL;
      const double dt = std::min(floor, above);
      if (t + dt > 0.1) return w;
      t += dt, z += v * dt, gap += (w - v) * dt;
      if (floor < above) {
        v *= -e;
        continue;
      }
      const double impulse = (1 + e) * (v - w) / (1 + 1 / mass);
      v -= impulse, w += impulse / mass;
    }
  };
  for (const double h : {1e-2, 2.5e-3, 6.25e-4}) {
    CAPTURE(h);
    CHECK(squeezed(300, 0.995, h) == doctest::Approx(exact(300, 0.995)).epsilon(1e-6));
    CHECK(squeezed(100, 0.95, h) == doctest::Approx(exact(100, 0.95)).epsilon(1e-6));
  }
}

// A box without gravity that reaches a floor and a wall at t = 0.1, the end of a step: rounding of the time must not
// decide which impact comes first.
TEST_CASE("located: impacts at one instant are one, also at the end of a step") {
  const std::string box = R"({"format": 1, "title": "t",
    "bodies": [{"name": "b", "type": "rigid", "mass": 1.3,
                "inertia": [0.02166666666666667, 0.027083333333333334, 0.014083333333333335],
                "shape": {"type": "box", "size": [0.3, 0.2, 0.4]},
                "position": [0.3655269159213166, 0.16, 0.46021418464677794], "velocity": [-1.2, 0.4, -2],
                "orientation": {"axis": [0.3, 1, -0.2], "angle": 0.6}}],
    "contacts": [{"name": "f", "on": "b", "friction": 0.3, "restitution": 0.8, "tangential_restitution": 0.6,
                  "obstacle": {"type": "plane", "normal": [0, 0, 1]}},
                 {"name": "w", "on": "b", "friction": 0.3, "restitution": 0.8, "tangential_restitution": 0.6,
                  "obstacle": {"type": "plane", "normal": [1, 0, 0]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.132}})";
  for (const double h : {1.1e-2, 2e-3, 1.6e-3, 1e-3, 4e-4, 1e-4}) {
    CAPTURE(h);
    Case c = Case::from_text(box, {set("/integrator/step", h)});
    REQUIRE(c.run() == RunStatus::completed);
    CHECK((c.velocity("b") - Vec3(0.7077216878559771, 0.9724284333675093, 1.2016121945200893)).norm() < 1e-9);
  }
}
