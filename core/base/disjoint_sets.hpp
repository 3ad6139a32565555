// Disjoint sets of the numbers 0, 1, ...: a tree for each set, in which every number has a parent, a root itself. The
// root is the smallest number of its set, whatever the order in which sets were joined.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/index.hpp"

namespace carom {

/// The parents of numbers that are alone in their sets.
inline std::vector<int> disjoint_sets(int size) {
  std::vector<int> parent(at(size));
  std::iota(parent.begin(), parent.end(), 0);
  return parent;
}

inline int root_of(std::vector<int>& parent, int i) {
  while (parent[at(i)] != i) i = parent[at(i)] = parent[at(parent[at(i)])];
  return i;
}

inline void join_sets(std::vector<int>& parent, int a, int b) {
  a = root_of(parent, a);
  b = root_of(parent, b);
  parent[at(std::max(a, b))] = std::min(a, b);
}

}  // namespace carom
