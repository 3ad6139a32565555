// Tables and scratch memory of System: equations and matrix positions of all local entries, gather lists, buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/base/parallel.hpp"
#include "core/linear/sparse.hpp"
#include "core/mechanics/element_block.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

/// The first of the three local columns that belong to a rotating frame in an item's matrices.
struct FrameColumn {
  int item, column, frame;
};
std::vector<FrameColumn> frame_columns(const Topology& topology, const DofMap& dofs);

/// Equations of the local components of a block's items, item after item; -1: no equation.
struct LocalEquations {
  std::vector<int> of;
  bool complete = true;  // every component has an equation, so gather and scatter need no test
  // Where all components come in threes with equations one after the other, as those of solids: the first of each.
  std::vector<int> triples;

  void find_triples(int local_size) {
    if (!complete || local_size % 3 != 0) return;
    for (std::size_t i = 0; i < of.size(); i += 3)
      if (of[i + 1] != of[i] + 1 || of[i + 2] != of[i] + 2) return;
    triples.resize(of.size() / 3);
    for (std::size_t i = 0; i < triples.size(); ++i) triples[i] = of[3 * i];
  }

  void gather(std::size_t first, std::size_t count, const double* global, double* local) const {
    const int* e = of.data() + first;
    if (complete) {
      for (std::size_t i = 0; i < count; ++i) local[i] = global[e[i]];
    } else {
      for (std::size_t i = 0; i < count; ++i) local[i] = e[i] < 0 ? 0.0 : global[e[i]];
    }
  }
  void scatter(std::size_t first, std::size_t count, const double* local, double* global) const {
    if (!triples.empty()) {
      for (const int* e = triples.data() + first / 3; count > 0; count -= 3, local += 3, ++e)
        for (int c = 0; c < 3; ++c) global[*e + c] += local[c];
      return;
    }
    const int* e = of.data() + first;
    if (complete) {
      for (std::size_t i = 0; i < count; ++i) global[e[i]] += local[i];
    } else {
      for (std::size_t i = 0; i < count; ++i)
        if (e[i] >= 0) global[e[i]] += local[i];
    }
  }
};

/// Copies the local values of a range of items from an array with one entry per equation.
inline void gather(const Topology& topology, const LocalEquations& equations, Range range, const double* global,
                   double* local) {
  const std::size_t m = static_cast<std::size_t>(topology.local_size);
  equations.gather(static_cast<std::size_t>(range.first) * m, static_cast<std::size_t>(range.size()) * m, global,
                   local);
}

struct System::ElementTables {
  LocalEquations equations;
  // Positions of element matrices in the global matrix. The free columns of a slot are usually adjacent in every row,
  // and start at the same distance from the row's start in all rows of a slot. `offsets` then holds one distance per
  // pair of slots (items * slots^2). Otherwise `positions` holds one index per entry (items * local_size^2; -1: no
  // entry).
  std::vector<int> offsets, positions;
  std::vector<FrameColumn> frames;  // sorted by item
  bool contributes_matrix = false;

  void locate(const Topology& topology, const SparsePattern& pattern);
  /// Adds the matrix A of an item; only the rows (equations) that `owns` accepts.
  template <class Owns>
  void add_matrix(const Topology& topology, const SparsePattern& pattern, int item, const double* A, double* values,
                  const Owns& owns) const;
};

struct System::ConstraintTables {
  LocalEquations equations;
  std::vector<int> positions;  // positions of the geometric term; empty for linear blocks
  std::vector<int> lower;      // positions in the rows of the multipliers: items * rows * local_size
  std::vector<int> upper;      // positions in the columns of the multipliers, row after row: items * rows * local_size
  std::vector<FrameColumn> frames;
  std::vector<int> nodes;  // of searching blocks: to which the tables belong
};

/// For every target the list of its contributions, in the order in which they are summed.
class GatherList {
 public:
  /// targets[k] receives contribution k; contributions with a negative target are dropped.
  void build(int targets, const std::vector<const std::vector<int>*>& lists);
  void sum(const double* contributions, Out out, int threads) const;

 private:
  std::vector<std::size_t> start_;
  std::vector<int> source_;
};

struct System::ThreadScratch {
  Vector v, a;  // gathered local values of one chunk
};

struct System::Workspace {
  static constexpr int buffer = 4096;  // doubles per chunk: fits the first-level cache

  // a multiple of four items if possible, because kernels evaluate four items at once
  int chunk(int entries_per_item) const {
    const int items = std::max(1, buffer / std::max(1, entries_per_item));
    return items < 4 ? items : items / 4 * 4;
  }
  // of few items: what the elements write is scattered while the nearest cache still has it
  int vector_chunk(int local_size) const { return chunk(16 * local_size); }
  int constraint_chunk(int local_size) const { return std::max(1, buffer / std::max(1, local_size)); }

  void build(const std::vector<std::unique_ptr<ElementBlock>>& elements,
             const std::vector<std::unique_ptr<ElementTables>>& tables, int equations, int threads,
             std::size_t largest_rows, std::size_t largest_local);

  /// Of the thread that calls.
  ThreadScratch& own_scratch() { return thread_scratch[static_cast<std::size_t>(thread_number())]; }

  struct Chunk {
    std::size_t block = 0;
    Range range;
  };
  std::vector<Chunk> vector_chunks;  // of all element blocks, for element vectors
  std::vector<Energies> energies;    // of a chunk
  std::vector<ThreadScratch> thread_scratch;
  Vector local_out;
  Vector constraint_v, constraint_out, constraint_matrix, constraint_rates;

  // for several threads only
  static constexpr int batch = 1 << 19;  // entries of element matrices per batch
  Vector vector_parts, matrix_parts;
  std::vector<std::size_t> vector_first;
  GatherList vector_gather;
};

template <class Owns>
void System::ElementTables::add_matrix(const Topology& topology, const SparsePattern& pattern, int item,
                                       const double* A, double* values, const Owns& owns) const {
  const std::size_t m = static_cast<std::size_t>(topology.local_size), slots = topology.slots.size();
  const int* const equation = equations.of.data() + static_cast<std::size_t>(item) * m;
  if (offsets.empty()) {
    const int* p = positions.data() + static_cast<std::size_t>(item) * m * m;
    for (std::size_t r = 0; r < m; ++r, p += m, A += m) {
      if (equation[r] < 0 || !owns(equation[r])) continue;
      for (std::size_t c = 0; c < m; ++c)
        if (p[c] >= 0) values[p[c]] += A[c];
    }
    return;
  }
  const int* offset = offsets.data() + static_cast<std::size_t>(item) * slots * slots;
  std::size_t r = 0;
  for (std::size_t s = 0; s < slots; ++s, offset += slots)
    for (int a = 0; a < topology.slots[s].components; ++a, ++r, A += m) {
      if (equation[r] < 0 || !owns(equation[r])) continue;
      double* const row = values + pattern.row_start[static_cast<std::size_t>(equation[r])];
      std::size_t c = 0;
      for (std::size_t t = 0; t < slots; ++t) {
        double* to = row + offset[t];
        const int components = topology.slots[t].components;
        if (equations.complete && components == 3) {
          to[0] += A[c];
          to[1] += A[c + 1];
          to[2] += A[c + 2];
          c += 3;
          continue;
        }
        for (int b = 0; b < components; ++b, ++c)
          if (equation[c] >= 0) *to++ += A[c];
      }
    }
}

}  // namespace carom
