// System: energies and momenta.

#include <algorithm>

#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/system.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

Energies System::energies(In q, In v, double t) const {
  Energies sum;
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const Topology& topology = elements_[b]->topology();
    const int step = work_->chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step) {
      const Range range{first, std::min(first + step, topology.items)};
      ThreadScratch& scratch = work_->thread_scratch[0];
      gather(topology, element_tables_[b]->equations, range, v.data(), scratch.v.data());
      const ElementInput in{q.data(), scratch.v.data(), t};
      const Energies part = elements_[b]->energies(range, in);
      sum.elastic += part.elastic;
      sum.potential += part.potential;
      if (!elements_[b]->traits().has_mass) continue;
      // kinetic energy; the potential of gravity follows from the mass-weighted position
      const std::size_t count = at(range.size()) * at(topology.local_size);
      double* momentum = work_->local_out.data();
      std::fill_n(momentum, count, 0.0);
      elements_[b]->add_mass_times(range, in, scratch.v.data(), mass_kind(), momentum);
      sum.kinetic += 0.5 * dot({scratch.v.data(), count}, {momentum, count});
      if (has_gravity_) sum.potential -= gravity_.dot(first_moment(b, range, q));
    }
  }
  return sum;
}

std::string System::element_of_largest_gain(In q_0, In v_0, In q_1, In v_1, double t) const {
  double largest = 0;
  std::string name;
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const ElementBlock& block = *elements_[b];
    const auto energy = [&](int item, In q, In v) {
      ThreadScratch& scratch = work_->thread_scratch[0];
      const Range range{item, item + 1};
      gather(block.topology(), element_tables_[b]->equations, range, v.data(), scratch.v.data());
      const ElementInput in{q.data(), scratch.v.data(), t};
      double sum = block.energies(range, in).elastic;
      if (!block.traits().has_mass) return sum;
      const std::size_t count = at(block.topology().local_size);
      double* momentum = work_->local_out.data();
      std::fill_n(momentum, count, 0.0);
      block.add_mass_times(range, in, scratch.v.data(), mass_kind(), momentum);
      return sum + 0.5 * dot({scratch.v.data(), count}, {momentum, count});
    };
    for (int item = 0; item < block.topology().items; ++item) {
      const double gain = energy(item, q_1, v_1) - energy(item, q_0, v_0);
      if (!(gain > largest)) continue;
      largest = gain;
      const std::string remark = block.remark(item, {q_1.data(), nullptr, t});
      name = block.item_name(item) + (remark.empty() ? "" : ", " + remark);
    }
  }
  return name;
}

Vec3 System::first_moment(std::size_t b, Range range, In q) const {
  // translations are interpolated linearly, so M applied to the node positions is the mass-weighted position
  const Topology& topology = elements_[b]->topology();
  ThreadScratch& scratch = work_->thread_scratch[0];
  std::size_t i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      const bool placed = node >= 0 && dofs_.kind(node) != NodeKind::scalar;
      for (int c = 0; c < slot.components; ++c, ++i) {
        const int component = slot.first_component + c;
        scratch.a[i] = placed && component < 3 ? q[at(dofs_.configuration_offset(node) + component)] : 0.0;
      }
    }
  double* moment = work_->local_out.data();
  std::fill_n(moment, i, 0.0);
  elements_[b]->add_mass_times(range, {q.data(), nullptr, 0}, scratch.a.data(), mass_kind(), moment);
  Vec3 sum = Vec3::Zero();
  i = 0;
  for (int e = range.first; e < range.last; ++e)
    for (const Slot& slot : topology.slots)
      for (int c = 0; c < slot.components; ++c, ++i)
        if (slot.first_component + c < 3) sum[slot.first_component + c] += moment[i];
  return sum;
}

Momenta System::momenta(In q, In v) const {
  Momenta sum;
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    if (!elements_[b]->traits().has_mass) continue;
    const Topology& topology = elements_[b]->topology();
    const int step = work_->chunk(topology.local_size);
    for (int first = 0; first < topology.items; first += step) {
      const Range range{first, std::min(first + step, topology.items)};
      ThreadScratch& scratch = work_->thread_scratch[0];
      gather(topology, element_tables_[b]->equations, range, v.data(), scratch.v.data());
      double* momentum = work_->local_out.data();
      std::fill_n(momentum, at(range.size()) * at(topology.local_size), 0.0);
      elements_[b]->add_mass_times(range, {q.data(), scratch.v.data(), 0}, scratch.v.data(), mass_kind(), momentum);
      std::size_t i = 0;
      for (int e = range.first; e < range.last; ++e)
        for (std::size_t k = 0; k < topology.slots.size(); ++k) {
          const Slot slot = topology.slots[k];
          const int node = topology.node(e, static_cast<int>(k));
          Vec3 p = Vec3::Zero(), l = Vec3::Zero();
          for (int c = 0; c < slot.components; ++c, ++i) {
            const int component = slot.first_component + c;
            if (component < 3)
              p[component] = momentum[i];
            else
              l[component - 3] = momentum[i];
          }
          if (node < 0 || dofs_.kind(node) == NodeKind::scalar) continue;
          const double* x = q.data() + dofs_.configuration_offset(node);
          sum.linear += p;
          sum.angular += Vec3(x[0], x[1], x[2]).cross(p);
          if (dofs_.kind(node) == NodeKind::frame)
            sum.angular += so3::quaternion_to_matrix(Quaternion(x[3], x[4], x[5], x[6])) * l;
        }
    }
  }
  return sum;
}

}  // namespace carom
