// Nodal masses: M applied to unit fields, element by element, including fixed components.
//
//   m_k = sum over elements of (M_e 1_c) at node k        field of a unit translation along c: the node's mass
//   J_k = the same for unit rotations                      its inertia (body axes), if elements do not couple nodes
// Translations are interpolated with shape functions that sum to one, so the sum of m_k is the total mass and the sum
// of m_k x_k the first moment.
#pragma once

#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct NodalMass {
  Vec3 mass = Vec3::Zero();  ///< one mass per direction: a linear bar has mass only along its axis
  Mat3 inertia = Mat3::Zero();

  /// The largest of the masses per direction.
  double largest() const { return mass.maxCoeff(); }
};

/// One entry per node, at the configuration q.
std::vector<NodalMass> nodal_masses(const System& system, In q);

}  // namespace carom
