// cache_on_disk(): the stages before it run once for each sample, for all processes of a machine and all
// their runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/async/task.hpp>
#include <wick/cache/detail/disk_cache.hpp>
#include <wick/cache/detail/keeping.hpp>
#include <wick/cache/detail/origin.hpp>
#include <wick/cache/detail/saving.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

/// Options of cache_on_disk().
struct cache_on_disk_options {
  /// The most bytes that the folder takes. Default: half of what the file system has free.
  std::optional<std::uint64_t> bytes = {};
  /// The version of a callable that has no fingerprint and comes before the cache. Give another number when
  /// its code changes, and all samples are made again.
  std::uint64_t version = 0;
  /// Lets stages before it draw random numbers. A sample then has the same numbers in any epoch and with any
  /// seed.
  bool freeze_random = false;
};

namespace detail {

/// The result of a lookup that may wait.
struct asked_sample {
  bool found = false;
  std::optional<bytes> all{};  ///< checked
  disk_cache::entry where{};
};

/// The coroutines that await I/O threads. They are in classes for the same reason as blocking_call.
template <class Item, class Source>
struct disk_cache_read {
  static task<std::optional<Item>> ask(disk_cache* cache, const Source* source, context* c,
                                       std::size_t reserved) {
    auto asking = c->run_blocking([cache, source, c, reserved] {
      asked_sample out;
      try {
        c->set_origin(detail::origin_of(source->at(c->index())));
        out.found = cache->look(c->index(), c->origin(), out.where);
      } catch (const std::exception&) {  // from the source, which throws again when the sample is made
        return out;
      }
      if (out.found && c->try_reserve(still_to_reserve(out.where, reserved))) read(cache, c->index(), out);
      return out;
    });
    asked_sample asked = co_await std::move(asking);
    if (asked.found && !asked.all) {
      auto room = c->reserve(still_to_reserve(asked.where, reserved));
      co_await room;
      auto reading = c->run_blocking([cache, c, &asked] { read(cache, c->index(), asked); });
      co_await std::move(reading);
    }
    cache->count(asked.found, lane_of(*c));
    std::optional<Item> out;
    if (asked.found) {
      cache_reader in(asked.all->span());
      detail::load(out.emplace(), in);
    }
    co_return out;
  }

 private:
  static std::size_t still_to_reserve(const disk_cache::entry& where, std::size_t reserved) noexcept {
    return static_cast<std::size_t>(where.length) -
           std::min(reserved, static_cast<std::size_t>(where.length));
  }
  static void read(disk_cache* cache, std::uint64_t index, asked_sample& asked) {
    asked.found = cache->read(index, asked.where, asked.all.emplace());
  }
};
template <class Item>
struct disk_cache_write {
  static task<Item> keep(Item item, context* c, disk_cache* cache) {
    // The sample is there in two forms: the item, and its bytes to write.
    auto room = c->reserve(2 * bytes_beside<false>(item));
    co_await room;
    detail::settle(item);
    if (cache == nullptr) co_return item;  // no loader: a test calls it
    cache_writer out;
    out.reserve(sizeof(Item) + detail::bytes_beside(item) + 64);
    detail::save(item, out);
    // Without an origin, the source has thrown when it was asked for it.
    if (c->origin() != 0 && cache->add(c->index(), c->origin(), out.take())) {
      auto writing = c->run_blocking([cache, c] { cache->settle(c->index()); });
      co_await std::move(writing);
    }
    co_return item;
  }
};

class cache_on_disk_stage {
 public:
  static constexpr stage_traits traits{.name = "cache_on_disk",
                                       .kind = stage_kind::sample,
                                       .has_note = true,
                                       .has_check = true,
                                       .caches = true,
                                       .lookup_suspends = true};
  bool frozen() const noexcept { return options_.freeze_random; }
  /// Reading a kept sample may wait, so the loader tries `find()` and `is_absent()`, then awaits `ask()`.

  cache_on_disk_stage(std::string folder, const cache_on_disk_options& options)
      : folder_(std::move(folder)), options_(options) {
    check_bytes(options.bytes, traits.name);
  }

  /// A loader opens the folder, and opens it again after it refreshes the source. `before`: the stages before
  /// this one.
  template <class Item, class Source>
  void open(const Source& source, fingerprint_hash before) {
    before.add(detail::fingerprint_of(source)).add(options_.version);
    describe_type<Item>(before);
    cache_ = nullptr;
    cache_ =
        std::make_shared<disk_cache>(folder_, before.value(), detail::samples_of(source), options_.bytes);
  }

  /// The kept sample, if that needs no waiting. Otherwise, `reserved` is the number of bytes that it has for
  /// ask().
  template <class Item>
  std::optional<Item> find(context& c, std::size_t& reserved) const {
    disk_cache::entry where;
    if (!cache_->find(c.index(), where) || !c.try_reserve(static_cast<std::size_t>(where.length)))
      return std::nullopt;
    reserved = static_cast<std::size_t>(where.length);
    try {
      cached_file_reader in(where);
      Item out{};
      detail::load(out, in);
      cache_->count(true, lane_of(c));
      return out;
    } catch (const cache_reader::unavailable&) {
      return std::nullopt;
    }
  }
  /// Whether the sample has to be made, if that is known without waiting.
  template <class Source>
  bool is_absent(const Source& source, context& c) const {
    try {
      const std::optional<std::uint64_t> origin = detail::origin_at_once(source.at(c.index()));
      if (!origin || !cache_->is_absent(c.index())) return false;
      c.set_origin(*origin);
    } catch (const std::exception&) {  // from the source
      return false;
    }
    cache_->count(false, lane_of(c));
    return true;
  }
  /// A sample that this or another process has kept; none if it has to be made. Awaits I/O threads.
  template <class Item, class Source>
  static task<std::optional<Item>> ask(const cache_on_disk_stage* self, const Source* source, context* c,
                                       std::size_t reserved) {
    return disk_cache_read<Item, Source>::ask(self->cache_.get(), source, c, reserved);
  }
  /// Keeps a sample that wasn't kept before, if there is room.
  template <class Item>
  task<Item> operator()(Item item, context& c) const {
    comes_to_cache(c, options_.freeze_random, traits.name);
    return disk_cache_write<Item>::keep(std::move(item), &c, cache_.get());
  }

  std::string note() const { return cache_ == nullptr ? std::string() : cache_->note(); }

  template <class Came, class... Before>
  static consteval bool check() {
    if constexpr (!cache_fits<Before...>()) {
      return false;  // the compiler has reported it
    } else {
      constexpr bool own = !holds_views<Came>();
      static_assert(
          own,
          "wick: cache_on_disk() keeps what takes work to make, and the item ('Came', in the lines "
          "beside this) is a view of an array that is in memory; leave the cache out, or write it after a "
          "stage that computes something");
      constexpr bool saved = !own || can_be_saved<Came>();
      static_assert(
          saved,
          "wick: cache_on_disk() writes numbers, strings, bytes, pictures, masks, tensors, and vectors, "
          "optionals and structs of these; the item ('Came', in the lines beside this) is none. Write the "
          "cache after "
          "another stage, or give the type `void save(wick::ext::cache_writer&) const`, `static T "
          "load(wick::ext::cache_reader&)` and `static constexpr std::string_view saved_as`");
      return own && saved;
    }
  }

 private:
  std::string folder_;
  cache_on_disk_options options_;
  std::shared_ptr<disk_cache> cache_;
};

}  // namespace detail

/// Keeps each sample as it is here in a folder, so that the stages before it run once for each sample, in
/// this run, later runs, and other processes: `folder | shuffle() | read() | decode() |
/// resize({.max_size = 320}) | cache_on_disk("/scratch/photos") | random_resized_crop(224) | batch(256)`. It
/// keeps images as uint8, not compressed. After read(), it keeps files as they are.
///
/// One folder serves any number of processes and pipelines: each source with its stages has a set of its own.
/// A sample is made again when its file has another size or time, when it is damaged on disk, or when stages
/// before it have other parameters. When the folder is full, sets that no process uses are removed, the least
/// recently used first; a set in use keeps its samples. A full disk or a killed process loses no sample:
/// those that weren't written yet (8 MiB at most, besides samples in flight) are made again.
/// \throws wick::error when the folder can't be written into; for a sample when a stage before it draws
/// random numbers, which would be the same in every epoch
detail::cache_on_disk_stage cache_on_disk(std::string folder, const cache_on_disk_options& options = {});

}  // namespace wick
