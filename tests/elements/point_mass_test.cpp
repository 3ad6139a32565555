#include "elements/bodies/point_mass.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/mechanics/system.hpp"

using namespace carom;

TEST_CASE("point mass: momentum, energy and weight are those of a particle") {
  System s;
  const double q[3] = {1, 2, 3};
  const int a = s.add_node(NodeKind::point, q, "a");
  s.add(std::make_unique<PointMassBlock>("mass", std::vector<PointMass>{{a, 2.5}}));
  s.set_gravity({0, 0, -10});
  s.finalize();
  const Vector v = {1, -1, 2};
  Vector f(3);
  s.forces(s.initial_configuration(), v, 0, force_all, f);
  CHECK(f == Vector{0, 0, -25});
  const Energies e = s.energies(s.initial_configuration(), v, 0);
  CHECK(e.kinetic == 7.5);
  CHECK(e.potential == 75);
  const Momenta p = s.momenta(s.initial_configuration(), v);
  CHECK(p.linear == Vec3(2.5, -2.5, 5));
  CHECK(p.angular == 2.5 * Vec3(1, 2, 3).cross(Vec3(1, -1, 2)));
  CHECK_FALSE(s.has_massless_equation());
}

TEST_CASE("point mass: a mass of zero leaves its node massless") {
  System s;
  const double q[3] = {0, 0, 0};
  const int a = s.add_node(NodeKind::point, q, "a"), b = s.add_node(NodeKind::point, q, "b");
  s.add(std::make_unique<PointMassBlock>("mass", std::vector<PointMass>{{a, 0}, {b, 3}}));
  s.finalize();
  CHECK(s.has_massless_equation());
  CHECK(s.mean_nodal_mass() == 3);
}
