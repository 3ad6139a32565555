#include "integrators/common/energy_meter.hpp"

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/saddle_point.hpp"

namespace carom {

namespace {
constexpr double fits = 1e-6;  // of the length: gaps of joints, penetrations
}  // namespace

EnergyMeter::EnergyMeter(const System& system)
    : system_(&system),
      driven_(system.driven() || system.obstacles_move()),
      f_(at(system.size()), 0.0),
      f_1_(f_),
      rates_(at(system.rows()), 0.0),
      zero_(f_) {}

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

LoadWork EnergyMeter::work_of_loads(In q_0, In v_0, double t_0, In q_1, In v_1, double t_1, unsigned parts) {
  LoadWork sum;
  if ((parts & force_gravity) == 0 && !system_->has_forces(parts)) return sum;
  system_->forces(q_0, v_0, t_0, parts, f_);
  system_->forces(q_1, v_1, t_1, parts, f_1_);
  for (const DofMap::Translation& c : system_->dofs().translations())
    sum.work += 0.5 * (f_[at(c.equation)] + f_1_[at(c.equation)]) * (q_1[at(c.entry)] - q_0[at(c.entry)]);
  for (const DofMap::Frame& f : system_->dofs().rotating_frames()) {
    const Eigen::Map<const Vec3> M_0(f_.data() + f.equation), M_1(f_1_.data() + f.equation);  // in axes of the body
    if (M_0.isZero(0) && M_1.isZero(0)) continue;
    const Eigen::Map<const Quaternion> p_0(q_0.data() + f.entry), p_1(q_1.data() + f.entry);
    const Vec3 turn = so3::log_quaternion(so3::quaternion_product(so3::quaternion_conjugate(p_0), p_1));
    sum.work += 0.5 * (M_0 + M_1).dot(turn);
    sum.doubt += 0.5 * (M_1 - M_0).norm() * turn.norm();
  }
  return sum;
}

bool EnergyMeter::misfits(In q, double t, double length) const {
  Vector gaps(at(system_->rows()), 0.0);
  system_->gaps(q, t, bilateral_rows | unilateral_rows, gaps);
  const Vector weights = row_weights(*system_, length);  // over these, rows are lengths
  for (int row = 0; row < system_->rows(); ++row) {
    const double gap = gaps[at(row)] / weights[at(row)];
    if (row < system_->bilateral() ? std::abs(gap) > fits * length : gap < -fits * length) return true;
  }
  return false;
}

In EnergyMeter::rates_at_rest(In q, double t) {
  system_->rates(q, zero_, t, bilateral_rows, rates_);
  return rates_;
}

}  // namespace carom
