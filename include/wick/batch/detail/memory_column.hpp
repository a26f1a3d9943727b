// The column of a field with one shape: samples are written into their slots of one block of memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <wick/batch/detail/column.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/detail/slab.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// The memory of a column: everything that doesn't depend on the type of its values.
class column_memory {
 public:
  /// The misfit in the lowest slot, compared to the lowest slot of all, whichever sample came first.
  /// `failed` rises.
  std::optional<misfit> first_misfit(std::size_t n, const std::vector<std::size_t>& failed) const;
  /// Before a slot is written again: drops its earlier misfit. Any thread.
  void forget(std::size_t i);
  // The functions below are called after the last write.

  /// Whether samples were left out because one that failed later had set the shape of a slot: first_misfit()
  /// finds no fault with them, and all have to be made again.
  bool stale(const std::vector<std::size_t>& failed) const;
  void close(const std::vector<std::size_t>& gaps, std::size_t n) noexcept;
  /// Shape and type of a sample.
  void describe(fingerprint_hash& to) const noexcept;
  /// The bytes of one sample, mixed into `seed`.
  std::uint64_t content(std::size_t i, std::uint64_t seed) const noexcept {
    return content_of(base_.load(std::memory_order_relaxed) + i * stride_, stride_, seed);
  }
  void seal(std::size_t) noexcept {}
  void drop() noexcept { memory_.reset(); }

 protected:
  /// Resets everything: a batch without samples always has the same description.
  void begin(std::size_t n, const column_description& about, const std::shared_ptr<slab_pool>& pool,
             std::size_t number);
  /// The slot of a value; null if its shape isn't that of the first sample to arrive. Any thread.
  std::byte* place(std::size_t i, const shape& each, dtype type) {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = acquire(each, type);
    if (about_.type != type || !(about_.each == each)) {
      note_misfit(i, each, type);
      return nullptr;
    }
    return base + i * stride_;
  }
  /// The slot of a value of `bytes` bytes, whose shape begin() has set: no thread changes it anymore, and it
  /// may be read without the mutex.
  std::byte* place(std::size_t i, std::size_t bytes) {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base == nullptr) base = acquire();
    return base + i * bytes;
  }
  bool planar() const noexcept { return about_.order == layout::nchw; }
  /// All slots below `n` have been written.
  slab take(std::size_t n);
  const column_description& about() const noexcept { return about_; }

 private:
  struct what {
    shape each;
    dtype type;
  };
  std::byte* acquire(const shape& each, dtype type);
  std::byte* acquire();
  std::byte* acquire_locked();
  void note_misfit(std::size_t i, const shape& each, dtype type);

  std::atomic<std::byte*> base_{nullptr};
  std::size_t stride_ = 0;
  std::size_t capacity_ = 0, number_ = 0;
  column_description about_;
  slab memory_;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, what>> misfits_;
  std::shared_ptr<slab_pool> pool_;
};

/// A column of values of a fixed shape. The first sample to arrive sets the shape and allocates the memory.
template <class T, class Output>
class memory_column : public column_memory {
 public:
  using output = decltype(Output::make(slab{}, column_description{}));

  void begin(std::size_t n, layout order, const std::shared_ptr<slab_pool>& pool, std::size_t number = 0) {
    column_description about;
    about.order = order;
    about.picture = is_picture<T>;
    if constexpr (!batchable<T>) {
      fixed_array<T>::append(about.each);
      about.type = dtype_of<typename fixed_array<T>::element>();
    }
    column_memory::begin(n, about, pool, number);
  }

  /// Any thread, each slot once.
  void put(std::size_t i, T&& value) {
    if constexpr (batchable<T>) {
      decltype(auto) each = field_access<T>::extents(value);
      const dtype type = field_access<T>::type(value);
      if (std::byte* at = place(i, each, type)) {
        field_access<T>::write_to(value, slot{at, planar()});
      } else {
        // Write it anyway: a value that fails must fail whichever sample came first.
        std::vector<std::byte> scratch(static_cast<std::size_t>(each.count()) * size_of(type));
        field_access<T>::write_to(value, slot{scratch.data(), planar()});
      }
    } else {
      std::memcpy(place(i, sizeof(T)), &value, sizeof(T));
    }
  }

  output finish(std::size_t n) {
    slab memory = take(n);
    return Output::make(std::move(memory), about());
  }
};

}  // namespace wick::detail
