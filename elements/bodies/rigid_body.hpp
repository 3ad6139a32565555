// Rigid bodies: each body has one frame node at its centre of mass.
//
//   M = diag(m 1, J) constant,   f_gyr = (0, Omega x J Omega)
//
// x' is inertial; Omega and J are in the body frame, J about the centre of mass. Points and frames elsewhere on the
// body are stored as offsets by the blocks that use them (core/mechanics/body_point.hpp). Reference: Géradin, Cardona,
// Flexible Multibody Dynamics.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/element_block.hpp"

namespace carom {

struct RigidBody {
  int node = 0;  ///< frame node
  double mass = 0;
  Mat3 inertia = Mat3::Zero();  ///< symmetric, about the centre of mass, body axes
};

class RigidBodyBlock final : public ElementBlock {
 public:
  RigidBodyBlock(std::string name, std::vector<RigidBody> bodies);

  void add_forces(Range range, const ElementInput& in, unsigned parts, double* f) const override;
  void add_mass_times(Range range, const ElementInput& in, const double* a, MassKind kind, double* f) const override;
  void add_tangent(Range range, const ElementInput& in, const ElementTangent& request, double* A) const override;
  Energies energies(Range range, const ElementInput& in) const override;

 private:
  std::vector<RigidBody> bodies_;
};

}  // namespace carom
