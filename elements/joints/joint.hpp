// Joints as rows of two primitives; every joint of the model file is one or both of them.
//
// CoincidenceBlock: x_B - x_A = 0 for a point of each of two nodes (three rows, inertial components).
//   spherical joint; rigid link from a frame to a translational node; the translations of a fixed joint
// OrthogonalityBlock: (R_A alpha) . (R_B beta) = 0 for directions alpha, beta fixed in the bodies (one row each).
//   three such rows, a_2.b_3 = a_3.b_1 = a_1.b_2 = 0, hold two frames parallel: the rotations of a fixed joint
//   (also zero when the bodies are turned by pi about a common axis: a start there is refused by the reader)
// Either node may be ground. Reference: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989),
// ch. 9.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/body_point.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

struct Coincidence {
  std::string name = "joint";
  int node_a = -1, node_b = -1;                           ///< -1: ground
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< body axes; ground: the place itself
};

class CoincidenceBlock final : public ConstraintBlock {
 public:
  /// rotating: whether any of the nodes is a frame (otherwise the rows are linear).
  CoincidenceBlock(std::string name, std::vector<Coincidence> items, bool rotating);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }
  std::string row_name(int, int row) const override { return {"xyz"[row]}; }
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  std::vector<Coincidence> items_;
};

struct Orthogonality {
  std::string name = "joint";
  int node_a = -1, node_b = -1;                      ///< frames, or -1: ground
  Vec3 alpha = Vec3::UnitX(), beta = Vec3::UnitY();  ///< unit directions in A and in B
  std::string holds{};                               ///< "rotation x", for messages; may be empty
};

class OrthogonalityBlock final : public ConstraintBlock {
 public:
  OrthogonalityBlock(std::string name, std::vector<Orthogonality> items);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  std::string item_name(int item) const override { return items_[static_cast<std::size_t>(item)].name; }
  std::string row_name(int item, int) const override { return items_[static_cast<std::size_t>(item)].holds; }
  Place place(int item, int row, const ConstraintInput& in) const override;

 private:
  struct Geometry;
  Geometry geometry(const ConstraintInput& in, int item) const;

  std::vector<Orthogonality> items_;
};

/// The three rows that keep frame B's orientation relative to frame A's as it is now; they hold the rotations about the
/// axes x, y and z of A.
std::vector<Orthogonality> parallel_frames(int node_a, const Mat3& R_A, int node_b, const Mat3& R_B);

}  // namespace carom
