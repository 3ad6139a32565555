#include "tests/contract/integrator_contract.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/counting_allocator.hpp"
#include "tests/support/model_run.hpp"

namespace carom::test {

using nlohmann::json;

namespace {

// A rigid bob on a soft beam on a pin in the plane's normal, all in motion; the bob's offset couples the directions.
const char* const flexible_pendulum = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "materials": [{"name": "soft", "type": "linear_elastic", "young": 2e5, "poisson": 0.3, "density": 500}],
  "sections": [{"name": "square", "type": "rectangle", "width": 0.1, "height": 0.1}],
  "bodies": [
    {"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 2,
     "from": [0, 0, 0], "to": [1, 0, 0]},
    {"name": "bob", "type": "rigid", "mass": 1, "inertia": [0.02, 0.03, 0.04], "position": [1.1, 0.02, 0],
     "points": [{"name": "eye", "at": [-0.1, -0.02, 0]}]}
  ],
  "joints": [{"name": "pin", "type": "revolute", "of": ["ground", "arm.start"], "axis": [0, 1, 0.2]},
             {"name": "weld", "type": "fixed", "of": ["arm.end", "bob.eye"]}]
})";

// The same pendulum lets a box of four vertices swing down onto a floor, where it comes to rest.
const char* const pendulum_with_floor = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "materials": [{"name": "soft", "type": "linear_elastic", "young": 2e7, "poisson": 0.3, "density": 500}],
  "sections": [{"name": "square", "type": "rectangle", "width": 0.1, "height": 0.1}],
  "bodies": [
    {"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 2,
     "from": [0, 0, 0], "to": [1, 0, 0], "damping": 1e-3},
    {"name": "bob", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.2, 0.2, 0.2]},
     "position": [1.1, 0, 0], "points": [{"name": "eye", "at": [-0.1, 0, 0]}]}
  ],
  "joints": [{"name": "pin", "type": "revolute", "of": ["ground", "arm.start"], "axis": [0, 1, 0]},
             {"name": "weld", "type": "spherical", "of": ["arm.end", "bob.eye"]}],
  "contacts": [{"name": "floor", "on": "bob.vertices", "restitution": 0.3,
                "obstacle": {"type": "plane", "point": [0, 0, -0.3], "normal": [0, 0, 1]}}]
})";

// Two rigid bodies and a beam on springs, nothing else around; two balls that run into each other among them.
const char* const free_bodies = R"({
  "format": 1,
  "materials": [{"name": "soft", "type": "linear_elastic", "young": 1e6, "poisson": 0.3, "density": 500}],
  "sections": [{"name": "square", "type": "rectangle", "width": 0.1, "height": 0.1}],
  "bodies": [
    {"name": "one", "type": "rigid", "mass": 2, "inertia": [0.1, 0.2, 0.25], "position": [0.2, 1, 0],
     "velocity": [1, 0, 0.5], "angular_velocity": [1, -2, 0.5], "points": [{"name": "eye", "at": [0.1, 0.2, 0]}]},
    {"name": "two", "type": "rigid", "mass": 1, "inertia": [0.1, 0.08, 0.05], "position": [-1, -0.3, 0.4],
     "angular_velocity": [0, 3, 1]},
    {"name": "beam", "type": "beam", "material": "soft", "section": "square", "elements": 2,
     "from": [0, 0, 0], "to": [1, 0, 0], "velocity": [0, 0, -0.5], "angular_velocity": [0.3, 0, 1]},
    {"name": "ball_1", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 2], "velocity": [2, 0, 0]},
    {"name": "ball_2", "type": "point_mass", "mass": 3, "radius": 0.1, "position": [0.5, 0.08, 2]}
  ],
  "springs": [
    {"name": "a", "of": ["one.eye", "beam.end"], "stiffness": 60},
    {"name": "b", "of": ["two", "beam.start"], "stiffness": 40, "natural_length": 0.2},
    {"name": "c", "of": ["ball_2", "one"], "stiffness": 20}
  ],
  "joints": [{"name": "arm", "type": "distance", "of": ["two", "one"]}],
  "initial_state": {"project": "velocities"},
  "contacts": [{"name": "balls", "between": ["ball_1", "ball_2"], "restitution": 0.7}]
})";

// A beam that a growing load presses onto a floor: for paths of equilibria.
const char* const pressed_beam = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "materials": [{"name": "soft", "type": "linear_elastic", "young": 1e8, "poisson": 0.3, "density": 500}],
  "sections": [{"name": "square", "type": "rectangle", "width": 0.05, "height": 0.05}],
  "bodies": [{"name": "arm", "type": "beam", "material": "soft", "section": "square", "elements": 4,
              "from": [0, 0, 0], "to": [1, 0, 0], "fixed": [{"on": "start"}]}],
  "loads": [{"name": "push", "type": "force", "on": "arm.end", "value": [0, 0, "-20*t"]}],
  "contacts": [{"name": "floor", "on": "arm.nodes",
                "obstacle": {"type": "plane", "point": [0, 0, -0.05], "normal": [0, 0, 1]}}]
})";

// The same for methods without rotations: beads on a string that swing, that meet a floor, that fly.
const char* const string_of_beads = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "bodies": [
    {"name": "a", "type": "point_mass", "mass": 1, "position": [1, 0, 0], "velocity": [0, 0.5, 0]},
    {"name": "b", "type": "point_mass", "mass": 0.5, "position": [1.5, 0.2, 0]},
    {"name": "c", "type": "point_mass", "mass": 0.8, "position": [1.9, 0.2, 0.1]}
  ],
  "ground": [{"name": "pin", "at": [0, 0, 0]}],
  "springs": [{"name": "s", "of": ["a", "b"], "stiffness": 300}],
  "joints": [{"name": "rod", "type": "distance", "of": ["ground.pin", "a"]},
             {"name": "link", "type": "distance", "of": ["b", "c"]}],
  "initial_state": {"project": "velocities"}
})";
const char* const beads_with_floor = R"({
  "format": 1, "gravity": [0, 0, -9.81],
  "bodies": [
    {"name": "a", "type": "point_mass", "mass": 1, "position": [1, 0, 0]},
    {"name": "b", "type": "point_mass", "mass": 0.5, "position": [1.5, 0.2, 0]},
    {"name": "c", "type": "point_mass", "mass": 0.8, "position": [1.9, 0.2, 0.1]}
  ],
  "ground": [{"name": "pin", "at": [0, 0, 0]}],
  "springs": [{"name": "s", "of": ["a", "b"], "stiffness": 300, "damping": 10},
              {"name": "drag", "of": ["ground.pin", "c"], "damping": 2, "stiffness": 1}],
  "joints": [{"name": "rod", "type": "distance", "of": ["ground.pin", "a"]},
             {"name": "link", "type": "distance", "of": ["b", "c"]}],
  "contacts": [{"name": "floor", "on": ["a", "b", "c"], "restitution": 0.3,
                "obstacle": {"type": "plane", "point": [0, 0, -0.3], "normal": [0, 0, 1]}}]
})";
const char* const free_points = R"({
  "format": 1,
  "bodies": [
    {"name": "one", "type": "point_mass", "mass": 2, "position": [0.2, 1, 0], "velocity": [1, 0, 0.5]},
    {"name": "two", "type": "point_mass", "mass": 1, "position": [-1, -0.3, 0.4], "velocity": [0, 1, -0.5]},
    {"name": "ball_1", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 2], "velocity": [2, 0, 0]},
    {"name": "ball_2", "type": "point_mass", "mass": 3, "radius": 0.1, "position": [0.5, 0.08, 2]}
  ],
  "springs": [
    {"name": "a", "of": ["one", "ball_2"], "stiffness": 60},
    {"name": "b", "of": ["two", "ball_2"], "stiffness": 4, "natural_length": 0.2}
  ],
  "joints": [{"name": "arm", "type": "distance", "of": ["two", "one"]}],
  "initial_state": {"project": "velocities"},
  "contacts": [{"name": "balls", "between": ["ball_1", "ball_2"], "restitution": 0.7}]
})";

const char* swinging(const MethodCase& c) { return c.frames ? flexible_pendulum : string_of_beads; }
const char* flying(const MethodCase& c) { return c.frames ? free_bodies : free_points; }

ModelRun run_of(const char* model, const MethodCase& c, double h, double duration) {
  json j = json::parse(model);
  if (!c.restitution && j.contains("contacts")) j["contacts"][0]["restitution"] = 0;
  if (!c.contacts) j.erase("contacts");
  if (c.friction > 0 && j.contains("contacts")) j["contacts"][0]["friction"] = c.friction;
  j["integrator"] = json::parse(c.keys);
  j["integrator"]["step"] = h / c.steps;
  j["integrator"]["duration"] = duration;
  return ModelRun::of_document(parse_model(j.dump(), c.name + ".json"));
}

ModelRun with_contacts(const MethodCase& c) {
  if (!c.dynamic) return run_of(pressed_beam, c, 0.02, 1);
  return run_of(c.frames ? pendulum_with_floor : beads_with_floor, c, 2e-3, 1);
}

double distance(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

void check_order(const MethodCase& c) {
  INFO("method: " << c.name);
  if (!c.dynamic) return;
  // differences of runs with h, h/2, h/4, ... fall like the errors
  std::vector<State> ends;
  double h = 5e-4;
  for (int k = 0; k < 4; ++k, h /= 2) {
    ModelRun run = run_of(swinging(c), c, h, 0.4);
    REQUIRE(run.run() == RunStatus::completed);
    ends.push_back(run.state());
  }
  const auto order = [&](auto part) {
    const std::size_t last = ends.size() - 1;
    const double coarse = distance(part(ends[last - 2]), part(ends[last - 1])),
                 fine = distance(part(ends[last - 1]), part(ends[last]));
    CHECK(fine > 0);
    return std::log2(coarse / fine);
  };
  // a method of order 1 falls faster as long as terms of second order are larger
  for (const double measured : {order([](const State& s) { return s.q; }), order([](const State& s) { return s.v; })}) {
    CHECK(measured > 0.9 * c.order);
    CHECK(measured < 2.4);
  }
  if (c.multiplier_order > 0) CHECK(order([](const State& s) { return s.lambda; }) > c.multiplier_order - 0.1);
}

void check_levels(const MethodCase& c) {
  INFO("method: " << c.name);
  if (!c.dynamic) return;
  ModelRun run = with_contacts(c);
  const System& system = run.system();
  Vector g(static_cast<std::size_t>(system.rows())), rate(g.size());
  double position = 0, velocity = 0;
  long closed = 0;
  REQUIRE(run.run([&](const StepView& view) {
    const State& s = view.state;
    const StepMotion step = step_motion(view.integrator);
    system.gaps(s.q, s.t, all_rows, g);
    system.rates(s.q, s.v, s.t, all_rows, rate);
    const std::size_t n_b = static_cast<std::size_t>(system.bilateral());
    for (std::size_t i = 0; i < g.size(); ++i) {
      const int row = static_cast<int>(i);
      // no contact penetrates, and those that are active touch
      const bool is_contact = i >= n_b;
      if (friction_rows.has(system.row_kind(row))) continue;
      position = std::max(position, is_contact && s.active[i - n_b] == 0 ? -g[i] : std::abs(g[i]));
      if (is_contact && s.closed[i - n_b] == 0) continue;
      if (is_contact) ++closed;
      if (is_contact && !c.contacts_at_end) continue;
      // Newton's impact law; joints have e = 0
      const double e = system.contact_parameters(row).restitution;
      // a contact that moved apart at the start has nothing to reflect
      const double before =
          is_contact && !c.law_at_impact ? std::min(0.0, system.row_rate(row, step.q_n, step.v_n, view.report.t)) : 0;
      velocity = std::max(velocity, std::abs(rate[i] + e * before));
    }
  }) == RunStatus::completed);
  if (c.contacts) CHECK(closed > 100);
  if (c.position_level) CHECK(position < 1e-9);
  if (c.velocity_level) CHECK(velocity < 1e-9);
}

void check_restart(const MethodCase& c) {
  INFO("method: " << c.name);
  ModelRun run = with_contacts(c);
  const int before = c.dynamic ? 230 : 20, after = c.dynamic ? 100 : 20;
  for (int k = 0; k < before; ++k) REQUIRE(run.step(run.h()).converged);
  const State kept = run.state();
  const NamedArrays record = run.record();
  for (int k = 0; k < after; ++k) REQUIRE(run.step(run.h()).converged);
  CHECK_FALSE(same_bits(run.state(), kept));

  // in a program of its own, and in the one that has gone on since
  ModelRun other = with_contacts(c);
  for (ModelRun* again : {&other, &run}) {
    const State end = run.state();
    again->resume(kept, record);
    for (int k = 0; k < after; ++k) REQUIRE(again->step(again->h()).converged);
    CHECK(same_bits(again->state(), end));
  }
}

void check_rejected_step(const MethodCase& c) {
  INFO("method: " << c.name);
  ModelRun with = with_contacts(c), without = with_contacts(c);
  for (int k = 0; k < (c.dynamic ? 300 : 30); ++k) {
    if (k % 10 == 5) {
      const State before = with.state();
      // a step to the end of the world cannot converge
      REQUIRE_FALSE(with.step(1e300).converged);
      REQUIRE(same_bits(with.state(), before));
    }
    REQUIRE(with.step(with.h()).converged);
    REQUIRE(without.step(without.h()).converged);
    if (c.keeps_matrices)
      REQUIRE(distance(with.state().q, without.state().q) < 1e-7);
    else
      REQUIRE(same_bits(with.state(), without.state()));
  }
}

void check_steps_without_allocation(const MethodCase& c) {
  INFO("method: " << c.name);
  ModelRun run = with_contacts(c);
  const State start = run.state();
  const int steps = static_cast<int>(std::lround(run.model->simulation.duration / run.h()));
  for (int k = 0; k < steps; ++k) REQUIRE(run.step(run.h()).converged);
  // the same again
  run.state() = start;
  bool converged = true;
  AllocationCount count;
  for (int k = 0; k < steps; ++k) converged = run.step(run.h()).converged && converged;
  const long n = count.value();
  CHECK(converged);
  if (!c.chooses_pivots) CHECK(n == 0);
}

void check_momentum(const MethodCase& c) {
  INFO("method: " << c.name);
  if (!c.dynamic) return;
  const std::string bodies = flying(c);
  json smooth = json::parse(bodies);
  smooth.erase("contacts");
  const auto largest_change = [&](const std::string& model, double h, Vec3 Momenta::*momentum) {
    ModelRun run = run_of(model.c_str(), c, h, 0.8);
    const Momenta start = run.system().momenta(run.state().q, run.state().v);
    const double energy = run.energy();
    double change = 0;
    REQUIRE(run.run([&](const StepView& view) {
      const Momenta now = view.system.momenta(view.state.q, view.state.v);
      change = std::max(change, (now.*momentum - start.*momentum).norm());
    }) == RunStatus::completed);
    CHECK((run.statistics.impacts > 0) == (c.contacts && model == bodies));
    if (c.keeps_energy && model != bodies) CHECK(std::abs(run.energy() - energy) < 1e-9 * energy);
    return change / (start.*momentum).norm();
  };
  for (const double h : {4e-3, 1e-3}) CHECK(largest_change(bodies, h, &Momenta::linear) < 1e-9);

  // angular momentum without impacts, whose place in a step is known to O(h) only
  std::vector<double> errors;
  for (const double h : {4e-3, 2e-3, 1e-3}) errors.push_back(largest_change(smooth.dump(), h, &Momenta::angular));
  CHECK(errors.back() < 1e-3);
  if (errors.front() > 1e-11) CHECK(std::log2(errors[0] / errors[2]) / 2 > c.order - 0.3);
}

}  // namespace carom::test
