// The problems of the decoupled method's position correction and velocity jump, for its own files.
#pragma once

#include "core/base/vector_ops.hpp"
#include "integrators/common/tangent_pair.hpp"
#include "integrators/methods/nsga_decoupled.hpp"

namespace carom {

struct NsgaDecoupled::Correction : MixedProblem {
  Correction(NsgaDecoupled& method, const MeanDirections& directions)
      : m(method), system(method.system()), mean(directions), x(at(system.size()), 0.0), reaction(x) {}

  // Begins with x = 0, or with what impacts in the step have given.
  void begin(const Vector* value) {
    given = value;
    moved = given != nullptr;
    if (moved)
      copy(*given, x);
    else
      set_zero(x);
  }

  // M (x - given) - F^T s, and the norms of both terms; M x is not evaluated while x is zero
  double momentum(In q_M, In s, Out r) {
    set_zero(reaction);
    if (m.mean_directions_) {
      at_start.assign(s.size(), 0.0);
      copy(s, m.s_);
      mean.split(system, m.q_, m.t_, m.s_, at_start);
      system.add_reactions(m.q_, m.t_, m.s_, all_rows, reaction, &m.step_);
      system.add_reactions({m.step_.q, m.q_.size()}, m.step_.t, at_start, contact_rows, reaction, &m.step_);
      if (mean.joints != nullptr) mean.joints->add(system, m.q_, m.t_, m.step_, mean.share, s, reaction);
    } else {
      system.add_reactions(m.q_, m.t_, s, all_rows, reaction, &m.step_);
    }
    scale_into(-1.0, reaction, r);
    double terms = term_size(reaction);
    if (!spent.empty()) {
      axpy(1.0, spent, r);
      terms += term_size(spent);
    }
    if (!moved) return terms;
    if (given != nullptr) combine(1.0, x, -1.0, *given, m.x_);
    system.mass_times(q_M, given != nullptr ? m.x_ : x, m.Mx_);
    axpy(1.0, m.Mx_, r);
    return terms + term_size(m.Mx_);
  }
  // Where x begins with what is given, reactions among s have acted already.
  void spend(In q_M, In s) {
    Vector r(x.size());
    momentum(q_M, s, r);
    scale_into(-1.0, r, r);
    spent = std::move(r);
  }

  // The radii of joints under the integral over the step, with weights of the smooth reactions at its ends, and s.
  void limits(In s, std::span<const int> joints, double start, double end, double duration, double t, Out limits) {
    const std::size_t n_b = at(system.bilateral());
    copy(s.first(n_b), Out(m.s_).first(n_b));
    axpy(end, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
    load_at_start.resize(n_b);
    scale_into(start, m.lambda_n_, load_at_start);
    for (std::size_t j = 0; j < joints.size(); ++j)
      limits[j] = system.friction_limit(joints[j], m.q_, m.s_, {m.step_.q, m.q_.size()}, load_at_start, duration, t);
  }
  double term_size(In term, double weight = 1) const { return size(system, term, m.scales().length, weight); }
  const MeanDirections* directions() const { return m.mean_directions_ ? &mean : nullptr; }

  NsgaDecoupled& m;
  const System& system;
  const MeanDirections& mean;
  Vector x, reaction;
  Vector at_start;  // multipliers of directions at the start of the step
  Vector load_at_start;
  JointTurn turn;
  const Vector* given = nullptr;  // of impacts in the step; null: zero
  bool moved = false;             // x is not zero
  bool forces = true;             // f_p, or f_*, acts
  Vector spent;                   // F^T s of these; empty: none
};

struct NsgaDecoupled::Position final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    system.gaps(m.q_, m.t_, all_rows, c, &m.step_);
    if (!m.anchors_.empty()) subtract_anchors(system, m.anchors_, m.q_, m.t_, m.step_, c);
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.smooth_.q(), s, r);
    if (!moved || !forces || !m.options_.force_corrections) return terms;
    const Vector& f_p = m.force_correction(velocity(), false);
    const double c = force_weight();
    axpy(-c, f_p, r);
    return terms + term_size(f_p, c);
  }
  // Beside friction, which forces limit, and where contacts press on dampers, x has to be the displacement of forces:
  // one that is constant over the step gives x = h^2/2 f_p and the velocity 2 x/h. The paper's h^2 f_p, at v~, is for
  // impulses at the start of the step.
  double force_weight() const { return m.by_forces_ ? m.h_ * m.h_ / 2 : m.h_ * m.h_; }
  const Vector& velocity() {
    if (!m.by_forces_ || !system.velocity_dependent()) return m.smooth_.v();
    combine(1.0, x, given != nullptr ? -1.0 : 0.0, given != nullptr ? *given : x, m.v_p_);
    combine(1.0, m.smooth_.v(), 2 / m.h_, m.v_p_, m.v_p_);
    return m.v_p_;
  }
  RowPoint row_point() override { return {m.q_, m.T_ = m.tangent_operators(x), directions(), true}; }
  void friction_limits(In s, std::span<const int> joints, Out radii) override {
    const double h = m.h_, tau = m.last_impact(), rest = 1 - tau, end = 1.0 / 6 - tau * tau * (1.0 / 2 - tau / 3);
    limits(s, joints, h * h * rest * rest * rest / 3, h * h * end, h * h * rest * rest / 2,
           m.step_.t + h * (tau + rest / 3), radii);
  }
  // M(q~) - c (D_q f T(U) + 2/h D_v f) - (D(G^T xi) + c D(G_b^T lambda~)) T(U), c = h^2, or h^2/2 with D_v f
  void linearise(In s, Linearisation& S) override {
    const std::size_t n_b = at(system.bilateral());
    S.c_M = S.c_s = 1;
    S.c_K = forces && m.options_.force_corrections ? force_weight() : 0;
    S.c_C = forces && m.options_.force_corrections && m.by_forces_ ? m.h_ : 0;
    copy(s, m.s_);
    if (m.mean_directions_) mean.split(system, m.q_, m.t_, m.s_);
    axpy(S.c_K, m.smooth_.multipliers().first(n_b), Out(m.s_).first(n_b));
    // the smooth reactions of old rows are small beside those of the switch: their bending is left out
    m.switches_.for_switched_rows([&](int row) { m.s_[at(row)] = s[at(row)]; });
    S.s = m.s_.data();
    S.q_M = m.smooth_.q().data();
    S.q = m.q_.data();
    S.v = velocity().data();
    S.rows_through_T = true;
    S.T = m.T_;
  }
  bool move(double share, In dU) override {
    axpy(share, dU, x);
    turn.note_move();
    system.retract(m.smooth_.q(), x, m.q_);
    moved = true;
    m.correction_known_ = false;
    if (!m.options_.force_corrections || m.position_.setup().linear) return true;
    return all_finite(m.force_correction(velocity(), false));
  }
};

struct NsgaDecoupled::Velocity final : Correction {
  using Correction::Correction;
  void rows(Out c) override {
    if (system.bilateral() > 0) system.rates(m.q_, m.v_, m.t_, bilateral_rows, c, &m.step_);
    // the three rows of a contact with friction at once
    const bool all = m.position_.friction() != nullptr;
    if (all) system.rates(m.q_, m.v_, m.t_, law_rows, c, &m.step_);
    for (const int row : m.position_.active_rows())
      c[at(row)] = (all ? c[at(row)] : system.row_rate(row, m.q_, m.v_, m.t_, &m.step_)) + m.reflected_[at(row)];
  }
  // f_* vanishes as long as neither q nor, where forces depend on it, v has changed
  bool has_force() const {
    return forces && m.options_.force_corrections && (m.U_->moved || (moved && system.velocity_dependent()));
  }
  double residual(In s, Out r) override {
    const double terms = momentum(m.q_, s, r);
    if (!has_force()) return terms;
    const Vector& f = m.force_correction(m.v_, !system.constant_mass());
    axpy(-m.h_, f, r);
    return terms + term_size(f, m.h_);
  }
  RowPoint row_point() override { return {m.q_, nullptr, directions()}; }
  void friction_limits(In s, std::span<const int> joints, Out radii) override {
    if (frictionless) return set_zero(radii);
    const double h = m.h_, tau = m.last_impact(), rest = 1 - tau;
    if (forces)
      return limits(s, joints, h * rest * rest / 2, h * (1 - tau * tau) / 2, h * rest, m.step_.t + h * (tau + rest / 2),
                    radii);
    // parts behind the surface of a switch: impulses alone
    if (spent.empty()) return limits(s, joints, 0, 0, 0, m.t_, radii);
    pressing.assign(loads.begin(), loads.end());
    axpy(1.0, s.first(pressing.size()), pressing);
    limits(pressing, joints, 0, 0, 0, m.t_, radii);
  }
  void linearise(In, Linearisation& S) override {
    S.c_M = 1;
    S.c_C = forces && m.options_.force_corrections ? m.theta_ * m.h_ : 0;
    S.q_M = S.q = m.q_.data();
    S.v = m.v_.data();
  }
  bool move(double share, In dW) override {
    axpy(share, dW, x);
    turn.note_move();
    axpy(share, dW, m.v_);
    moved = true;
    m.correction_known_ = m.correction_known_ && !system.velocity_dependent();
    return true;
  }

  bool frictionless = false;  // joints have no friction
  In loads;                   // impulses of bilateral rows before, by which friction of joints is limited
  Vector pressing;
};

}  // namespace carom
