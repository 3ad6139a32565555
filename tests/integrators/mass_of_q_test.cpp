// A mass matrix that depends on the configuration: a particle in polar coordinates (tests/support/polar_mass.hpp),
// whose motion is known from Cartesian ones.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "contact/gap/obstacle.hpp"
#include "contact/gap/point_contact.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "tests/support/model_run.hpp"
#include "tests/support/polar_mass.hpp"

using namespace carom;
using carom::test::PolarMass;
using carom::test::PolarMassBlock;
using carom::test::StepMotion;
using carom::test::SystemRun;

namespace {

constexpr double mass = 1.7;

// A wall r <= radius around the origin, or none.
struct Polar {
  Polar(double stiffness, const Vec3& start, double radius = 0, double restitution = 0) {
    const int node = system.add_node(NodeKind::point, std::span(start.data(), 3), "particle");
    system.add(std::make_unique<PolarMassBlock>(
        "particle", std::vector<PolarMass>{{.node = node, .mass = mass, .stiffness = stiffness}}));
    if (radius > 0)
      system.add(std::make_unique<PointContactBlock>(
          "wall", std::vector<ContactPoint>{{"particle", node, Vec3::Zero(), 0, restitution}},
          make_plane(Vec3(radius, 0, 0), -Vec3::UnitX()), nullptr, false));
    system.finalize();
  }
  System system;
};

Vec3 cartesian(const Vector& q) { return {q[0] * std::cos(q[1]), q[0] * std::sin(q[1]), q[2]}; }
Vec3 cartesian_velocity(const Vector& q, const Vector& v) {
  const Vec3 e_r(std::cos(q[1]), std::sin(q[1]), 0), e_phi(-e_r[1], e_r[0], 0);
  return v[0] * e_r + q[0] * v[1] * e_phi + Vec3(0, 0, v[2]);
}
double kinetic(const Vector& q, const Vector& v) { return 0.5 * mass * cartesian_velocity(q, v).squaredNorm(); }

double order(const std::vector<double>& errors, double ratio = 2) {
  return std::log(errors.front() / errors.back()) / std::log(ratio) / static_cast<double>(errors.size() - 1);
}

const Vec3 q_0(0.5, 0.3, 0.1);
const Vector v_0 = {1.2, 2.0, -0.4};

NsgaOptions published() {
  NsgaOptions options;
  options.impact = ImpactInstant::published;
  return options;
}

// Straight lines between impacts with the circle of a given radius, which reverse the radial velocity times e.
Vec3 billiard(double t, double radius, double e, int& impacts) {
  Vec3 x = cartesian({q_0[0], q_0[1], q_0[2]}), v = cartesian_velocity({q_0[0], q_0[1], q_0[2]}, v_0);
  for (impacts = 0;; ++impacts) {
    const double a = v.head<2>().squaredNorm(), b = x.head<2>().dot(v.head<2>()),
                 c = x.head<2>().squaredNorm() - radius * radius, hit = (-b + std::sqrt(b * b - a * c)) / a;
    if (hit > t) return x + t * v;
    x += hit * v;
    t -= hit;
    const Vec3 n(x[0] / radius, x[1] / radius, 0);
    v -= (1 + e) * v.dot(n) * n;
  }
}

}  // namespace

TEST_CASE(
    "M(q): an oscillator in polar coordinates is integrated with second order, and so are its energy and moment") {
  const double k = 12, w = std::sqrt(k / mass), T = 1.5;
  Polar polar(k, q_0);
  const Vec3 x_0 = cartesian({q_0[0], q_0[1], q_0[2]}), u_0 = cartesian_velocity({q_0[0], q_0[1], q_0[2]}, v_0);
  const Vec3 exact = x_0 * std::cos(w * T) + u_0 / w * std::sin(w * T),
             exact_velocity = -w * x_0 * std::sin(w * T) + u_0 * std::cos(w * T);
  std::vector<double> positions, velocities, energies, moments;
  for (const int n : {150, 300, 600, 1200}) {
    SystemRun run(polar.system, v_0, T / n);
    for (int i = 0; i < n; ++i) REQUIRE(run.step());
    const Vector &q = run.state.q, &v = run.state.v;
    positions.push_back((cartesian(q) - exact).norm());
    velocities.push_back((cartesian_velocity(q, v) - exact_velocity).norm());
    const double energy = kinetic(q, v) + 0.5 * k * cartesian(q).squaredNorm();
    energies.push_back(std::abs(energy - 0.5 * mass * u_0.squaredNorm() - 0.5 * k * x_0.squaredNorm()));
    moments.push_back(std::abs(q[0] * q[0] * v[1] - q_0[0] * q_0[0] * v_0[1]));
  }
  CHECK(positions.back() < 1e-4);
  for (const auto* errors : {&positions, &velocities, &energies, &moments})
    CHECK(order(*errors) == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("M(q): impacts with a circular wall are those of a billiard ball, at the end of the step with first order") {
  const double radius = 0.9, T = 2.5;
  for (const double e : {0.6, 1.0})
    for (const bool corrections : {true, false}) {
      CAPTURE(e);
      CAPTURE(corrections);
      NsgaOptions options = published();
      options.force_corrections = corrections;
      int impacts = 0;
      const Vec3 exact = billiard(T, radius, e, impacts);
      REQUIRE(impacts >= 2);
      // the error of an impact depends on its place within a step: the worst of several steps of nearly the same size
      std::vector<double> errors;
      for (const int n : {200, 800, 3200}) {
        Polar polar(0, q_0, radius, e);
        double worst = 0;
        for (int m = n; m < n + 8; ++m) {
          SystemRun run(polar.system, v_0, T / m, options);
          for (int i = 0; i < m; ++i) REQUIRE(run.step());
          worst = std::max(worst, (cartesian(run.state.q) - exact).norm());
        }
        errors.push_back(worst);
      }
      CHECK(errors.back() < 20 * T / 3200);
      CHECK(order(errors, 4) == doctest::Approx(1).epsilon(0.15));
    }
}

TEST_CASE("M(q): impacts with a circular wall at their instants are of second order") {
  const double radius = 0.9, T = 2.5;
  for (const double e : {0.6, 1.0}) {
    CAPTURE(e);
    int impacts = 0;
    const Vec3 exact = billiard(T, radius, e, impacts);
    std::vector<double> errors;
    for (const int n : {200, 800, 3200}) {
      Polar polar(0, q_0, radius, e);
      double worst = 0;
      for (int m = n; m < n + 8; ++m) {
        SystemRun run(polar.system, v_0, T / m);
        for (int i = 0; i < m; ++i) REQUIRE(run.step());
        worst = std::max(worst, (cartesian(run.state.q) - exact).norm());
      }
      errors.push_back(worst);
    }
    CHECK(order(errors, 4) == doctest::Approx(2).epsilon(0.05));
  }
}

TEST_CASE("M(q): the velocity jump balances the change of mass between smooth and corrected configuration") {
  // [DS20]: M(q) W = h f_* + G^T Lam with f_* = f(q, v) - M(q) v~' - (f(q~, v~) - M(q~) v~'); the last part is zero by
  // the smooth motion, so M(q) (W + h v~') = h f(q, v) + G^T Lam with the closed forms of M, f and G = (-1, 0, 0).
  const double k = 1.5, radius = 0.9, h = 5e-3;
  Polar polar(k, q_0, radius, 0.6);
  SystemRun run(polar.system, v_0, h, published());
  double worst = 0, change = 0;
  int impacts = 0;
  for (int i = 0; i < 800; ++i) {
    REQUIRE(run.step());
    const Vector &q = run.state.q, &v = run.state.v, &a = run.state.acceleration;
    const StepMotion smooth = run.smooth();
    const double impulse = run.state.impulse[0], r = q[0];
    if (impulse == 0) continue;
    ++impacts;
    const Vec3 M(mass, mass * r * r, mass);
    const Vec3 f(mass * r * v[1] * v[1] - k * r, -2 * mass * r * v[0] * v[1], -k * q[2]);
    for (int c = 0; c < 3; ++c) {
      const std::size_t j = static_cast<std::size_t>(c);
      const double W = v[j] - smooth.v[j];
      const double left = M[c] * (W + h * a[j]), right = h * f[c] - (c == 0 ? impulse : 0.0);
      worst = std::max(worst, std::abs(left - right));
    }
    change = std::max(change, h * mass * std::abs(r * r - smooth.q[0] * smooth.q[0]) * std::abs(a[1]));
  }
  CHECK(impacts >= 3);
  // what would be missing is far above the tolerance
  CHECK(change > 1e-4);
  CHECK(worst < 1e-9);
}

TEST_CASE("M(q): the ledger of energy closes over impacts, and an elastic wall changes energy by O(h) only") {
  const double k = 1.5;
  Polar polar(k, q_0, 0.9, 1);
  std::vector<double> losses;
  for (const double h : {4e-3, 1e-3, 2.5e-4}) {
    double worst = 0;
    // the place of an impact within its step decides on the error: the worst of several steps
    for (int m = 0; m < 6; ++m) {
      SystemRun run(polar.system, v_0, h * (1 - 0.01 * m), published());
      EnergyLedger ledger;
      REQUIRE(run.run(2, ledger) == RunStatus::completed);
      const EnergyBalance& b = ledger.balance();
      CHECK(b.impacts != 0);
      CHECK(b.largest_closure < 1e-11 * b.scale);
      worst = std::max(worst, std::abs(b.total() - ledger.initial()) / ledger.initial());
    }
    losses.push_back(worst);
  }
  CHECK(losses.back() < 0.01);
  CHECK(order(losses, 4) > 0.8);
}
