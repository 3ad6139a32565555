#include "joint_friction_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/index.hpp"
#include "elements/joints/joint_coordinate.hpp"

namespace carom::cases {

Case machine(const std::string& body, const std::string& joints, double h, double duration, const std::string& method,
             const std::string& gravity, const std::string& more) {
  return Case::from_text(fmt::format(R"({{"format": 1, "title": "t", "gravity": {}, "bodies": [{}], "joints": [{}], {}
    "integrator": {{"type": "{}", "step": {:.17g}, "duration": {:.17g}}}}})",
                                     gravity, body, joints, more, method, h, duration));
}

std::string bearing(const std::string& friction) {
  return R"({"name": "bearing", "type": "revolute", "of": ["ground", "wheel"], "axis": [0, 1, 0], "friction": )" +
         friction + "}";
}

const JointInfo& joint_of(Case& c) { return c.model().joints.front(); }

double angle_of_joint(Case& c) {
  CoordinateState s;
  evaluate_coordinate(*joint_of(c).angle, nullptr, NodeKind::frame, c.state().q.data(), NodeKind::frame,
                      CoordinateOrder::value, s);
  return s.value;
}

JointLawCheck::JointLawCheck(Case& c)
    : before_(c.state().lambda), q_before_(c.state().q), energy_(c.energy()), scale_(std::abs(energy_)) {}

void JointLawCheck::see(const StepView& v) {
  const System& system = v.system;
  const State& s = v.state;
  const double h = s.last_h, t_n = s.t - h;
  const bool decoupled = v.integrator.info().exact_positions;
  for (int row = system.bilateral(); row < system.rows(); ++row) {
    if (system.row_kind(row) != RowKind::joint_friction || system.row_place(row).row != 0) continue;
    const int n = system.row_block(row).rows();
    const auto check = [&](const Vector& multipliers, double start, double end, double duration, double t) {
      Vector at_end(multipliers.begin(), multipliers.begin() + system.bilateral()), at_start = at_end;
      for (std::size_t i = 0; i < at_end.size(); ++i) {
        at_end[i] += end * s.lambda[i];
        at_start[i] = start * before_[i];
      }
      const double limit = system.friction_limit(row, s.q, at_end, q_before_, at_start, duration, t);
      double square = 0;
      for (int k = 0; k < n; ++k) square += multipliers[at(row + k)] * multipliers[at(row + k)];
      if (limit > 0) outside = std::max(outside, std::sqrt(square) / limit - 1);
    };
    if (decoupled) {
      check(s.nu, h * h / 3, h * h / 6, h * h / 2, t_n + h / 3);
      check(s.impulse, h / 2, h / 2, h, t_n + h / 2);
    } else {
      check(s.impulse, 0, 0, h, t_n + h / 2);
    }
  }
  before_ = s.lambda;
  q_before_ = s.q;
  const Energies e = system.energies(s.q, s.v, s.t);
  const double now = e.kinetic + e.elastic + e.potential;
  scale_ = std::max({scale_, e.kinetic, std::abs(now)});
  gain = std::max(gain, (now - energy_) / scale_);
  energy_ = now;
}

}  // namespace carom::cases
