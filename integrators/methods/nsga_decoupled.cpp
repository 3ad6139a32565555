#include "integrators/methods/nsga_decoupled.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
constexpr double rounding = std::numeric_limits<double>::epsilon();
// A correction beyond which the forces are no numbers (an element would be inverted) is halved, down to this.
constexpr double smallest_share = 1.0 / 256;

}  // namespace

NsgaDecoupled::NsgaDecoupled(const System& system, const NsgaOptions& options)
    : options_(options), alpha_(options.rho_infinity) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  for (Vector* x : {&a_star_, &a_n_, &vd_, &v_smooth_, &d_, &U_, &W_, &v_, &f_smooth_, &reaction_smooth_, &f_,
                    &reaction_, &Mx_, &f_correction_, &r_, &dx_, &mass_difference_})
    x->assign(n, 0.0);
  for (Vector* x : {&q_smooth_, &q_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&lambda_, &nu_b_, &impulse_b_, &dl_b_}) x->assign(at(system.bilateral()), 0.0);
  for (Vector* x : {&g_, &c_, &c_A_, &dl_A_, &s_, &rate_n_, &row_residual_}) x->assign(rows, 0.0);
  contacts_position_.resize(system.bilateral(), system.unilateral());
  contacts_velocity_.resize(system.bilateral(), system.unilateral());

  // one factorisation serves a linear system as long as h stays
  constant_[smooth] = constant_[velocity] = system.linear();
  constant_[position] = system.linear() && contacts_linear(system);
  // conjugate gradients may take the symmetric part of a matrix, as a quasi-Newton method
  const bool quasi = system.symmetrisable() && options.newton.method == NewtonMethod::automatic;
  const bool spd = (system.symmetric() || quasi) && system.bilateral() == 0 && !system.has_massless_equation();
  const bool flat = contacts_linear(system);
  const double length = options.scales.length;
  // where one solve is the solution it has to be exact
  const auto scratch = [&](Subproblem which) { return constant_[which] ? nullptr : &matrix_; };
  saddle_[smooth].analyse(system, {system.symmetric(), spd}, scratch(smooth), length);
  saddle_[position].analyse(system, {system.symmetric() && flat, spd && flat}, scratch(position), length);
  saddle_[velocity].analyse(system, {system.symmetric(), spd}, scratch(velocity), length);
  mass_alone_ = system.constant_mass() && !system.velocity_dependent() && system.bilateral() == 0;

  for (const Subproblem which : {smooth, position, velocity})
    newton_[which] = {options.newton, options.weight, constant_[which] || (which == velocity && mass_alone_)};

  noise_stiffness_ = system.roundoff_force(1.0);
  root_size_ = std::sqrt(static_cast<double>(std::max<std::size_t>(n, 1)));
}

bool NsgaDecoupled::initialise(const System& system, State& state, double h) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  state.acceleration.assign(n, 0.0);
  for (Vector* x : {&state.lambda, &state.nu, &state.impulse}) x->assign(rows, 0.0);
  state.active.assign(at(system.unilateral()), 0);
  state.closed.assign(at(system.unilateral()), 0);
  state.history = {{"a", Vector(n, 0.0)}};
  state.last_h = h;
  if (system.unilateral() > 0) mark_touching(system, state);

  Vector vd(n), lambda(at(system.bilateral()));
  if (!initial_acceleration(system, state.q, state.v, state.t, vd, lambda)) return false;
  // rows that are redundant where the bodies fit are so everywhere, though hidden where they fit only nearly
  if (saddle_[velocity].redundant())
    for (SaddlePoint& s : saddle_) s.expect_redundant();
  state.acceleration = vd;
  copy(lambda, Out(state.lambda).first(lambda.size()));
  Vector& a = state.history[0].values;
  a = vd;
  if (options_.initial_acceleration == InitialAcceleration::shifted) {
    // v' at t_0 + (alpha_m - alpha_f) h, from the state there to second order
    const double tau = (alpha_.alpha_m - alpha_.alpha_f) * h;
    Vector q = state.q, v = state.v, d(n);
    combine(tau, state.v, 0.5 * tau * tau, vd, d);
    system.retract(state.q, d, q);
    axpy(tau, vd, v);
    if (!initial_acceleration(system, q, v, state.t + tau, a, lambda)) return false;
  }
  v_smooth_ = v_ = state.v;
  q_smooth_ = q_ = state.q;
  moved_ = jumped_ = false;
  return true;
}

// Contacts that touch at rest from the start are known to the first step.
void NsgaDecoupled::mark_touching(const System& system, State& state) {
  const std::size_t n_b = at(system.bilateral());
  const double gap = 1e-9 * options_.scales.length, rate = 1e-9 * options_.scales.speed;
  system.gaps(state.q, state.t, RowSet::unilateral, g_);
  system.rates(state.q, state.v, state.t, RowSet::unilateral, c_);
  for (std::size_t i = 0; i < state.closed.size(); ++i)
    state.active[i] = std::abs(g_[n_b + i]) <= gap && std::abs(c_[n_b + i]) <= rate ? 1 : 0;
}

// M v' - G_b^T lambda = f,  G_b v' + h_b = 0
bool NsgaDecoupled::initial_acceleration(const System& system, In q, In v, double t, Vector& vd, Vector& lambda) {
  SaddlePoint& saddle = saddle_[velocity];
  factor_h_[velocity] = 0;
  Linearisation request;
  request.c_M = 1;
  request.q_M = request.q = q.data();
  request.v = v.data();
  request.t = t;
  request.row_scale = options_.scales.mass;
  if (!saddle.factorise(system, request)) {
    suspicious_row_ = saddle.suspicious_row();
    return false;
  }
  saddle.forget();
  system.forces(q, v, t, force_all, f_);
  scale_into(-1.0, f_, r_);
  system.biases(q, v, t, RowSet::bilateral, c_);
  saddle.set_active(system, {}, q, t, nullptr);
  const In c_b = In(c_).first(lambda.size());
  if (!saddle.iterative()) return saddle.solve(r_, c_b, {}, vd, lambda, {});
  // conjugate gradients are refined until rounding is left
  set_zero(vd);
  const double floor = 1e-15 * root_size_ * max_abs(r_);
  for (int k = 0; k < 10 && norm(r_) > floor; ++k) {
    if (!saddle.solve(r_, c_b, {}, dx_, lambda, {}, {1e-8, 0.1 * floor})) return false;
    axpy(1.0, dx_, vd);
    system.mass_times(q, vd, Mx_);
    combine(1.0, Mx_, -1.0, f_, r_);
  }
  return true;
}

StepReport NsgaDecoupled::step(const System& system, State& state, double h) {
  StepReport report;
  report.t = state.t;
  report.h = h;
  report.smallest_gap = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i)
    report.subproblems[at(i)].name = i == smooth ? "smooth" : i == position ? "position" : "velocity";

  // scales of roundoff and tolerances at this step
  const Scales& scale = options_.scales;
  report.speed = system.speed(state.v, scale.length);
  report.rotation = h * system.largest_angular_velocity(state.v);
  speed_ = std::max(scale.speed, report.speed);
  largest_position_ = std::max(scale.length, system.largest_position(state.q));
  noise_force_ = noise_stiffness_ * largest_position_;
  if (!std::isfinite(speed_) || !std::isfinite(largest_position_)) {
    set_zero(r_);
    fail(report, smooth, "the state is not finite");
    return report;
  }
  report.failed_item = system.undefined_formula(state.t + h);
  if (!report.failed_item.empty()) {
    set_zero(r_);
    fail(report, smooth, undefined_formula);
    return report;
  }

  // sub-problems are timed in every step of a large model, now and then in a small one, where the clock would count
  report.timed = system.size() > 2000 || steps_++ % 16 == 0;
  const auto now = [&] { return report.timed ? Clock::now() : Clock::time_point{}; };
  const auto begin = now();
  if (!solve_smooth_motion(system, state, h, report)) return report;
  const auto after_smooth = now();
  if (!correct_position(system, state, h, report)) return report;
  const auto after_position = now();
  if (!jump_velocity(system, state, h, report)) return report;
  commit(system, state, h, report);
  const auto end = now();
  report.seconds = {seconds(begin, after_smooth), seconds(after_smooth, after_position), seconds(after_position, end)};
  return report;
}

// ---- 1. smooth motion: unknowns v~, lambda~ of the bilateral constraints

// Where it is not found from the last acceleration, or with a matrix of the step before, it is looked for from none
// with a new one.
bool NsgaDecoupled::solve_smooth_motion(const System& system, const State& state, double h, StepReport& report) {
  if (find_smooth_motion(system, state, h, options_.newton.predictor, report)) return true;
  const bool from_zero = options_.newton.predictor == Predictor::zero;
  if (constant_[smooth] || (from_zero && !newton_[smooth].may_begin_with_old(saddle_[smooth].iterative())))
    return false;
  forget_failure(report);
  saddle_[smooth].forget();
  return find_smooth_motion(system, state, h, Predictor::zero, report);
}

bool NsgaDecoupled::find_smooth_motion(const System& system, const State& state, double h, Predictor predictor,
                                       StepReport& report) {
  SubproblemReport& sub = report.subproblems[smooth];
  const double t = state.t + h, c_a = alpha_.c_a(h), c_q = alpha_.c_q(h);
  const double k_s = options_.scales.mass / h, p_s = options_.penalty * k_s;
  const std::size_t n_b = lambda_.size();
  const double floor = 1e-14 * root_size_ * (noise_force_ + options_.scales.mass * speed_ / h);
  newton_[smooth].begin(sub, true);

  // predictor
  a_n_ = state.history[0].values;
  if (state.last_h != h) GeneralizedAlpha::rescale_a(state.last_h, h, state.acceleration, a_n_);
  alpha_.predict_a(state.acceleration, a_n_, a_star_);
  if (predictor == Predictor::previous) {
    vd_ = state.acceleration;
    copy(In(state.lambda).first(n_b), lambda_);
  } else {
    set_zero(vd_);
    set_zero(lambda_);
  }
  alpha_.advance(h, state.v, a_n_, a_star_, vd_, d_, v_smooth_);

  double taken = 1;  // share of the last correction
  const auto correct = [&](double share) {
    axpy(share * c_a, dx_, vd_);
    axpy(share, dx_, v_smooth_);
    axpy(share * c_q, dx_, d_);
    axpy(share, dl_b_, lambda_);
  };
  for (;;) {
    // residual; after its one solve a linear model has none but rounding, and forces are evaluated when needed
    system.retract(state.q, d_, q_smooth_);
    forces_known_ = !(constant_[smooth] && sub.tried() > 0);
    if (!forces_known_) return true;
    system.forces(q_smooth_, v_smooth_, t, force_all, f_smooth_);
    system.mass_times(q_smooth_, vd_, Mx_);
    combine(1.0, Mx_, -1.0, f_smooth_, r_);
    double reaction = 0;
    if (n_b > 0) {
      set_zero(reaction_smooth_);
      system.add_reactions(q_smooth_, t, lambda_, RowSet::bilateral, reaction_smooth_);
      axpy(-1.0, reaction_smooth_, r_);
      system.rates(q_smooth_, v_smooth_, t, RowSet::bilateral, c_);
      reaction = system.force_norm(reaction_smooth_, options_.scales.length);
    }
    const In c_b = In(c_).first(n_b);
    const double length = options_.scales.length, residual_norm = system.force_norm(r_, length);
    const double terms = system.force_norm(Mx_, length) + system.force_norm(f_smooth_, length) + reaction;
    if (!std::isfinite(residual_norm) && taken > smallest_share) {
      if (sub.tried() == 0 && taken == 1) {
        // the predicted motion itself
        scale_into(1 / c_q, d_, dx_);
        set_zero(dl_b_);
      }
      correct(-0.5 * taken);
      taken *= 0.5;
      continue;
    }
    // redundant rows contradict each other by as much as q~ is off the joints; they will agree at q
    const double constraint_inconsistency =
        sub.tried() > 0 ? std::min(1.5 * saddle_[smooth].constraint_inconsistency(), 1e-3 * speed_) : 0;
    if (newton_[smooth].test(sub, residual_norm, terms, floor, 1.0, k_s, c_b,
                             options_.newton.constraint_tolerance * speed_ + constraint_inconsistency))
      return true;
    if (sub.tried() == options_.newton.max_iterations) return fail_at(report, smooth, "no convergence", c_b, {}, {});

    // tangent and correction
    if (needs_factorisation(smooth, h, sub, false)) {
      Linearisation request;
      request.c_M = c_a;
      request.c_C = 1;
      request.c_K = request.c_s = request.c_rate = c_q;
      request.q_M = request.q = q_smooth_.data();
      request.v = v_smooth_.data();
      request.t = t;
      request.a = vd_.data();
      for (std::size_t i = 0; i < n_b; ++i) s_[i] = lambda_[i] - p_s * c_[i];
      std::fill(s_.begin() + static_cast<std::ptrdiff_t>(n_b), s_.end(), 0.0);
      request.s = n_b > 0 ? s_.data() : nullptr;
      request.row_scale = k_s;
      if (system.uses_tangent_operators()) {
        system.tangent_operators(d_, T_);
        request.T = &T_;
      }
      if (!saddle_[smooth].factorise(system, request)) return fail_singular(system, report, smooth);
      factorised(smooth, h, sub);
    }
    saddle_[smooth].set_active(system, {}, q_smooth_, t, nullptr);
    if (!saddle_[smooth].solve(r_, c_b, {}, dx_, dl_b_, {}, newton_[smooth].accuracy(sub, false, terms, floor))) {
      if (saddle_[smooth].gave_up()) continue;
      return fail_at(report, smooth, saddle_[smooth].failure(), c_b, {}, {});
    }
    ++sub.iterations;
    correct(taken = 1);
  }
}

// f(q, v) - f(q~, v~) + (G_b(q)^T - G_b(q~)^T) lambda~, the force of the position correction and, but for the change of
// the mass matrix, of the velocity jump
void NsgaDecoupled::correct_forces(const System& system, In v, double t) {
  // a linear model's last residual was not evaluated
  if (!forces_known_) {
    forces_known_ = true;
    system.forces(q_smooth_, v_smooth_, t, force_all, f_smooth_);
    set_zero(reaction_smooth_);
    if (!lambda_.empty()) system.add_reactions(q_smooth_, t, lambda_, RowSet::bilateral, reaction_smooth_);
  }
  system.forces(q_, v, t, force_all, f_);
  combine(1.0, f_, -1.0, f_smooth_, f_correction_);
  if (!lambda_.empty()) {
    system.add_reactions(q_, t, lambda_, RowSet::bilateral, f_correction_);
    axpy(-1.0, reaction_smooth_, f_correction_);
  }
}

// ---- 2. position correction: unknowns U, nu

bool NsgaDecoupled::correct_position(const System& system, const State& state, double h, StepReport& report) {
  SubproblemReport& sub = report.subproblems[position];
  q_ = q_smooth_;
  const double t = state.t + h, length = options_.scales.length;
  if (system.rows() == 0) return upright(system, t, report, smooth);
  const double k_p = options_.scales.mass, p_p = options_.penalty * k_p;
  const std::size_t n_b = nu_b_.size(), n_u = at(system.unilateral());
  const double floor = root_size_ * (3e-15 * options_.scales.mass * largest_position_ + h * h * 1e-14 * noise_force_);
  const double gap_tolerance = options_.newton.constraint_tolerance * length + 8 * rounding * largest_position_;
  const double gap_roundoff = 64 * rounding * largest_position_;

  set_zero(U_);
  set_zero(nu_b_);
  contacts_position_.reset();
  newton_[position].begin(sub);
  correction_known_ = false;
  int last_change = 0;
  for (;;) {
    // gaps and active set
    system.gaps(q_, t, RowSet::all, g_);
    const In g_b = In(g_).first(n_b), g_u = In(g_).subspan(n_b, n_u);
    const int changes = contacts_position_.update(g_u, p_p, gap_roundoff, &state.active);
    sub.set_changes += changes;
    const auto active = contacts_position_.active_rows();
    if (n_b == 0 && active.empty() && sub.iterations == 0) break;
    for (std::size_t k = 0; k < active.size(); ++k) c_A_[k] = g_[at(active[k])];
    std::copy(g_b.begin(), g_b.end(), c_.begin());
    std::copy_n(c_A_.begin(), active.size(), c_.begin() + static_cast<std::ptrdiff_t>(n_b));
    const In rows = In(c_).first(n_b + active.size());
    // a linear problem is solved when its set stays
    if (changes > 0) last_change = sub.iterations;
    const bool settled = contacts_position_.pending() == 0;
    if (constant_[position] && sub.iterations > 0 && changes == 0 && settled && max_abs(rows) <= gap_tolerance) break;

    // residual; f_p vanishes as long as U = 0
    std::copy(nu_b_.begin(), nu_b_.end(), s_.begin());
    std::copy(contacts_position_.multipliers().begin(), contacts_position_.multipliers().end(),
              s_.begin() + static_cast<std::ptrdiff_t>(n_b));
    set_zero(reaction_);
    system.add_reactions(q_, t, s_, RowSet::all, reaction_);
    double terms = system.force_norm(reaction_, length), residual_norm = 0;
    if (sub.iterations == 0) {
      scale_into(-1.0, reaction_, r_);
    } else {
      system.mass_times(q_smooth_, U_, Mx_);
      combine(1.0, Mx_, -1.0, reaction_, r_);
      terms += system.force_norm(Mx_, length);
      if (options_.force_corrections) {
        if (constant_[position]) correct_forces(system, v_smooth_, t);
        axpy(-h * h, f_correction_, r_);
        terms += h * h * system.force_norm(f_correction_, length);
      }
    }
    residual_norm = system.force_norm(r_, length);
    if (newton_[position].test(sub, residual_norm, terms, floor, h * h, k_p, rows, gap_tolerance) && settled) {
      correction_known_ = options_.force_corrections && sub.iterations > 0;
      break;
    }
    if (too_many(sub, last_change, n_u))
      return fail_at(report, position, "no convergence", g_b, active, rows.subspan(n_b));

    // tangent with the augmented multipliers and, through f_p, those of the smooth motion
    const TangentOperators* T = nullptr;
    if (system.uses_tangent_operators()) {
      system.tangent_operators(U_, T_);
      T = &T_;
    }
    if (needs_factorisation(position, h, sub, last_change == sub.iterations)) {
      Linearisation request;
      request.c_M = 1;
      request.c_K = options_.force_corrections ? h * h : 0;
      request.c_s = 1;
      request.q_M = q_smooth_.data();
      request.q = q_.data();
      request.v = v_smooth_.data();
      request.t = t;
      for (std::size_t i = 0; i < n_b; ++i)
        s_[i] = nu_b_[i] - p_p * g_[i] + (options_.force_corrections ? h * h * lambda_[i] : 0.0);
      // a set that repeats itself may owe that to -p g, a bad guess of the multiplier
      const double p_eff = contacts_position_.effective(p_p);
      for (std::size_t i = 0; i < n_u; ++i)
        s_[n_b + i] = contacts_position_.flags()[i] != 0 ? contacts_position_.augmented(i, g_u[i], p_eff) : 0.0;
      request.s = s_.data();
      request.rows_through_T = true;
      request.T = T;
      request.row_scale = k_p;
      if (!saddle_[position].factorise(system, request)) return fail_singular(system, report, position);
      factorised(position, h, sub);
    }
    saddle_[position].set_active(system, active, q_, t, T);
    const Out dl_A = Out(dl_A_).first(active.size());
    if (!saddle_[position].solve(r_, g_b, In(c_A_).first(active.size()), dx_, dl_b_, dl_A,
                                 newton_[position].accuracy(sub, last_change == sub.iterations, terms, floor))) {
      if (saddle_[position].gave_up()) continue;
      return fail_at(report, position, saddle_[position].failure(), g_b, active, rows.subspan(n_b));
    }
    ++sub.iterations;
    axpy(1.0, dx_, U_);
    system.retract(q_smooth_, U_, q_);
    double taken = 1;
    if (options_.force_corrections && !constant_[position]) {
      correct_forces(system, v_smooth_, t);
      while (taken > smallest_share && !all_finite(f_correction_)) {
        taken *= 0.5;
        axpy(-taken, dx_, U_);
        system.retract(q_smooth_, U_, q_);
        correct_forces(system, v_smooth_, t);
      }
    }
    axpy(taken, dl_b_, nu_b_);
    for (double& x : dl_A) x *= taken;
    contacts_position_.add_increment(dl_A);
  }

  if (!upright(system, t, report, position)) return false;
  for (std::size_t i = 0; i < n_u; ++i) report.smallest_gap = std::min(report.smallest_gap, g_[n_b + i]);
  report.position_residual = max_abs(In(g_).first(n_b));
  for (const int row : contacts_position_.active_rows())
    report.position_residual = std::max(report.position_residual, std::abs(g_[at(row)]));
  return true;
}

// ---- 3. velocity jump: unknowns W, Lam; q is final, candidates are the active rows of step 2

bool NsgaDecoupled::jump_velocity(const System& system, const State& state, double h, StepReport& report) {
  SubproblemReport& sub = report.subproblems[velocity];
  v_ = v_smooth_;
  set_zero(impulse_b_);
  contacts_velocity_.reset();
  newton_[velocity].begin(sub);
  const auto candidates = contacts_position_.active_rows();
  const std::size_t n_b = impulse_b_.size();
  if (n_b == 0 && candidates.empty()) return true;
  const double t = state.t + h, length = options_.scales.length;
  const double k_v = options_.scales.mass, p_v = options_.penalty * k_v;
  const double floor = root_size_ * 1e-14 * (options_.scales.mass * speed_ + h * noise_force_);
  const double rate_tolerance = options_.newton.constraint_tolerance * speed_;

  // the rates that the impact law reflects, and the constant part of f_*
  contacts_velocity_.restrict_to(contacts_position_.flags());
  for (const int row : candidates) {
    const double e = system.contact_parameters(row).restitution;
    rate_n_[at(row)] = e == 0 ? 0.0 : e * system.row_rate(row, state.q, state.v, state.t);
  }
  const bool corrections = options_.force_corrections && report.subproblems[position].iterations > 0;
  const bool mass_changes = corrections && !system.constant_mass();
  if (mass_changes) {
    system.mass_times(q_, vd_, mass_difference_);
    system.mass_times(q_smooth_, vd_, Mx_);
    axpy(-1.0, Mx_, mass_difference_);
  }

  set_zero(W_);
  int last_change = 0;
  for (;;) {
    // impact law and active set
    if (n_b > 0) system.rates(q_, v_, t, RowSet::bilateral, c_);
    for (const int row : candidates) c_[at(row)] = system.row_rate(row, q_, v_, t) + rate_n_[at(row)];
    const In c_b = In(c_).first(n_b);
    const int changes = contacts_velocity_.update(In(c_).subspan(n_b), p_v, 64 * rounding * speed_, &state.active);
    sub.set_changes += changes;
    if (changes > 0) last_change = sub.iterations;
    const bool settled = contacts_velocity_.pending() == 0;
    const auto active = contacts_velocity_.active_rows();
    for (std::size_t k = 0; k < active.size(); ++k) c_A_[k] = c_[at(active[k])];
    std::copy(c_b.begin(), c_b.end(), g_.begin());
    std::copy_n(c_A_.begin(), active.size(), g_.begin() + static_cast<std::ptrdiff_t>(n_b));
    const In rows = In(g_).first(n_b + active.size());
    report.velocity_residual = max_abs(rows);
    // a linear problem is solved when its set stays
    const bool solved = constant_[velocity] && sub.iterations > 0 && changes == 0 && settled;
    if (solved && report.velocity_residual <= rate_tolerance) return true;

    // residual M W - h f_* - G^T Lam
    std::copy(impulse_b_.begin(), impulse_b_.end(), s_.begin());
    std::copy(contacts_velocity_.multipliers().begin(), contacts_velocity_.multipliers().end(),
              s_.begin() + static_cast<std::ptrdiff_t>(n_b));
    set_zero(reaction_);
    system.add_reactions(q_, t, s_, RowSet::all, reaction_);
    scale_into(-1.0, reaction_, r_);
    double terms = system.force_norm(reaction_, length);
    if (sub.iterations > 0) {
      system.mass_times(q_, W_, Mx_);
      axpy(1.0, Mx_, r_);
      terms += system.force_norm(Mx_, length);
    }
    if (corrections || (options_.force_corrections && system.velocity_dependent() && sub.iterations > 0)) {
      if (sub.iterations == 0 || system.velocity_dependent()) {
        // at W = 0 it is what the position correction ended with
        if (sub.iterations > 0 || !correction_known_) correct_forces(system, v_, t);
        if (mass_changes) axpy(-1.0, mass_difference_, f_correction_);
      }
      axpy(-h, f_correction_, r_);
      terms += h * system.force_norm(f_correction_, length);
    }
    if (newton_[velocity].test(sub, system.force_norm(r_, length), terms, floor, h, k_v, rows, rate_tolerance) &&
        settled)
      return true;
    if (too_many(sub, last_change, at(system.unilateral())))
      return fail_at(report, velocity, "no convergence", c_b, active, rows.subspan(n_b));

    // tangent and correction
    if (needs_factorisation(velocity, h, sub, last_change == sub.iterations)) {
      Linearisation request;
      request.c_M = 1;
      request.c_C = options_.force_corrections ? h : 0;
      request.q_M = request.q = q_.data();
      request.v = v_.data();
      request.t = t;
      request.row_scale = k_v;
      if (!saddle_[velocity].factorise(system, request)) return fail_singular(system, report, velocity);
      factorised(velocity, h, sub);
    }
    saddle_[velocity].set_active(system, active, q_, t, nullptr);
    const Out dl_A = Out(dl_A_).first(active.size());
    if (!saddle_[velocity].solve(r_, c_b, In(c_A_).first(active.size()), dx_, dl_b_, dl_A,
                                 newton_[velocity].accuracy(sub, last_change == sub.iterations, terms, floor))) {
      if (saddle_[velocity].gave_up()) continue;
      return fail_at(report, velocity, saddle_[velocity].failure(), c_b, active, rows.subspan(n_b));
    }
    ++sub.iterations;
    axpy(1.0, dx_, W_);
    axpy(1.0, dx_, v_);
    axpy(1.0, dl_b_, impulse_b_);
    contacts_velocity_.add_increment(dl_A);
  }
}

// ---- the end of a step

void NsgaDecoupled::commit(const System& system, State& state, double h, StepReport& report) {
  const std::size_t n_b = lambda_.size(), n_u = at(system.unilateral());
  Vector& a = state.history[0].values;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a_star_[i] + alpha_.c_v() * vd_[i];
  std::swap(state.acceleration, vd_);
  std::swap(state.q, q_);
  std::swap(state.v, v_);
  copy(lambda_, Out(state.lambda).first(n_b));
  copy(nu_b_, Out(state.nu).first(n_b));
  copy(impulse_b_, Out(state.impulse).first(n_b));
  copy(contacts_position_.multipliers(), Out(state.nu).subspan(n_b));
  copy(contacts_velocity_.multipliers(), Out(state.impulse).subspan(n_b));
  for (std::size_t i = 0; i < n_u; ++i) {
    state.active[i] = contacts_position_.flags()[i];
    const std::uint8_t closed = contacts_velocity_.flags()[i];
    report.closed += closed;
    report.impacts += closed != 0 && state.closed[i] == 0 ? 1 : 0;
    report.releases += closed == 0 && state.closed[i] != 0 ? 1 : 0;
    state.closed[i] = closed;
  }
  moved_ = report.subproblems[position].iterations > 0;
  jumped_ = report.subproblems[velocity].iterations > 0;
  note_redundancy(report);
  state.last_h = h;
  state.t += h;
}

// f_* at the end of the step, for the balance of energy
void NsgaDecoupled::jump_force(const System& system, const State& state, Out f, Out scratch) const {
  set_zero(f);
  if (!options_.force_corrections || !jumped_ || (!moved_ && !system.velocity_dependent())) return;
  const double t = state.t;
  system.forces(state.q, state.v, t, force_all, f);
  system.add_reactions(state.q, t, state.lambda, RowSet::bilateral, f);
  system.forces(q_smooth_, v_smooth_, t, force_all, scratch);
  system.add_reactions(q_smooth_, t, state.lambda, RowSet::bilateral, scratch);
  axpy(-1.0, scratch, f);
  if (!moved_ || system.constant_mass()) return;
  system.mass_times(state.q, state.acceleration, scratch);
  axpy(-1.0, scratch, f);
  system.mass_times(q_smooth_, state.acceleration, scratch);
  axpy(1.0, scratch, f);
}

// ---- what outlives a step beside the state

void NsgaDecoupled::save(NamedArrays& record) const {
  record.set("factorised for", {factor_h_[smooth], factor_h_[position], factor_h_[velocity]});
  record.set_number("steps", static_cast<double>(steps_));
  const char* const names[] = {"smooth ", "position ", "velocity "};
  for (const Subproblem which : {smooth, position, velocity}) {
    // what the next step computes anew in any case is not kept
    const bool kept = constant_[which] || options_.newton.method == NewtonMethod::modified ||
                      (which == velocity && mass_alone_) ||
                      (which == smooth && newton_[which].may_begin_with_old(saddle_[which].iterative()));
    saddle_[which].save(record, names[which], kept);
  }
}

void NsgaDecoupled::restore(const NamedArrays& record) {
  const Vector* const h = record.find("factorised for");
  if (h == nullptr || h->size() != 3) throw std::invalid_argument("NsgaDecoupled: the record does not fit");
  std::copy(h->begin(), h->end(), factor_h_);
  steps_ = static_cast<long>(record.number("steps"));
  const char* const names[] = {"smooth ", "position ", "velocity "};
  for (const Subproblem which : {smooth, position, velocity}) saddle_[which].restore(record, names[which]);
}

LinearCounters NsgaDecoupled::linear_counters() const {
  LinearCounters sum;
  for (const SaddlePoint& saddle : saddle_) sum += saddle.counters();
  return sum;
}

// ---- convergence

bool NsgaDecoupled::needs_factorisation(Subproblem which, double h, const SubproblemReport& report, bool set_changed) {
  if (!saddle_[which].factorised() || factor_h_[which] != h || saddle_[which].gave_up()) return true;
  if (constant_[which] || (which == velocity && mass_alone_)) return false;
  return newton_[which].needs_matrix(report, saddle_[which].iterative(), set_changed);
}

void NsgaDecoupled::factorised(Subproblem which, double h, const SubproblemReport& report) {
  factor_h_[which] = h;
  newton_[which].took_matrix(report);
}

// Sub-problems that solved nothing in this step met nothing.
void NsgaDecoupled::note_redundancy(StepReport& report) const {
  for (const Subproblem which : {smooth, position, velocity})
    if (report.subproblems[at(which)].iterations > 0 && saddle_[which].regularised()) report.redundant = true;
}

bool NsgaDecoupled::fail(StepReport& report, Subproblem which, const char* reason) {
  note_redundancy(report);
  mark_failed(report, which, reason);
  set_zero(row_residual_);
  return false;
}

// Iterations count from the last change of the active set, since a set may have to be found row by row.
bool NsgaDecoupled::too_many(const SubproblemReport& sub, int last_change, std::size_t rows) const {
  const int limit = options_.newton.max_iterations;
  return sub.iterations - last_change >= limit ||
         sub.iterations >= limit + 4 * static_cast<int>(std::min<std::size_t>(rows, 100000));
}

bool NsgaDecoupled::fail_at(StepReport& report, Subproblem which, const char* reason, In bilateral,
                            std::span<const int> active, In values) {
  fail(report, which, reason);
  copy(bilateral, Out(row_residual_).first(bilateral.size()));
  for (std::size_t k = 0; k < active.size(); ++k) row_residual_[at(active[k])] = values[k];
  name_worst(report, r_, row_residual_);
  return false;
}

bool NsgaDecoupled::upright(const System& system, double t, StepReport& report, Subproblem which) {
  // without corrections no force was evaluated at q
  report.failed_item = system.inverted_element(q_, t, options_.force_corrections);
  return report.failed_item.empty() || fail(report, which, inverted_element);
}

bool NsgaDecoupled::fail_singular(const System& system, StepReport& report, Subproblem which) {
  fail(report, which, "singular matrix");
  suspicious_row_ = saddle_[which].suspicious_row();
  name_suspicious(report, suspicious_row_, system.size());
  return false;
}

}  // namespace carom
