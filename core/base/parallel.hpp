// Loops over parts of a task, in parallel.
#pragma once

namespace carom {

/// Calls work(k) for k from 0 to count - 1, with several threads at once. Parts may not depend on each other.
///
/// The code of a part exists once, also for one thread: the compiler may fuse products and sums differently in two
/// copies, and results would then depend on the number of threads.
template <class Work>
void for_parts(int count, int threads, const Work& work) {
  const auto one = [&](int k) __attribute__((noinline)) { work(k); };
  if (threads == 1) {
    for (int k = 0; k < count; ++k) one(k);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int k = 0; k < count; ++k) one(k);
}

}  // namespace carom
