// Frames placed by formulas of coordinates in whole models: mechanisms of coordinates and bodies in space against their
// equations in few coordinates, and against the same mechanisms of bodies and joints.
#include "elements/bodies/coordinate_frame.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "tests/support/counting_allocator.hpp"
#include "tests/support/model_run.hpp"

using namespace carom;
using carom::test::AllocationCount;
using carom::test::ModelRun;

namespace {

double coordinate(const ModelRun& run, const std::string& name) {
  const int node = run.model->find_coordinate(name);
  REQUIRE(node >= 0);
  return run.model->state.q[at(run.system().dofs().configuration_offset(node))];
}
double order(const std::vector<double>& errors) {
  return std::log2(errors.front() / errors.back()) / static_cast<double>(errors.size() - 1);
}

std::string set(const std::string& pointer, double x) {
  char text[64];
  std::snprintf(text, sizeof text, "=%.17g", x);
  return pointer + text;
}

// The trolley and the rod of data/models/trolley.json in (x, phi), from Lagrange's function, by the classical
// Runge-Kutta method: {x, phi, x', phi'} at T.
std::array<double, 4> trolley(double T) {
  using Y = std::array<double, 4>;
  const double m = 2, M = 1, g = 9.81, a = 0.1, k = 2, l = 0.5, J = M * (0.05 * 0.05 + 1) / 12;
  const auto slope = [&](const Y& s) {
    const auto [x, phi, v, w] = s;
    const double y1 = a * k * std::sin(k * x), y2 = a * k * k * std::cos(k * x), S = std::sin(phi), C = std::cos(phi);
    // mass matrix (A, B; B, D) and its derivatives
    const double A = (m + M) * (1 + y1 * y1), B = M * l * (C + y1 * S), D = M * l * l + J;
    const double A_x = 2 * (m + M) * y1 * y2, B_x = M * l * y2 * S, B_phi = M * l * (y1 * C - S);
    const double f_x = 0.5 * A_x * v * v + B_x * v * w - (m + M) * g * y1 - A_x * v * v - (B_x * v + B_phi * w) * w,
                 f_phi = B_phi * v * w - M * g * l * S - (B_x * v + B_phi * w) * v;
    const double determinant = A * D - B * B;
    return Y{v, w, (D * f_x - B * f_phi) / determinant, (A * f_phi - B * f_x) / determinant};
  };
  const auto moved = [](const Y& s, double h, const Y& d) {
    return Y{s[0] + h * d[0], s[1] + h * d[1], s[2] + h * d[2], s[3] + h * d[3]};
  };
  Y s = {0.4, 0, 0.5, 0};
  const int steps = static_cast<int>(std::lround(T / 5e-4));
  const double h = T / steps;
  for (int i = 0; i < steps; ++i) {
    const Y p = slope(s), q = slope(moved(s, h / 2, p)), r = slope(moved(s, h / 2, q)), t = slope(moved(s, h, r));
    for (std::size_t c = 0; c < 4; ++c) s[c] += h / 6 * (p[c] + 2 * q[c] + 2 * r[c] + t[c]);
  }
  return s;
}

std::string method(const std::string& type, const std::string& more = "") {
  return R"(/integrator={"type": ")" + type + R"(", "step": 1e-3, "duration": 1)" + more + "}";
}

}  // namespace

TEST_CASE(
    "frames of coordinates: a trolley with a pendulum moves as its equations in two coordinates, by all methods") {
  const double T = 1;
  const auto exact = trolley(T);
  struct Method {
    std::string name, more;
    double order;
  };
  std::vector<Method> methods = {{"moreau_jean", "", 1}};
  for (const char* name : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven"})
    methods.push_back({name, "", 2});
  for (const std::string name : {"index_3", "index_2", "index_1", "ggl_modified", "pva"})
    methods.push_back({"generalized_alpha", R"(, "formulation": ")" + name + "\"", 2});
  for (const Method& m : methods) {
    CAPTURE(m.name);
    CAPTURE(m.more);
    std::vector<double> errors;
    for (const double h : {8e-3, 4e-3, 2e-3}) {
      ModelRun run = ModelRun::of_file(
          "trolley", {method(m.name, m.more), set("/integrator/step", h), set("/integrator/duration", T)});
      REQUIRE(run.run() == RunStatus::completed);
      const Vec3 arm = run.position("rod") - run.position("rod.top");
      errors.push_back(std::hypot(coordinate(run, "trolley.x") - exact[0], std::atan2(arm.x(), -arm.y()) - exact[1]));
      // joint and track
      const double x = coordinate(run, "trolley.x");
      const double drift = m.more.find("index_1") != std::string::npos || m.name == "moreau_jean" ? 1e-2
                           : m.more.find("index_2") != std::string::npos                          ? 1e-4
                                                                                                  : 1e-9;
      CHECK((run.position("hook") - Vec3(x, -0.1 * std::cos(2 * x), 0)).norm() < drift);
      CHECK((run.position("hook") - run.position("rod.top")).norm() < drift);
    }
    CAPTURE(errors);
    CHECK(errors.back() < (m.order == 1 ? 1e-2 : 2e-4));
    CHECK(order(errors) > m.order - 0.2);
  }
}

TEST_CASE("frames of coordinates: constraints do no work, and the ledger of the trolley closes") {
  for (const char* type :
       {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "moreau_jean", "event_driven"}) {
    CAPTURE(type);
    ModelRun run = ModelRun::of_file("trolley", {method(type), set("/integrator/duration", 0.3)});
    EnergyLedger ledger;
    Simulation simulation(run.model->system, *run.integrator, run.state(), run.model->simulation);
    simulation.add_observer(ledger);
    REQUIRE(simulation.run() == RunStatus::completed);
    const EnergyBalance& b = ledger.balance();
    CHECK(b.largest_closure < 1e-10 * b.scale);
    CHECK(std::abs(b.numerical) < 1e-3 * b.scale);
  }
}

TEST_CASE("frames of coordinates: a frame that t moves does the work of its drive, and the ledger closes") {
  // a bead on a wire that turns with the angle t + t^2/4 about z: s'' = s phi'^2, without masses of the frame
  const std::string text = R"json({"format": 1, "bodies": [
      {"name": "bead", "type": "coordinates", "coordinates": [{"name": "s", "position": 0.5}], "masses": [0]},
      {"name": "ring", "type": "coordinate_frame", "of": "bead", "position": ["s*cos(t + t^2/4)", "s*sin(t + t^2/4)", 0]},
      {"name": "ball", "type": "point_mass", "mass": 2, "position": [0.5, 0, 0], "velocity": [0, 0.5, 0]}],
    "joints": [{"name": "hold", "type": "spherical", "of": ["ring", "ball"]}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}})json";
  // s'' = s (1 + t/2)^2 by the classical Runge-Kutta method
  double s = 0.5, v = 0;
  const int n = 2000;
  for (int i = 0; i < n; ++i) {
    const double h = 1.0 / n, t = i * h;
    const auto a = [](double x, double time) { return x * (1 + time / 2) * (1 + time / 2); };
    const double k1 = v, l1 = a(s, t), k2 = v + h / 2 * l1, l2 = a(s + h / 2 * k1, t + h / 2), k3 = v + h / 2 * l2,
                 l3 = a(s + h / 2 * k2, t + h / 2), k4 = v + h * l3, l4 = a(s + h * k3, t + h);
    s += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
  }
  for (const char* type : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "moreau_jean", "event_driven"}) {
    CAPTURE(type);
    ModelRun run = ModelRun::of_text(text, {std::string("/integrator/type=\"") + type + "\""});
    const double before = run.energy();
    EnergyLedger ledger;
    Simulation simulation(run.model->system, *run.integrator, run.state(), run.model->simulation);
    simulation.add_observer(ledger);
    REQUIRE(simulation.run() == RunStatus::completed);
    const bool first_order = std::string(type) == "moreau_jean";
    CHECK(coordinate(run, "bead.s") == doctest::Approx(s).epsilon(first_order ? 3e-3 : 3e-6));
    // v^2 + (s phi')^2 with phi' = 3/2 at the end
    const double work = v * v + 2.25 * s * s - before;
    const EnergyBalance& b = ledger.balance();
    CHECK(b.drivers == doctest::Approx(work).epsilon(first_order ? 5e-3 : 1e-4));
    CHECK(b.largest_closure < 1e-10 * b.scale);
  }
}

TEST_CASE("frames of coordinates: a rigid body in Euler's angles moves as the one whose pin is a joint") {
  // the heavy top, whose frame turns by psi about z, theta about x and phi about y, without masses of its own
  const double T = 0.05;
  const std::string start = R"(/bodies/0/velocity=[4.61538, 0, 0])";
  std::vector<double> errors;
  for (const double h : {1e-3, 5e-4, 2.5e-4}) {
    ModelRun joint = ModelRun::of_file("heavy_top", {set("/integrator/step", h), set("/integrator/duration", T)});
    REQUIRE(joint.run() == RunStatus::completed);
    ModelRun angles = ModelRun::of_file(
        "heavy_top", {set("/integrator/step", h), set("/integrator/duration", T),
                      R"(/bodies/-={"name": "euler", "type": "coordinates", "masses": [0, 0, 0], "coordinates": [
              {"name": "psi", "velocity": "=precession"}, {"name": "theta"}, {"name": "phi", "velocity": "=spin"}]})",
                      R"(/bodies/-={"name": "axes", "type": "coordinate_frame", "of": "euler", "position": [0, 0, 0],
              "rotations": [{"axis": [0, 0, 1], "angle": "psi"}, {"axis": [1, 0, 0], "angle": "theta"},
                            {"axis": [0, 1, 0], "angle": "phi"}]})",
                      R"(/joints=[{"name": "pivot", "type": "fixed", "of": ["axes", "top.pin"]}])"});
    REQUIRE(angles.run() == RunStatus::completed);
    errors.push_back((joint.position("top") - angles.position("top")).norm());
    CHECK((angles.position("top.pin")).norm() < 1e-10);
    // psi, theta, phi give the direction of the axis y
    const double psi = coordinate(angles, "euler.psi"), theta = coordinate(angles, "euler.theta");
    const Vec3 axis(-std::sin(psi) * std::cos(theta), std::cos(psi) * std::cos(theta), std::sin(theta));
    CHECK((angles.position("top") - axis).norm() < 1e-9);
  }
  CAPTURE(errors);
  CHECK(errors.back() < 1e-4);
}

TEST_CASE("frames of coordinates: a beam and a solid on an axle by formulas move as on a revolute joint") {
  const std::string axle =
      R"(/bodies/-={"name": "axle", "type": "coordinate_frame", "of": "turn", "position": [0, 0, "h"],
                    "rotations": [{"axis": [0, 1, 0], "angle": "phi"}]})";
  for (const char* type : {"nsga_decoupled", "nsga_pva", "moreau_jean"}) {
    CAPTURE(type);
    const std::vector<std::string> keys = {method(type), set("/integrator/duration", 0.03)};
    ModelRun joint = ModelRun::of_file("mixed", keys);
    REQUIRE(joint.run() == RunStatus::completed);
    std::vector<std::string> changed = keys;
    changed.insert(changed.end(), {R"(/bodies/-={"name": "turn", "type": "coordinates", "masses": [0],
                                              "coordinates": [{"name": "phi"}]})",
                                   axle, R"(/joints/0={"name": "pivot", "type": "fixed", "of": ["axle", "lever.pin"]})",
                                   "/ground=[]"});
    ModelRun frame = ModelRun::of_file("mixed", changed);
    REQUIRE(frame.run() == RunStatus::completed);
    CHECK((joint.position("shaft.end") - frame.position("shaft.end")).norm() < 1e-9);
    CHECK((joint.position("head.node.7") - frame.position("head.node.7")).norm() < 1e-9);
    CHECK((joint.position("head.node.7") - Vec3(0.75, 0, 0.3)).norm() > 1e-4);
    const Vec3 pin = joint.position("lever.long_end") - joint.position("lever.pin");
    CHECK(coordinate(frame, "turn.phi") == doctest::Approx(std::atan2(-pin.z(), pin.x())).epsilon(1e-7));
  }
}

TEST_CASE("frames of coordinates: springs, loads and contacts on a frame act on its coordinates") {
  // a bead on an inclined wire, s along it: gravity as a load on the frame, a spring, and a floor at z = -0.2
  const std::string text = R"json({"format": 1, "parameters": {"m": 2, "g": 10},
    "ground": [{"name": "eye", "at": [0, 0, 0]}],
    "bodies": [
      {"name": "bead", "type": "coordinates", "coordinates": [{"name": "s", "position": 0.5}], "masses": ["m"]},
      {"name": "ring", "type": "coordinate_frame", "of": "bead", "position": ["0.6*s", 0, "0.8*s"]}],
    "loads": [{"name": "weight", "type": "force", "on": "ring", "value": [0, 0, "=-m*g"]}],
    "springs": [{"name": "band", "of": ["ground.eye", "ring"], "stiffness": 32, "natural_length": 0}],
    "contacts": [{"name": "hit", "on": "ring", "restitution": 0.5,
                  "obstacle": {"type": "plane", "point": [0, 0, 0.1], "normal": [0, 0, 1]}}],
    "integrator": {"type": "nsga_decoupled", "step": 1e-4, "duration": 0.35}})json";
  for (const char* type : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "moreau_jean", "event_driven"}) {
    CAPTURE(type);
    ModelRun run = ModelRun::of_text(text, {std::string("/integrator/type=\"") + type + "\""});
    REQUIRE(run.run() == RunStatus::completed);
    // s'' = -0.8 g - w^2 s with w = 4: s = -0.5 + A cos(w t - phase), from 0.5 to the floor at 0.125, then up with e
    // times the speed
    const double w = 4, down = std::acos(0.625) / w, speed = w * std::sqrt(1 - 0.625 * 0.625), t = 0.35 - down;
    const double s = -0.5 + 0.625 * std::cos(w * t) + 0.5 * speed / w * std::sin(w * t);
    CHECK(coordinate(run, "bead.s") == doctest::Approx(s).epsilon(2e-3));
    CHECK(run.position("ring").x() == doctest::Approx(0.6 * coordinate(run, "bead.s")).epsilon(1e-6));
  }
}

TEST_CASE("frames of coordinates: steps do not allocate") {
  ModelRun run = ModelRun::of_file("trolley");
  for (int i = 0; i < 5; ++i) REQUIRE(run.step(2e-3).converged);
  bool converged = true;
  const AllocationCount count;
  for (int i = 0; i < 5; ++i) converged = converged && run.step(2e-3).converged;
  const long allocations = count.value();
  CHECK(converged);
  CHECK(allocations == 0);
}

TEST_CASE("frames of coordinates: a body without forces is remarked on under gravity, one with a potential is not") {
  CHECK(ModelRun::of_file("trolley").model->warnings.empty());
  const ModelRun weightless = ModelRun::of_file("trolley", {R"json(/bodies/0={"name": "trolley", "type": "coordinates",
      "masses": ["m*(1 + (a*k*sin(k*x))^2)"], "coordinates": [{"name": "x", "position": 0.4, "velocity": 0.5}]})json"});
  REQUIRE(weightless.model->warnings.size() == 1);
  CHECK(weightless.model->warnings[0].find("gravity does not act on coordinates") == 0);
}
