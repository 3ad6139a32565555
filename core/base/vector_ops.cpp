#include "core/base/vector_ops.hpp"

#include <cmath>

namespace carom {

namespace {

// Four interleaved partial sums: the order is fixed, and the compiler can vectorise the loop.
template <class Term>
double ordered_sum(std::size_t n, Term term) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += term(i);
    s1 += term(i + 1);
    s2 += term(i + 2);
    s3 += term(i + 3);
  }
  for (; i < n; ++i) s0 += term(i);
  return (s0 + s1) + (s2 + s3);
}

}  // namespace

double dot(In x, In y) {
  return ordered_sum(x.size(), [&](std::size_t i) { return x[i] * y[i]; });
}

double norm(In x) { return std::sqrt(dot(x, x)); }

double max_abs(In x) {
  double largest = 0;
  bool bad = false;
  for (double xi : x) {
    const double a = std::abs(xi);
    if (a > largest) largest = a;
    bad |= !(a <= largest);
  }
  return bad ? std::nan("") : largest;
}

bool all_finite(In x) {
  // x * 0 is NaN if x is infinite or NaN, otherwise 0: the sum is 0 exactly if all entries are finite
  return ordered_sum(x.size(), [&](std::size_t i) { return x[i] * 0.0; }) == 0.0;
}

}  // namespace carom
