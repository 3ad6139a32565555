// The energy ledger in impacts and on contacts: what they lose, what obstacles that move give, and the parts of the
// method, against closed forms.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "energy_account.hpp"
#include "rigid_reference.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

// Unknowns of one contact and one body from first principles: 1/m_eff = G M^-1 G^T of a brick's vertex against z.
double effective_mass_of_vertex(const Mat3& R, int vertex) {
  const Vec3 arm = box_vertex(brick_edges, vertex).cross(Vec3(R.transpose() * Vec3::UnitZ()));
  const RigidReference brick = brick_reference();
  return 1 / (1 / brick.m + arm.dot(arm.cwiseQuotient(brick.J)));
}

}  // namespace

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

TEST_CASE("ledger: of a ball at rest smooth fall, position correction and jump cancel") {
  // in each step the weight lowers the body by g h^2/2 and accelerates it by g h; the step undoes both
  const double g = 9.81, h = 1e-3, T = 2;
  Case c("bouncing_ball", {"/parameters/z_0=0", "/parameters/restitution=0", set("/integrator/step", h),
                           set("/integrator/duration", T)});
  const EnergyBalance b = account(c).balance;
  const double each = 0.5 * g * g * h * T;
  CHECK(std::abs(b.numerical) < 1e-12);
  CHECK(b.position == doctest::Approx(each).epsilon(1e-9));
  CHECK(b.contacts == doctest::Approx(-each).epsilon(1e-9));
  CHECK(b.impacts == 0);
  CHECK(b.total() == 0);
}

// Probes and events give the work of single contacts, with the places and the directions of the method's impulses.
TEST_CASE("friction work of contacts adds up to that of the ledger, in an impact and in rolling") {
  const char* const impact = R"x("bodies": [
      {"name": "a", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1}, "angular_velocity": [0, 0, 20]},
      {"name": "b", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1}, "position": [0.3, 0.1, 0],
       "velocity": [-3, 0, 0], "angular_velocity": [0, 0, 20]}],
    "contacts": [{"name": "c", "between": ["a", "b"], "friction": 1, "restitution": 1, "tangential_restitution": 1}])x";
  const char* const rolling = R"x("gravity": [0, 0, -9.81], "bodies": [
      {"name": "b", "type": "rigid", "mass": 0.3, "shape": {"type": "sphere", "radius": 0.05}, "position": [0.45, 0, 0],
       "velocity": [0, 3.6, 0], "angular_velocity": [0, 0, -72]}],
    "contacts": [{"name": "c", "on": "b", "friction": 2, "obstacle": {"type": "cylinder", "center": [0, 0, 0],
      "axis": [0, 0, 1], "radius": 0.5, "side": "inside"}}])x";
  for (const char* method : {"moreau_jean", "nsga_decoupled", "nsga_coupled", "cd_lagrange"})
    for (const char* model : {impact, rolling}) {
      CAPTURE(method);
      Case c = Case::from_text(fmt::format(
          R"({{"format": 1, "title": "t", {}, "integrator": {{"type": "{}", "step": 4e-3, "duration": 0.1}}}})", model,
          method));
      double work = 0;
      const Account run = account(c, [&](const StepView& v, EnergyLedger&, const Parts&) {
        for (int row = v.system.bilateral(); row < v.system.rows(); ++row)
          if (v.system.row_kind(row) == RowKind::tangential) work += row_work(v, row);
      });
      REQUIRE(run.status == RunStatus::completed);
      CHECK(std::abs(work - run.balance.friction) < 1e-12 * run.initial);
      if (std::string(method) == "moreau_jean") CHECK(std::abs(work) < 1e-3 * run.initial);
    }
}

// The smooth motion goes into the table, and the correction of positions takes that way back.
TEST_CASE("ledger: a load that presses a body onto a table does no work, and what contacts take corrections give") {
  for (const char* method : {"nsga_decoupled", "nsga_coupled", "nsga_monolithic", "nsga_pva", "event_driven"}) {
    CAPTURE(method);
    Case c = Case::from_text(fmt::format(
        R"x({{"format": 1, "gravity": [0, 0, 0],
        "bodies": [{{"name": "p", "type": "point_mass", "mass": 0.01, "position": [0, 0, 0], "velocity": [1, 0, 0]}}],
        "contacts": [{{"name": "table", "on": "p", "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}}],
        "loads": [{{"name": "f", "type": "force", "on": "p", "value": [0.01, 0, -20]}}],
        "integrator": {{"type": "{}", "step": 1e-2, "duration": 1}}}})x",
        method));
    const EnergyBalance b = account(c).balance;
    CHECK(b.loads == doctest::Approx(0.01 * 1.5));
    CHECK(std::abs(b.error()) < 1e-9);
    CHECK(b.impacts == 0);  // of a contact that touches at rest at the start
    CHECK(std::abs(b.closure) < 1e-12);
  }
}

// A ball falls on another one that rests on the floor, which passes the impact on: the loss is m v^2 (1 - e^2)/2.
TEST_CASE("ledger: an impact that a resting contact passes on has the loss of the law, in every method") {
  for (const std::string method : {"nsga_decoupled", "nsga_coupled", "nsga_pva", "moreau_jean"}) {
    CAPTURE(method);
    Case c = Case::from_text(fmt::format(R"({{"format": 1, "gravity": [0, 0, -9.81],
      "bodies": [{{"name": "a", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0.1]}},
                 {{"name": "b", "type": "point_mass", "mass": 1, "radius": 0.1, "position": [0, 0, 0.35],
                  "velocity": [0, 0, -1]}},
                 {{"name": "apart", "type": "point_mass", "mass": 1e7, "position": [1, 0, 0]}}],
      "contacts": [{{"name": "floor", "on": ["a", "apart"], "obstacle": {{"type": "plane", "normal": [0, 0, 1]}}}},
                   {{"name": "ab", "between": ["a", "b"], "restitution": 0.5}}],
      "integrator": {{"type": "{}", "step": 1e-4, "duration": 0.1}}}})",
                                         method));
    std::optional<double> first_step;  // moreau_jean: bodies at rest close their contacts
    const Account run = account(c, [&](const StepView&, EnergyLedger& ledger, const Parts&) {
      if (!first_step) first_step = ledger.balance().contacts;
    });
    REQUIRE(run.status == RunStatus::completed);
    const EnergyBalance& b = run.balance;
    const double loss = 0.5 * (1 + 2 * 9.81 * 0.05) * (1 - 0.25);
    CHECK(b.impacts == doctest::Approx(-loss).epsilon(2e-3));
    CHECK(std::abs(b.error()) < 3e-3 * loss);
    // what rests apart presses as before
    if (method == "moreau_jean") CHECK(std::abs(b.contacts - *first_step) < 3e-3 * loss);
  }
}
