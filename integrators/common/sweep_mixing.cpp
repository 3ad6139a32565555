#include "integrators/common/sweep_mixing.hpp"

#include "core/base/index.hpp"
#include "core/base/vector_ops.hpp"

namespace carom {

namespace {
constexpr int plain = 12;  // sweeps of a step: where they are enough, nothing is mixed
}  // namespace

void SweepMixing::resize(const System& system, double length) {
  const std::size_t n = at(system.size());
  mixing_.resize(n, depth);
  for (Vector* x : {&x_, &correction_}) x->assign(n, 0.0);
  weight_.assign(n, 1.0);
  for (const DofMap::Frame& f : system.dofs().rotating_frames())
    for (int c = 0; c < 3; ++c) weight_[at(f.equation + c)] = length;
}

void SweepMixing::begin() {
  sweeps_ = 0;
  set_zero(x_);
  mixing_.begin();
}

In SweepMixing::move(double share, In f) {
  if (share > 0) {
    ++sweeps_;
    copy(f, correction_);
  }
  if (share == 1) {
    mixing_.see(x_, f, weight_);
    if (sweeps_ > plain) mixing_.mix(f, weight_, correction_);
  } else {
    mixing_.begin();  // where a whole correction leads to forces that are not finite
  }
  axpy(share, correction_, x_);
  return correction_;
}

}  // namespace carom
