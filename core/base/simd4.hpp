// Four doubles side by side: kernels of the linear solvers and of long vectors evaluate four entries of a row at once.
//
// Without AVX the compiler uses two halves; the code is the same.
#pragma once

// g++ warns that 32-byte vector arguments need AVX for a stable binary interface; all functions here are inlined
#pragma GCC diagnostic ignored "-Wpsabi"

namespace carom {

constexpr int lane_count = 4;
using Lanes = double __attribute__((vector_size(lane_count * sizeof(double))));

/// Four consecutive entries of an array, at any address.
using LooseLanes [[gnu::vector_size(lane_count * sizeof(double)), gnu::aligned(8), gnu::may_alias]] = double;

inline Lanes lanes(double x) { return Lanes{} + x; }
[[gnu::always_inline]] inline LooseLanes& lanes_at(double* p) { return *reinterpret_cast<LooseLanes*>(p); }
[[gnu::always_inline]] inline const LooseLanes& lanes_at(const double* p) {
  return *reinterpret_cast<const LooseLanes*>(p);
}

// by value: a reference to loose lanes would be read as if they were aligned
[[gnu::always_inline]] inline Lanes abs(Lanes x) { return x < 0.0 ? -x : x; }
[[gnu::always_inline]] inline Lanes max(Lanes x, Lanes y) { return x > y ? x : y; }
[[gnu::always_inline]] inline double sum(Lanes x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// Transposes four vectors: entry l of x_i and entry i of x_l are exchanged.
inline void transpose(Lanes& x0, Lanes& x1, Lanes& x2, Lanes& x3) {
  const Lanes a = __builtin_shufflevector(x0, x1, 0, 4, 2, 6), b = __builtin_shufflevector(x0, x1, 1, 5, 3, 7);
  const Lanes c = __builtin_shufflevector(x2, x3, 0, 4, 2, 6), d = __builtin_shufflevector(x2, x3, 1, 5, 3, 7);
  x0 = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  x1 = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  x2 = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  x3 = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// ---- Arrays padded to whole lanes, so that inner loops need no remainder

constexpr int padded(int n) { return (n + lane_count - 1) / lane_count * lane_count; }

/// y -= s x over the whole lanes that cover [from, to).
[[gnu::always_inline]] inline void subtract(double* y, double s, const double* x, int from, int to) {
  for (int j = from & ~(lane_count - 1); j < to; j += lane_count) lanes_at(y + j) -= s * lanes_at(x + j);
}

/// Sum of x y over the whole lanes that cover [from, to); x or y is zero outside.
[[gnu::always_inline]] inline double dot(const double* x, const double* y, int from, int to) {
  Lanes total{};
  for (int j = from & ~(lane_count - 1); j < to; j += lane_count) total += lanes_at(x + j) * lanes_at(y + j);
  return sum(total);
}

}  // namespace carom
