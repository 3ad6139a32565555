// The intermediate gradient of a switch from rows G_- to rows G_+ (E in [0, 1]): interpolation between both in the
// metric of the masses, with the constraints G_b that stay inside of the metric.
//
//   C = M^-1 - M^-1 G_b^T (G_b M^-1 G_b^T)^+ G_b M^-1                    compliance
//   B_-^T (G_- C G_-^T) B_- = 1,  B_+^T (G_+ C G_+^T) B_+ = 1             B^+ B = 1, redundant rows drop out
//   Y diag(c_k) Z^T = svd(B_-^T G_- C G_+^T B_+)                          cosines of the principal angles
//   A_+ = E B_+ Z Z^T B_+^+,   A_- = (1 - E) B_- Y diag(s_k) Z^T B_+^+
//   G_E^T = G_-^T A_- + G_+^T A_+
//
// where E is 1 for what new constraints have more than the old ones (an impact without restitution), and old ones
// beyond the new ones drop out without a jump. s_k = 1, but for the largest angle s = -1 where otherwise the motion
// would not cross the surface at E = 1/2. For m = 1 and without G_b this is the intermediate gradient of [SW24],
// equation 45, times a = sqrt(G M^-1 G^T). E = 1: G_E = G_+ (Newton's impact with restitution zero); E = 1/2 conserves
// the kinetic energy if the new mode has no more constraints than the old one. The result does not depend on scaling,
// sign, order or combination of the rows.
#pragma once

#include <Eigen/Core>
#include <optional>

namespace carom {

/// What rows do in the metric: pairs of columns x_k, y_k with x^T y = G C G^T.
struct RowsInMetric {
  Eigen::MatrixXd x, y;    ///< such as C G^T and M C G^T, or twice L^-1 G^T less its part along G_b with M = L L^T
  Eigen::VectorXd length;  ///< sqrt(g M^-1 g^T) of each row, which tells redundant rows from short ones
};

struct SwitchedRows {
  RowsInMetric old_rows, new_rows, surface;  ///< G_-, G_+ and the gradient Z of z, one row
  Eigen::VectorXd new_rates;                 ///< G_+ v + g_t of the motion before the switch
  double surface_rate = 0;                   ///< Z v + z_t
  double E = 1;
  bool may_hold_surface = false;  ///< the new rows may hold the motion on the surface (a latch)
};

struct IntermediateGradient {
  Eigen::MatrixXd A_old, A_new;  ///< A_- and A_+
  double cosine = 1;             ///< of the largest principal angle, with its sign
  bool holds_surface = false;    ///< Z is a combination of the new rows
};

/// Nothing if no sign leads through the surface.
std::optional<IntermediateGradient> intermediate_gradient(const SwitchedRows& rows);

}  // namespace carom
