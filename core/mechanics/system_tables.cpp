#include "core/mechanics/system_tables.hpp"

namespace carom {

void GatherList::build(int targets, const std::vector<const std::vector<int>*>& lists) {
  // counting sort keeps the order of the contributions to each target
  start_.assign(static_cast<std::size_t>(targets) + 1, 0);
  for (const auto* list : lists)
    for (int target : *list)
      if (target >= 0) ++start_[static_cast<std::size_t>(target) + 1];
  for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
  source_.resize(start_.back());
  std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
  int contribution = 0;
  for (const auto* list : lists)
    for (int target : *list) {
      if (target >= 0) source_[next[static_cast<std::size_t>(target)]++] = contribution;
      ++contribution;
    }
}

void GatherList::sum(const double* contributions, Out out, int threads) const {
  for_ranges(out.size(), 1024, threads, [&](std::size_t first, std::size_t last) {
    for (std::size_t target = first; target < last; ++target) {
      double sum = 0;
      for (std::size_t k = start_[target]; k < start_[target + 1]; ++k) sum += contributions[source_[k]];
      out[target] = sum;
    }
  });
}

void System::ElementTables::locate(const Topology& topology, const SparsePattern& pattern) {
  const std::size_t m = static_cast<std::size_t>(topology.local_size), slots = topology.slots.size();
  const std::size_t items = static_cast<std::size_t>(topology.items);
  offsets.assign(items * slots * slots, 0);
  bool same = true;
  for (std::size_t item = 0; item < items && same; ++item) {
    const int* const equation = equations.of.data() + item * m;
    int* offset = offsets.data() + item * slots * slots;
    std::size_t first_row = 0;
    for (std::size_t s = 0; s < slots && same; ++s) {
      const std::size_t rows = static_cast<std::size_t>(topology.slots[s].components);
      std::size_t first_column = 0;
      for (std::size_t t = 0; t < slots && same; ++t, ++offset) {
        const std::size_t columns = static_cast<std::size_t>(topology.slots[t].components);
        bool known = false;
        for (std::size_t r = first_row; r < first_row + rows; ++r) {
          if (equation[r] < 0) continue;
          int next = -1;  // expected distance of the next free column
          for (std::size_t c = first_column; c < first_column + columns; ++c) {
            if (equation[c] < 0) continue;
            const int place =
                pattern.find(equation[r], equation[c]) - pattern.row_start[static_cast<std::size_t>(equation[r])];
            if (next < 0) {
              same = same && (!known || *offset == place);
              *offset = place;
              known = true;
            } else {
              same = same && place == next;
            }
            next = place + 1;
          }
        }
        first_column += columns;
      }
      first_row += rows;
    }
  }
  if (same) return;

  offsets = {};
  positions.clear();
  positions.reserve(items * m * m);
  for (std::size_t item = 0; item < items; ++item) {
    const int* const equation = equations.of.data() + item * m;
    for (std::size_t r = 0; r < m; ++r)
      for (std::size_t c = 0; c < m; ++c)
        positions.push_back(equation[r] < 0 || equation[c] < 0 ? -1 : pattern.find(equation[r], equation[c]));
  }
}

void System::Workspace::build(const std::vector<std::unique_ptr<ElementBlock>>& elements,
                              const std::vector<std::unique_ptr<ElementTables>>& tables, int equations, int threads,
                              std::size_t largest_rows, std::size_t largest_local) {
  std::size_t largest_element = 1;
  for (const auto& block : elements)
    largest_element = std::max(largest_element, static_cast<std::size_t>(block->topology().local_size));
  const std::size_t capacity = std::max<std::size_t>(buffer, largest_element * largest_element);
  vector_chunks.clear();
  for (std::size_t b = 0; b < elements.size(); ++b) {
    const int items = elements[b]->topology().items, step = vector_chunk(elements[b]->topology().local_size);
    for (int first = 0; first < items; first += step)
      vector_chunks.push_back({b, {first, std::min(first + step, items)}});
  }
  energies.assign(vector_chunks.size(), {});
  local_out.resize(capacity);
  thread_scratch.resize(static_cast<std::size_t>(threads));
  for (ThreadScratch& scratch : thread_scratch) {
    scratch.v.resize(capacity);
    scratch.a.resize(capacity);
  }
  constraint_v.resize(std::max<std::size_t>(buffer, largest_local));
  constraint_out.resize(std::max(largest_local, largest_rows));
  constraint_matrix.resize(std::max(largest_local * largest_local, 3 * largest_rows * largest_local));
  if (threads == 1) return;

  std::vector<const std::vector<int>*> vectors;
  std::size_t vector_size = 0, matrix_size = 0;
  for (std::size_t b = 0; b < elements.size(); ++b) {
    vector_first.push_back(vector_size);
    vector_size += tables[b]->equations.of.size();
    vectors.push_back(&tables[b]->equations.of);
    const std::size_t m = static_cast<std::size_t>(elements[b]->topology().local_size);
    if (tables[b]->contributes_matrix)
      matrix_size = std::max(matrix_size, std::min<std::size_t>(batch + capacity, m * tables[b]->equations.of.size()));
  }
  vector_parts.resize(vector_size);
  matrix_parts.resize(matrix_size);
  vector_gather.build(equations, vectors);
}

}  // namespace carom
