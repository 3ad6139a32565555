// The lowest natural frequencies and modes of small motions about a configuration.
//
//   K x = omega^2 M x  for all x with G x = 0,   K = symmetric part of D(-f - G^T lambda)
//
// f are all forces at rest, G the bilateral rows (joints and drivers hold), and lambda their reactions at rest: the
// least squares of f + G^T lambda = 0, where every equation is divided by the root of its own mass. About an
// equilibrium these reactions are exact, and the frequencies are those of small vibrations; elsewhere they are those of
// the tangent, and `imbalance` tells how far the forces are from equilibrium. The space of the rows is removed by a QR
// factorisation with pivoting, so redundant rows are allowed. Motions without mass follow the others without delay
// (static condensation). Equations are scaled by their own masses, so results do not depend on units.
//
// Limits: contacts, stops and other conditional rows are left out; so are damping and velocities (no gyroscopic
// terms), and the skew part of the tangent, which follower forces have (`asymmetry`): flutter is not found. Up to
// `most_equations` equations matrices are dense, beyond sparse (sparse_modes.hpp); models with more than
// `most_sparse_equations` are refused. Rounding errors hide frequencies below
// `resolution`: a motion below it counts as free.
#pragma once

#include <string>
#include <vector>

#include "core/mechanics/system.hpp"

namespace carom {

struct NaturalModes {
  static constexpr int most_equations = 600;  ///< of dense matrices
  static constexpr int most_sparse_equations = 30000;
  struct Mode {
    double omega_squared = 0;  ///< negative: the motion grows with the rate sqrt(-omega_squared)
    Vector shape;              ///< an increment of q, size() entries, x^T M x = 1; the largest entry is positive
  };
  std::string left_out;     ///< the reason why there are no modes; empty if they are known
  int motions = 0;          ///< motions with mass that the rows allow
  int massless = 0;         ///< motions without mass
  int free_motions = 0;     ///< motions with a frequency below the resolution
  double resolution = 0;    ///< smallest angular frequency that can be told from 0
  double asymmetry = 0;     ///< largest entry of the skew part of the tangent over the largest of K
  double imbalance = 0;     ///< |f + G^T lambda| over the sum of the norms of its parts and of what rounding may make
  std::vector<Mode> modes;  ///< the lowest that are not free, ascending
};

/// c_M M + c_K D(-f - G^T lambda) at rest, in the places of System::saddle_pattern(); lambda: rows() entries.
Vector small_motion_matrix(const System& system, In q, double t, double c_M, double c_K, In lambda);

/// Scales of the equations, x_i = scale_i y_i, such that the mass of y_i is 1, from the diagonals of M and K. An
/// equation without mass gets the stiffness that the stiffest equation with mass has; one without both, the mean scale
/// of its kind.
Vector equation_scales(const System& system, In mass, In stiffness);

/// A bound of the forces at rest that rounding of places leaves in the assembled forces: the norm of
/// scale_i sum_j |K_ij| L_j, times 1e-10, L_j = `length` of translations and 1 of rotations. K: values in the places of
/// System::saddle_pattern().
double rounding_of_forces(const System& system, In K, In scale, double length);

/// At most `count` modes. q: a configuration that fulfils the bilateral rows; `length`: of the model. Allocates memory.
NaturalModes natural_modes(const System& system, In q, double t, int count, double length);

}  // namespace carom
