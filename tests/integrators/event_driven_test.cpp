// The event-driven method against closed forms and event-exact figures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/model_run.hpp"

using namespace carom;
using namespace carom::test;
using nlohmann::json;

namespace {

// A mass above a floor, under gravity 10.
json falling(double height, double speed, double restitution, const json& more = json::object()) {
  json model = {{"format", 1},
                {"gravity", {0, 0, -10}},
                {"bodies",
                 {{{"name", "ball"},
                   {"type", "point_mass"},
                   {"mass", 2},
                   {"position", {0, 0, height}},
                   {"velocity", {0, 0, speed}}}}},
                {"contacts",
                 {{{"name", "floor"},
                   {"on", "ball"},
                   {"restitution", restitution},
                   {"obstacle", {{"type", "plane"}, {"point", {0, 0, 0}}, {"normal", {0, 0, 1}}}}}}},
                {"integrator", {{"type", "event_driven"}, {"step", 0.01}, {"duration", 1}}}};
  model["integrator"].update(more);
  return model;
}

struct Event {
  double t, before, after;
};

// The impacts of a run.
std::vector<Event> impacts(ModelRun& run, RunStatus expected = RunStatus::completed) {
  std::vector<Event> events;
  CHECK(run.run([&](const StepView& view) {
    const int row = view.system.bilateral();
    for (const Stage& s : view.integrator.stages())
      if (s.kind == Stage::Kind::jump)
        events.push_back(
            {s.t_1, view.system.row_rate(row, s.q_1, s.v_0, s.t_1), view.system.row_rate(row, s.q_1, s.v_1, s.t_1)});
  }) == expected);
  return events;
}

}  // namespace

TEST_CASE("event driven: a ball bounces at the times of the closed form, whatever the step") {
  const double height = 1, e = 0.7, g = 10;
  for (const double h : {0.3, 0.01}) {
    CAPTURE(h);
    ModelRun run = ModelRun::of_text(falling(height, 0, e, {{"step", h}, {"duration", 1.6}}).dump());
    const std::vector<Event> events = impacts(run);
    double t = std::sqrt(2 * height / g), v = g * t;
    REQUIRE(events.size() == 3);
    for (const Event& event : events) {
      CHECK(event.t == doctest::Approx(t).epsilon(1e-9));
      CHECK(event.before == doctest::Approx(-v).epsilon(1e-9));
      CHECK(event.after == doctest::Approx(e * v).epsilon(1e-9));
      v *= e;
      t += 2 * v / g;
    }
    CHECK(run.statistics.impacts == 3);
    CHECK(run.statistics.smallest_gap > -1e-9);
  }
}

TEST_CASE("event driven: impacts that accumulate end the run, or end in contact where the user allows it") {
  // t = sqrt(2 H/g) (1 + e)/(1 - e) for e = 0.5
  const double height = 0.18, accumulation = 3 * std::sqrt(0.2 * height);
  ModelRun run = ModelRun::of_text(falling(height, 0, 0.5).dump());
  impacts(run, RunStatus::failed);
  CHECK(run.state().t == doctest::Approx(0.56).epsilon(1e-9));

  // steps in which few bounces happen: they end where a rebound does not leave the rounding of the gap
  for (const double step : {1e-4, 1e-5})
    for (const double e : {0.3, 0.8}) {
      CAPTURE(step);
      CAPTURE(e);
      const double exact = std::sqrt(0.2 * height) * (1 + e) / (1 - e);
      ModelRun fine = ModelRun::of_text(falling(height, 0, e, {{"step", step}, {"duration", 2}}).dump());
      impacts(fine, RunStatus::failed);
      CHECK(fine.report.reason == FailureReason::accumulation);
      CHECK(fine.report.failed_item.find("floor") == 0);
      CHECK(fine.state().t == doctest::Approx(exact).epsilon(1.1 * step / exact));
    }

  ModelRun rests = ModelRun::of_text(falling(height, 0, 0.5, {{"rest_speed", 1e-5}}).dump());
  const std::vector<Event> events = impacts(rests);
  CHECK(events.back().t == doctest::Approx(accumulation).epsilon(1e-5));
  CHECK(events.back().after == doctest::Approx(0).epsilon(1e-12));
  CHECK(std::abs(rests.position("ball")[2]) < 1e-9);
  CHECK(rests.integrator->row_force(rests.state(), 0) == doctest::Approx(20));
}

TEST_CASE("event driven: a start that penetrates and approaches is refused, one that parts is not") {
  for (const double speed : {-1.0, 0.5}) {
    CAPTURE(speed);
    ModelRun run = ModelRun::of_text(falling(-0.01, speed, 0.5, {{"duration", 0.02}}).dump());
    const RunStatus status = run.run();
    CHECK((status == RunStatus::failed) == (speed < 0));
    if (speed > 0) continue;
    CHECK(run.report.reason == FailureReason::penetration_at_start);
    CHECK(run.report.failed_item.find("floor") == 0);
    CHECK(run.statistics.rejected == 1);  // shorter steps do not help
    CHECK(run.state().t == 0);
  }
}

TEST_CASE("event driven: a contact opens when its force vanishes, which is located") {
  // The floor falls away with 20 t: the force m (g - 20 t) vanishes at 0.5; then the mass falls freely.
  json model = falling(0, 0, 0.3, {{"step", 0.013}, {"duration", 0.8}});
  model["contacts"][0]["obstacle"]["motion"] = {{"translation", {0, 0, "-10*t^3/3"}}};
  ModelRun run = ModelRun::of_text(model.dump());
  double release = 0;
  REQUIRE(run.run([&](const StepView& view) {
    for (const Stage& s : view.integrator.stages())
      if (release == 0 && !s.closed.empty() && s.closed[0] == 0) release = s.t_1;
  }) == RunStatus::completed);
  CHECK(release == doctest::Approx(0.5).epsilon(2e-3));
  const double t = 0.8 - 0.5, z = -10.0 / 3 * 0.125 - 2.5 * t - 5 * t * t;
  CHECK(run.position("ball")[2] == doctest::Approx(z).epsilon(1e-3));
}

TEST_CASE("event driven: an impact is no event of contacts that it does not reach") {
  // one ball rests while another one bounces beside it
  json model = falling(0.05, 0, 0.5, {{"duration", 0.15}});
  model["bodies"].push_back({{"name", "rests"}, {"type", "point_mass"}, {"mass", 1}, {"position", {1, 0, 0}}});
  model["contacts"].push_back({{"name", "below"},
                               {"on", "rests"},
                               {"restitution", 0.5},
                               {"obstacle", {{"type", "plane"}, {"point", {0, 0, 0}}, {"normal", {0, 0, 1}}}}});
  ModelRun run = ModelRun::of_text(model.dump());
  int jumps = 0, open = 0;
  REQUIRE(run.run([&](const StepView& view) {
    for (const Stage& s : view.integrator.stages()) {
      if (s.kind == Stage::Kind::jump) ++jumps;
      if (s.closed[1] == 0) ++open;
    }
  }) == RunStatus::completed);
  CHECK(jumps == 1);
  CHECK(open == 0);
  CHECK(run.integrator->row_force(run.state(), 1) == doctest::Approx(10));
}

TEST_CASE("event driven: a gap that falls and rises again within a step is found") {
  // thrown down with a step longer than the whole flight down and up
  ModelRun run = ModelRun::of_text(falling(0.05, -1, 1, {{"step", 0.2}, {"duration", 0.2}}).dump());
  CHECK(impacts(run).size() == 1);
}

TEST_CASE("event driven: the brick strikes as the event-exact solution, with errors of second order") {
  // an independent implementation: t = 0.415285603, gap rate -13.061164, impulse 500.757659, energy after 1630.260229
  const double exact_t = 0.415285603, exact_energy = 1630.260229;
  double error = 0;
  for (const double h : {4e-4, 2e-4, 1e-4}) {
    CAPTURE(h);
    ModelRun run = ModelRun::of_file("brick", {R"(/integrator/type="event_driven")",
                                               "/integrator/step=" + std::to_string(h), "/integrator/duration=0.5"});
    double t = 0, impulse = 0, rate = 0, energy_error = 0;
    REQUIRE(run.run([&](const StepView& view) {
      // no step after the impact remembers the accelerations before
      if (t > 0) energy_error = std::max(energy_error, std::abs(run.energy() / exact_energy - 1));
      for (const Stage& s : view.integrator.stages()) {
        if (s.kind != Stage::Kind::jump) continue;
        t = s.t_1;
        impulse = *std::max_element(s.multipliers.begin(), s.multipliers.end());
        rate = view.system.row_rate(5, s.q_1, s.v_0, s.t_1);
      }
    }) == RunStatus::completed);
    CHECK(run.statistics.impacts == 1);
    if (error > 0) {
      CHECK(std::log2(error / std::abs(t - exact_t)) > 1.9);
      CHECK(std::log2(error / std::abs(t - exact_t)) < 2.1);
    }
    error = std::abs(t - exact_t);
    if (h > 1.5e-4) continue;
    CHECK(rate == doctest::Approx(-13.061164).epsilon(5e-5));
    CHECK(impulse == doctest::Approx(500.757659).epsilon(5e-5));
    CHECK(run.energy() == doctest::Approx(exact_energy).epsilon(5e-5));
    CHECK(energy_error < 5e-5);
  }
}

TEST_CASE("event driven: balls in a row strike at once, and a box lands on four vertices") {
  ModelRun cradle = ModelRun::of_file("cradle", {R"(/integrator/type="event_driven")"});
  const double energy = cradle.energy();
  REQUIRE(cradle.run() == RunStatus::completed);
  CHECK(cradle.energy() == doctest::Approx(energy).epsilon(1e-9));
  ModelRun box = ModelRun::of_file("brick_flat", {R"(/integrator/type="event_driven")", "/integrator/rest_speed=1e-4"});
  REQUIRE(box.run() == RunStatus::completed);
  CHECK(box.statistics.smallest_gap > -1e-8);
  double force = 0;
  for (int row = 0; row < box.system().rows(); ++row) force += box.integrator->row_force(box.state(), row);
  double weight = 0;
  Vector f(at(box.system().size()));
  box.system().forces(box.state().q, box.state().v, box.state().t, force_gravity, f);
  weight = -f[2];
  CHECK(force == doctest::Approx(weight).epsilon(1e-6));
}

TEST_CASE("event-driven: what slides over a sharp rim is refused, not stopped") {
  ModelRun run = ModelRun::of_text(R"({"format": 1, "gravity": [0, 0, -9.81],
    "bodies": [{"name": "b", "type": "point_mass", "mass": 1, "position": [0.4, 0, 0], "velocity": [1, 0, 0]}],
    "contacts": [{"name": "c", "on": "b", "restitution": 0,
                  "obstacle": {"type": "cylinder", "center": [0, 0, -0.1], "axis": [0, 0, 1], "radius": 0.5,
                               "length": 0.2}}],
    "integrator": {"type": "event_driven", "step": 1e-3, "duration": 0.3}})");
  CHECK(run.run() == RunStatus::failed);
  CHECK(run.report.reason == FailureReason::missed_contact);
  CHECK(run.state().v[0] == doctest::Approx(1));
  CHECK(run.state().t == doctest::Approx(0.1).epsilon(1e-2));
}
