// The energy ledger in motions without impacts: the works of loads and dampers against closed forms, and what the
// method adds, with its order.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "energy_account.hpp"

using namespace carom;
using namespace carom::cases;

TEST_CASE("ledger: the smooth part of a free flight is the error of its energy, of second order") {
  std::vector<double> steps, errors;
  for (const double h : {1e-3, 5e-4, 2.5e-4, 1.25e-4}) {
    Case c("brick", {set("/integrator/step", h), "/integrator/duration=0.4"});
    const Account a = account(c);
    const EnergyBalance& b = a.balance;
    steps.push_back(h);
    errors.push_back(std::abs(b.numerical));
    CHECK(std::abs(b.numerical - (c.energy() - a.initial)) < 1e-11 * a.initial);
    for (const double other :
         {b.loads, b.drivers, b.damping, b.position, b.impacts, b.contacts, b.constraints, b.corrections})
      CHECK(other == 0);
  }
  CHECK(fitted_order(steps, errors) == doctest::Approx(2).epsilon(0.03));
}

TEST_CASE("ledger: a load and a damper do the work of the closed form, to second order") {
  // m x'' + c x' + k x = F sin(w t) from x = x' = 0: x = A sin(w t) + B cos(w t) + exp(-d t) (C cos(p t) + D sin(p t))
  const double m = 2, c = 3, k = 50, F = 20, w = 4, end = 1.2;
  const double a = k - m * w * w, A = F * a / (a * a + c * c * w * w), B = -F * c * w / (a * a + c * c * w * w);
  const double d = c / (2 * m), p = std::sqrt(k / m - d * d), C = -B, D = (d * C - A * w) / p;
  const auto velocity = [&](double t) {
    return w * (A * std::cos(w * t) - B * std::sin(w * t)) +
           std::exp(-d * t) * ((p * D - d * C) * std::cos(p * t) - (p * C + d * D) * std::sin(p * t));
  };
  const auto place = [&](double t) {
    return A * std::sin(w * t) + B * std::cos(w * t) + std::exp(-d * t) * (C * std::cos(p * t) + D * std::sin(p * t));
  };
  // works by Simpson's rule from the exact power
  const int parts = 20000;
  double loads = 0, damping = 0;
  for (int i = 0; i <= parts; ++i) {
    const double t = end * i / parts, weight = (i == 0 || i == parts ? 1 : i % 2 == 1 ? 4 : 2) * end / (3.0 * parts);
    loads += weight * F * std::sin(w * t) * velocity(t);
    damping -= weight * c * velocity(t) * velocity(t);
  }
  const double energy = 0.5 * m * std::pow(velocity(end), 2) + 0.5 * k * std::pow(place(end), 2);
  REQUIRE(loads + damping == doctest::Approx(energy).epsilon(1e-10));

  std::vector<double> steps, errors_loads, errors_damping, numerical;
  for (const double h : {1e-2, 5e-3, 2.5e-3, 1.25e-3}) {
    Case oscillator = Case::from_text(R"model({
        "format": 1,
        "ground": [{"name": "nail", "at": [-10, 0, 0]}],
        "bodies": [{"name": "mass", "type": "point_mass", "mass": 2}],
        "springs": [{"name": "spring", "of": ["ground.nail", "mass"], "stiffness": 50, "damping": 3}],
        "loads": [{"name": "push", "type": "force", "on": "mass", "value": ["20*sin(4*t)", 0, 0]}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 1.2}
      })model",
                                      {set("/integrator/step", h)});
    const EnergyBalance b = account(oscillator).balance;
    steps.push_back(h);
    errors_loads.push_back(std::abs(b.loads - loads));
    errors_damping.push_back(std::abs(b.damping - damping));
    numerical.push_back(std::abs(b.numerical));
    CHECK(b.largest_closure < 1e-13 * b.scale);
  }
  CHECK(errors_loads.back() < 1e-4 * loads);
  CHECK(errors_damping.back() < 1e-4 * -damping);
  for (const auto* errors : {&errors_loads, &errors_damping, &numerical}) {
    CHECK(fitted_order(steps, *errors) > 1.9);
    CHECK(fitted_order(steps, *errors) < 2.1);
  }
}

TEST_CASE("ledger: damping is what dampers dissipate, next to nothing at rest on a closed contact") {
  // a quarter of a car on its tyre, whose contact patch rests on a road at rest, or on one with a bump
  const std::string road = "/contacts/0/obstacle/motion={\"translation\": [0, 0, \"";
  for (const bool bump : {false, true}) {
    Case car = Case::from_text(R"({
        "format": 1, "gravity": [0, 0, -9.81],
        "bodies": [
          {"name": "body", "type": "point_mass", "mass": 300, "position": [0, 0, 0.8], "fixed": ["x", "y"]},
          {"name": "wheel", "type": "point_mass", "mass": 40, "position": [0, 0, 0.3], "fixed": ["x", "y"]},
          {"name": "patch", "type": "point_mass", "mass": 0.5, "fixed": ["x", "y"]}],
        "springs": [
          {"name": "strut", "of": ["body", "wheel"], "stiffness": 16000, "damping": 1000, "natural_length": 0.7},
          {"name": "tyre", "of": ["wheel", "patch"], "stiffness": 190000, "damping": 200, "natural_length": 0.32}],
        "contacts": [{"name": "road", "on": "patch", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
        "initial_state": {"equilibrium": true},
        "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 5e-4, "duration": 0.6}
      })",
                               {road + (bump ? "t < 0.1 ? 0.08*sin(10*pi*t)^2 : 0" : "0") + "\"]}"});
    // - c l'^2 of both dampers, by the trapezoidal rule in the velocities between the steps
    const auto power = [&] {
      const double body = car.velocity("body").z(), wheel = car.velocity("wheel").z(),
                   patch = car.velocity("patch").z();
      return -1000 * (body - wheel) * (body - wheel) - 200 * (wheel - patch) * (wheel - patch);
    };
    double work = 0, before = power();
    const Account a = account(car, [&](const StepView& view, EnergyLedger&, const Parts&) {
      const double now = power();
      work += 0.5 * view.report.h * (before + now);
      before = now;
    });
    REQUIRE(a.status == RunStatus::completed);
    CAPTURE(bump);
    CHECK(a.balance.damping == doctest::Approx(work).epsilon(1e-10));
    if (bump) {
      CHECK(work < -100);
      CHECK(a.statistics.impacts > 0);
    } else {
      // the car settles by 0.1 mm, since the method's equilibrium on a closed contact differs by O(h)
      CHECK(std::abs(a.balance.damping) < 1e-4 * a.balance.energy.elastic);
    }
    CHECK(a.closure() < 1e-10);
  }
}

TEST_CASE("ledger: the smooth part of a vibrating bar falls with second order") {
  std::vector<double> steps, numerical;
  for (const double h : {2e-3, 1e-3, 5e-4, 2.5e-4}) {
    Case bar = Case::from_text(R"({
        "format": 1,
        "materials": [{"name": "soft", "type": "linear_elastic", "young": 900, "density": 1}],
        "sections": [{"name": "unit", "type": "area", "area": 1}],
        "bodies": [{"name": "bar", "type": "bar", "material": "soft", "section": "unit", "from": [0, 0, 0],
                    "to": [10, 0, 0], "elements": 8, "kinematics": "linear"}],
        "loads": [{"name": "pull", "type": "force", "on": "bar.end", "value": ["40*sin(3*t)^2", 0, 0]}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 1}
      })",
                               {set("/integrator/step", h)});
    const EnergyBalance b = account(bar).balance;
    CHECK(b.loads > 0.9 * b.energy.kinetic);
    CHECK(b.energy.elastic > 0);
    CHECK(b.largest_closure < 1e-12 * b.scale);
    steps.push_back(h);
    numerical.push_back(std::abs(b.numerical));
  }
  CHECK(fitted_order(steps, numerical) > 1.9);
  CHECK(fitted_order(steps, numerical) < 2.1);
}

TEST_CASE("ledger: what a constant load gives is its force times the way") {
  // F = 3, m = 2: x = F t^2/(2 m), the work F x, all of it kinetic energy; exact at any step
  for (const char* force : {"3", "\"3 + 0*t\""}) {
    Case c = Case::from_text(std::string(R"({
        "format": 1, "bodies": [{"name": "mass", "type": "point_mass", "mass": 2, "position": [5, 0, 0]}],
        "loads": [{"name": "push", "type": "force", "on": "mass", "value": [)") +
                             force +
                             R"(, 0, 0]}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 1}})");
    const EnergyBalance b = account(c).balance;
    CHECK(b.loads == doctest::Approx(2.25).epsilon(1e-13));
    CHECK(b.energy.kinetic == doctest::Approx(2.25).epsilon(1e-13));
    CHECK(b.energy.potential == 0);
    CHECK(std::abs(b.numerical) < 1e-13);
  }
}

TEST_CASE("ledger: what a constant torque gives is its moment times the angle") {
  // M = 2 about a principal axis with J = 4: omega = M t/J, the work M^2 t^2/(2 J), in inertial and in body axes
  for (const char* frame : {"inertial", "body"}) {
    Case c = Case::from_text(std::string(R"({
        "format": 1, "bodies": [{"name": "wheel", "type": "rigid", "mass": 1, "inertia": [3, 3, 4]}],
        "loads": [{"name": "drive", "type": "torque", "on": "wheel", "value": [0, 0, 2], "frame": ")") +
                             frame + R"("}], "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 3}})");
    const EnergyBalance b = account(c).balance;
    CHECK(b.loads == doctest::Approx(4.5).epsilon(1e-10));
    CHECK(b.energy.kinetic == doctest::Approx(4.5).epsilon(1e-10));
    CHECK(std::abs(b.numerical) < 1e-9);
  }
}
