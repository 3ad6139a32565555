// The Paoli-Schatzman method, and Carpenter's explicit one as its case without restitution: central differences with
// constraints at position level.
//
//   M (q_{n+1} - 2 q_n + q_{n-1})/h^2 = f_n + G^T lambda_n                                       M lumped
//   0 <= g(q_e)  perp  lambda_n >= 0,   q_e = (q_{n+1} + e q_{n-1})/(1 + e)   for contacts (Carpenter: e = 0)
//   g(q_{n+1}) = 0                                                            for joints
//
// G of contacts is taken at q* = 2 q_n - q_{n-1} + h^2 M^-1 f_n, that of joints at q_n, which keeps angular momentum.
// Paoli, Schatzman (2002), in the form of Acary (2013) and Di Stasio, Dureisseix, Gravouil et al. (2019), [BENCH19];
// Carpenter, Taylor, Katona (1991). Gaps that are not linear take a chord iteration. Obstacles move in q_e too: their
// time is (t_{n+1} + e t_{n-1})/(1 + e). Start: q_{-1} = q_0 - h v_0 + h^2/2 M^-1 f_0, with the reactions of joints and
// of contacts that rest.
//
// No contact of e = 0 penetrates; others by O(h) within an impact. Impacts with e > 0 give energy of either sign, O(h).
// The velocity of a state is v_{n+1/2} + h/2 a_{n+1}, before the impulses that act at t_{n+1} in the next step.
// Only nodes without rotation.
#pragma once

#include "integrators/common/leapfrog.hpp"

namespace carom {

class PaoliSchatzman final : public Leapfrog {
 public:
  enum class Variant { paoli_schatzman, carpenter };
  PaoliSchatzman(const System& system, Variant variant, const LeapfrogOptions& options);
  static MethodInfo method_info(Variant variant);
  std::vector<Objection> objections(const State& start, double h) override;
  bool initialise(State& state, double h, StepReport& report) override;

 private:
  // places in State::history: M^-1 f_n; work of impulses without what moving obstacles give, so far and in the impact
  // that lasts; reactions
  static constexpr std::size_t smooth = 3, row_work = 4, reactions = 5;
  bool advance(const StepScales& scales, const State& start, State& end, StepReport& report) override;
  double restitution(int row) const;
  /// A contact penetrates at the start of the step.
  bool penetrates(const State& start);
  /// An impact lasts that has begun before this step.
  static bool strikes(const State& start) { return start.history[row_work].values[1] != 0; }
  void measure(const State& start, double h, double t, In w);
  double driven_work(const State& start, double h);
  bool find_impulses(const StepScales& scales, const State& start, StepReport& report);

  Vector restitutions_;  // the different ones
  Vector q_, q_row_, q_star_, v_start_, a_start_, w_free_, other_;
  Vector gap_;  // of the rows at q_e, rows() entries
  std::vector<std::uint8_t> closed_;
};

}  // namespace carom
