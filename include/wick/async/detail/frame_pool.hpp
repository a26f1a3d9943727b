// Memory for coroutine frames: free lists per thread and size class, then a depot shared by all threads,
// then the heap.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace wick::inline v0_1::detail {

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

/// Frames are allocated and freed once per sample, mostly on the same thread and in few sizes, so a short
/// list of recent ones is warm and needs no lock. Frames that one thread allocates and another frees come
/// back through the depot, a full list at a time (J. Bonwick, J. Adams: Magazines and Vmem, 2001). A thread
/// keeps at most two lists per size, the depot at most 1 MiB of each; the rest goes to the heap. No thread
/// waits for the depot: while it is in use, the heap serves instead. Under AddressSanitizer, and where
/// WICK_FRAMES_FROM_HEAP is defined (for heap profilers), each frame goes back to the heap, so that a use
/// after free is detected.
class frame_pool {
 public:
  static void* allocate(std::size_t size) {
    const std::size_t c = size_class(size);
    if (c >= classes || frames_from_heap) return ::operator new(size);
    lists& mine = of_this_thread().lists_[c];
    if (mine.first == nullptr && !refill(mine, c)) return ::operator new((c + 1) * granularity);
    --mine.count;
    return std::exchange(mine.first, mine.first->next);
  }

  static void release(void* memory, std::size_t size) noexcept {
    const std::size_t c = size_class(size);
    if (c >= classes || frames_from_heap) return ::operator delete(memory);
    lists& mine = of_this_thread().lists_[c];
    if (mine.count >= list_length && !make_room(mine, c)) return ::operator delete(memory);
    mine.first = ::new (memory) node{mine.first, nullptr};
    ++mine.count;
  }

  /// Returns the frames that the calling thread and the depot keep to the heap; for programs that measure
  /// memory.
  static void trim() noexcept {
    frame_pool& mine = of_this_thread();
    for (std::size_t c = 0; c < classes; ++c) {
      lists& l = mine.lists_[c];
      if (l.count != closed) l.count = 0;
      drop(std::exchange(l.first, nullptr));
      drop(std::exchange(l.full, nullptr));
      while (node* const list = depot::take(c)) drop(list);
    }
  }

 private:
  struct node {
    node* next;
    node* next_list;  // used in the first node of a list in the depot
  };
  struct lists {
    node* first = nullptr;  // `count` nodes
    std::size_t count = 0;
    node* full = nullptr;  // list_length nodes, or null
  };
  static constexpr std::size_t granularity = 64;
  static constexpr std::size_t classes = 32;  // up to 2 KiB
  static constexpr std::size_t list_length = 64, closed = ~std::size_t{0};

  static constexpr std::size_t size_class(std::size_t size) noexcept { return (size - 1) / granularity; }

  class depot {
   public:
    static node* take(std::size_t c) noexcept {
      depot& d = all()[c];
      if (!d.mutex_.try_lock()) return nullptr;
      node* const list = d.first_;
      if (list != nullptr) {
        d.first_ = list->next_list;
        --d.count_;
      }
      d.mutex_.unlock();
      return list;
    }
    static bool give(std::size_t c, node* list) noexcept {
      depot& d = all()[c];
      if (!d.mutex_.try_lock()) return false;
      const bool room = d.count_ * list_length * (c + 1) * granularity < (std::size_t{1} << 20);
      if (room) {
        list->next_list = std::exchange(d.first_, list);
        ++d.count_;
      }
      d.mutex_.unlock();
      return room;
    }

   private:
    static std::array<depot, classes>& all() noexcept {
      static constinit std::array<depot, classes> depots;
      return depots;
    }
    std::mutex mutex_;
    node* first_ = nullptr;
    std::size_t count_ = 0;
  };

  [[gnu::noinline]] static bool refill(lists& mine, std::size_t c) noexcept {
    if (mine.count == closed) return false;
    mine.first = mine.full != nullptr ? std::exchange(mine.full, nullptr) : depot::take(c);
    if (mine.first == nullptr) return false;
    mine.count = list_length;
    return true;
  }
  [[gnu::noinline]] static bool make_room(lists& mine, std::size_t c) noexcept {
    if (mine.count == closed || (mine.full != nullptr && !depot::give(c, mine.full))) return false;
    mine.full = std::exchange(mine.first, nullptr);
    mine.count = 0;
    return true;
  }

  constexpr frame_pool() noexcept = default;
  static void drop(node* list) noexcept {
    while (list != nullptr) ::operator delete(std::exchange(list, list->next));
  }
  void close() noexcept {
    for (lists& l : lists_) {
      drop(std::exchange(l.first, nullptr));
      drop(std::exchange(l.full, nullptr));
      l.count = closed;
    }
  }
  struct at_thread_end {
    frame_pool& pool;
    ~at_thread_end() { pool.close(); }
  };
  [[gnu::noinline]] static frame_pool& of_this_thread() noexcept {
    // The pool itself has no destructor: a static object may free frames after this thread's locals are gone.
    thread_local frame_pool pool;
    thread_local const at_thread_end closer{pool};
    return pool;
  }

  std::array<lists, classes> lists_{};
};

/// A promise that derives from this takes its frame from the pool.
struct pooled_frame {
  static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept { frame_pool::release(memory, size); }
};

}  // namespace wick::detail
