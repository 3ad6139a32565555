// Loops over parts of a task, in parallel.
//
// The thread that starts a loop takes parts until none is left; other threads of the program take parts when the system
// lets them run. The loop ends with its last part, whether or not every thread has taken one: where other programs keep
// the processors busy, it takes about as long as with one thread. (A loop of OpenMP ends when every thread has come by,
// and beside another program it waits for a processor each time: steps of 7 ms took 59.) Threads that find nothing to
// do look for the next loop for a fraction of a millisecond, then sleep.
#pragma once

#include <algorithm>
#include <cstddef>

namespace carom {

/// Number of the calling thread in a parallel loop, from 0 to `threads` - 1; 0 for the thread that has started it.
int thread_number();

namespace detail {
using Part = void (*)(const void* work, int k);
void run_parts(int count, int threads, const void* work, Part part) noexcept;
}  // namespace detail

/// Calls work(k) for k from 0 to count - 1, with several threads at once. Parts may not depend on each other, nor on
/// the thread that runs them, and may not throw. A loop in a part is not parallel.
///
/// The code of a part exists once, also for one thread: the compiler may fuse products and sums differently in two
/// copies, and results would then depend on the number of threads.
template <class Work>
void for_parts(int count, int threads, const Work& work) {
  const auto one = [&](int k) __attribute__((noinline)) { work(k); };
  using One = decltype(one);
  if (threads > 1 && count > 1)
    return detail::run_parts(count, threads, &one, [](const void* w, int k) { (*static_cast<One*>(w))(k); });
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
