#include "integrators/common/energy_meter.hpp"

#include "core/base/vector_ops.hpp"

namespace carom {

EnergyMeter::EnergyMeter(const System& system)
    : system_(&system), f_(at(system.size()), 0.0), rates_(at(system.rows()), 0.0), zero_(f_) {}

Powers EnergyMeter::powers(In q, In v, double t, In multipliers) {
  Powers p;
  if (system_->has_forces(force_external)) {
    system_->forces(q, v, t, force_external, f_);
    p.loads = dot(f_, v);
  }
  if (system_->has_forces(force_damping)) {
    system_->forces(q, v, t, force_damping, f_);
    p.damping = dot(f_, v);
  }
  p.drivers = drivers(q, t, multipliers);
  return p;
}

double EnergyMeter::drivers(In q, double t, In multipliers) {
  double power = 0;
  if (system_->driven()) {
    // of the reactions on the model, of G v = -g_t
    const std::size_t n = at(system_->bilateral());
    power = -dot(multipliers.first(n), rates_at_rest(q, t).first(n));
  }
  // and that of moving obstacles that contacts of the motion push
  for (int row = system_->bilateral(); row < static_cast<int>(multipliers.size()); ++row)
    if (multipliers[at(row)] != 0 && system_->row_block(row).traits().moving)
      power -= multipliers[at(row)] * rate_at_rest(row, q, t);
  return power;
}

In EnergyMeter::rates_at_rest(In q, double t) {
  system_->rates(q, zero_, t, bilateral_rows, rates_);
  return rates_;
}

}  // namespace carom
