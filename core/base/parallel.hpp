// Loops over parts of a task, in parallel.
#pragma once

#include <algorithm>
#include <cstddef>

namespace carom {

/// Calls work(k) for k from 0 to count - 1, with several threads at once. Parts may not depend on each other.
///
/// The code of a part exists once, also for one thread: the compiler may fuse products and sums differently in two
/// copies, and results would then depend on the number of threads.
template <class Work>
void for_parts(int count, int threads, const Work& work) {
  const auto one = [&](int k) __attribute__((noinline)) { work(k); };
  if (threads == 1 || count < 2) {
    for (int k = 0; k < count; ++k) one(k);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int k = 0; k < count; ++k) one(k);
}

/// Calls work(first, last) for ranges of equal size that together are 0 to count - 1.
template <class Work>
void for_ranges(std::size_t count, std::size_t range, int threads, const Work& work) {
  for_parts(static_cast<int>((count + range - 1) / range), threads, [&](int k) {
    const std::size_t first = range * static_cast<std::size_t>(k);
    work(first, std::min(first + range, count));
  });
}

}  // namespace carom
