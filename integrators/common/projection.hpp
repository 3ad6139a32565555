// Projection of a state onto the constraints, in the metric of the mass matrix.
//
//   positions    min 1/2 d^T M d   with   g_b(q o exp d) = 0,  g_u(q o exp d) >= 0
//                T(d)^-T M d = G^T nu,   nu_u >= 0  perp  g_u >= 0
//   velocities   min 1/2 w^T M w   with   G_b (v + w) + g_t = 0:   M w = G_b^T mu
//
// Positions by Newton on the saddle point [H - D(G^T nu), -G^T; G, 0] in the tangent space of the present q, with
// H = D(T(d)^-T M d) T(d)^-1; where that does not converge, with M alone. Contacts that penetrate are lifted until they
// touch. Velocities leave contacts alone: an approaching contact is an impact, not a wrong state. Redundant rows and
// components without mass are allowed as in SaddlePoint; M is taken at the given q.
// Limits: the constraints must be solvable near the given positions; rotations of a node stay below pi.
#pragma once

#include "core/mechanics/scales.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

struct ProjectionReport {
  bool converged = true;
  const char* reason = "";  ///< when it did not converge
  int iterations = 0;       ///< 0: the state fits and was left as it is, to the bit
  double residual = 0;      ///< largest |g| or |g'| at the end
  int worst_row = -1;       ///< the row that has it; -1 without rows
  int singular = -1;        ///< after a singular matrix: an equation, or size() + a bilateral row; -1 if unknown
  double translation = 0;   ///< largest length (or speed) by which a node's translation was changed
  double rotation = 0;      ///< largest angle (or angular velocity) by which a frame was turned
};

/// Moves q (configuration_size() entries) at time t onto the bilateral rows and out of the unilateral ones. Nothing is
/// changed when all gaps, measured as row_weights() says, are within 1e-12 of the length scale (and rounding) of what
/// they must be, nor when it fails.
ProjectionReport project_positions(const System& system, const Scales& scales, double t, Vector& q);

/// Changes v (per equation) so that the bilateral rows keep their rates at (q, t). Tolerances as above, by the speed.
ProjectionReport project_velocities(const System& system, const Scales& scales, In q, double t, Vector& v);

}  // namespace carom
