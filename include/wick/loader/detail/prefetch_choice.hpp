// How far ahead samples in memory are fetched into the cache. This is tried out while the loader runs, since
// the best depth differs by a factor of two between processors.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// The number of samples ahead, and of bytes of each.
struct prefetch_depth {
  std::uint32_t samples = 0, bytes = 0;
};

/// Each run of short samples uses one of a few depths and reports how long it took. At first, all are tried
/// in turn. After that, the fastest is used, and another is tried now and then, since the data, the machine,
/// and its neighbors change. Trying costs about 0.3 % at worst. The depth changes no sample.
///
/// Any thread may call any member. Numbers are hints: if two threads learn at once, one result may be lost.
class prefetch_choice {
 public:
  /// A few lines, with the processor's own prefetching for the rest; whole samples, for cores that can wait
  /// for many lines at a time; something in between; nothing, for data that is in a cache anyway.
  static constexpr std::array<prefetch_depth, 4> all{{{4, 512}, {12, 4096}, {8, 1024}, {0, 0}}};
  static constexpr std::size_t most_samples = 12;
  /// Runs of each depth before one is preferred; after that, one run in `try_every` tries another.
  static constexpr std::uint64_t first_runs = 16, try_every = 64;

  /// The depth for a worker's next run, by its number in `all`. \param runs  the worker's number of runs so
  /// far
  std::size_t next(std::uint64_t& runs) const noexcept {
    const std::uint64_t t = runs++;
    if (t < first_runs * all.size()) return t % all.size();
    return t % try_every == 0 ? t / try_every % all.size() : best_.load(std::memory_order_relaxed);
  }
  /// Records how long a run of `count` samples took. All workers read these times, so they aren't
  /// written for small differences.
  void learn(std::size_t which, std::uint64_t count, std::uint64_t ticks) noexcept {
    if (count < least_count) return;
    const std::uint64_t before = each_[which].load(std::memory_order_relaxed);
    std::uint64_t now = ticks * parts / count + 1;
    if (before != 0 && (now < before ? before - now <= before / 32 : now - before <= before / 16)) return;
    if (before != 0) {
      // Falls faster than it rises: the best time of a run distinguishes the depths, while interrupts and
      // neighbors affect all of them.
      now = now < before ? before - (before - now) / 2 : before + std::min(now - before, before / 4) / 8;
    }
    each_[which].store(now, std::memory_order_relaxed);
    const std::size_t best = best_.load(std::memory_order_relaxed);
    for (std::size_t other = 0; other < all.size(); ++other) {
      const std::uint64_t there = each_[other].load(std::memory_order_relaxed);
      // A small gain doesn't count: the numbers scatter.
      if (there != 0 && there * 17 < each_[best].load(std::memory_order_relaxed) * 16)
        best_.store(other, std::memory_order_relaxed);
    }
  }
  std::size_t best() const noexcept { return best_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t parts = 64;        // per tick
  static constexpr std::uint64_t least_count = 16;  // so that the start of a run doesn't count for much

  std::atomic<std::size_t> best_{0};
  std::array<std::atomic<std::uint64_t>, all.size()> each_{};
};

}  // namespace wick::detail
