// Contacts that rest where a surface is met, beside the switch: which of them are part of the metric, with friction
// too, and what strikes behind it.

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "integrators/common/energy_ledger.hpp"
#include "switching_checks.hpp"

namespace {

using namespace carom;
using namespace carom::cases;

using Matrix = Eigen::MatrixXd;
using Column = Eigen::VectorXd;

// ---- random models

struct RandomModel {
  std::string text;  // empty: the motion would not come to the surface
  bool weight = false;
};

// Two to five masses with two or three linear modes, up to two contacts c_i >= 0 that touch or rest, and any E.
RandomModel random_model(std::mt19937& random) {
  std::normal_distribution<double> normal;
  const auto some = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  const auto rows = [&](Eigen::Index count, Eigen::Index n) {
    return Matrix(Matrix::NullaryExpr(count, n, [&] { return normal(random); }));
  };
  RandomModel model;
  const int n = some(2, 5), contacts = std::min(some(0, 2), n - 2), most = n - contacts - 1;
  const int old = some(std::min(1, most), most), modes = some(2, 3);
  std::vector<Matrix> A = {rows(old, n)};
  std::vector<Column> a = {Column::Zero(old)};  // rows A c - a
  const double surfaces[] = {0, 0.06};
  for (int k = 1; k < modes; ++k) {
    // on the surface c0 = surfaces[k - 1] the new rows follow from the old ones
    const Matrix R = rows(some(0, static_cast<int>(A.back().rows())), A.back().rows());
    const Column turn = rows(R.rows(), 1).col(0);
    Matrix B = R * A.back();
    B.col(0) += turn;
    a.emplace_back(R * a.back() + turn * surfaces[k - 1]);
    A.push_back(B);
  }
  Matrix all = Matrix::Zero(old + contacts, n);
  all.topRows(old) = A[0];
  for (int i = 0; i < contacts; ++i) all(old + i, n - 1 - i) = 1;
  Column w = rows(n, 1).col(0);
  if (all.rows() > 0) {
    const Eigen::JacobiSVD<Matrix> svd(all, Eigen::ComputeFullV);
    const Matrix N = svd.matrixV().rightCols(n - old - contacts);
    w = N * w.head(N.cols());
  }
  if (std::abs(w[0]) < 0.3 * w.norm()) return model;
  w /= w[0];
  w.tail(contacts).setZero();
  model.weight = contacts > 0 && some(0, 1) == 1;
  const double restitution = some(0, 2) == 0 ? 0.5 : 0;
  std::string coordinates, masses, forces, gaps, switching;
  for (int i = 0; i < n; ++i) {
    append(coordinates, R"({"name": "c)" + std::to_string(i) + R"(", "position": )" + digits(-0.105 * w[i]) +
                            R"(, "velocity": )" + digits(w[i]) + "}");
    append(masses, digits(0.5 + 1.5 * std::abs(std::sin(normal(random)))));
    append(forces, i >= n - contacts && model.weight ? R"("-0.5")" : R"("0")");
  }
  for (int i = 0; i < contacts; ++i)
    append(gaps, R"({"name": "g)" + std::to_string(i) + R"(", "formula": "c)" + std::to_string(n - 1 - i) +
                     R"(", "restitution": )" + digits(restitution) + "}");
  const char* conditions[2][3] = {{"-c0", "c0", ""}, {"-c0", "min(c0, 0.06 - c0)", "c0 - 0.06"}};
  for (int k = 0; k < modes; ++k) {
    std::string constraints;
    for (Eigen::Index i = 0; i < a[at(k)].size(); ++i)
      append(constraints, '"' + linear_formula(A[at(k)].row(i), -a[at(k)][i]) + '"');
    append(switching, R"({"name": "m)" + std::to_string(k) + R"(", "condition": ")" + conditions[modes - 2][k] +
                          R"(", "constraints": [)" + constraints + "]}");
  }
  model.text = R"({"format": 1, "bodies": [{"name": "b", "type": "coordinates", "coordinates": [)" + coordinates +
               R"(], "masses": [)" + masses + R"(], "forces": [)" + forces +
               (contacts > 0 ? R"(], "gaps": [)" + gaps : std::string()) + R"(], "switching": [)" + switching +
               R"(]}], "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.2, )" +
               R"("intermediate_gradient": )" + digits(0.25 * some(0, 4)) +
               R"(}, "output": {"vtu": {"enabled": false}}})";
  return model;
}

TEST_CASE("random modes beside contacts that touch or rest: both methods have the same continuation") {
  struct Path {
    bool completed = false;
    std::string why;
    FailureReason reason{};
    std::vector<Vector> behind;  // the switches
  };
  int models = 0, both = 0, accumulate = 0, thrown_back = 0;
  for (unsigned k = 0; k < 600; ++k) {
    CAPTURE(k);
    std::mt19937 random(1000 + k);
    const RandomModel model = random_model(random);
    if (model.text.empty()) continue;
    ++models;
    const auto follow = [&](const std::string& type) {
      Case masses = Case::from_text(model.text, {with_method(type)});
      Path path;
      path.completed = masses.run([&](const StepView& view) {
        for_jumps(view, [&](const Stage& stage) { path.behind.emplace_back(stage.v_1.begin(), stage.v_1.end()); });
      }) == RunStatus::completed;
      path.why = masses.last_report().failed_item;
      path.reason = masses.last_report().reason;
      return path;
    };
    const Path steps = follow("nsga_decoupled"), events = follow("event_driven");
    // weight acts for a whole step more in the decoupled method, and an impact may throw the motion off its surface
    const std::size_t common = std::min(steps.behind.size(), events.behind.size());
    if (!model.weight) CHECK((!steps.completed || !events.completed || steps.behind.size() == events.behind.size()));
    for (std::size_t j = 0; j < common; ++j) {
      double error = 0, speed = 0;
      for (std::size_t i = 0; i < events.behind[j].size(); ++i) {
        error = std::max(error, std::abs(steps.behind[j][i] - events.behind[j][i]));
        speed = std::max(speed, std::abs(events.behind[j][i]));
      }
      CHECK(error <= (model.weight ? 0.03 : 1e-7) * speed);
    }
    if (!steps.completed && !events.completed) ++both;
    if (steps.completed && !events.completed) {
      // not by the switch
      CHECK_MESSAGE(events.reason == FailureReason::accumulation, events.why);
      ++accumulate;
    }
    if (!steps.completed && events.completed) {
      CHECK_MESSAGE(steps.why.find("in front of the surface") != std::string::npos, steps.why);
      ++thrown_back;
    }
  }
  CHECK(models > 400);
  CHECK(both < models / 12);
  CHECK(accumulate < models / 100);
  CHECK(thrown_back < models / 400);
}

TEST_CASE("contacts that rest: of two floors that hold the motion together, the one that pulls lets go") {
  // w >= 0.8 y and w >= -0.5 y: both touch up to the corner of the guide y = x, behind which the second one falls
  for (const char* type : {"nsga_decoupled", "event_driven"})
    for (const double E : {0.5, 1.0})
      for (const double weight : {0.0, 0.5}) {
        CAPTURE(type);
        CAPTURE(E);
        CAPTURE(weight);
        Case mass = Case::from_text(
            R"x({"format": 1, "parameters": {"weight": 0}, "bodies": [{"name": "mass", "type": "coordinates",
      "coordinates": [{"name": "x", "position": -0.205, "velocity": 1}, {"name": "y"}, {"name": "w"}], "masses": [1, 1, 1],
      "forces": ["0", "0", "-weight"],
      "gaps": [{"name": "rises", "formula": "w - 0.8*y", "restitution": 0}, {"name": "falls", "formula": "w + 0.5*y", "restitution": 0}],
      "switching": [{"name": "level", "condition": "-x", "constraints": ["y"]},
        {"name": "slope", "condition": "x", "constraints": ["y - x"]}]}],
      "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.21}, "output": {"vtu": {"enabled": false}}})x",
            {set("/parameters/weight", weight), gradient(E), with_method(type)});
        const double c = 1 / std::sqrt(2.64), r = speed_ratio(E, c);
        int jumps = 0;
        REQUIRE(mass.run([&](const StepView& view) {
          jumps += for_jumps(view, [&](const Stage& stage) {
            CHECK(stage.v_1[0] == doctest::Approx(r * c).epsilon(1e-9));
            CHECK(stage.v_1[2] == doctest::Approx(0.8 * r * c).epsilon(1e-9));
          });
        }) == RunStatus::completed);
        CHECK(jumps == 1);
      }
}

// ---- friction

// A ball rolls on a floor and draws a mass c along: y_c = 0, then y_c = s with the ball's displacement s along an axis
// that leans over the floor, so that the switch presses the ball down.
Case rolling(double friction, double E, double weight) {
  const std::string text =
      R"x({"format": 1, "parameters": {"mu": 1, "g": 0}, "gravity": [0, 0, "=-g"], "bodies": [
   {"name": "ball", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": 0.1}, "position": [-0.205, 0, 0.1],
    "velocity": [1, 0, 0], "angular_velocity": [0, 10, 0]},
   {"name": "c", "type": "rigid", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 1]}],
   "ground": [{"name": "o", "at": [0, 0, 0.1]}, {"name": "p", "at": [0, 0, 1]}],
   "contacts": [{"name": "floor", "on": "ball", "friction": "=mu", "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
   "joints": [{"name": "shelf", "type": "prismatic", "of": ["ground.p", "c"], "axis": [0, 1, 0]}],
   "switching": [{"name": "rope", "type": "joints", "measures": [
      {"name": "x", "type": "displacement", "of": ["ground.o", "ball"], "axis": [1, 0, 0]},
      {"name": "s", "type": "displacement", "of": ["ground.o", "ball"], "axis": [0.6, 0, 0.8]},
      {"name": "y", "type": "displacement", "of": ["ground.o", "c"], "axis": [0, 1, 0]}],
     "modes": [{"name": "slack", "condition": "-x", "constraints": ["y"]},
               {"name": "taut", "condition": "x", "constraints": ["y - s"]}]}],
   "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.3}, "output": {"vtu": {"enabled": false}}})x";
  return Case::from_text(text, {set("/parameters/mu", friction), set("/parameters/g", weight), gradient(E)});
}

TEST_CASE("friction beside a switch: a contact that sticks is part of the metric, and E = 1/2 conserves the energy") {
  for (const double weight : {0.0, 9.81})
    for (const double E : {0.5, 0.75, 1.0}) {
      CAPTURE(weight);
      CAPTURE(E);
      // x is the only coordinate: mass m + J/R^2 = 1.4 before the switch, and y = 0.6 x behind it
      const double M = 1.4, M_c = 2 * 0.36, c = std::sqrt(M / (M + M_c));
      const double r = speed_ratio(E, c), v = r * c;
      Case ball = rolling(1, E, weight);
      double change = 1;
      int jumps = 0;
      REQUIRE(ball.run([&](const StepView& view) {
        jumps += for_jumps(view, [&](const Stage& stage) {
          change = kinetic_change(view, stage);
          CHECK(stage.v_1[0] == doctest::Approx(v).epsilon(1e-9));
          CHECK(stage.v_1[4] == doctest::Approx(10 * v).epsilon(1e-9));
        });
      }) == RunStatus::completed);
      CHECK(jumps == 1);
      CHECK(change == doctest::Approx(0.5 * M * (r * r - 1)).epsilon(1e-9));
      CHECK(ball.velocity("ball").x() == doctest::Approx(v).epsilon(1e-9));
      CHECK(ball.velocity("c").y() == doctest::Approx(0.6 * v).epsilon(1e-9));
    }
}

TEST_CASE("friction beside a switch: a contact whose impulse leaves the cone slips, and friction takes energy only") {
  for (const double E : {0.5, 1.0})
    for (const double mu : {0.0, 0.05, 0.15}) {
      CAPTURE(E);
      CAPTURE(mu);
      // without friction x has the mass 1: the ball slows down by R cos and presses by R sin
      const double c = std::sqrt(1 / 1.72), r = speed_ratio(E, c), v = r * c;
      const double R = (1 - v) / 0.6, P = 0.8 * R;
      Case ball = rolling(mu, E, 0);
      const int row = ball.rows("floor")[0];
      double change = 0, taken = 0;
      int jumps = 0;
      Watch watch;
      EnergyLedger ledger;
      bool first = true;
      REQUIRE(ball.run(
                  [&](const StepView& view) {
                    if (first) ledger.start(view);
                    if (!first) ledger.after_step(view);
                    first = false;
                    watch(view);
                    if (view.integrator.switches().empty()) return;
                    jumps += for_jumps(view, [&](const Stage& stage) {
                      change = kinetic_change(view, stage);
                      CHECK(stage.v_1[0] == doctest::Approx(v).epsilon(1e-9));
                      CHECK(stage.v_1[4] == doctest::Approx(10).epsilon(1e-9));
                      CHECK(stage.multipliers[at(row)] == doctest::Approx(P).epsilon(1e-9));
                    });
                    const Stage& last = view.integrator.stages().back();
                    taken = -kinetic_change(view, last);
                    if (mu == 0) return;
                    // friction f against the slip v - w R, with what it adds to the pull of the rope and so to P: 1.72
                    // dv = f (x and y = 0.6 x move), dP = 0.8 * 2 * 0.6 dv
                    const double f = mu * P / (1 - mu * 0.96 / 1.72);
                    CHECK(last.v_1[0] == doctest::Approx(v + f / 1.72).epsilon(1e-9));
                    CHECK(last.v_1[4] == doctest::Approx(10 - 0.1 * f / 0.004).epsilon(1e-9));
                  },
                  true) == RunStatus::completed);
      CHECK(ledger.balance().largest_closure <= 1e-9 * ledger.balance().scale);
      CHECK(jumps == 1);
      CHECK(change == doctest::Approx(0.5 * (r * r - 1)).epsilon(1e-9));
      if (mu > 0) CHECK(taken > 1e-3);
      CHECK(watch.position < 1e-10);
      CHECK(watch.velocity < 1e-9);
    }
}

TEST_CASE("friction beside a switch: joints rub with the impulses of the switch behind it") {
  // as above with a slide in the place of the floor: the rope presses it with P = 0.8 R, whose friction acts against x'
  for (const double mu : {0.0, 0.05, 0.3}) {
    CAPTURE(mu);
    Case slide = Case::from_text(
        R"x({"format": 1, "parameters": {"mu": 0}, "bodies": [
   {"name": "a", "type": "rigid", "mass": 1, "inertia": [1, 1, 1], "position": [-0.205, 0, 0], "velocity": [1, 0, 0]},
   {"name": "c", "type": "rigid", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 1]}],
   "ground": [{"name": "o", "at": [0, 0, 0]}, {"name": "p", "at": [0, 0, 1]}],
   "joints": [{"name": "shelf", "type": "prismatic", "of": ["ground.p", "c"], "axis": [0, 1, 0]},
     {"name": "slide", "type": "prismatic", "of": ["ground.o", "a"], "axis": [1, 0, 0], "friction": {"coefficient": "=mu"}}],
   "switching": [{"name": "rope", "type": "joints", "measures": [
      {"name": "x", "type": "displacement", "of": ["ground.o", "a"], "axis": [1, 0, 0]},
      {"name": "s", "type": "displacement", "of": ["ground.o", "a"], "axis": [0.6, 0, 0.8]},
      {"name": "y", "type": "displacement", "of": ["ground.p", "c"], "axis": [0, 1, 0]}],
     "modes": [{"name": "slack", "condition": "-x", "constraints": ["y"]},
               {"name": "taut", "condition": "x", "constraints": ["y - s"]}]}],
   "integrator": {"type": "nsga_decoupled", "step": 0.01, "duration": 0.3}, "output": {"vtu": {"enabled": false}}})x",
        {set("/parameters/mu", mu)});
    const double c = std::sqrt(1 / 1.72), P = 0.8 * (1 - c) / 0.6, f = mu * P / (1 + mu * 0.96 / 1.72);
    EnergyLedger ledger;
    bool first = true;
    REQUIRE(slide.run(
                [&](const StepView& view) {
                  for_jumps(view, [&](const Stage& stage) {
                    CHECK(std::abs(kinetic_change(view, stage)) < 1e-12);
                    CHECK(stage.v_1[0] == doctest::Approx(c).epsilon(1e-9));
                  });
                  if (first) ledger.start(view);
                  if (!first) ledger.after_step(view);
                  first = false;
                },
                true) == RunStatus::completed);
    CHECK(slide.velocity("a").x() == doctest::Approx(c - f / 1.72).epsilon(1e-9));
    CHECK(ledger.balance().largest_closure <= 1e-9 * ledger.balance().scale);
  }
}

}  // namespace
