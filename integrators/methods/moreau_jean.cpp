#include "integrators/methods/moreau_jean.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/disjoint_sets.hpp"
#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/smooth_motion.hpp"

namespace carom {

namespace {

MixedSetup setup_of(const System& system, NewtonMethod method) {
  return {.name = "impulse",
          .rows = bilateral_rows | law_rows,
          .matrix = tangent_properties(system, method),
          .linear = system.linear()};
}

}  // namespace

MethodInfo MoreauJean::method_info() {
  return {.name = "moreau_jean",
          .subproblems = {"impulse"},
          .rows = bilateral_rows | law_rows,
          .exact_positions = false,
          .accelerations = false};
}

MoreauJean::MoreauJean(const System& system, const MoreauJeanOptions& options)
    : Integrator(system, method_info(), options.scales, options.newton),
      theta_(options.theta),
      newton_(system, options.newton, setup_of(system, options.newton.method), options.scales, 0, &matrix_) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  for (Vector* x : {&v_, &d_, &dv_, &f_, &f_n_, &Mx_, &reaction_, &v_free_, &w_}) x->assign(n, 0.0);
  for (Vector* x : {&q_, &q_middle_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&reflected_, &gaps_, &s_, &forces_, &impulses_}) x->assign(rows, 0.0);
  none_.assign(at(system.bilateral()), 0.0);
  candidates_.assign(at(system.conditional()), 0);
  stages_.reserve(2);
}

std::vector<Integrator::Objection> MoreauJean::objections(const State& start, double) {
  return unclear_friction(start);
}

bool MoreauJean::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  return moves_by_mass(state, report);
}

// Impulses move what has mass. Springs alone do not move a part without mass to its place, which is one at position
// level.
bool MoreauJean::moves_by_mass(const State& state, StepReport& report) {
  std::fill(dv_.begin(), dv_.end(), 1.0);
  system().mass_times(state.q, dv_, Mx_);
  if (std::ranges::find(Mx_, 0.0) == Mx_.end()) return true;
  SaddlePoint mass;
  mass.analyse(system(), tangent_properties(system(), NewtonMethod::full), nullptr, scales().length, true);
  Vector acceleration(at(system().size())), multipliers(at(system().bilateral()));
  return consistent_acceleration(system(), mass, scales().mass, true, state.q, state.v, state.t, acceleration,
                                 multipliers, report);
}

bool MoreauJean::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  step_ = scales.start;
  q_n_ = start.q;
  v_n_ = start.v;
  if (!predict_contacts(scales, start, report)) return false;
  system().forces(start.q, start.v, start.t, force_all, f_n_);
  v_ = start.v;
  set_zero(dv_);
  move(0, dv_);

  copy(start.impulse, s_);
  std::fill(s_.begin() + system().bilateral(), s_.end(), 0.0);
  newton_.begin(report, {.multipliers = s_,
                         .held = &start.closed,
                         .candidates = &candidates_,
                         .first = newton_.friction() != nullptr ? &candidates_ : nullptr,
                         .guess = start.impulse,
                         .guess_scale = h_ / start.last_h});
  ProblemScales momenta = scales.momenta(1);
  momenta.most_floor = StepScales::most_rounding;
  if (!newton_.solve(*this, momenta, report)) return false;
  report.velocity_residual = newton_.largest_row();
  measure_drift(report);

  end.q = q_;
  end.v = v_;
  combine(1 / h_, v_, -1 / h_, start.v, end.acceleration);
  copy(newton_.multipliers(), end.impulse);
  end.active = end.closed = newton_.flags();
  return explained(start, report);
}

// The guard sees impulses as forces of one motion: M (v - v_n) . (v_n + v)/2 is the change of the kinetic energy.
bool MoreauJean::explained(const State& start, StepReport& report) {
  if (!guard().on()) return true;
  const In P = newton_.multipliers();
  scale_into(1 / h_, P, forces_);
  double work = 0, driven = 0;  // of contacts; what drivers and obstacles that move give
  set_zero(w_);
  for (const int row : newton_.active_rows()) {
    const double rate_n = system().row_rate(row, q_middle_, start.v, system().obstacles_move() ? t_ : start.t, &step_),
                 rate = system().row_rate(row, q_middle_, v_, t_, &step_);
    work += 0.5 * P[at(row)] * (rate_n + rate);
    driven -= P[at(row)] * system().row_rate(row, q_middle_, w_, t_, &step_);
  }
  if (system().driven())
    for (const double t : {start.t, t_}) {
      system().rates(q_, w_, t, bilateral_rows, gaps_, &step_);
      driven -= 0.5 * dot(P.first(none_.size()), In(gaps_).first(none_.size()));
    }
  guard().count_driver_work(driven);
  guard().close(false, forces_, {});
  if (guard().explains(start, q_, v_, h_, forces_, work, newton_.terms() / h_)) return true;
  guard().blame(report, 0, start, q_, v_, t_);
  return false;
}

// Candidates are the contacts that are closed half a step ahead; their law reflects the rate at t_n. Their directions
// are those of the same places or, where obstacles move, of the places at t_{n+1} that v_n leads to: obstacles have
// their velocities there.
bool MoreauJean::predict_contacts(const StepScales& scales, const State& start, StepReport& report) {
  const double closed = scales.closed_gap();
  scale_into(0.5 * h_, start.v, d_);
  system().retract(start.q, d_, q_middle_);
  system().gaps(q_middle_, start.t + 0.5 * h_, unilateral_rows, gaps_, &step_);
  if (misses_contact(system(), start.q, start.t, q_middle_, start.t + 0.5 * h_, report, closing_turn())) return false;
  if (system().obstacles_move()) {
    scale_into(h_, start.v, d_);
    system().retract(start.q, d_, q_middle_);
  }
  const int n_b = system().bilateral();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const int row = n_b + static_cast<int>(i);
    // tangential rows go with their contact
    candidates_[i] = system().row_kind(row) == RowKind::joint_friction ? 1
                     : system().row_kind(row) == RowKind::tangential   ? candidates_[at(system().normal_row(row) - n_b)]
                     : gaps_[at(row)] <= closed * weight(row)          ? 1
                                                                       : 0;
    if (candidates_[i] != 0)
      reflected_[at(row)] =
          reflected_rate(row, system().obstacles_move() ? start.q : q_middle_, start, q_middle_, scales.t);
  }
  return true;
}

void MoreauJean::rows(Out c) {
  if (system().bilateral() > 0) system().rates(q_, v_, t_, bilateral_rows, c, &step_);
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const int row = system().bilateral() + static_cast<int>(i);
    if (candidates_[i] != 0) c[at(row)] = system().row_rate(row, q_middle_, v_, t_, &step_) + reflected_[at(row)];
  }
}

double MoreauJean::residual(In s, Out r) {
  combine(1.0, v_, -1.0, v_n_, dv_);
  system().mass_times(q_, dv_, Mx_);
  set_zero(reaction_);
  system().add_reactions(q_, t_, s, bilateral_rows, reaction_, &step_);
  system().add_reactions(q_middle_, t_, s, law_rows, reaction_, &step_);
  combine(1.0, Mx_, -h_ * theta_, f_, r);
  axpy(-h_ * (1 - theta_), f_n_, r);
  axpy(-1.0, reaction_, r);
  const double L = scales().length;
  return size(system(), Mx_, L) + size(system(), f_, L, h_ * theta_) + size(system(), f_n_, L, h_ * (1 - theta_)) +
         size(system(), reaction_, L);
}

void MoreauJean::linearise(In s, Linearisation& S) {
  copy(s, s_);
  std::fill(s_.begin() + system().bilateral(), s_.end(), 0.0);  // contacts are taken at q_m, which stays
  const double c = h_ * theta_;
  S.c_M = 1;
  S.c_C = S.c_rate = S.c_s = c;
  S.c_K = c * c;
  combine(1 / c, v_, -1 / c, v_n_, dv_);  // D(M (v - v_n)) through c_K
  S.a = dv_.data();
  S.q_M = S.q = q_.data();
  S.v = v_.data();
  S.s = system().bilateral() > 0 ? s_.data() : nullptr;
  S.T = tangent_operators(d_);
}

void MoreauJean::friction_limits(In s, std::span<const int> joints, Out limits) {
  for (std::size_t j = 0; j < joints.size(); ++j)
    limits[j] = system().friction_limit(joints[j], q_, s, h_, step_.t + 0.5 * h_);
}

bool MoreauJean::move(double share, In dv) {
  axpy(share, dv, v_);
  combine(h_ * theta_, v_, h_ * (1 - theta_), v_n_, d_);
  system().retract(q_n_, d_, q_);
  system().forces(q_, v_, t_, force_all, f_);
  return all_finite(f_);
}

void MoreauJean::measure_drift(StepReport& report) {
  if (system().rows() == 0) return;
  system().gaps(q_, t_, bilateral_rows | unilateral_rows, gaps_, &step_);
  const auto measure = [&](std::size_t row) {
    report.position_residual = std::max(report.position_residual, std::abs(gaps_[row]) / weight(static_cast<int>(row)));
  };
  for (std::size_t i = 0; i < none_.size(); ++i) measure(i);
  const bool friction = system().row_kinds().meets(friction_rows);
  for (std::size_t i = none_.size(); i < gaps_.size(); ++i) {
    if (friction && friction_rows.has(system().row_kind(static_cast<int>(i)))) continue;
    note_gap(static_cast<int>(i), gaps_[i], report);
    if (newton_.flags()[i - none_.size()] != 0) measure(i);
  }
}

// The velocity v_free without the impacts, from which these lead to v and keep the joints:
//   M (v - v_free) = G_u^T P_u + G_b^T mu,  G_b (v - v_free) = 0
// Contacts that were closed before press throughout the step: theirs are forces of the motion, unless an obstacle
// moves, whose work is that of impulses, or they may pass on the impact of a contact that closes.
bool MoreauJean::split_velocity() {
  copy(newton_.multipliers(), forces_);
  set_zero(impulses_);
  v_free_ = v_;
  const In P = newton_.multipliers();
  const std::vector<std::uint8_t>& closed = start().closed;
  const auto strikes = [&](int row) {
    return contact_rows.has(system().row_kind(row)) &&
           (closed[at(row) - none_.size()] == 0 ||
            system().constraints()[at(system().row_place(row).block)]->traits().moving);
  };
  if (std::ranges::none_of(newton_.active_rows(), strikes)) return false;
  find_struck(strikes);
  for (const int row : newton_.active_rows())
    if (struck_[at(row)] != 0) impulses_[at(row)] = P[at(row)];
  if (!mass_known_) mass_.analyse(system(), {system().symmetric(), false});
  Linearisation request;
  request.c_M = 1;
  request.q_M = request.q = q_.data();
  request.v = v_.data();
  request.t = t_;
  request.row_scale = scales().mass;
  request.start = &step_;
  const bool constant = system().constant_mass() && system().bilateral() == 0;
  if (!(mass_known_ && constant) && !mass_.factorise(request)) return false;
  mass_known_ = true;
  set_zero(reaction_);
  system().add_reactions(q_middle_, t_, impulses_, law_rows, reaction_, &step_);
  for (double& x : reaction_) x = -x;
  mass_.set_active({}, q_, t_, nullptr, &step_);
  if (!mass_.solve(reaction_, none_, {}, w_, Out(impulses_).first(none_.size()), {})) return false;
  axpy(-1.0, w_, v_free_);
  axpy(-1.0, impulses_, forces_);
  return true;
}

// The active rows that impacts reach, from contact to contact over the parts that elements and joints connect.
void MoreauJean::find_struck(const std::function<bool(int)>& strikes) {
  if (components_.count() == 0) components_ = Components(system().saddle_pattern());
  std::vector<int> parent(at(components_.count())), part_of(at(system().rows()), -1);
  std::iota(parent.begin(), parent.end(), 0);
  SparseRow G;
  for (const int row : newton_.active_rows()) {
    system().row_gradient(row, q_middle_, t_, nullptr, G, &step_);
    if (G.equation.empty()) continue;
    part_of[at(row)] = components_.of(G.equation.front());
    for (const int equation : G.equation) join_sets(parent, components_.of(equation), part_of[at(row)]);
  }
  std::vector<std::uint8_t> reached(parent.size(), 0);
  for (const int row : newton_.active_rows())
    if (part_of[at(row)] >= 0 && strikes(row)) reached[at(root_of(parent, part_of[at(row)]))] = 1;
  struck_.assign(at(system().rows()), 0);
  for (const int row : newton_.active_rows())
    struck_[at(row)] = part_of[at(row)] < 0 ? (strikes(row) ? 1 : 0) : reached[at(root_of(parent, part_of[at(row)]))];
}

std::span<const Stage> MoreauJean::stages() {
  const State& n = start();
  const bool jumps = split_velocity();
  for (double& x : forces_) x /= h_;
  stages_.clear();
  stages_.push_back({Stage::Kind::motion, n.t, t_, n.q, n.v, q_, jumps ? v_free_ : v_, forces_, h_});
  stages_.back().row_q = q_middle_;
  if (jumps) {
    stages_.push_back({Stage::Kind::jump, t_, t_, q_, v_free_, q_, v_, impulses_, h_});
    stages_.back().row_q = q_middle_;
  }
  stages_.back().closed = newton_.flags();
  return stages_;
}

}  // namespace carom
