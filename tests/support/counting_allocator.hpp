// Counts heap allocations between two points of a test.
//
//   AllocationCount count;
//   block.add_forces(...);
//   const long allocations = count.value();   // read before any CHECK, because CHECK allocates
//
// With glibc malloc itself is counted, so allocations of Eigen and std both count. The address and thread sanitizers
// own malloc; with them only operator new counts. Allocations of all threads count. Scopes may be nested.
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
