// The horizontal impact of an elastic bar: Cosimo, Galvez, Cavalieri, Cardona, Brüls 2020, section 4.2.
//
// E = 900, rho = 1, A = 1, L = 10, N = 200 elements, v0 = 10 towards the wall, e = 0, rho_infinity = 0.8. The continuous
// bar has the wave speed c = 30: contact for 2 L/c = 2/3 s with the force rho A c v0 = 300, impulse 2 rho A L v0 = 200,
// energy rho A L v0^2/2 = 500. Figures marked [R] are those of an independent implementation (see REFERENCE section 2).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "case_runner.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

constexpr double wall_time = 0.5005;  // (d0 = 5.005)/v0
constexpr double initial_energy = 500;

std::vector<std::string> with(std::vector<std::string> overrides, double h, double duration) {
  overrides.push_back(set("/integrator/step", h));
  overrides.push_back(set("/integrator/duration", duration));
  return overrides;
}

// What a run shows of the contact.
struct Contact {
  double first = 0, last = 0;  // times at the ends of the first and the last step with an impulse
  double impulse = 0;
  double duration() const { return last - first; }
};

void watch(Case& bar, Contact& contact) {
  const int row = bar.rows("wall")[0];
  const double impulse = bar.impulse(row);
  if (impulse <= 0) return;
  if (contact.impulse == 0) contact.first = bar.t();
  contact.last = bar.t();
  contact.impulse += impulse;
}

Contact run_contact(Case& bar) {
  Contact contact;
  REQUIRE(bar.run([&](const StepView&) { watch(bar, contact); }) == RunStatus::completed);
  return contact;
}

// The run with h = 2e-6 that several tests compare with; positions and velocities at multiples of 1e-4 s.
struct Reference {
  static constexpr double interval = 1e-4;
  std::vector<double> x_tip, v_tip, x_inner;
  Contact contact;
  double energy = 0;
};

const Reference& reference() {
  static const Reference reference = [] {
    Reference r;
    Case bar("elastic_bar", with({}, 2e-6, 1.5));
    long k = 0;
    REQUIRE(bar.run([&](const StepView&) {
      watch(bar, r.contact);
      if (++k % 50 != 0) return;
      r.x_tip.push_back(bar.position("bar.end").x());
      r.v_tip.push_back(bar.velocity("bar.end").x());
      r.x_inner.push_back(bar.position("bar.node.191").x());
    }) == RunStatus::completed);
    r.energy = bar.energy();
    return r;
  }();
  return reference;
}

}  // namespace

TEST_CASE("explore") {
  const Reference& r = reference();
  MESSAGE(r.contact.first, " ", r.contact.last, " ", r.contact.impulse, " ", r.contact.impulse / r.contact.duration(), " ", r.energy);
  for (double h : {1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4}) {
    for (bool ds : {true, false}) {
      Case bar("elastic_bar", with({ds ? "/integrator/force_corrections=true" : "/integrator/force_corrections=false"}, h, 1.5));
      double ex = 0, ev = 0, ei = 0;
      long k = 0;
      const long stride = std::lround(h / 1e-4);
      Contact c;
      bar.run([&](const StepView&) {
        watch(bar, c);
        ++k;
        const std::size_t i = static_cast<std::size_t>(k * stride - 1);
        ex += h * std::abs(bar.position("bar.end").x() - r.x_tip[i]);
        ev += h * std::abs(bar.velocity("bar.end").x() - r.v_tip[i]);
        ei += h * std::abs(bar.position("bar.node.191").x() - r.x_inner[i]);
      });
      MESSAGE(h, " ", ds, " ex ", ex, " ev ", ev, " ei ", ei, " contact ", c.first, " ", c.last, " ", c.impulse, " E ", bar.energy());
    }
  }
  for (double h : {2e-2, 3e-2}) {
    Case bar("elastic_bar", with({"/integrator/force_corrections=false"}, h, 1.5));
    double deep = 0;
    Contact c;
    bar.run([&](const StepView&) { watch(bar, c); deep = std::max(deep, bar.position("bar.node.191").x() - 15.005); });
    MESSAGE(h, " DSn ", c.first, " ", c.last, " ", c.impulse, " inside ", deep);
  }
  for (const char* mass : {"consistent", "lumped"})
    for (double h : {1e-3, 1e-4, 1e-5}) {
      Case bar("elastic_bar", with({std::string("/bodies/0/mass=") + mass}, h, 1.3));
      Contact c = run_contact(bar);
      MESSAGE(mass, " ", h, " loss ", 1 - bar.energy() / 500, " ", c.impulse);
    }
  for (int N : {100, 200, 400, 800}) {
    double h = 2e-3 * 100 / N / 4;
    Case bar("elastic_bar", with({"/bodies/0/elements=" + std::to_string(N)}, h, 1.3));
    double sum = 0; long n = 0;
    Contact c;
    bar.run([&](const StepView&) { watch(bar, c); if (bar.t() > 0.6 && bar.t() < 1.1) { sum += bar.force(bar.rows("wall")[0]); ++n; } });
    MESSAGE(N, " ", c.duration(), " ", c.impulse, " ", sum / n, " E ", bar.energy());
  }
}
