// The key "friction" of joints: keys and rows.
#pragma once

#include "io/model/types/registry.hpp"

namespace carom {

/// What friction acts on: the angle of a revolute joint, the displacement of a prismatic one, both of a cylindrical
/// one, the rotations of a spherical one.
enum class FrictionOf { angle, displacement, both, rotation };

spec::Key friction_key(FrictionOf of);
/// Adds the rows if the joint has the key. Precondition: the rows that press the bearing have been added, and none
/// else. `axis` in the axes of the model, at the start.
void add_friction(BuildContext& context, const JointSource& joint, FrictionOf of, const Vec3& axis, JointParts& parts);

}  // namespace carom
