// The largest stable step of a central-difference method, at a state.
//
//   h^2 s K + 2 h C  <=  4 M      M lumped;  K = -Df, C = -df/dv at (q, v, t), without gyroscopic terms
//
// is the condition under which no motion of the linearised model grows; velocities in damping forces lag by half a
// step. s = 4/Omega_s^2 if the method is stable up to omega h = Omega_s (central differences: s = 1). The largest
// eigenvalue comes from Lanczos' method with products of K and C by central differences of the forces: nothing is
// assembled. Motions that joints prevent are projected out; contacts, which only stiffen what they touch within the
// obstacle, do not enter. Lanczos' values converge from below, within 1e-6 in a few dozen products; `guaranteed` is the
// bound from above by elements (core/mechanics/element_frequency.hpp), which may be far smaller than the largest stable
// step.
#pragma once

#include "core/base/types.hpp"
#include "core/mechanics/scales.hpp"

namespace carom {

class LumpedMass;
class System;

struct StableStep {
  double largest = 0;     ///< infinite without forces that depend on q or v
  double omega = 0;       ///< the highest angular frequency without damping
  double guaranteed = 0;  ///< by the element bound, without damping; infinite without stiffness
  int products = 0;       ///< of the matrix with a vector
};

StableStep stable_step(const System& system, const LumpedMass& mass, const Scales& scales, In q, In v, double t,
                       double omega_h_limit = 2);

}  // namespace carom
