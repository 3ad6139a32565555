// The answer does not depend on how the physics is written down: place in space, order of the bodies. See units_test
// for units.
//
// Numbers differ in rounding and in what Newton's method leaves, and impacts amplify both. The bounds are far below the
// 1e-3 and more by which a term with a wrong unit, axis or index changes an answer. A joint that sticks while it leans
// on its stop has friction and stop for one force: the motion is unique, the shares are not, and rounding decides
// whether the stop counts as pressed. So impacts of mechanisms with joint friction are not counted.
#include <doctest/doctest.h>

#include "tests/properties/answer.hpp"
#include "tests/properties/sample_models.hpp"

using namespace carom;
using namespace carom::properties;

namespace {

void check_moved(const std::vector<ModelCase>& models, Seeds seeds, Seeds rubbing) {
  Placement placement;
  placement.turn = so3::exp_quaternion(Vec3(0.7, -1.1, 0.4));
  const Mat3 Q = placement.Q();
  const auto check = [&](const Written& w, bool impacts_unique) {
    if (!w.turns) return;
    const Answer a = answer_of(w.model, w.file);
    REQUIRE(a.status == RunStatus::completed);
    placement.shift = a.length * Vec3(0.6, -1.3, 0.8);
    const Answer b = answer_of(moved(w.model, placement), w.file);
    CHECK(b.status == RunStatus::completed);
    if (impacts_unique) CHECK(b.impacts == a.impacts);
    CHECK(difference(
              a, b, [&](const Vec3& x) { return Vec3(Q * x + placement.shift); },
              [&](const Vec3& v) { return Vec3(Q * v); }) < w.tolerance);
    CHECK(b.energy == doctest::Approx(a.energy).epsilon(w.tolerance).scale(a.energy_scale));
  };
  for_all(models, seeds, [&](const Written& w) { check(w, true); });
  for_rubbing(rubbing, [&](const Written& w) { check(w, false); });
}

void check_reversed(const std::vector<ModelCase>& models, Seeds seeds, Seeds rubbing) {
  const auto same = [](const Vec3& x) { return x; };
  const auto check = [&](const Written& w, bool impacts_unique) {
    const Answer a = answer_of(w.model, w.file), b = answer_of(reversed(w.model), w.file);
    REQUIRE(a.status == RunStatus::completed);
    CHECK(b.status == RunStatus::completed);
    if (impacts_unique) CHECK(b.impacts == a.impacts);
    CHECK(difference(a, b, same, same) < w.tolerance);
  };
  for_all(models, seeds, [&](const Written& w) { check(w, true); });
  for_rubbing(rubbing, [&](const Written& w) { check(w, false); });
}

}  // namespace

TEST_CASE("whole models: a model turned and shifted as a whole gives the turned and shifted answer") {
  check_moved(quick_models, quick_seeds, {1, 4});
}
TEST_CASE("whole models: bodies, joints and contacts in another order give the same answer") {
  check_reversed(quick_models, quick_seeds, {1, 4});
}

TEST_CASE("whole models: more mechanisms turned and shifted" * doctest::test_suite("long")) {
  check_moved(slow_models, more_seeds, {5, 10});
}
TEST_CASE("whole models: more mechanisms in another order" * doctest::test_suite("long")) {
  check_reversed(slow_models, more_seeds, {5, 10});
}
