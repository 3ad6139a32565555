// The four-bar linkage of data/models/four_bar.json against the closed form of its positions.

#include <doctest/doctest.h>

#include <cmath>

#include "case_runner.hpp"
#include "core/mechanics/row_rank.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

constexpr double r = 1, l = 3, q = 2.5, d = 3.2, omega = 6, th_0 = M_PI / 3;

// Directions of coupler and rocker at a crank angle: the triangle of coupler, rocker and diagonal.
struct Positions {
  double th = 0, psi = 0, phi = 0;
  Vec3 B, C;
};

Positions positions(double th) {
  Positions p;
  p.th = th;
  p.B = r * Vec3(std::cos(th), std::sin(th), 0);
  const Vec3 diagonal = Vec3(d, 0, 0) - p.B;
  const double f = diagonal.norm();
  p.psi = std::atan2(diagonal.y(), diagonal.x()) + std::acos((f * f + l * l - q * q) / (2 * l * f));
  p.C = p.B + l * Vec3(std::cos(p.psi), std::sin(p.psi), 0);
  p.phi = std::atan2(p.C.y(), p.C.x() - d);
  return p;
}

// Rates of the angles over that of the crank, from the derivative of the loop r + l = d + q.
struct Rates {
  double psi, phi;
};
Rates rates(const Positions& p) {
  return {r * std::sin(p.phi - p.th) / (l * std::sin(p.psi - p.phi)),
          r * std::sin(p.psi - p.th) / (q * std::sin(p.psi - p.phi))};
}

// Energy of the three rods (mass 1 per length, J = L^3/12, centres half way between their ends) at crank speed w.
double energy(double th, double w) {
  const Positions p = positions(th);
  const Rates k = rates(p);
  const auto normal = [](double angle) { return Vec3(-std::sin(angle), std::cos(angle), 0); };
  const Vec3 v_B = w * r * normal(th), v_C = w * k.phi * q * normal(p.phi);
  const double kinetic = 0.5 * (r * r * r / 3 * w * w) + 0.5 * (q * q * q / 3 * w * k.phi * w * k.phi) +
                         0.5 * (l * (0.5 * (v_B + v_C)).squaredNorm() + l * l * l / 12 * w * k.psi * w * k.psi);
  const double potential = 9.81 * (r * 0.5 * p.B.y() + l * 0.5 * (p.B.y() + p.C.y()) + q * 0.5 * p.C.y());
  return kinetic + potential;
}

TEST_CASE("four-bar: positions and velocities are those of the closed form at every step") {
  for (const double h : {1e-3, 1e-2, 2e-2}) {
    CAPTURE(h);
    Case c("four_bar", {set("/integrator/step", h), "/parameters/duration=2"});
    double position = 0, velocity = 0, out_of_plane = 0;
    const RunStatus status = c.run([&](const StepView&) {
      const Positions p = positions(th_0 + omega * c.t());
      const Rates k = rates(p);
      position = std::max(position, (c.position("coupler.end") - p.C).norm());
      velocity = std::max({velocity, std::abs(c.angular_velocity("rocker").z() - k.phi * omega),
                           std::abs(c.angular_velocity("coupler").z() - k.psi * omega)});
      out_of_plane = std::max(out_of_plane, std::abs(c.position("rocker.end").z()));
    });
    CHECK(status == RunStatus::completed);
    CHECK(position < 1e-9);
    CHECK(velocity < 1e-8);
    CHECK(out_of_plane < 1e-10);
    CHECK(c.statistics().subdivided_steps == 0);
  }
}

TEST_CASE("four-bar: three of its rows are redundant, those out of the plane, and all of them hold at both levels") {
  Case c("four_bar", {"/integrator/step=5e-3"});
  std::vector<int> rows;
  for (const char* joint : {"motor", "pin", "knee", "bearing"})
    for (const int row : c.rows(joint)) rows.push_back(row);
  REQUIRE(rows.size() == 21);
  const RowRank rank = row_rank(c.system(), c.state().q, 0, rows);
  CHECK(rank.rank == 18);
  for (const int i : rank.redundant) {
    const std::string component = c.system().row_component(rows[static_cast<std::size_t>(i)]);
    CHECK((component == "z" || component == "rotation x" || component == "rotation y"));
  }
  double gap = 0, rate = 0;
  c.run(
      [&](const StepView&) {
        for (const int row : rows) {
          gap = std::max(gap, std::abs(c.gap(row)));
          rate = std::max(rate, std::abs(c.gap_velocity(row)));
        }
      },
      true);
  CHECK(gap < 1.1e-11 * c.scales().length);
  CHECK(rate < 1.1e-11 * std::max(c.scales().speed, 20.0));
  CHECK(c.statistics().redundant_steps == c.statistics().nominal_steps);
  // redundant rows cost hardly any iterations
  for (const auto& iterations : c.statistics().iterations) CHECK(iterations.max <= 6);
}

TEST_CASE("four-bar: the motor's torque is the rate of the energy over the crank's speed") {
  Case c("four_bar");
  double worst = 0, largest = 0;
  const std::vector<int>& rows = c.rows("motor");
  c.run([&](const StepView&) {
    const double th = th_0 + omega * c.t(), e = 1e-5;
    const double torque = (energy(th + e, omega) - energy(th - e, omega)) / (2 * e);
    largest = std::max(largest, std::abs(torque));
    if (c.t() > 0.05) worst = std::max(worst, std::abs(c.force(rows.back()) - torque));
  });
  CHECK(worst < 2e-3 * largest);
}

TEST_CASE("four-bar: without its motor it swings and keeps its energy to second order") {
  std::vector<double> steps, errors;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    Case c("four_bar", {set("/integrator/step", h), "/parameters/duration=1", "/parameters/omega=3",
                        R"(/joints/0={"name": "motor", "type": "revolute", "of": ["ground.left", "crank.start"],
                           "axis": [0, 0, 1]})"});
    const double start = c.energy();
    double worst = 0;
    c.run([&](const StepView&) { worst = std::max(worst, std::abs(c.energy() - start)); });
    steps.push_back(h);
    errors.push_back(worst);
  }
  CHECK(fitted_order(steps, errors) > 1.8);
}

}  // namespace
