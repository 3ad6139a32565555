#include "elements/loads/load.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

// The generalised force of one load on a body at (1, 2, 3), rotated by a right angle about z.
Vector force_of(Load load, double t) {
  System s;
  const double c = std::sqrt(0.5), q[7] = {1, 2, 3, c, 0, 0, c};
  load.node = s.add_node(NodeKind::frame, q, "body");
  s.add(std::make_unique<LoadBlock>("load", std::vector<Load>{load}, true));
  s.finalize();
  Vector f(6);
  s.forces(s.initial_configuration(), Vector(6, 0.0), t, force_all, f);
  return f;
}

std::array<TimeFunction, 3> along_x(const TimeFunction& x) { return {x, TimeFunction(), TimeFunction()}; }

}  // namespace

TEST_CASE("load: a dead force pulls in space, at the place of its point") {
  // body axes x -> y, y -> -x: the point (0, -1, 0) lies 1 along x; the inertial force 4 along x has no lever arm
  Load load{.offset = Vec3(0, -1, 0), .value = along_x(TimeFunction::constant(4))};
  CHECK(relative_error(force_of(load, 0), Vector{4, 0, 0, 0, 0, 0}) < 1e-15);
  // the point (2, 0, 0) lies 2 along y: moment -8 about z
  load.offset = Vec3(2, 0, 0);
  CHECK(relative_error(force_of(load, 0), Vector{4, 0, 0, 0, 0, -8}) < 1e-15);
}

TEST_CASE("load: a follower force turns with the body") {
  const Load load{.offset = Vec3(0, -1, 0), .body_axes = true, .value = along_x(TimeFunction::constant(4))};
  CHECK(relative_error(force_of(load, 0), Vector{0, 4, 0, 0, 0, 4}) < 1e-15);
}

TEST_CASE("load: torques act on rotations only, in space or in the body") {
  Load load{.kind = Load::Kind::torque, .value = along_x(TimeFunction::constant(3))};
  CHECK(relative_error(force_of(load, 0), Vector{0, 0, 0, 0, -3, 0}) < 1e-15);
  load.body_axes = true;
  CHECK(relative_error(force_of(load, 0), Vector{0, 0, 0, 3, 0, 0}) < 1e-15);
}

TEST_CASE("load: one that takes the value of the load before it is what it is by itself") {
  System s;
  const double q[3] = {0, 0, 0};
  std::vector<Load> loads(4);
  for (Load& load : loads) {
    load.node = s.add_node(NodeKind::point, q, "node");
    load.value = along_x(TimeFunction::formula(&load < &loads[2] ? "t^2" : "t"));
    load.factor = (1 + static_cast<double>(&load - loads.data())) * Mat3::Identity();
  }
  loads[1].as_before = loads[3].as_before = true;
  const LoadBlock& block = static_cast<const LoadBlock&>(s.add(std::make_unique<LoadBlock>("load", loads, false)));
  s.finalize();
  Vector f(12);
  s.forces(s.initial_configuration(), Vector(12, 0.0), 3, force_all, f);
  for (int k = 0; k < 4; ++k) CHECK(f[static_cast<std::size_t>(3 * k)] == (k + 1) * (k < 2 ? 9 : 3));
  CHECK(block.topology().items == 4);
}

TEST_CASE("load: a formula is taken at the time asked for") {
  const Load load{.value = along_x(TimeFunction::formula("2*t^2"))};
  CHECK(force_of(load, 3)[0] == doctest::Approx(18));
  CHECK(force_of(load, 0)[0] == 0);
}
