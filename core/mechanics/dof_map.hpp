// DofMap: maps a velocity component of a node to its equation.
//
// A node is one factor of the configuration space: a scalar coordinate R, a point R^3, or a frame R^3 x SO(3). The node
// occupies 1, 3 or 7 entries of the flat configuration (frame: x, y, z, then the unit quaternion w, x, y, z) and has 1,
// 3 or 6 velocity components (frame: x' inertial, then Omega in the body frame). A fixed component has no equation: its
// velocity is zero and its configuration entry stays constant. The three rotations of a frame are either all fixed or
// all free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

enum class NodeKind : std::uint8_t { scalar, point, frame };

class DofMap {
 public:
  /// Appends a node and returns its index. Precondition: number() has not been called yet.
  int add_node(NodeKind kind);
  /// Fixes one velocity component of a node. Fixing one rotation component (3, 4, 5) of a frame requires fixing all
  /// three.
  void fix(int node, int component);
  /// Assigns an equation to every free component, in the order of the nodes.
  void number();

  int nodes() const { return static_cast<int>(kinds_.size()); }
  int equations() const { return equations_; }
  int configuration_size() const { return configuration_size_; }
  int frames() const { return static_cast<int>(frames_.size()); }

  NodeKind kind(int node) const { return kinds_[index(node)]; }
  static int components(NodeKind kind) { return kind == NodeKind::scalar ? 1 : kind == NodeKind::point ? 3 : 6; }
  /// Equation of a component; -1 if the component is fixed or the node does not have it, or if node is -1 (ground).
  int equation(int node, int component) const;
  int configuration_offset(int node) const { return offsets_[index(node)]; }
  /// Index among the frames with free rotation; -1 for every other node.
  int frame_index(int node) const { return node < 0 ? -1 : frame_index_[index(node)]; }

  /// A free translational or scalar component: configuration entry and equation.
  struct Translation {
    int entry, equation;
  };
  /// A frame with free rotation: first entry of its quaternion, first of its three rotation equations.
  struct Frame {
    int entry, equation;
  };
  std::span<const Translation> translations() const { return translations_; }
  /// Whether equation i is that of a translation, entry i of the configuration, for all i, and no other entries exist:
  /// long loops then need no table.
  bool translations_alone() const { return static_cast<int>(translations_.size()) == configuration_size_; }
  std::span<const Frame> rotating_frames() const { return frames_; }

 private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  std::vector<NodeKind> kinds_;
  std::vector<int> offsets_, first_component_, frame_index_;
  std::vector<int> equation_of_component_;  // -1: fixed
  std::vector<Translation> translations_;
  std::vector<Frame> frames_;
  int configuration_size_ = 0, equations_ = 0;
};

}  // namespace carom
