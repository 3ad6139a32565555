#include "contact/gap/point_contact.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

struct Row {
  double gap, rate, bias;
};

// One point of radius r against an obstacle.
struct PointModel {
  PointModel(std::shared_ptr<const Obstacle> obstacle, std::shared_ptr<const PrescribedMotion> motion,
             double radius = 0) {
    const double q[3] = {0, 0, 0};
    const int node = s.add_node(NodeKind::point, q, "p");
    s.add(std::make_unique<PointContactBlock>("contact",
                                              std::vector<ContactPoint>{{"tip", node, Vec3::Zero(), radius, 0.5}},
                                              std::move(obstacle), std::move(motion), false));
    s.finalize();
  }
  Row at(const Vec3& x, const Vec3& v, double t) const {
    const std::span<const double> q(x.data(), 3), velocity(v.data(), 3);
    Row row{};
    s.gaps(q, t, all_rows, {&row.gap, 1});
    s.rates(q, velocity, t, all_rows, {&row.rate, 1});
    s.biases(q, velocity, t, all_rows, {&row.bias, 1});
    return row;
  }
  System s;
};

}  // namespace

TEST_CASE("contact: a rotating plane sweeps over a point at rest") {
  // normal (cos theta, sin theta, 0) through the origin, theta = 0.4 t^2
  auto motion = std::make_shared<PrescribedMotion>();
  motion->angle = TimeFunction::formula("0.4*t^2");
  const PointModel model(make_plane(Vec3::Zero(), Vec3::UnitX()), motion);
  const Vec3 x(0.7, -0.3, 5);
  for (const double t : {0.0, 0.5, 1.7}) {
    const double theta = 0.4 * t * t, rate = 0.8 * t, c = std::cos(theta), s = std::sin(theta);
    const Row row = model.at(x, Vec3::Zero(), t);
    CHECK(row.gap == doctest::Approx(x[0] * c + x[1] * s).epsilon(1e-14));
    CHECK(row.rate == doctest::Approx(rate * (-x[0] * s + x[1] * c)).epsilon(1e-14));
    CHECK(row.bias ==
          doctest::Approx(0.8 * (-x[0] * s + x[1] * c) - rate * rate * (x[0] * c + x[1] * s)).epsilon(1e-13));
  }
}

TEST_CASE("contact: a plane that falls has the gap of a lift's floor") {
  auto motion = std::make_shared<PrescribedMotion>();
  motion->translation[2] = TimeFunction::formula("1 - 3*t^2");
  const PointModel model(make_plane(Vec3::Zero(), Vec3::UnitZ()), motion, 0.2);
  const Row row = model.at(Vec3(4, 4, 2), Vec3(1, 1, -0.5), 0.5);
  CHECK(row.gap == doctest::Approx(2 - 0.25 - 0.2));
  CHECK(row.rate == doctest::Approx(-0.5 + 3));
  CHECK(row.bias == doctest::Approx(6));
}

TEST_CASE("contact: a point carried along by a moving obstacle keeps its gap") {
  auto motion = std::make_shared<PrescribedMotion>();
  motion->axis = Vec3(2, -1, 2) / 3;
  motion->about = Vec3(0.5, 0.1, -0.4);
  motion->angle = TimeFunction::formula("sin(2*t)");
  motion->translation = {TimeFunction::formula("t^3"), TimeFunction::formula("cos(t)"), TimeFunction::constant(1)};
  const Vec3 y(1.1, 0.4, 0.9);
  for (const auto& obstacle : {make_plane(Vec3::Zero(), Vec3(1, 1, 0)), make_sphere(Vec3(0.2, 0, 0), 0.5, false),
                               make_cylinder(Vec3(0.1, 0, 0), Vec3(0, 1, 1), 0.3, 0.8, false)}) {
    const PointModel model(obstacle, motion, 0.1);
    for (const double t : {0.0, 0.8, 2.1}) {
      const PrescribedMotion::Pose pose = motion->at(t);
      const Vec3 r = pose.Q * (y - motion->about), x = pose.origin + r;
      const Vec3 v = pose.velocity + pose.omega.cross(r);
      const Vec3 a = pose.acceleration + pose.alpha.cross(r) + pose.omega.cross(pose.omega.cross(r));
      const Row row = model.at(x, v, t);
      CHECK(row.gap == doctest::Approx(obstacle->distance(y) - 0.1).epsilon(1e-13));
      CHECK(std::abs(row.rate) < 1e-13);
      // gap'' = G v' + h = 0
      SparseRow G;
      model.s.row_gradient(0, std::span(x.data(), 3), t, nullptr, G);
      CHECK(std::abs(Vec3(G.value.data()).dot(a) + row.bias) < 1e-12);
    }
  }
}

TEST_CASE("contact: on a circle around a sphere the bias is the centripetal acceleration") {
  const PointModel model(make_sphere(Vec3::Zero(), 1, false), nullptr);
  const Row row = model.at(Vec3(2, 0, 0), Vec3(0, 3, 0), 0);
  CHECK(row.gap == 1);
  CHECK(row.rate == 0);
  CHECK(row.bias == doctest::Approx(9.0 / 2));
}

TEST_CASE("contact: the corner of a turned box touches where trigonometry says") {
  System s;
  const double angle = 0.3, q[7] = {0, 0.9, 0, std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
  const int node = s.add_node(NodeKind::frame, q, "box");
  s.add(std::make_unique<PointContactBlock>("contact",
                                            std::vector<ContactPoint>{{"corner", node, Vec3(-0.5, -0.2, 0), 0, 0}},
                                            make_plane(Vec3::Zero(), Vec3::UnitY()), nullptr, true));
  s.finalize();
  const double gap = 0.9 - 0.5 * std::sin(angle) - 0.2 * std::cos(angle);
  CHECK(s.row_gap(0, s.initial_configuration(), 0) == doctest::Approx(gap));
  // a unit spin about z moves the corner at the horizontal arm
  const double arm = -0.5 * std::cos(angle) + 0.2 * std::sin(angle);
  CHECK(s.row_rate(0, s.initial_configuration(), Vector{0, 0, 0, 0, 0, 1}, 0) == doctest::Approx(arm));
  // a unit force upwards at the corner
  Vector f(6, 0.0);
  s.add_reactions(s.initial_configuration(), 0, Vector{1}, all_rows, f);
  CHECK(relative_error(f, Vector{0, 1, 0, 0, 0, arm}) < 1e-14);
}

TEST_CASE("contact: a motion through a thin obstacle between two open ends is told") {
  const auto missed = [](const PointModel& model, const Vec3& from, const Vec3& to) {
    return model.s.missed_contact({from.data(), 3}, 0, {to.data(), 3}, 1, 0.17) == "tip";
  };
  const auto ball = make_sphere(Vec3::Zero(), 1, false);
  CHECK(missed({ball, nullptr}, {2, 0, 0}, {-2, 0.3, 0}));
  CHECK(!missed({ball, nullptr}, {2, 1.05, 0}, {-2, 1.05, 0}));
  CHECK(missed({ball, nullptr, 0.1}, {2, 1.05, 0}, {-2, 1.05, 0}));
  CHECK(!missed({ball, nullptr}, {2, 0, 0}, {0.6, 0, 0}));
  // too deep for a direction, or to another side: contacts that close turn by ten degrees at most
  CHECK(missed({ball, nullptr}, {2, 0, 0}, {0.4, 0, 0}));
  CHECK(missed({ball, nullptr}, {0.4, 0, 0}, {-1.2, 0, 0}));
  CHECK(!missed({ball, nullptr}, {0.48, 0, 0}, {0.45, 0, 0}));  // began there
  CHECK(!missed({ball, nullptr}, {0.4, 0, 0}, {1.2, 0, 0}));
  CHECK(!missed({ball, nullptr}, {1.1, 0, 0}, {std::cos(0.16), std::sin(0.16), 0}));
  CHECK(missed({ball, nullptr}, {1.1, 0, 0}, {std::cos(0.19), std::sin(0.19), 0}));
  // in a container nothing lies on the way, but its direction turns
  const auto bowl = make_sphere(Vec3::Zero(), 1, true);
  CHECK(missed({bowl, nullptr}, {0.5, 0, 0}, {-1, 0, 0}));
  CHECK(!missed({bowl, nullptr}, {0.5, 0, 0}, {1.01, 0, 0}));
  CHECK(!missed({bowl, nullptr}, {0.5, 0, 0}, {-0.9, 0, 0}));
  CHECK(missed({bowl, nullptr, 0.2}, {0.5, 0, 0}, {-0.81, 0, 0}));
  CHECK(!missed({bowl, nullptr}, {0.9, 0, 0}, {std::cos(0.16), std::sin(0.16), 0}));
  CHECK(missed({bowl, nullptr}, {0.9, 0, 0}, {std::cos(0.19), std::sin(0.19), 0}));
  CHECK(!missed({bowl, nullptr}, {1, 0, 0}, {std::cos(0.19), std::sin(0.19), 0}));  // rolls
  // a degree; what penetrates at the start, as sliding bodies do in methods at velocity level, may turn by ten
  const auto turns = [](const PointModel& model, const Vec3& from, const Vec3& to) {
    return !model.s.missed_contact({from.data(), 3}, 0, {to.data(), 3}, 1, 0.0175).empty();
  };
  const auto at_angle = [](double r, double a) { return Vec3(r * std::cos(a), r * std::sin(a), 0); };
  for (const auto& obstacle : {ball, bowl}) {
    const double open = obstacle == ball ? 1.001 : 0.999, deep = obstacle == ball ? 0.999 : 1.001;
    CHECK(turns({obstacle, nullptr}, at_angle(open, 0), at_angle(1, 0.02)));
    CHECK(!turns({obstacle, nullptr}, at_angle(open, 0), at_angle(1, 0.015)));
    CHECK(!turns({obstacle, nullptr}, at_angle(deep, 0), at_angle(1, 0.15)));
    CHECK(!turns({obstacle, nullptr}, at_angle(1, 0), at_angle(1, 0.15)));
  }
  // statics: the direction of the end is right
  const Vec3 side(std::cos(0.5), std::sin(0.5), 0), outside(1.1, 0, 0);
  CHECK(missed({ball, nullptr}, outside, side));
  CHECK(PointModel{ball, nullptr}.s.missed_contact({outside.data(), 3}, 0, {side.data(), 3}, 1, 0).empty());
  // from within, where no impact may have been yet; round an edge it may have been
  CHECK(missed({ball, nullptr}, {0.99, 0, 0}, {0.95 * std::cos(0.3), 0.95 * std::sin(0.3), 0}));
  const auto drum = make_cylinder(Vec3::Zero(), Vec3::UnitZ(), 1, 2, false);
  CHECK(!missed({drum, nullptr}, {0.97, 0, 0.99}, {0.99, 0, 0.8}));
  const auto disc = make_cylinder(Vec3::Zero(), Vec3::UnitZ(), 1, 0.02, false);
  CHECK(missed({disc, nullptr}, {0.5, 0, 0.3}, {0.4, 0, -0.9}));
  CHECK(!missed({disc, nullptr}, {1.5, 0, 0.3}, {1.5, 0, -0.9}));
  // a corner of the rim is cut, on a way of a fifteenth of the half thickness
  CHECK(missed({disc, nullptr}, {1 - 5e-4, 0, 0.0101}, {1.0001, 0, 0.01 - 5e-4}));
  // the obstacle moves
  auto motion = std::make_shared<PrescribedMotion>();
  motion->translation[0] = TimeFunction::formula("4*t - 2");
  CHECK(missed({ball, motion}, {0, 0, 0}, {0, 0, 0}));
  CHECK(!missed({ball, motion}, {0, 0, 0}, {4, 0, 0}));
  // half spaces and containers: the far side has a negative gap
  CHECK(!missed({make_plane(Vec3::Zero(), Vec3::UnitZ()), nullptr}, {0, 0, 1}, {0, 0, -1}));
  CHECK(!missed({make_sphere(Vec3::Zero(), 1, true), nullptr}, {0.5, 0, 0}, {-0.5, 0, 0}));
}
