/// \file
/// Memory for coroutine frames: a free list per thread and size class in front of the heap.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace wick::detail {

#if defined(__SANITIZE_ADDRESS__) || defined(WICK_FRAMES_FROM_HEAP)
inline constexpr bool frames_from_heap = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool frames_from_heap = true;
#else
inline constexpr bool frames_from_heap = false;
#endif
#else
inline constexpr bool frames_from_heap = false;
#endif

/// Frames are made and dropped once a sample, mostly on the same thread and in few sizes, so a short list of the last
/// ones is warm and needs no lock. Frames that move between threads move between lists; each list is bounded.
/// Under AddressSanitizer, and where WICK_FRAMES_FROM_HEAP is defined (for heap profilers), each frame goes back to the
/// heap, so that the use of one that is gone is seen.
class frame_pool {
 public:
  static void* allocate(std::size_t size) {
    const std::size_t c = size_class(size);
    if (c < classes) {
      frame_pool& pool = of_this_thread();
      if (node* n = pool.free_[c]) {
        pool.free_[c] = n->next;
        --pool.count_[c];
        return n;
      }
      return ::operator new((c + 1) * granularity);
    }
    return ::operator new(size);
  }

  static void release(void* memory, std::size_t size) noexcept {
    const std::size_t c = size_class(size);
    if (c < classes && !frames_from_heap) {
      frame_pool& pool = of_this_thread();
      if (pool.count_[c] < kept && !pool.closed_) {
        auto* n = ::new (memory) node{pool.free_[c]};
        pool.free_[c] = n;
        ++pool.count_[c];
        return;
      }
    }
    ::operator delete(memory);
  }

 private:
  struct node {
    node* next;
  };
  static constexpr std::size_t granularity = 64;
  static constexpr std::size_t classes = 32;  // up to 2 KiB
  static constexpr unsigned kept = 256;

  static constexpr std::size_t size_class(std::size_t size) noexcept { return (size - 1) / granularity; }

  constexpr frame_pool() noexcept = default;
  void close() noexcept {
    closed_ = true;
    for (node*& list : free_) {
      while (list != nullptr) {
        node* n = list;
        list = n->next;
        ::operator delete(n);
      }
    }
  }
  struct at_thread_end {
    frame_pool& pool;
    ~at_thread_end() { pool.close(); }
  };
  [[gnu::noinline]] static frame_pool& of_this_thread() noexcept {
    // The pool itself has no destructor: a static object may drop frames when this thread's locals are gone already.
    thread_local frame_pool pool;
    thread_local const at_thread_end closer{pool};
    return pool;
  }

  std::array<node*, classes> free_{};
  std::array<unsigned, classes> count_{};
  bool closed_ = false;
};

/// A promise that derives from this takes its frame from the pool.
struct pooled_frame {
  static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { frame_pool::release(memory, size); }
};

}  // namespace wick::detail
