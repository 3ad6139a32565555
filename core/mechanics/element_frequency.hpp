// The highest frequency of every block of elements, estimated element by element.
//
//   K_e x = omega^2 D_e x,   D_e = (lumped diagonal mass of the element's nodes) * |K_e,ii| / sum over the block |K_ii|
//
// Each element gets the share of its nodes' mass that equals its share of the block's stiffness there. The shares add
// up to the lumped mass. So the largest omega of a block is at least the highest frequency of the model with this block
// alone, lumped masses and no constraints; and the sum of omega^2 over the blocks is at least the highest omega^2 of
// the whole model (Rayleigh's quotient of a sum is at most the largest of the summands'; I. Fried, Bounds on the
// extremal eigenvalues of the finite element stiffness and mass matrices, J. Sound Vib. 22, 1972). The bound is exact
// for a uniform bar and for a mass on a spring. K_e is the symmetric part of the tangent at (q, 0, t) without damping.
// The stiffest element is the element with the highest frequency if it had all of its nodes' mass.
// Limits: a stiff part held by joints vibrates more slowly or not at all; components without mass count as fixed; only
// the diagonal of an inertia tensor counts.
#pragma once

#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct BlockFrequency {
  int block = 0;              ///< index into System::elements()
  int element = 0;            ///< the stiffest element of the block
  double omega = 0;           ///< upper bound for the block, rad per time; 0 if no element moves a mass
  int elements = 0;           ///< number of elements of the block
  int massless_elements = 0;  ///< number of elements with a component that has stiffness but no mass
};

/// One entry per block with stiffness, in the order of the blocks. Allocates memory.
std::vector<BlockFrequency> element_frequencies(const System& system, In q, double t);

/// An upper bound of the highest angular frequency of the model; 0 without stiffness. Allocates memory.
double frequency_bound(const System& system, In q, double t);

}  // namespace carom
