#include "heap.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WICK_STRESS_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WICK_STRESS_COUNTS 0
#endif
#endif
#ifndef WICK_STRESS_COUNTS
#define WICK_STRESS_COUNTS 1
#endif

namespace {

constinit std::atomic<long> blocks{0}, bytes{0};

#if WICK_STRESS_COUNTS
void* count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  blocks.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}
void* allocate(std::size_t size) { return count(std::malloc(size != 0 ? size : 1)); }
void* allocate(std::size_t size, std::align_val_t align) {
  const auto a = static_cast<std::size_t>(align);
  return count(std::aligned_alloc(a, (size + a - 1) / a * a));
}
void release(void* memory) noexcept {
  if (memory == nullptr) return;
  blocks.fetch_sub(1, std::memory_order_relaxed);
  bytes.fetch_sub(static_cast<long>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}
#endif

}  // namespace

namespace wick_stress {

heap_state heap_now() noexcept { return {blocks.load(), bytes.load()}; }
bool heap_is_counted() noexcept { return WICK_STRESS_COUNTS; }

}  // namespace wick_stress

#if WICK_STRESS_COUNTS
// The forms that are not here (nothrow, arrays) call these.
void* operator new(std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t align) { return allocate(size, align); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
#endif
