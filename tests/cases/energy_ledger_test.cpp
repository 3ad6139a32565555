// The energy ledger: each part against closed forms, and the sum of all parts against the energy.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "case_runner.hpp"
#include "integrators/common/energy_ledger.hpp"
#include "rigid_reference.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// The contributions of a step to the parts.
struct Parts {
  double loads, drivers, damping, numerical, position, impacts, contacts, constraints, corrections;

  double jump() const { return impacts + contacts + constraints + corrections; }
};

Parts difference(const EnergyBalance& a, const EnergyBalance& b) {
  return {a.loads - b.loads,         a.drivers - b.drivers,         a.damping - b.damping,
          a.numerical - b.numerical, a.position - b.position,       a.impacts - b.impacts,
          a.contacts - b.contacts,   a.constraints - b.constraints, a.corrections - b.corrections};
}

using Watch = std::function<void(const StepView&, EnergyLedger&, const Parts&)>;

// Keeps a ledger during a run of a case and passes every step with its contributions to a function.
class Keeper final : public Observer {
 public:
  explicit Keeper(const Watch& watch) : watch_(watch) {}
  void start(const StepView& view) override {
    ledger.start(view);
    before_ = ledger.balance();
  }
  void after_step(const StepView& view) override {
    ledger.after_step(view);
    if (watch_) watch_(view, ledger, difference(ledger.balance(), before_));
    before_ = ledger.balance();
  }

  EnergyLedger ledger;

 private:
  const Watch& watch_;
  EnergyBalance before_;
};

struct Account {
  RunStatus status = RunStatus::failed;
  RunStatistics statistics;
  EnergyBalance balance;
  double initial = 0;

  double closure() const { return balance.largest_closure / balance.scale; }
};

Account account(Case& c, const Watch& watch = {}) {
  Simulation simulation(c.model().system, c.integrator(), c.model().state, c.model().simulation);
  Keeper keeper(watch);
  simulation.add_observer(keeper);
  Account a;
  a.status = simulation.run();
  a.statistics = simulation.statistics();
  a.balance = keeper.ledger.balance();
  a.initial = keeper.ledger.initial();
  return a;
}

std::vector<std::string> all_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(CAROM_SOURCE_DIR) + "/data/models"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

// Gaps of coordinates are contacts, too, but belong to their body.
bool has_contact_list(const std::string& name) {
  std::ifstream file(std::string(CAROM_SOURCE_DIR) + "/data/models/" + name + ".json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.find("\"contacts\"") < text.size();
}

// A point, a spinning body, tied points, springs on a curved obstacle, a driven joint, beams in contact.
std::vector<std::string> representative_models() {
  return {"bouncing_ball", "brick", "brick_tied", "bead_chain", "four_bar", "pendulum_beam"};
}

// Unknowns of one contact and one body from first principles: 1/m_eff = G M^-1 G^T of a brick's vertex against z.
double effective_mass_of_vertex(const Mat3& R, int vertex) {
  const Vec3 arm = box_vertex(brick_edges, vertex).cross(Vec3(R.transpose() * Vec3::UnitZ()));
  const RigidReference brick = brick_reference();
  return 1 / (1 / brick.m + arm.dot(arm.cwiseQuotient(brick.J)));
}

const std::string dsn = "/integrator/force_corrections=false";

// `step`: where a variant has none; empty: the model's.
void check_closure(const std::vector<std::string>& names, const std::string& step = {}) {
  for (const std::string& name : names) {
    // a static run has no energy to follow; explicit methods have other keys, and closures of their own tests
    if (const MethodInfo info = Case(name).integrator().info(); !info.dynamic || info.explicit_step) continue;
    // where a restitution is a parameter that nothing else uses
    const std::string restitution = name == "brick_flat" ? "/parameters/restitution=" : "/contacts/0/restitution=";
    std::vector<std::vector<std::string>> variants = {
        {},
        {dsn},
        {"/integrator/rho_infinity=0"},
        {"/integrator/rho_infinity=1", dsn},
        // the residual ends just below its tolerance: see the next test
        {"/integrator/newton/method=modified", "/integrator/newton/tolerance=1e-12"},
    };
    const bool small = Case(name).system().size() <= 120;
    if (small)
      variants.insert(variants.end(),
                      {{"/integrator/step=2.5e-3"}, {"/integrator/step=1e-2"}, {"/integrator/step=1e-2", dsn}});
    if (small && has_contact_list(name))
      for (const char* e : {"0", "0.5", "1"}) variants.push_back({restitution + e});
    for (std::vector<std::string>& variant : variants) {
      CAPTURE(name);
      const bool has_step = std::any_of(variant.begin(), variant.end(),
                                        [](const std::string& set) { return set.find("/integrator/step=") == 0; });
      if (!step.empty() && !has_step) variant.push_back("/integrator/step=" + step);
      // In steps of 1e-2 the brick turns by up to 1.2 rad. The iteration of its one jump ends after three corrections,
      // with a residual just below its tolerance, or after four, with rounding; which of both depends on where it
      // touches.
      if (name == "brick" && has_step) variant.emplace_back("/integrator/newton/tolerance=1e-12");
      std::string text;
      for (const std::string& set : variant) text += set + " ";
      CAPTURE(text);
      Case c(name, variant);
      const Account a = account(c);
      CHECK(a.balance.scale > 0);
      // ... or below the roundoff of stiff internal forces, which may act along the whole path
      const double floor = 1e-14 * std::sqrt(c.system().size()) * c.system().roundoff_force(c.scales().length);
      const double way = a.statistics.largest_speed * c.t();
      CHECK(a.closure() < 1e-10 + (text.find("modified") < text.size() ? floor * way / a.balance.scale : 0.0));
    }
  }
}

void check_restored(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    CAPTURE(name);
    if (name == "impacting_bar") continue;  // whose steps are less than a microsecond
    Case c(name, {"/integrator/step=1e-3", "/integrator/duration=0.6"});
    std::unique_ptr<EnergyLedger> second;
    long compared = 0;
    bool same = true;
    account(c, [&](const StepView& view, EnergyLedger& first, const Parts&) {
      if (second != nullptr) {
        second->after_step(view);
        const EnergyBalance &a = first.balance(), &b = second->balance();
        for (const auto part : {&EnergyBalance::loads, &EnergyBalance::drivers, &EnergyBalance::damping,
                                &EnergyBalance::numerical, &EnergyBalance::position, &EnergyBalance::impacts,
                                &EnergyBalance::contacts, &EnergyBalance::constraints, &EnergyBalance::corrections,
                                &EnergyBalance::closure, &EnergyBalance::scale, &EnergyBalance::largest_closure})
          same = same && a.*part == b.*part;
        same = same && a.total() == b.total() && first.initial() == second->initial() &&
               first.largest() == second->largest();
        ++compared;
      }
      if (view.state.step % 97 == 0) {
        NamedArrays record;
        first.save(record);
        second = std::make_unique<EnergyLedger>();
        second->restore(record, true);
        second->start(view);
      }
    });
    CHECK(compared > 500);
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("ledger: closes to 1e-10 of its scale, whatever the method's settings") {
  check_closure(representative_models(), "1e-3");
}

TEST_CASE("ledger: closes to 1e-10 of its scale in every model" * doctest::test_suite("long")) {
  const std::vector<std::string> names = all_models();
  REQUIRE(names.size() >= 9);
  check_closure(names);
}

TEST_CASE("ledger: what does not close is what the jump's iterations leave, by their tolerance") {
  // Modified Newton ends just below the tolerance. Each impact may leave this share of the work of the terms, namely of
  // forces and torques that rotate the body by up to 85 rad/s.
  std::vector<double> closures;
  for (const double tolerance : {1e-8, 1e-10, 1e-12}) {
    Case c("brick", {"/integrator/newton/method=modified", "/integrator/step=1e-2", "/integrator/duration=5",
                     set("/integrator/newton/tolerance", tolerance)});
    const Account a = account(c);
    REQUIRE(a.statistics.impacts >= 3);
    CHECK(a.closure() < 10 * tolerance * static_cast<double>(a.statistics.impacts));
    closures.push_back(a.closure());
  }
  CHECK(closures[2] < 1e-2 * closures[0]);
}

TEST_CASE("ledger: closes in steps of different sizes, where trials failed") {
  Case c("brick", {"/integrator/newton/max_iterations=3", "/integrator/impact=\"published\""});
  const Account a = account(c);
  CHECK(a.status == RunStatus::completed);
  CHECK(a.statistics.subdivided_steps > 0);
  CHECK(a.closure() < 1e-10);
}

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

TEST_CASE("ledger: the position part is the weight times the depth of the smooth motion, O(h) per impact") {
  // the impact in the middle of a step: the depth is v h/2 to first order
  const double t_1 = std::sqrt(2 / 9.81), v = 9.81 * t_1;
  std::vector<double> steps, ball, brick;
  for (const int n : {50, 100, 200, 400, 800}) {
    const double h = t_1 / (n + 0.5);
    Case c("bouncing_ball",
           {set("/integrator/step", h), "/integrator/duration=0.6", "/integrator/impact=\"published\""});
    const EnergyBalance b = account(c).balance;
    steps.push_back(h);
    ball.push_back(b.position);
    CHECK(b.position == doctest::Approx(9.81 * v * h / 2).epsilon(2.0 / n));
  }
  CHECK(fitted_order(steps, ball) == doctest::Approx(1).epsilon(0.02));

  RigidReference exact = brick_reference();
  const double t_b = exact.advance_to_impact(brick_edges, 0.8, 1).t;
  steps.clear();
  for (const int n : {400, 800, 1600, 3200}) {
    const double h = t_b / (n + 0.5);
    Case c("brick", {set("/integrator/step", h), "/integrator/duration=0.5", "/integrator/impact=\"published\""});
    steps.push_back(h);
    brick.push_back(std::abs(account(c).balance.position));
  }
  CHECK(fitted_order(steps, brick) == doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("ledger: one contact without force corrections loses 1/2 m_eff (g~'^2 - e^2 g_n'^2)") {
  for (const double e : {0.0, 0.137, 0.5, 0.804, 0.93, 1.0}) {
    CAPTURE(e);
    // of a ball m_eff = m
    Case ball("bouncing_ball",
              {set("/parameters/restitution", e), dsn, "/integrator/duration=1.5", "/integrator/impact=\"published\""});
    const int row = ball.rows("floor")[0];
    double worst = 0;
    long impacts = 0;
    account(ball, [&](const StepView& view, EnergyLedger&, const Parts& parts) {
      if (view.report.closed == 0) return;
      const Stage motion = view.integrator.stages().front();
      const double smooth = view.system.row_rate(row, view.state.q, motion.v_1, view.state.t),
                   before = std::min(0.0, view.system.row_rate(row, motion.q_0, motion.v_0, view.report.t));
      worst = std::max(worst, std::abs(parts.jump() + 0.5 * (smooth * smooth - e * e * before * before)));
      CHECK(parts.corrections == 0);
      CHECK(parts.drivers == 0);
      ++impacts;
    });
    CHECK(impacts > 0);
    CHECK(worst < 1e-10 * 9.81);

    // of a vertex of the brick: from its position and the inertia
    Case brick("brick", {set("/contacts/0/restitution", e), dsn, "/integrator/duration=0.6",
                         "/integrator/impact=\"published\""});
    const std::vector<int>& rows = brick.rows("floor");
    impacts = 0;
    worst = 0;
    account(brick, [&](const StepView& view, EnergyLedger&, const Parts& parts) {
      if (view.report.closed != 1) return;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double impulse = brick.impulse(rows[i]);
        if (impulse == 0) continue;
        const Stage motion = view.integrator.stages().front();
        const double smooth = view.system.row_rate(rows[i], view.state.q, motion.v_1, view.state.t),
                     before = std::min(0.0, view.system.row_rate(rows[i], motion.q_0, motion.v_0, view.report.t)),
                     m_eff = effective_mass_of_vertex(brick.rotation("brick"), static_cast<int>(i));
        const double loss = 0.5 * m_eff * (smooth * smooth - e * e * before * before);
        worst = std::max(worst, std::abs(parts.jump() + loss) / (0.5 * m_eff * smooth * smooth));
        CHECK(impulse == doctest::Approx(m_eff * (-e * before - smooth)).epsilon(1e-10));
        CHECK(parts.corrections == 0);
        ++impacts;
      }
    });
    CHECK(impacts > 0);
    CHECK(worst < 1e-10);
  }
}

TEST_CASE("ledger: a floor that carries a ball upwards does the work of its force") {
  // The floor z = a t^2/2 carries m = 2 with the force m (g + a) over the distance a T^2/2. The impulse of a step acts
  // at the end of the step, where the floor is faster than its average by a h/2: exactly m (g + a) T a h/2 more work.
  const double g = 9.81, a = 3, m = 2, T = 1;
  for (const double h : {1e-2, 1e-3}) {
    Case c = Case::from_text(R"({
        "format": 1, "gravity": [0, 0, -9.81],
        "bodies": [{"name": "ball", "type": "point_mass", "mass": 2}],
        "contacts": [{"name": "floor", "on": "ball", "restitution": 0,
                      "obstacle": {"type": "plane", "normal": [0, 0, 1],
                                   "motion": {"translation": [0, 0, "1.5*t^2"]}}}],
        "integrator": {"type": "nsga_decoupled", "impact": "published", "step": 1e-2, "duration": 1}
      })",
                             {set("/integrator/step", h)});
    const EnergyBalance b = account(c).balance;
    const double work = m * (g + a) * a * T * T / 2;
    CHECK(b.drivers == doctest::Approx(work + m * (g + a) * T * a * h / 2).epsilon(1e-9));
    CHECK(b.energy.kinetic + b.energy.potential == doctest::Approx(work).epsilon(1e-9));
    CHECK(b.largest_closure < 1e-11 * b.scale);
  }
}

TEST_CASE("ledger: with every method a floor that carries a box does the work of its force") {
  // as above, with four redundant contacts; no part but the floor's work is left over
  const double g = 9.81, a = 3, m = 2, T = 1, work = m * (g + a) * a * T * T / 2;
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven"})
    for (const double h : {1e-2, 1e-3}) {
      CAPTURE(std::string(method));
      CAPTURE(h);
      Case c = Case::from_text(R"({
          "format": 1, "gravity": [0, 0, -9.81],
          "bodies": [{"name": "box", "type": "rigid", "mass": 2, "shape": {"type": "box", "size": [0.4, 0.2, 0.1]},
                      "position": [0, 0, 0.05]}],
          "contacts": [{"name": "floor", "on": "box.vertices", "restitution": 0,
                        "obstacle": {"type": "plane", "normal": [0, 0, 1],
                                     "motion": {"translation": [0, 0, "1.5*t^2"]}}}],
          "integrator": {"type": ")" +
                                   std::string(method) +
                                   R"(", "step": 1e-2, "duration": 1}
        })",
                               {set("/integrator/step", h)});
      const Account ledger = account(c);
      CHECK(ledger.status == RunStatus::completed);
      const EnergyBalance& b = ledger.balance;
      CHECK(b.energy.kinetic + b.energy.potential - ledger.initial == doctest::Approx(work).epsilon(2 * h));
      CHECK(b.drivers == doctest::Approx(work).epsilon(1.1 * h));
      // next to nothing where the smooth motion has the force, the sinking of the smooth motion otherwise
      const bool smooth = std::string(method) == "nsga_pva" || std::string(method) == "event_driven";
      CHECK(std::abs(b.drivers - work) < (smooth ? 2e-3 * work * h / 1e-2 : work * h * 1.1));
      CHECK(b.largest_closure < 1e-11 * b.scale);
    }
}

TEST_CASE("ledger: a floor at constant speed V gives a bouncing ball (1 + e) m V (V - v)") {
  // without gravity: v' = V - e (v - V); the impact loses m (1 - e^2) (v - V)^2/2; for e = 1 the ball gains 2 m V (V -
  // v)
  const double V = 0.7, v = -2, m = 3;
  for (const double e : {0.0, 0.3, 1.0})
    for (const double h : {1e-2, 1e-3}) {
      CAPTURE(e);
      Case c = Case::from_text(R"({
          "format": 1,
          "bodies": [{"name": "ball", "type": "point_mass", "mass": 3, "position": [0, 0, 1], "velocity": [0, 0, -2]}],
          "contacts": [{"name": "floor", "on": "ball", "restitution": 1,
                        "obstacle": {"type": "plane", "normal": [0, 0, 1],
                                     "motion": {"translation": [0, 0, "0.7*t"]}}}],
          "integrator": {"type": "nsga_decoupled", "step": 1e-2, "duration": 0.6}
        })",
                               {set("/integrator/step", h), set("/contacts/0/restitution", e)});
      const EnergyBalance b = account(c).balance;
      const double after = V - e * (v - V);
      CHECK(b.energy.kinetic == doctest::Approx(0.5 * m * after * after).epsilon(1e-12));
      CHECK(b.drivers == doctest::Approx((1 + e) * m * V * (V - v)).epsilon(1e-12));
      CHECK(b.impacts == doctest::Approx(-0.5 * m * (1 - e * e) * (v - V) * (v - V)).epsilon(1e-12));
      CHECK(std::abs(b.position) + std::abs(b.numerical) < 1e-13);
    }
}

TEST_CASE("ledger: contacts, joints and force corrections together change the kinetic energy of the jump") {
  const std::string pendulum = R"({
      "format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{"name": "bob", "type": "rigid", "mass": 2, "inertia": [0.02, 0.02, 0.02], "position": [0.5, 0, 0],
                  "points": [{"name": "eye", "at": [-0.5, 0, 0]}]}],
      "joints": [{"name": "pivot", "type": "spherical", "of": ["ground", "bob.eye"]}],
      "contacts": [{"name": "stop", "on": "bob", "restitution": 0.6,
                    "obstacle": {"type": "plane", "normal": [1, 0, 0]}}],
      "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.5}
    })";
  for (const bool corrections : {true, false})
    for (const bool tied : {true, false}) {
      CAPTURE(corrections);
      CAPTURE(tied);
      const std::vector<std::string> overrides = {
          "/integrator/impact=\"published\"",
          std::string("/integrator/force_corrections=") + (corrections ? "true" : "false")};
      Case c = tied ? Case("brick_tied", overrides) : Case::from_text(pendulum, overrides);
      double worst = 0, joints = 0;
      long impacts = 0;
      Parts last{};
      const Account a = account(c, [&](const StepView& view, EnergyLedger&, const Parts& parts) {
        const std::span<const Stage> stages = view.integrator.stages();
        const double before = view.system.energies(view.state.q, stages.front().v_1, view.state.t).kinetic,
                     after = view.system.energies(view.state.q, view.state.v, view.state.t).kinetic;
        if (stages.back().kind != Stage::Kind::jump) return;
        worst = std::max(worst, std::abs(parts.jump() + parts.drivers - (after - before)) / before);
        if (view.report.impacts == 0) return;
        last = parts;
        joints = std::max(joints, std::abs(parts.constraints));
        ++impacts;
      });
      CHECK(impacts == 1);
      CHECK(worst < 1e-11);
      CHECK(last.impacts < 0);
      CHECK((corrections || last.corrections == 0));
      CHECK(a.balance.drivers == 0);
      if (!tied) {
        // the slider falls by L to the stop: m g L, of which 1 - e^2 is lost, up to O(h) from the position of the
        // impact in its step
        CHECK(last.jump() == doctest::Approx(-2 * 9.81 * 0.5 * (1 - 0.36)).epsilon(0.02));
        CHECK(a.balance.energy.kinetic + a.balance.energy.potential ==
              doctest::Approx(-2 * 9.81 * 0.5 * (1 - 0.36)).epsilon(0.02));
      }
    }
}

TEST_CASE("ledger: restored from its record it goes on to the last bit") { check_restored(representative_models()); }

TEST_CASE("ledger: restored from its record it goes on to the last bit in every model" * doctest::test_suite("long")) {
  check_restored(all_models());
}

TEST_CASE("ledger: a restart from another model counts from its energy") {
  Case c("bouncing_ball", {"/integrator/duration=0.3"}), heavier("bouncing_ball", {"/gravity=[0, 0, -20]"});
  NamedArrays record;
  EnergyBalance before;
  account(c, [&](const StepView& view, EnergyLedger& ledger, const Parts&) {
    before = ledger.balance();
    if (view.state.step == 300) ledger.save(record);
  });
  EnergyLedger ledger;
  ledger.restore(record, true);
  heavier.state() = c.state();
  const StepReport report;
  ledger.start({heavier.system(), heavier.integrator(), heavier.state(), report, 1e-3, true});
  CHECK(ledger.balance().energy.potential > 1.5 * before.energy.potential);
  CHECK(std::abs(ledger.balance().closure) < 1e-13);
}

TEST_CASE("ledger: closes far from the origin, where the potential energy is huge") {
  // the ball bounces at z = 1e6 m: energies are as near the origin, and the closure is small compared to them
  const auto bounce = [](double height) {
    Case c("bouncing_ball", {set("/parameters/z_0", 1 + height), "/integrator/duration=1",
                             "/contacts/0/obstacle/point=[0, 0, " + std::to_string(height) + "]"});
    return account(c);
  };
  const Account near = bounce(0), far = bounce(1048576);
  CHECK(far.balance.energy.potential > 1e7);
  CHECK(far.statistics.impacts == near.statistics.impacts);
  CHECK(far.balance.scale == doctest::Approx(near.balance.scale).epsilon(1e-6));
  CHECK(far.balance.impacts == doctest::Approx(near.balance.impacts).epsilon(1e-6));
  CHECK(far.closure() < 1e-10);
}

TEST_CASE("ledger: of a ball at rest smooth fall, position correction and jump cancel") {
  // in each step the weight lowers the body by g h^2/2 and accelerates it by g h; the step undoes both
  const double g = 9.81, h = 1e-3, T = 2;
  Case c("bouncing_ball", {"/parameters/z_0=0", "/parameters/restitution=0", set("/integrator/step", h),
                           set("/integrator/duration", T)});
  const EnergyBalance b = account(c).balance;
  const double each = 0.5 * g * g * h * T;
  CHECK(std::abs(b.numerical) < 1e-12);
  CHECK(b.position == doctest::Approx(each).epsilon(1e-9));
  CHECK(b.contacts + b.impacts == doctest::Approx(-each).epsilon(1e-9));
  CHECK(b.impacts == doctest::Approx(-0.5 * g * g * h * h).epsilon(1e-9));  // from the first step alone
  CHECK(b.total() == 0);
}
