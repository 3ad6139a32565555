// Parallel loops.
#include "core/base/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

using namespace carom;

TEST_CASE("parallel loops: every part runs once, by a thread of the loop") {
  for (const int threads : {1, 2, 3, 5, 2})
    for (const int count : {0, 1, 2, 3, 7, 1000}) {
      CAPTURE(threads);
      CAPTURE(count);
      std::vector<int> runs(static_cast<std::size_t>(count), 0);
      std::atomic<int> strangers = 0;
      for (int repetition = 0; repetition < 200; ++repetition)
        for_parts(count, threads, [&](int k) {
          ++runs[static_cast<std::size_t>(k)];
          if (thread_number() < 0 || thread_number() >= threads) ++strangers;
        });
      CHECK(runs == std::vector<int>(static_cast<std::size_t>(count), 200));
      CHECK(strangers == 0);
    }
}

// A part that waits for another one would wait for ever if the parts were run one after the other.
TEST_CASE("parallel loops: parts run at the same time") {
  std::atomic<int> begun = 0;
  for_parts(2, 2, [&](int) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  CHECK(begun == 2);
}

TEST_CASE("parallel loops: a loop in a part, and loops of several threads of the program, run") {
  std::vector<int> sums(4, 0);
  const auto add_up = [](int& sum) {
    std::vector<int> outer(50, 0);
    for_parts(50, 3, [&](int i) {
      std::vector<int> inner(20, 0);
      const int thread = thread_number();
      bool same = true;
      for_parts(20, 3, [&](int k) {
        inner[static_cast<std::size_t>(k)] = i * k;
        same = same && thread_number() == thread;
      });
      for (const int x : inner) outer[static_cast<std::size_t>(i)] += same ? x : 0;
    });
    for (const int x : outer) sum += x;
  };
  std::vector<std::thread> others;
  for (int& sum : sums)
    others.emplace_back([&] {
      for (int k = 0; k < 100; ++k) add_up(sum);
    });
  for (std::thread& other : others) other.join();
  CHECK(sums == std::vector<int>(4, 100 * (50 * 49 / 2) * (20 * 19 / 2)));
}

TEST_CASE("parallel loops: sums over ranges of a vector have the same bits for any number of threads") {
  std::vector<double> x(100'000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
  const auto sum = [&](int threads) {
    return reduce_vector(
        x.size(), threads, 0.0,
        [&](std::size_t first, std::size_t last) {
          double part = 0;
          for (std::size_t i = first; i < last; ++i) part += x[i];
          return part;
        },
        std::plus<>());
  };
  const double one = sum(1);
  CHECK(one == doctest::Approx(12.090146129863428).epsilon(1e-13));  // the harmonic number
  for (const int threads : {2, 3, 7}) CHECK(sum(threads) == one);
}
