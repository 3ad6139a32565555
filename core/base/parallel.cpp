#include "core/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

namespace carom {

namespace {

constexpr int looks = 4000;  // for the next loop, or for the end of a part, before a thread sleeps
constexpr int shares = 4;    // a thread takes this part of its share of what is left

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what a thread is and does is state of the thread
thread_local int number_of_thread = 0;
thread_local bool in_loop = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// The threads of the program. They live as long as the process, asleep while no loop runs.
class Team {
 public:
  // One loop at a time: false if that of another thread is running.
  bool run(int count, int threads, const void* work, detail::Part part) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    grow(threads);
    work_ = work;
    part_ = part;
    count_ = count;
    finished_.store(0);
    ticket_.store(Ticket{.threads = threads, .left = count}.packed());
    news_.fetch_add(1);
    news_.notify_all();
    take_parts(0);
    // others may be at their last parts
    for (int k = 0; k < looks && finished_.load() != count; ++k) pause();
    for (int done = finished_.load(); done != count; done = finished_.load()) finished_.wait(done);
    busy_.clear(std::memory_order_release);
    return true;
  }

 private:
  // How many threads the loop may have, and the parts that nobody has taken.
  struct Ticket {
    int threads = 0, left = 0;
    std::uint64_t packed() const {
      return static_cast<std::uint64_t>(threads) << 32 | static_cast<std::uint64_t>(left);
    }
    static Ticket of(std::uint64_t x) { return {static_cast<int>(x >> 32), static_cast<int>(x & 0xffffffff)}; }
  };

  void grow(int threads) {
    try {
      for (; size_ < threads; ++size_) std::thread([this, number = size_] { serve(number); }).detach();
    } catch (const std::system_error&) {
      // the system allows no more threads: those that are there do the work
    }
  }

  // The loop does not end before the parts taken here, so work, part and count are its own.
  void take_parts(int number) {
    std::uint64_t packed = ticket_.load();
    for (;;) {
      Ticket ticket = Ticket::of(packed);
      if (ticket.left == 0 || number >= ticket.threads) return;
      const int taken = std::max(1, ticket.left / (shares * ticket.threads)), left = ticket.left;
      ticket.left -= taken;
      if (!ticket_.compare_exchange_weak(packed, ticket.packed())) continue;
      const int count = count_, first = count - left;
      for (int k = first; k < first + taken; ++k) part_(work_, k);
      if (finished_.fetch_add(taken) + taken == count && number > 0) finished_.notify_one();
      packed = ticket_.load();
    }
  }

  bool offered(int number) const {
    const Ticket ticket = Ticket::of(ticket_.load());
    return ticket.left > 0 && number < ticket.threads;
  }

  void serve(int number) {
    number_of_thread = number;
    in_loop = true;
    for (;;) {
      const int seen = news_.load();
      for (int k = 0; k < looks && !offered(number); ++k) pause();
      if (offered(number))
        take_parts(number);
      else
        news_.wait(seen);
    }
  }

  std::atomic_flag busy_;
  int size_ = 1;  // with the thread that starts loops
  const void* work_ = nullptr;
  detail::Part part_ = nullptr;
  int count_ = 0;
  std::atomic<std::uint64_t> ticket_ = 0;
  std::atomic<int> news_ = 0, finished_ = 0;
};

// Never deleted: its threads run until the process ends.
Team& team() {
  static Team& only = *new Team;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
  return only;
}

}  // namespace

int thread_number() { return number_of_thread; }

void detail::run_parts(int count, int threads, const void* work, Part part) noexcept {
  const bool nested = std::exchange(in_loop, true);
  if (nested || !team().run(count, threads, work, part))
    for (int k = 0; k < count; ++k) part(work, k);
  in_loop = nested;
}

}  // namespace carom
