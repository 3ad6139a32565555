// The root of a monotone function between two arguments.
#pragma once

#include <functional>

namespace carom::test {

inline double bisect(double low, double high, const std::function<double(double)>& f) {
  const bool rising = f(high) > f(low);
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    ((f(middle) > 0) == rising ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace carom::test
