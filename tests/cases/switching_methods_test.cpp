// Switching constraints with several methods: every jump of the decoupled and of the event-driven method, and the
// formulations of the generalized-alpha method at a switch.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/base/vector_ops.hpp"
#include "switching_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

TEST_CASE("braiding, pothole, cam: every jump has the ratio of speeds of the closed form, others have none") {
  // one degree of freedom: the speeds before and behind in the metric of the masses
  const struct {
    const char *model, *more;
    double cosine, error;  // of the decoupled method, whose switch is at the end of its step
  } machines[] = {{"braiding", "/parameters/r_H=2", std::sqrt(86.0846886 / 87.36), 1e-6},
                  {"braiding", "/parameters/r_H=1", std::sqrt(54.7924528 / 58.56), 1e-6},
                  {"pothole", "/title=\"t\"", 23.0 / 27, 3e-3},
                  {"cam", "/title=\"t\"", 0.6, 3e-3}};
  for (const auto& machine : machines)
    for (const char* type : {"nsga_decoupled", "event_driven"})
      for (const double E : {1.0, 0.9, 0.7, 0.5}) {
        CAPTURE(machine.model);
        CAPTURE(machine.more);
        CAPTURE(type);
        CAPTURE(E);
        Case run(machine.model, {machine.more, gradient(E), with_method(type)});
        const double error = std::string(type) == "event_driven" ? 1e-6 : machine.error;
        int turns = 0, jumps = 0;
        REQUIRE(run.run([&](const StepView& view) {
          const System& s = view.system;
          const std::span<const SwitchEvent> events = view.integrator.switches();
          const int all = for_jumps(view, [&](const Stage& stage) {
            const double before = s.energies(stage.q_1, stage.v_0, stage.t_1).kinetic,
                         r = std::sqrt(1 + kinetic_change(view, stage) / before);
            REQUIRE(events.size() == 1);
            const bool turn = events[0].cosine < 0.999;
            turns += turn ? 1 : 0;
            if (turn) CHECK(events[0].cosine == doctest::Approx(machine.cosine).epsilon(error));
            CHECK(r == doctest::Approx(turn ? speed_ratio(E, machine.cosine) : 1).epsilon(error));
            // the modes before and behind hold at the velocity level
            Vector rate(at(s.rows()));
            s.rates(stage.q_1, stage.v_1, stage.t_1, bilateral_rows, rate);
            CHECK(max_abs(rate) < 1e-9);
          });
          jumps += all;
        }) == RunStatus::completed);
        CHECK(turns >= 1);
        CHECK(jumps >= turns);
      }
}

TEST_CASE("cam, braiding: of second order up to the switch, and an error behind it that the end of its step makes") {
  const auto rate = [](const char* model, const std::string& type, double h, double t, const std::string& coordinate) {
    Case machine(model, {gradient(0.5), with_method(type), set("/integrator/step", h), "/expect=[]"});
    REQUIRE(machine.run_for(t) == RunStatus::completed);
    return machine.state().v[coordinate == "last" ? machine.state().v.size() - 1 : 0];
  };
  const struct {
    const char *model, *coordinate;
    double t;
  } before[] = {{"cam", "last", 1.8}, {"braiding", "first", 1.9}};
  for (const auto& c : before) {
    CAPTURE(c.model);
    const double exact = rate(c.model, "event_driven", 1e-4, c.t, c.coordinate);
    const std::vector<double> steps = {1e-2, 5e-3, 2.5e-3};
    std::vector<double> errors;
    for (const double h : steps)
      errors.push_back(std::abs(rate(c.model, "nsga_decoupled", h, c.t, c.coordinate) - exact));
    CHECK(fitted_order(steps, errors) == doctest::Approx(2).epsilon(0.03));
  }
  // the corner of the cam is met at 1.829065, 9.35e-4 s before the end of the step of 1e-2 and 2.935e-3 s of that of
  // 4e-3
  const double exact = rate("cam", "event_driven", 1e-4, 2.4, "last");
  const double near = std::abs(rate("cam", "nsga_decoupled", 1e-2, 2.4, "last") - exact),
               far = std::abs(rate("cam", "nsga_decoupled", 4e-3, 2.4, "last") - exact);
  CHECK(far / near == doctest::Approx(2.935 / 0.935).epsilon(0.05));
}

TEST_CASE("track: index 2 has the velocity of the impact at once, index 3 in the mean, index 1 never") {
  const std::string rest = R"(, "rho_infinity": 0.98, "step": 2e-3, "duration": 4, "type": "generalized_alpha")";
  Case second("track", {integrator_of(R"("formulation": "index_2")" + rest)});
  Watch watch;
  REQUIRE(second.run([&](const StepView& view) {
    Vector rate(at(view.system.rows()));
    view.system.rates(view.state.q, view.state.v, view.state.t, bilateral_rows, rate);
    watch.velocity = std::max(watch.velocity, max_abs(rate));
  }) == RunStatus::completed);
  CHECK(second.energy() == doctest::Approx(0.25).epsilon(1e-8));
  CHECK(watch.velocity < 1e-10);

  Case third("track", {integrator_of(R"("formulation": "index_3")" + rest)});
  double position = 0, fastest = 0, slowest = 1;
  REQUIRE(third.run([&](const StepView& view) {
    Vector g(at(view.system.rows()));
    view.system.gaps(view.state.q, view.state.t, bilateral_rows, g);
    position = std::max(position, max_abs(g));
    if (view.state.q[0] <= 0) return;
    fastest = std::max(fastest, view.state.v[1]);
    slowest = std::min(slowest, view.state.v[1]);
  }) == RunStatus::completed);
  CHECK(position < 1e-10);
  CHECK(fastest - slowest > 0.3);  // oscillations about 1/2
  CHECK(third.state().q[1] == doctest::Approx(third.state().q[0]).epsilon(1e-9));

  Case first("track", {integrator_of(R"("formulation": "index_1")" + rest)});
  REQUIRE(first.run() == RunStatus::completed);
  CHECK(first.energy() == doctest::Approx(0.5).epsilon(1e-9));
  CHECK(std::abs(first.state().q[1]) < 1e-9);  // off the track
  CHECK(first.state().q[0] == doctest::Approx(3).epsilon(1e-9));
}

TEST_CASE("track: the plain index 2 says that its energies are wrong unless E is 1") {
  const auto remarks = [](const std::string& keys) {
    const std::string rest = R"(, "formulation": "index_2", "step": 1e-3, "duration": 1, "type": "generalized_alpha")";
    return Case("track", {integrator_of(keys + rest)}).model().warnings;
  };
  CHECK(remarks(R"("intermediate_gradient": 1)").empty());
  CHECK(remarks(R"("intermediate_gradient": 0.9, "fully_implicit": true)").empty());
  const auto said = remarks(R"("intermediate_gradient": 0.9)");
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("index_2 has wrong energies behind a switch") != std::string::npos);
}

TEST_CASE("track: the fully implicit index 2 has the energy of every intermediate gradient, to first order") {
  for (const double E : {1.0, 0.9, 0.7, 0.5}) {
    CAPTURE(E);
    const std::string keys = R"("formulation": "index_2", "fully_implicit": true, "step": 1e-3, "duration": 2, )"
                             R"("type": "generalized_alpha", "intermediate_gradient": )" +
                             std::to_string(E);
    Case track("track", {integrator_of(keys)});
    REQUIRE(track.run() == RunStatus::completed);
    CHECK(track.energy() == doctest::Approx(0.5 * std::pow(speed_ratio(E, std::sqrt(0.5)), 2)).epsilon(1e-8));
  }
}

TEST_CASE("two tracks, index 2 and 3: switches of two bodies in one step have each its own energy") {
  const auto body = [](const std::string& name, double v) {
    return R"({"name": ")" + name + R"(", "type": "coordinates", "coordinates": [{"name": "x", "position": )" +
           std::to_string(-0.995 * v) + R"(, "velocity": )" + std::to_string(v) + R"(}, {"name": "y"}],
           "masses": [1, 1], "switching": [{"name": "level", "condition": "-x", "constraints": ["y"]},
           {"name": "slope", "condition": "x", "constraints": ["y - x"]}]})";
  };
  for (const char* type :
       {R"("generalized_alpha", "formulation": "index_2")", R"("nsga_decoupled")", R"("event_driven")"}) {
    CAPTURE(type);
    Case both = Case::from_text(R"({"format": 1, "bodies": [)" + body("slow", 1) + ", " + body("fast", 3) +
                                R"(], "integrator": {"type": )" + type +
                                R"(, "intermediate_gradient": 1, "step": 0.01, "duration": 1.2},
                                "output": {"vtu": {"enabled": false}}})");
    std::vector<SwitchEvent> events;
    REQUIRE(both.run([&](const StepView& view) {
      for (const SwitchEvent& e : view.integrator.switches()) events.push_back(e);
    }) == RunStatus::completed);
    REQUIRE(events.size() == 2);
    for (const SwitchEvent& e : events)
      CHECK(e.energy == doctest::Approx(e.body == "slow" ? -0.25 : -2.25).epsilon(1e-9));
  }
}

TEST_CASE("track, event-driven: the closed form for every E and step, at the time of the corner") {
  for (const double E : {0.3, 0.5, 0.7, 1.0})
    for (const double h : {1e-3, 0.037, 0.3}) {
      CAPTURE(E);
      CAPTURE(h);
      Case track("track", {integrator_of(R"("type": "event_driven", "duration": 2, "step": )" + std::to_string(h) +
                                         R"(, "intermediate_gradient": )" + std::to_string(E))});
      const double r = speed_ratio(E, std::sqrt(0.5));
      std::vector<SwitchEvent> events;
      REQUIRE(track.run([&](const StepView& view) {
        for (const SwitchEvent& e : view.integrator.switches()) events.push_back(e);
      }) == RunStatus::completed);
      REQUIRE(events.size() == 1);
      CHECK(events[0].t == doctest::Approx(1).epsilon(1e-9));
      CHECK(events[0].cosine == doctest::Approx(std::sqrt(0.5)).epsilon(1e-9));
      CHECK(events[0].energy == doctest::Approx(0.5 * (r * r - 1)).epsilon(1e-8));
      CHECK(track.energy() == doctest::Approx(0.5 * r * r).epsilon(1e-9));
      CHECK(track.state().q[0] == doctest::Approx(r * std::sqrt(0.5)).epsilon(1e-8));
    }
}

TEST_CASE("pothole, event-driven: times and speeds of the closed form, of second order through the switches") {
  const double rates[] = {0.9970002, 1.0295925, 1.0978091, 1.1703915};
  const double shares[] = {1, 0.9, 0.7, 0.5};
  for (int k = 0; k < 4; ++k) {
    CAPTURE(shares[k]);
    const double exact = pothole_energy(shares[k]);
    std::vector<double> places;
    for (const double h : {4e-2, 2e-2, 1e-2, 1.25e-3}) {
      Case wheel("pothole",
                 {integrator_of(R"("type": "event_driven", "rho_infinity": 1, "duration": 4, "step": )" +
                                std::to_string(h) + R"(, "intermediate_gradient": )" + std::to_string(shares[k]))});
      std::vector<double> times;
      double behind = 0;
      Watch watch;
      REQUIRE(wheel.run([&](const StepView& view) {
        watch(view);
        for (const Stage& stage : view.integrator.stages())
          if (stage.switches && times.size() == 1) behind = stage.v_1[2];
        for (const SwitchEvent& e : view.integrator.switches()) times.push_back(e.t);
      }) == RunStatus::completed);
      REQUIRE(times.size() == 3);
      CHECK(times[0] == doctest::Approx(1.4285714).epsilon(1e-7));
      if (h < 4e-2) {
        CHECK(times[1] == doctest::Approx(1.7645823).epsilon(1e-4));
        CHECK(behind == doctest::Approx(rates[k]).epsilon(1e-4));
        CHECK(wheel.energy() == doctest::Approx(exact).epsilon(1e-6));
      }
      CHECK(watch.position < 1e-9);
      CHECK(watch.velocity < 1e-9);
      places.push_back(wheel.state().q[0]);
    }
    const double coarse = places[0] - places[3], middle = places[1] - places[3], fine = places[2] - places[3];
    CHECK(coarse / middle == doctest::Approx(4).epsilon(0.1));
    CHECK(middle / fine == doctest::Approx(4).epsilon(0.1));
  }
}

TEST_CASE("latch, event-driven: shut and open at the times of the closed form") {
  Case door("latch", {integrator_of(R"("type": "event_driven", "duration": 3, "step": 1e-2, "rho_infinity": 1)")});
  std::vector<SwitchEvent> events;
  REQUIRE(door.run([&](const StepView& view) {
    for (const SwitchEvent& e : view.integrator.switches()) events.push_back(e);
  }) == RunStatus::completed);
  REQUIRE(events.size() == 2);
  CHECK(events[0].t == doctest::Approx(M_PI / 3).epsilon(1e-4));
  CHECK(events[0].energy == doctest::Approx(-3).epsilon(1e-4));
  CHECK(events[1].t == doctest::Approx(2).epsilon(1e-9));
  CHECK(door.state().q[0] == doctest::Approx(0.5 * (1 - std::cos(2.0))).epsilon(1e-3));
  CHECK(door.energy() == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE(
    "roof: two surfaces that are crossed one after the other, by the closed form of the order of their crossing") {
  // y = [x1]+ + [x2]+/2 with M = 1 and v = (1, 0.7, 0)
  const std::string text = R"x({"format": 1, "parameters": {"a": -0.2, "b": -0.5}, "bodies": [{"name": "roof",
      "type": "coordinates", "coordinates": [{"name": "x1", "position": "=a", "velocity": 1},
      {"name": "x2", "position": "=b", "velocity": 0.7}, {"name": "y"}], "masses": [1, 1, 1], "switching": [
      {"name": "none", "condition": "min(-x1, -x2)", "constraints": ["y"]},
      {"name": "first", "condition": "min(x1, -x2)", "constraints": ["y - x1"]},
      {"name": "second", "condition": "min(-x1, x2)", "constraints": ["y - x2/2"]},
      {"name": "both", "condition": "min(x1, x2)", "constraints": ["y - x1 - x2/2"]}]}],
      "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 1.5}, "output": {"vtu": {"enabled": false}}})x";
  const struct {
    double x1, x2, E, v[3];
  } cases[] = {{-0.2, -0.5, 0.5, {0.542115199, 0.659966329, 0.872098363}},
               {-0.2, -0.5, 1, {0.344444444, 0.622222222, 0.655555556}},
               {-0.5, -0.1, 0.5, {0.745355992, 0.327956637, 0.909334311}},
               {-0.5, -0.1, 1, {0.555555556, 0.337777778, 0.724444444}}};
  for (const auto& c : cases)
    for (const char* type : {"nsga_decoupled", "event_driven"}) {
      CAPTURE(c.x1);
      CAPTURE(c.E);
      CAPTURE(type);
      Case roof = Case::from_text(text, {set("/parameters/a", c.x1), set("/parameters/b", c.x2), gradient(c.E),
                                         std::string("/integrator/type=\"") + type + "\""});
      REQUIRE(roof.run() == RunStatus::completed);
      for (int i = 0; i < 3; ++i) CHECK(roof.state().v[at(i)] == doctest::Approx(c.v[i]).epsilon(1e-7));
    }
}

TEST_CASE("track: a contact closes in the step of the switch") {
  // u meets its stop at t = 1, as the mass the corner; then a stop that the track leads against
  for (const char* type : {"nsga_decoupled", "event_driven"})
    for (const double e : {0.0, 0.5}) {
      CAPTURE(type);
      CAPTURE(e);
      const std::string body = R"({"name": "mass", "type": "coordinates", "coordinates": [
        {"name": "x", "position": -1, "velocity": 1}, {"name": "y"}, {"name": "u", "position": 1, "velocity": -1}],
        "masses": [1, 1, 1], "gaps": [{"name": "stop", "formula": "u", "restitution": )" +
                               std::to_string(e) +
                               R"(}], "switching": [{"name": "level", "condition": "-x", "constraints": ["y"]},
        {"name": "slope", "condition": "x", "constraints": ["y - x"]}]})";
      Case both = Case::from_text(R"({"format": 1, "bodies": [)" + body + R"(], "integrator": {"type": ")" + type +
                                  R"(", "step": 7e-3, "duration": 1.5}, "output": {"vtu": {"enabled": false}}})");
      REQUIRE(both.run() == RunStatus::completed);
      CHECK(both.state().v[2] == doctest::Approx(e).epsilon(1e-9));
      CHECK(both.state().v[0] == doctest::Approx(std::sqrt(0.5)).epsilon(1e-9));
      CHECK(both.energy() == doctest::Approx(0.5 + 0.5 * e * e).epsilon(1e-9));
    }
}

}  // namespace
