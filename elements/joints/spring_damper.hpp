// Springs with dampers between two points on frames, on translational nodes or on ground.
//
//   N = k (l - l_0) + c l',   l = |x_B - x_A|,   force N n on A and -N n on B, n = (x_B - x_A)/l
//
// The tangents include the rotation of the attachment points and of n. With l_0 = 0 the spring may pass through l = 0;
// the force is then k (x_B - x_A). With l_0 > 0 the direction n is undefined at l = 0, and the force is set to zero.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/body_point.hpp"
#include "core/mechanics/element_block.hpp"

namespace carom {

struct SpringDamper {
  int node_a = -1, node_b = -1;                           ///< -1: ground
  Vec3 offset_a = Vec3::Zero(), offset_b = Vec3::Zero();  ///< in body axes; for ground: the position itself
  double stiffness = 0;                                   ///< k, force per length
  double damping = 0;                                     ///< c, force per velocity
  double natural_length = 0;                              ///< l_0
  std::string name = "spring";
};

class SpringDamperBlock final : public ElementBlock {
 public:
  SpringDamperBlock(std::string name, std::vector<SpringDamper> springs);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range, const ElementInput&, const double*, MassKind, double*) const override {}
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;
  double roundoff_force(double length_scale) const override;
  std::string item_name(int item) const override { return springs_[static_cast<std::size_t>(item)].name; }

 private:
  struct Geometry;
  Geometry geometry(const ElementInput& in, int element) const;

  std::vector<SpringDamper> springs_;
};

}  // namespace carom
