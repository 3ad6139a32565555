#include "integrators/common/located_impacts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "integrators/common/element_contacts.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr int most_lifts = 8;           // impacts of a resting contact in a step, after which none lifts it again
constexpr int most_bounces = 64;        // of a contact in a step
constexpr double faint = 1e-5;          // of the speed of the model: after so many bounces a slower contact is at rest
constexpr double least_rebound = 1e-8;  // of the speed of the model: slower contacts stay at rest
constexpr double together = 1e-6;       // of the step: impacts no further apart are one
constexpr double known_share = 0.01;    // of the delay by reactions of resting contacts: its error
constexpr double known_delay = 1e-3;    // of the step: what its error may be at least
constexpr int most_passes = 20;         // to the instant of an impact under friction of joints
constexpr double same_instant = 1e-13;  // of the step
constexpr double coarse_share = 0.8;    // of the response of free masses to a contact force in the smooth motion
constexpr double released_factor = 4;   // times the tolerance of rates: a contact moves apart

}  // namespace

// The smallest s >= s_0 at which the gap falls below zero. `touches`: the gap is zero at s_0.
double LocatedImpacts::Gap::first_fall(double s_0, bool touches, double rounding) const {
  const auto value = [this](double s) { return c[0] + s * (c[1] + s * (c[2] + s * c[3])); };
  const double start = value(s_0), slope = c[1] + s_0 * (2 * c[2] + 3 * c[3] * s_0);
  const bool zero = touches || std::abs(start) <= rounding;
  if (!zero && start < 0) return s_0;
  if (zero && !(slope > 0)) return s_0;
  const double offset = zero ? start : 0;
  // between its extrema the cubic is monotone
  double points[4] = {s_0, 1, 1, 1};
  int count = 1;
  const double a = 3 * c[3], b = c[2], discriminant = b * b - a * c[1];
  if (discriminant > 0) {
    const double root = -(b + std::copysign(std::sqrt(discriminant), b));
    double extrema[2] = {a != 0 ? root / a : 1.0, root != 0 ? c[1] / root : 1.0};
    if (extrema[0] > extrema[1]) std::swap(extrema[0], extrema[1]);
    for (const double s : extrema)
      if (s > s_0 && s < 1) points[count++] = s;
  }
  points[count] = 1;
  for (int k = 0; k < count; ++k) {
    double low = points[k], high = points[k + 1];
    if (!(value(high) - offset < 0)) continue;
    for (int i = 0; i < 60 && low < high; ++i) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) break;
      (value(middle) - offset < 0 ? high : low) = middle;
    }
    return high;
  }
  return std::numeric_limits<double>::infinity();
}

LocatedImpacts::LocatedImpacts(const System& system, const NewtonOptions& newton, const Scales& scales, bool elements,
                               int index, Vector* scratch)
    : system_(&system),
      newton_(system, newton, impact_setup(system, newton.method), scales, index, scratch),
      problem_(system, scales),
      joint_friction_(system.row_kinds().has(RowKind::joint_friction)),
      kinds_(kinds(system, elements)) {
  const std::size_t n = at(system.size()), rows = at(system.rows()), m = at(system.conditional());
  for (Vector* x : {&d_0_, &d_2_, &d_3_, &shift_, &drift_, &x_, &y_, &U_, &W_}) x->assign(n, 0.0);
  for (Vector* x : {&rate_, &rate_before_, &reflected_, &impulses_}) x->assign(rows, 0.0);
  for (auto* x : {&resting_, &closed_, &hit_, &last_, &striking_, &pressing_, &coarse_}) x->assign(m, 0);
  for (int row = system.bilateral(); row < system.rows(); ++row)
    if (system.row_kind(row) == RowKind::unilateral && system.contact_parameters(row).restitution > 0) ++bouncing_;
  gaps_.resize(m);
  falls_.assign(m, 0.0);
  hits_.assign(m, 0);
  load_.assign(at(system.bilateral()), 0.0);
  at_.q.assign(at(system.dofs().configuration_size()), 0.0);
  at_.v.assign(n, 0.0);
}

std::vector<LocatedImpacts::Kind> LocatedImpacts::kinds(const System& system, bool elements) {
  const std::size_t nodes = at(system.dofs().nodes());
  const std::vector<std::uint8_t> of_elements = contacts_of(system, nodes_of_elements(system));
  const bool flexible = is_flexible(system);
  std::vector<std::uint8_t> bound(nodes, 0);
  const auto mark = [&](const Topology& topology) {
    for (const int node : topology.nodes)
      if (node >= 0) bound[at(node)] = 1;
  };
  const bool elastic = system.has_forces(force_internal) || system.has_forces(force_damping);
  for (const auto& block : system.elements())
    if (elastic && (block->traits().has_stiffness || block->topology().slots.size() > 1)) mark(block->topology());
  for (const auto& block : system.constraints())
    if (elastic && block->traits().kind == RowKind::bilateral) mark(block->topology());
  std::vector<Kind> kinds(at(system.conditional()), Kind::published);
  std::vector<std::uint8_t> counted(nodes, 0), counted_pair(nodes, 0);
  int bodies = 0, in_pairs = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const int row = system.bilateral() + static_cast<int>(i);
    if (system.row_kind(row) != RowKind::unilateral) continue;
    const Topology& topology = system.row_block(row).topology();
    const int item = system.row_place(row).item;
    bool is_bound = false;
    for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot)
      if (const int node = topology.node(item, slot); node >= 0 && bound[at(node)] != 0) is_bound = true;
    if (of_elements[i] != 0 && (!elements || system.contact_parameters(row).restitution == 0)) continue;
    // partners of searching contacts are not known yet
    const bool beside = is_bound || (elastic && topology.slots.size() > 1);
    if (beside && flexible && !elements) continue;
    kinds[i] = beside ? Kind::bound : Kind::free;
    // contacts that search their partners have more of them than are counted one by one
    const bool searches = topology.slots.size() > 1 && std::ranges::all_of(topology.nodes, [](int n) { return n < 0; });
    if (searches) in_pairs = most_in_pairs + 1;
    for (int slot = 0; slot < static_cast<int>(topology.slots.size()); ++slot) {
      const int node = topology.node(item, slot);
      if (node < 0) continue;
      if (std::exchange(counted[at(node)], 1) == 0) ++bodies;
      if (topology.slots.size() > 1 && std::exchange(counted_pair[at(node)], 1) == 0) ++in_pairs;
    }
  }
  if (!elements && (bodies > most_bodies || in_pairs > most_in_pairs))
    std::fill(kinds.begin(), kinds.end(), Kind::published);
  return kinds;
}

bool LocatedImpacts::applies(const System& system, bool elements) {
  if (system.has_massless_equation()) return false;
  const std::vector<Kind> found = kinds(system, elements);
  return std::any_of(found.begin(), found.end(), [](Kind kind) { return kind != Kind::published; });
}

bool LocatedImpacts::takes_all(const System& system, bool elements) {
  const std::vector<Kind> found = kinds(system, elements);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != Kind::free && system.row_kind(system.bilateral() + static_cast<int>(i)) == RowKind::unilateral)
      return false;
  return true;
}

bool LocatedImpacts::find(const StepScales& scales, const State& start, SmoothMotion& smooth, StepReport& report) {
  count_ = 0;
  if (system_->conditional() == 0) return true;
  scales_ = &scales;
  start_ = &start;
  lambda_ = smooth.multipliers();
  const int n_b = system_->bilateral();
  const double rounding = scales.positions(1).row_roundoff,
               released =
                   std::max(released_factor * scales.momenta(1).row_tolerance, least_rebound * scales.model.speed);
  Vector& gaps = rate_;
  system_->gaps(smooth.q(), scales.t, unilateral_rows, gaps, &scales.start);
  bool any = false;
  for (std::size_t i = 0; i < striking_.size(); ++i) {
    const bool normal = system_->row_kind(n_b + static_cast<int>(i)) == RowKind::unilateral;
    resting_[i] = normal && start.active[i] != 0 ? 1 : 0;
    closed_[i] = start.closed[i];
    const bool falls = normal && resting_[i] == 0 && lever(i) * gaps[at(n_b) + i] < -rounding;
    striking_[i] = falls && kinds_[i] != Kind::published ? 1 : 0;
    any = any || striking_[i] != 0;
  }
  if (!any) return true;
  // the cubics of gaps know no directions that turn
  if (misses_contact(*system_, start.q, start.t, smooth.q(), scales.t, report, wide_closing_turn)) return false;
  leave_coarse(smooth, report);
  interpolate(smooth);
  // Contacts that touch and do not move are closed, with or without a load: rounding must not decide whether an impact
  // goes through them at once, or one after the other.
  const double still = scales.momenta(1).row_roundoff;
  for (std::size_t i = 0; i < resting_.size(); ++i)
    if (system_->row_kind(n_b + static_cast<int>(i)) == RowKind::unilateral && coarse_[i] == 0 &&
        std::abs(gaps_[i].c[0]) <= rounding && std::abs(gaps_[i].c[1]) <= h() * still)
      resting_[i] = 1;

  theta_ = weight_ = 0;
  for (Vector* x : {&W_, &drift_, &impulses_}) set_zero(*x);
  for (auto* x : {&hit_, &last_}) std::fill(x->begin(), x->end(), 0);
  std::fill(hits_.begin(), hits_.end(), 0);
  double s_0 = 0;
  for (std::size_t k = 0;; ++k) {
    double tau = next(s_0, rounding);
    // contacts that stay closed have pressed since the last impact, and joints have rubbed
    const bool presses = joint_friction_ || std::find(resting_.begin(), resting_.end(), 1) != resting_.end();
    if (tau <= 1 && presses && !delay(s_0, rounding, tau, report)) return false;
    if (!(tau <= 1)) break;
    if (k >= 4 * (at(most_lifts) + resting_.size()) + bouncing_ * at(most_bounces)) {
      if (report.shortest) break;  // the published law takes the rest, slow bounces and contacts that others lift
      return fail_accumulation(*system_, n_b + static_cast<int>(std::ranges::min_element(falls_) - falls_.begin()),
                               report);
    }
    if (!presses) place(tau);
    Impact* impact = &begin_impact(tau);
    if (presses) jump(0.5 * (s_0 + tau), *impact);
    if (joint_friction_) {  // works with other velocities than in the impact
      end_impact(*impact);
      impact = &begin_impact(tau);
    }
    rested_ = resting_;
    if (const int row = strike(tau); row >= 0) return fail_accumulation(*system_, row, report);
    set_load(tau, tau);
    if (!solve(report)) return false;
    jump(tau, *impact);
    // contacts that the impact lifts, but not those that have come to rest in it, nor those that have struck often:
    // many bodies would lift each other without end
    last_ = striking_;
    for (std::size_t i = 0; i < resting_.size(); ++i)
      if (rested_[i] != 0 && hits_[i] < most_lifts &&
          rate_[at(n_b) + i] > released * newton_.weight(n_b + static_cast<int>(i))) {
        resting_[i] = 0;
        last_[i] = 1;
      }
    end_impact(*impact);
    s_0 = tau;
  }
  if (count_ == 0) return true;
  theta_ = weight_ > 0 ? theta_ / weight_ : 1;
  combine(h(), W_, -h(), drift_, U_);
  return true;
}

// Contacts whose body responds to a contact force in the smooth motion by less than coarse_share of the response of
// masses and joints alone.
void LocatedImpacts::leave_coarse(SmoothMotion& smooth, StepReport& report) {
  bool any = false;
  for (std::size_t i = 0; i < coarse_.size(); ++i) {
    coarse_[i] = kinds_[i] == Kind::published ? 1 : 0;
    any = any || (striking_[i] != 0 && kinds_[i] == Kind::bound);
  }
  if (!any) return;
  at_.q = smooth.q();
  at_.v = smooth.v();
  at_.t = scales_->t;
  problem_.begin(at_, reflected_);
  if (!newton_.setup().constant_matrix) newton_.forget_matrix();
  const ProblemScales motion = scales_->motion(1), momenta = scales_->momenta(1);
  const bool known = newton_.prepare(problem_, momenta, report) && smooth.prepare(motion, report);
  for (std::size_t i = 0; i < coarse_.size(); ++i) {
    if (striking_[i] == 0 || kinds_[i] != Kind::bound) continue;
    coarse_[i] = 1;
    if (!known) continue;
    system_->row_gradient(system_->bilateral() + static_cast<int>(i), at_.q, at_.t, nullptr, G_, &scales_->start);
    const auto response = [&] {
      double sum = 0;
      for (std::size_t k = 0; k < G_.value.size(); ++k) sum += G_.value[k] * y_[at(G_.equation[k])];
      return sum;
    };
    set_zero(x_);
    for (std::size_t k = 0; k < G_.value.size(); ++k) x_[at(G_.equation[k])] += G_.value[k];
    if (!newton_.respond(problem_, momenta, x_, y_)) continue;
    const double free = response();
    if (smooth.respond(motion, x_, y_) && response() >= coarse_share * free) coarse_[i] = 0;
  }
}

// d(s) and the gaps as cubics.
void LocatedImpacts::interpolate(const SmoothMotion& smooth) {
  const State& start = *start_;
  const Vector& d = smooth.increment();
  scale_into(h(), start.v, d_0_);
  scale_into(h(), smooth.v(), x_);  // d' at s = 1
  const auto frames = system_->dofs().rotating_frames();
  if (!frames.empty()) system_->tangent_operators(d, T_);
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const Eigen::Map<Vec3> rate(x_.data() + frames[k].equation);
    const Vec3 solution = T_.frames[k].partialPivLu().solve(Vec3(rate));
    std::copy_n(solution.data(), 3, x_.data() + frames[k].equation);
  }
  for (std::size_t i = 0; i < d.size(); ++i) {
    d_2_[i] = 3 * d[i] - 2 * d_0_[i] - x_[i];
    d_3_[i] = d_0_[i] + x_[i] - 2 * d[i];
  }
  const auto measure = [&](In q, In v, double t, Vector& gap, Vector& rate) {
    system_->gaps(q, t, unilateral_rows, gap, &scales_->start);
    system_->rates(q, v, t, unilateral_rows, rate, &scales_->start);
  };
  Vector &gap_0 = rate_before_, &rate_0 = reflected_, &gap_1 = impulses_, &rate_1 = rate_;
  measure(start.q, start.v, start.t, gap_0, rate_0);
  measure(smooth.q(), smooth.v(), scales_->t, gap_1, rate_1);
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    const std::size_t row = at(system_->bilateral()) + i;
    const double l = lever(i), g_0 = l * gap_0[row], g_1 = l * gap_1[row], u_0 = l * h() * rate_0[row],
                 u_1 = l * h() * rate_1[row];
    gaps_[i] = {{g_0, u_0, 3 * (g_1 - g_0) - 2 * u_0 - u_1, 2 * (g_0 - g_1) + u_0 + u_1}};
  }
}

// The instant of the next impact, and who strikes; infinity: none. A contact that falls right behind the step strikes
// with one that falls right before its end: rounding of the time must not decide whether these impacts are one.
double LocatedImpacts::next(double s_0, double rounding, bool at_end) {
  double tau = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    const Gap& gap = gaps_[i];
    falls_[i] = std::numeric_limits<double>::infinity();
    const bool normal = system_->row_kind(system_->bilateral() + static_cast<int>(i)) == RowKind::unilateral;
    if (!normal || resting_[i] != 0 || coarse_[i] != 0) continue;
    if (!at_end || gap.at_end() < -rounding) {
      falls_[i] = gap.first_fall(s_0, last_[i] != 0, rounding);
      if (at_end) falls_[i] = std::min(1.0, falls_[i]);
    }
    if (falls_[i] <= 1)
      tau = std::min(tau, falls_[i]);
    else if (gap.slope_at_end() < 0 && gap.at_end() <= -together * gap.slope_at_end())
      falls_[i] = 1;
  }
  for (std::size_t i = 0; i < falls_.size(); ++i) striking_[i] = falls_[i] <= tau + together ? 1 : 0;
  return tau;
}

// The instant of the next impact with the reactions of resting contacts and the friction of joints from s_0 on, and the
// jump that they make there; infinity: they prevent the impact.
bool LocatedImpacts::delay(double s_0, double rounding, double& tau, StepReport& report) {
  free_gaps_ = gaps_;
  free_falls_ = falls_;
  for (int pass = 0; tau <= 1; ++pass) {
    place(tau);
    pressing_ = resting_;
    set_zero(reflected_);
    set_load(s_0, tau);
    if (!solve(report)) return false;
    if (pass == most_passes || tau <= s_0 + together) break;
    system_->rates(at_.q, problem_.velocity(), at_.t, unilateral_rows, rate_before_, &scales_->start);
    for (std::size_t i = 0; i < gaps_.size(); ++i) {
      const std::size_t row = at(system_->bilateral()) + i;
      const double a = 0.5 * lever(i) * h() * (rate_before_[row] - rate_[row]) / (tau - s_0);  // a (s - s_0)^2
      const double* const c = free_gaps_[i].c;
      gaps_[i] = {{c[0] + a * s_0 * s_0, c[1] - 2 * a * s_0, c[2] + a, c[3]}};
    }
    const double instant = next(s_0, rounding, false);
    if (std::abs(instant - tau) <= same_instant) break;
    tau = instant;
  }
  for (std::size_t i = 0; i < falls_.size() && tau <= 1; ++i) {
    const double later = std::abs(falls_[i] - free_falls_[i]);
    if (!(free_falls_[i] <= 1) || !(later > same_instant)) continue;
    // the other vertex of an edge may fall behind the end of the step
    const double* const c = gaps_[i].c;
    const double gap = c[0] + tau * (c[1] + tau * (c[2] + tau * c[3])),
                 slope = c[1] + tau * (2 * c[2] + 3 * c[3] * tau);
    const double window = std::max(known_delay, later <= 1 ? known_share * later : 0.0);
    if (slope < 0 && gap <= -window * slope) striking_[i] = 1;
  }
  gaps_ = free_gaps_;
  return true;
}

// at_ at an instant.
void LocatedImpacts::place(double tau) {
  for (std::size_t i = 0; i < x_.size(); ++i) {
    x_[i] = tau * (d_0_[i] + tau * (d_2_[i] + tau * d_3_[i]));
    at_.v[i] = (d_0_[i] + tau * (2 * d_2_[i] + 3 * tau * d_3_[i])) / h();
  }
  at_.t = start_->t + tau * h();
  system_->retract(start_->q, x_, at_.q);
  const auto frames = system_->dofs().rotating_frames();
  if (!frames.empty()) system_->tangent_operators(x_, T_);
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const Eigen::Map<Vec3> rate(at_.v.data() + frames[k].equation);
    const Vec3 velocity = T_.frames[k] * Vec3(rate);
    std::copy_n(velocity.data(), 3, at_.v.data() + frames[k].equation);
  }
  if (count_ > 0) {
    axpy(1.0, W_, at_.v);
    combine(tau * h(), W_, -h(), drift_, shift_);
    system_->retract(at_.q, shift_, at_.q);
  }
  system_->rates(at_.q, at_.v, at_.t, bilateral_rows | law_rows, rate_, &scales_->start);
}

// The laws of the contacts that strike: what they reflect, or rest. Returns the row of a contact that bounces without
// end; -1: none.
int LocatedImpacts::strike(double tau) {
  const int n_b = system_->bilateral();
  set_zero(reflected_);
  bool reflects = false;  // the contact whose tangential rows follow
  for (int row = n_b; row < system_->rows(); ++row) {
    const std::size_t i = at(row - n_b);
    const double e = system_->contact_parameters(row).restitution, rate = rate_[at(row)];
    if (system_->row_kind(row) == RowKind::tangential) {
      if (reflects) reflected_[at(row)] = e * rate;
      continue;
    }
    reflects = false;
    if (striking_[i] != 0) {
      hit_[i] = 1;
      const double falling = -gaps_[i].acceleration(tau) / (h() * h() * lever(i));
      const bool accumulates = falling > 0 && e < 1 && 2 * e * std::abs(rate) <= falling * (1 - e) * (1 - tau) * h();
      ++hits_[i];
      const double slow = least_rebound * scales_->model.speed * newton_.weight(row);
      // without restitution one impact brings the contact to rest, with it the endless bounces that accumulate
      const bool many = hits_[i] > most_bounces;
      reflects = rate < -slow && (e == 0 || !accumulates) && !many;
      if (many && e > 0 && !accumulates && -rate > faint * scales_->model.speed * newton_.weight(row)) return row;
      if (reflects) reflected_[at(row)] = e * rate;
      resting_[i] = e == 0 || !reflects ? 1 : 0;
    }
    pressing_[i] = striking_[i] != 0 || resting_[i] != 0 ? 1 : 0;
  }
  return -1;
}

// What bearings carry from s_0 to s_1 without the jump, and for how long.
void LocatedImpacts::set_load(double s_0, double s_1) {
  if (!joint_friction_) return;
  const double end = 0.5 * (s_1 * s_1 - s_0 * s_0), all = s_1 - s_0;
  for (std::size_t i = 0; i < load_.size(); ++i) load_[i] = h() * ((all - end) * start_->lambda[i] + end * lambda_[i]);
  load_duration_ = all * h();
  load_middle_ = start_->t + 0.5 * (s_0 + s_1) * h();
}

// The jump of the velocity at at_.
bool LocatedImpacts::solve(StepReport& report) {
  ProblemScales momenta = scales_->momenta(1);
  momenta.t = at_.t;
  momenta.start = {at_.q.data(), at_.v.data(), at_.t};
  // interpolated velocities obey the joints nearly: they are not corrected here
  for (std::size_t i = 0; i < at(system_->bilateral()); ++i) reflected_[i] = -rate_[i];
  problem_.begin(at_, reflected_);
  if (joint_friction_) problem_.set_load(load_, load_duration_, load_middle_);
  newton_.begin(
      report,
      {.held = &pressing_, .candidates = &pressing_, .first = newton_.friction() != nullptr ? &pressing_ : nullptr});
  return newton_.solve(problem_, momenta, report);
}

// The jump that solve() has found, which acts from s = since on.
void LocatedImpacts::jump(double since, Impact& impact) {
  const Vector& dV = problem_.solution();
  axpy(1.0, newton_.multipliers(), impact.impulses);
  axpy(1.0, dV, W_);
  axpy(since, dV, drift_);
  axpy(1.0, dV, at_.v);
  system_->mass_times(at_.q, dV, x_);
  const double weight = std::abs(dot(dV, x_));
  weight_ += weight;
  theta_ += weight * (1 - since);
  std::swap(rate_, rate_before_);
  system_->rates(at_.q, at_.v, at_.t, bilateral_rows | law_rows, rate_, &scales_->start);
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    const std::size_t row = at(system_->bilateral()) + i;
    const double change = lever(i) * h() * (rate_[row] - rate_before_[row]);
    gaps_[i].c[0] -= since * change;
    gaps_[i].c[1] += change;
  }
}

LocatedImpacts::Impact& LocatedImpacts::begin_impact(double tau) {
  if (count_ == impacts_.size()) impacts_.emplace_back();
  Impact& impact = impacts_[count_++];
  impact.tau = tau;
  impact.q = at_.q;
  impact.v_before = at_.v;
  impact.impulses.assign(impulses_.size(), 0.0);
  return impact;
}

void LocatedImpacts::end_impact(Impact& impact) {
  impact.v_after = at_.v;
  note_closed(impact);
  axpy(1.0, impact.impulses, impulses_);
}

// After an impact: contacts that rest keep their slip states unless the impact has changed them.
void LocatedImpacts::note_closed(Impact& impact) {
  impact.closed = newton_.flags();
  bool rests = false;
  for (std::size_t i = 0; i < resting_.size(); ++i) {
    const RowKind kind = system_->row_kind(system_->bilateral() + static_cast<int>(i));
    if (kind == RowKind::joint_friction) {
      closed_[i] = impact.closed[i];
      continue;
    }
    const bool normal = kind == RowKind::unilateral;
    if (normal) rests = resting_[i] != 0;
    if (!rests)
      closed_[i] = 0;
    else if (normal || impact.closed[i] != 0)
      closed_[i] = normal ? 1 : impact.closed[i];
    if (rests) impact.closed[i] = closed_[i];
  }
  impact.resting = closed_;
}

bool LocatedImpacts::correct_acceleration(const StepScales& scales, In q, In v_smooth, In v, State& end) {
  const System& s = *system_;
  if (!s.velocity_dependent() && s.bilateral() == 0) return true;
  Linearisation request;
  request.c_M = 1;
  request.q_M = request.q = q.data();
  request.v = v.data();
  request.t = scales.t;
  request.row_scale = scales.model.mass;
  request.start = &scales.start;
  SaddlePoint& saddle = newton_.saddle();
  if (!saddle.factorise(request)) return false;
  s.forces(q, v_smooth, scales.t, force_all, x_);
  s.forces(q, v, scales.t, force_all, y_);
  axpy(-1.0, y_, x_);
  const std::size_t n_b = at(s.bilateral());
  Vector &bias = rate_, &bias_smooth = rate_before_, &dl = reflected_;
  if (n_b > 0) {
    s.biases(q, v, scales.t, bilateral_rows, bias, &scales.start);
    s.biases(q, v_smooth, scales.t, bilateral_rows, bias_smooth, &scales.start);
    for (std::size_t i = 0; i < n_b; ++i) bias[i] -= bias_smooth[i];
  }
  saddle.set_active({}, q, scales.t, nullptr, &scales.start);
  if (!saddle.solve(x_, In(bias).first(n_b), {}, shift_, Out(dl).first(n_b), {}, {1e-9, 0})) return false;
  if (!newton_.setup().constant_matrix) saddle.forget();
  axpy(1.0, shift_, end.acceleration);
  axpy(1.0, shift_, end.history[0].values);
  axpy(1.0, In(dl).first(n_b), Out(end.lambda).first(n_b));
  return true;
}

}  // namespace carom
