#include "integrators/methods/cd_lagrange.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

MethodInfo CdLagrange::method_info() {
  return {.name = "cd_lagrange",
          .subproblems = {"impulse"},
          .rows = bilateral_rows | contact_rows,
          .exact_positions = false,
          .accelerations = false,
          .explicit_step = true,
          .lumped_mass = true,
          .closing_turn = wide_closing_turn};
}

double CdLagrange::stability_limit(double rho) {
  return std::sqrt(12 * (1 + rho) * (2 - rho) / (10 - 5 * rho + rho * rho));
}

CdLagrange::CdLagrange(const System& system, const CdLagrangeOptions& options)
    : Leapfrog(system, method_info(), options), rho_(options.rho_bifurcation) {
  alpha_m_ = (2 * rho_ - 1) / (1 + rho_);
  gamma_ = 1.5 - alpha_m_;
  beta_ = (5 - 3 * rho_) / ((1 + rho_) * (1 + rho_) * (2 - rho_));
  for (Vector* x : {&q_, &q_ahead_, &q_behind_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  w_next_.assign(at(system.size()), 0.0);
  closed_.assign(at(system.conditional()), 0);
  offset_.reserve(at(system.rows()));
}

bool CdLagrange::initialise(State& state, double h, StepReport& report) {
  if (!begin(state, h, report)) return false;
  if (rho_ < 1) {
    // as if the internal forces had always been those of the start
    state.history.push_back({"filtered_acceleration", a_int_});
    state.history.push_back({"filtered_acceleration_before", a_int_});
  }
  state.acceleration = a_;
  if (has_frames()) add_gyroscopic(1.0, state.v, state.acceleration);
  Vector& w = state.history[half_velocity].values;
  if (!half_velocity_of(state, h)) return fail(report, FailureReason::no_convergence, 0);

  if (!hold_first_half_step(state, h, report)) return false;
  impulses_.add_velocity(1.0, r_, w_);
  w = w_;
  return true;
}

// v_{n+1/2} from v_n and a_n, to w_.
bool CdLagrange::half_velocity_of(const State& start, double h) {
  combine(1.0, start.v, 0.5 * h, start.acceleration, w_);
  if (!has_frames()) return true;
  // a_n without the gyroscopic part is the torque over J
  a_ = start.acceleration;
  add_gyroscopic(-1.0, start.v, a_);
  combine(1.0, start.v, 0.5 * h, a_, p_next_);
  frame_momenta(p_next_, p_);
  return find_half_rotations(p_, h, w_);
}

void CdLagrange::list_rows(In q, double t, double h, const State& start, const StepScales& scales) {
  const int n_b = system().bilateral();
  list_.clear();
  for (int row = 0; row < n_b; ++row) list_.push_back(row);
  if (system().conditional() > 0) {
    system().gaps(q, t, unilateral_rows, gaps_, &scales.start);
    for (int row = n_b; row < system().rows(); ++row)
      if (const int normal = system().normal_row(row); gaps_[at(normal)] <= scales.closed_gap() * weight(normal))
        list_.push_back(row);
  }
  impulses_.set_rows(list_, q, t, &scales.start);
  // obstacles that move meet the places that bodies have at the same time
  In q_ahead = q, q_behind = q;
  const auto place = [&](double time, In w, Vector& at_time) {
    scale_into(time, w, d_);
    system().retract(q, d_, at_time);
    return In(at_time);
  };
  if (system().obstacles_move() && !list_.empty() && list_.back() >= n_b) {
    q_ahead = place(0.5 * h, w_next_, q_ahead_);
    q_behind = place(-0.5 * h, w_, q_behind_);
  }
  c_.resize(list_.size());
  r_.resize(list_.size());
  offset_.resize(list_.size());
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const int row = list_[i];
    offset_[i] = rate_at_rest(row, row < n_b ? q : q_ahead, t + 0.5 * h, q, t);
    r_[i] = start.impulse[at(row)];
    const double e = row < n_b ? 0 : system().contact_parameters(row).restitution;
    if (e > 0) {
      const double rate = impulses_.rate(i, w_) + rate_at_rest(row, q_behind, t - 0.5 * h, q, t);
      offset_[i] += e * (system().row_kind(row) == RowKind::tangential ? rate : std::min(0.0, rate));
    }
    c_[i] = impulses_.rate(i, w_next_) + offset_[i];
  }
}

// Replaces M^-1 f_int in a_ by its weighted mean.
void CdLagrange::filter(const State& start, State& end) {
  const Vector &A = start.history[filtered].values, &A_before = start.history[filtered_before].values;
  Vector& A_next = end.history[filtered].values;
  Vector& A_last = end.history[filtered_before].values;
  const double b_0 = 0.5 - gamma_ + beta_, b_1 = 0.5 + gamma_ - 2 * beta_;
  for_vector(a_.size(), system().threads(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      A_next[i] = (a_int_[i] - alpha_m_ * A[i]) / (1 - alpha_m_);
      a_[i] += beta_ * A_next[i] + b_1 * A[i] + b_0 * A_before[i] - a_int_[i];
      A_last[i] = A[i];
    }
  });
}

bool CdLagrange::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  const double h = scales.h, t = scales.t;
  const bool same_step = start.last_h == h;
  if (!same_step && !half_velocity_of(start, h)) return fail(report, FailureReason::no_convergence, 0);
  for_vector(w_.size(), system().threads(), [&](std::size_t first, std::size_t last) {
    const std::size_t count = last - first;
    if (same_step) copy(In(start.history[half_velocity].values).subspan(first, count), Out(w_).subspan(first, count));
    scale_into(h, In(w_).subspan(first, count), Out(d_).subspan(first, count));
  });

  // momenta of frames with half of the torque at t_n
  const bool frames = has_frames();
  if (frames) {
    a_ = start.acceleration;
    add_gyroscopic(-1.0, start.v, a_);
    combine(1.0, start.v, 0.5 * h, a_, p_next_);
    frame_momenta(p_next_, p_);
    transport(h, w_, p_, p_);
  }
  system().retract(start.q, d_, q_);
  if (!evaluate(q_, w_, t, report)) return false;
  if (rho_ < 1) filter(start, end);

  bool finite = all_ranges([&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      end.v[i] = w_[i] + 0.5 * h * a_[i];
      w_next_[i] = w_[i] + h * a_[i];
    }
    return all_finite(In(w_next_).subspan(first, last - first));
  });
  if (frames) {
    frame_velocities(p_, end.v);
    for (const DofMap::Frame& f : system().dofs().rotating_frames())
      for (int i = 0; i < 3; ++i) {
        const std::size_t e = at(f.equation + i);
        end.v[e] += 0.5 * h * a_[e];
        p_next_[e] = end.v[e] + 0.5 * h * a_[e];
      }
    frame_momenta(p_next_, p_);
    if (!find_half_rotations(p_, h, w_next_)) return fail(report, FailureReason::no_convergence, 0);
  }

  // impulses
  list_rows(q_, t, h, start, scales);
  const double roundoff = 64 * StepScales::epsilon * scales.speed;
  SubproblemReport& sub = report.subproblems[0];
  const bool solved = impulses_.solve(c_, roundoff, r_);
  sub.iterations = impulses_.iterations();
  sub.set_changes = impulses_.set_changes();
  if (!solved) return fail_impulses(report, FailureReason::no_convergence, 0);
  report.redundant = impulses_.redundant();
  // d_: the change of w without impulses
  if (!list_.empty()) {
    for_vector(w_.size(), system().threads(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) d_[i] = w_next_[i] - w_[i];
    });
    impulses_.add_velocity(1.0, r_, w_next_);
  }
  if (frames || !list_.empty())
    finite = all_ranges(
        [&](std::size_t first, std::size_t last) { return all_finite(In(w_next_).subspan(first, last - first)); });
  if (!finite) return fail(report, FailureReason::not_finite, 0);

  const int n_b = system().bilateral();
  set_zero(end.impulse);
  std::fill(closed_.begin(), closed_.end(), 0);
  rates_.resize(list_.size());
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const int row = list_[i];
    end.impulse[at(row)] = r_[i];
    rates_[i] = offset_[i] + impulses_.rate(i, w_next_);
    if (row < n_b || (r_[i] > 0 && system().row_kind(row) != RowKind::tangential))
      report.velocity_residual = std::max(report.velocity_residual, std::abs(rates_[i]) / weight(row));
  }
  mark_closed(rates_, closed_);
  // the reactions act like forces and the impacts at t_{n+1}
  const bool impact = split(d_, q_, w_next_, t, h);
  std::swap(end.acceleration, a_);
  for (std::size_t i = 0; i < list_.size(); ++i) c_[i] = h * forces_[at(list_[i])];
  impulses_.add_velocity(0.5, c_, end.v);
  impulses_.add_velocity(1 / h, c_, end.acceleration);
  if (impact) {
    v_before_ = end.v;
    for (std::size_t i = 0; i < list_.size(); ++i) c_[i] = jumps_[at(list_[i])];
    impulses_.add_velocity(1.0, c_, end.v);
  }
  if (frames) add_gyroscopic(1.0, end.v, end.acceleration);

  std::swap(end.q, q_);
  std::swap(end.history[half_velocity].values, w_next_);
  end.active = end.closed = closed_;
  measure_gaps(end.q, t, closed_, report);
  const Vector& v_before = impact ? v_before_ : end.v;
  if (!judge(start, start.acceleration, end, v_before, w_, h, forces_, 0, 0, report)) return false;
  std::swap(end.history[internal].values, a_int_);
  guard().close(impact, forces_, jumps_, v_before);

  stages_.clear();
  stages_.push_back({Stage::Kind::motion, start.t, t, start.q, start.v, end.q, v_before, forces_, h});
  if (impact) stages_.push_back({Stage::Kind::jump, t, t, end.q, v_before_, end.q, end.v, jumps_, h});
  stages_.back().closed = end.closed;
  return true;
}

}  // namespace carom
