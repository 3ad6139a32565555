// Masses as the mechanics has them: M applied to unit fields, element by element, fixed components included.
//
//   m_k = sum over elements of (M_e 1_c) at node k        field of a unit translation along c: the node's mass
//   J_k = the same for unit rotations                      its inertia (body axes), where elements couple no two nodes
// so that the sum of m_k is the mass and the sum of m_k x_k its first moment, since translations are interpolated with
// shape functions that sum to one.
#pragma once

#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct NodalMass {
  Vec3 mass = Vec3::Zero();  ///< per direction; a linear bar has mass along itself only
  Mat3 inertia = Mat3::Zero();

  /// The mass of the node: that of the direction which has most.
  double largest() const { return mass.maxCoeff(); }
};

/// Per node, at the configuration q.
std::vector<NodalMass> nodal_masses(const System& system, In q);

}  // namespace carom
