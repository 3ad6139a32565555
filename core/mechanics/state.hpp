// State: all data that a step starts from and leaves behind, as flat arrays. A copy of State is a checkpoint.
#pragma once

#include <cstdint>
#include <string>
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

  // Physical multipliers per constraint row (bilateral rows first, then unilateral ones); a positive one opens the gap.
  Vector lambda;   ///< smooth, a force
  Vector nu;       ///< position correction of the last step, force time^2
  Vector impulse;  ///< velocity jump of the last step, force time
  std::vector<std::uint8_t>
      active;  ///< 1: the row took part in the position correction of the last step (or touches at rest at the start)
  std::vector<std::uint8_t> closed;  ///< 1: and in its velocity jump

  /// What an integrator keeps besides, by name (a_n, eta_n, q_{n-1}, v_{n+1/2}, ...).
  struct History {
    std::string name;
    Vector values;
  };
  std::vector<History> history;
};

}  // namespace carom
