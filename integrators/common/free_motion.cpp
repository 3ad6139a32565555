#include "integrators/common/free_motion.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "core/linear/delassus.hpp"

namespace carom {

namespace {
constexpr double doubt_share = 6;  // of the second difference; 12 where the power is smooth
}  // namespace

void FreeMotion::start(const System& system) {
  const DofMap& dofs = system.dofs();
  const Components components(system.saddle_pattern());
  // the first of three consecutive equations of translation; -1: the node is fixed, or no place
  const auto translation = [&](int node) {
    const int e = dofs.equation(node, 0);
    const bool whole = dofs.kind(node) != NodeKind::scalar && e >= 0 && dofs.equation(node, 1) == e + 1 &&
                       dofs.equation(node, 2) == e + 2;
    return whole ? e : -1;
  };
  std::vector<std::uint8_t> held(at(components.count()), 0);
  const auto hold_neighbours = [&](const Topology& topology) {
    const int slots = static_cast<int>(topology.slots.size());
    for (int item = 0; item < topology.items; ++item) {
      bool holds = false;
      for (int s = 0; s < slots; ++s) {
        const int node = topology.node(item, s);
        holds = holds || node < 0 || translation(node) < 0;
      }
      for (int s = 0; holds && s < slots; ++s)
        if (const int node = topology.node(item, s); node >= 0)
          for (int c = 0; c < DofMap::components(dofs.kind(node)); ++c)
            if (const int e = dofs.equation(node, c); e >= 0) held[at(components.of(e))] = 1;
    }
  };
  for (const auto& block : system.elements()) hold_neighbours(block->topology());
  for (const auto& block : system.constraints())
    if (block->traits().kind == RowKind::bilateral) hold_neighbours(block->topology());

  places_.clear();
  std::vector<std::ptrdiff_t> number(at(components.count()), -1);
  std::size_t groups = 0;
  for (int node = 0; node < dofs.nodes(); ++node) {
    const int e = translation(node);
    if (e < 0 || held[at(components.of(e))] != 0) continue;
    std::ptrdiff_t& group = number[at(components.of(e))];
    if (group < 0) group = static_cast<std::ptrdiff_t>(groups++);
    places_.push_back({e, static_cast<std::size_t>(group)});
  }
  group_mass_.assign(groups, 0.0);
  momentum_.assign(3 * groups, 0.0);
  product_.assign(at(system.size()), 0.0);
  Vector along(product_);
  for (const Place& p : places_) along[at(p.equation)] = 1;
  system.mass_times(system.initial_configuration(), along, product_);
  for (const Place& p : places_) group_mass_[p.group] += product_[at(p.equation)];
}

void FreeMotion::after_step(const StepView& view, const Energies& energy, double change, double damping,
                            bool exchanged) {
  if (!any() || exchanged) return;
  const State& state = view.state;
  view.system.mass_times(state.q, state.v, product_);
  std::fill(momentum_.begin(), momentum_.end(), 0.0);
  for (const Place& p : places_)
    for (std::size_t c = 0; c < 3; ++c) momentum_[3 * p.group + c] += product_[at(p.equation) + c];
  double within = energy.kinetic + std::abs(energy.elastic);
  for (std::size_t g = 0; g < group_mass_.size(); ++g) {
    const double* const p = &momentum_[3 * g];
    if (group_mass_[g] > 0) within -= (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / (2 * group_mass_[g]);
  }
  const double given = change - damping, doubt = std::abs(damping - 2 * damping_[1] + damping_[0]) / doubt_share;
  damping_[0] = std::exchange(damping_[1], damping);
  sum_ += given > 0 ? std::max(0.0, given - doubt) : given;
  energy_ = std::max(energy_, within - std::max(0.0, sum_ - lowest_));
  lowest_ = std::min(lowest_, sum_);
  growth_ = std::max(growth_, sum_ - lowest_);
}

void FreeMotion::save(NamedArrays& record) const {
  record.set("free motion", {energy_, sum_, lowest_, growth_});
  record.set("damping of free motion", {damping_[0], damping_[1]});
}

void FreeMotion::restore(const NamedArrays& record) {
  const Vector* const x = record.find("free motion");
  if (x == nullptr || x->size() != 4) throw std::invalid_argument("FreeMotion: the record does not fit");
  energy_ = (*x)[0];
  sum_ = (*x)[1];
  lowest_ = (*x)[2];
  growth_ = (*x)[3];
  if (const Vector* const damping = record.find("damping of free motion"); damping != nullptr && damping->size() == 2)
    std::copy(damping->begin(), damping->end(), damping_);
}

}  // namespace carom
