#include "contact/gap/sphere_contact.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "core/mechanics/system.hpp"
#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

}  // namespace

TEST_CASE("spheres: a head-on approach closes the gap with the relative speed") {
  System s;
  const double x[3] = {0, 0, 0}, y[3] = {3, 4, 0};
  const int a = s.add_node(NodeKind::point, x, "a"), b = s.add_node(NodeKind::point, y, "b");
  s.add(std::make_unique<SphereContactBlock>(
      "pair", std::vector<SpherePair>{{"pair", a, b, Vec3::Zero(), Vec3::Zero(), 1, 1.5, 0.8}}));
  s.finalize();
  CHECK(s.row_gap(0, s.initial_configuration(), 0) == doctest::Approx(2.5));
  CHECK(s.row_rate(0, s.initial_configuration(), Vector{0.6, 0.8, 0, -1.2, -1.6, 0}, 0) == doctest::Approx(-3));
  // across: no rate, but the centripetal bias v^2/l
  const Vector across = {0, 0, 0, -4, 3, 0};
  CHECK(std::abs(s.row_rate(0, s.initial_configuration(), across, 0)) < 1e-15);
  Vector h(1);
  s.biases(s.initial_configuration(), across, 0, all_rows, h);
  CHECK(h[0] == doctest::Approx(25.0 / 5));
  CHECK(s.contact_parameters(0).restitution == 0.8);
  const ConstraintBlock::Place place = s.row_contact_place(0, s.initial_configuration(), across, 0);
  CHECK((place.point - Vec3(0.6, 0.8, 0)).norm() < 1e-15);
  CHECK((place.normal - Vec3(0.6, 0.8, 0)).norm() < 1e-15);
}

TEST_CASE("spheres: spinning about their centres changes nothing, and forces are opposite and central") {
  System s;
  Random random(1);
  const double q[7] = {0, 0, 0, 1, 0, 0, 0};
  const int a = s.add_node(NodeKind::frame, q, "a"), b = s.add_node(NodeKind::frame, q, "b");
  s.add(std::make_unique<SphereContactBlock>(
      "pair", std::vector<SpherePair>{{"pair", a, b, Vec3::Zero(), Vec3::Zero(), 0.2, 0.2, 0}}));
  s.finalize();
  const Motion m = random_motion(s, random);
  CHECK(s.row_rate(0, m.q, Vector{0, 0, 0, 1, 2, 3, 0, 0, 0, -3, 1, 4}, 0) == 0);
  Vector f(12, 0.0);
  s.add_reactions(m.q, 0, Vector{2}, all_rows, f);
  CHECK((Vec3(f.data()) + Vec3(f.data() + 6)).norm() < 1e-15);
  CHECK(Vec3(f.data() + 6).norm() == doctest::Approx(2));
  CHECK(Vec3(f.data() + 3).norm() == 0);
  CHECK(Vec3(f.data() + 9).norm() == 0);
  // a positive multiplier pushes them apart
  CHECK(Vec3(f.data() + 6).dot(Vec3(m.q.data() + 7) - Vec3(m.q.data())) > 0);
}
