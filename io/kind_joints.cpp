// Joints of points and frames: fixed, spherical, rigid_link.

#include "io/kinds.hpp"

namespace carom {

namespace {

void add_coincidence(const JointSource& joint, JointRows& rows) {
  Coincidence c;
  c.name = joint.name;
  c.node_a = joint.a.node;
  c.node_b = joint.b.node;
  c.offset_a = joint.a.offset;
  c.offset_b = joint.b.offset;
  (joint.a_is_frame || joint.b_is_frame ? rows.rotating : rows.linear).push_back(std::move(c));
}

void add_parallel(const JointSource& joint, JointRows& rows) {
  for (Orthogonality& o : parallel_frames(joint.a.node, joint.R_a, joint.b.node, joint.R_b)) {
    o.name = joint.name;
    rows.orthogonal.push_back(std::move(o));
  }
}

void build_spherical(const JointSource& joint, JointRows& rows) { add_coincidence(joint, rows); }

void build_fixed(const JointSource& joint, JointRows& rows) {
  add_coincidence(joint, rows);
  add_parallel(joint, rows);
}

// The link is part of a frame at one of its ends, or of the inertial axes between two points.
void build_rigid_link(const JointSource& joint, JointRows& rows) {
  JointSource link = joint;
  const Vec3 span = joint.x_b - joint.x_a;
  if (joint.a_is_frame)
    link.a.offset += joint.R_a.transpose() * span;
  else if (joint.b_is_frame)
    link.b.offset -= joint.R_b.transpose() * span;
  else
    link.a.offset += span;
  add_coincidence(link, rows);
  if (joint.both_oriented()) add_parallel(link, rows);
}

}  // namespace

std::vector<JointKind> rigid_joint_kinds() {
  return {
      {"fixed", "no relative motion of two frames", build_fixed},
      {"spherical", "two points stay together, rotations are free", build_spherical},
      {"rigid_link",
       "the second point keeps its place (and two bodies their relative rotation) as if a rigid bar joined them",
       build_rigid_link},
  };
}

}  // namespace carom
