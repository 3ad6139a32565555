#include "tests/support/counting_allocator.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

// This file needs the C library's names and global counters.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)

namespace {

// Constant-initialised, because the allocator is used before main.
constinit std::atomic<int> scopes{0};
constinit std::atomic<long> allocations{0};

void note() {
  if (scopes.load(std::memory_order_relaxed) > 0) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

namespace carom::test {

AllocationCount::AllocationCount() : start_(allocations.load()) { scopes.fetch_add(1); }
AllocationCount::~AllocationCount() { scopes.fetch_sub(1); }
long AllocationCount::value() const { return allocations.load() - start_; }

}  // namespace carom::test

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// The program's own malloc replaces the library's, which stays reachable under its other name; free needs no change.
extern "C" {
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* old, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;

void* malloc(std::size_t size) noexcept {
  note();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  note();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  note();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}
}

#else

namespace {

void* allocate(std::size_t size) {
  note();
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void* allocate(std::size_t size, std::align_val_t alignment) {
  note();
  const std::size_t unit = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return allocate(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  note();
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  note();
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)
