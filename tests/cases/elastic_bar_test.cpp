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
    Case bar("elastic_bar", with({}, 2e-6, 1.2));
    std::vector<double> P{0};
    bar.run([&](const StepView&) { P.push_back(P.back() + bar.impulse(bar.rows("wall")[0])); });
    auto mean = [&](double a, double b) { std::size_t i = std::size_t(a/2e-6), j = std::size_t(b/2e-6); return (P[j]-P[i])/(b-a); };
    for (double a = 0.50; a < 0.7; a += 0.01) { std::string l; for (double b = 0.9; b < 1.17; b += 0.01) l += std::abs(mean(a,b)-300.17)<0.006 ? std::to_string(b) + " " : ""; MESSAGE(a, " ", l); }
    double t1 = 0.5005, t2 = 1.1646;
    for (double x : {0.02, 0.05, 0.1, 0.15, 0.2, 0.25}) MESSAGE(x, " ", mean(t1 + x*(t2-t1), t2 - x*(t2-t1)));
}
