// Durations counted in bins by size, so that any quantile takes little memory.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wick::inline v0_1::detail {

/// Eight bins for each power of two, so a quantile is off by at most a sixteenth; below eight, one bin each.
struct duration_bins {
  static constexpr std::size_t count = 46 * 8;  // up to 2^48 ticks, a day
  static std::size_t of(std::uint64_t ticks) noexcept {
    if (ticks < 8) return static_cast<std::size_t>(ticks);
    const auto power = static_cast<unsigned>(std::bit_width(ticks)) - 1;
    const std::size_t bin = (power - 2) * 8 + ((ticks >> (power - 3)) & 7);
    return bin < count ? bin : count - 1;
  }
  /// The middle of a bin.
  static double middle(std::size_t bin) noexcept {
    if (bin < 8) return static_cast<double>(bin);
    const auto power = bin / 8 - 1;
    const double width = static_cast<double>(std::uint64_t{1} << power);
    return static_cast<double>(8 + bin % 8) * width + (width - 1) / 2;
  }
};

/// Written by one thread, read by any; relaxed, like stage_clock.
class duration_counts {
 public:
  void add(std::uint64_t ticks) noexcept {
    std::atomic<std::uint64_t>& bin = bins_[duration_bins::of(ticks)];
    bin.store(bin.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Recounts a duration from `from` to `to`. For counts of corrections, which durations::with() applies.
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

/// The sum of several duration_counts. A value.
class durations {
 public:
  durations() : bins_(duration_bins::count) {}
  void add(const duration_counts& of) noexcept;
  void add(std::uint64_t ticks) noexcept { ++bins_[duration_bins::of(ticks)]; }
  void add(const durations& other) noexcept;
  void clear() noexcept;
  /// The durations added since `before`, an earlier value of the same counts.
  durations since(const durations& before) const;
  /// These, corrected by duration_counts::move(). The two may have been read at different moments.
  durations with(const durations& moves) const;

  bool none() const noexcept;
  std::uint64_t count() const noexcept;
  /// The ticks that the share `q` (0 … 1) of all durations doesn't exceed, interpolated within a bin; 0 if
  /// empty.
  double quantile(double q) const noexcept;
  double mean() const noexcept;
  /// Quantiles as multiples of the mean, in `steps` equal steps of probability, for load_model to draw from.
  /// Empty when all durations are about the same.
  std::vector<float> multiples(std::size_t steps) const;

 private:
  std::vector<std::uint64_t> bins_;  // corrections may be below zero, in two's complement
};

}  // namespace wick::detail
