// System: energies and momenta.

#include <algorithm>
#include <functional>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "core/lie/so3.hpp"
#include "core/mechanics/system.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

Energies System::energies(In q, In v, double t) const {
  const auto& chunks = work_->vector_chunks;
  for_parts(static_cast<int>(chunks.size()), parallel_ ? threads_ : 1, [&](int k) {
    const auto& [b, range] = chunks[at(k)];
    const ElementBlock& block = *elements_[b];
    ThreadScratch& scratch = work_->own_scratch();
    gather(block.topology(), element_tables_[b]->equations, range, v.data(), scratch.v.data());
    const ElementInput in{q.data(), scratch.v.data(), t};
    Energies& part = work_->energies[at(k)];
    part = block.energies(range, in);
    if (!block.traits().has_mass) return;
    const std::size_t count = at(range.size()) * at(block.topology().local_size);
    std::fill_n(scratch.a.data(), count, 0.0);
    block.add_mass_times(range, in, scratch.v.data(), mass_kind(), scratch.a.data());
    part.kinetic += 0.5 * dot(In(scratch.v).first(count), In(scratch.a).first(count));
  });
  return sum_energies(q);
}

// Those of all chunks and of weights.
Energies System::sum_energies(In q) const {
  Energies sum;
  for (const Energies& part : work_->energies) {
    sum.kinetic += part.kinetic;
    sum.elastic += part.elastic;
    sum.potential += part.potential;
  }
  if (!has_gravity_) return sum;
  if (!constant_mass_) {
    set_zero(weights_);
    find_weights(q);
  }
  sum.potential -= reduce_vector(
      q.size(), threads_, 0.0,
      [&](std::size_t first, std::size_t last) {
        return dot(In(weights_).subspan(first, last - first), q.subspan(first, last - first));
      },
      std::plus<>());
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
