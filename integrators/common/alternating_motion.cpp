#include "integrators/common/alternating_motion.hpp"

#include <algorithm>
#include <stdexcept>

#include "integrators/common/element_contacts.hpp"

namespace carom {

namespace {

// The energy is evaluated in every 4th step, because the evaluation costs as much as a residual; each value has this
// weight in the running mean.
constexpr long stride = 4;
constexpr double weight = 0.125;

}  // namespace

void AlternatingMotion::start(const System& system) {
  const std::vector<std::uint8_t> nodes = nodes_of_elements(system);
  equations_.clear();
  for (int node = 0; node < system.dofs().nodes(); ++node)
    if (nodes[at(node)] != 0)
      for (int c = 0; c < DofMap::components(system.dofs().kind(node)); ++c)
        if (const int i = system.dofs().equation(node, c); i >= 0) equations_.push_back(i);
  w_.assign(at(system.dofs().equations()), 0.0);
  // those of another model do not count
  for (Vector& v : before_)
    if (v.size() != w_.size()) v.clear();
}

void AlternatingMotion::after_step(const StepView& view) {
  if (equations_.empty() || !view.nominal) return;
  auto& [v_1, v_2] = before_;
  const Vector& v = view.state.v;
  const long place = view.state.step % stride;
  if (place == 0 && !v_1.empty() && !v_2.empty()) {
    for (const int i : equations_) w_[at(i)] = 0.25 * (v[at(i)] - 2 * v_1[at(i)] + v_2[at(i)]);
    mean_ += weight * (view.system.energies(view.state.q, w_, view.state.t).kinetic - mean_);
    largest_ = std::max(largest_, mean_);
  }
  if (place == stride - 2) v_2 = v;
  if (place == stride - 1) v_1 = v;
  if (place == 0) {
    v_1.clear();
    v_2.clear();
  }
}

void AlternatingMotion::save(NamedArrays& record) const {
  record.set("alternating", {mean_, largest_});
  record.set("velocity before", before_[0]);
  record.set("velocity two before", before_[1]);
}

void AlternatingMotion::restore(const NamedArrays& record) {
  const Vector *const sums = record.find("alternating"), *const v_1 = record.find("velocity before"),
                      *const v_2 = record.find("velocity two before");
  if (sums == nullptr || sums->size() != 2 || v_1 == nullptr || v_2 == nullptr)
    throw std::invalid_argument("AlternatingMotion: the record does not fit");
  mean_ = (*sums)[0];
  largest_ = (*sums)[1];
  before_ = {*v_1, *v_2};
}

}  // namespace carom
