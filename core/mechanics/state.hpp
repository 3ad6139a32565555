// State: all data that a step starts from and leaves behind, as flat arrays. A checkpoint also holds what
// Integrator::save and Simulation::save write.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace carom {

struct State {
  double t = 0;
  long step = 0;      ///< nominal steps completed
  double last_h = 0;  ///< size of the last accepted step, 0 before the first

  Vector q;             ///< configuration (DofMap::configuration_size entries)
  Vector v;             ///< velocity, per equation
  Vector acceleration;  ///< v' at t (v~' for the nonsmooth methods), per equation

  // Physical multipliers, one per constraint row: bilateral rows, then conditional rows. A positive multiplier opens
  // the gap.
  Vector lambda;   ///< smooth, a force
  Vector nu;       ///< position correction of the last step, force time^2
  Vector impulse;  ///< velocity jump of the last step, force time

  // One flag per conditional row: of a unilateral row 1 if the row is closed, of a tangential row or a row of joint
  // friction the SlipState.
  std::vector<std::uint8_t> active;  ///< in the position correction of the last step; at first: touches at rest
  std::vector<std::uint8_t> closed;  ///< in the velocity jump of the last step

  /// Additional data of the integrator with names (a_n, eta_n, q_{n-1}, v_{n+1/2}, ...).
  struct History {
    std::string name;
    Vector values;
  };
  std::vector<History> history;

  /// Exchanges all arrays without copying them.
  void swap(State& other) noexcept {
    std::swap(t, other.t);
    std::swap(step, other.step);
    std::swap(last_h, other.last_h);
    for (Vector State::*x : {&State::q, &State::v, &State::acceleration, &State::lambda, &State::nu, &State::impulse})
      (this->*x).swap(other.*x);
    active.swap(other.active);
    closed.swap(other.closed);
    history.swap(other.history);
  }
};

}  // namespace carom
