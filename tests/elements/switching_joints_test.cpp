// Joints that switch: rows and their derivatives against differences.
#include "elements/joints/switching_joints.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/mechanics/system.hpp"
#include "elements/joints/joint.hpp"

using namespace carom;

namespace {

// Two frames; a mode with a spherical joint, and one with a formula of an angle and a distance.
struct Pair {
  System system;
  SwitchingJointBlock* block = nullptr;
  Pair() {
    const std::vector<double> first = {0.1, 0.2, -0.3, 0.9, 0.1, -0.2, 0.3},
                              second = {1.0, -0.4, 0.5, 0.8, -0.3, 0.2, 0.1};
    const int a = system.add_node(NodeKind::frame, first, "a"), b = system.add_node(NodeKind::frame, second, "b");
    auto rows = std::make_shared<System>();
    Coincidence pin;
    pin.node_a = a;
    pin.node_b = b;
    pin.offset_a = Vec3(0.3, 0.1, 0.2);
    pin.offset_b = Vec3(-0.2, 0.4, 0.1);
    rows->add(std::make_unique<CoincidenceBlock>("pin", std::vector<Coincidence>{pin}, true));
    JointCoordinate angle, distance;
    angle.kind = JointCoordinate::Kind::angle;
    distance.kind = JointCoordinate::Kind::distance;
    for (JointCoordinate* c : {&angle, &distance}) {
      c->node_a = a;
      c->node_b = b;
      c->offset_a = pin.offset_a;
    }
    const std::vector<std::string> names = {"phi", "d", "t"};
    const auto formula = [&](const std::string& text) { return JointFormula{Formula(text, names), text}; };
    std::vector<JointMode> modes;
    modes.push_back({"held", formula("d - phi"), {0}, {}});
    modes.push_back({"free", formula("phi - d"), {}, {formula("phi*d^2 + sin(phi + t)*d")}});
    auto made = std::make_unique<SwitchingJointBlock>("pair", std::vector<SwitchingJoint>{{"pin", rows}},
                                                      std::vector<JointCoordinate>{angle, distance}, std::move(modes));
    block = made.get();
    system.add(std::move(made));
    system.finalize();
  }
};

TEST_CASE("joints that switch: gradients and rates of both modes against differences") {
  Pair pair;
  System& system = pair.system;
  const std::size_t n = 12, m = at(system.rows());
  REQUIRE(m == 4);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(-1, 1);
  Vector v(n), w(n), s(m), q(system.initial_configuration());
  for (Vector* x : {&v, &w, &s})
    for (double& y : *x) y = number(random);
  system.retract(system.initial_configuration(), Vector(n, 0.0), q);  // unit quaternions
  const double e = 1e-5, t = 0.3;
  for (const int mode : {0, 1}) {
    CAPTURE(mode);
    pair.block->set_mode(mode);
    for (int row = 0; row < 4; ++row) CHECK(pair.block->vacant_row(row) == ((row < 3) != (mode == 0)));
    Vector d(n), q_1(q), q_0(q), g_1(m), g_0(m), rate(m), bias(m), f_1(n, 0.0), f_0(n, 0.0);
    const auto move = [&](const Vector& by, double step, Vector& to) {
      for (std::size_t i = 0; i < n; ++i) d[i] = step * by[i];
      system.retract(q, d, to);
    };
    // g' = G v + g_t
    move(v, e, q_1);
    move(v, -e, q_0);
    system.gaps(q_1, t + e, bilateral_rows, g_1);
    system.gaps(q_0, t - e, bilateral_rows, g_0);
    system.rates(q, v, t, bilateral_rows, rate);
    for (std::size_t k = 0; k < m; ++k) CHECK((g_1[k] - g_0[k]) / (2 * e) == doctest::Approx(rate[k]).epsilon(1e-8));
    // h, at constant v
    system.rates(q_1, v, t + e, bilateral_rows, g_1);
    system.rates(q_0, v, t - e, bilateral_rows, g_0);
    system.biases(q, v, t, bilateral_rows, bias);
    for (std::size_t k = 0; k < m; ++k) CHECK((g_1[k] - g_0[k]) / (2 * e) == doctest::Approx(bias[k]).epsilon(1e-7));
    // D(G^T s) w
    const ConstraintInput in{q.data(), nullptr, t, nullptr};
    Vector A(n * n, 0.0);
    pair.block->add_reaction_gradient({0, 1}, in, s.data(), 1, A.data());
    move(w, e, q_1);
    move(w, -e, q_0);
    system.add_reactions(q_1, t, s, bilateral_rows, f_1);
    system.add_reactions(q_0, t, s, bilateral_rows, f_0);
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += A[i * n + j] * w[j];
      CHECK((f_1[i] - f_0[i]) / (2 * e) == doctest::Approx(sum).epsilon(1e-7));
    }
    // D(G v + g_t) w
    Vector D(m * n);
    ConstraintInput moving = in;
    moving.v = v.data();
    ConstraintValues wanted;
    wanted.rate_gradient = D.data();
    pair.block->evaluate({0, 1}, moving, wanted);
    system.rates(q_1, v, t, bilateral_rows, g_1);
    system.rates(q_0, v, t, bilateral_rows, g_0);
    for (std::size_t k = 0; k < m; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += D[k * n + j] * w[j];
      CHECK((g_1[k] - g_0[k]) / (2 * e) == doctest::Approx(sum).epsilon(1e-7));
    }
  }
}

}  // namespace
