#include "integrators/methods/nsga_decoupled.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/tangent_pair.hpp"
#include "integrators/methods/nsga_decoupled_problems.hpp"

namespace carom {

MethodInfo NsgaDecoupled::method_info(bool force_corrections, bool located_impacts) {
  MethodInfo info{.name = force_corrections ? "nsga_decoupled" : "nsga_decoupled (DSn)",
                  .subproblems = {"smooth", "position", "velocity"},
                  .rows = bilateral_rows | RowKind::switching | law_rows,
                  .forces_at_end = force_corrections};
  if (located_impacts) {
    info.name += " (located impacts)";
    info.subproblems.push_back("impact");
    info.events_in_stages = true;
  }
  return info;
}

namespace {

bool locates(const System& system, ImpactInstant impact) {
  if (impact == ImpactInstant::automatic && ConstraintSwitches::count(system) > 0) return false;
  return impact != ImpactInstant::published && LocatedImpacts::applies(system, impact == ImpactInstant::located);
}

MethodInfo info_for(const System& system, const NsgaOptions& o) {
  MethodInfo info = NsgaDecoupled::method_info(o.force_corrections, locates(system, o.impact));
  if (info.events_in_stages && LocatedImpacts::takes_all(system, o.impact == ImpactInstant::located))
    info.closing_turn = wide_closing_turn;
  return info;
}

// Forces depend on velocities, gyroscopic ones apart.
bool has_dampers(const System& system) {
  return system.has_forces(force_damping) || std::ranges::any_of(system.elements(), [](const auto& block) {
           return block->traits().velocity_dependent && (block->traits().force_parts & force_external) != 0;
         });
}

}  // namespace

NsgaDecoupled::NsgaDecoupled(const System& system, const NsgaOptions& o)
    : Integrator(system, info_for(system, o), o.scales, o.newton),
      options_(o),
      mean_directions_(o.mean_directions.value_or(info().events_in_stages || system.rolling())),
      by_forces_(system.row_kinds().meets(friction_rows) ||
                 (system.row_kinds().has(RowKind::unilateral) && has_dampers(system))),
      switches_(system),
      smooth_(system, o.scales, o.newton, GeneralizedAlpha(o.rho_infinity), tangent_properties(system, o.newton.method),
              0, scratch()),
      position_(system, o.newton, position_setup(system, o.newton.method, all_rows), o.scales, 1, scratch()),
      velocity_(system, o.newton, velocity_setup(system, o.newton.method, bilateral_rows | law_rows), o.scales, 2,
                scratch()),
      U_(std::make_unique<Position>(*this, mean_position_)),
      W_(std::make_unique<Velocity>(*this, mean_velocity_)),
      stayed_(system) {
  for (Vector* x : {&v_, &v_p_, &f_correction_, &Mx_, &scratch_}) x->assign(at(system.size()), 0.0);
  q_.assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&s_, &reflected_}) x->assign(at(system.rows()), 0.0);
  if (info().events_in_stages) {
    located_ =
        std::make_unique<LocatedImpacts>(system, o.newton, o.scales, o.impact == ImpactInstant::located, 3, &matrix_);
    solvers_[3] = &located_->solver();
    for (Vector* x : {&v_free_, &f_smooth_}) x->assign(at(system.size()), 0.0);
    q_free_ = q_;
  }
  if (located_ || switches_.present()) x_.assign(at(system.size()), 0.0);
  const bool friction = system.row_kinds().has(RowKind::tangential);
  if (friction || (located_ && system.row_kinds().has(RowKind::joint_friction)))
    for (Vector* x : {&anchors_, &smooth_rows_}) x->assign(at(system.rows()), 0.0);
  if (!friction) return;
  frictionless_.assign(at(system.conditional()), 0);
}

NsgaDecoupled::~NsgaDecoupled() = default;

std::vector<Integrator::Objection> NsgaDecoupled::objections(const State& start, double) {
  if (auto unclear = unclear_friction(start); !unclear.empty()) return unclear;
  if (located_ && switches_.present())
    return {{"/integrator/impact", -1, "expected \"published\", because constraints of the model switch"}};
  if (options_.impact != ImpactInstant::located || !system().has_massless_equation()) return {};
  return {{"/integrator/impact", -1,
           "expected a mass in every equation: an impact at its instant is solved with the mass matrix alone; "
           "\"published\" takes massless parts"}};
}

bool NsgaDecoupled::initialise(State& state, double h, StepReport& report) {
  clear(state, h);
  mark_touching(state);
  if (!options_.smooth_switching_rows) switches_.vacate();
  const bool begun = smooth_.initialise(state, h, options_.initial_acceleration, velocity_.saddle(), solvers(), report);
  switches_.set_old();
  if (!begun) return false;
  switches_.initialise(state);
  return true;
}

bool NsgaDecoupled::advance(const StepScales& scales, const State& start, State& end, StepReport& report) {
  if (!switches_.begin(start, report)) return false;
  if (switches_.present()) {
    // no matrix is kept: what rows measure, and with it the matrix, follows from the start of the step
    forget_matrices();
    measure_switching_rows(start.q, start.t);
  }
  if (take_step(scales, start, end, report)) return true;
  switches_.undo(start);
  return false;
}

bool NsgaDecoupled::take_step(const StepScales& scales, const State& start, State& end, StepReport& report) {
  h_ = scales.h;
  t_ = scales.t;
  step_ = scales.start;
  lambda_n_ = In(start.lambda).first(at(system().bilateral()));
  jumps_.clear();
  nu_before_.clear();
  if (!options_.smooth_switching_rows && switches_.present()) {
    switches_.vacate();
    measure_switching_rows(start.q, start.t);
  }
  if (!smooth_.solve(scales.motion(options_.penalty), start, guard(), report)) return false;
  if (!options_.smooth_switching_rows && switches_.present()) {
    switches_.set_old();
    measure_switching_rows(start.q, start.t);
  }
  if (located_ && !located_->find(scales, start, smooth_, report)) return false;
  theta_ = impacts() ? located_->theta() : 1;
  if (!correct_position(scales, start, report)) return false;
  if (switches_.present() && !switch_position(scales, start, report)) return false;
  smooth_.write(end);
  copy(q_, end.q);
  end.active = position_.flags();
  if (switches_.any()) {
    if (!switch_velocity(scales, start, end, report)) return false;
  } else {
    if (!jump_velocity(scales, start, report)) return false;
    copy(velocity_.multipliers(), end.impulse);
    end.closed = velocity_.flags();
  }
  copy(v_, end.v);
  copy(position_.multipliers(), end.nu);
  if (!nu_before_.empty()) axpy(1.0, nu_before_, Out(end.nu).first(nu_before_.size()));
  if (located_) leave_resting(scales, end);
  if (impacts()) {
    axpy(1.0, located_->impulses(), end.impulse);
    if (!located_->correct_acceleration(scales, q_, smooth_.v(), v_, end)) {
      mark_failed(report, 3, FailureReason::singular_matrix);
      return false;
    }
  }
  switches_.finish(end);
  // `impulse` keeps what the multipliers along the rows of the new modes do not give
  for (Jump& jump : jumps_) {
    scale_into(-1.0, jump.impulse, jump.impulse);
    system().add_reactions(q_, t_, jump.multipliers, bilateral_rows, jump.impulse, &step_);
    scale_into(-1.0, jump.impulse, jump.impulse);
  }
  const bool jumps = switches_.any() || W_->moved;
  double gain = 0;  // by the intermediate gradients
  if (switches_.any()) {
    for (const Jump& jump : jumps_)
      if (jump.switches) gain += kinetic(jump.v_1) - kinetic(jump.v_0);
    switches_.note_events();
    if (options_.smooth_switching_rows && !begin_anew(end, report)) return false;
  }
  guard().close(U_->moved || jumps, smooth_.multipliers(), jumps ? In(end.impulse) : In(), smooth_.v(), gain);
  return true;
}

// Closed for the next step are contacts that the velocity leaves closed.
void NsgaDecoupled::leave_resting(const StepScales& scales, State& end) const {
  const double rest = 4 * scales.momenta(1).row_tolerance;
  const int n_b = system().bilateral();
  for (const int row : position_.active_rows())
    if (system().row_kind(row) == RowKind::unilateral &&
        std::abs(system().row_rate(row, q_, v_, t_, &step_)) > rest * weight(row))
      end.active[at(row - n_b)] = 0;
  for (const int row : position_.active_rows())
    if (end.active[at(system().normal_row(row) - n_b)] == 0) end.active[at(row - n_b)] = 0;
}

bool NsgaDecoupled::correct_position(const StepScales& scales, const State& start, StepReport& report) {
  stays_ = false;
  if (mean_directions_ && system().rows() > 0) {
    // reactions of switching rows have directions of their own
    stays_ = stayed_.find(system(), start.active) && !switches_.present();
    mean_position_ = {step_, &stayed_, MeanDirections::position_share, &U_->turn};
    mean_velocity_ = {step_, &stayed_, MeanDirections::velocity_share, &W_->turn};
  }
  begin_position();
  if (system().rows() == 0) return true;
  if (!anchors_.empty()) {
    touching_.find(system(), start, step_, scales.closed_gap());
    find_anchors(start);
  }
  const double ratio = h_ / start.last_h;
  position_.begin(report, {.held = &start.active,
                           .candidates = candidates_,
                           .first = anchors_.empty() ? &start.active : &touching_.touching,
                           .guess = start.nu,
                           .guess_scale = ratio * ratio,
                           .moved = impacts()});
  if (!position_.solve(*U_, scales.positions(options_.penalty), report) &&
      !solve_without_anchors(scales, start, report))
    return false;
  report_gaps(position_, report);
  return true;
}

void NsgaDecoupled::begin_position() {
  correction_known_ = false;
  U_->begin(impacts() ? &located_->position() : nullptr);
  U_->turn.begin(system(), stays_);
  if (!impacts()) {
    copy(smooth_.q(), q_);
    return;
  }
  system().retract(smooth_.q(), U_->x, q_);
  copy(q_, q_free_);
}

// The last impact of the step in which a contact, given by its normal row, has an impulse; null: none.
const LocatedImpacts::Impact* NsgaDecoupled::last_impact_of(int row) const {
  const auto impacts = located_->impacts();
  const auto found = std::find_if(impacts.rbegin(), impacts.rend(), [row](const LocatedImpacts::Impact& impact) {
    return impact.impulses[at(row)] != 0;
  });
  return found == impacts.rend() ? nullptr : &*found;
}

// s*: the smooth slip up to touch-down of contacts that were open at t_n, of those hit in the step and of joints the
// slip up to their last impact.
void NsgaDecoupled::find_anchors(const State& start) {
  const int n_b = system().bilateral();
  const double t_n = start.t;
  const bool any_open = std::any_of(touching_.gaps.begin(), touching_.gaps.end(), [](double gap) { return gap > 0; });
  if (any_open) system().gaps(smooth_.q(), t_, contact_rows, smooth_rows_, &step_);
  double share = 0;
  const LocatedImpacts::Impact* hit = nullptr;
  for (int row = n_b; row < system().rows(); ++row) {
    double& anchor = anchors_[at(row)];
    anchor = 0;
    if (system().row_kind(row) == RowKind::unilateral) {
      share = 0;
      hit = impacts() && located_->hit(row - n_b) ? last_impact_of(row) : nullptr;
      const double before = touching_.gaps[at(row - n_b)], smooth = before > 0 ? smooth_rows_[at(row)] : 0;
      if (before > 0) share = smooth < 0 ? before / (before - smooth) : 1.0;
    } else if (system().row_kind(row) == RowKind::tangential) {
      if (hit != nullptr) {
        const double t = t_n + hit->tau * h_;
        anchor = value_at_start(system(), row, hit->q, t, step_,
                                [&](int r) { return system().row_gap(r, hit->q, t, &step_); });
      } else if (share > 0) {
        anchor = share *
                 value_at_start(system(), row, smooth_.q(), t_, step_, [this](int r) { return smooth_rows_[at(r)]; });
      }
    } else if (impacts()) {
      anchor = system().row_gap(row, located_->impacts().back().q, t_n + last_impact() * h_, &step_);
    }
  }
}

namespace {

// friction |s*| <= gap at t_n: with q = q_n every contact then has friction |c_T| <= c_N, the condition under which a
// cone problem has a solution [Acary, Cadoux, Lemarechal, Malick, A formulation of the linear discrete Coulomb friction
// problem via convex optimization, ZAMM 91 (2011) 155]. A contact that slides has the same friction with any anchor.
void shorten_anchors(const System& system, const State& start, const StepStart& step, Out anchors) {
  for (int row = system.bilateral(); row + 1 < system.rows(); ++row) {
    if (system.row_kind(row) != RowKind::unilateral || system.row_kind(row + 1) != RowKind::tangential) continue;
    const double slip = std::hypot(
        anchors[at(row + 1)],
        row + 2 < system.rows() && system.row_kind(row + 2) == RowKind::tangential ? anchors[at(row + 2)] : 0.0);
    if (slip == 0) continue;
    const double gap = std::max(0.0, system.row_gap(row, start.q, start.t, &step));
    const double longest = gap / system.contact_parameters(row + 1).friction;
    for (int k = row + 1; slip > longest && k < system.rows() && system.row_kind(k) == RowKind::tangential; ++k)
      anchors[at(k)] *= longest / slip;
  }
}

}  // namespace

// Where the anchors contradict each other: with shorter ones; in the shortest step then without friction of the
// contacts that close in it, then of all.
bool NsgaDecoupled::solve_without_anchors(const StepScales& scales, const State& start, StepReport& report) {
  if (report.reason != FailureReason::no_friction_solution || frictionless_.empty()) return false;
  enum Way { shorter, closing, all };
  for (const Way way : {shorter, closing, all}) {
    if (way != shorter && !report.shortest) return false;
    if (way == shorter) {
      shorten_anchors(system(), start, step_, anchors_);
    } else {
      for (std::size_t i = 0; i < frictionless_.size(); ++i)
        frictionless_[i] = way == all || start.active[i] == 0 ? 1 : 0;
    }
    forget_failure(report);
    ++report.friction_fallbacks;
    report.friction_left_out = way != shorter;
    begin_position();
    position_.begin(report, {.held = &start.active,
                             .candidates = candidates_,
                             .frictionless = way == shorter ? nullptr : &frictionless_,
                             .moved = impacts()});
    if (position_.solve(*U_, scales.positions(options_.penalty), report)) return true;
    if (report.reason != FailureReason::no_friction_solution) return false;
  }
  return false;
}

bool NsgaDecoupled::jump_velocity(const StepScales& scales, const State& start, StepReport& report) {
  correction_known_ = correction_known_ && system().constant_mass() && !(by_forces_ && system().velocity_dependent());
  W_->begin(impacts() ? &located_->velocity() : nullptr);
  const auto hit = [this](int contact) { return impacts() && located_->hit(contact); };
  W_->turn.begin(system(), stays_ && !MeanDirections::strikes(system(), position_.flags(), start.active, hit));
  copy(smooth_.v(), v_);
  if (impacts()) {
    if (system().velocity_dependent() && options_.force_corrections) {
      f_smooth_ = force_correction(smooth_.v(), !system().constant_mass());
      correction_known_ = false;
    }
    axpy(1.0, W_->x, v_);
    copy(v_, v_free_);
  }
  velocity_.begin(report, {.held = &start.active,
                           .candidates = &position_.flags(),
                           .first = &position_.flags(),
                           .guess = start.impulse,
                           .guess_scale = h_ / start.last_h});
  if (system().bilateral() == 0 && position_.active_rows().empty() && !impacts()) return true;
  const int n_b = system().bilateral();
  for (const int row : position_.active_rows()) {
    // contacts that stay closed, or were hit at their instants, have no impact at the end of the step
    const int contact = system().normal_row(row) - n_b;
    const bool done = located_ && (start.active[at(contact)] != 0 || (impacts() && located_->hit(contact)));
    reflected_[at(row)] = done ? 0 : reflected_rate(row, start.q, start, q_, t_);
  }
  if (!velocity_.solve(*W_, scales.momenta(options_.penalty), report)) return false;
  report.velocity_residual = velocity_.largest_row();
  return true;
}

// f_p, or with the change of the mass matrix f_*, at (q, v)
const Vector& NsgaDecoupled::force_correction(In v, bool mass_changes) {
  if (correction_known_) return f_correction_;
  correction_known_ = true;
  const ConstraintSwitches::OldReactions old(switches_);
  smooth_.force_change(q_, v, f_correction_, scratch_);
  if (mass_changes) {
    system().mass_times(q_, smooth_.acceleration(), Mx_);
    axpy(-1.0, Mx_, f_correction_);
    system().mass_times(smooth_.q(), smooth_.acceleration(), Mx_);
    axpy(1.0, Mx_, f_correction_);
  }
  // the change with the velocity acts after the impacts
  if (theta_ != 1 && v.data() == v_.data()) combine(theta_, f_correction_, 1 - theta_, f_smooth_, f_correction_);
  return f_correction_;
}

std::span<const Stage> NsgaDecoupled::stages() {
  using Kind = Stage::Kind;
  const Vector &q = smooth_.q(), &v = smooth_.v();
  const State& from = start();
  const double t_0 = from.t;
  In q_0 = from.q, v_0 = from.v;  // of the last motion
  double tau = 0;
  stages_.clear();
  if (impacts()) {
    for (const LocatedImpacts::Impact& impact : located_->impacts()) {
      const double t = t_0 + impact.tau * h_;
      add_motion(tau, q_0, v_0, impact.tau, impact.q, impact.v_before);
      Stage jump{Kind::jump, t, t, impact.q, impact.v_before, impact.q, impact.v_after, impact.impulses};
      jump.located = true;
      jump.closed = impact.closed;
      stages_.push_back(jump);
      q_0 = impact.q;
      v_0 = impact.v_after;
      tau = impact.tau;
    }
    add_motion(tau, q_0, v_0, 1, q_free_, v_free_);
    stages_.back().closed = located_->impacts().back().resting;
  } else {
    stages_ = {{Kind::motion, t_0, t_, q_0, v_0, q, v, smooth_.multipliers(), h_}};
    stages_[0].end = guard().motion_end();
  }
  const In q_1 = stages_.back().q_1, v_1 = stages_.back().v_1;
  if (U_->moved) {
    stages_.push_back({Kind::correction, t_, t_, q_1, v_1, q_, v_1, position_.multipliers()});
    stages_.back().switches = switches_.any();
  }
  if (switches_.any()) {
    add_switches();
  } else if (W_->moved) {
    stages_.push_back({Kind::jump, t_, t_, q_, v_1, q_, v_, velocity_.multipliers(), h_});
    if (mean_directions_) stages_.back().mean = &mean_velocity_;
    if (W_->has_force()) stages_.back().force = force_correction(v_, !system().constant_mass());
  }
  if (stages_.size() > 1) stages_.back().end = step_end();
  stages_.back().closed = switches_.any() ? closed_ : velocity_.flags();
  return stages_;
}

void NsgaDecoupled::add_motion(double s_0, In q_0, In v_0, double s_1, In q_1, In v_1) {
  const double t_n = start().t;
  stages_.push_back({Stage::Kind::motion, t_n + s_0 * h_, s_1 == 1 ? t_ : t_n + s_1 * h_, q_0, v_0, q_1, v_1,
                     smooth_.multipliers(), (s_1 - s_0) * h_});
}

}  // namespace carom
