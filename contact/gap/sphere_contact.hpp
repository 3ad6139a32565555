// Contact between two spheres, each attached to a node.
//
//   g = |x_B - x_A| - (r_A + r_B),  n = (x_B - x_A)/|x_B - x_A|,  G = n^T [-J_A, J_B]
//   D(G^T s) = s ([-J_A, J_B]^T H [-J_A, J_B] + geometric terms of J_A, J_B),  H = (1 - n n^T)/|x_B - x_A|
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/body_point.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

struct SpherePair {
  std::string name;
  int node_a = 0, node_b = 0;
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< centres in body axes
  double radius_a = 0, radius_b = 0;
  double restitution = 0;
};

class SphereContactBlock : public ConstraintBlock {
 public:
  SphereContactBlock(std::string name, std::vector<SpherePair> pairs);

  void evaluate(Range range, const ConstraintInput& in, const ConstraintValues& values) const override;
  void add_reaction(Range range, const ConstraintInput& in, const double* s, double* f) const override;
  void add_reaction_gradient(Range range, const ConstraintInput& in, const double* s, double c,
                             double* A) const override;
  ContactParameters law(int item, int row) const override;
  std::string item_name(int item) const override { return pairs_[static_cast<std::size_t>(item)].name; }
  Place place(int item, int row, const ConstraintInput& in) const override;

  std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end) const override;

  /// The first pair whose centres are at one place, so that the contact has no direction; -1 without any. Rows of such
  /// pairs are no numbers, so that a step that leads there is refused.
  int undirected(const ConstraintInput& in) const;

  const std::vector<SpherePair>& pairs() const { return pairs_; }

 protected:
  /// Some items may have no pair: their nodes are -1 and their gap is `far`.
  SphereContactBlock(std::string name, std::vector<SpherePair> pairs, double far);

  std::vector<SpherePair> pairs_;

 private:
  struct Geometry;
  Geometry geometry(const ConstraintInput& in, int item) const;
  bool paired(int item) const { return pairs_[static_cast<std::size_t>(item)].node_a >= 0; }

  double far_ = 0;
};

}  // namespace carom
