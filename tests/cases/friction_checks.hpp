// What the tests of friction of contacts share.
#pragma once

#include "case_runner.hpp"

namespace carom::cases {

/// The tangential impulse of a step is in the disc of Coulomb's law.
struct ContactLawCheck {
  double outside = 0;  ///< |Lam_T| - mu Lam_N over mu Lam_N, at most; infinite where an empty disc has an impulse
  /// The impulses of the last step.
  void see(const Case& c);
};

}  // namespace carom::cases
