// LocatedImpacts: the impacts within a step of the decoupled method, found on its smooth motion.
//
// The published method gives an impact to the end of the step, which is of first order. Here the instant is found on
// cubic Hermite interpolations of the smooth motion, s in [0, 1] being the time in the step over h,
//
//   q(s) = q_n o exp(d(s)),   d: 0, h v_n at s = 0 and d, h T(d)^-1 v~ at s = 1,   v(s) = T(d(s)) d'(s)/h
//   c_j(s): the gap of contact j from its values and rates at both ends
//
// and the impact is solved there, one after the other:
//
//   M dV = G^T P + G_b^T P_b,   G_b dV = 0,   0 <= u+ + e u- perp P >= 0        at q(tau) o exp(shift)
//
// with the shift sum (tau - tau_i) h dV_i of earlier impacts, which also move the gaps: c_k += (s - tau) h G_k dV. An
// impact at tau moves the end of the step by (1 - tau) h dV: the position problem begins with U_0 = sum (1 - tau_i) h
// dV_i, the velocity problem with W_0 = sum dV_i. Contacts that were closed at t_n take part: their force from the
// last impact to tau is an impulse first, so that a contact which an impact releases has pressed until then. A contact
// whose bounces accumulate within the step, 2 e|u-|/(c (1 - e)) <= (1 - tau) h with c = -c_j''(tau)/h^2, comes to rest.
//
// Friction of joints, which the smooth motion does not know, acts in both. From the last impact at s_0 to tau it is an
// impulse with the limit of the reactions over this time, which enters the gaps as a constant force does,
// c_j += (s - s_0)^2/(2 (tau - s_0)) h G_j dV, so that it delays the instant or prevents the impact; tau is found by
// repetition. In the impact its limit is that of the impulses of the joint in this impact.
//
// `elements` = false leaves more to the published law: models with more than most_bodies bodies in contacts, or
// more than most_in_pairs in contacts with each other, since an impact costs the solution of a problem with all closed
// contacts and heaps have many impacts in a step; and, in models with bars, beams or solids, bodies that joints or
// springs hold, because with small spectral radius elements overshoot behind an impact that the step does not resolve.
//
// A step in which the direction of a contact turns too far (missed_contact) is refused, since the cubic of its gap
// would be far from the gap, and so is a step in which a contact bounces more than most_bounces times without coming to
// rest.
//
// Left to the published law: contacts of bodies for which the step is too coarse, c_a G S^-1 G^T < 0.8 G M^-1 G^T with
// the matrix S of the smooth motion, whose location would let stiff elements chatter; and contacts of the nodes of
// bars, beams and solids, all of them or, if asked, those without restitution.
#pragma once

#include "integrators/common/instant_problems.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

class LocatedImpacts {
 public:
  static constexpr int most_bodies = 20, most_in_pairs = 10;
  /// `elements`: contacts with restitution of the nodes of elements are located too. `index`: place of the sub-problem
  /// "impact" in StepReport::subproblems; `scratch`: see MixedNewton.
  LocatedImpacts(const System& system, const NewtonOptions& newton, const Scales& scales, bool elements, int index,
                 Vector* scratch);
  /// Contacts may be located: every equation has a mass, and there are contacts that are not left to the published law.
  static bool applies(const System& system, bool elements);
  /// No contact is left to the published law, neither because of its kind nor in steps that are too coarse for it.
  static bool takes_all(const System& system, bool elements);

  /// An impact, with the contact forces of the contacts closed before, at one instant. With friction of joints these
  /// forces and this friction since the last impact come first, as a jump of their own.
  struct Impact {
    double tau = 0;                             ///< of the instant, over h
    Vector q, v_before, v_after;                ///< there
    Vector impulses;                            ///< rows() entries
    std::vector<std::uint8_t> closed, resting;  ///< contacts with an impulse, and contacts closed after the impact
  };

  /// Finds the impacts of the step from `start`, whose active contacts are closed, along the smooth motion. False with
  /// a report if an impact has no solution.
  bool find(const StepScales& scales, const State& start, SmoothMotion& smooth, StepReport& report);
  /// Adds what the impacts change in v', a and lambda at the end (q, v) of the step to `end`: D and dl of
  ///   M D - G_b^T dl = f(q, v) - f(q, v~),   G_b D + h_b(q, v) - h_b(q, v~) = 0
  /// False if the matrix is singular.
  bool correct_acceleration(const StepScales& scales, In q, In v_smooth, In v, State& end);
  /// The last step had impacts.
  bool any() const { return count_ > 0; }
  std::span<const Impact> impacts() const { return {impacts_.data(), count_}; }
  /// U_0 and W_0, size() entries; theta = sum w_i (1 - tau_i)/sum w_i, w_i = dV_i . M dV_i: the share of the step after
  /// the impacts.
  const Vector& position() const { return U_; }
  const Vector& velocity() const { return W_; }
  double theta() const { return theta_; }
  /// Per conditional row: the contact was hit in the last step.
  bool hit(int i) const { return hit_[at(i)] != 0; }
  /// The sums of all impulses, rows() entries.
  const Vector& impulses() const { return impulses_; }

  MixedNewton& solver() { return newton_; }

 private:
  /// bound: elements or joints hold the body; the step may be too coarse to locate the impact (leave_coarse).
  enum class Kind : std::uint8_t { published, free, bound };
  static std::vector<Kind> kinds(const System& system, bool elements);
  /// A contact along the step: a cubic in s. Angles are lengths at the length scale.
  struct Gap {
    double c[4];
    double at_end() const { return c[0] + c[1] + c[2] + c[3]; }
    double slope_at_end() const { return c[1] + 2 * c[2] + 3 * c[3]; }
    double acceleration(double s) const { return 2 * c[2] + 6 * c[3] * s; }
    double first_fall(double s_0, bool touches, double rounding) const;  // infinity: never
  };
  double h() const { return scales_->h; }
  /// By which the gap of a conditional row is multiplied to be a length.
  double lever(std::size_t i) const { return 1 / newton_.weight(system_->bilateral() + static_cast<int>(i)); }
  void leave_coarse(SmoothMotion& smooth, StepReport& report);
  void interpolate(const SmoothMotion& smooth);
  double next(double s_0, double rounding, bool at_end = true);
  bool delay(double s_0, double rounding, double& tau, StepReport& report);
  void place(double tau);
  int strike(double tau);
  Impact& begin_impact(double tau);
  void end_impact(Impact& impact);
  void note_closed(Impact& impact);
  bool solve(StepReport& report);
  void jump(double since, Impact& impact);
  void set_load(double s_0, double s_1);

  const System* system_;
  MixedNewton newton_;
  ImpactProblem problem_;
  const StepScales* scales_ = nullptr;
  const State* start_ = nullptr;
  In lambda_;  // smooth reactions at the end of the step
  bool joint_friction_;
  State at_;                 // the instant: q, v, t
  std::vector<Kind> kinds_;  // of conditional rows
  std::vector<Gap> gaps_, free_gaps_;
  Vector falls_, free_falls_;  // of each contact, s; free: without reactions
  Vector d_0_, d_2_, d_3_;     // coefficients of d(s)
  TangentOperators T_;
  double theta_ = 1, weight_ = 0, load_duration_ = 0, load_middle_ = 0;
  Vector U_, W_, drift_;  // drift: sum tau_i dV_i
  Vector rate_, rate_before_, reflected_, impulses_, shift_, load_, x_, y_;
  SparseRow G_;
  std::vector<std::uint8_t> resting_, rested_, closed_, striking_, last_, pressing_, hit_, coarse_;
  std::vector<int> hits_;     // of a contact in this step
  std::size_t bouncing_ = 0;  // contacts with restitution
  std::vector<Impact> impacts_;
  std::size_t count_ = 0;
};

}  // namespace carom
