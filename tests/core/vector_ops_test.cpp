#include "core/base/vector_ops.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

using namespace carom;

TEST_CASE("vector operations: the largest entry is found at any place, and no number is told") {
  for (std::size_t n = 0; n < 20; ++n) {
    Vector x(n, -0.25);
    CHECK(max_abs(x) == (n == 0 ? 0 : 0.25));
    for (std::size_t i = 0; i < n; ++i) {
      for (const double value : {-3.0, 7.0, HUGE_VAL}) {
        x[i] = value;
        CHECK(max_abs(x) == std::abs(value));
      }
      x[i] = std::numeric_limits<double>::quiet_NaN();
      CHECK(std::isnan(max_abs(x)));
      CHECK_FALSE(all_finite(x));
      x[i] = -0.25;
    }
  }
}

TEST_CASE("vector operations: a fingerprint tells any change of a bit, and knows no threads") {
  for (const std::size_t n : {1U, 7U, 8U, 61U, 20'000U}) {
    CAPTURE(n);
    Vector x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<double>(i));
    const std::uint64_t whole = fingerprint(x, 1);
    for (const int threads : {2, 3}) CHECK(fingerprint(x, threads) == whole);
    std::set<std::uint64_t> all{whole};
    std::size_t changes = 1;
    for (std::size_t i = 0; i < n; i += n < 100 ? 1 : 997) {
      const double kept = x[i];
      for (const double other : {std::nextafter(kept, 2.0), -kept, kept + 1, 2 * kept + 0.1}) {
        if (other == kept && std::signbit(other) == std::signbit(kept)) continue;
        x[i] = other;
        all.insert(fingerprint(x, 1));
        ++changes;
      }
      x[i] = kept;
    }
    // two entries in another order
    if (n > 8) {
      std::swap(x[0], x[8]);
      all.insert(fingerprint(x, 1));
      ++changes;
    }
    CHECK(all.size() == changes);
  }
}
