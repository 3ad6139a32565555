// Sums over the 3 x 3 blocks of a row of blocks, which lie one after the other, column by column.
#pragma once

#include "core/base/simd4.hpp"

namespace carom {

using FourFloats [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = float;

inline Lanes load_lanes(const double* p) { return *reinterpret_cast<const LooseLanes*>(p); }
inline Lanes load_lanes(const float* p) {
  return __builtin_convertvector(*reinterpret_cast<const FourFloats*>(p), Lanes);
}

/// The product of one block and u; the fourth lane is to be ignored. Reads one entry beyond the block.
template <class Real>
inline Lanes block_product(const Real* a, const double* u) {
  return load_lanes(a) * u[0] + load_lanes(a + 3) * u[1] + load_lanes(a + 6) * u[2];
}

/// Sum of the products of the blocks with x from the columns on; the fourth lane is to be ignored. Reads one entry
/// beyond the last block. Two independent sums hide the latency of the additions.
template <class Real>
inline Lanes sum_blocks(const Real* a, const int* column, const int* end, const double* x) {
  Lanes s0{}, s1{}, s2{}, t0{}, t1{}, t2{};
  for (; column + 1 < end; column += 2, a += 18) {
    const double* const u = x + column[0];
    const double* const w = x + column[1];
    s0 += load_lanes(a) * u[0];
    s1 += load_lanes(a + 3) * u[1];
    s2 += load_lanes(a + 6) * u[2];
    t0 += load_lanes(a + 9) * w[0];
    t1 += load_lanes(a + 12) * w[1];
    t2 += load_lanes(a + 15) * w[2];
  }
  if (column < end) {
    const double* const u = x + column[0];
    s0 += load_lanes(a) * u[0];
    s1 += load_lanes(a + 3) * u[1];
    s2 += load_lanes(a + 6) * u[2];
  }
  return (s0 + t0) + (s1 + t1) + (s2 + t2);
}

}  // namespace carom
