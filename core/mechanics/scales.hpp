// Scales: reference values of a model, to which every tolerance is relative.
#pragma once

namespace carom {

/// All > 0, in the units of the model.
struct Scales {
  double length = 1, speed = 1, mass = 1;
  double force = 1;  ///< a typical force: the reference of the force tolerance in [DS20] eq. 51
};

}  // namespace carom
