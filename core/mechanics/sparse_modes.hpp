// The lowest natural modes of large models, by sparse matrices; see natural_modes.hpp for the equations.
//
//   [K - sigma M, G^T; G, 0] [y; mu] = [M x; 0]        x -> y has the eigenvalues 1/(omega^2 - sigma)
//
// Lanczos' method with restarts (Spectra, Y. Qiu) finds the largest of them in the inner product of M. sigma < 0 is so
// small that the lowest modes are far apart, and so large that K - sigma M is positive definite on the motions that the
// rows allow; Cholesky factors of K - sigma M + c G^T G with a large c show this [Finsler], so no mode grows faster
// than sqrt(-sigma) unseen. What is found is projected out, and the method is repeated until it finds nothing lower: a
// frequency that occurs several times is found as often as it occurs. Motions without mass follow the others: M x has
// no part in their equations, so y fulfils them.
#pragma once

#include "core/mechanics/natural_modes.hpp"

namespace carom {

/// As natural_modes(). Precondition: system.size() > 0.
NaturalModes sparse_modes(const System& system, In q, double t, int count, double length);

}  // namespace carom
