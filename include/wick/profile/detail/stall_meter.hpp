// How much of the training loop's time is waiting for data: the one number that tells whether input is the
// problem.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <wick/profile/detail/durations.hpp>

namespace wick::inline v0_1::detail {

/// Takes the ticks of each iteration of the consumer: waiting, and in all. Keeps the mean and the median
/// share of waiting over all iterations so far (in bins of 0.1 %), and the durations of waits, iterations,
/// and the steps between. For one thread.
class stall_meter {
 public:
  void iteration(std::uint64_t waited, std::uint64_t total) noexcept {
    if (total == 0) return;
    if (waited > total) waited = total;
    ++count_;
    waited_ += waited;
    total_ += total;
    ++bins_[static_cast<std::size_t>(static_cast<double>(waited) / static_cast<double>(total) * bins)];
    waits_.add(waited);
    iterations_.add(total);
    steps_.add(total - waited);
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t waited_ticks() const noexcept { return waited_; }
  std::uint64_t total_ticks() const noexcept { return total_; }
  const durations& waits() const noexcept { return waits_; }
  const durations& iterations() const noexcept { return iterations_; }
  const durations& steps() const noexcept { return steps_; }
  /// Share of the total time, 0 … 1.
  double mean() const noexcept {
    return total_ == 0 ? 0.0 : static_cast<double>(waited_) / static_cast<double>(total_);
  }
  /// Share of the median iteration (the lower one of two), rounded down to 0.1 %: a few slow ones don't move
  /// it.
  double median() const noexcept;
  void add(const stall_meter& other) noexcept;

 private:
  static constexpr std::size_t bins = 1000;
  std::array<std::uint64_t, bins + 1> bins_{};
  std::uint64_t count_ = 0, waited_ = 0, total_ = 0;
  durations waits_, iterations_, steps_;
};

}  // namespace wick::detail
