#include "elements/bodies/rigid_body.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

void one_body(System& s, double mass, const Mat3& inertia) {
  const double q[7] = {0, 0, 0, 1, 0, 0, 0};
  const int node = s.add_node(NodeKind::frame, q, "body");
  s.add(std::make_unique<RigidBodyBlock>("body", std::vector<RigidBody>{{node, mass, inertia}}));
  s.finalize();
}

Vector forces(const System& s, const Vector& q, const Vector& v) {
  Vector f(at(s.size()));
  s.forces(q, v, 0, force_all, f);
  return f;
}

}  // namespace

TEST_CASE("rigid body: the gyroscopic force gives Euler's equations") {
  System s;
  const Vec3 J(1, 2, 4);
  one_body(s, 3, J.asDiagonal());
  const Vec3 W(0.7, -1.1, 0.4);
  const Vector f = forces(s, s.initial_configuration(), {9, 9, 9, W[0], W[1], W[2]});
  for (std::size_t i = 0; i < 3; ++i) CHECK(f[i] == 0);
  CHECK(f[3] == doctest::Approx((J[1] - J[2]) * W[1] * W[2]));
  CHECK(f[4] == doctest::Approx((J[2] - J[0]) * W[2] * W[0]));
  CHECK(f[5] == doctest::Approx((J[0] - J[1]) * W[0] * W[1]));
}

TEST_CASE("rigid body: a rotation about a principal axis is steady") {
  System s;
  Random random(1);
  const Mat3 R = random.rotation_matrix();
  one_body(s, 3, R * Vec3(1, 2, 4).asDiagonal() * R.transpose());
  for (int axis = 0; axis < 3; ++axis) {
    const Vec3 W = 2.3 * R.col(axis);
    CHECK(largest(forces(s, s.initial_configuration(), {0, 0, 0, W[0], W[1], W[2]})) < 1e-14);
  }
}

TEST_CASE("rigid body: free of forces it keeps energy, momentum and the angular momentum in space") {
  System s;
  const Vec3 J(1, 2, 4);
  one_body(s, 3, J.asDiagonal());
  // tumbling near the axis of the intermediate moment of inertia
  const Vector v0 = {1, -2, 0.5, 0.05, 2, 0.02};
  Vector q = s.initial_configuration(), v = v0;
  const auto acceleration = [&](const Vector& velocity) {
    Vector a = forces(s, q, velocity);
    for (std::size_t i = 0; i < 3; ++i) {
      a[i] /= 3;
      a[3 + i] /= J[static_cast<int>(i)];
    }
    return a;
  };
  // Runge-Kutta for the body velocities; for the positions the Magnus expansion of fourth order with the commutator of
  // the velocities at both ends of the step
  const double h = 1e-3;
  const Momenta before = s.momenta(q, v);
  const double energy = s.energies(q, v, 0).kinetic;
  CHECK(energy == doctest::Approx(0.5 * 3 * 5.25 + 0.5 * (0.0025 + 2 * 4 + 4 * 0.0004)));
  for (int step = 0; step < 10000; ++step) {
    const auto shifted = [&](double c, const Vector& a) {
      Vector x(v);
      axpy(c, a, x);
      return x;
    };
    const Vector a1 = acceleration(v), a2 = acceleration(shifted(h / 2, a1)), a3 = acceleration(shifted(h / 2, a2)),
                 a4 = acceleration(shifted(h, a3));
    Vector next(v), middle(v), increment(6);
    for (std::size_t i = 0; i < 6; ++i) next[i] += h / 6 * (a1[i] + 2 * a2[i] + 2 * a3[i] + a4[i]);
    for (std::size_t i = 0; i < 6; ++i) middle[i] = 0.5 * (v[i] + next[i]) - h / 8 * (a4[i] - a1[i]);
    for (std::size_t i = 0; i < 6; ++i) increment[i] = h / 6 * (v[i] + 4 * middle[i] + next[i]);
    const Vec3 W0(v.data() + 3), W1(next.data() + 3);
    Eigen::Map<Vec3>(increment.data() + 3) += h * h / 12 * W0.cross(W1);
    s.retract(q, increment, q);
    v = next;
  }
  const Momenta after = s.momenta(q, v);
  // the body has turned over in between: its components in body axes differ
  CHECK(v[4] != doctest::Approx(v0[4]).epsilon(1e-3));
  CHECK(s.energies(q, v, 0).kinetic == doctest::Approx(energy).epsilon(1e-10));
  CHECK((after.linear - before.linear).norm() == 0);
  CHECK((after.angular - before.angular - Vec3(q.data()).cross(after.linear)).norm() < 1e-7);
}

TEST_CASE("rigid body: the inertia of a turned body turns with it") {
  System s;
  one_body(s, 2, Vec3(1, 2, 4).asDiagonal());
  Random random(2);
  const Motion m = random_motion(s, random);
  const Mat3 R = so3::quaternion_to_matrix(Quaternion(m.q.data() + 3));
  const Vec3 omega = R * Vec3(m.v.data() + 3), x(m.q.data()), v(m.v.data());
  const Vec3 expected = 2 * x.cross(v) + R * Vec3(1, 2, 4).asDiagonal() * R.transpose() * omega;
  CHECK((s.momenta(m.q, m.v).angular - expected).norm() < 1e-13);
}
