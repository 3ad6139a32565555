// Four doubles at a time for the dense kernels of the linear solvers; not for other code.
//
// Arrays are padded to whole lanes and zero in the padding, so that inner loops need no remainder.
#pragma once

namespace carom::detail {

// Four doubles at any address; g++ splits the operations where the machine has narrower lanes.
using Lanes [[gnu::vector_size(32), gnu::aligned(8), gnu::may_alias]] = double;
constexpr int lane_count = 4;
constexpr int padded(int n) { return (n + lane_count - 1) / lane_count * lane_count; }

[[gnu::always_inline]] inline Lanes& lanes(double* p) { return *reinterpret_cast<Lanes*>(p); }
[[gnu::always_inline]] inline const Lanes& lanes(const double* p) { return *reinterpret_cast<const Lanes*>(p); }

[[gnu::always_inline]] inline Lanes magnitude(Lanes x) { return x < 0 ? -x : x; }
[[gnu::always_inline]] inline Lanes larger(Lanes x, Lanes y) { return x > y ? x : y; }
[[gnu::always_inline]] inline double sum(Lanes x) { return (x[0] + x[2]) + (x[1] + x[3]); }

// y -= s x over whole lanes covering [from, to).
[[gnu::always_inline]] inline void subtract(double* y, double s, const double* x, int from, int to) {
  for (int j = from & ~(lane_count - 1); j < to; j += lane_count) lanes(y + j) -= s * lanes(x + j);
}

// Sum of x y over whole lanes covering [from, to); one of the two is zero outside.
[[gnu::always_inline]] inline double dot(const double* x, const double* y, int from, int to) {
  Lanes total{};
  for (int j = from & ~(lane_count - 1); j < to; j += lane_count) total += lanes(x + j) * lanes(y + j);
  return sum(total);
}

}  // namespace carom::detail
