#include "integrators/common/constraint_switches.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ranges>
#include <string>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/row_rank.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr const char* array_name = "modes";
constexpr double touching = 1e-9;  // a gap, of the length
// a contact pulls, or slips, beyond this impulse, over that of the largest speed at the start of the step
constexpr double pulling = 1e-10;

Vector* find_modes(State& state) {
  for (State::History& history : state.history)
    if (history.name == array_name) return &history.values;
  return nullptr;
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

}  // namespace

// The masses of the system and its bilateral rows but those of one block, with rows of closed contacts.
class ConstraintSwitches::Metric final : public SwitchMetric {
 public:
  Metric(const System& system, double length) : system_(&system) {
    saddle_.analyse(system, {system.symmetric(), false}, nullptr, length, true);
    for (Vector* x : {&r_, &x_, &y_}) x->assign(at(system.size()), 0.0);
    unit_ = r_;
    zero_.assign(at(system.rows()), 0.0);
    multipliers_.assign(at(system.bilateral()), 0.0);
  }

  /// For a block whose rows are vacant at present.
  bool prepare(In q, In v, double t, const StepStart& start, double mass, std::span<const int> closed) {
    q_ = q;
    t_ = t;
    std::vector<int> rows;
    for (int row = 0; row < system_->bilateral(); ++row)
      if (!vacant_row(system_->row_block(row), system_->row_place(row).row)) rows.push_back(row);
    if (!rows.empty() && !row_rank(*system_, q, t, rows).redundant.empty()) saddle_.expect_redundant();
    Linearisation request;
    request.c_M = 1;
    request.q_M = request.q = q.data();
    request.v = v.data();
    request.t = t;
    request.row_scale = mass;
    saddle_.forget();
    if (!saddle_.factorise(request)) return false;
    saddle_.set_active(closed, q, t, nullptr, &start);
    closed_.assign(closed.size(), 0.0);
    // sums of the rows of M give the order of the lengths of rows
    set_ones();
    return true;
  }

  bool measure(const SwitchingBlock& block, const Eigen::MatrixXd& G, RowsInMetric& rows) override {
    const auto n = static_cast<Eigen::Index>(r_.size());
    rows.x.resize(n, G.rows());
    rows.y.resize(n, G.rows());
    rows.length.resize(G.rows());
    reactions_.resize(static_cast<Eigen::Index>(closed_.size()), G.rows());
    for (Eigen::Index k = 0; k < G.rows(); ++k) {
      set_zero(r_);
      Eigen::Index local = 0;
      const Topology& t = block.topology();
      for (std::size_t i = 0; i < t.slots.size(); ++i)
        for (int c = 0; c < t.slots[i].components; ++c, ++local)
          if (const int e = system_->dofs().equation(t.nodes[i], t.slots[i].first_component + c); e >= 0)
            r_[at(e)] -= G(k, local);
      double square = 0;
      for (std::size_t e = 0; e < r_.size(); ++e) square += in_units(static_cast<int>(e), r_[e]);
      rows.length[k] = std::sqrt(square);
      if (!saddle_.solve(r_, In(zero_).first(multipliers_.size()), In(zero_).first(closed_.size()), x_, multipliers_,
                         closed_))
        return false;
      system_->mass_times(q_, x_, y_);
      rows.x.col(k) = Eigen::Map<const Eigen::VectorXd>(x_.data(), n);
      rows.y.col(k) = Eigen::Map<const Eigen::VectorXd>(y_.data(), n);
      reactions_.col(k) = Eigen::Map<const Eigen::VectorXd>(closed_.data(), reactions_.rows());
    }
    return true;
  }

  /// The impulses of the closed contacts in the jump of the velocity v, M W = G_E^T Lam + G_b^T Lam_b + G_c^T P with
  /// G_+ (v + W) + g_t = 0, for a block that has the rows G_+ and reactions along G_E, `directions`, at present.
  bool impulses(const SwitchingBlock& block, int first_row, const Eigen::MatrixXd& directions, In v, Vector& P) {
    RowsInMetric along;
    if (!measure(block, directions, along)) return false;
    const Eigen::Index m = directions.rows();
    Eigen::MatrixXd D(m, m);
    Eigen::VectorXd rates(m), unit(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const int row = first_row + static_cast<int>(i);
      const double size = length(row);
      unit[i] = size > 0 ? 1 / size : 0;
      for (Eigen::Index j = 0; j < m; ++j) {
        D(i, j) = 0;
        for (std::size_t e = 0; e < row_.equation.size(); ++e) D(i, j) += row_.value[e] * along.x(row_.equation[e], j);
      }
      rates[i] = system_->row_rate(row, q_, v, t_);
    }
    const Eigen::MatrixXd scaled = unit.asDiagonal() * D * unit.asDiagonal();
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
    solver.setThreshold(1e-11);
    solver.compute(scaled);
    const Eigen::VectorXd Lam = -(unit.asDiagonal() * solver.solve(unit.asDiagonal() * rates));
    P.assign(closed_.size(), 0.0);
    Eigen::Map<Eigen::VectorXd>(P.data(), reactions_.rows()) = reactions_ * Lam;
    return true;
  }

  /// sqrt(g M^-1 g^T) of a row in its order of magnitude.
  double length(int row, const StepStart* start = nullptr) {
    system_->row_gradient(row, q_, t_, nullptr, row_, start);
    double square = 0;
    for (std::size_t e = 0; e < row_.equation.size(); ++e) square += in_units(row_.equation[e], row_.value[e]);
    return std::sqrt(square);
  }

 private:
  double in_units(int equation, double g) const { return unit_[at(equation)] > 0 ? g * g / unit_[at(equation)] : 0.0; }
  // M (1, ..., 1)
  void set_ones() {
    for (double& x : x_) x = 1;
    system_->mass_times(q_, x_, unit_);
  }

  const System* system_;
  SaddlePoint saddle_;
  In q_;
  double t_ = 0;
  SparseRow row_;
  Eigen::MatrixXd reactions_;  // of closed contacts, to the rows of the last measure()
  Vector r_, x_, y_, zero_, multipliers_, closed_, unit_;
};

ConstraintSwitches::~ConstraintSwitches() = default;

ConstraintSwitches::ConstraintSwitches(const System& system) : system_(&system) {
  std::size_t largest = 0, most_rows = 0;
  for (std::size_t b = 0; b < system.constraints().size(); ++b)
    if (auto* block = dynamic_cast<SwitchingBlock*>(system.constraints()[b].get()); block != nullptr) {
      switches_.push_back({block, system.first_row(static_cast<int>(b)), block->mode()});
      switches_.back().alone = !reaches_beyond(*block);
      largest = std::max(largest, at(block->topology().local_size));
      most_rows = std::max(most_rows, at(block->rows()));
    }
  weights_.assign(most_rows, 1.0);
  v_local_.assign(largest, 0.0);
  v_start_ = v_local_;
}

// Joints and bearings of its coordinates hold other bodies, whose masses are part of the metric.
bool ConstraintSwitches::reaches_beyond(const SwitchingBlock& block) const {
  if (block.needs_metric()) return true;
  const std::vector<int>& own = block.topology().nodes;
  const auto is_own = [&](int node) { return std::ranges::find(own, node) != own.end(); };
  for (std::size_t b = 0; b < system_->constraints().size(); ++b) {
    const ConstraintBlock& other = *system_->constraints()[b];
    if (system_->first_row(static_cast<int>(b)) >= system_->bilateral()) continue;
    const std::vector<int>& nodes = other.topology().nodes;
    if (std::ranges::any_of(nodes, is_own) && !std::ranges::all_of(nodes, is_own)) return true;
  }
  return false;
}

// The velocity at a state, or of a start at rest the mean one under its accelerations, unless contacts may stop these.
Vector ConstraintSwitches::ahead(const State& state, double duration, const Scales& scales) const {
  Vector v = state.v;
  const System& s = *system_;
  if (!present() || max_abs(v) > 0) return v;
  for (int row = s.bilateral(); row < s.rows(); ++row)
    if (s.row_kind(row) == RowKind::unilateral && s.row_gap(row, state.q, state.t) <= touching * scales.length)
      return v;
  SaddlePoint saddle;
  saddle.analyse(s, {s.symmetric(), false}, nullptr, scales.length, true);
  Vector multipliers(at(s.bilateral())), acceleration(v);
  StepReport report;
  if (consistent_acceleration(s, saddle, scales.mass, true, state.q, state.v, state.t, acceleration, multipliers,
                              report) &&
      all_finite(acceleration))
    scale_into(0.5 * duration, acceleration, v);
  return v;
}

int ConstraintSwitches::place_of(const System& system, std::string_view body) {
  int place = 0;
  for (const auto& block : system.constraints()) {
    if (dynamic_cast<const SwitchingBlock*>(block.get()) == nullptr) continue;
    if (block->name() == body) return place;
    ++place;
  }
  return -1;
}

int ConstraintSwitches::count(const System& system) {
  return static_cast<int>(std::ranges::count_if(system.constraints(), [](const auto& block) {
    return dynamic_cast<const SwitchingBlock*>(block.get()) != nullptr;
  }));
}

const Vector* ConstraintSwitches::modes_of(const State& state) { return find_modes(const_cast<State&>(state)); }

void ConstraintSwitches::initialise(State& state) const {
  if (!present()) return;
  Vector values;
  for (const Switch& s : switches_) values.push_back(s.block->mode());
  values.resize(2 * switches_.size(), state.t);
  state.history.push_back({array_name, std::move(values)});
}

bool ConstraintSwitches::begin(const State& start, StepReport& report) {
  events_.clear();
  return resume(start, report);
}

bool ConstraintSwitches::resume(const State& start, StepReport& report) {
  any_ = false;
  order_.clear();
  if (!present()) return true;
  const Vector* const modes = modes_of(start);
  const bool known = modes != nullptr && modes->size() == 2 * switches_.size();
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    Switch& s = switches_[i];
    const double mode = known ? (*modes)[i] : -1;
    if (!(mode >= 0 && mode < s.block->modes())) {
      report.retry = false;
      return refuse(report, 0, "the state has no mode of " + s.block->name());
    }
    s.mode = static_cast<int>(mode);
    s.next = -1;
    s.switching = false;
    s.began = (*modes)[switches_.size() + i];
    s.block->set_mode(s.mode);
  }
  return true;
}

ConstraintInput ConstraintSwitches::input(const Switch& s, In q, In v, double t, Vector& v_local) const {
  ConstraintInput in{q.data(), nullptr, t, nullptr};
  if (v.empty()) return in;
  std::size_t k = 0;
  const Topology& topology = s.block->topology();
  for (std::size_t i = 0; i < topology.slots.size(); ++i)
    for (int c = 0; c < topology.slots[i].components; ++c) {
      const int equation = system_->dofs().equation(topology.nodes[i], topology.slots[i].first_component + c);
      v_local[k++] = equation < 0 ? 0.0 : v[at(equation)];
    }
  in.v = v_local.data();
  return in;
}

std::string ConstraintSwitches::names(const Switch& s) const {
  return s.block->mode_name(s.mode) + " -> " + s.block->mode_name(s.next);
}

bool ConstraintSwitches::refuse(StepReport& report, int subproblem, std::string why) {
  // of a method whose step is one problem: the step as a whole
  mark_failed(report, at(subproblem) < report.subproblems.size() ? subproblem : -1, FailureReason::no_convergence);
  report.failed_item = std::move(why);
  return false;
}

bool ConstraintSwitches::find(const StepScales& scales, In q, In v, StepReport& report, std::string_view hint) {
  order_.clear();
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    Switch& s = switches_[i];
    const In q_n(scales.start.q, q.size()), v_n = scales.start.v == nullptr ? In() : In(scales.start.v, v.size());
    const SwitchingBlock::Crossing crossing = s.block->find_crossing(
        s.mode, input(s, q_n, v_n, scales.start.t, v_start_), input(s, q, v, scales.t), scales.model.length);
    if (crossing.inside)
      return refuse(report, 1, s.block->mode_name(s.mode) + " is left and entered again within the step");
    if (!crossing.left) continue;
    if (!crossing.fault.empty()) return refuse(report, 1, crossing.fault + std::string(hint));
    s.next = crossing.next;
    s.t = scales.start.t + crossing.share * scales.h;
    s.energy = 0;
    any_ = true;
    order_.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(order_, {}, [this](int i) { return switches_[at(i)].t; });
  return true;
}

bool ConstraintSwitches::coupled() const {
  return std::ranges::any_of(order_, [this](int i) { return !switches_[at(i)].alone; });
}

bool ConstraintSwitches::refuse_order(StepReport& report) const {
  return refuse(report, 2,
                names(switches_[at(order_.front())]) + " and " + names(switches_[at(order_.back())]) +
                    " switch within one step, and their order decides");
}

// The metric beside blocks whose rows are vacant at present.
bool ConstraintSwitches::prepare(const Switch& s, bool whole, const StepScales& scales, In q, In v, double t,
                                 std::span<const int> closed, StepReport& report) {
  if (!whole) return true;
  if (!metric_) metric_ = std::make_unique<Metric>(*system_, scales.model.length);
  if (metric_->prepare(q, v, t, scales.start, scales.model.mass, closed)) return true;
  return refuse(report, 1, names(s) + ": the mass matrix with the other constraints is singular");
}

bool ConstraintSwitches::set_switch(Switch& s, In q, In v, double t, bool whole, StepReport& report) {
  s.switching = true;
  if (s.block->set_switch(s.mode, s.next, input(s, q, v, t), E_, whole ? metric_.get() : nullptr)) return true;
  return refuse(report, 1,
                names(s) + ": no intermediate gradient leads through the surface, which the motion meets at the rate " +
                    number(s.block->crossing_rate(s.mode, input(s, q, v, t))));
}

bool ConstraintSwitches::set(const StepScales& scales, In q, In v, double t, double E, const Flags& held,
                             StepReport& report) {
  E_ = E;
  const std::vector<int> closed = closed_rows(held);
  bool whole = !closed.empty();
  for (const int i : order_) whole = whole || !switches_[at(i)].alone;
  for (const int i : order_) switches_[at(i)].block->set_mode(-1);
  if (!order_.empty() && !prepare(switches_[at(order_.front())], whole, scales, q, v, t, closed, report)) return false;
  for (const int i : order_)
    if (!set_switch(switches_[at(i)], q, v, t, whole, report)) return false;
  return true;
}

void ConstraintSwitches::settle(int k, bool backwards) {
  for (int i = 0; i <= k; ++i) {
    const Switch& s = switches_[at(order_[at(backwards ? crossings() - 1 - i : i)])];
    s.block->set_mode(s.next);
  }
}

void ConstraintSwitches::set_old() {
  for (Switch& s : switches_) {
    s.switching = false;
    s.block->set_mode(s.mode);
  }
}

void ConstraintSwitches::set_new() {
  set_old();
  for (const int i : order_) switches_[at(i)].block->set_mode(switches_[at(i)].next);
}

bool ConstraintSwitches::leave(In q, double t) const {
  return std::ranges::any_of(switches_,
                             [&](const Switch& s) { return s.block->condition(s.mode, input(s, q, {}, t)) < 0; });
}

bool ConstraintSwitches::on_surface(const StepScales& scales, In q) const {
  return std::ranges::all_of(switches_, [&](const Switch& s) {
    return s.next < 0 ||
           s.block->condition(s.mode, input(s, q, {}, scales.t)) >= -64 * StepScales::epsilon * scales.place;
  });
}

void ConstraintSwitches::vacate() {
  for (const Switch& s : switches_) s.block->set_mode(-1);
}

std::vector<int> ConstraintSwitches::closed_rows(const Flags& held) const {
  std::vector<int> rows;
  for (std::size_t i = 0; i < held.size(); ++i)
    if (held[i] != 0) rows.push_back(system_->bilateral() + static_cast<int>(i));
  return rows;
}

// A contact leaves with its tangential rows, and these leave together.
void ConstraintSwitches::open(int row, Flags& held) const {
  const System& s = *system_;
  int first = row;
  while (s.row_kind(row) == RowKind::tangential && s.row_kind(first - 1) == RowKind::tangential) --first;
  held[at(first - s.bilateral())] = 0;
  for (int r = first + 1; r < s.rows() && s.row_kind(r) == RowKind::tangential; ++r) held[at(r - s.bilateral())] = 0;
}

bool ConstraintSwitches::rests(int row, const Crossing& c, const StepScales& scales, In v) const {
  return std::abs(system_->row_rate(row, c.q, v, c.t, &scales.start)) <= c.rest * c.weights[at(row)];
}

bool ConstraintSwitches::cross(const Crossing& c, const StepScales& scales, Flags& held, const SolveJump& jump,
                               StepReport& report) {
  for (const int row : closed_rows(held))
    if (!rests(row, c, scales, c.v)) open(row, held);
  for (;;) {
    if (!set_one(c, scales, held, report)) return false;
    const In behind = jump(held, impulses_);
    if (behind.empty()) return false;
    // where the law of contacts has another solution
    bool all = true;
    for (const int row : closed_rows(held)) {
      if (held[at(row - system_->bilateral())] == 0 || rests(row, c, scales, behind)) continue;
      open(row, held);
      all = false;
    }
    if (all) return crosses(c.q, behind, c.t, report);
  }
}

// The rows of a switch, with those contacts of `held` in the metric that press in it.
bool ConstraintSwitches::set_one(const Crossing& c, const StepScales& scales, Flags& held, StepReport& report) {
  E_ = c.E;
  const auto place = [&](int i) { return c.backwards ? crossings() - 1 - i : i; };
  set_old();
  for (int i = 0; i < c.k; ++i) {
    const Switch& before = switches_[at(order_[at(place(i))])];
    before.block->set_mode(before.next);
  }
  Switch& s = switches_[at(order_[at(place(c.k))])];
  impulses_.assign(at(system_->rows()), 0.0);
  for (;;) {
    const std::vector<int> closed = closed_rows(held);
    s.block->set_mode(-1);
    const bool whole = !s.alone || !closed.empty();
    if (!prepare(s, whole, scales, c.q, c.v, c.t, closed, report)) return false;
    // With all these contacts there may be no intermediate gradient. The impulses along the gradient of the new mode
    // (E = 1) then show which contacts pull.
    const bool leads = set_switch(s, c.q, c.v, c.t, whole, report);
    if (closed.empty()) return leads;
    if (!leads) s.block->set_mode(s.next);
    const auto local = static_cast<Eigen::Index>(s.block->topology().local_size);
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> F(s.block->rows(), local);
    s.block->direction(input(s, c.q, c.v, c.t), F.data());
    Vector P;
    if (!metric_->impulses(*s.block, s.first_row, F, c.v, P))
      return refuse(report, 1, names(s) + ": the mass matrix with the other constraints is singular");
    set_zero(impulses_);
    for (std::size_t i = 0; i < closed.size(); ++i) impulses_[at(closed[i])] = P[i];
    if (!let_go(closed, scales, held)) return leads;
    if (!leads) forget_failure(report);
  }
}

// Opens the contact that pulls most; those that pull alike, together. Without any, contacts slip whose impulses are
// outside of the cone.
bool ConstraintSwitches::let_go(const std::vector<int>& closed, const StepScales& scales, Flags& held) const {
  const double least = pulling * std::sqrt(scales.model.mass) * scales.speed;
  Vector pull(closed.size(), 0.0);
  for (std::size_t i = 0; i < closed.size(); ++i)
    if (system_->row_kind(closed[i]) == RowKind::unilateral)
      pull[i] = -impulses_[at(closed[i])] * metric_->length(closed[i], &scales.start);
  const double most = *std::ranges::max_element(pull);
  bool any = false;
  for (std::size_t i = 0; i < closed.size(); ++i)
    if (most > least && pull[i] >= (1 - 1e-9) * most) {
      open(closed[i], held);
      any = true;
    }
  if (any) return true;
  double normal = 0;
  for (std::size_t i = 0; i < closed.size();) {
    if (system_->row_kind(closed[i]) == RowKind::unilateral) {
      normal = std::max(0.0, impulses_[at(closed[i++])]);
      continue;
    }
    const ContactParameters law = system_->contact_parameters(closed[i]);
    const std::size_t first = i;
    double square = 0;
    for (; i < closed.size() && system_->row_kind(closed[i]) == RowKind::tangential &&
           system_->contact_parameters(closed[i]).disc == law.disc;
         ++i)
      square += impulses_[at(closed[i])] * impulses_[at(closed[i])];
    if ((std::sqrt(square) - law.friction * normal) * metric_->length(closed[first], &scales.start) <= least) continue;
    open(closed[first], held);
    any = true;
  }
  return any;
}

bool ConstraintSwitches::holds(const StepScales& scales, In q, StepReport& report, const char* remark) const {
  for (const Switch& s : switches_) {
    if (s.next < 0) continue;
    const ConstraintInput in = input(s, q, {}, scales.t);
    if (const double z = s.block->condition(s.mode, in); !(z < 0) && !s.block->holds_surface())
      return refuse(report, 1,
                    names(s) + ": the new constraints lead back in front of the surface, z = " + number(z) + remark);
    if (const double z = s.block->condition(s.next, in);
        !(z > -s.block->margin(s.mode, s.next, in, scales.model.length)))
      return refuse(report, 1, names(s) + ": the new mode does not hold behind the surface, z = " + number(z) + remark);
  }
  return true;
}

bool ConstraintSwitches::crosses(In q, In v, double t, StepReport& report) const {
  for (const Switch& s : switches_) {
    if (s.next < 0 || !s.switching || s.block->holds_surface()) continue;
    const double rate = s.block->crossing_rate(s.mode, input(s, q, v, t));
    if (rate > 0) continue;
    const double c = s.block->cosine();
    std::string why = names(s) + ": the motion turns back, z changes at the rate " + number(rate) +
                      ", E = " + number(E_) + ", cosine of the angle between the modes " + number(c);
    if (c < 0) why += "; E must be between " + number(-c / (1 - c)) + " and " + number(1 / (1 - c));
    return refuse(report, 2, why);
  }
  return true;
}

void ConstraintSwitches::finish(State& end) {
  if (!present()) return;
  Vector& modes = *find_modes(end);
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    Switch& s = switches_[i];
    if (s.next >= 0) s.cosine = s.block->cosine();
    const int mode = s.next >= 0 ? s.next : s.mode;
    s.switching = false;
    s.block->set_mode(mode);
    modes[i] = mode;
    modes[switches_.size() + i] = s.next >= 0 ? s.t : s.began;
  }
}

double ConstraintSwitches::kinetic(int k, In q, In v) const {
  const Switch& s = switches_[at(order_[at(k)])];
  Vector own(v.size(), 0.0), momentum(v.size());
  if (crossings() == 1 || !s.alone) {
    copy(v, own);
  } else {
    const Topology& topology = s.block->topology();
    for (std::size_t i = 0; i < topology.slots.size(); ++i)
      for (int c = 0; c < topology.slots[i].components; ++c)
        if (const int e = system_->dofs().equation(topology.nodes[i], topology.slots[i].first_component + c); e >= 0)
          own[at(e)] = v[at(e)];
  }
  system_->mass_times(q, own, momentum);
  return 0.5 * dot(own, momentum);
}

void ConstraintSwitches::note_events() {
  const auto name = [](const Switch& s, int mode) {
    return s.block->mode_name(mode).substr(s.block->name().size() + 1);
  };
  for (const int i : order_) {
    const Switch& s = switches_[at(i)];
    events_.push_back({s.block->name(), name(s, s.mode), name(s, s.next), s.t, s.cosine, s.energy});
  }
}

void ConstraintSwitches::stay() {
  set_old();
  for (Switch& s : switches_) s.next = -1;
  order_.clear();
  any_ = false;
}

void ConstraintSwitches::undo(const State& start) {
  const Vector* const modes = modes_of(start);
  for (std::size_t i = 0; i < switches_.size() && modes != nullptr; ++i)
    switches_[i].block->set_mode(static_cast<int>((*modes)[i]));
}

void ConstraintSwitches::measure_zones(In q, In v, double t, double length, Vector& zone, Vector& rate) const {
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    const Switch& s = switches_[i];
    const ConstraintInput in = input(s, q, {}, t);
    zone[i] = s.block->condition(s.mode, in) + s.block->margin(s.mode, s.mode, in, length);
    rate[i] = -s.block->crossing_rate(s.mode, input(s, q, v, t));
  }
}

void ConstraintSwitches::OldReactions::show(bool on) const {
  if (!switches_.any_) return;
  for (const Switch& s : switches_.switches_)
    if (s.next >= 0) s.block->show_old_reactions(on);
}

}  // namespace carom
