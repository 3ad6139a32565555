// Counts heap allocations between two points of a test.
//
//   AllocationCount count;
//   block.add_forces(...);
//   const long allocations = count.value();   // read before any CHECK, which allocates itself
//
// With glibc malloc itself is counted, so Eigen's and std's allocations alike; under the address and thread sanitizers,
// which own malloc, only operator new is. Allocations of all threads count. Scopes may be nested.
#pragma once

namespace carom::test {

class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;

  /// Allocations since construction.
  long value() const;

 private:
  long start_;
};

}  // namespace carom::test
