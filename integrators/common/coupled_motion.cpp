#include "integrators/common/coupled_motion.hpp"

#include <algorithm>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "integrators/common/failure.hpp"
#include "integrators/common/instant_problems.hpp"
#include "integrators/common/integrator.hpp"
#include "integrators/common/tangent_pair.hpp"

namespace carom {

namespace {

constexpr double settling_steps = 5;

MixedSetup smooth_setup(const System& system, NewtonMethod method, RowSelection rows) {
  return {.name = "smooth",
          .rows = rows,
          .matrix = tangent_properties(system, method),
          .constant_matrix = system.linear() && contacts_linear(system)};
}

// M - D(G^T s)
MixedSetup correction_setup(const char* name, const System& system, NewtonMethod method) {
  const bool flat = contacts_linear(system), straight = system.bilateral() == 0 || system.linear();
  return {.name = name,
          .rows = position_rows | law_rows,
          .matrix = position_setup(system, method).matrix,
          .constant_matrix = system.constant_mass() && flat && straight,
          .free_of_step = system.bilateral() == 0,
          .curved_rows = !flat,
          .solved_at_rest = true};
}

MixedSetup in_turn(MixedSetup part, const CoupledSetup& setup) {
  part.in_turn = !setup.monolithic;
  return part;
}

}  // namespace

struct CoupledMotion::Smooth final : MixedProblem {
  explicit Smooth(CoupledMotion& motion) : m(motion) {}
  void rows(Out c) override {
    if (m.system_->rows() == 0) return;
    const RowSelection set = m.smooth_.setup().rows;
    if (!m.setup_.acceleration_level) {
      m.system_->rates(m.q_, m.v_smooth_, m.t_, set, c, &m.step_);
      return;
    }
    if (m.setup_.free_motion) {
      set_zero(c);
      return;
    }
    m.system_->accelerations(m.q_, m.v_, m.vd_, m.t_, set, c, &m.step_);
    for (double& x : c) x /= m.alpha_.c_a(m.h_);
  }
  double residual(In s, Out r) override {
    m.system_->mass_times(m.q_, m.vd_, m.Mx_);
    combine(1.0, m.Mx_, -1.0, m.forces(), r);
    set_zero(m.reaction_);
    m.system_->add_reactions(m.q_, m.t_, s, m.smooth_.setup().rows, m.reaction_, &m.step_);
    axpy(-1.0, m.reaction_, r);
    const double L = m.scales_.length;
    return size(*m.system_, m.Mx_, L) + size(*m.system_, m.f_, L) + size(*m.system_, m.reaction_, L);
  }
  RowPoint row_point() override { return {m.q_}; }
  void linearise(In, Linearisation& S) override {
    S.c_M = m.alpha_.c_a(m.h_);
    S.c_C = 1;
    S.c_K = S.c_s = m.alpha_.c_q(m.h_);
    S.c_rate = m.setup_.acceleration_level ? 2 / S.c_M : S.c_K;
    S.q_M = S.q = m.q_.data();
    S.v = m.v_.data();
    S.a = m.vd_.data();
    S.rows_apart = m.setup_.free_motion;
    S.T = m.motion_tangent();
  }
  bool move(double share, In dv) override {
    const In correction = m.mixing_.on() ? m.mixing_.move(share, dv) : dv;
    axpy(share * m.alpha_.c_a(m.h_), correction, m.vd_);
    axpy(share, correction, m.v_smooth_);
    axpy(share * m.alpha_.c_q(m.h_), correction, m.d_);
    m.moved_[0] = true;
    return m.monolithic_ || m.update();
  }
  CoupledMotion& m;
};

struct CoupledMotion::Position final : MixedProblem {
  explicit Position(CoupledMotion& motion) : m(motion) {}
  void rows(Out c) override {
    m.system_->gaps(m.q_, m.t_, position_rows | law_rows, c, &m.step_);
    if (m.anchors_.empty()) return;
    m.find_anchors();
    subtract_anchors(*m.system_, m.anchors_, m.q_, m.t_, m.step_, c);
  }
  double residual(In s, Out r) override {
    m.momentum(m.U_, s, position_rows | law_rows, m.mean_position_, r);
    return size(*m.system_, m.Mx_, m.scales_.length) + size(*m.system_, m.reaction_, m.scales_.length);
  }
  RowPoint row_point() override {
    return {m.q_, m.correction_tangent(), m.directions(m.mean_position_), !m.anchors_.empty()};
  }
  void friction_limits(In s, std::span<const int> joints, Out limits) override {
    const double h = m.h_;
    m.find_limits(s, joints, {h * h / 3, h * h / 6, h * h * (0.5 - m.alpha_.beta), h * h * m.alpha_.beta}, 0.5 * h * h,
                  m.step_.t + h / 3, limits);
  }
  void linearise(In s, Linearisation& S) override {
    S.c_M = S.c_s = 1;
    S.q_M = S.q = m.q_.data();
    S.s = m.end_multipliers(s, m.mean_position_, m.end_nu_);
    S.rows_through_T = true;
    S.T = m.correction_tangent();
  }
  bool move(double share, In dU) override {
    axpy(share, dU, m.U_);
    m.turn_position_.note_move();
    m.moved_[1] = true;
    return m.monolithic_ || m.update();
  }
  CoupledMotion& m;
};

struct CoupledMotion::Velocity final : MixedProblem {
  explicit Velocity(CoupledMotion& motion) : m(motion) {}
  void rows(Out c) override {
    if (m.system_->bilateral() > 0) m.system_->rates(m.q_, m.v_, m.t_, bilateral_rows, c, &m.step_);
    // the three rows of a contact with friction at once
    if (!m.anchors_.empty()) m.system_->rates(m.q_, m.v_, m.t_, law_rows, c, &m.step_);
    const std::vector<std::uint8_t>& candidates = m.setup_.smooth_gap ? m.near_ : m.position_.flags();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const int row = m.system_->bilateral() + static_cast<int>(i);
      if (candidates[i] == 0) continue;
      if (m.anchors_.empty()) c[at(row)] = m.system_->row_rate(row, m.q_, m.v_, m.t_, &m.step_);
      if (m.roles_.fixed == nullptr) c[at(row)] += reflected_rate(*m.system_, row, m.start_->q, *m.start_, m.q_, m.t_);
    }
  }
  double residual(In s, Out r) override {
    const auto& closed = m.setup_.smooth_gap ? m.near_ : m.position_.flags();
    const auto none = [](int) { return false; };
    const bool turns = m.stays_ && !MeanDirections::strikes(*m.system_, closed, m.start_->active, none);
    m.mean_velocity_.joints = turns ? &m.turn_velocity_ : nullptr;
    m.momentum(m.W_, s, bilateral_rows | law_rows, m.mean_velocity_, r);
    return size(*m.system_, m.Mx_, m.scales_.length) + size(*m.system_, m.reaction_, m.scales_.length);
  }
  RowPoint row_point() override { return {m.q_, nullptr, m.mean_directions()}; }
  void friction_limits(In s, std::span<const int> joints, Out limits) override {
    const double h = m.h_;
    m.find_limits(s, joints, {h / 2, h / 2, h * (1 - m.alpha_.gamma), h * m.alpha_.gamma}, h, m.step_.t + h / 2,
                  limits);
  }
  void linearise(In s, Linearisation& S) override {
    S.c_M = 1;
    S.q_M = S.q = m.q_.data();
    S.s = m.end_multipliers(s, m.mean_velocity_, m.end_impulse_);
    S.v = m.v_.data();
  }
  bool move(double share, In dW) override {
    axpy(share, dW, m.W_);
    m.turn_velocity_.note_move();
    m.moved_[2] = true;
    return m.monolithic_ || m.update();
  }
  CoupledMotion& m;
};

CoupledMotion::CoupledMotion(const System& system, const Scales& scales, const NewtonOptions& newton,
                             double rho_infinity, const CoupledSetup& setup)
    : system_(&system),
      options_(newton),
      scales_(scales),
      setup_(setup),
      alpha_(rho_infinity),
      smooth_(system, newton, in_turn(smooth_setup(system, newton.method, setup.smooth_rows), setup), scales, 0,
              setup.monolithic || setup.free_motion ? nullptr : &matrix_),
      position_(system, newton, in_turn(correction_setup("position", system, newton.method), setup), scales, 1,
                setup.monolithic ? nullptr : &matrix_),
      velocity_(system, newton, in_turn(correction_setup("velocity", system, newton.method), setup), scales, 2,
                setup.monolithic ? nullptr : &matrix_),
      motion_(std::make_unique<Smooth>(*this)),
      correction_(std::make_unique<Position>(*this)),
      jump_(std::make_unique<Velocity>(*this)),
      stayed_(system) {
  if (setup.monolithic) monolithic_.emplace(system, solvers_, scales.length);
  // the radii of the joints' friction are mixed by themselves
  if (setup.mixes_sweeps && !system.row_kinds().has(RowKind::joint_friction)) mixing_.resize(system, scales.length);
  if (setup.monolithic && system.row_kinds().meets(friction_rows))
    friction_ = std::make_unique<CoupledFriction>(system);
  for (Vector* x : {&a_star_, &a_n_, &vd_, &v_smooth_, &d_, &U_, &W_, &v_, &f_, &Mx_, &reaction_})
    x->assign(at(system.size()), 0.0);
  for (Vector* x : {&q_smooth_, &q_}) x->assign(at(system.dofs().configuration_size()), 0.0);
  for (Vector* x : {&row_, &eta_, &eta_n_}) x->assign(at(system.rows()), 0.0);
  for (Vector* x : {&nu_total_, &impulse_total_}) x->assign(at(system.conditional()), 0.0);
  near_.assign(at(system.conditional()), 0);
  if (system.row_kinds().meets(friction_rows))
    for (Vector* x : {&anchors_, &smooth_rows_}) x->assign(at(system.rows()), 0.0);
  if (system.row_kinds().has(RowKind::tangential)) frictionless_.assign(at(system.conditional()), 0);
  no_contact_ = near_;
}

CoupledMotion::~CoupledMotion() = default;

bool CoupledMotion::initialise(const StepScales& scales, State& state, InitialAcceleration kind, StepReport& report) {
  if (!start_motion(*system_, alpha_, scales_.mass, state, scales.h, kind, !setup_.free_motion, velocity_.saddle(),
                    solvers_, report))
    return false;
  if (kind != InitialAcceleration::zero && !begin_with_contacts(scales, state, report)) return false;
  if (setup_.acceleration_level) state.history.push_back({"eta", state.lambda});
  return true;
}

// Contacts of S that touch at rest press from the start.
bool CoupledMotion::begin_with_contacts(const StepScales& scales, State& state, StepReport& report) {
  const bool rests = std::find(state.active.begin(), state.active.end(), 1) != state.active.end();
  if (!rests || !setup_.smooth_rows.has(RowKind::unilateral)) return true;
  MixedNewton solver(*system_, options_, instant_setup(*system_, "start", options_.method), scales_, 0, nullptr);
  AccelerationProblem problem(*system_, scales_);
  StepReport own;
  reset(own, {"start"});
  Vector& a = state.history[0].values;
  combine(1.0, a, -1.0, state.acceleration, f_);
  if (!press(solver, problem, scales, state, own)) {
    mark_failed(report, -1, own.reason);
    return false;
  }
  // where a_0 is not v'(t_0), contacts change both alike
  combine(1.0, state.acceleration, 1.0, f_, a);
  return true;
}

bool CoupledMotion::solve(const StepScales& scales, const State& start, EnergyGuard& guard, StepReport& report,
                          const ContactRoles& roles) {
  start_ = &start;
  roles_ = roles;
  step_ = scales.start;
  h_ = scales.h;
  t_ = scales.t;
  if (!anchors_.empty()) touching_.find(*system_, start, step_, scales.closed_gap());
  if (setup_.mean_directions) {
    stays_ = stayed_.find(*system_, start.active);
    mean_position_ = {step_, &stayed_, MeanDirections::position_share, &turn_position_};
    mean_velocity_ = {step_, &stayed_, MeanDirections::velocity_share, &turn_velocity_};
  }
  copy(start.history[0].values, a_n_);
  if (start.last_h != h_) GeneralizedAlpha::rescale_a(start.last_h, h_, start.acceleration, a_n_);
  alpha_.predict_a(start.acceleration, a_n_, a_star_);
  if (setup_.acceleration_level) {
    copy(start.history[1].values, eta_n_);
    if (start.last_h != h_) GeneralizedAlpha::rescale_a(start.last_h, h_, start.lambda, eta_n_);
  }

  const bool contacts = setup_.smooth_rows.has(RowKind::unilateral), searched = contacts && roles.fixed == nullptr;
  std::fill(frictionless_.begin(), frictionless_.end(), std::uint8_t{0});
  bool solved = attempt(scales, start, contacts, report);
  // Where the anchors contradict each other even in the shortest step: without friction of the contacts that close in
  // it, then of all.
  for (const bool all : {false, true}) {
    if (solved || frictionless_.empty() || !report.shortest || report.reason != FailureReason::no_friction_solution ||
        (report.failed != 1 && !monolithic_))
      break;
    for (std::size_t i = 0; i < frictionless_.size(); ++i) frictionless_[i] = all || start.active[i] == 0 ? 1 : 0;
    forget_failure(report);
    ++report.friction_fallbacks;
    report.friction_left_out = true;
    solved = attempt(scales, start, contacts, report);
  }
  const bool cycles = !solved && report.reason == FailureReason::no_convergence;
  if (searched && system_->conditional() > 0 && (cycles || (solved && settles(start)))) {
    if (cycles) forget_failure(report);
    report.set_fallback = true;
    solved = attempt(scales, start, false, report);
  }
  if (!solved) return false;
  // v~ alone has the forces of what contacts compress, without their impulses
  const ImpulseWork work = guard.on() && moved_[2] ? impulse_work() : ImpulseWork{};
  // corrections of the positions are part of this motion
  const auto lifts = [&] {
    Vector q(start.q.size()), v(start.v.size());
    system_->retract(start.q, U_, q);
    combine(1.0, start.v, 1.0, W_, v);
    return guard.lifts(start, q, v);
  };
  if (guard.explains(start, q_, v_, h_, smooth_.multipliers(), work.all - work.driven, smooth_.terms(), -work.driven) ||
      lifts()) {
    guard.close(false, smooth_.multipliers(), {});
    return true;
  }
  guard.blame(report, 0, start, q_, v_, t_);
  return false;
}

// M (v - v_n) . (v_n + v)/2 is the change of the kinetic energy.
CoupledMotion::ImpulseWork CoupledMotion::impulse_work() {
  const In impulses = velocity_.multipliers();
  set_zero(Mx_);
  // along the directions in which the impulses act
  const auto rate_of = [&](int row, In v, double t) {
    const auto rate = [&](int r, In q, double t_r) { return system_->row_rate(r, q, v, t_r, &step_); };
    const MeanDirections* const mean = mean_directions();
    return mean != nullptr && row >= system_->bilateral() ? mean->rate(*system_, row, q_, t, rate) : rate(row, q_, t);
  };
  ImpulseWork work;
  for (int row = 0; row < system_->rows(); ++row) {
    const double impulse = impulses[at(row)];
    if (impulse == 0) continue;
    const double rate_n = rate_of(row, start_->v, start_->t), rate = rate_of(row, v_, t_),
                 at_rest = rate_of(row, Mx_, t_);
    work.all += impulse * (0.5 * (rate_n + rate) - at_rest);
    work.driven -= impulse * at_rest;
  }
  if (setup_.mean_directions && mean_velocity_.joints != nullptr && !turn_velocity_.impulse().empty())
    work.all += 0.5 * (dot(turn_velocity_.impulse(), start_->v) + dot(turn_velocity_.impulse(), v_));
  return work;
}

// A contact with restitution closes so slowly that a few steps of free motion explain its approach: impacts accumulate.
// The memory of eta, which lifts the contact after an impact, would then keep the contact from coming to rest.
bool CoupledMotion::settles(const State& start) const {
  const double slow = settling_steps * h_ * scales_.force / scales_.mass;
  return std::ranges::any_of(velocity_.active_rows(), [&](int row) {
    if (start.closed[at(row - system_->bilateral())] != 0) return false;
    const double reflected = reflected_rate(*system_, row, start.q, start, q_, t_);
    const double least = -slow * velocity_.weight(row) * system_->contact_parameters(row).restitution;
    return reflected != 0 && reflected >= least;
  });
}

bool CoupledMotion::attempt(const StepScales& scales, const State& start, bool contacts, StepReport& report) {
  if (options_.predictor == Predictor::previous)
    copy(start.acceleration, vd_);
  else
    set_zero(vd_);
  alpha_.advance(h_, start.v, a_n_, a_star_, vd_, d_, v_smooth_);
  set_zero(U_);
  set_zero(W_);
  if (mixing_.on()) mixing_.begin();
  turn_position_.begin(*system_, setup_.mean_directions && stays_);
  turn_velocity_.begin(*system_, setup_.mean_directions && stays_);
  std::fill(std::begin(moved_), std::end(moved_), false);
  const double p = setup_.penalty;
  gap_roundoff_ = scales.positions(p).row_roundoff;
  update();

  const ProblemScales motion =
      setup_.acceleration_level ? scales.accelerated_motion(p, alpha_.c_a(h_)) : scales.motion(p);
  const ProblemScales all[] = {motion, scales.positions(p), scales.momenta(p)};
  const bool totals = setup_.smooth_rows.has(RowKind::unilateral);
  const auto* const fixed = roles_.fixed;
  const auto* const pressing = fixed != nullptr ? fixed : contacts ? &velocity_.flags() : &no_contact_;
  const auto* const impulsive = fixed != nullptr ? fixed : setup_.smooth_gap ? &near_ : &position_.flags();
  smooth_.begin(report, {.multipliers = start.lambda, .held = &start.closed, .candidates = pressing, .fixed = fixed});
  const double ratio = h_ / start.last_h;
  if (friction_) {
    friction_->guess(0, start.nu, ratio * ratio);
    friction_->guess(1, start.impulse, ratio);
  }
  position_.begin(report, {.held = &start.active,
                           .candidates = roles_.candidates,
                           .fixed = fixed,
                           .first = anchors_.empty() ? nullptr : &touching_.touching,
                           .guess = start.nu,
                           .guess_scale = ratio * ratio,
                           .frictionless = frictionless_.empty() ? nullptr : &frictionless_,
                           .offsets = totals ? &nu_total_ : nullptr});
  velocity_.begin(report, {.held = &start.active,
                           .candidates = impulsive,
                           .fixed = fixed,
                           .first = anchors_.empty() ? nullptr : impulsive,
                           .guess = start.impulse,
                           .guess_scale = ratio,
                           .offsets = totals ? &impulse_total_ : nullptr});
  return monolithic_ ? monolithic_->solve(*this, all, report) : iterate(all, report);
}

// All sets and residuals first; then a correction of every part that is not solved or depends on one that has moved.
bool CoupledMotion::iterate(std::span<const ProblemScales> scales, StepReport& report) {
  const auto set_changes = [&report] {
    long sum = 0;
    for (const SubproblemReport& sub : report.subproblems) sum += sub.set_changes;
    return sum;
  };
  for (long before = set_changes();;) {
    if (setup_.smooth_rows.has(RowKind::unilateral)) find_totals();
    if (setup_.smooth_gap) find_smooth_gaps(gap_roundoff_);
    bool open[3] = {};
    for (const int i : {1, 2, 0}) {  // S is a subset of B, and B one of A
      if (i > 0 && system_->rows() == 0) continue;
      const PartTimer timer(report, report.subproblems[at(i)]);
      const MixedNewton::Test state = solvers_[i]->test(part(i), scales[at(i)], report);
      if (state == MixedNewton::Test::failed) return false;
      open[i] = state == MixedNewton::Test::open;
    }
    if (!open[0] && !open[1] && !open[2]) return true;
    if (const long now = set_changes(); mixing_.on() && std::exchange(before, now) != now) mixing_.forget();
    bool moved = false;
    for (int i = 0; i < 3; ++i) {
      if ((!open[i] && !moved) || (i > 0 && idle(i))) continue;
      const PartTimer timer(report, report.subproblems[at(i)]);
      if (moved) solvers_[i]->evaluate(part(i));
      if (!solvers_[i]->correct(part(i), scales[at(i)], report)) return false;
      moved = true;
    }
  }
}

bool CoupledMotion::idle(int i) const {
  return system_->rows() == 0 || (!moved_[i] && system_->bilateral() == 0 && solvers_[i]->active_rows().empty());
}

MixedProblem& CoupledMotion::part(int i) {
  if (i == 0) return *motion_;
  return i == 1 ? static_cast<MixedProblem&>(*correction_) : *jump_;
}

// Derivatives by d = c_q x of the motion, by U and by W.
bool CoupledMotion::couple(int i, int j, In, Linearisation& S) {
  S.q = q_.data();
  S.v = v_.data();
  S.c_row = 0;
  S.T = j == 0 ? motion_tangent() : correction_tangent();
  S.rows_through_T = true;
  const double by_place = j == 0 ? alpha_.c_q(h_) : 1;
  if (j == 2) {  // forces of dampers
    if (i == 1) return false;
    S.c_C = 1;
    return system_->velocity_dependent();
  }
  S.c_s = by_place;
  if (i == 0) {
    S.c_K = by_place;
    S.a = vd_.data();
  }
  if (i == 1) S.c_row = by_place;
  if (i != 1) S.c_rate = by_place;
  if (i == 2 && j == 0) {
    S.c_row = 1;
    S.rows_through_T = false;  // G v~, and v~ changes with x itself
  }
  return true;
}

bool CoupledMotion::update() {
  system_->retract(start_->q, d_, q_smooth_);
  if (moved_[1])
    system_->retract(q_smooth_, U_, q_);
  else
    copy(q_smooth_, q_);
  combine(1.0, v_smooth_, 1.0, W_, v_);
  if (setup_.smooth_gap && monolithic_) find_smooth_gaps(gap_roundoff_);
  forces_known_ = false;
  return all_finite(forces());
}

const Vector& CoupledMotion::forces() {
  if (!forces_known_) system_->forces(q_, v_, t_, force_all, f_);
  forces_known_ = true;
  return f_;
}

// M x - F^T s
void CoupledMotion::momentum(In x, In s, RowSelection rows, const MeanDirections& mean, Out r) {
  system_->mass_times(q_, x, Mx_);
  set_zero(reaction_);
  if (setup_.mean_directions) {
    at_start_.assign(s.size(), 0.0);
    copy(s, row_);
    mean.split(*system_, q_, t_, row_, at_start_);
    system_->add_reactions(q_, t_, row_, rows, reaction_, &step_);
    system_->add_reactions(start_->q, start_->t, at_start_, contact_rows, reaction_, &step_);
    if (mean.joints != nullptr) mean.joints->add(*system_, q_, t_, step_, mean.share, s, reaction_);
  } else {
    system_->add_reactions(q_, t_, s, rows, reaction_, &step_);
  }
  combine(1.0, Mx_, -1.0, reaction_, r);
}

// Of D(F^T s), where the directions of the start of the step are constant.
const double* CoupledMotion::end_multipliers(In s, const MeanDirections& mean, Vector& end) {
  if (!setup_.mean_directions) return s.data();
  end.assign(s.begin(), s.end());
  mean.split(*system_, q_, t_, end);
  return end.data();
}

const TangentOperators* CoupledMotion::motion_tangent() {
  if (!system_->uses_tangent_operators()) return nullptr;
  system_->tangent_operators(d_, U_, T_d_);
  return &T_d_;
}

const TangentOperators* CoupledMotion::correction_tangent() {
  if (!system_->uses_tangent_operators()) return nullptr;
  system_->tangent_operators(U_, T_u_);
  return &T_u_;
}

// What nu* and Lam* hold beside nu and Lam ([PVA18] eqs. 65m-o).
void CoupledMotion::find_totals() {
  alpha_.predict_a(start_->lambda, eta_n_, eta_);
  axpy(alpha_.c_v(), smooth_.multipliers(), eta_);
  const std::size_t n_b = at(system_->bilateral());
  for (std::size_t i = 0; i < nu_total_.size(); ++i) {
    const double eta_n = eta_n_[n_b + i], eta = eta_[n_b + i];
    nu_total_[i] = std::max(0.0, h_ * h_ * ((0.5 - alpha_.beta) * eta_n + alpha_.beta * eta));
    impulse_total_[i] = std::max(0.0, h_ * ((1 - alpha_.gamma) * eta_n + alpha_.gamma * eta));
  }
}

// s* of the smooth motion as it is now: its slip up to touch-down of contacts that were open at t_n.
void CoupledMotion::find_anchors() {
  Vector& slip = smooth_rows_;
  system_->gaps(q_smooth_, t_, contact_rows, slip, &step_);
  const int n_b = system_->bilateral();
  double share = 0;
  for (int row = n_b; row < system_->rows(); ++row) {
    if (system_->row_kind(row) == RowKind::joint_friction) continue;
    if (system_->row_kind(row) == RowKind::tangential) {
      const auto value = [&slip](int r) { return slip[at(r)]; };
      anchors_[at(row)] = share == 0 ? 0 : share * value_at_start(*system_, row, q_smooth_, t_, step_, value);
      continue;
    }
    const double smooth = slip[at(row)], before = touching_.gaps[at(row - n_b)];
    share = before <= 0 ? 0 : smooth < 0 ? before / (before - smooth) : 1;
  }
}

// Radii of joints under s and the reactions of the smooth motion in the step.
void CoupledMotion::find_limits(In s, std::span<const int> joints, const Weights& weights, double duration, double t,
                                Out limits) {
  const std::size_t n_b = at(system_->bilateral());
  Vector &total = row_, &at_start = row_at_start_;
  copy(s.first(n_b), Out(total).first(n_b));
  at_start.assign(n_b, 0.0);
  if (setup_.acceleration_level) {
    alpha_.predict_a(start_->lambda, eta_n_, eta_);
    axpy(alpha_.c_v(), smooth_.multipliers(), eta_);
    axpy(weights.eta_start, In(eta_n_).first(n_b), at_start);
    axpy(weights.eta_end, In(eta_).first(n_b), Out(total).first(n_b));
  } else {
    axpy(weights.start, In(start_->lambda).first(n_b), at_start);
    axpy(weights.end, smooth_.multipliers().first(n_b), Out(total).first(n_b));
  }
  for (std::size_t j = 0; j < joints.size(); ++j)
    limits[j] = system_->friction_limit(joints[j], q_, total, start_->q, at_start, duration, t);
}

// Contacts that rest on each other fall together: their gaps are zero but for rounding.
void CoupledMotion::find_smooth_gaps(double roundoff) {
  system_->gaps(q_smooth_, t_, unilateral_rows, row_, &step_);
  for (std::size_t i = 0; i < near_.size(); ++i) near_[i] = row_[at(system_->bilateral()) + i] <= roundoff ? 1 : 0;
}

void CoupledMotion::write(State& end) const {
  Vector& a = end.history[0].values;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a_star_[i] + alpha_.c_v() * vd_[i];
  copy(vd_, end.acceleration);
  copy(smooth_.multipliers(), end.lambda);
  copy(q_, end.q);
  copy(v_, end.v);
  copy(position_.multipliers(), end.nu);
  copy(velocity_.multipliers(), end.impulse);
  end.active = position_.flags();
  end.closed = velocity_.flags();
  if (!setup_.acceleration_level) return;
  Vector& eta = end.history[1].values;
  alpha_.predict_a(start_->lambda, eta_n_, eta);
  axpy(alpha_.c_v(), smooth_.multipliers(), eta);
  for (std::size_t i = 0; i < eta.size(); ++i)
    end.impulse[i] += h_ * ((1 - alpha_.gamma) * eta_n_[i] + alpha_.gamma * eta[i]);
}

}  // namespace carom
