#include "integrators/common/energy_guard.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/vector_ops.hpp"
#include "core/mechanics/saddle_point.hpp"
#include "integrators/common/failure.hpp"

namespace carom {

namespace {

constexpr double largest_share = 0.1;  // of the energies, in one motion
constexpr double budget = 0.5;         // of the energies, in a run
constexpr double step_budget = 1;      // the same after corrections and jumps, which may give back in the next motion
constexpr double fading = 0.98;        // of recent work, per step
constexpr double slow = 1e-6;          // kinetic energy of the model's mass and speed: less is rest
constexpr double rounding = 1e-9;      // of forces times length
constexpr double missed = 10;          // tolerances: what contradictory rows of contacts may miss
constexpr double fits = 1e-6;          // of the speed: rates of joints at the start

}  // namespace

EnergyGuard::EnergyGuard(const System& system, const Scales& scales, bool on, double constraint_tolerance)
    : system_(&system), scales_(scales), on_(on), meter_(system) {
  if (system.rows() == 0 || constraint_tolerance <= rounding) return;
  coarse_ = constraint_tolerance;
  f_.resize(at(system.size()));
}

double EnergyGuard::size(const Energies& e) const {
  return std::abs(e.kinetic) + std::abs(e.elastic) + std::abs(e.potential - potential_0_);
}

void EnergyGuard::begin(const State& start) {
  if (!on_) return;
  driver_work_.reset();
  // the state that the last step has left; the time loop rounds its time to the grid
  if (known_ && std::abs(t_ - start.t) <= 1e-6 * start.last_h && fingerprint(start.q, system_->threads()) == q_ &&
      fingerprint(start.v, system_->threads()) == v_)
    return;
  const EnergyPoint before = now_;
  now_ = meter_.measure(start.q, start.v, start.t, start.lambda);
  const double change = std::abs(sum(now_.energies) - sum(before.energies));
  // a restart of the same model goes on with the same bits
  if (restored_ && change <= 1e-9 * std::max(scale_, size(before.energies))) now_ = before;
  drivers_unknown_ = meter_.driven() && !restored_ && max_abs(In(start.lambda).first(at(system_->bilateral()))) == 0;
  if (!known_) {
    potential_0_ = now_.energies.potential;
    scale_ = work_ = recent_ = unexplained_ = lowest_ = with_impacts_ = lowest_with_impacts_ = growth_ = 0;
    begun_ = false;
  }
  known_ = true;
  restored_ = false;
  q_ = fingerprint(start.q, system_->threads());
  v_ = fingerprint(start.v, system_->threads());
  t_ = start.t;
  scale_ = std::max(scale_, size(now_.energies) - (unexplained_ - lowest_));
}

// Energies below are not told from errors.
double EnergyGuard::floor(In q, In v, double t, double terms) {
  double work = rounding * scales_.length * terms;
  if (coarse_ > 0) {
    // not of stiff forces, which would hide wrong roots
    system_->forces(q, v, t, force_external | force_gravity, f_);
    work = std::max(work, missed * coarse_ * scales_.length * system_->force_norm(f_, scales_.length));
  }
  return std::max(slow * scales_.mass * scales_.speed * scales_.speed, work);
}

bool EnergyGuard::explains(const State& start, In q, In v, double h, In multipliers, double row_work, double terms,
                           double stored, const Energies* known) {
  if (!on_) return true;
  stored_ = stored;
  const double t = start.t + h;
  motion_ = {known != nullptr ? *known : system_->energies(q, v, t), meter_.powers(q, v, t, multipliers)};
  // methods without multipliers at the start: the drivers' power is that at the end
  if (drivers_unknown_) now_.powers.drivers = motion_.powers.drivers;
  const double work = given(motion_.powers, h) + row_work;
  const auto size_of = [](const Powers& p) { return std::abs(p.loads) + std::abs(p.drivers); };
  trial_work_ = 0.5 * h * (size_of(now_.powers) + size_of(motion_.powers)) + std::abs(row_work);
  row_work_ = row_work;
  row_gain_ = std::max(0.0, row_work);
  trial_gain_ = (motion_.energies.kinetic - now_.energies.kinetic) +
                (motion_.energies.elastic - now_.energies.elastic) +
                (motion_.energies.potential - now_.energies.potential) + stored - work;
  const double without_cause = std::max({0.0, trial_gain_, unexplained_ + trial_gain_ - lowest_});
  energies_ = std::max({scale_, size(motion_.energies) - without_cause, floor(q, v, start.t + h, terms)});
  share_ = trial_gain_ / std::max(energies_, recent_ + trial_work_);
  if (!(share_ <= largest_share)) return false;
  return trial_gain_ <= 0 || unexplained_ + trial_gain_ - lowest_ <= budget * std::max(energies_, work_ + trial_work_);
}

bool EnergyGuard::lifts(const State& start, In q, In v, double stored) const {
  if (!misfits(start)) return false;
  const Energies lifted = system_->energies(q, v, start.t);
  return trial_gain_ - stored - (sum(lifted) - sum(now_.energies)) <= largest_share * std::max(energies_, size(lifted));
}

// At the start of a run: places that penetrate obstacles or do not fit joints, or velocities that do not.
bool EnergyGuard::misfits(const State& start) const {
  if (begun_) return false;
  if (meter_.misfits(start.q, start.t, scales_.length)) return true;
  Vector rates(at(system_->rows()), 0.0);
  system_->rates(start.q, start.v, start.t, bilateral_rows, rates);
  const Vector weights = row_weights(*system_, scales_.length);
  for (std::size_t i = 0; i < at(system_->bilateral()); ++i)
    if (std::abs(rates[i]) > fits * scales_.speed * weights[i]) return true;
  return false;
}

void EnergyGuard::blame(StepReport& report, int index, const State& start, In q, In v, double t) const {
  mark_failed(report, index, FailureReason::unexplained_energy);
  report.failed_item = system_->element_of_largest_gain(start.q, start.v, q, v, t);
}

void EnergyGuard::close(bool moved, In multipliers, In impulses, In v_before, double law) {
  moved_ = moved;
  multipliers_ = multipliers;
  impulses_ = impulses;
  v_before_ = v_before;
  law_ = std::max(0.0, law);
}

bool EnergyGuard::accept(const State& start, const State& end) {
  if (!on_) return true;
  const EnergyPoint after = moved_ ? meter_.measure(end.q, end.v, end.t, multipliers_) : motion_;
  double work = given(after.powers, end.last_h) + row_work_, impacts = 0;
  for (int row = 0; row < system_->rows() && !impulses_.empty(); ++row) {
    const double impulse = impulses_[at(row)];
    if (impulse == 0) continue;
    // moving obstacles and driven joints give the impulses of their rows the power -g_t
    const System::RowPlace place = system_->row_place(row);
    const int contact = row - system_->bilateral();
    if (contact < 0 ? system_->driven() : system_->constraints()[at(place.block)]->traits().moving)
      work -= impulse * meter_.rate_at_rest(row, end.q, end.t);
    if (contact >= 0 && start.closed[at(contact)] == 0)
      impacts += 0.5 * impulse *
                 (system_->row_rate(row, end.q, v_before_, end.t) + system_->row_rate(row, end.q, end.v, end.t));
  }
  // what impacts gain follows from the impact law at a large step, not from a wrong root: no reason to refuse the step,
  // but growth of which the user hears
  const double gained = std::max(0.0, impacts) + law_;
  work += gained;
  const double gained_by_rows = gained + row_gain_;
  const double before_this = unexplained_;
  const double unexplained = unexplained_ + (sum(after.energies) - sum(now_.energies) + stored_ - work);
  const double before = std::max({energies_, work_ + trial_work_});
  const bool lifted = misfits(start);
  if (!lifted && !(unexplained - lowest_ <= step_budget * before)) {
    share_ = (unexplained - lowest_) / before;
    return false;
  }
  unexplained_ = unexplained;
  lowest_ = lifted ? unexplained_ : std::min(lowest_, unexplained_);
  with_impacts_ += unexplained - before_this + gained_by_rows;
  lowest_with_impacts_ = lifted ? with_impacts_ : std::min(lowest_with_impacts_, with_impacts_);
  begun_ = true;
  now_ = after;
  drivers_unknown_ = false;
  const double size_before = std::max(scale_, work_);
  scale_ = std::max(scale_, size(now_.energies) - (unexplained_ - lowest_));
  work_ += trial_work_;
  recent_ = fading * recent_ + trial_work_;
  // what was large beside the energies of the first steps may be small beside those to come
  if (size_before > 0) growth_ *= size_before / std::max(scale_, work_);
  growth_ = std::max(growth_, (with_impacts_ - lowest_with_impacts_) / std::max({scale_, work_, energies_}));
  q_ = fingerprint(end.q, system_->threads());
  v_ = fingerprint(end.v, system_->threads());
  t_ = end.t;
  return true;
}

void EnergyGuard::note_impacts(const State& start, const State& end) {
  if (meter_.driven()) return;
  const Energies before = system_->energies(start.q, start.v, start.t), after = system_->energies(end.q, end.v, end.t);
  if (!begun_) {
    potential_0_ = before.potential;
    scale_ = with_impacts_ = lowest_with_impacts_ = growth_ = 0;
  }
  begun_ = true;
  // all equations of a linear system are translations; powers at both ends would not do, since velocities jump
  const double work = meter_.work_of_loads(start.q, start.v, start.t, end.q, end.v, end.t).work;
  with_impacts_ += sum(after) - sum(before) - work;
  lowest_with_impacts_ = std::min(lowest_with_impacts_, with_impacts_);
  const double size_before = scale_;
  scale_ = std::max({scale_, size(before), size(after)});
  if (size_before > 0) growth_ *= size_before / scale_;
  // bodies at rest have energies of rounding
  const double judged = std::max(scale_, slow * scales_.mass * scales_.speed * scales_.speed);
  if (judged > 0) growth_ = std::max(growth_, (with_impacts_ - lowest_with_impacts_) / judged);
}

void EnergyGuard::save(NamedArrays& record) const {
  if (on_ ? !known_ : !begun_) return;
  const Energies& e = now_.energies;
  const Powers& p = now_.powers;
  record.set("energy guard",
             {e.kinetic, e.elastic, e.potential, p.loads, p.drivers, p.damping, potential_0_, scale_, work_, recent_,
              unexplained_, lowest_, with_impacts_, lowest_with_impacts_, growth_, begun_ ? 1.0 : 0.0});
}

void EnergyGuard::restore(const NamedArrays& record) {
  const Vector* const x = record.find("energy guard");
  known_ = restored_ = on_ && x != nullptr;
  begun_ = false;
  if (x == nullptr) return;
  if (x->size() != 16) throw std::invalid_argument("EnergyGuard: the record does not fit");
  const double* p = x->data();
  for (double* value : {&now_.energies.kinetic, &now_.energies.elastic, &now_.energies.potential, &now_.powers.loads,
                        &now_.powers.drivers, &now_.powers.damping, &potential_0_, &scale_, &work_, &recent_,
                        &unexplained_, &lowest_, &with_impacts_, &lowest_with_impacts_, &growth_})
    *value = *p++;
  begun_ = *p != 0;
  t_ = NAN;
}

}  // namespace carom
