// How joints, their stops, and fixed points are drawn.
//
//   pin            revolute, cylindrical: a cylinder along the axis, longer than the bodies are thick there
//   rail           prismatic, cylindrical: a line along the axis, as far as the stops allow
//   rod            rigid_link, distance: a line between the two points, if they are apart
//   ball           all others
//   fixed point    of a beam or bar, or the centre of a rigid body that only turns: a ball; of a beam that cannot turn
//                  there, a plate across it
//   stop           a block that the moving body touches when the gap is zero: in front of its surface along the axis,
//   or
//                  beside its arm at the limit of an angle
//
// Sizes follow the extent of the model at the start.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "integrators/common/observer.hpp"
#include "io/mesh/surface_mesh.hpp"
#include "io/model/model.hpp"

namespace carom {

/// A mesh whose points move with nodes: nodes[i] (-1: ground) carries points[i], which is given in its axes.
struct AttachedMesh {
  SurfaceMesh mesh;
  std::vector<int> nodes;
};

/// A stop. Its block is placed anew in every picture, because the gap of its row says where the limit is.
struct StopPicture {
  std::string name;
  int row = -1;
  AttachedPoint mover;  ///< the joint's point of the body that moves
  double sign = 1;      ///< of the row's direction, as seen by the mover
  bool is_angle = false;
  Vec3 arm = Vec3::Zero();  ///< unit vector along the mover's arm, in axes of its node
  double surface = 0;       ///< from the joint to the surface that touches, against the direction of the force
  double reach = 0, width = 0, thickness = 0;

  /// The block, whose points place() sets.
  static SurfaceMesh block() { return make_box(Vec3::Ones()); }
  /// The eight points of the block.
  void place(const StepView& view, std::vector<Vec3>& points) const;
};

class JointPictures {
 public:
  /// `model` at its start.
  explicit JointPictures(const Model& model);

  /// Lines along the axes of a frame.
  SurfaceMesh frame_axes() const;
  AttachedMesh joint(const JointInfo& joint) const;
  /// Empty if no point of the body is fixed in all three translations, or if more than `most` are.
  AttachedMesh fixed_points(const BodyInfo& body, std::size_t most) const;
  std::vector<StopPicture> stops(const JointInfo& joint) const;

 private:
  const BodyInfo* body_of(int node) const;
  /// How far the body's drawn points at a node reach from the point x along the direction; 0 for none.
  double reach(int node, const Vec3& x, const Vec3& direction) const;
  double half_thickness(int node, const Vec3& x, const Vec3& axis) const;
  Vec3 place(int node, const Vec3& offset) const { return model_.place({node, offset}, model_.state_at_start.q); }
  Mat3 rotation(int node) const;
  void add_pin(const JointInfo& joint, AttachedMesh& picture) const;
  void add_rail(const JointInfo& joint, AttachedMesh& picture) const;
  void add_ball(const JointInfo& joint, AttachedMesh& picture) const;
  double radius_of_ball(std::initializer_list<int> nodes, const Vec3& x, double share) const;
  void add_line(int node_a, const Vec3& a, int node_b, const Vec3& b, AttachedMesh& picture) const;
  void add(const SurfaceMesh& mesh, int node, const Vec3& offset, const Mat3& R, AttachedMesh& picture) const;

  const Model& model_;
  double size_ = 0;  // extent of the bodies at the start
};

}  // namespace carom
