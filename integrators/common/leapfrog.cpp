#include "integrators/common/leapfrog.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/element_frequency.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr double rounding = 1e-6;  // of Rayleigh's quotient
constexpr double rest = 1e-12;  // energy, of m v^2 of the model, below which quotients tell nothing: a body that sticks
constexpr double edge = 1e-9;   // of a disc: impulses on it slip
constexpr double still = 1e-12;                          // of the speed of the model: less slip is rounding
constexpr double same_motion = 1e-10;                    // velocities of reactions, relative
constexpr double turned_back = 1.5, largest_growth = 3;  // of the energies
constexpr double least_distance = 1e-4;                  // of Rayleigh's quotient from its bound

Vec3 part(In x, int first) { return {x[at(first)], x[at(first + 1)], x[at(first + 2)]}; }
void set_part(Out x, int first, const Vec3& value) {
  for (int i = 0; i < 3; ++i) x[at(first + i)] = value[i];
}

}  // namespace

Leapfrog::Leapfrog(const System& system, MethodInfo info, const LeapfrogOptions& options)
    : Integrator(system, std::move(info), options.scales, {.constraint_tolerance = options.constraint_tolerance}),
      options_(options),
      mass_(system),
      impulses_(system, mass_) {
  const std::size_t n = at(system.size()), rows = at(system.rows());
  for (Vector* x : {&w_, &d_, &a_, &a_int_, &f_, &p_, &p_next_, &zero_, &dv_, &v_before_}) x->assign(n, 0.0);
  for (Vector* x : {&gaps_, &forces_, &jumps_, &biases_}) x->assign(rows, 0.0);
  for (Vector* x : {&c_, &r_, &s_, &rates_}) x->reserve(rows);
  list_.reserve(rows);
  stages_.reserve(2);
}

std::vector<Integrator::Objection> Leapfrog::objections(const State& start, double h) {
  std::vector<Objection> found;
  if (const int e = mass_.massless(); e >= 0) {
    found.push_back({"", e,
                     "expected a mass: " + system().equation_name(e) + " has none, and \"" + info().name +
                         "\" divides forces by lumped masses"});
    return found;
  }
  if (!mass_.has_frame_inertias())
    found.push_back({"", system().dofs().rotating_frames().front().equation,
                     "expected frames whose rotation and translation have masses of their own: \"" + info().name +
                         "\" does not couple them"});
  if (options_.force_step) return found;
  if (!system().velocity_dependent() && h <= omega_h_limit() / frequency_bound(system(), start.q, start.t))
    return found;
  const StableStep stable = *find_stable_step(start);
  if (h > stable.largest) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "expected at most %.6g, the largest stable step of \"%s\" at the start (highest angular frequency "
                  "%.6g), got %.6g; \"force_step\": true tries it nevertheless",
                  stable.largest, info().name.c_str(), stable.omega, h);
    found.push_back({"/integrator/step", -1, text});
  }
  return found;
}

std::optional<StableStep> Leapfrog::find_stable_step(const State& state) const {
  return stable_step(system(), mass_, scales(), state.q, state.v, state.t, omega_h_limit());
}

bool Leapfrog::fail(StepReport& report, FailureReason reason, int subproblem) const {
  mark_failed(report, subproblem, reason);
  return false;
}

bool Leapfrog::fail_impulses(StepReport& report, FailureReason reason, int subproblem) const {
  if (impulses_.failed_row() < 0) return fail(report, reason, subproblem);
  fail(report, FailureReason::no_friction_solution, subproblem);
  report.worst_row = impulses_.failed_row();
  return false;
}

bool Leapfrog::begin(State& state, double h, StepReport& report) {
  clear(state, h);
  if (mass_.massless() >= 0) {
    fail(report, FailureReason::singular_matrix);
    report.worst_equation = mass_.massless();
    return false;
  }
  mark_touching(state);
  if (!evaluate(state.q, state.v, state.t, report)) return false;
  const std::size_t n = at(system().size());
  state.history = {{"half_velocity", Vector(n, 0.0)}, {"internal_acceleration", a_int_}, {"energy", Vector(5, 0.0)}};
  return true;
}

bool Leapfrog::hold_first_half_step(State& state, double h, StepReport& report) {
  const int n_b = system().bilateral();
  list_.clear();
  for (int row = 0; row < system().rows(); ++row)
    if (row < n_b || state.active[at(system().normal_row(row) - n_b)] != 0) list_.push_back(row);
  impulses_.set_rows(list_, state.q, state.t, nullptr);
  c_.resize(list_.size());
  r_.assign(list_.size(), 0.0);
  for (std::size_t i = 0; i < list_.size(); ++i)
    c_[i] = impulses_.rate(i, w_) + rate_at_rest(list_[i], state.q, state.t + 0.5 * h, state.q, state.t);
  if (!impulses_.solve(c_, 0, r_)) return fail_impulses(report, FailureReason::singular_matrix);
  impulses_.add_velocity(2 / h, r_, state.acceleration);
  for (std::size_t i = 0; i < list_.size(); ++i) {
    state.impulse[at(list_[i])] = 2 * r_[i];
  }
  set_zero(dv_);
  impulses_.add_velocity(1.0, r_, dv_);
  for (std::size_t i = 0; i < list_.size(); ++i) c_[i] += impulses_.rate(i, dv_);
  mark_closed(c_, state.closed);
  return true;
}

bool Leapfrog::evaluate(In q, In v, double t, StepReport& report) {
  if (!mass_.update(q)) return fail(report, FailureReason::indefinite_mass);
  energies_ = system().forces_with_energies(q, v, t, force_internal, a_int_);
  // weights alone are the same at all times; groups of masses overwrite them
  const bool weights_alone = mass_.groups().empty() && system().constant_mass() &&
                             !system().has_forces(force_all & ~(force_internal | force_gravity));
  if (!weights_alone || !weights_known_) system().forces(q, v, t, force_all & ~force_internal, f_);
  weights_known_ = weights_alone;
  bool finite = true;
  if (mass_.groups().empty()) {
    // one pass over the long vectors of solids
    const In inverse = mass_.inverses();
    finite = all_ranges([&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        a_int_[i] *= inverse[i];
        a_[i] = a_int_[i] + inverse[i] * f_[i];
      }
      return all_finite(In(a_).subspan(first, last - first));
    });
  } else {
    mass_.solve(a_int_, a_int_);
    mass_.solve(f_, f_);
    combine(1.0, a_int_, 1.0, f_, a_);
    if (has_frames()) add_gyroscopic(-1.0, v, a_);
    finite = all_finite(a_);
  }
  return finite || fail(report, FailureReason::not_finite);
}

void Leapfrog::add_gyroscopic(double sign, In v, Out a) const {
  const auto frames = system().dofs().rotating_frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const LumpedMass::Group& g = mass_.of_frame(i);
    const Vec3 Omega = part(v, frames[i].equation), moment = -Omega.cross(Vec3(g.M * Omega));
    set_part(a, frames[i].equation, part(a, frames[i].equation) + sign * Vec3(g.inverse * moment));
  }
}

void Leapfrog::frame_momenta(In x, Out y) const {
  const auto frames = system().dofs().rotating_frames();
  for (std::size_t i = 0; i < frames.size(); ++i)
    set_part(y, frames[i].equation, mass_.of_frame(i).M * part(x, frames[i].equation));
}

void Leapfrog::frame_velocities(In p, Out v) const {
  const auto frames = system().dofs().rotating_frames();
  for (std::size_t i = 0; i < frames.size(); ++i)
    set_part(v, frames[i].equation, mass_.of_frame(i).inverse * part(p, frames[i].equation));
}

void Leapfrog::transport(double h, In w, In x, Out y) const {
  for (const DofMap::Frame& f : system().dofs().rotating_frames())
    set_part(y, f.equation, so3::exp(Vec3(h * part(w, f.equation))).transpose() * part(x, f.equation));
}

bool Leapfrog::find_half_rotations(In p, double h, Out w) {
  const auto frames = system().dofs().rotating_frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const LumpedMass::Group& g = mass_.of_frame(i);
    const Mat3 J = g.M;
    const Vec3 momentum = part(p, frames[i].equation);
    Vec3 Omega = g.inverse * momentum;
    bool converged = false;
    for (int k = 0; k < 20 && !converged; ++k) {
      const Vec3 theta = 0.5 * h * Omega, turned = so3::exp(theta).transpose() * momentum;
      const Vec3 residual = J * Omega - turned;
      const Mat3 tangent = J - 0.5 * h * so3::hat(turned) * so3::tangent(theta);
      const Vec3 correction = tangent.partialPivLu().solve(residual);
      Omega -= correction;
      converged = correction.norm() <= 4e-16 * Omega.norm() || residual.isZero(0) ||
                  (k > 2 && correction.norm() <= 1e-14 * Omega.norm());
    }
    if (!converged) return false;
    set_part(w, frames[i].equation, Omega);
  }
  return true;
}

double Leapfrog::rate_at_rest(int row, In q, double t) const {
  const bool moves = row < system().bilateral() ? system().driven() : system().row_block(row).traits().moving;
  return moves ? system().row_rate(row, q, zero_, t) : 0.0;
}

double Leapfrog::rate_at_rest(int row, In q_at, double t_at, In q, double t) const {
  const auto rate = [&](int r) { return rate_at_rest(r, q_at, t_at); };
  return system().obstacles_move() ? value_at_start(system(), row, q_at, t_at, {q.data(), nullptr, t}, rate)
                                   : rate(row);
}

// The velocity that impulses give, in the metric of the mass.
double Leapfrog::size_of(In impulses) {
  set_zero(dv_);
  impulses_.add_velocity(1.0, impulses, dv_);
  return std::sqrt(mass_.product(dv_, dv_));
}

bool Leapfrog::split(In change, In q, In w, double t, double h) {
  set_zero(forces_);
  set_zero(jumps_);
  if (list_.empty()) return false;
  system().biases(q, w, t, bilateral_rows | unilateral_rows, biases_);
  for (std::size_t i = 0; i < list_.size(); ++i)
    if (system().row_kind(list_[i]) != RowKind::tangential)
      c_[i] = impulses_.rate(i, change) + h * biases_[at(list_[i])];
  s_ = r_;
  if (!impulses_.solve(c_, 0, s_)) std::fill(s_.begin(), s_.end(), 0.0);
  // reactions that redundant rows share in another way move nothing: no impact
  if (system().row_kinds().meets(friction_rows) || impulses_.redundant()) {
    combine(1.0, s_, -1.0, r_, c_);
    if (size_of(c_) <= same_motion * size_of(r_)) s_ = r_;
  }
  bool impact = false;
  double share = 0;  // of the last contact
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const std::size_t row = at(list_[i]);
    double reaction = list_[i] < system().bilateral() ? s_[i] : std::min(s_[i], r_[i]);
    if (system().row_kind(list_[i]) == RowKind::tangential)
      reaction = share * r_[i];
    else
      share = r_[i] > 0 ? reaction / r_[i] : 0;
    forces_[row] = reaction / h;
    jumps_[row] = r_[i] - reaction;
    impact = impact || jumps_[row] != 0;
  }
  return impact;
}

bool Leapfrog::judge(const State& start, In a_start, State& end, In v, In w, double h, In forces, double row_work,
                     double driven, StepReport& report) {
  const In q = end.q, a = end.acceleration;
  const double floor = rest * scales().mass * scales().speed * scales().speed;
  end.history[energy].values = start.history[energy].values;
  const auto [size, work, square, square_before, twice_kinetic] =
      mass_.products<5>({{{w, w}, {w, a_int_, start.history[internal].values}, {a, a}, {a_start, a_start}, {v, v}}});
  // Rayleigh's quotient along the motion
  if (system().constant_mass() && system().has_forces(force_internal)) {
    const double largest_quotient = omega_h_limit() * omega_h_limit() * (1 + rounding);
    double& met = end.history[energy].values[4];
    if (size > floor) met = std::max(met, -h * work / (largest_quotient * size));
    if (size > floor && -h * work > largest_quotient * size) {
      fail(report, FailureReason::unstable_step);
      // halves would let the motion grow again where the step grows back
      report.retry = !options_.force_step;
      report.failed_item = system().element_of_largest_gain(start.q, start.v, q, v, start.t + h);
      return false;
    }
  }
  // what the step conserves beside T + V:
  const double now = -h * h / 8 * square, before = -h * h / 8 * square_before;
  const double terms = 2 * std::sqrt(square * scales().mass);
  energies_.kinetic = 0.5 * twice_kinetic;
  if (!guard().explains(start, q, v, h, forces, row_work, terms, now - before - driven, &energies_)) {
    if (guard().lifts(start, start.q, w, -before)) return true;  // impulses are in a_start
    guard().blame(report, -1, start, q, v, start.t + h);
    return false;
  }
  // a stable motion with the quotient x of the largest lets T + V vary by 1/(1 - x)
  const double variation = 1 / std::max(least_distance, 1 - end.history[energy].values[4]);
  // growth of T + V so far, its lowest value, the largest energies without it, and what loads and rows have exchanged,
  // which is more than the energies of a body that sticks
  const EnergyPoint &first = *guard().step_end(), &last = *guard().motion_end();
  Vector& record = end.history[energy].values;
  const double given = 0.5 * h * (first.powers.given() + last.powers.given());
  record[0] += sum(last.energies) - sum(first.energies) - given - row_work - driven;
  record[3] += std::abs(given) + std::abs(row_work) + std::abs(driven);
  record[1] = std::min(record[1], record[0]);
  const double grown = record[0] - record[1];
  record[2] = std::max(record[2], guard().size(last.energies) - grown);
  const auto grows = [&] { return grown > largest_growth * variation * std::max({record[2], record[3], floor}); };
  if (grows()) {
    // under loads alone T + V differs by so much from what the step conserves, also where bodies start from rest
    combine(1.0, a, -1.0, a_int_, dv_);
    record[2] = std::max(record[2], h * h / 8 * mass_.product(dv_, dv_));
  }
  const bool has_grown = grows();
  if (last.energies.kinetic + now < -turned_back * guard().energies() || has_grown) {
    fail(report, FailureReason::unstable_step);
    if (has_grown) report.retry = false;  // earlier steps are wrong, which halves do not mend
    report.failed_item = system().element_of_largest_gain(start.q, start.v, q, v, start.t + h);
    return false;
  }
  return true;
}

void Leapfrog::mark_closed(In rates, std::vector<std::uint8_t>& closed) const {
  const int n_b = system().bilateral();
  std::size_t normal = 0;
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const int row = list_[i];
    if (row < n_b) continue;
    if (system().row_kind(row) != RowKind::tangential) {
      normal = i;
      closed[at(row - n_b)] = r_[i] > 0 ? 1 : 0;
      continue;
    }
    const ContactParameters law = system().contact_parameters(row);
    double square = 0, slip = 0;
    for (std::size_t k = normal + 1; k < list_.size() && system().row_kind(list_[k]) == RowKind::tangential; ++k) {
      if (system().contact_parameters(list_[k]).disc != law.disc) continue;
      square += r_[k] * r_[k];
      slip = std::max(slip, std::abs(rates[k]));
    }
    const bool slips = std::sqrt(square) >= (1 - edge) * law.friction * r_[normal] && slip > still * scales().speed;
    const SlipState state = !(r_[normal] > 0) ? SlipState::open : slips ? SlipState::slip : SlipState::stick;
    closed[at(row - n_b)] = static_cast<std::uint8_t>(state);
  }
}

void Leapfrog::measure_gaps(In q, double t, const std::vector<std::uint8_t>& closed, StepReport& report) {
  if (system().rows() == 0) return;
  const std::size_t n_b = at(system().bilateral());
  if (n_b > 0) system().gaps(q, t, bilateral_rows, gaps_);
  const auto measure = [&](std::size_t row) {
    report.position_residual = std::max(report.position_residual, std::abs(gaps_[row]) / weight(static_cast<int>(row)));
  };
  for (std::size_t i = 0; i < n_b; ++i) measure(i);
  for (std::size_t i = n_b; i < gaps_.size(); ++i) {
    if (system().row_kind(static_cast<int>(i)) == RowKind::tangential) continue;
    note_gap(static_cast<int>(i), gaps_[i], report);
    if (closed[i - n_b] != 0) measure(i);
  }
}

}  // namespace carom
