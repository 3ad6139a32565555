#include "contact/gap/obstacle.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/contract/differences.hpp"

namespace {

using namespace carom;
using namespace carom::test;

// Distance of a point (rho, z) from the surface of a closed cylinder along z, by search. By symmetry the nearest point
// lies in the half plane through the point: mantle and caps are sampled there, and refined around the best sample.
double nearest_surface(double rho, double z, double radius, double half_length) {
  const auto at_parameter = [&](double s) {
    // the parameter runs from the centre of the lower cap over the mantle to the centre of the upper cap
    double r = radius, height = s;
    if (s < -half_length) {
      r = radius - (-half_length - s);
      height = -half_length;
    } else if (s > half_length) {
      r = radius - (s - half_length);
      height = half_length;
    }
    return std::hypot(rho - r, z - height);
  };
  const double end = half_length + radius;
  double low = -end, high = end, best = 0;
  for (int refinement = 0; refinement < 12; ++refinement) {
    constexpr int samples = 400;
    double smallest = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= samples; ++i) {
      const double s = low + (high - low) * i / samples;
      if (at_parameter(s) < smallest) {
        smallest = at_parameter(s);
        best = s;
      }
    }
    const double width = 2 * (high - low) / samples;
    low = std::max(-end, best - width);
    high = std::min(end, best + width);
  }
  return at_parameter(best);
}

}  // namespace

TEST_CASE("plane: the distance is along the unit normal, whatever the length of the given one") {
  const auto plane = make_plane(Vec3(1, 1, 1), Vec3(0, 3, 4));
  CHECK(plane->distance(Vec3(7, 1, 1)) == doctest::Approx(0).epsilon(1e-15));
  CHECK(plane->distance(Vec3(1, 1.6, 1.8)) == doctest::Approx(1));
  CHECK(plane->distance(Vec3(0, 0.4, 0.2)) == doctest::Approx(-1));
  CHECK(plane->flat());
  CHECK(std::isinf(plane->radius()));
}

TEST_CASE("sphere: outside and inside differ by sign") {
  const Vec3 center(1, 2, 3), y = center + 1.5 * Vec3(2, -1, 2) / 3;
  const auto outside = make_sphere(center, 0.5, false), inside = make_sphere(center, 0.5, true);
  CHECK(outside->distance(y) == doctest::Approx(1));
  CHECK(inside->distance(y) == doctest::Approx(-1));
  CHECK((outside->evaluate(y).gradient - Vec3(2, -1, 2) / 3).norm() < 1e-15);
  CHECK((inside->evaluate(y).gradient + Vec3(2, -1, 2) / 3).norm() < 1e-15);
  CHECK(outside->radius() == 0.5);
  CHECK(inside->radius() == 0.5);
  CHECK(!outside->contains());
  CHECK(inside->contains());
}

TEST_CASE("finite cylinder: the distance is that of the nearest surface point, negative inside") {
  const Vec3 center(0.3, -0.2, 0.5), axis = Vec3(1, 2, -2) / 3;
  const double radius = 0.7, length = 1.8;
  const auto cylinder = make_cylinder(center, axis, radius, length, false);
  Random random(3);
  int inside = 0, rim = 0;
  for (int i = 0; i < 2000; ++i) {
    const double rho = random.between(0, 2), z = random.between(-2, 2), angle = random.between(0, 6.2);
    const Vec3 u = axis.unitOrthogonal(), w = axis.cross(u);
    const Vec3 y = center + z * axis + rho * (std::cos(angle) * u + std::sin(angle) * w);
    const bool within = rho < radius && std::abs(z) < length / 2;
    inside += within;
    rim += rho > radius && std::abs(z) > length / 2;
    const double expected = (within ? -1 : 1) * nearest_surface(rho, z, radius, length / 2);
    CHECK(std::abs(cylinder->distance(y) - expected) < 1e-10);
    CHECK(cylinder->distance(y) == doctest::Approx(cylinder->evaluate(y).value).epsilon(1e-14));
  }
  CHECK(inside > 100);
  CHECK(rim > 100);
  CHECK(cylinder->radius() == doctest::Approx(0.7));
}

TEST_CASE("obstacles: following the gradient by the distance leads to the surface") {
  const Vec3 center(0.3, -0.2, 0.5), axis = Vec3(1, 2, -2) / 3;
  Random random(4);
  for (const auto& obstacle :
       {make_sphere(center, 0.8, false), make_sphere(center, 0.8, true), make_cylinder(center, axis, 0.8, 0, false),
        make_cylinder(center, axis, 0.8, 0, true), make_cylinder(center, axis, 0.8, 1.4, false)})
    for (int i = 0; i < 300; ++i) {
      const Vec3 y = random.in_box(2);
      const Distance d = obstacle->evaluate(y);
      CHECK(std::abs(obstacle->distance(y - d.value * d.gradient)) < 1e-13);
      CHECK((d.hessian * d.gradient).norm() < 1e-12 * (1 + d.hessian.norm()));
    }
}

TEST_CASE("obstacles: an infinite cylinder given as such is unbounded") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double length : {0.0, -1.0, infinity}) {
    const auto cylinder = make_cylinder(Vec3::Zero(), Vec3(0, 0, 2), 1, length, false);
    CHECK(cylinder->distance(Vec3(3, 0, 1e6)) == doctest::Approx(2));
    CHECK(cylinder->evaluate(Vec3(0, 3, -1e6)).gradient == Vec3(0, 1, 0));
    CHECK(cylinder->radius() == 1);
  }
}

TEST_CASE("obstacles: where no direction is defined this is said, and a fixed unit one keeps numbers finite") {
  const Vec3 center(1, 2, 3);
  for (const auto& obstacle :
       {make_sphere(center, 1, false), make_sphere(center, 1, true), make_cylinder(center, Vec3::UnitX(), 1, 0, false),
        make_cylinder(center, Vec3::UnitX(), 1, 0, true), make_cylinder(center, Vec3::UnitX(), 1, 5, false)}) {
    const Distance d = obstacle->evaluate(center);
    CHECK(std::abs(d.value) == 1);
    CHECK(d.gradient.norm() == doctest::Approx(1));
    CHECK(d.hessian.allFinite());
    CHECK(!d.directed);
    CHECK(obstacle->evaluate(center + Vec3(0, 1e-6, 0)).directed);
  }
  // on its axis a short cylinder is left through the nearer cap, and at half its length through either
  const auto disc = make_cylinder(center, Vec3::UnitX(), 1, 0.5, false);
  CHECK(disc->evaluate(center + Vec3(0.1, 0, 0)).directed);
  CHECK(!disc->evaluate(center).directed);
}
