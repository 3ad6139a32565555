// The vectors of the kernels of solids: one double of each element of a group.
//
// Every operation acts on each lane alone, so an element's result has the same bits in whichever lane and beside
// whichever companions it is evaluated. Groups have four elements, in files compiled for AVX-512 eight. Kernels have
// internal linkage everywhere: the linker must not take the code of one kind of file for that of the other.
#pragma once

#include <cmath>

// g++ warns that long vectors as arguments need AVX for a stable binary interface; all functions here are inlined
#pragma GCC diagnostic ignored "-Wpsabi"

namespace carom::solid {

namespace {

#ifdef CAROM_EIGHT_LANES
constexpr int lane_count = 8;
#else
constexpr int lane_count = 4;
#endif

using Lanes = double __attribute__((vector_size(lane_count * sizeof(double))));
/// Consecutive entries of an array, at any address.
using LooseLanes [[gnu::vector_size(lane_count * sizeof(double)), gnu::aligned(8), gnu::may_alias]] = double;

inline Lanes lanes(double x) { return Lanes{} + x; }
/// The entries from[place[l]], l = 0, 1, ...
[[gnu::always_inline]] inline Lanes gather(const double* from, const int* place) {
#ifdef CAROM_EIGHT_LANES
  return Lanes{from[place[0]], from[place[1]], from[place[2]], from[place[3]],
               from[place[4]], from[place[5]], from[place[6]], from[place[7]]};
#else
  return Lanes{from[place[0]], from[place[1]], from[place[2]], from[place[3]]};
#endif
}

template <class Function>
[[gnu::always_inline]] inline Lanes by_lane(const Lanes& x, const Function& function) {
  Lanes y;
  for (int l = 0; l < lane_count; ++l) y[l] = function(x[l]);
  return y;
}
inline Lanes log1p(const Lanes& x) {
  return by_lane(x, [](double xi) { return std::log1p(xi); });
}

// by value: a reference to loose lanes would be read as if they were aligned
[[gnu::always_inline]] inline Lanes abs(Lanes x) { return x < 0.0 ? -x : x; }
[[gnu::always_inline]] inline Lanes max(Lanes x, Lanes y) { return x > y ? x : y; }

}  // namespace

}  // namespace carom::solid
