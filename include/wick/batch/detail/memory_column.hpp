// The column of a field with one shape: samples are written into their slots of one block of memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <wick/base/detail/fetch_to_write.hpp>
#include <wick/batch/detail/column.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// A column of values of a fixed shape. The first sample to arrive sets the shape and allocates the memory.
template <class T, class Output>
class memory_column {
 public:
  using output = decltype(Output::make(slab{}, column_description{}));

  void begin(std::size_t n, layout order, const std::shared_ptr<slab_pool>& pool, std::size_t number = 0) {
    number_ = number;
    if (pool_ != pool) pool_ = pool;  // assigning the same pool would cost two atomics
    capacity_ = n;
    // Reset everything: a batch without samples always has the same description.
    about_ = column_description();
    about_.order = order;
    about_.picture = is_picture<T>;
    if constexpr (!batchable<T>) {
      fixed_array<T>::append(about_.each);
      about_.type = dtype_of<typename fixed_array<T>::element>();
    }
    base_.store(nullptr, std::memory_order_relaxed);
    misfits_.clear();
  }

  /// Any thread, each slot once.
  void put(std::size_t i, T&& value) {
    if constexpr (batchable<T>) {
      decltype(auto) each = field_access<T>::extents(value);
      const dtype type = field_access<T>::type(value);
      if (std::byte* at = place(i, each, type)) {
        field_access<T>::write_to(value, slot{at, about_.order == layout::nchw});
      } else {
        // Write it anyway: a value that fails must fail whichever sample came first.
        std::vector<std::byte> scratch(static_cast<std::size_t>(each.count()) * size_of(type));
        field_access<T>::write_to(value, slot{scratch.data(), about_.order == layout::nchw});
      }
    } else {
      std::byte* base = base_.load(std::memory_order_acquire);
      if (base == nullptr) base = begin_memory();
      std::memcpy(base + i * sizeof(T), &value, sizeof(T));
    }
  }

  /// The misfit in the lowest slot, compared to the lowest slot of all, whichever sample came first.
  /// `failed` rises.
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const {
    if (misfits_.empty()) return std::nullopt;
    std::vector<std::pair<std::size_t, what>> all = misfits_;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto known = [&](std::size_t i) {
      for (const auto& m : all) {
        if (m.first == i) return m.second;
      }
      return what{about_.each, about_.type};
    };
    std::size_t lowest = 0;
    while (std::binary_search(failed.begin(), failed.end(), lowest)) ++lowest;
    const what wanted = known(lowest);
    for (std::size_t i = lowest + 1; i < n; ++i) {
      if (std::binary_search(failed.begin(), failed.end(), i)) continue;
      const what found = known(i);
      if (found.each == wanted.each && found.type == wanted.type) continue;
      return misfit{i, "shape " + to_string(found.each) + " of " + std::string(to_string(found.type)) +
                           " in a batch whose first sample has " + to_string(wanted.each) + " of " +
                           std::string(to_string(wanted.type)) +
                           "; bring all to one shape before batch() (resize, crop, pad), or use group()"};
    }
    return std::nullopt;
  }

  /// Before a slot is written again: drops its earlier misfit. Any thread.
  void forget(std::size_t i) {
    std::lock_guard lock(mutex_);
    std::erase_if(misfits_, [i](const auto& m) { return m.first == i; });
  }
  // The functions below are called after the last write.

  /// Whether samples were left out because one that failed later had set the shape of a slot: first_misfit()
  /// finds no fault with them, and all have to be made again.
  bool stale(const std::vector<std::size_t>& failed) const {
    return std::any_of(misfits_.begin(), misfits_.end(), [&](const auto& m) {
      return !std::binary_search(failed.begin(), failed.end(), m.first);
    });
  }
  void close(const std::vector<std::size_t>& gaps, std::size_t n) noexcept {
    std::byte* const base = base_.load(std::memory_order_relaxed);
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      const std::size_t from = gaps[g] + 1, to = g + 1 < gaps.size() ? gaps[g + 1] : n;
      if (from < to)
        std::memmove(base + (from - g - 1) * stride_, base + from * stride_, (to - from) * stride_);
    }
  }
  /// Shape and type of a sample.
  void describe(fingerprint_hash& to) const noexcept {
    to.add(static_cast<std::uint64_t>(about_.type));
    for (const std::int64_t e : about_.each) to.add(static_cast<std::uint64_t>(e));
  }
  /// The bytes of one sample, mixed into `seed`.
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    return content_of(base_.load(std::memory_order_relaxed) + i * stride_, stride_, seed);
  }

  /// All slots below `n` have been written.
  output finish(std::size_t n) {
    about_.count = static_cast<std::int64_t>(n);
    if (n == 0) memory_ = pool_->acquire(1, number_);
    const std::size_t bytes = n * stride_;  // labels are read at once, images from their beginning on
    prefetch_bytes(memory_.data(), bytes, bytes <= few_bytes ? few_bytes : 64);
    return Output::make(std::move(memory_), about_);
  }
  void seal(std::size_t) noexcept {}
  void drop() noexcept { memory_.reset(); }

 private:
  // The most bytes in a column of labels. All of its lines are prefetched together, by the worker that
  // writes them and by the consumer: one at a time, each would stall.
  static constexpr std::size_t few_bytes = 4096;
  struct what {
    shape each;
    dtype type;
  };

  std::byte* place(std::size_t i, const shape& each, dtype type) {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = begin_memory(each, type);
    if (about_.type != type || !(about_.each == each)) {
      std::lock_guard lock(mutex_);
      misfits_.push_back({i, what{each, type}});
      return nullptr;
    }
    return base + i * stride_;
  }

  /// The first sample to arrive sets the shape of a slot.
  [[gnu::noinline]] std::byte* begin_memory(const shape& each, dtype type) {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    about_.each = each;
    about_.type = type;
    return acquire();
  }
  /// begin() has set the shape of a slot, and no thread changes it anymore: it may be read without the mutex.
  [[gnu::noinline]] std::byte* begin_memory() {
    std::lock_guard lock(mutex_);
    if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
    return acquire();
  }
  std::byte* acquire() {
    stride_ = static_cast<std::size_t>(about_.each.count()) * size_of(about_.type);
    memory_ = pool_->acquire(capacity_ * stride_, number_);
    if (capacity_ * stride_ <= few_bytes) fetch_to_write(memory_.data(), capacity_ * stride_);
    base_.store(memory_.data(), std::memory_order_release);
    return memory_.data();
  }

  std::atomic<std::byte*> base_{nullptr};
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0, number_ = 0;
  column_description about_;
  slab memory_;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, what>> misfits_;
  std::shared_ptr<slab_pool> pool_;
};

}  // namespace wick::detail
