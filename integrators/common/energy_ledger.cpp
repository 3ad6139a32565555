#include "integrators/common/energy_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
double sum(const Energies& e) { return e.kinetic + e.elastic + e.potential; }
}  // namespace

void EnergyLedger::Sum::add(double x) {
  const double s = value + x;
  rest += std::abs(value) >= std::abs(x) ? (value - s) + x : (x - s) + value;
  value = s;
}

void EnergyLedger::start(const StepView& view) {
  const System& system = view.system;
  for (Vector* x : {&f_, &zero_, &scratch_}) x->assign(at(system.size()), 0.0);
  for (Vector* x : {&rates_, &rates_smooth_, &rates_at_rest_}) x->assign(at(system.rows()), 0.0);
  const Energies now = system.energies(view.state.q, view.state.v, view.state.t);
  powers_ = powers(view, view.state.q, view.state.v);
  if (restored_) {
    // nothing, unless the model is another one
    initial_.kinetic += now.kinetic - energy_.kinetic;
    initial_.elastic += now.elastic - energy_.elastic;
    initial_.potential += now.potential - energy_.potential;
  } else {
    initial_ = now;
    largest_ = sum(now);
  }
  energy_ = now;
  closed_ = view.state.closed;
  sum_up();
}

EnergyLedger::Powers EnergyLedger::powers(const StepView& view, In q, In v) {
  const System& system = view.system;
  const double t = view.state.t;
  Powers p;
  if (system.has_forces(force_external)) {
    system.forces(q, v, t, force_external, f_);
    p.loads = dot(f_, v);
  }
  if (system.has_forces(force_damping)) {
    system.forces(q, v, t, force_damping, f_);
    p.damping = dot(f_, v);
  }
  if (system.driven()) {
    // the reaction's power on the model, of G v = -g_t
    system.rates(q, zero_, t, RowSet::bilateral, rates_at_rest_);
    const std::size_t n = at(system.bilateral());
    p.drivers = -dot(In(view.state.lambda).first(n), In(rates_at_rest_).first(n));
  }
  return p;
}

void EnergyLedger::after_step(const StepView& view) {
  const System& system = view.system;
  const State& state = view.state;
  const StepStages stages = view.integrator.stages();
  const double h = view.report.h;

  // smooth motion
  const bool smooth_only = !stages.moved && !stages.jumped;
  const Energies smooth = smooth_only ? system.energies(state.q, state.v, state.t)
                                      : system.energies(stages.q_smooth, stages.v_smooth, state.t);
  const Powers before = powers_;
  powers_ = powers(view, stages.q_smooth, stages.v_smooth);
  const double loads = h * 0.5 * (before.loads + powers_.loads), drivers = h * 0.5 * (before.drivers + powers_.drivers),
               damping = h * 0.5 * (before.damping + powers_.damping);
  loads_.add(loads);
  drivers_.add(drivers);
  damping_.add(damping);
  numerical_.add((smooth.kinetic - energy_.kinetic) + (smooth.elastic - energy_.elastic) +
                 (smooth.potential - energy_.potential) - loads - drivers - damping);

  // position correction and velocity jump
  if (smooth_only) {
    energy_ = smooth;
  } else {
    energy_ = system.energies(state.q, state.v, state.t);
    if (stages.moved) {
      const Energies moved = stages.jumped ? system.energies(state.q, stages.v_smooth, state.t) : energy_;
      position_.add((moved.kinetic - smooth.kinetic) + (moved.elastic - smooth.elastic) +
                    (moved.potential - smooth.potential));
    }
    if (stages.jumped) add_jump(view, stages);
    powers_ = powers(view, state.q, state.v);
  }
  closed_ = state.closed;
  sum_up();
}

void EnergyLedger::add_jump(const StepView& view, const StepStages& stages) {
  const System& system = view.system;
  const State& state = view.state;
  const double t = state.t;

  // joints
  const int n_b = system.bilateral();
  if (n_b > 0) {
    system.rates(state.q, state.v, t, RowSet::bilateral, rates_);
    system.rates(state.q, stages.v_smooth, t, RowSet::bilateral, rates_smooth_);
    if (system.driven()) system.rates(state.q, zero_, t, RowSet::bilateral, rates_at_rest_);
    double work = 0, driven = 0;
    for (std::size_t i = 0; i < at(n_b); ++i) {
      work += 0.5 * state.impulse[i] * (rates_smooth_[i] + rates_[i]);
      if (system.driven()) driven -= state.impulse[i] * rates_at_rest_[i];
    }
    constraints_.add(work);
    drivers_.add(driven);
  }

  // contacts
  for (int row = n_b; row < system.rows(); ++row) {
    const double impulse = state.impulse[at(row)];
    if (impulse == 0) continue;
    const double rate = system.row_rate(row, state.q, state.v, t);
    const double rate_smooth = system.row_rate(row, state.q, stages.v_smooth, t);
    (closed_[at(row - n_b)] != 0 ? contacts_ : impacts_).add(0.5 * impulse * (rate_smooth + rate));
    if (system.constraints()[at(system.row_place(row).block)]->traits().moving)
      drivers_.add(-impulse * system.row_rate(row, state.q, zero_, t));
  }

  // force correction
  view.integrator.jump_force(system, state, f_, scratch_);
  corrections_.add(0.5 * view.report.h * (dot(f_, stages.v_smooth) + dot(f_, state.v)));
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
  b.constraints = constraints_.total();
  b.corrections = corrections_.total();
  // no kind of energy is rounded to the size of another one
  Sum parts;
  for (const double x : {energy_.kinetic, energy_.elastic, energy_.potential, -initial_.kinetic, -initial_.elastic,
                         -initial_.potential, -b.loads, -b.drivers, -b.damping, -b.numerical, -b.position, -b.impacts,
                         -b.contacts, -b.constraints, -b.corrections})
    parts.add(x);
  b.closure = parts.total();
  b.largest_closure = std::max(b.largest_closure, std::abs(b.closure));
  b.scale = std::max(b.scale, std::abs(energy_.kinetic) + std::abs(energy_.elastic) +
                                  std::abs(energy_.potential - initial_.potential));
  largest_ = std::max(largest_, sum(energy_));
}

void EnergyLedger::save(NamedArrays& record) {
  record.set("bounds", {largest_, balance_.scale, balance_.largest_closure});
  record.set("energies", {initial_.kinetic, initial_.elastic, initial_.potential, energy_.kinetic, energy_.elastic,
                          energy_.potential});
  Vector sums;
  for (const Sum* s :
       {&loads_, &drivers_, &damping_, &numerical_, &position_, &impacts_, &contacts_, &constraints_, &corrections_})
    sums.insert(sums.end(), {s->value, s->rest});
  record.set("sums", std::move(sums));
}

void EnergyLedger::restore(const NamedArrays& record, bool) {
  const Vector *const bounds = record.find("bounds"), *const energies = record.find("energies"),
                      *const sums = record.find("sums");
  if (bounds == nullptr || bounds->size() != 3 || energies == nullptr || energies->size() != 6 || sums == nullptr ||
      sums->size() != 18)
    throw std::invalid_argument("EnergyLedger: the record does not fit");
  largest_ = (*bounds)[0];
  balance_.scale = (*bounds)[1];
  balance_.largest_closure = (*bounds)[2];
  initial_ = {(*energies)[0], (*energies)[1], (*energies)[2]};
  energy_ = {(*energies)[3], (*energies)[4], (*energies)[5]};
  std::size_t i = 0;
  for (Sum* s :
       {&loads_, &drivers_, &damping_, &numerical_, &position_, &impacts_, &contacts_, &constraints_, &corrections_}) {
    s->value = (*sums)[i++];
    s->rest = (*sums)[i++];
  }
  restored_ = true;
}

}  // namespace carom
