// Nodes and coordinates of joints for the contracts of elements and constraints. The checks move the nodes to random
// states.
#pragma once

#include <string>
#include <vector>

#include "elements/joints/joint_coordinate.hpp"
#include "tests/contract/differences.hpp"

namespace carom::test {

inline int frame(System& s) {
  const double q[7] = {0, 0, 0, 1, 0, 0, 0};
  return s.add_node(NodeKind::frame, q, "frame");
}
inline int point(System& s) {
  const double q[3] = {0, 0, 0};
  return s.add_node(NodeKind::point, q, "point");
}
inline int node(System& s, NodeKind kind) { return kind == NodeKind::frame ? frame(s) : point(s); }

/// New scalar nodes, and the names of their coordinates x, y, z in formulas.
struct CoordinateNames {
  std::vector<int> nodes;
  std::vector<std::string> q, q_t, q_v_t;
};
inline CoordinateNames coordinate_names(System& s, std::size_t count) {
  CoordinateNames names;
  const double start[1] = {0};
  for (std::size_t i = 0; i < count; ++i) {
    names.q.emplace_back(1, static_cast<char>('x' + i));
    names.nodes.push_back(s.add_node(NodeKind::scalar, start, names.q.back()));
  }
  names.q_t = names.q_v_t = names.q;
  for (const std::string& name : names.q) names.q_v_t.push_back(name + "'");
  for (auto* list : {&names.q_t, &names.q_v_t}) list->emplace_back("t");
  return names;
}

inline constexpr NodeKind F = NodeKind::frame, P = NodeKind::point;
inline const Vec3 arm_a(0.2, -0.15, 0.1), arm_b(-0.1, 0.05, 0.25);

// The ends of a joint at nodes of given kinds.
struct Ends {
  int node_a, node_b;
  Vec3 offset_a, offset_b;
};
template <class MakeA, class MakeB>
Ends ends(System& s, const MakeA& a, const MakeB& b) {
  Ends e{a(s), b(s), arm_a, arm_b};
  if (e.node_a < 0) e.offset_a = Vec3(0.3, 0.4, -0.5);
  if (e.node_b < 0) e.offset_b = Vec3(-0.3, 0.1, 0.2);
  return e;
}
inline int ground(System&) { return -1; }

using Coordinate = JointCoordinate::Kind;

// Two coordinates of one kind between nodes of given kinds.
template <class MakeA, class MakeB>
std::vector<JointCoordinate> coordinates(System& s, Coordinate kind, const MakeA& a, const MakeB& b) {
  Random random(11);
  std::vector<JointCoordinate> list;
  for (int i = 0; i < 2; ++i) {
    const Ends e = ends(s, a, b);
    JointCoordinate c{kind, e.node_a, e.node_b, e.offset_a, e.offset_b, random.direction()};
    const Quaternion q_A = so3::exp_quaternion(Vec3(0.6 * random.direction())),
                     q_B = so3::exp_quaternion(Vec3(0.6 * random.direction()));
    set_angle_frames(c, random.direction(), q_A, q_B);
    list.push_back(c);
  }
  return list;
}

// Rotates B against A by less than the angle at which the twist is undefined.
inline void near_start(const System& s, Random& random, Motion& m) {
  for (int node = 0; node < s.dofs().nodes(); ++node) {
    if (s.dofs().kind(node) != NodeKind::frame) continue;
    Eigen::Map<Quaternion> q(m.q.data() + s.dofs().configuration_offset(node) + 3);
    q = so3::exp_quaternion(Vec3(0.5 * random.direction()));
  }
}

}  // namespace carom::test
