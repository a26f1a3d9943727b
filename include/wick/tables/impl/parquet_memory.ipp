// Memory that row groups reuse. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <arrow/memory_pool.h>
#include <arrow/status.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace wick::inline v0_1::detail::with_arrow {

/// Row groups are made on one thread and dropped on another, so Arrow's own pools return most of the memory
/// to the system; a third of the time then goes into clearing pages again. Large blocks stay here.
class spare_memory final : public arrow::MemoryPool {
 public:
  explicit spare_memory(arrow::MemoryPool& from) noexcept : from_(from) {}
  ~spare_memory() override { keep_at_most(0); }
  using arrow::MemoryPool::Allocate, arrow::MemoryPool::Free, arrow::MemoryPool::Reallocate;

  /// Limits the bytes that are kept here unused.
  void keep_at_most(std::size_t bytes) {
    std::vector<block> dropped;
    {
      std::lock_guard lock(mutex_);
      most_ = bytes;
      drop_beyond(dropped);
    }
    give_back(dropped);
  }

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (is_large(size, alignment)) {
      std::lock_guard lock(mutex_);
      const std::int64_t wanted = rounded(size);
      const auto found =
          std::find_if(spare_.begin(), spare_.end(), [&](const block& b) { return b.size == wanted; });
      if (found != spare_.end()) {
        *out = found->at;
        bytes_ -= static_cast<std::size_t>(wanted);
        spare_.erase(found);
        return arrow::Status::OK();
      }
    }
    return from_.Allocate(is_large(size, alignment) ? rounded(size) : size, alignment, out);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t size, std::int64_t alignment,
                           std::uint8_t** at) override {
    const bool was_large = is_large(old_size, alignment), is = is_large(size, alignment);
    if (was_large && is && rounded(old_size) == rounded(size)) return arrow::Status::OK();
    if (!was_large && !is) return from_.Reallocate(old_size, size, alignment, at);
    std::uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(size, alignment, &moved));
    std::memcpy(moved, *at, static_cast<std::size_t>(std::min(old_size, size)));
    Free(*at, old_size, alignment);
    *at = moved;
    return arrow::Status::OK();
  }
  void Free(std::uint8_t* at, std::int64_t size, std::int64_t alignment) override {
    if (!is_large(size, alignment)) return from_.Free(at, size, alignment);
    std::vector<block> dropped;
    {
      const block back{at, rounded(size)};
      std::lock_guard lock(mutex_);
      // Several groups decoded at a time may need more than fits, repeatedly in the same order. If the oldest
      // blocks were always dropped, none would be here when needed. So the returned block is dropped instead,
      // except once in 16 times, since sizes change.
      if (bytes_ + static_cast<std::size_t>(back.size) > most_ && ++beyond_ % 16 != 0) {
        dropped.push_back(back);
      } else {
        spare_.push_back(back);
        bytes_ += static_cast<std::size_t>(back.size);
        drop_beyond(dropped);
      }
    }
    give_back(dropped);
  }
  std::int64_t bytes_allocated() const override { return from_.bytes_allocated(); }
  std::int64_t max_memory() const override { return from_.max_memory(); }
  std::int64_t total_bytes_allocated() const override { return from_.total_bytes_allocated(); }
  std::int64_t num_allocations() const override { return from_.num_allocations(); }
  std::string backend_name() const override { return from_.backend_name(); }

 private:
  struct block {
    std::uint8_t* at;
    std::int64_t size;
  };
  static constexpr std::int64_t usual_alignment = 64;

  static bool is_large(std::int64_t size, std::int64_t alignment) noexcept {
    return size >= 128 << 10 && alignment == usual_alignment;
  }
  /// Rounds up to an eighth of its power of two, so that row groups of similar size use blocks of equal size.
  static std::int64_t rounded(std::int64_t size) noexcept {
    std::int64_t step = 16 << 10;
    while (step * 16 <= size) step *= 2;
    return (size + step - 1) / step * step;
  }
  void drop_beyond(std::vector<block>& dropped) {
    std::size_t count = 0;
    for (; bytes_ > most_; ++count) bytes_ -= static_cast<std::size_t>(spare_[count].size);
    const auto end = spare_.begin() + static_cast<std::ptrdiff_t>(count);
    dropped.assign(spare_.begin(), end);
    spare_.erase(spare_.begin(), end);
  }
  void give_back(const std::vector<block>& blocks) {
    for (const block& b : blocks) from_.Free(b.at, b.size, usual_alignment);
  }

  arrow::MemoryPool& from_;
  std::mutex mutex_;
  std::vector<block> spare_;  // oldest first
  std::size_t bytes_ = 0, most_ = 0, beyond_ = 0;
};

}  // namespace wick::detail::with_arrow
