#include "contact/gap/prescribed_motion.hpp"

#include <doctest/doctest.h>

#include "tests/contract/differences.hpp"

using namespace carom;
using namespace carom::test;

TEST_CASE("prescribed motion: velocities and accelerations are the derivatives of the places") {
  PrescribedMotion motion;
  motion.axis = Vec3(2, -1, 2) / 3;
  motion.about = Vec3(0.5, 0.1, -0.4);
  motion.angle = TimeFunction::formula("sin(2*t)");
  motion.translation = {TimeFunction::formula("t^3"), TimeFunction::formula("cos(t)"), TimeFunction::constant(1)};
  CHECK_FALSE(motion.is_fixed());
  const Vec3 y(1.1, 0.4, 0.9);
  const double t = 0.8;
  const auto place = [&](double e) {
    const PrescribedMotion::Pose pose = motion.at(t + e);
    const Vec3 x = pose.origin + pose.Q * (y - motion.about);
    return Vector(x.data(), x.data() + 3);
  };
  const auto velocity = [&](double e) {
    const PrescribedMotion::Pose pose = motion.at(t + e);
    const Vec3 v = pose.velocity + pose.omega.cross(pose.Q * (y - motion.about));
    return Vector(v.data(), v.data() + 3);
  };
  CHECK(relative_error(velocity(0), derivative(place)) < 1e-9);
  const PrescribedMotion::Pose pose = motion.at(t);
  const Vec3 r = pose.Q * (y - motion.about);
  const Vec3 a = pose.acceleration + pose.alpha.cross(r) + pose.omega.cross(pose.omega.cross(r));
  CHECK(relative_error(Vector(a.data(), a.data() + 3), derivative(velocity)) < 1e-9);
}

TEST_CASE("prescribed motion: at angle zero and without translation every place stays") {
  PrescribedMotion motion;
  motion.about = Vec3(3, 4, 5);
  CHECK(motion.is_fixed());
  const PrescribedMotion::Pose pose = motion.at(7);
  CHECK(pose.Q == Mat3::Identity());
  CHECK(pose.origin == motion.about);
  CHECK(pose.velocity == Vec3::Zero());
  CHECK(pose.omega == Vec3::Zero());
}
