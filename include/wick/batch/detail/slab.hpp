// The memory of batches: blocks from a pool, written once by the decoder, that return when the user drops
// the batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/slab_memory.hpp>

#ifdef __linux__
#include <sched.h>
#endif

namespace wick::inline v0_1::detail {

/// Ordinary memory.
class host_slab_memory final : public slab_memory {
 public:
  static constexpr std::size_t alignment = 64;
  memory_block allocate(std::size_t bytes) override {
    void* const data = ::operator new(bytes, std::align_val_t{alignment});
    return {static_cast<std::byte*>(data), data,
            [](void* context) { ::operator delete(context, std::align_val_t{alignment}); }};
  }
};

class slab_pool;

/// A block from a pool. Its destructor returns it. It keeps its pool alive, so a batch may outlive its
/// loader.
class slab {
 public:
  slab() noexcept = default;
  slab(slab&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  slab& operator=(slab&& other) noexcept {
    slab taken(std::move(other));  // returns this one's old block here, not with `other`
    std::swap(block_, taken.block_);
    return *this;
  }
  ~slab() { reset(); }
  inline std::byte* data() const noexcept;
  inline std::size_t capacity() const noexcept;
  explicit operator bool() const noexcept { return block_ != nullptr; }
  void reset() noexcept;
  /// For owners that keep a pointer and a function, as tensors do: `free(context)` returns the block. If the
  /// memory recycles its blocks, the context is the memory's own, by which it recognizes the block.
  memory_block detach() noexcept;

 private:
  friend class slab_pool;
  struct block;
  explicit slab(block* b) noexcept : block_(b) {}
  block* block_ = nullptr;
};

/// Keeps free blocks of recently requested sizes. Among free blocks of exactly the requested size, a request
/// gets one last used on the same processor, since that is in its cache, else the one returned last. Without
/// one of that size, it gets the smallest block that is at most twice as large. If there is none, but one
/// that is too small by at most half, a new block replaces that one: with changing batch sizes, the pool ends
/// up with as many blocks as are in use at a time. Any thread.
class slab_pool : public std::enable_shared_from_this<slab_pool> {
 public:
  /// \param keep the most free blocks to keep. kept_at_most() also limits their bytes
  /// \param ahead how many blocks are allocated on a user's first request: as many as it uses at a time, so
  ///   that nothing is allocated later
  /// \param most the limit for small blocks; see cheap_blocks()
  explicit slab_pool(std::shared_ptr<slab_memory> memory, std::size_t keep, std::size_t ahead = 1,
                     std::size_t most = 1);
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;
  ~slab_pool();

  /// The number of blocks that take up 16 MiB, but at least `least` and at most `most`.
  static std::size_t cheap_blocks(std::size_t bytes, std::size_t least, std::size_t most) noexcept {
    return std::clamp(cheap / std::max(bytes, std::size_t{1}), least, most);
  }

  /// `user` is a small number that identifies a user (a column of a batch): each has its own blocks in use.
  /// \throws std::bad_alloc
  slab acquire(std::size_t bytes, std::size_t user = 0);
  /// After the last request: frees all free blocks, and each block as it returns. A batch that outlives its
  /// loader keeps only its own memory.
  void close() noexcept;
  /// How many blocks were ever allocated: constant once the pipeline is warm, unless the memory recycles
  /// blocks itself.
  std::uint64_t allocations() const noexcept;
  /// The sum of the largest sizes that each user has requested.
  std::size_t bytes_asked() const noexcept { return bytes_asked_.load(std::memory_order_relaxed); }
  /// Bytes of all blocks, in use or kept, except detached ones if the memory recycles blocks.
  std::size_t bytes() const noexcept;
  /// The most bytes that free blocks may take: 16 MiB, plus each user's largest recently requested size
  /// times its blocks in use at a time.
  std::size_t kept_at_most() const noexcept;

 private:
  friend class slab;
  static constexpr std::size_t cheap = std::size_t{16} << 20;
  /// The pool forgets a size one to two periods of this many acquisitions after its last request.
  static constexpr std::uint64_t period = 256;

  struct range {
    std::size_t smallest = ~std::size_t{0}, largest = 0;
    bool has(std::size_t bytes) const noexcept { return smallest <= bytes && bytes <= largest; }
    /// Whether a block of this size may serve a request for a size in the range.
    bool uses(std::size_t capacity) const noexcept { return smallest <= capacity && capacity / 2 <= largest; }
  };
  struct demand {
    range now, before;  // in this period and in the previous one
    std::size_t largest_ever = 0;
  };

  /// The caller's processor; -1 if the system doesn't say. A hint: the thread may move at any time.
  static int this_processor() noexcept {
#ifdef __linux__
    return ::sched_getcpu();
#else
    return -1;
#endif
  }
  bool note(std::size_t bytes, std::size_t user, slab::block*& gone);
  void next_period(slab::block*& gone) noexcept;
  void measure_window() noexcept;
  slab::block* find(std::size_t bytes) noexcept;
  slab::block* make(std::size_t bytes);
  void give_up_smaller(std::size_t bytes, slab::block*& gone) noexcept;
  void note_lent();
  [[nodiscard]] std::shared_ptr<slab_pool> note_returned() noexcept;
  void put(slab::block* b) noexcept;
  void hand_over(const slab::block* b) noexcept;
  void remove(std::size_t i, slab::block*& gone) noexcept;
  static void free_all(slab::block* gone) noexcept;

  const std::shared_ptr<slab_memory> memory_;
  const bool recycles_;
  const std::size_t keep_, ahead_, most_;
  mutable std::mutex mutex_;
  std::vector<slab::block*> free_;  // oldest first
  std::vector<demand> users_;
  std::uint64_t asked_ = 0;  // requests in this period
  std::atomic<std::size_t> bytes_asked_{0};
  std::uint64_t allocations_ = 0;
  std::size_t bytes_ = 0, free_bytes_ = 0;
  std::size_t window_bytes_ = 0;
  // One reference for all blocks in use: a count in each would move between processors with it.
  std::size_t out_ = 0;
  bool closed_ = false;
  std::shared_ptr<slab_pool> self_;  // while any block is in use
};

struct slab::block {
  memory_block memory;
  std::size_t capacity;
  slab_pool* pool;        // stays alive while the block is in use
  int processor = -1;     // of the last request for it
  block* next = nullptr;  // in a list to be freed
};

inline std::byte* slab::data() const noexcept { return block_ ? block_->memory.data : nullptr; }
inline std::size_t slab::capacity() const noexcept { return block_ ? block_->capacity : 0; }

}  // namespace wick::detail
