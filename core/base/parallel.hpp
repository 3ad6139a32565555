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

/// Entries of a range of a long vector, worth a thread each; at most 64 ranges, which depend on the count only.
constexpr std::size_t most_vector_ranges = 64;
inline std::size_t vector_range(std::size_t count) {
  return std::max<std::size_t>(8192, (count + most_vector_ranges - 1) / most_vector_ranges);
}

/// Calls work(first, last) for ranges of the entries of a vector.
template <class Work>
void for_vector(std::size_t count, int threads, const Work& work) {
  for_ranges(count, vector_range(count), threads, work);
}

/// Joins part(first, last) of the ranges of a vector in their order: the same bits for any number of threads.
template <class Value, class Part, class Join>
Value reduce_vector(std::size_t count, int threads, Value result, const Part& part, const Join& join) {
  Value parts[most_vector_ranges];
  const std::size_t range = vector_range(count);
  for_ranges(count, range, threads,
             [&](std::size_t first, std::size_t last) { parts[first / range] = part(first, last); });
  for (std::size_t first = 0; first < count; first += range) result = join(result, parts[first / range]);
  return result;
}

}  // namespace carom
