// Solves with supernodal factors in single precision, P A P^T = L L^T.
//
// A solve reads all factors from memory twice and does little else. Single precision halves that time, and the memory:
// good enough for a preconditioner.
//
// Supernodes are the vertices of the elimination tree. Two sets of whole subtrees, about equally large, do not touch
// each other: two threads go through them at once, before (forward) and after (backward) the supernodes above. The sets
// follow from counts of entries, and the second one has its own copy of the unknowns, so the bits do not depend on the
// number of threads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/linear/linear_solver.hpp"

namespace carom::detail {

/// Pattern of L. Supernode s has the columns first_column[s] to first_column[s + 1] - 1 and first_row[s + 1] -
/// first_row[s] rows, numbered by rows[first_row[s]] and up, its own columns first. Its values start at first_value[s],
/// column after column. Entry i of P b is entry order[i] of b.
struct Supernodes {
  int count = 0, unknowns = 0;
  const int *first_column = nullptr, *first_row = nullptr, *first_value = nullptr, *rows = nullptr, *order = nullptr;
};

/// The columns of a supernode, one after the other.
struct SupernodeValues {
  const float* L;
  int width, height;
};

class SupernodalFactors {
 public:
  /// The arrays outlive this. Each call has the same pattern.
  void set(const Supernodes& pattern, std::span<const float> values, int threads);
  void clear() { values_ = {}; }
  bool empty() const { return values_.empty(); }
  /// Solves A x = b in place for right-hand sides one after the other, each to single precision relative to its size.
  void solve(double* b, int columns);

 private:
  struct Part {
    std::vector<int> nodes;       // supernodes in the order of elimination
    std::vector<float> x, dense;  // all unknowns in the order of elimination; those of a supernode. By row.
  };

  void divide();
  SupernodeValues node(int s) const;
  template <int W>
  void solve_group(double* b, int columns);
  template <int W, class Take>
  void each_entry(int s, Part& part, const Take& take) const;
  template <int W>
  void eliminate(int s, Part& part) const;
  template <int W>
  void substitute(int s, Part& part) const;

  Supernodes pattern_;
  std::span<const float> values_;
  std::array<Part, 2> parts_;  // subtrees
  std::vector<int> top_;       // supernodes above the subtrees, which use the unknowns of the first part
  bool divided_ = false;       // parts_ and top_ are known
  std::size_t largest_ = 0;    // rows of a supernode
  int threads_ = 1;
};

/// The next solves by factors of make_cholmod() have single precision. factorise() makes exact factors again.
void round_factors(Factorisation& cholmod, int threads);

}  // namespace carom::detail
