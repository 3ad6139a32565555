#include "integrators/common/energy_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/base/vector_ops.hpp"
#include "integrators/common/element_contacts.hpp"

namespace carom {

namespace {
constexpr double faded = 1e-9;            // of the largest impulse of a contact
constexpr double remembered_steps = 100;  // about so many tell how much a method gives
}  // namespace

void EnergyLedger::Sum::add(double x) {
  const double s = value + x;
  rest += std::abs(value) >= std::abs(x) ? (value - s) + x : (x - s) + value;
  value = s;
}

void EnergyLedger::start(const StepView& view) {
  const System& system = view.system;
  meter_.emplace(system);
  alternating_.start(system);
  free_.start(system);
  bouncing_.start(system);
  of_elements_ = contacts_of(system, nodes_of_elements(system));
  for (Vector* x : {&rates_, &rates_smooth_}) x->assign(at(system.rows()), 0.0);
  const Energies now = system.energies(view.state.q, view.state.v, view.state.t);
  const Powers powers = meter_->powers(view.state.q, view.state.v, view.state.t, view.state.lambda);
  // The record of the same model knows the last bits of what steps add up in another order, and the power of drivers:
  // not every method keeps the forces of joints in its state.
  if (restored_ && std::abs(sum(now) - sum(energy_)) <= 1e-9 * balance_.scale) {
    for (double Powers::*part : {&Powers::loads, &Powers::damping})
      if (std::abs(powers.*part - powers_.*part) > 1e-9 * std::abs(powers.*part)) powers_.*part = powers.*part;
  } else {
    powers_ = powers;
    if (restored_) {
      balance_.edited += sum(now) - sum(energy_);
      initial_.kinetic += now.kinetic - energy_.kinetic;
      initial_.elastic += now.elastic - energy_.elastic;
      initial_.potential += now.potential - energy_.potential;
    } else {
      initial_ = now;
      largest_ = sum(now);
    }
    energy_ = now;
  }
  begins_ = !restored_;
  closed_ = view.state.closed;
  // contacts that touch at rest at the start have no impact in the first step
  bool touches = false;
  for (std::size_t i = 0; begins_ && i < closed_.size(); ++i) {
    const RowKind kind = system.row_kind(system.bilateral() + static_cast<int>(i));
    if (kind == RowKind::unilateral) touches = view.state.active[i] != 0;
    if (touches && (kind == RowKind::unilateral || kind == RowKind::tangential)) closed_[i] = 1;
  }
  sum_up();
}

void EnergyLedger::after_step(const StepView& view) {
  alternating_.after_step(view);
  const double error = balance_.error();
  const double energy = sum(energy_), given = loads_.total() + drivers_.total(), damping = damping_.total();
  const bool exchanged = exchanges(view), first = begins_;
  take_stages(view);
  const double work = loads_.total() + drivers_.total() - given;
  free_.after_step(view, energy_, sum(energy_) - energy, damping_.total() - damping, exchanged || work != 0);
  sum_up();
  // impacts take from the energy what the smooth motion of the step does not know
  if (view.report.impacts > 0) low_error_ += std::max(0.0, balance_.error() - error);
  note_growth(first);
}

// Contacts act in the step, or constraints switch. Forces of contacts may fade over many steps behind a release.
bool EnergyLedger::exchanges(const StepView& view) {
  const auto any = [](const std::vector<std::uint8_t>& closed) {
    return std::ranges::find_if(closed, [](std::uint8_t x) { return x != 0; }) != closed.end();
  };
  double impulse = 0;
  for (int row = view.system.bilateral(); row < view.system.rows(); ++row)
    impulse = std::max(impulse, std::abs(view.state.impulse[at(row)]));
  largest_impulse_ = std::max(largest_impulse_, impulse);
  return impulse > faded * largest_impulse_ || view.report.impacts > 0 || any(closed_) || any(view.state.closed) ||
         !view.integrator.switches().empty();
}

void EnergyLedger::take_stages(const StepView& view) {
  const System& system = view.system;
  In forces;  // multipliers of the last motion
  bool powers_known = true;
  In v_n = view.state.v;  // with which rows with friction begin
  const std::span<const Stage> stages = view.integrator.stages();
  if (!stages.empty()) v_n = stages.front().v_0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Stage stage = stages[i];
    // the end of the step lies on the grid of time, to the last bit
    if (stage.t_1 == view.report.t + view.report.h) stage.t_1 = view.state.t;
    const Energies before = energy_;
    EnergyPoint now;
    now.energies = stage.end != nullptr ? stage.end->energies : system.energies(stage.q_1, stage.v_1, stage.t_1);
    energy_ = now.energies;
    switch (stage.kind) {
      case Stage::Kind::motion:
        // a step may begin with a jump: the forces of its motion act from there on
        if (!powers_known)
          powers_ = meter_->powers(stage.q_0, stage.v_0, stage.t_0, forces.empty() ? stage.multipliers : forces);
        // methods without reactions in their states know none before their first step
        if (std::exchange(begins_, false) && max_abs(view.state.lambda) == 0)
          powers_.drivers = meter_->drivers(stage.q_0, stage.t_0, stage.multipliers);
        forces = stage.multipliers;
        now.powers = stage.end != nullptr ? stage.end->powers
                                          : meter_->powers(stage.q_1, stage.v_1, stage.t_1, stage.multipliers);
        add_motion(stage, before, now);
        stage.v_1 = velocity_behind(stages, i);
        add_friction(system, stage);
        powers_known = true;
        break;
      case Stage::Kind::correction: {
        // what loads gave on a way that the correction takes back
        const double loads =
            meter_->work_of_loads(stage.q_0, stage.v_0, stage.t_1, stage.q_1, stage.v_0, stage.t_1).work;
        loads_.add(loads);
        (stage.switches ? switch_corrections_ : position_)
            .add((energy_.kinetic - before.kinetic) + (energy_.elastic - before.elastic) +
                 (energy_.potential - before.potential) - loads);
        powers_known = false;
        break;
      }
      case Stage::Kind::jump:
        add_jump(system, stages.front(), stage, stage.located ? stage.v_0 : v_n);
        if (stage.located) v_n = stage.v_1;
        powers_known = false;
        break;
    }
    if (!stage.closed.empty()) closed_.assign(stage.closed.begin(), stage.closed.end());
  }
  if (powers_known) return;
  const EnergyPoint* const end = view.integrator.step_end();
  const double damping = powers_.damping;
  if (end != nullptr) {
    powers_ = end->powers;
    // the guard may count the impulses of contacts as forces, which are jumps here
    powers_.drivers = meter_->drivers(view.state.q, view.state.t, forces);
  } else {
    powers_ = meter_->powers(view.state.q, view.state.v, view.state.t, forces);
  }
  // dampers dissipate with the velocities at the end of the step, not with those before corrections and jumps
  const double difference = 0.5 * last_duration_ * (powers_.damping - damping);
  damping_.add(difference);
  corrections_.add(-difference);
}

void EnergyLedger::add_motion(const Stage& stage, const Energies& before, const EnergyPoint& end) {
  const Energies& after = end.energies;
  const Powers start = powers_;
  powers_ = end.powers;
  const double h = last_duration_ = stage.duration;
  const double loads = h * 0.5 * (start.loads + powers_.loads), drivers = h * 0.5 * (start.drivers + powers_.drivers),
               damping = h * 0.5 * (start.damping + powers_.damping);
  loads_.add(loads);
  drivers_.add(drivers);
  damping_.add(damping);
  (stage.switches ? switches_ : numerical_)
      .add((after.kinetic - before.kinetic) + (after.elastic - before.elastic) + (after.potential - before.potential) -
           loads - drivers - damping);
}

// Of the forces of friction in a motion, whose drivers and obstacles have the mean of their powers at both ends.
void EnergyLedger::add_friction(const System& system, const Stage& stage) {
  if (!system.row_kinds().meets(friction_rows)) return;
  double work = 0;
  for (int row = system.bilateral(); row < static_cast<int>(stage.multipliers.size()); ++row)
    if (friction_rows.has(system.row_kind(row))) work += stage.duration * stage_work(system, stage, row);
  friction_.add(work);
  numerical_.add(-work);
}

void EnergyLedger::add_jump(const System& system, const Stage& begin, const Stage& stage, In v_n) {
  const In q = stage.q_1;
  const double t = stage.t_1;

  // joints
  const int n_b = system.bilateral();
  if (n_b > 0) {
    system.rates(q, stage.v_1, t, bilateral_rows, rates_);
    system.rates(q, stage.v_0, t, bilateral_rows, rates_smooth_);
    const In at_rest = system.driven() ? meter_->rates_at_rest(q, t) : In();
    double work = 0, driven = 0;
    for (std::size_t i = 0; i < at(n_b); ++i) {
      work += 0.5 * stage.multipliers[i] * (rates_smooth_[i] + rates_[i]);
      if (!at_rest.empty()) driven -= stage.multipliers[i] * at_rest[i];
    }
    if (stage.mean != nullptr && stage.mean->joints != nullptr && !stage.mean->joints->impulse().empty()) {
      const In turn = stage.mean->joints->impulse();
      work += 0.5 * (dot(turn, stage.v_0) + dot(turn, stage.v_1));
    }
    (stage.before_switch ? switch_corrections_ : stage.switches ? switches_ : constraints_).add(work);
    drivers_.add(driven);
  }

  // contacts
  double gain = 0;  // of those that close with friction
  for (int row = n_b; row < system.rows(); ++row) {
    const double impulse = stage.multipliers[at(row)];
    if (impulse == 0) continue;
    const double rate = stage_rate(system, stage, row, stage.v_1),
                 rate_smooth = stage_rate(system, stage, row, stage.v_0);
    const double work = 0.5 * impulse * (rate_smooth + rate);
    const System::RowPlace place = system.row_place(row);
    if (closed_[at(row - n_b)] == 0 && system.contact_parameters(row).friction > 0) gain += work;
    const RowKind kind = system.row_kind(row);
    Sum& sum = kind == RowKind::joint_friction ? constraints_ : closed_[at(row - n_b)] != 0 ? contacts_ : impacts_;
    if (friction_rows.has(kind)) {
      // the work of an obstacle that moves has the mean of its places and directions at both ends
      const bool moves = kind == RowKind::tangential && system.row_block(row).traits().moving;
      const double rate_n = begin_rate(system, begin, stage, row, v_n),
                   turning = moves ? stage_rate(system, stage, row, v_n) - rate_n : 0;
      friction_.add(0.5 * impulse * (rate_n + rate));
      drivers_.add(0.5 * impulse * turning);
      sum.add(0.5 * impulse * (rate_smooth - rate_n - turning));
    } else {
      sum.add(work);
      if (&sum == &impacts_ && !stage.located && system.contact_parameters(row).restitution > 0)
        bouncing_.note(at(row - n_b), t, last_duration_, stage_rate(system, stage, row, v_n), rate_smooth);
      if (&sum == &impacts_ && of_elements_[at(row - n_b)] != 0) balance_.element_impacts += work;
    }
    if (system.constraints()[at(place.block)]->traits().moving)
      drivers_.add(-impulse * stage_rate(system, stage, row, meter_->at_rest()));
  }

  balance_.friction_gain += std::max(0.0, gain);

  if (!stage.force.empty())
    (stage.before_switch ? switch_corrections_
     : stage.switches    ? switches_
                         : corrections_)
        .add(0.5 * stage.duration * (dot(stage.force, stage.v_0) + dot(stage.force, stage.v_1)));
}

void EnergyLedger::sum_up() {
  EnergyBalance& b = balance_;
  b.energy = energy_;
  b.loads = loads_.total();
  b.drivers = drivers_.total();
  b.damping = damping_.total();
  b.numerical = numerical_.total();
  b.position = position_.total();
  b.impacts = impacts_.total();
  b.contacts = contacts_.total();
  b.friction = friction_.total();
  b.constraints = constraints_.total();
  b.corrections = corrections_.total();
  b.switches = switches_.total();
  b.switch_corrections = switch_corrections_.total();
  // no kind of energy is rounded to the size of another one
  Sum parts;
  for (const double x : {energy_.kinetic, energy_.elastic, energy_.potential, -initial_.kinetic, -initial_.elastic,
                         -initial_.potential, -b.loads, -b.drivers, -b.damping, -b.numerical, -b.position, -b.impacts,
                         -b.contacts, -b.constraints, -b.corrections, -b.friction, -b.switches, -b.switch_corrections})
    parts.add(x);
  b.closure = parts.total();
  b.alternating = alternating_.largest();
  b.free_energy = free_.energy();
  b.free_growth = free_.growth();
  b.largest_closure = std::max(b.largest_closure, std::abs(b.closure));
  b.scale = std::max(b.scale, size_now());
  largest_ = std::max(largest_, sum(energy_));
}

double EnergyLedger::size_now() const {
  return std::abs(energy_.kinetic) + std::abs(energy_.elastic) + std::abs(energy_.potential - initial_.potential);
}

// What joints and obstacles correct in the first step is no growth. A slow growth, which drivers take out again, fades.
void EnergyLedger::note_growth(bool first) {
  EnergyBalance& b = balance_;
  const double error = b.error();
  if (first) b.first_step = error;
  low_error_ = first ? error : std::min(error, low_error_ + (error - low_error_) / remembered_steps);
  b.given = std::max(b.given, error - low_error_);
  b.explained = std::max(b.explained, size_now() - (error - low_error_));
  loads_low_ = std::min(loads_low_, b.loads);
  loads_high_ = std::max(loads_high_, b.loads);
  drivers_low_ = std::min(drivers_low_, b.drivers);
  drivers_high_ = std::max(drivers_high_, b.drivers);
  b.through = (loads_high_ - loads_low_) + (drivers_high_ - drivers_low_);
}

void EnergyLedger::save(NamedArrays& record) {
  record.set("bounds", {largest_, balance_.scale, balance_.largest_closure, balance_.friction_gain,
                        balance_.element_impacts, balance_.given, balance_.explained, balance_.through, low_error_,
                        loads_low_, loads_high_, drivers_low_, drivers_high_, balance_.first_step});
  alternating_.save(record);
  free_.save(record);
  bouncing_.save(record);
  record.set("energies", {initial_.kinetic, initial_.elastic, initial_.potential, energy_.kinetic, energy_.elastic,
                          energy_.potential});
  record.set_number("largest impulse", largest_impulse_);
  record.set_number("edited", balance_.edited);
  record.set("powers", {powers_.loads, powers_.drivers, powers_.damping});
  Vector sums;
  for (const Sum* s : {&loads_, &drivers_, &damping_, &numerical_, &position_, &impacts_, &contacts_, &friction_,
                       &constraints_, &corrections_, &switches_, &switch_corrections_})
    sums.insert(sums.end(), {s->value, s->rest});
  record.set("sums", std::move(sums));
}

void EnergyLedger::restore(const NamedArrays& record, bool) {
  const Vector *const bounds = record.find("bounds"), *const energies = record.find("energies"),
                      *const powers = record.find("powers"), *const sums = record.find("sums");
  if (bounds == nullptr || bounds->size() != 14 || energies == nullptr || energies->size() != 6 || powers == nullptr ||
      powers->size() != 3 || sums == nullptr || sums->size() != 24)
    throw std::invalid_argument("EnergyLedger: the record does not fit");
  largest_ = (*bounds)[0];
  balance_.scale = (*bounds)[1];
  balance_.largest_closure = (*bounds)[2];
  balance_.friction_gain = (*bounds)[3];
  balance_.element_impacts = (*bounds)[4];
  balance_.given = (*bounds)[5];
  balance_.explained = (*bounds)[6];
  balance_.through = (*bounds)[7];
  low_error_ = (*bounds)[8];
  loads_low_ = (*bounds)[9];
  loads_high_ = (*bounds)[10];
  drivers_low_ = (*bounds)[11];
  drivers_high_ = (*bounds)[12];
  balance_.first_step = (*bounds)[13];
  initial_ = {(*energies)[0], (*energies)[1], (*energies)[2]};
  energy_ = {(*energies)[3], (*energies)[4], (*energies)[5]};
  powers_ = {(*powers)[0], (*powers)[1], (*powers)[2]};
  std::size_t i = 0;
  for (Sum* s : {&loads_, &drivers_, &damping_, &numerical_, &position_, &impacts_, &contacts_, &friction_,
                 &constraints_, &corrections_, &switches_, &switch_corrections_}) {
    s->value = (*sums)[i++];
    s->rest = (*sums)[i++];
  }
  largest_impulse_ = record.number("largest impulse");
  balance_.edited = record.number("edited");
  alternating_.restore(record);
  free_.restore(record);
  bouncing_.restore(record);
  restored_ = true;
}

}  // namespace carom
