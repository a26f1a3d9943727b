/// \file
/// How long something took, each time: counted by size, so that little memory gives any quantile.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::inline v0_1::detail {

/// Eight bins for each power of two, so that a quantile is off by at most a sixteenth; below eight one each.
struct duration_bins {
  static constexpr std::size_t count = 46 * 8;  // up to 2^48 ticks, a day
  static std::size_t of(std::uint64_t ticks) noexcept {
    if (ticks < 8) return static_cast<std::size_t>(ticks);
    const auto power = static_cast<unsigned>(std::bit_width(ticks)) - 1;
    const std::size_t bin = (power - 2) * 8 + ((ticks >> (power - 3)) & 7);
    return bin < count ? bin : count - 1;
  }
  /// The middle of what is in it.
  static double middle(std::size_t bin) noexcept {
    if (bin < 8) return static_cast<double>(bin);
    const auto power = bin / 8 - 1;
    const double width = static_cast<double>(std::uint64_t{1} << power);
    return static_cast<double>(8 + bin % 8) * width + (width - 1) / 2;
  }
};

/// Counted by one thread, read by any; relaxed, as stage_clock.
class duration_counts {
 public:
  void add(std::uint64_t ticks) noexcept {
    std::atomic<std::uint64_t>& bin = bins_[duration_bins::of(ticks)];
    bin.store(bin.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// One that was counted as `from` is another. Of counts that are put to those by durations::with().
  void move(std::uint64_t from, std::uint64_t to) noexcept {
    const std::size_t of = duration_bins::of(from), is = duration_bins::of(to);
    if (of == is) return;
    bins_[of].store(bins_[of].load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    bins_[is].store(bins_[is].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t in(std::size_t bin) const noexcept { return bins_[bin].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, duration_bins::count> bins_{};
};

/// Several of them, put together. A value.
class durations {
 public:
  durations() : bins_(duration_bins::count) {}
  void add(const duration_counts& of) noexcept;
  void add(std::uint64_t ticks) noexcept { ++bins_[duration_bins::of(ticks)]; }
  void add(const durations& other) noexcept;
  void clear() noexcept;
  /// What has come since `before`, an earlier value of the same counts.
  durations since(const durations& before) const;
  /// These, with what duration_counts::move() has noted. The two may have been read at different moments.
  durations with(const durations& moves) const;

  bool none() const noexcept;
  std::uint64_t count() const noexcept;
  /// Ticks that the share `q` (0 … 1) of all did not exceed; between bins it is interpolated. 0 of none.
  double quantile(double q) const noexcept;
  double mean() const noexcept;
  /// As multiples of the mean, in `steps` equal steps of probability: what load_model draws from. None when
  /// they are all about the same.
  std::vector<float> multiples(std::size_t steps) const;

 private:
  std::vector<std::uint64_t> bins_;  // of move()'s notes some are below zero, in two's complement
};

}  // namespace wick::detail
