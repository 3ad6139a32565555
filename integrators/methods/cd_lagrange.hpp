// CD-Lagrange: the explicit central-difference method with impacts at velocity level.
//
//   q_{n+1} = q_n o exp(h v_{n+1/2})
//   M (v_{n+3/2} - v_{n+1/2}) = h f(q_{n+1}, v_{n+1/2}, t_{n+1}) + G(q_{n+1})^T r            M lumped
//   0 <= G v_{n+3/2} + g_t + e min(0, G v_{n+1/2} + g_t)  perp  r >= 0      for contacts with g(q_{n+1}) <= 0
//   G v_{n+3/2} + g_t = 0                                                   for joints
//
// Contacts with friction have Coulomb's law between r_T and the slip velocity G_T v_{n+3/2} + g_t, with e_T of that
// before: the same cone, on velocities alone, since positions move with the velocities that the law has seen.
//
// Start: v_{1/2} = v_0 + h/2 M^-1 f_0. Di Stasio, Dureisseix, Gravouil et al. (2019), [BENCH19]; Fekak, Brun, Gravouil,
// Depale (2017). Rows move by g_t at the middle of the step. Contacts that touch at rest at the start are closed.
//
// With spectral radius rho_b < 1 at the bifurcation, f_int is replaced by a weighted mean of its last values:
//   (1 - alpha_m) A_{n+2} + alpha_m A_{n+1} = M^-1 f_int(q_{n+1}),
//   M (v_{n+3/2} - v_{n+1/2}) = h M [beta A_{n+2} + (1/2 + gamma - 2 beta) A_{n+1} + (1/2 - gamma + beta) A_n] + ...
//   alpha_m = (2 rho_b - 1)/(1 + rho_b),  gamma = 3/2 - alpha_m,  beta = (5 - 3 rho_b)/((1 + rho_b)^2 (2 - rho_b))
// which gives the positions of the explicit generalized-alpha method (Hulbert, Chung 1996) in a motion without
// contacts: order 2, dissipation of high frequencies. A root of the amplification reaches -1, the end of stability, at
//   (omega h)^2 = 2 (1 - 2 alpha_m)/(2 beta - gamma) = 12 (1 + rho_b)(2 - rho_b)/(10 - 5 rho_b + rho_b^2)
// The weights add up to 1, so internal forces still add up to nothing and momentum changes by the impulses r alone; the
// impact law is not touched.
//
// Contacts penetrate by up to h |v|; joints drift. Order 2 in smooth motions without velocity-dependent forces and
// joints, else 1. Symplectic with rho_b = 1 without damping.
#pragma once

#include "integrators/common/leapfrog.hpp"

namespace carom {

struct CdLagrangeOptions : LeapfrogOptions {
  double rho_bifurcation = 1;  ///< in [0, 1]; 1: central differences
};

class CdLagrange final : public Leapfrog {
 public:
  CdLagrange(const System& system, const CdLagrangeOptions& options);
  static MethodInfo method_info();
  bool initialise(State& state, double h, StepReport& report) override;

  /// Largest stable omega h for a spectral radius at the bifurcation.
  static double stability_limit(double rho_bifurcation);

 private:
  static constexpr std::size_t filtered = 3, filtered_before = 4;  // places in State::history: A_{n+1}, A_n
  double omega_h_limit() const override { return stability_limit(rho_); }
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  bool half_velocity_of(const State& start, double h);
  void list_rows(In q, double t, double h, const State& start, const StepScales& scales);
  void filter(const State& start, State& end);

  double rho_, alpha_m_, beta_, gamma_;
  Vector q_, q_ahead_, q_behind_, w_next_, offset_;  // offset_: of the rows' law, g_t and the reflected rate
  std::vector<std::uint8_t> closed_;
};

}  // namespace carom
