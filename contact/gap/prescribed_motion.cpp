#include "contact/gap/prescribed_motion.hpp"

#include "core/lie/so3.hpp"

namespace carom {

PrescribedMotion::Pose PrescribedMotion::at(double t) const {
  Pose pose;
  for (int i = 0; i < 3; ++i) {
    const TimeValue c = translation[static_cast<std::size_t>(i)].evaluate(t);
    pose.origin[i] = c.value + about[i];
    pose.velocity[i] = c.rate;
    pose.acceleration[i] = c.acceleration;
    const TimeValue s = surface[static_cast<std::size_t>(i)].evaluate(t);
    pose.surface[i] = s.value;
    pose.surface_rate[i] = s.rate;
  }
  const TimeValue theta = angle.evaluate(t);
  pose.Q = so3::exp(Vec3(theta.value * axis));
  pose.omega = theta.rate * axis;
  pose.alpha = theta.acceleration * axis;
  return pose;
}

}  // namespace carom
