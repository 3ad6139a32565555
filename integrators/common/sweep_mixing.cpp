#include "integrators/common/sweep_mixing.hpp"

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr double growth = 2;  // of the correction, at which former sweeps are forgotten
constexpr int plain = 12;     // sweeps of a step: where they are enough, nothing is mixed
}  // namespace

void SweepMixing::resize(const System& system, double length) {
  const std::size_t n = at(system.size());
  mixing_.resize(n, depth);
  for (Vector* x : {&x_, &T_, &f_before_, &T_before_, &correction_}) x->assign(n, 0.0);
  weight_.assign(n, 1.0);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int c = 0; c < 3; ++c) weight_[at(f.equation + c)] = length;
  known_ = false;
}

void SweepMixing::begin() {
  sweeps_ = 0;
  set_zero(x_);
  forget();
}

void SweepMixing::forget() {
  mixing_.forget();
  known_ = false;
}

In SweepMixing::move(double share, In f) {
  if (share > 0) ++sweeps_;
  if (share != 1) {
    // where a whole correction leads to forces that are not finite
    forget();
    if (share > 0) copy(f, correction_);
    axpy(share, correction_, x_);
    return correction_;
  }
  double size = 0;
  for (std::size_t i = 0; i < f.size(); ++i) size += weight_[i] * f[i] * weight_[i] * f[i];
  if (known_ && !(size <= growth * growth * size_before_)) forget();
  size_before_ = size;
  combine(1.0, x_, 1.0, f, T_);
  if (known_) {
    const AndersonMixing::Change change = mixing_.add();
    combine(1.0, f, -1.0, f_before_, change.f);
    combine(1.0, T_, -1.0, T_before_, change.T);
  }
  copy(f, f_before_);
  copy(T_, T_before_);
  known_ = true;
  if (sweeps_ > plain) {
    mixing_.mix(f, weight_, T_);
    combine(1.0, T_, -1.0, x_, correction_);
  } else {
    copy(f, correction_);
  }
  copy(T_, x_);
  return correction_;
}

}  // namespace carom
