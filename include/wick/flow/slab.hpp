/// \file
/// The memory of batches: blocks that come from a pool, are written once by the decoder, and return when the user
/// drops the batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace wick {

/// Where blocks come from: ordinary memory here, pinned memory in torch/. May be called from any thread.
class slab_memory {
 public:
  virtual ~slab_memory() = default;
  /// \throws std::bad_alloc
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;
};

class host_slab_memory final : public slab_memory {
 public:
  static constexpr std::size_t alignment = 64;
  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
  }
  void release(std::byte* data, std::size_t) noexcept override { ::operator delete(data, std::align_val_t{alignment}); }
};

class slab_pool;

/// One block, out of its pool. Dropping it gives it back; it keeps its pool alive, so a batch may outlive its loader.
class slab {
 public:
  slab() noexcept = default;
  slab(slab&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  slab& operator=(slab&& other) noexcept {
    slab taken(std::move(other));  // what this held goes back here, not with `other`
    std::swap(block_, taken.block_);
    return *this;
  }
  ~slab() { reset(); }
  inline std::byte* data() const noexcept;
  inline std::size_t capacity() const noexcept;
  explicit operator bool() const noexcept { return block_ != nullptr; }
  inline void reset() noexcept;

  struct block;
  /// For owners that keep a plain pointer: give_back(release()) does what dropping does.
  block* release() noexcept { return std::exchange(block_, nullptr); }
  static void give_back(block* b) noexcept { slab dropped(b); }

 private:
  friend class slab_pool;
  explicit slab(block* b) noexcept : block_(b) {}
  block* block_ = nullptr;
};

/// Keeps blocks of recent sizes. Who asks gets one that was last asked for on the same processor if there is one, since
/// that lies in its cache, else the one that was returned last. Any thread.
class slab_pool : public std::enable_shared_from_this<slab_pool> {
 public:
  /// \param keep how many free blocks are kept at most
  /// \param ahead how many blocks are allocated when a user asks for a size for the first time: as many as it will have
  ///   out at a time, so that nothing is allocated later
  /// \param most so many at most where they are small: see cheap_blocks()
  explicit slab_pool(std::shared_ptr<slab_memory> memory, std::size_t keep, std::size_t ahead = 1, std::size_t most = 1)
      : memory_(std::move(memory)), keep_(keep), ahead_(ahead), most_(std::max(ahead, most)) {
    free_.reserve(keep_);
  }
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;
  inline ~slab_pool();

  /// So many blocks as take up 16 MiB, but at least `least`, at most `most`.
  static std::size_t cheap_blocks(std::size_t bytes, std::size_t least, std::size_t most) noexcept {
    return std::clamp((std::size_t{16} << 20) / std::max(bytes, std::size_t{1}), least, most);
  }

  /// `user`, a small number, tells apart who asks (the columns of a batch), since each will have as many blocks out.
  /// \throws std::bad_alloc
  inline slab acquire(std::size_t bytes, std::size_t user = 0);
  /// How many blocks were ever allocated: constant once the pipeline is warm.
  std::uint64_t allocations() const noexcept {
    std::lock_guard lock(mutex_);
    return allocations_;
  }
  /// Bytes of the largest block that each user has asked for, together.
  std::size_t bytes_asked() const noexcept { return bytes_asked_.load(std::memory_order_relaxed); }
  /// Bytes of all blocks there are, in use or kept.
  std::size_t bytes() const noexcept {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  friend class slab;
  static constexpr std::size_t max_asked = 64;
  /// Where the caller runs; -1 where the system doesn't say. A hint: it may be moved at any time.
  static int this_processor() noexcept {
#ifdef __linux__
    return ::sched_getcpu();
#else
    return -1;
#endif
  }
  inline slab::block* find(std::size_t bytes) noexcept;
  inline void put(slab::block* b) noexcept;
  inline void destroy(slab::block* b) noexcept;

  const std::shared_ptr<slab_memory> memory_;
  const std::size_t keep_, ahead_, most_;
  mutable std::mutex mutex_;
  std::vector<slab::block*> free_;
  std::vector<std::pair<std::size_t, std::size_t>> asked_;  // bytes, user
  std::vector<std::size_t> largest_;  // bytes, of each user
  std::atomic<std::size_t> bytes_asked_{0};
  std::uint64_t allocations_ = 0;
  std::size_t bytes_ = 0;
};

struct slab::block {
  std::byte* data;
  std::size_t capacity;
  std::shared_ptr<slab_pool> pool;  // set while the block is out
  int processor = -1;               // where it was asked for last
};

inline std::byte* slab::data() const noexcept { return block_ ? block_->data : nullptr; }
inline std::size_t slab::capacity() const noexcept { return block_ ? block_->capacity : 0; }
inline void slab::reset() noexcept {
  if (block* b = std::exchange(block_, nullptr)) {
    const std::shared_ptr<slab_pool> pool = std::move(b->pool);
    pool->put(b);
  }
}

inline slab::block* slab_pool::find(std::size_t bytes) noexcept {
  const int here = this_processor();
  std::size_t best = free_.size();
  bool fits = false;
  for (std::size_t i = free_.size(); i-- > 0;) {
    const std::size_t capacity = free_[i]->capacity;
    if (capacity == bytes) {
      if (!fits) best = i;
      fits = true;
      if (free_[i]->processor != here) continue;
      best = i;
      break;
    }
    if (best == free_.size() && capacity > bytes && capacity / 2 <= bytes) best = i;
  }
  if (best == free_.size()) return nullptr;
  slab::block* const b = free_[best];
  b->processor = here;
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
  return b;
}

inline slab slab_pool::acquire(std::size_t bytes, std::size_t user) {
  if (bytes == 0) bytes = 1;
  std::size_t wanted = 1;
  {
    std::lock_guard lock(mutex_);
    if (user >= largest_.size()) largest_.resize(user + 1);
    if (bytes > largest_[user]) {
      bytes_asked_.fetch_add(bytes - std::exchange(largest_[user], bytes), std::memory_order_relaxed);
    }
    const std::pair<std::size_t, std::size_t> asked{bytes, user};
    if (std::find(asked_.begin(), asked_.end(), asked) == asked_.end() && asked_.size() < max_asked) {
      asked_.push_back(asked);
      wanted = cheap_blocks(bytes, ahead_, most_);
    }
    if (wanted == 1) {
      if (slab::block* const b = find(bytes)) {
        b->pool = shared_from_this();
        return slab(b);
      }
    }
  }
  slab first;
  for (std::size_t i = 0; i < wanted; ++i) {
    auto made = std::make_unique<slab::block>(slab::block{nullptr, bytes, shared_from_this()});
    made->data = memory_->allocate(bytes);
    {
      std::lock_guard lock(mutex_);
      ++allocations_;
      bytes_ += bytes;
    }
    if (i == 0) made->processor = this_processor();
    slab one(made.release());  // all but the first go straight back
    if (i == 0) first = std::move(one);
  }
  return first;
}

inline void slab_pool::put(slab::block* b) noexcept {
  std::unique_lock lock(mutex_);
  if (keep_ == 0) return destroy(b);
  if (free_.size() == keep_) {  // the oldest goes: sizes that are no longer asked for don't stay for ever
    slab::block* const oldest = free_.front();
    free_.erase(free_.begin());
    destroy(oldest);
  }
  free_.push_back(b);
}

inline void slab_pool::destroy(slab::block* b) noexcept {
  bytes_ -= b->capacity;
  memory_->release(b->data, b->capacity);
  delete b;
}

inline slab_pool::~slab_pool() {
  for (slab::block* b : free_) destroy(b);
}

}  // namespace wick
