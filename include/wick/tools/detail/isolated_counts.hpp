/// \file
/// What has come of the samples that benchmark() runs: how many, how fast, and what failed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/failures/failure_log.hpp>

namespace wick::inline v0_1::detail {

/// Workers add, the thread that measures looks.
class isolated_counts {
 public:
  explicit isolated_counts(std::size_t walks) : lines_(walks), walks_(walks) {}

  /// A walk, one at a time: so many samples ended, and of these so many came through.
  void add(std::size_t walk, std::uint64_t ended, std::uint64_t good) noexcept {
    line& mine = lines_[walk];
    mine.good.store(mine.good.load(std::memory_order_relaxed) + good, std::memory_order_relaxed);
    mine.ended.store(mine.ended.load(std::memory_order_relaxed) + ended, std::memory_order_relaxed);
  }
  std::uint64_t good() const noexcept { return sum(&line::good); }
  std::uint64_t ended() const noexcept { return sum(&line::ended); }

  /// A batch was made.
  void made_batch() noexcept {
    std::uint64_t none = 0;
    first_batch_.compare_exchange_strong(none, now_ticks(), std::memory_order_relaxed);
  }
  /// Seconds from the beginning to the first batch; below 0: there was none.
  double first_batch() const noexcept;
  /// Lets it run on until a sample has ended (but no longer than `patience`, of which that is taken away) and
  /// for some seconds from then on. Samples a second, in the later part of these; below 0: none.
  double watch(double seconds, double& patience) const;
  /// The same over all the time there was.
  double of_all() const noexcept;

 private:
  struct alignas(64) line {
    std::atomic<std::uint64_t> good{0}, ended{0};
  };
  std::uint64_t sum(std::atomic<std::uint64_t> line::*of) const noexcept {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < walks_; ++i) out += (lines_[i].*of).load(std::memory_order_relaxed);
    return out;
  }

  owned<line[]> lines_;
  const std::size_t walks_;
  std::atomic<std::uint64_t> first_batch_{0};
  std::uint64_t begun_ = now_ticks();
  tick_scale scale_;
};

/// Failures of any thread: all are counted, the first ones kept, of one sample in one stage one.
class isolated_failures {
 public:
  static constexpr std::size_t most = 10;
  void add(failure_log_entry e) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  std::vector<failure_log_entry>& entries() noexcept { return entries_; }
  /// One of a batch as a whole; null where there is none.
  const failure_log_entry* of_batches() const noexcept;

 private:
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::vector<failure_log_entry> entries_;
};

/// What a run gave.
struct isolated_result {
  double samples = 0;       ///< a second
  double first_batch = -1;  ///< seconds; below 0: none was made
};

}  // namespace wick::detail
