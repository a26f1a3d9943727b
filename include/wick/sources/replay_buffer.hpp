// replay_buffer: an agent's experience, as a source of samples that grows during training.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sampling/weights.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// The state that a replay_buffer shares with its views. Entry `id` is in place id % capacity, and the places
/// are in blocks. Entries that overwrite older ones begin a new block, so no entry ever moves or changes
/// under a view that has its block.
template <class T>
struct replay_store {
  using row = sample<T, std::int64_t>;
  using block = std::vector<row>;  // of a capacity that it never outgrows
  /// About 64 KiB, and at least 16 entries.
  static constexpr std::uint64_t block_size =
      std::bit_floor(std::clamp<std::uint64_t>(65536 / sizeof(row), 16, 4096));

  std::mutex mutex;  // guards all members below, but not the rows that a view has
  std::uint64_t capacity = 0;
  std::uint64_t appended = 0;
  std::vector<std::shared_ptr<block>> blocks;
  std::shared_ptr<block>
      overwritten;  // the old block that new entries are replacing, while some of its rows remain
  weights by;

  std::uint64_t size() const noexcept { return std::min(appended, capacity); }
  std::uint64_t next_place() const noexcept { return appended % capacity; }
  bool has(std::uint64_t id) const noexcept { return id < appended && appended - id <= capacity; }

  void append(T&& entry, double weight) {
    const std::uint64_t place = next_place(), number = place / block_size;
    const bool begun = number < blocks.size() && blocks[static_cast<std::size_t>(number)]->empty();
    if (place % block_size == 0 && !begun) {
      auto fresh = std::make_shared<block>();
      fresh->reserve(static_cast<std::size_t>(std::min(block_size, capacity - place)));
      if (number == blocks.size()) {
        blocks.push_back(std::move(fresh));
        overwritten.reset();
      } else {
        overwritten = std::exchange(blocks[static_cast<std::size_t>(number)], std::move(fresh));
      }
    }
    block& into = *blocks[static_cast<std::size_t>(number)];
    into.push_back({std::move(entry), static_cast<std::int64_t>(appended)});
    try {
      if (place < by.size())
        by.set(place, weight);
      else
        by.push_back(weight);
    } catch (...) {
      into.pop_back();
      throw;
    }
    ++appended;
    if ((place + 1) % block_size == 0 || place + 1 == capacity) overwritten.reset();
  }
};

/// The entries of a replay_buffer as of this view's construction or its last refresh().
template <class T>
class replay_view {
  using store = replay_store<T>;

 public:
  explicit replay_view(std::shared_ptr<store> of) : of_(std::move(of)) { static_cast<void>(refresh()); }

  std::unique_lock<std::mutex> refresh() {
    std::unique_lock lock(of_->mutex);
    blocks_.assign(of_->blocks.begin(), of_->blocks.end());
    overwritten_ = of_->overwritten;
    size_ = of_->size();
    appended_ = of_->appended;
    const std::uint64_t next = of_->next_place();
    // In the block that is being overwritten, the entries from here on are older and in `overwritten_`.
    older_from_ = overwritten_ ? next : ~std::uint64_t{0};
    older_to_ = overwritten_ ? (next / store::block_size + 1) * store::block_size : 0;
    return lock;
  }

  std::uint64_t size() const noexcept { return size_; }
  const sample<T, std::int64_t>& at(std::uint64_t i) const noexcept {
    const auto& in = i >= older_from_ && i < older_to_
                         ? overwritten_
                         : blocks_[static_cast<std::size_t>(i / store::block_size)];
    return (*in).data()[i % store::block_size];
  }
  std::string key(std::uint64_t i) const { return "entry " + std::to_string(at(i).target); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    detail::prefetch_bytes(&at(i), sizeof(sample<T, std::int64_t>), most);
  }
  /// A hash of the number of entries, now and in total. The contents don't count.
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash().add(size_).add(appended_).value(); }

 private:
  std::shared_ptr<store> of_;
  std::vector<std::shared_ptr<const typename store::block>> blocks_;
  std::shared_ptr<const typename store::block> overwritten_;
  std::uint64_t size_ = 0, appended_ = 0, older_from_ = 0, older_to_ = 0;
};

}  // namespace detail

/// The last `capacity` entries of an agent's experience, each with a weight: prioritized experience replay
/// (Schaul et al., 2016). Any thread can append entries and set weights at any time. A loader of samples()
/// sees the entries as of its construction or its last refresh(), even if more are appended meanwhile:
/// entries never move, and an overwritten entry is kept as long as a loader may ask for it. So a buffer takes
/// at most twice its capacity, plus a block of 64 KiB or 16 entries.
///
/// A batch has the entries as its `data` and their ids as its `target`, for set_weight().
template <class T>
class replay_buffer {
  using store = detail::replay_store<T>;

 public:
  /// \throws wick::error when capacity is 0
  explicit replay_buffer(std::uint64_t capacity) : store_(std::make_shared<store>()) {
    if (capacity == 0) throw error("replay_buffer: a capacity of 0 entries; give it at least one");
    store_->capacity = capacity;
  }
  replay_buffer(const replay_buffer&) = delete;
  replay_buffer& operator=(const replay_buffer&) = delete;

  /// Adds an entry, which replaces the oldest if there are already `capacity`. Returns its id: ids count up
  /// from 0. \throws wick::error for a weight that is negative or not finite, without adding the entry
  std::uint64_t append(T entry, double weight = 1) {
    const std::lock_guard lock(store_->mutex);
    store_->append(std::move(entry), weight);
    return store_->appended - 1;
  }
  /// Returns false if the entry has been overwritten meanwhile. \throws wick::error as append() does, or when
  /// there never was such an entry
  bool set_weight(std::uint64_t id, double weight) {
    const std::lock_guard lock(store_->mutex);
    if (id >= store_->appended) {
      throw error("replay_buffer: entry " + std::to_string(id) + " of " + std::to_string(store_->appended) +
                  "; ids are what append() returns, and a batch's targets");
    }
    if (!store_->has(id)) return false;
    store_->by.set(id % store_->capacity, weight);
    return true;
  }
  /// The number of entries in the buffer now.
  std::uint64_t size() const {
    const std::lock_guard lock(store_->mutex);
    return store_->size();
  }
  /// The number of entries ever appended.
  std::uint64_t appended() const {
    const std::lock_guard lock(store_->mutex);
    return store_->appended;
  }
  std::uint64_t capacity() const noexcept { return store_->capacity; }

  /// The entries as a source: `memory.samples() | weighted(memory.weights(), {.samples = 64 * 100}) |
  /// batch(64)`.
  detail::replay_view<T> samples() const { return detail::replay_view<T>(store_); }
  /// The weights of samples(), for weighted(). Set them only through append() and set_weight().
  wick::weights weights() const { return store_->by; }

 private:
  std::shared_ptr<store> store_;
};

}  // namespace wick
