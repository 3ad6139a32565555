// Many rigid bodies in contact: islands, near pairs, weight and distances.
#include <doctest/doctest.h>

#include <string>

#include "tests/cases/case_runner.hpp"
#include "tests/support/many_bodies.hpp"

using namespace carom;
using namespace carom::cases;

namespace {

// The deepest overlap of any two of the spheres s0, s1, ... of radius 0.05.
double deepest_overlap(Case& c, int count) {
  double deepest = 0;
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b) {
      const Vec3 span = c.position("s" + std::to_string(b)) - c.position("s" + std::to_string(a));
      deepest = std::max(deepest, 0.1 - span.norm());
    }
  return deepest;
}

}  // namespace

TEST_CASE("many bodies: spheres with rows for near pairs move as spheres with a row for every pair") {
  const int count = 48;
  Case near = Case::from_text(test::spheres_in_box(count, 1e-3, 0.12).dump());
  Case all = Case::from_text(test::spheres_in_box(count, 1e-3, 0.12, true).dump());
  REQUIRE(near.rows("spheres").size() == 480);  // ten per sphere, of 1128 pairs
  long impacts = 0;
  REQUIRE(near.run([&](const StepView& view) { impacts += view.report.impacts; }) == RunStatus::completed);
  REQUIRE(all.run() == RunStatus::completed);
  CHECK(impacts > 50);
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const std::string name = "s" + std::to_string(k);
    // rounding grows from impact to impact
    CHECK((near.position(name) - all.position(name)).norm() < 1e-9);
  }
}

TEST_CASE("many bodies: spheres in a box with a moving wall never overlap") {
  const int count = 64;
  Case c = Case::from_text(test::spheres_in_box(count, 1e-3, 0.4).dump());
  double deepest = 0;
  REQUIRE(c.run([&](const StepView&) { deepest = std::max(deepest, deepest_overlap(c, count)); }) ==
          RunStatus::completed);
  CHECK(deepest < 1e-10);
  CHECK(c.statistics().smallest_gap > -1e-10);
}

TEST_CASE("many bodies: the floor carries the weight of boxes that lie flat, whatever their number") {
  for (const int count : {1, 60}) {
    Case c = Case::from_text(test::boxes_on_floor(count, 1e-3, 0.02).dump());
    REQUIRE(c.run() == RunStatus::completed);
    double force = 0;
    for (const int row : c.rows("floor")) {
      force += c.force(row);
      // the four lower corners alike, which is the least norm; nothing at the upper ones
      CHECK(c.force(row) == doctest::Approx(c.gap(row) < 0.05 ? 9.81 / 4 : 0.0).epsilon(1e-6));
    }
    CHECK(force == doctest::Approx(9.81 * count).epsilon(1e-9));
  }
}
