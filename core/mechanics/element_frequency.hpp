// The highest frequency of every block of elements, estimated element by element.
//
//   K_e x = omega^2 D_e x,   D_e = (lumped diagonal mass of the element's nodes) * |K_e,ii| / sum over the block |K_ii|
//
// Each element gets the part of its nodes' mass that corresponds to its part of the block's stiffness there. The parts
// add up to the lumped mass, so the largest omega of a block is not below the highest frequency that the block alone
// gives the model with lumped masses and free of constraints, and the sum of omega^2 over the blocks is not below that
// of the whole model (Rayleigh's quotient of a sum is at most the largest of the summands'; I. Fried, Bounds on the
// extremal eigenvalues of the finite element stiffness and mass matrices, J. Sound Vib. 22, 1972). Exact for a uniform
// bar and for a mass on a spring. K_e is the symmetric part of the tangent at (q, 0, t), damping left out. The stiffest
// element is the one with the highest frequency when it has all of its nodes' mass to itself.
// Limits: a stiff part held by joints vibrates slower or not at all; components without mass are taken as held;
// of an inertia tensor only the diagonal counts.
#pragma once

#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct BlockFrequency {
  int block = 0;                  ///< index into System::elements()
  int element = 0;                ///< the stiffest of the block
  double omega = 0;               ///< bound of the block, rad per time; 0 if no element moves a mass
  int elements = 0;               ///< of the block
  int has_massless_equation = 0;  ///< elements with an end that has stiffness but no mass
};

/// One entry per block with stiffness, in their order. q has configuration_size() entries; allocates.
std::vector<BlockFrequency> element_frequencies(const System& system, In q, double t);

}  // namespace carom
