// Contact between two spheres, each attached to a node.
//
//   g = |x_B - x_A| - (r_A + r_B),  n = (x_B - x_A)/|x_B - x_A|,  G = n^T [-J_A, J_B]
//   D(G^T s) = s ([-J_A, J_B]^T H [-J_A, J_B] + geometric terms of J_A, J_B),  H = (1 - n n^T)/|x_B - x_A|
//
// With friction, two tangential rows along t_1, t_2 (tangent_basis.hpp). Both spheres touch in one point, at the
// distances l_A = (|x_B - x_A| + r_A - r_B)/2 and l_B = |x_B - x_A| - l_A from the centres, so that the forces of
// friction have no moment also when the spheres overlap a little:
//   G_T v = t . (x_B' - x_A' - (l_A omega_A + l_B omega_B) x n)
//   s_T   = t . (dx_B - dx_A - (l_A psi_A + l_B psi_B) x n)    of the step: dx: displacements, psi: rotations, inertial
// With resistance, three more rows along a = t_1, t_2 (rolling) and n (pivoting), multiplied by a length L, the lever:
//   G v = L a . (omega_B - omega_A),   of the step: L a . (psi_B - psi_A)
#pragma once

#include <string>
#include <vector>

#include "contact/gap/contact_rows.hpp"
#include "core/mechanics/body_point.hpp"
#include "core/mechanics/constraint_block.hpp"

namespace carom {

struct SpherePair {
  std::string name;
  int node_a = 0, node_b = 0;
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< centres in body axes
  double radius_a = 0, radius_b = 0;
  double restitution = 0;
  double friction = 0;  ///< mu; above zero for all pairs of a block or for none
  double tangential_restitution = 0;
  double rolling = 0, pivoting = 0;  ///< k_r, k_p: lengths; one above zero for all pairs of a block or none
  double lever = 0;                  ///< L > 0 of pairs with resistance
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
  std::string row_name(int, int row) const override { return contact_row_name(row); }
  Place place(int item, int row, const ConstraintInput& in) const override;
  Turn tangent_turn(int item, const ConstraintInput& in) const override;

  std::string missed_contact(const ConstraintInput& start, const ConstraintInput& end,
                             double closing_turn) const override;

  /// The first pair whose centres are at one place, so that the contact has no direction; -1 without any. Rates and
  /// gradients of such pairs are NaN, so that a step that leads there is refused.
  int undirected(const ConstraintInput& in) const;

  const std::vector<SpherePair>& pairs() const { return pairs_; }

 protected:
  /// Some items may have no pair: their nodes are -1 and their gap is `far`.
  SphereContactBlock(std::string name, std::vector<SpherePair> pairs, double far);

  std::vector<SpherePair> pairs_;

 private:
  struct Geometry;
  struct Friction;
  Geometry geometry(const ConstraintInput& in, int item) const;
  // Tangential rows. `place`: of the item in the range of an evaluation.
  void evaluate_slip(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                     const ConstraintValues& values) const;
  // Tangential rows and rows of resistance of a step that ends with the geometry g.
  struct StepMotion;
  void evaluate_step(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                     const ConstraintValues& values) const;
  void evaluate_displacement(std::size_t place, const StepMotion& step, const Geometry& g,
                             const ConstraintValues& values) const;
  void evaluate_rotation(std::size_t place, const StepMotion& step, const Geometry& g,
                         const ConstraintValues& values) const;
  // Rows of resistance.
  void evaluate_spin(int item, std::size_t place, const ConstraintInput& in, const Geometry& g,
                     const ConstraintValues& values) const;
  bool paired(int item) const { return pairs_[static_cast<std::size_t>(item)].node_a >= 0; }

  double far_ = 0;
};

}  // namespace carom
