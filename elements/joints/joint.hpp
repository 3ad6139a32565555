// Joints as rows of two primitives. Every joint of the model file consists of coincidences, of orthogonalities, or of
// both.
//
// CoincidenceBlock: x_B - x_A = 0 for a point on A and a point on B (three rows, inertial components).
//   spherical joint; rigid link from a frame to a translational node; the translations of a fixed joint
// OrthogonalityBlock: (R_A alpha) . (R_B beta) = 0, with alpha fixed in A and beta fixed in B (one row each).
//   three such rows, a_2.b_3 = a_3.b_1 = a_1.b_2 = 0, hold two frames parallel: the rotations of a fixed joint
//   (the rows also vanish if one body is rotated by pi about a common axis: the model reader rejects such a start)
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
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< in body axes; for ground: the position itself
};

class CoincidenceBlock final : public ConstraintBlock {
 public:
  /// rotating: true if any node is a frame; otherwise the rows are linear.
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
  int node_a = -1, node_b = -1;                      ///< frame nodes; -1: ground
  Vec3 alpha = Vec3::UnitX(), beta = Vec3::UnitY();  ///< unit vectors, alpha in axes of A, beta in axes of B
  std::string holds{};  ///< the motion that the row prevents, such as "rotation x", for messages; may be empty
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

/// The three rows that keep the present orientation of frame B relative to frame A. They prevent rotations about the
/// axes x, y and z of A.
std::vector<Orthogonality> parallel_frames(int node_a, const Mat3& R_A, int node_b, const Mat3& R_B);

}  // namespace carom
