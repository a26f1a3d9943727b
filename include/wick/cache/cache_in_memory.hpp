// cache_in_memory(): stages before it run once for each sample, stages after it run in every epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/cloning.hpp>
#include <wick/cache/detail/keeping.hpp>
#include <wick/cache/detail/memory_cache.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

/// Options of cache_in_memory().
struct cache_in_memory_options {
  /// The most bytes that it keeps. Default: the caches of all ranks of the machine share a quarter of its
  /// memory (or of the control group's) equally, and so do the loaders of a rank, first come, first served.
  std::optional<std::size_t> bytes = {};
  /// Lets stages before it draw random numbers. A sample then has the same numbers in any epoch and with any
  /// seed.
  bool freeze_random = false;
};

namespace detail {

/// Each loader has a cache of its own.
class cache_in_memory_stage {
 public:
  static constexpr stage_traits traits{.name = "cache_in_memory",
                                       .kind = stage_kind::sample,
                                       .has_note = true,
                                       .has_check = true,
                                       .has_refresh = true,
                                       .caches = true};
  bool frozen() const noexcept { return options_.freeze_random; }

  /// \throws wick::error for a cache of 0 bytes
  explicit cache_in_memory_stage(const cache_in_memory_options& options) : options_(options) {
    check_bytes(options.bytes, traits.name);
  }

  /// The kept sample, or null.
  template <class Item>
  const Item* find(const context& c) const noexcept {
    const auto* const found = cache_ == nullptr ? nullptr : cache_->find(c.index(), lane_of(c));
    return found == nullptr ? nullptr : &static_cast<const memory_cache::kept<Item>*>(found)->item;
  }
  /// Keeps a sample that wasn't kept before, if there is room.
  template <class Item>
  Item operator()(Item item, context& c) const {
    comes_to_cache(c, options_.freeze_random, traits.name);
    detail::settle(item);
    if (cache_ == nullptr) return item;  // no loader: a test calls it
    const std::size_t bytes = sizeof(memory_cache::kept<Item>) + detail::bytes_beside(item);
    if (!cache_->reserve(bytes)) return item;
    try {
      owned<memory_cache::entry> kept(new memory_cache::kept<Item>(cloning<Item>::of(item)));
      cache_->add(c.index(), std::move(kept), bytes);
    } catch (const std::bad_alloc&) {  // the sample itself is fine; the next epoch makes it again
      cache_->give_back(bytes);
    } catch (...) {
      cache_->give_back(bytes);
      throw;
    }
    return item;
  }

  /// Starts with an empty cache, because a changed source has other samples.
  template <class Source>
  void refresh(const Source& source) {
    cache_ = std::make_shared<memory_cache>(detail::samples_of(source), options_.bytes);
  }
  std::string note() const { return cache_ == nullptr ? std::string() : cache_->note(); }

  template <class Came, class... Before>
  static consteval bool check() {
    if constexpr (!cache_fits<Before...>()) {
      return false;  // the compiler has reported it
    } else {
      constexpr bool copied = cloning<Came>::possible;
      static_assert(
          copied,
          "wick: cache_in_memory() needs a copy of each sample, and the item ('Came', in the lines beside "
          "this) can't be copied; give it `Came clone() const`");
      return copied;
    }
  }

 private:
  cache_in_memory_options options_;
  std::shared_ptr<memory_cache> cache_;
};

}  // namespace detail

/// Keeps each sample as it is here, so that the stages before it run once for each sample, and the stages
/// after it in every epoch: `folder | shuffle() | read() | decode() | resize({.max_size = 320}) |
/// cache_in_memory() | random_resized_crop(224) | batch(256)`. After read() it keeps files, after decode()
/// pixels, and after a resize() the pixels of that size, as uint8. Only the stages before it decide how an
/// image is decoded, in the first epoch, too, so batches are the same whatever it keeps. If the samples
/// don't fit, it keeps a fixed part of them. Its memory isn't part of loader_options::memory.
/// loader.refresh() empties it. The report says how many samples come from it. \throws wick::error for a
/// sample when a stage before it draws random numbers, which would be the same in every epoch
detail::cache_in_memory_stage cache_in_memory(const cache_in_memory_options& options = {});

}  // namespace wick
