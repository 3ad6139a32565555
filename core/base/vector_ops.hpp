// Vector operations for integrators. Sums run in a fixed order, so they have the same bits on every run and for any
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/types.hpp"

namespace carom {

inline void set_zero(Out x) {
  for (double& xi : x) xi = 0.0;
}

inline void copy(In x, Out y) {
  // the call of the library's function costs more than a few numbers
  constexpr std::size_t few = 12;
  if (x.size() > few)
    std::copy(x.begin(), x.end(), y.begin());
  else
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i];
}

/// y = c x
inline void scale_into(double c, In x, Out y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = c * x[i];
}

/// y += c x
inline void axpy(double c, In x, Out y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += c * x[i];
}

/// z = a x + b y
inline void combine(double a, In x, double b, In y, Out z) {
  for (std::size_t i = 0; i < x.size(); ++i) z[i] = a * x[i] + b * y[i];
}

double dot(In x, In y);
double norm(In x);     ///< Euclidean
double max_abs(In x);  ///< 0 for an empty vector, NaN if an entry is NaN
bool all_finite(In x);
/// A hash of the bits: tells with certainty for all practical purposes whether two vectors are the same.
std::uint64_t fingerprint(In x, int threads);

}  // namespace carom
