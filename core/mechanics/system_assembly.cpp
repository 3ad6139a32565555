// System: vectors summed from elements, matrices summed from elements and constraints.

#include <algorithm>

#include "core/base/parallel.hpp"
#include "core/base/vector_ops.hpp"
#include "core/mechanics/switching_block.hpp"
#include "core/mechanics/system.hpp"
#include "core/mechanics/system_tables.hpp"

namespace carom {

// kernel(k, b, range, scratch, local): adds chunk k, a range of block b, to zeros; false if the block adds nothing.
template <class Kernel>
void System::assemble_vector(const Kernel& kernel, Out f) const {
  const auto& chunks = work_->vector_chunks;
  // One thread: scatter one chunk after the other. The chunks are the same as for several threads, because a compiler
  // may round the vectorised part of a loop and its remainder differently.
  if (!parallel_) {
    set_zero(f);
    double* local = work_->local_out.data();
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const auto& [b, range] = chunks[k];
      const std::size_t m = at(elements_[b]->topology().local_size), count = at(range.size()) * m;
      std::fill_n(local, count, 0.0);
      if (kernel(k, b, range, work_->thread_scratch[0], local))
        element_tables_[b]->equations.scatter(at(range.first) * m, count, local, f.data());
    }
    return;
  }
  // Several threads: write all contributions to one array, then sum every equation in the same order as above. Every
  // chunk writes its own part, so the result does not depend on the schedule.
  for_parts(static_cast<int>(chunks.size()), threads_, [&](int k) {
    const auto& [b, range] = chunks[at(k)];
    const std::size_t m = at(elements_[b]->topology().local_size);
    double* local = work_->vector_parts.data() + work_->vector_first[b] + at(range.first) * m;
    std::fill_n(local, at(range.size()) * m, 0.0);
    kernel(at(k), b, range, work_->own_scratch(), local);
  });
  work_->vector_gather.sum(work_->vector_parts.data(), f, threads_);
}

// Velocities only for blocks that depend on them.
ElementInput System::element_input(std::size_t b, Range range, In q, In v, double t, ThreadScratch& scratch) const {
  const ElementBlock& block = *elements_[b];
  if (!block.traits().velocity_dependent) return {q.data(), nullptr, t};
  gather(block.topology(), element_tables_[b]->equations, range, v.data(), scratch.v.data());
  return {q.data(), scratch.v.data(), t};
}

void System::forces(In q, In v, double t, unsigned parts, Out f) const {
  const bool gravity = has_gravity_ && (parts & force_gravity) != 0;
  if (!has_forces(parts)) {
    for_vector(f.size(), threads_, [&](std::size_t first, std::size_t last) {
      if (gravity && constant_mass_)
        copy(In(gravity_force_).subspan(first, last - first), f.subspan(first, last - first));
      else
        set_zero(f.subspan(first, last - first));
    });
    if (gravity && !constant_mass_) add_gravity(q, f);
    return;
  }
  assemble_vector(
      [&](std::size_t, std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        const ElementBlock& block = *elements_[b];
        if ((block.traits().force_parts & parts) == 0) return false;
        block.add_forces(range, element_input(b, range, q, v, t, scratch), parts, local);
        return true;
      },
      f);
  if (gravity) add_gravity_force(q, f);
}

Energies System::forces_with_energies(In q, In v, double t, unsigned parts, Out f) const {
  assemble_vector(
      [&](std::size_t k, std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        const ElementBlock& block = *elements_[b];
        const ElementInput in = element_input(b, range, q, v, t, scratch);
        const bool has_force = (block.traits().force_parts & parts) != 0;
        work_->energies[k] =
            has_force ? block.add_forces_with_energies(range, in, parts, local) : block.energies(range, in);
        return has_force;
      },
      f);
  if (has_gravity_ && (parts & force_gravity) != 0) add_gravity_force(q, f);
  return sum_energies(q);
}

void System::add_gravity_force(In q, Out f) const {
  if (constant_mass_)
    axpy(1.0, gravity_force_, f);
  else
    add_gravity(q, f);
}

void System::add_gravity_field(const Topology& topology, Range range, double c, double* a) const {
  for (int e = range.first; e < range.last; ++e)
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      const bool placed = node < 0 || dofs_.kind(node) != NodeKind::scalar;
      for (int i = 0; i < slot.components; ++i, ++a)
        if (placed && slot.first_component + i < 3) *a += c * gravity_[slot.first_component + i];
    }
}

// M gamma of the items of a block, element by element
template <class Take>
void System::for_weights(In q, const Take& take) const {
  double* field = work_->thread_scratch[0].a.data();
  double* local = work_->local_out.data();
  for (std::size_t b = 0; b < elements_.size(); ++b) {
    const ElementBlock& block = *elements_[b];
    if (!block.traits().has_mass) continue;
    const std::size_t m = at(block.topology().local_size);
    for (int e = 0; e < block.topology().items; ++e) {
      std::fill_n(field, m, 0.0);
      std::fill_n(local, m, 0.0);
      add_gravity_field(block.topology(), {e, e + 1}, 1.0, field);
      block.add_mass_times({e, e + 1}, {q.data(), nullptr, 0}, field, mass_kind(), local);
      take(b, e, local);
    }
  }
}

void System::add_gravity(In q, Out f) const {
  // only needed during set-up and for systems whose mass depends on the configuration
  for_weights(q, [&](std::size_t b, int e, const double* weights) {
    const std::size_t m = at(elements_[b]->topology().local_size);
    element_tables_[b]->equations.scatter(at(e) * m, m, weights, f.data());
  });
}

// Translations are interpolated linearly, so the potential of gravity is -w . q with the weights w of the translations.
void System::find_weights(In q) const {
  for_weights(q, [&](std::size_t b, int e, const double* weights) {
    const Topology& topology = elements_[b]->topology();
    for (std::size_t k = 0; k < topology.slots.size(); ++k) {
      const Slot slot = topology.slots[k];
      const int node = topology.node(e, static_cast<int>(k));
      const bool placed = node >= 0 && dofs_.kind(node) != NodeKind::scalar;
      for (int c = slot.first_component; c < slot.first_component + slot.components; ++c, ++weights)
        if (placed && c < 3) weights_[at(dofs_.configuration_offset(node) + c)] += *weights;
    }
  });
}

void System::mass_times(In q, In a, Out f, MassKind kind) const {
  assemble_vector(
      [&](std::size_t, std::size_t b, Range range, ThreadScratch& scratch, double* local) {
        const ElementBlock& block = *elements_[b];
        if (!block.traits().has_mass) return false;
        gather(block.topology(), element_tables_[b]->equations, range, a.data(), scratch.a.data());
        block.add_mass_times(range, {q.data(), nullptr, 0}, scratch.a.data(), lumped_ ? MassKind::lumped : kind, local);
        return true;
      },
      f);
}

double System::roundoff_force(double length_scale) const {
  double largest = 0;
  for (const auto& block : elements_) largest = std::max(largest, block->roundoff_force(length_scale));
  return largest;
}

void System::element_matrices(std::size_t b, Range range, const Linearisation& r, ThreadScratch& scratch,
                              double* A) const {
  const ElementBlock& block = *elements_[b];
  const BlockTraits& traits = block.traits();
  const Topology& topology = block.topology();
  const ElementTables& tables = *element_tables_[b];
  const std::size_t m = at(topology.local_size);
  std::fill_n(A, at(range.size()) * m * m, 0.0);

  // stiffness at (q, v, t); then T multiplies its columns
  ElementInput in{r.q, nullptr, r.t};
  if (traits.velocity_dependent && (r.c_K != 0 || r.c_C != 0)) {
    gather(topology, tables.equations, range, r.v, scratch.v.data());
    in.v = scratch.v.data();
  }
  if (traits.has_stiffness && r.c_K != 0) {
    ElementTangent K;
    K.c_K = (traits.force_parts & ~force_external) == 0 && !traits.has_mass ? r.loads * r.c_K : r.c_K;
    if (!traits.constant_mass && (r.a != nullptr || has_gravity_)) {
      // gravity is the force M(q) gamma, so D(M a) - Df contains D(M (a - gamma))
      if (r.a != nullptr)
        gather(topology, tables.equations, range, r.a, scratch.a.data());
      else
        std::fill_n(scratch.a.data(), at(range.size()) * m, 0.0);
      if (has_gravity_) add_gravity_field(topology, range, -r.loads, scratch.a.data());
      K.a = scratch.a.data();
    } else if (traits.mixed_tangent && r.mixed_q != nullptr) {
      gather(topology, tables.equations, range, r.mixed_d, scratch.a.data());
      K.mixed_q = r.mixed_q;
      K.mixed_d = scratch.a.data();
    }
    block.add_tangent(range, in, K, A);
    if (r.T != nullptr && !tables.frames.empty()) apply_columns(tables.frames, topology.local_size, range, *r.T, A);
  }

  // damping at (q, v, t), mass at q_M
  if (traits.velocity_dependent && r.c_C != 0) {
    ElementTangent C;
    C.c_C = r.c_C;
    block.add_tangent(range, in, C, A);
  }
  if (traits.has_mass && r.c_M != 0) {
    ElementTangent M;
    M.c_M = r.c_M;
    M.mass = lumped_ ? MassKind::lumped : r.mass;
    in.q = r.q_M;
    block.add_tangent(range, in, M, A);
  }
  if (r.symmetrised && !traits.symmetric && tables.frames.empty())
    for (int e = 0; e < range.size(); ++e, A += m * m)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < i; ++j) A[i * m + j] = A[j * m + i] = 0.5 * (A[i * m + j] + A[j * m + i]);
}

void System::apply_columns(const std::vector<FrameColumn>& columns, int local_size, Range range,
                           const TangentOperators& T, double* A, int rows) {
  const int m = rows < 0 ? local_size : rows;
  auto it = std::lower_bound(columns.begin(), columns.end(), range.first,
                             [](const FrameColumn& c, int item) { return c.item < item; });
  for (; it != columns.end() && it->item < range.last; ++it) {
    const Mat3& t = T.frames[at(it->frame)];
    double* block = A + at(it->item - range.first) * at(m) * at(local_size) + it->column;
    for (int i = 0; i < m; ++i, block += local_size) {
      const double x = block[0], y = block[1], z = block[2];
      for (int j = 0; j < 3; ++j) block[j] = x * t(0, j) + y * t(1, j) + z * t(2, j);
    }
  }
}

void System::assemble(const Linearisation& request, Out values) const {
  saddle_pattern();
  for_ranges(values.size(), 65536, parallel_ ? threads_ : 1,
             [&](std::size_t first, std::size_t last) { set_zero(values.subspan(first, last - first)); });
  if (!parallel_) {
    double* local = work_->local_out.data();
    for (std::size_t b = 0; b < elements_.size(); ++b) {
      const ElementTables& tables = *element_tables_[b];
      if (!tables.contributes_matrix) continue;
      const Topology& topology = elements_[b]->topology();
      const std::size_t m2 = at(topology.local_size) * at(topology.local_size);
      const int step = work_->chunk(topology.local_size * topology.local_size);
      for (int first = 0; first < topology.items; first += step) {
        const Range range{first, std::min(first + step, topology.items)};
        element_matrices(b, range, request, work_->thread_scratch[0], local);
        for (int e = first; e < range.last; ++e)
          tables.add_matrix(topology, saddle_, e, local + at(e - first) * m2, values.data(), [](int) { return true; });
      }
    }
  } else {
    for (std::size_t b = 0; b < elements_.size(); ++b)
      if (element_tables_[b]->contributes_matrix) assemble_in_batches(b, request, values);
  }
  add_constraint_terms(request, values);
}

// Several threads: compute the matrices of a batch of elements, then add their rows. Each row is summed by one thread
// in the order of the elements, so the result is the same as with one thread.
void System::assemble_in_batches(std::size_t b, const Linearisation& request, Out values) const {
  const ElementTables& tables = *element_tables_[b];
  const Topology& topology = elements_[b]->topology();
  const std::size_t m2 = at(topology.local_size) * at(topology.local_size);
  const int step = work_->chunk(topology.local_size * topology.local_size);
  const int items = std::max(1, Workspace::batch / static_cast<int>(m2) / step) * step;
  double* const parts = work_->matrix_parts.data();
  for (int first = 0; first < topology.items; first += items) {
    const int last = std::min(first + items, topology.items), chunks = (last - first + step - 1) / step;
    for_parts(chunks, threads_, [&](int c) {
      const Range range{first + c * step, std::min(first + (c + 1) * step, last)};
      element_matrices(b, range, request, work_->own_scratch(), parts + at(range.first - first) * m2);
    });
    // each thread has groups of 32 rows, and so work within a batch of neighbouring elements
    for_parts(threads_, threads_, [&](int part) {
      for (int e = first; e < last; ++e)
        tables.add_matrix(topology, saddle_, e, parts + at(e - first) * m2, values.data(),
                          [&](int equation) { return equation / 32 % threads_ == part; });
    });
  }
}

void System::add_constraint_terms(const Linearisation& r, Out values) const {
  Vector& A = work_->constraint_matrix;
  Vector& v_local = work_->constraint_v;
  for (std::size_t b = 0; b < constraints_.size(); ++b) {
    const ConstraintBlock& block = *constraints_[b];
    const ConstraintTables& tables = *constraint_tables_[b];
    const ConstraintTraits& traits = block.traits();
    const std::size_t m = at(block.topology().local_size), rows = at(block.rows());
    const bool geometric = r.c_s != 0 && r.s != nullptr && !traits.linear;
    if (traits.kind != RowKind::bilateral && !geometric) continue;

    for (int i = 0; i < block.topology().items; ++i) {
      const Range item{i, i + 1};
      const std::size_t first_row = at(first_row_[b]) + at(i) * rows;
      ConstraintInput in{r.q, nullptr, r.t, r.start};

      // add -c_s D(G^T s) T to S
      const double* s = r.s == nullptr ? nullptr : r.s + first_row;
      if (geometric && std::any_of(s, s + rows, [](double x) { return x != 0; })) {
        std::fill_n(A.data(), m * m, 0.0);
        block.add_reaction_gradient(item, in, s, -r.c_s, A.data());
        if (r.T != nullptr) apply_columns(tables.frames, static_cast<int>(m), item, *r.T, A.data());
        const int* p = tables.positions.data() + at(i) * m * m;
        for (std::size_t k = 0; k < m * m; ++k)
          if (p[k] >= 0) values[at(p[k])] += A[k];
      }
      if (traits.kind != RowKind::bilateral) continue;
      if (r.rows_apart) {
        for (std::size_t k = 0; k < rows; ++k) {
          const int place = size() + static_cast<int>(first_row + k);
          values[at(saddle_.find(place, place))] = r.row_scale;
        }
        continue;
      }

      // reactions of a block with formulas may have directions of their own
      const auto* const switching = traits.has_formulas ? dynamic_cast<const SwitchingBlock*>(&block) : nullptr;

      // add -k F^T, F = G but within a switch, to the columns of the multipliers, -k (c_row G + c_rate D(G v + g_t) T)
      // to the rows
      ConstraintValues wanted;
      wanted.gradient = A.data();
      double* rate_gradient = A.data() + rows * m;
      if (r.c_rate != 0 && !traits.linear) {
        gather(block.topology(), tables.equations, item, r.v, v_local.data());
        in.v = v_local.data();
        wanted.rate_gradient = rate_gradient;
      }
      block.evaluate(item, in, wanted);
      const int* upper = tables.upper.data() + at(i) * rows * m;
      const int* lower = tables.lower.data() + at(i) * rows * m;
      double* const F = switching != nullptr ? A.data() + 2 * rows * m : A.data();
      if (switching != nullptr) switching->direction(in, F);
      for (std::size_t k = 0; k < rows * m; ++k)
        if (upper[k] >= 0) values[at(upper[k])] -= r.row_scale * F[k];
      for (std::size_t k = 0; switching != nullptr && k < rows; ++k)
        if (switching->vacant_row(static_cast<int>(k))) {
          const int place = size() + static_cast<int>(first_row + k);
          values[at(saddle_.find(place, place))] = r.row_scale;
        }
      if (r.rows_through_T && r.T != nullptr)
        apply_columns(tables.frames, static_cast<int>(m), item, *r.T, A.data(), block.rows());
      if (wanted.rate_gradient != nullptr && r.T != nullptr)
        apply_columns(tables.frames, static_cast<int>(m), item, *r.T, rate_gradient, block.rows());
      for (std::size_t k = 0; k < rows * m; ++k) {
        if (lower[k] < 0) continue;
        values[at(lower[k])] -= r.row_scale * r.c_row * A[k];
        if (wanted.rate_gradient != nullptr) values[at(lower[k])] -= r.row_scale * r.c_rate * rate_gradient[k];
      }
    }
  }
}

}  // namespace carom
