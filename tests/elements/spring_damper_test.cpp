#include "elements/joints/spring_damper.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

// A point at `x` on a spring to the ground at the origin.
struct Suspension {
  Suspension(double k, double c, double natural_length) {
    const double q[3] = {0, 0, 0};
    const int node = s.add_node(NodeKind::point, q, "p");
    SpringDamper spring;
    spring.node_b = node;
    spring.stiffness = k;
    spring.damping = c;
    spring.natural_length = natural_length;
    s.add(std::make_unique<SpringDamperBlock>("spring", std::vector<SpringDamper>{spring}));
    s.finalize();
  }
  Vec3 force(const Vec3& x, const Vec3& v = Vec3::Zero(), unsigned parts = force_all) const {
    Vector q(x.data(), x.data() + 3), velocity(v.data(), v.data() + 3), f(3);
    s.forces(q, velocity, 0, parts, f);
    return Vec3(f.data());
  }
  Mat3 stiffness(const Vec3& x) const {
    Linearisation request;
    request.c_K = 1;
    request.q = request.q_M = x.data();
    const double v[3] = {0, 0, 0};
    request.v = v;
    return assembled(s, request);
  }
  System s;
};

}  // namespace

TEST_CASE("spring: the force is k (l - l_0) towards the other end") {
  const Suspension spring(40, 0, 0.5);
  const Vec3 n = Vec3(1, 2, -2) / 3;
  CHECK((spring.force(0.9 * n) + 40 * 0.4 * n).norm() < 1e-13);
  CHECK((spring.force(0.2 * n) - 40 * 0.3 * n).norm() < 1e-13);
  CHECK(spring.force(0.5 * n).norm() < 1e-14);
  const Vec3 x = 0.9 * n;
  CHECK(spring.s.energies(std::span(x.data(), 3), Vector(3, 0.0), 0).elastic == doctest::Approx(0.5 * 40 * 0.16));
}

TEST_CASE("damper: the force is c times the rate of the length, and lateral motion is free") {
  const Suspension damper(0, 7, 0.5);
  const Vec3 n(0, 0.6, 0.8), lateral(3, 0.8, -0.6);
  CHECK((damper.force(2 * n, 1.5 * n + lateral) + 7 * 1.5 * n).norm() < 1e-13);
  CHECK(damper.force(2 * n, 1.5 * n, force_internal).norm() == 0);
}

TEST_CASE("spring: one of no natural length is linear and passes through zero length") {
  const Suspension spring(40, 0, 0);
  const Vec3 x(0.1, -0.2, 0.3);
  CHECK((spring.force(x) + 40 * x).norm() < 1e-14);
  CHECK(spring.force(Vec3::Zero()).norm() == 0);
  CHECK((spring.stiffness(x) - 40 * Mat3::Identity()).norm() < 1e-13);
  CHECK((spring.stiffness(Vec3::Zero()) - 40 * Mat3::Identity()).norm() < 1e-13);
}

TEST_CASE("spring: collapsed to a point it gives finite numbers and no force") {
  const Suspension spring(40, 3, 0.5);
  CHECK(spring.force(Vec3::Zero(), Vec3(1, 2, 3)).norm() == 0);
  CHECK(spring.stiffness(Vec3::Zero()).allFinite());
}

TEST_CASE("spring: on an arm it turns the body by the moment of its force") {
  System s;
  const double c = std::sqrt(0.5);
  const double q0[7] = {1, 0, 0, c, 0, 0, c};  // turned by a right angle about z
  const int body = s.add_node(NodeKind::frame, q0, "body");
  // the point (0, -1, 0) of the body lies at x = 2; the ground end 3 further along y
  SpringDamper spring{body, -1, Vec3(0, -1, 0), Vec3(2, 3, 0), 5, 0, 1};
  s.add(std::make_unique<SpringDamperBlock>("spring", std::vector<SpringDamper>{spring}));
  s.finalize();
  Vector f(6);
  s.forces(s.initial_configuration(), Vector(6, 0.0), 0, force_all, f);
  // force 5 (3 - 1) along y at arm 1 along x: moment 10 about z, in the body too
  const Vector expected = {0, 10, 0, 0, 0, 10};
  CHECK(relative_error(f, expected) < 1e-14);
}
