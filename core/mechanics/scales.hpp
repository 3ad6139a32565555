// Scales: the sizes of a model by which every tolerance is measured.
#pragma once

namespace carom {

/// All > 0, in the units of the model.
struct Scales {
  double length = 1, speed = 1, mass = 1;
  double force = 1;  ///< a typical force, by which the tolerance of forces in [DS20] eq. 51 is measured
};

}  // namespace carom
