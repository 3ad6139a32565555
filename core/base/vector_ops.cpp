#include "core/base/vector_ops.hpp"

#include <bit>
#include <cmath>

#include "core/base/parallel.hpp"
#include "core/base/simd4.hpp"

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
  Lanes four{}, check{};
  std::size_t i = 0;
  for (; i + lane_count <= x.size(); i += lane_count) {
    const Lanes xi = lanes_at(&x[i]);
    four = max(four, abs(xi));
    check += xi != xi ? xi : lanes(0);
  }
  double largest = std::max(std::max(four[0], four[1]), std::max(four[2], four[3]));
  bool bad = std::isnan(sum(check));
  for (; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(x[i]));
    bad = bad || std::isnan(x[i]);
  }
  return bad ? std::nan("") : largest;
}

bool all_finite(In x) {
  // x * 0 is NaN if x is infinite or NaN, otherwise 0: the sum is 0 exactly if all entries are finite
  return ordered_sum(x.size(), [&](std::size_t i) { return x[i] * 0.0; }) == 0.0;
}

std::uint64_t fingerprint(In x, int threads) {
  // interleaved hashes; multiplication by an odd number loses no bit
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  constexpr int parts = 8, turn = 29;
  const auto add = [](std::uint64_t hash, std::uint64_t bits) { return std::rotl((hash ^ bits) * odd, turn); };
  const auto of_range = [&](std::size_t first, std::size_t last) {
    std::uint64_t part[parts] = {1, 2, 3, 4, 5, 6, 7, 8};
    std::size_t i = first;
    for (; i + parts <= last; i += parts)
      for (int k = 0; k < parts; ++k) part[k] = add(part[k], std::bit_cast<std::uint64_t>(x[i + at(k)]));
    for (; i < last; ++i) part[0] = add(part[0], std::bit_cast<std::uint64_t>(x[i]));
    std::uint64_t hash = last - first;
    for (const std::uint64_t p : part) hash = add(hash, p);
    return hash;
  };
  return reduce_vector(x.size(), threads, std::uint64_t{0}, of_range, add);
}

}  // namespace carom
