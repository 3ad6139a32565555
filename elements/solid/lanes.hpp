// Four doubles in one SIMD vector. A kernel written with Lanes evaluates four elements at once, one per lane.
//
// Every operation acts on each lane separately, so the result of an element has the same bits in every lane and with
// any other elements in the other lanes. Without AVX the compiler splits the vector into two halves; the source is the
// same.
#pragma once

#include <cmath>

// g++ warns that 32-byte vector arguments need AVX for a stable binary interface; all functions here are inlined
#pragma GCC diagnostic ignored "-Wpsabi"

namespace carom {

constexpr int lane_count = 4;
using Lanes = double __attribute__((vector_size(lane_count * sizeof(double))));

/// Lanes at any address in an array of doubles.
using LooseLanes [[gnu::vector_size(lane_count * sizeof(double)), gnu::aligned(8), gnu::may_alias]] = double;

inline Lanes lanes(double x) { return Lanes{} + x; }

inline Lanes log(const Lanes& x) { return Lanes{std::log(x[0]), std::log(x[1]), std::log(x[2]), std::log(x[3])}; }
inline Lanes sqrt(const Lanes& x) { return Lanes{std::sqrt(x[0]), std::sqrt(x[1]), std::sqrt(x[2]), std::sqrt(x[3])}; }
inline Lanes abs(const Lanes& x) { return x < 0.0 ? -x : x; }
inline Lanes max(const Lanes& x, const Lanes& y) { return x > y ? x : y; }

/// Transposes four vectors: entry l of x_i and entry i of x_l are exchanged.
inline void transpose(Lanes& x0, Lanes& x1, Lanes& x2, Lanes& x3) {
  const Lanes a = __builtin_shufflevector(x0, x1, 0, 4, 2, 6), b = __builtin_shufflevector(x0, x1, 1, 5, 3, 7);
  const Lanes c = __builtin_shufflevector(x2, x3, 0, 4, 2, 6), d = __builtin_shufflevector(x2, x3, 1, 5, 3, 7);
  x0 = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  x1 = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  x2 = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  x3 = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

}  // namespace carom
