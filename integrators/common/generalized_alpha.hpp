// The generalized-alpha predictor and corrector shared by the nonsmooth and classical methods (Chung, Hulbert 1993;
// Arnold, Brüls 2007).
#pragma once

#include "core/base/types.hpp"

namespace carom {

struct GeneralizedAlpha {
  /// rho: spectral radius at infinity in [0, 1].
  explicit GeneralizedAlpha(double rho)
      : alpha_m((2 * rho - 1) / (rho + 1)),
        alpha_f(rho / (rho + 1)),
        gamma(0.5 + alpha_f - alpha_m),
        beta(0.25 * (gamma + 0.5) * (gamma + 0.5)) {}

  /// Of [SW24], eqs. 91-93: alpha_m = alpha_f = 0, gamma = 1, beta = 1/2. First order; v' and a of the step before play
  /// no part.
  static GeneralizedAlpha fully_implicit() {
    GeneralizedAlpha alpha(0);
    alpha.alpha_m = alpha.alpha_f = 0;
    alpha.gamma = 1;
    alpha.beta = 0.5;
    return alpha;
  }

  double alpha_m, alpha_f, gamma, beta;

  /// dv' = c_a dv
  double c_a(double h) const { return (1 - alpha_m) / ((1 - alpha_f) * gamma * h); }
  /// dd = c_q dv
  double c_q(double h) const { return h * beta / gamma; }
  /// a_{n+1} = a* + c_v v'_{n+1}
  double c_v() const { return (1 - alpha_f) / (1 - alpha_m); }

  /// a* from v'_n and a_n.
  void predict_a(In vd_n, In a_n, Out a_star) const {
    const double f = alpha_f / (1 - alpha_m), m = alpha_m / (1 - alpha_m);
    for (std::size_t i = 0; i < a_star.size(); ++i) a_star[i] = f * vd_n[i] - m * a_n[i];
  }

  /// d and v at the end of the step for given v'_{n+1}.
  void advance(double h, In v_n, In a_n, In a_star, In vd, Out d, Out v) const {
    const double cv = c_v(), h2 = h * h;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double a = a_star[i] + cv * vd[i];
      d[i] = h * v_n[i] + h2 * ((0.5 - beta) * a_n[i] + beta * a);
      v[i] = v_n[i] + h * ((1 - gamma) * a_n[i] + gamma * a);
    }
  }

  /// v'_{n+1} for d = 0.
  void accelerate(double h, In v_n, In a_n, In a_star, Out vd) const {
    for (std::size_t i = 0; i < vd.size(); ++i) {
      const double a = -(v_n[i] / h + (0.5 - beta) * a_n[i]) / beta;
      vd[i] = (a - a_star[i]) / c_v();
    }
  }

  /// a_n belongs to t_n + (alpha_m - alpha_f) h; after a change of the step it is moved there.
  static void rescale_a(double h_old, double h_new, In vd_n, Out a_n) {
    const double c = h_new / h_old;
    for (std::size_t i = 0; i < a_n.size(); ++i) a_n[i] = vd_n[i] + c * (a_n[i] - vd_n[i]);
  }
};

}  // namespace carom
