// The joint "screw": keys, rows and what stays free.

#include "elements/joints/screw.hpp"

#include <memory>
#include <utility>

#include "io/model/types/registry.hpp"

namespace carom {

namespace {

// The screws of all joints form one block, which enters the system after carom's own.
const JointPool<Screw> screws{100, [](System& system, std::vector<Screw> items) -> const ConstraintBlock* {
                                return &system.add(std::make_unique<ScrewBlock>(std::move(items)));
                              }};

std::vector<spec::Key> keys() {
  return {axis_key(), spec::required("lead", spec::number("length").above(0), "advance along the axis per turn")};
}

void build(BuildContext&, const JointSource& joint, JointParts& parts) {
  const Vec3 axis = direction(joint, "axis");
  parts.displacement = displacement_along(joint, axis);
  parts.angle = angle_about(joint, axis);
  hold_common_axis(joint, axis, parts);
  parts.append(screws, Screw{joint.name, *parts.displacement, *parts.angle, (*joint.json)["lead"].get<double>()});
}

}  // namespace

JointType screw_type() {
  return {"screw", "rotation about a common axis drives the translation along it", JointType::Needs::two_frames, keys,
          build};
}

}  // namespace carom
